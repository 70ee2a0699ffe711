//! Changes of FlatBuffers in place, whatever library has written them.
//!
//! ```text
//! buffer  0  place of the root table, u32
//! table   0  its place less that of its list of fields, i32    4  fields
//! list    0  bytes of the list, u16    2  bytes of the table, u16    4  place of each field in the table, u16; 0: none
//! field      a number or a struct; for a vector or a table, its place less that of the field, u32
//! vector  0  number of elements, u32    4  elements
//! ```
//!
//! Integers are little-endian. Source: the chapter "Internals" of FlatBuffers' documentation.
//!
//! Invariant: no place is read or written before it was checked, so damaged bytes give errors.

use std::ops::Range;

use fulgurite::{Table, WriteTxn};

use crate::error::{Error, Result};

/// A table of a FlatBuffer whose fields are changed in place. Nothing is decoded or encoded, and the length of the
/// buffer stays.
///
/// Fields are numbered from 0 as the schema declares them; deprecated ones count, and a union counts as two. A buffer
/// does not say which types its fields have: the caller says how many bytes, and must know from the schema what they
/// mean. Numbers are little-endian.
///
/// ```
/// use fulgurite::TableOptions;
/// use fulgurite_events::{EventData, EventStore, Expected, FlatTable, View};
///
/// # fn main() -> fulgurite_events::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// let store = EventStore::create(directory.path().join("shop.ful"))?;
/// store.append("order-7", Expected::Any, &[EventData::new("placed", &[3]), EventData::new("placed", &[5])])?;
///
/// // What a builder that writes defaults makes of `table Total { apples: ulong; }`.
/// let none: [u8; 24] = [12, 0, 0, 0, 6, 0, 12, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// let view = View::new("totals").table("totals", TableOptions::new().value_align(8));
/// store.run_view(&view, |txn, context, event| {
///     let table = context.table(0);
///     txn.insert(table, "all", none)?;
///     FlatTable::update(txn, table, "all", |total| {
///         let apples = total.field::<8>(0)?;
///         *apples = (u64::from_le_bytes(*apples) + u64::from(event.payload[0])).to_le_bytes();
///         Ok(())
///     })?;
///     Ok(())
/// })?;
///
/// let txn = store.database().read()?;
/// let totals = txn.open_table("totals")?;
/// assert_eq!(txn.get(&totals, "all")?.map(|total| total[16]), Some(8));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct FlatTable<'b> {
    bytes: &'b mut [u8],
    /// Where the table begins.
    at: usize,
    /// How many bytes it has.
    length: usize,
    /// Where the places of its fields are.
    list: Range<usize>,
}

impl<'b> FlatTable<'b> {
    /// The root table of a finished buffer. A buffer that follows its own size, as `finish_size_prefixed` of some
    /// libraries writes it, is refused: pass the bytes after the first four.
    ///
    /// # Errors
    /// [`Error::Codec`] if the bytes have no such table, or begin with their size.
    pub fn root(bytes: &'b mut [u8]) -> Result<Self> {
        if has_size_prefix(bytes) {
            let text = "the FlatBuffer begins with its size in four bytes, which is not read; pass the bytes after \
                        them, or encode it without the size";
            return Err(Error::Codec { source: text.into() });
        }
        let at = word(bytes, 0).ok_or_else(|| malformed("the root table"))? as usize;
        Self::begin(bytes, at).ok_or_else(|| malformed("the root table"))
    }

    fn begin(bytes: &'b mut [u8], at: usize) -> Option<Self> {
        let (length, list) = layout(bytes, at)?;
        Some(Self { bytes, at, length, list })
    }

    /// Whether the buffer has the field. Most builders leave out a number that has its default, and an optional field
    /// that is not set.
    pub fn has(&self, field: usize) -> bool {
        self.offset(field).is_some()
    }

