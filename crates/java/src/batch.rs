//! Many keys, entries or changes in one array.
//!
//! Numbers are 4 bytes, little-endian. A key or value has its length before it, except that both lengths of an entry
//! come first: `key length, value length, key, value`. A change is an entry after a byte that says what it does.

use std::cell::Cell;
use std::ops::{Deref, DerefMut, Range};

use crate::error::{Failure, Result};

/// Reads an array from its beginning.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn number(&mut self) -> Result<u32> {
        let (number, rest) = self.0.split_first_chunk().ok_or_else(cut)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*number))
    }

    fn bytes(&mut self, length: u32) -> Result<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length as usize).ok_or_else(cut)?;
        self.0 = rest;
        Ok(bytes)
    }
}

fn cut() -> Failure {
    Failure::Invalid("a batch ends within an entry".to_owned())
}

/// The bytes of a short key with its length.
const KEY_BYTES: usize = 16;

/// At first there is room for the short keys of this many bytes.
const BYTES_AT_FIRST: usize = 4 << 10;

/// The keys of an array.
///
/// # Errors
/// [`Failure::Invalid`] if it ends within a key.
pub fn parse_keys(batch: &[u8]) -> Result<Vec<&[u8]>> {
    let (mut reader, mut keys) = (Reader(batch), Vec::with_capacity(batch.len().min(BYTES_AT_FIRST) / KEY_BYTES));
    while !reader.0.is_empty() {
        let length = reader.number()?;
        keys.push(reader.bytes(length)?);
    }
    Ok(keys)
}

/// Appends a value, or that there is none.
pub fn push_value(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(value) => {
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(value);
        }
        None => out.extend_from_slice(&u32::MAX.to_le_bytes()),
    }
}

/// One change of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'b> {
    /// Stores a value.
    Put(&'b [u8], &'b [u8]),
    /// Deletes a key.
    Delete(&'b [u8]),
    /// Merges an operand.
    Merge(&'b [u8], &'b [u8]),
}

/// The changes of an array.
///
/// # Errors
/// [`Failure::Invalid`] if it ends within a change, or has an unknown one.
pub fn parse_changes(batch: &[u8]) -> Result<Vec<Change<'_>>> {
    let (mut reader, mut changes) = (Reader(batch), Vec::new());
    while let Some((kind, rest)) = reader.0.split_first() {
        reader.0 = rest;
        let (key_length, value_length) = (reader.number()?, reader.number()?);
        let (key, value) = (reader.bytes(key_length)?, reader.bytes(value_length)?);
        changes.push(match kind {
            0 => Change::Put(key, value),
            1 => Change::Delete(key),
            2 => Change::Merge(key, value),
            _ => return Err(Failure::Invalid(format!("{kind} is not a kind of change"))),
        });
    }
    Ok(changes)
}

/// Where the key and the value of each entry of an array are.
///
/// # Errors
/// [`Failure::Invalid`] if it ends within an entry.
pub fn entry_places(batch: &[u8]) -> Result<Vec<(Range<usize>, Range<usize>)>> {
    let (mut reader, mut places) = (Reader(batch), Vec::new());
    while !reader.0.is_empty() {
        let (key_length, value_length) = (reader.number()?, reader.number()?);
        let at = batch.len() - reader.0.len();
        let middle = at + reader.bytes(key_length)?.len();
        let end = middle + reader.bytes(value_length)?.len();
        places.push((at..middle, middle..end));
    }
    Ok(places)
}

/// The entries of a scan, as many as fit.
pub struct Entries {
    bytes: Spare,
    capacity: usize,
    /// The bytes of the entry that did not fit.
    rejected: Option<usize>,
}

impl Entries {
    /// None yet, with room for so many bytes.
    pub fn new(capacity: usize) -> Self {
        let mut bytes = Spare::take();
        bytes.reserve_exact(capacity.min(SPARE_BYTES_MAX));
        Self { bytes, capacity, rejected: None }
    }

