//! What the catalog stores of a table: its number, kind, options, types, root and runs. See
//! `docs/reference/file-format.md`, "Catalog".
//!
//! The catalog is an ordinary tree: key = the table's name, value = a descriptor. In the log a descriptor has no
//! root, because a commit never knows one.

use super::merge::{MergeOperator, Merging};
use crate::format::cell::OverflowRef;
use crate::ids::{ExtentId, PageRef, TableId};

/// Where a table's tree begins, as the catalog and the meta store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRoot {
    /// The root page.
    pub page: PageRef,
    /// 0 when the root is a leaf.
    pub level: u8,
    /// Entries in the tree.
    pub entries: u64,
    /// Whether some key or value is stored outside the leaves.
    pub has_overflow: bool,
}

impl StoredRoot {
    /// Bytes of an encoded optional root.
    pub const BYTES: usize = 20;

    /// Encodes a root, or the absence of one as zeros.
    pub fn encode(root: Option<&Self>) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        if let Some(root) = root {
            bytes[0] = PRESENT | if root.has_overflow { HAS_OVERFLOW } else { 0 };
            bytes[1] = root.level;
            bytes[4..8].copy_from_slice(&root.page.extent.0.to_le_bytes());
            bytes[8..12].copy_from_slice(&root.page.slot.to_le_bytes());
            bytes[12..20].copy_from_slice(&root.entries.to_le_bytes());
        }
        bytes
    }

    /// Decodes what [`StoredRoot::encode`] wrote.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Option<Self>, &'static str> {
        if bytes[0] & PRESENT == 0 {
            return if bytes.iter().all(|&byte| byte == 0) { Ok(None) } else { Err("an absent root has bytes set") };
        }
        if bytes[0] & !(PRESENT | HAS_OVERFLOW) != 0 || bytes[2] != 0 || bytes[3] != 0 {
            return Err("a root has unknown flags");
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let slot = word(8);
        if slot >= PageRef::SLOTS_MAX {
            return Err("a root's slot is out of range");
        }
        Ok(Some(Self {
            page: PageRef { extent: ExtentId(word(4)), slot },
            level: bytes[1],
            entries: u64::from(word(12)) | u64::from(word(16)) << 32,
            has_overflow: bytes[0] & HAS_OVERFLOW != 0,
        }))
    }
}

/// A run of a table, as the catalog stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// The tree; its entries are all that the run has, deletes among them.
    pub root: StoredRoot,
    /// The filter of its keys, if it has one.
    pub filter: Option<OverflowRef>,
}

/// A range of a table's keys, as the catalog stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRange {
    /// Its keys are at least this, and below the next range's.
    pub low: Box<[u8]>,
    /// The runs above the tree, the newest first.
    pub runs: Vec<StoredRun>,
}

impl StoredRun {
    const BYTES: usize = StoredRoot::BYTES + OverflowRef::BYTES;

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&StoredRoot::encode(Some(&self.root)));
        bytes.extend_from_slice(&self.filter.map_or([0; OverflowRef::BYTES], |filter| filter.to_bytes()));
    }

    fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, &'static str> {
        let too_short = "a run of a table descriptor is too short";
        let (root, filter) = bytes.split_first_chunk().ok_or(too_short)?;
        let root = StoredRoot::decode(root)?.ok_or("a run of a table has no root")?;
        if root.entries > RUN_ENTRIES_MAX {
            return Err("a run of a table has an impossible number of entries");
        }
        let filter: &[u8; OverflowRef::BYTES] = filter.first_chunk().ok_or(too_short)?;
        if let Some(offence) = OverflowRef::offence(filter) {
            return Err(offence);
        }
        let is_absent = *filter == [0; OverflowRef::BYTES];
        Ok(Self { root, filter: (!is_absent).then(|| OverflowRef::from_bytes(filter)) })
    }
}