    /// The bytes of a field that is a number, an enum or a struct of `N` bytes.
    ///
    /// # Errors
    /// [`Error::Codec`] if the buffer does not have the field, or another field or the end of the table follows after
    /// fewer bytes.
    pub fn field<const N: usize>(&mut self, field: usize) -> Result<&mut [u8; N]> {
        let at = self.place(field, N)?;
        let bytes = self.bytes.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut());
        bytes.ok_or_else(|| malformed(&format!("field {field}")))
    }

    /// The elements of a field that is a vector of numbers or structs of `N` bytes; the bytes of a string if `N` is 1.
    /// Fields that share a vector or a string, as some builders let them, change together.
    ///
    /// # Errors
    /// [`Error::Codec`] if the buffer does not have the field, or is too short for it.
    pub fn vector<const N: usize>(&mut self, field: usize) -> Result<&mut [[u8; N]]> {
        let vector = self.follow(field)?;
        let elements = || {
            let count = word(self.bytes, vector)? as usize;
            let start = vector.checked_add(4)?;
            Some(start..start.checked_add(count.checked_mul(N)?)?)
        };
        let bytes = elements().and_then(|elements| self.bytes.get_mut(elements));
        let bytes = bytes.ok_or_else(|| malformed(&format!("the vector of field {field}")))?;
        Ok(bytes.as_chunks_mut().0)
    }

    /// The table of a field.
    ///
    /// # Errors
    /// [`Error::Codec`] if the buffer does not have the field, or no table there.
    pub fn table(&mut self, field: usize) -> Result<FlatTable<'_>> {
        let at = self.follow(field)?;
        FlatTable::begin(self.bytes, at).ok_or_else(|| malformed(&format!("the table of field {field}")))
    }

    /// Where a vector or a table of a field begins.
    fn follow(&self, field: usize) -> Result<usize> {
        let at = self.place(field, 4)?;
        let target = word(self.bytes, at).and_then(|distance| at.checked_add(distance as usize));
        target.ok_or_else(|| malformed(&format!("field {field}")))
    }

    /// Where a field of so many bytes begins in the buffer.
    fn place(&self, field: usize, bytes: usize) -> Result<usize> {
        let Some(offset) = self.offset(field) else {
            let text = format!(
                "field {field} is not in this FlatBuffer, as when it had its default: it has no place to be changed; \
                 encode the value again, with the field"
            );
            return Err(Error::Codec { source: text.into() });
        };
        let others = (0..self.list.len() / 2).filter_map(|other| self.offset(other));
        let end = others.filter(|other| *other > offset).fold(self.length, usize::min);
        match offset.checked_add(bytes) {
            Some(needed) if needed <= end => Ok(self.at + offset),
            _ => {
                let text = format!(
                    "field {field} of this FlatBuffer has at most {} bytes, not {bytes}; check the number of the field \
                     and its type in the schema",
                    end.saturating_sub(offset)
                );
                Err(Error::Codec { source: text.into() })
            }
        }
    }

    /// Where a field begins in the table. None if it is not there.
    fn offset(&self, field: usize) -> Option<usize> {
        let entry = self.list.start.checked_add(field.checked_mul(2)?)?;
        let offset = half(self.bytes, entry).filter(|_| entry + 2 <= self.list.end)?;
        (offset > 0).then_some(usize::from(offset))
    }
}

impl FlatTable<'_> {
    /// Changes fields of the FlatBuffer that `table` has under `key`, for functions that fold events into a view.
    /// Returns false, and does not call `change`, if there is no such key.
    ///
    /// The value is copied once: [`WriteTxn::try_modify`] changes it where the transaction keeps its changes. If
    /// `change` fails, the value is as it was before.
    ///
    /// # Errors
    /// Those of `change`; [`Error::Codec`] if the value has no root table; errors of the disk.
    pub fn update(
        txn: &mut WriteTxn,
        table: &Table,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(&mut FlatTable<'_>) -> Result<()>,
    ) -> Result<bool> {
        let changed = txn.try_modify(table, key, |bytes| change(&mut FlatTable::root(bytes)?))?;
        Ok(changed.is_some())
    }
}

/// How many bytes the table at a place has, and where the places of its fields are. None if it is not inside the bytes.
fn layout(bytes: &[u8], at: usize) -> Option<(usize, Range<usize>)> {
    let before = i64::from(word(bytes, at)?.cast_signed());
    let list = usize::try_from(i64::try_from(at).ok()? - before).ok()?;
    let (list_bytes, length) = (usize::from(half(bytes, list)?), usize::from(half(bytes, list.checked_add(2)?)?));
    let places = list.checked_add(LIST_HEADER_BYTES)?..list.checked_add(list_bytes)?;
    let is_inside = places.end <= bytes.len() && at.checked_add(length)? <= bytes.len();
    (is_inside && places.start <= places.end).then_some((length, places))
}

/// Whether the bytes are the size of a buffer and that buffer. A table without fields may be at the end of a buffer
/// too, and its place is that size then: so what follows must be a buffer as well.
fn has_size_prefix(bytes: &[u8]) -> bool {
    let Some((size, buffer)) = bytes.split_first_chunk() else { return false };
    let root = word(buffer, 0).map(|at| at as usize);
    u32::from_le_bytes(*size) as usize == buffer.len() && root.is_some_and(|root| layout(buffer, root).is_some())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|half| u16::from_le_bytes(*half))
}

#[cold]
fn malformed(what: &str) -> Error {
    Error::Codec { source: format!("the bytes are not a FlatBuffer: {what} is out of bounds").into() }
}