    /// Appends an entry. Returns whether it fits.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        let needed = 8 + key.len() + value.len();
        if needed > self.capacity - self.bytes.len() {
            self.rejected = Some(needed);
            return false;
        }
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        true
    }

    /// The entries.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the last entry that was pushed did fit.
    pub fn is_complete(&self) -> bool {
        self.rejected.is_none()
    }

    /// The bytes that the first entry needs, if it did not fit.
    pub fn needed(&self) -> Option<usize> {
        self.rejected.filter(|_| self.bytes.is_empty())
    }
}

/// A buffer for a result, whose memory the thread keeps for its next result. A call within the call gets other memory.
pub struct Spare(Vec<u8>);

impl Spare {
    /// An empty buffer.
    pub fn take() -> Self {
        Self(SPARE.take())
    }
}

impl Deref for Spare {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Spare {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if self.0.capacity() <= SPARE_BYTES_MAX {
            self.0.clear();
            SPARE.set(std::mem::take(&mut self.0));
        }
    }
}

thread_local! {
    /// Memory for the thread's next result.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The most memory that a thread keeps for its next result: the largest batch of a Java cursor without a larger entry.
const SPARE_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_changes_are_read_back_and_cut_ones_refused() {
        let keys = [&[3, 0, 0, 0][..], b"abc", &[0, 0, 0, 0], &[1, 0, 0, 0], b"d"].concat();
        assert_eq!(parse_keys(&keys).unwrap(), [&b"abc"[..], b"", b"d"]);
        let changes = [&[0, 1, 0, 0, 0, 2, 0, 0, 0][..], b"kvv", &[1, 1, 0, 0, 0, 0, 0, 0, 0], b"k"].concat();
        assert_eq!(parse_changes(&changes).unwrap(), [Change::Put(b"k", b"vv"), Change::Delete(b"k")]);
        for length in (1..keys.len()).filter(|length| ![7, 11].contains(length)) {
            assert!(parse_keys(&keys[..length]).is_err(), "{length}");
        }
        for length in (1..changes.len()).filter(|length| *length != 12) {
            assert!(parse_changes(&changes[..length]).is_err(), "{length}");
        }
        assert!(parse_changes(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn the_places_of_entries_are_found_and_cut_entries_refused() {
        let entries = [&[1, 0, 0, 0, 2, 0, 0, 0][..], b"kvv", &[0, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(entry_places(&entries).unwrap(), [(8..9, 9..11), (19..19, 19..19)]);
        assert!(
            (1..entries.len()).filter(|length| *length != 11).all(|length| entry_places(&entries[..length]).is_err())
        );
    }

    #[test]
    fn a_thread_keeps_the_memory_of_batches_up_to_the_largest_of_a_cursor() {
        for capacity in [4 << 10, SPARE_BYTES_MAX / 2 + 1, SPARE_BYTES_MAX] {
            drop(Entries::new(capacity));
            let kept = SPARE.take();
            assert!((capacity..=SPARE_BYTES_MAX).contains(&kept.capacity()), "{capacity} {}", kept.capacity());
            SPARE.set(kept);
        }
        let mut large = Entries::new(2 * SPARE_BYTES_MAX);
        assert!(large.push(b"key", "x".repeat(SPARE_BYTES_MAX).as_bytes()));
        drop(large);
        assert_eq!(SPARE.take().capacity(), 0, "a larger batch is freed");
    }

    #[test]
    fn entries_stop_where_they_do_not_fit() {
        let mut entries = Entries::new(20);
        assert!(entries.push(b"ab", b"c") && !entries.push(b"de", b"f"));
        assert_eq!((entries.bytes().len(), entries.is_complete(), entries.needed()), (11, false, None));
        let mut small = Entries::new(10);
        assert!(!small.push(b"ab", b"c"));
        assert_eq!((small.bytes().len(), small.needed()), (0, Some(11)));
        assert!(Entries::new(0).is_complete());
    }
}