impl StoredRange {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let length = u32::try_from(self.low.len()).expect("keys are shorter than 64 MiB");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.low);
        bytes.push(u8::try_from(self.runs.len()).expect("runs are merged before they are so many"));
        self.runs.iter().for_each(|run| run.encode(bytes));
    }

    fn take(bytes: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let too_short = "a range of a table descriptor is too short";
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or(too_short)?;
        let (low, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(too_short)?;
        let (&count, mut rest) = rest.split_first().ok_or(too_short)?;
        let mut runs = Vec::new();
        for _ in 0..count {
            let (run, after) = rest.split_first_chunk().ok_or(too_short)?;
            runs.push(StoredRun::decode(run)?);
            rest = after;
        }
        Ok((Self { low: low.into(), runs }, rest))
    }

    /// All ranges, which are the rest of a descriptor.
    fn take_all(mut bytes: &[u8]) -> Result<Vec<Self>, &'static str> {
        let mut ranges: Vec<Self> = Vec::new();
        while !bytes.is_empty() {
            let (range, rest) = Self::take(bytes)?;
            let rises = ranges.last().map_or(range.low.is_empty(), |before| before.low < range.low);
            if !rises || ranges.len() == RANGES_MAX {
                return Err("the ranges of a table descriptor are out of order, or too many");
            }
            ranges.push(range);
            bytes = rest;
        }
        if ranges.iter().all(|range| range.runs.is_empty()) {
            return Err("a table descriptor has ranges, and no run in them");
        }
        Ok(ranges)
    }
}

/// Why a descriptor is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorFault {
    /// No version writes such bytes.
    Damaged(&'static str),
    /// It asks for what a newer version may know.
    Unsupported(&'static str),
}

impl From<&'static str> for DescriptorFault {
    fn from(offence: &'static str) -> Self {
        Self::Damaged(offence)
    }
}

/// One table, as the catalog stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDescriptor {
    /// The table's number.
    pub id: TableId,
    /// Whether it is a multimap: keys are pairs, values empty.
    pub multimap: bool,
    /// Whether counts of ranges are kept exact in every layer.
    pub counted: bool,
    /// Whether leaves of its tree are packed.
    pub packed: bool,
    /// Alignment of values: 1, 4, 8 or 16 bytes.
    pub value_align: u8,
    /// How values can be merged: in a way that means something for the value type.
    pub merge: Option<Merging>,
    /// Name of the key encoding, empty for plain bytes.
    pub key_type: String,
    /// Name of the value encoding, empty for plain bytes.
    pub value_type: String,
    /// The tree, if it is not empty.
    pub root: Option<StoredRoot>,
    /// The ranges in which runs lie above it. None if no run does.
    pub ranges: Vec<StoredRange>,
}

impl TableDescriptor {
    /// The stored form.
    ///
    /// # Panics
    /// If the name of a type or function is longer than 65,535 bytes: table options bound it far below.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.key_type.len() + self.value_type.len());
        bytes.push(DESCRIPTOR_VERSION);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        bytes.push(
            flag(self.multimap, FLAG_MULTIMAP)
                | flag(self.counted, FLAG_COUNTED)
                | flag(self.packed, FLAG_PACKED)
                | flag(!self.ranges.is_empty(), FLAG_RUNS),
        );
        bytes.push(self.value_align);
        bytes.push(self.merge.as_ref().map_or(0, Merging::number));
        bytes.extend_from_slice(&self.id.0.to_le_bytes());
        bytes.extend_from_slice(&StoredRoot::encode(self.root.as_ref()));
        let function = self.merge.as_ref().and_then(Merging::function);
        for name in [&*self.key_type, &*self.value_type].into_iter().chain(function) {
            let length = u16::try_from(name.len()).expect("table options bound the length of a name");
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
        }
        self.ranges.iter().for_each(|range| range.encode(&mut bytes));
        bytes
    }

    /// Reads a stored form.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DescriptorFault> {
        let (header, names) = bytes.split_at_checked(HEADER_BYTES).ok_or("a table descriptor is too short")?;
        if header[0] != DESCRIPTOR_VERSION {
            return Err(DescriptorFault::Unsupported("a table descriptor has an unknown version"));
        }
        if header[1] & !(FLAG_MULTIMAP | FLAG_COUNTED | FLAG_RUNS | FLAG_PACKED) != 0 {
            return Err(DescriptorFault::Unsupported("a table descriptor has unknown flags"));
        }
        if !matches!(header[2], 1 | 4 | 8 | 16) {
            return Err("a table descriptor has an impossible alignment".into());
        }
        let root = header[8..].try_into().map_err(|_| "a table descriptor is too short")?;
        let (key_type, rest) = take_name(names)?;
        let (value_type, rest) = take_name(rest)?;
        let (merge, rest) = take_merging(header[3], rest)?;
        let ranges = match header[1] & FLAG_RUNS != 0 {
            true => StoredRange::take_all(rest)?,
            false if rest.is_empty() => Vec::new(),
            false => return Err("a table descriptor is too long".into()),
        };
        let multimap = header[1] & FLAG_MULTIMAP != 0;
        let packed = header[1] & FLAG_PACKED != 0;
        if packed && header[2] != 1 {
            return Err("a table descriptor asks for aligned values in packed leaves".into());
        }
        if merge.as_ref().is_some_and(|merging| multimap || !merging.fits(&value_type)) {
            return Err("a table descriptor has a merge operator that does not fit its values".into());
        }
        Ok(Self {
            id: TableId(u32::from_le_bytes([header[4], header[5], header[6], header[7]])),
            multimap,
            counted: header[1] & FLAG_COUNTED != 0,
            packed,
            value_align: header[2],
            merge,
            key_type,
            value_type,
            root: StoredRoot::decode(root)?,
            ranges,
        })
    }
}