/// The sizes of the list of fields and of the table, before the places of the fields.
const LIST_HEADER_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn halves(halves: &[u16]) -> Vec<u8> {
        halves.iter().flat_map(|half| half.to_le_bytes()).collect()
    }

    fn longs(longs: &[u64]) -> Vec<u8> {
        longs.iter().flat_map(|long| long.to_le_bytes()).collect()
    }

    /// `struct Stock { item: ulong; quantity: ulong; } table Inner { number: uint; }`
    /// `table Root { total: ulong; absent: uint; stocks: [Stock]; inner: Inner; kind: ubyte; }`
    fn buffer() -> Vec<u8> {
        let parts = [
            words(&[20]),
            // 4: the fields of the root.
            halves(&[14, 21, 4, 0, 12, 16, 20, 0]),
            // 20: the root.
            words(&[16]),
            longs(&[7]),
            words(&[12, 52]),
            vec![9, 0, 0, 0],
            // 44: the vector.
            words(&[2]),
            longs(&[3, 10, 4, 20]),
            // 80: the fields of the inner table, and the table.
            halves(&[6, 8, 4, 0]),
            words(&[8, 5]),
        ];
        parts.concat()
    }

    #[test]
    fn fields_change_at_their_places_and_nothing_else_does() {
        let mut bytes = buffer();
        let mut root = FlatTable::root(&mut bytes).unwrap();
        assert_eq!(*root.field::<8>(0).unwrap(), 7_u64.to_le_bytes());
        *root.field(0).unwrap() = 70_u64.to_le_bytes();
        *root.field(4).unwrap() = [90];
        let stocks = root.vector::<16>(2).unwrap();
        assert_eq!(stocks.len(), 2);
        stocks[1][8..].copy_from_slice(&200_u64.to_le_bytes());
        *root.table(3).unwrap().field(0).unwrap() = 50_u32.to_le_bytes();
        let mut expected = buffer();
        for (at, byte) in [(24, 70), (40, 90), (72, 200), (92, 50)] {
            expected[at] = byte;
        }
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_field_that_is_not_there_or_has_fewer_bytes_is_an_error() {
        let mut bytes = buffer();
        let mut root = FlatTable::root(&mut bytes).unwrap();
        assert_eq!([0, 1, 4, 5, usize::MAX].map(|field| root.has(field)), [true, false, true, false, false]);
        let absent = root.field::<4>(1).unwrap_err().to_string();
        assert!(absent.contains("field 1 is not in this FlatBuffer"), "{absent}");
        assert!(root.field::<1>(9).is_err());
        assert!(root.vector::<1>(1).is_err());
        assert!(root.table(1).is_err());
        let wide = root.field::<16>(0).unwrap_err().to_string();
        assert!(wide.contains("field 0 of this FlatBuffer has at most 8 bytes, not 16"), "{wide}");
        assert!(root.field::<2>(4).is_err(), "it would reach beyond the table");
        assert!(root.vector::<100>(2).is_err(), "it would reach beyond the buffer");
    }

    #[test]
    fn a_buffer_that_follows_its_size_is_refused_and_one_that_ends_with_an_empty_table_is_not() {
        let mut prefixed = [words(&[buffer().len() as u32]), buffer()].concat();
        let refused = FlatTable::root(&mut prefixed).unwrap_err().to_string();
        assert!(refused.contains("begins with its size in four bytes"), "{refused}");
        assert_eq!(*FlatTable::root(&mut prefixed[4..]).unwrap().field::<8>(0).unwrap(), 7_u64.to_le_bytes());
        // The place of the root is the number of bytes after it, as a size would be.
        let mut empty = [words(&[8]), halves(&[4, 4]), words(&[4])].concat();
        assert!(!FlatTable::root(&mut empty).unwrap().has(0));
    }

    #[test]
    fn damaged_bytes_do_no_harm() {
        let change_all = |bytes: &mut [u8]| {
            let Ok(mut root) = FlatTable::root(bytes) else { return };
            for field in 0..7 {
                let _ = root.field::<8>(field).map(|field| *field = [1; 8]);
                let _ = root.field::<1>(field).map(|field| *field = [2; 1]);
                let _ = root.vector::<16>(field).map(|elements| elements.fill([3; 16]));
                let _ = root.table(field).map(|mut inner| drop(inner.field::<4>(0).map(|field| *field = [4; 4])));
            }
        };
        let whole = buffer();
        for length in 0..whole.len() {
            change_all(&mut whole[..length].to_vec());
        }
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            change_all(&mut damaged);
        }
        change_all(&mut [255_u8; 40]);
    }
}