/// How values are merged, by the number of that; a function's name comes after the names of the types.
fn take_merging(number: u8, bytes: &[u8]) -> Result<(Option<Merging>, &[u8]), DescriptorFault> {
    if number == 0 {
        return Ok((None, bytes));
    }
    if number == Merging::FUNCTION {
        let (name, rest) = take_name(bytes)?;
        if name.is_empty() {
            return Err("a table descriptor names no merge function".into());
        }
        return Ok((Some(Merging::Function(name)), rest));
    }
    let unknown = DescriptorFault::Unsupported("a table descriptor has an unknown merge operator");
    let operator = MergeOperator::from_number(number).ok_or(unknown)?;
    Ok((Some(Merging::Operator(operator)), bytes))
}

fn take_name(bytes: &[u8]) -> Result<(String, &[u8]), &'static str> {
    let (length, rest) = bytes.split_first_chunk::<2>().ok_or("a table descriptor is too short")?;
    let (name, rest) =
        rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or("a table descriptor is too short")?;
    let name = std::str::from_utf8(name).map_err(|_| "the name of a type or merge function is not UTF-8")?;
    Ok((name.to_owned(), rest))
}

/// On disk: the only version.
const DESCRIPTOR_VERSION: u8 = 1;
/// Most entries of a run: far more than a delta can have, and so few that the sum for all runs of a file is a number
/// too.
const RUN_ENTRIES_MAX: u64 = 1 << 39;
/// Most ranges of a table.
const RANGES_MAX: usize = 1 << 16;
/// Bytes before the names.
const HEADER_BYTES: usize = 8 + StoredRoot::BYTES;
/// Flags of a descriptor. On disk: never renumber.
const FLAG_MULTIMAP: u8 = 1;
const FLAG_COUNTED: u8 = 2;
const FLAG_RUNS: u8 = 4;
const FLAG_PACKED: u8 = 8;
/// Flags of a root. On disk: never renumber.
const PRESENT: u8 = 1;
const HAS_OVERFLOW: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> TableDescriptor {
        TableDescriptor {
            id: TableId(7),
            multimap: true,
            counted: false,
            packed: false,
            value_align: 8,
            merge: None,
            key_type: "(u32,string)".into(),
            value_type: String::new(),
            root: Some(StoredRoot {
                page: PageRef { extent: ExtentId(3), slot: 9 },
                level: 2,
                entries: 1 << 40,
                has_overflow: true,
            }),
            ranges: Vec::new(),
        }
    }

    fn example_with_runs() -> TableDescriptor {
        let root = |slot, entries| StoredRoot {
            page: PageRef { extent: ExtentId(4), slot },
            level: 1,
            entries,
            has_overflow: false,
        };
        let filter = OverflowRef { extent: ExtentId(5), slot: 3, length: 640, checksum: 77 };
        let runs =
            vec![StoredRun { root: root(1, 9), filter: None }, StoredRun { root: root(2, 400), filter: Some(filter) }];
        let ranges = vec![
            StoredRange { low: Box::default(), runs: Vec::new() },
            StoredRange { low: (*b"ha").into(), runs },
            StoredRange { low: (*b"happy").into(), runs: Vec::new() },
        ];
        TableDescriptor { ranges, ..example() }
    }

    #[test]
    fn a_descriptor_reads_back_as_it_was_written() {
        let table = example();
        assert_eq!(TableDescriptor::decode(&table.encode()), Ok(table.clone()));
        assert_eq!(TableDescriptor::decode(&example_with_runs().encode()), Ok(example_with_runs()));
        let empty = TableDescriptor { root: None, ..table };
        assert_eq!(TableDescriptor::decode(&empty.encode()), Ok(empty.clone()));
        let operators = MergeOperator::ALL.into_iter().map(Merging::Operator);
        for merge in operators.chain([Merging::Function("union of lists".into())]) {
            let merging = TableDescriptor { multimap: false, merge: Some(merge), ..empty.clone() };
            assert_eq!(TableDescriptor::decode(&merging.encode()), Ok(merging.clone()));
            let with_runs = TableDescriptor { ranges: example_with_runs().ranges, ..merging };
            assert_eq!(TableDescriptor::decode(&with_runs.encode()), Ok(with_runs));
        }
    }

    #[test]
    fn a_merge_operator_that_is_unknown_or_does_not_fit_is_refused() {
        let operator = |operator| Some(Merging::Operator(operator));
        let merging = TableDescriptor { merge: operator(MergeOperator::Append), ..example() };
        assert!(TableDescriptor::decode(&merging.encode()).is_err(), "of a multimap");
        let merging = TableDescriptor { multimap: false, value_type: "u64".into(), ..merging };
        assert!(TableDescriptor::decode(&merging.encode()).is_err(), "of numbers");
        let mut bytes = TableDescriptor { merge: operator(MergeOperator::Add), ..merging }.encode();
        assert!(TableDescriptor::decode(&bytes).is_ok());
        bytes[3] = Merging::FUNCTION + 1;
        let unknown = Err(DescriptorFault::Unsupported("a table descriptor has an unknown merge operator"));
        assert_eq!(TableDescriptor::decode(&bytes), unknown, "a newer version may know it");
    }

    #[test]
    fn a_merge_function_has_a_name_and_a_table_with_values() {
        let named = |name: &str| {
            let merge = Some(Merging::Function(name.into()));
            TableDescriptor { multimap: false, merge, value_type: "f64".into(), ..example() }
        };
        let bytes = named("f").encode();
        assert_eq!(TableDescriptor::decode(&bytes), Ok(named("f")), "values may be of any type");
        for end in 0..bytes.len() {
            assert!(TableDescriptor::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        assert!(TableDescriptor::decode(&[&*bytes, b"g"].concat()).is_err(), "longer than its names");
        assert!(TableDescriptor::decode(&named("").encode()).is_err());
        let broken = [&bytes[..bytes.len() - 1], &[0xff]].concat();
        assert!(TableDescriptor::decode(&broken).is_err(), "no UTF-8");
        let multimap = TableDescriptor { multimap: true, ..named("f") };
        assert!(TableDescriptor::decode(&multimap.encode()).is_err());
    }

    #[test]
    fn ranges_out_of_order_or_without_runs_are_refused() {
        let decoded =
            |ranges: Vec<StoredRange>| TableDescriptor::decode(&TableDescriptor { ranges, ..example() }.encode());
        let [first, with_runs, last] = <[StoredRange; 3]>::try_from(example_with_runs().ranges).expect("it has three");
        assert!(decoded(vec![first.clone(), with_runs.clone()]).is_ok());
        assert!(decoded(vec![first.clone(), last.clone()]).is_err(), "no run");
        assert!(
            decoded(vec![with_runs.clone(), last.clone()]).is_err(),
            "the first one does not begin before all keys"
        );
        assert!(decoded(vec![first.clone(), last, with_runs.clone()]).is_err(), "they fall");
        assert!(decoded(vec![first, with_runs.clone(), with_runs]).is_err(), "they do not rise");
    }

    #[test]
    fn a_run_of_more_entries_than_can_be_is_refused() {
        let decoded = |entries| {
            let mut table = example_with_runs();
            table.ranges[1].runs[0].root.entries = entries;
            TableDescriptor::decode(&table.encode())
        };
        assert!(decoded(RUN_ENTRIES_MAX).is_ok());
        assert!(decoded(RUN_ENTRIES_MAX + 1).is_err() && decoded(u64::MAX).is_err());
    }

    #[test]
    fn a_cut_or_altered_descriptor_never_reads_as_another_and_never_panics() {
        for bytes in [example().encode(), example_with_runs().encode()] {
            never_misread(&bytes);
        }
    }

    fn never_misread(bytes: &[u8]) {
        let whole = TableDescriptor::decode(bytes);
        for length in (0..bytes.len()).step_by(if cfg!(miri) { 3 } else { 1 }) {
            let cut = TableDescriptor::decode(&bytes[..length]);
            // What is cut between two ranges is a descriptor of fewer.
            assert!(cut.is_err() || (cut != whole && bytes[1] & FLAG_RUNS != 0));
        }
        for at in (0..bytes.len()).step_by(if cfg!(miri) { 3 } else { 1 }) {
            for bit in if cfg!(miri) { at % 8..at % 8 + 1 } else { 0..8 } {
                let mut altered = bytes.to_vec();
                altered[at] ^= 1 << bit;
                if let Ok(read) = TableDescriptor::decode(&altered) {
                    assert_eq!(read.encode(), altered);
                }
            }
        }
    }
}
