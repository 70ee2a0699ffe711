//! What a transaction did to a key, as it is spilled: the last version, and the earlier ones to which savepoints may
//! return.
//!
//! Time in a transaction is counted in *stages*: each savepoint begins one, and so does each return to a savepoint
//! from before a spill, which undoes all stages since that savepoint. So nothing that was spilled is ever changed:
//! versions of stages that were undone are passed over.
//!
//! A version is its bytes, and behind them their length (4 bytes), the stage (8 bytes) and the kind (1 byte). The
//! versions of a key lie one behind the other, the newest last: it is found without a look at the others, and its
//! bytes lie where the entry begins if it is the only one. No other transaction ever reads any of this.

use std::ops::Range;

use crate::format::{LargeValue, OverflowRef};
use crate::ids::PageNumber;
use crate::options::VALUE_BYTES_MAX;
use crate::pager::Value;
use crate::planted::{Fault, planted};
use crate::txn::writes::pending::Pending;

/// What a transaction did to a key last, whether it is still in memory or was spilled.
#[derive(Clone, Debug)]
pub enum OwnChange<'a> {
    /// As [`Pending::Put`].
    Put(Value<'a>),
    /// As [`Pending::PutLarge`].
    PutLarge(LargeValue),
    /// As [`Pending::Delete`].
    Delete,
    /// As [`Pending::Merge`].
    Merge(Value<'a>),
}

impl<'a> OwnChange<'a> {
    /// A change that is in memory.
    #[inline]
    pub fn of(pending: &'a Pending) -> Self {
        match pending {
            Pending::Put(value) => Self::Put(Value::from(&**value)),
            Pending::PutLarge(large) => Self::PutLarge(**large),
            Pending::Delete => Self::Delete,
            Pending::Merge(operand) => Self::Merge(Value::from(&**operand)),
        }
    }
}

/// One version among the bytes of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The stage in which it was made.
    pub stage: u64,
    kind: u8,
    payload: Range<usize>,
}

impl Version {
    /// The change that it records; `entry` is the one that it was found in. None if its bytes are invalid.
    pub fn own<'a>(&self, entry: &Value<'a>) -> Option<OwnChange<'a>> {
        Some(match self.kind {
            PUT => OwnChange::Put(entry.part(self.payload.clone())),
            PUT_LARGE => OwnChange::PutLarge(decode_large(&entry[self.payload.clone()])?),
            DELETE => OwnChange::Delete,
            MERGE => OwnChange::Merge(entry.part(self.payload.clone())),
            _ => return None,
        })
    }

    /// All its bytes, those that describe it too.
    pub fn bytes<'e>(&self, entry: &'e [u8]) -> &'e [u8] {
        &entry[self.payload.start..self.payload.end + TRAILER_BYTES]
    }
}

/// Adds a version to an entry. Requires: it is newer than those that are there.
///
/// # Panics
/// If it has 4 GiB or more: neither values nor operands have.
pub fn push_version(entry: &mut Vec<u8>, stage: u64, pending: &Pending) {
    let start = entry.len();
    let kind = match pending {
        Pending::Put(value) => {
            entry.extend_from_slice(value);
            PUT
        }
        Pending::PutLarge(large) => {
            entry.extend_from_slice(&large.value.to_bytes());
            entry.extend_from_slice(&large.first_page.0.to_le_bytes());
            entry.extend_from_slice(&large.page_count.to_le_bytes());
            PUT_LARGE
        }
        Pending::Delete => DELETE,
        Pending::Merge(operand) => {
            entry.extend_from_slice(operand);
            MERGE
        }
    };
    let length = u32::try_from(entry.len() - start).expect("lengths of values and operands are checked");
    entry.extend_from_slice(&length.to_le_bytes());
    entry.extend_from_slice(&stage.to_le_bytes());
    entry.push(kind);
}

/// The versions of an entry, the newest first. Ends early where the bytes are none that [`push_version`] makes.
pub fn versions(entry: &[u8]) -> impl Iterator<Item = Version> {
    let mut end = entry.len();
    std::iter::from_fn(move || {
        let trailer: &[u8; TRAILER_BYTES] = entry[..end].last_chunk()?;
        let (length, rest) = trailer.split_first_chunk()?;
        let (stage, kind) = rest.split_first_chunk()?;
        let payload_end = end - TRAILER_BYTES;
        let start = payload_end.checked_sub(u32::from_le_bytes(*length) as usize)?;
        end = start;
        Some(Version { stage: u64::from_le_bytes(*stage), kind: kind[0], payload: start..payload_end })
    })
}

/// The size of a version in an entry.
pub fn version_bytes(pending: &Pending) -> usize {
    let large_bytes = if matches!(pending, Pending::PutLarge(_)) { OverflowRef::BYTES + 8 + 4 } else { 0 };
    pending.weight() + large_bytes + TRAILER_BYTES
}

/// The versions of a key that a transaction may still need, the newest first: the last one that was not rolled back,
/// and for each savepoint that still exists the last one before it. Each comes with the entry that contains it.
/// `entries` begin with the newest. `savepoints` are the first stages of the savepoints, rising.
pub fn needed_versions<'e>(
    entries: impl Iterator<Item = &'e [u8]>,
    undone: &Undone,
    savepoints: &[u64],
) -> impl Iterator<Item = (&'e [u8], Version)> {
    let mut newer: Option<u64> = None;
    entries.flat_map(|entry| versions(entry).map(move |version| (entry, version))).filter(move |(_, version)| {
        if undone.holds(version.stage) {
            return false;
        }
        let is_needed = newer.is_none_or(|newer| {
            let after = savepoints.partition_point(|&begins| begins <= version.stage);
            savepoints.get(after).is_some_and(|&begins| begins <= newer)
        });
        if is_needed {
            newer = Some(version.stage);
        }
        is_needed
    })
}

/// The stages that were undone.
#[derive(Debug, Default)]
pub struct Undone {
    /// The first and the last of each stretch, rising; none touches another.
    stretches: Vec<(u64, u64)>,
}

impl Undone {
    /// All stages from `first` to `last` are undone. Requires: `last` is the newest there is.
    pub fn add(&mut self, mut first: u64, last: u64) {
        while let Some((before, _)) = self.stretches.pop_if(|(_, end)| *end + 1 >= first) {
            first = first.min(before);
        }
        self.stretches.push((first, last));
    }

    /// Whether a stage was undone.
    #[inline]
    pub fn holds(&self, stage: u64) -> bool {
        if planted(Fault::SpilledRollbackIgnored) {
            return false;
        }
        let next = self.stretches.partition_point(|&(first, _)| first <= stage);
        next > 0 && stage <= self.stretches[next - 1].1
    }
}

fn decode_large(bytes: &[u8]) -> Option<LargeValue> {
    let (value, rest) = bytes.split_first_chunk::<{ OverflowRef::BYTES }>()?;
    let (first_page, rest) = rest.split_first_chunk()?;
    let page_count = u32::from_le_bytes(rest.try_into().ok()?);
    let first_page = PageNumber(u64::from_le_bytes(*first_page));
    Some(LargeValue { value: OverflowRef::from_bytes(value), first_page, page_count })
}

const PUT: u8 = 1;
const PUT_LARGE: u8 = 2;
const DELETE: u8 = 3;
const MERGE: u8 = 4;
/// Length, stage and kind.
const TRAILER_BYTES: usize = 4 + 8 + 1;
/// Bytes that an operand may have, so that a run takes an entry of it alone.
pub const OPERAND_BYTES_MAX: usize = VALUE_BYTES_MAX - TRAILER_BYTES;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ExtentId;
    use crate::txn::writes::small_bytes::PutValue;

    fn entry(versions: &[(u64, &Pending)]) -> Vec<u8> {
        let mut entry = Vec::new();
        versions.iter().for_each(|&(stage, pending)| push_version(&mut entry, stage, pending));
        entry
    }

    #[test]
    fn versions_read_back_newest_first() {
        let value = OverflowRef { extent: ExtentId(7), slot: 0, length: 70_000, checksum: 9 };
        let large = LargeValue { value, first_page: PageNumber(1 << 40), page_count: 5 };
        let pendings = [
            Pending::Put(b"value"[..].into()),
            Pending::PutLarge(Box::new(large)),
            Pending::Delete,
            Pending::Merge(b"operand".to_vec()),
            Pending::Put(PutValue::from(&[][..])),
        ];
        let list: Vec<_> = pendings.iter().enumerate().map(|(stage, pending)| (stage as u64, pending)).collect();
        let bytes = Value::from(entry(&list));
        assert_eq!(bytes.len(), pendings.iter().map(version_bytes).sum::<usize>());
        let found: Vec<_> = versions(&bytes).collect();
        assert_eq!(found.iter().map(|version| version.stage).collect::<Vec<_>>(), [4, 3, 2, 1, 0]);
        assert_eq!(found.iter().rev().flat_map(|version| version.bytes(&bytes).to_vec()).collect::<Vec<_>>(), *bytes);
        let mut owns = found.iter().rev().map(|version| version.own(&bytes).expect("it was made here"));
        assert!(matches!(owns.next(), Some(OwnChange::Put(value)) if value == b"value"));
        assert!(matches!(owns.next(), Some(OwnChange::PutLarge(found)) if found == large));
        assert!(matches!(owns.next(), Some(OwnChange::Delete)));
        assert!(matches!(owns.next(), Some(OwnChange::Merge(operand)) if operand == b"operand"));
        assert!(matches!(owns.next(), Some(OwnChange::Put(value)) if value.is_empty()));
    }

    #[test]
    fn bytes_that_are_no_versions_are_none() {
        assert_eq!(versions(b"").count(), 0);
        assert_eq!(versions(b"short").count(), 0);
        assert_eq!(versions(&[0xff; 40]).count(), 0);
        let mut wrong = entry(&[(1, &Pending::Delete)]);
        *wrong.last_mut().expect("it has a kind") = 9;
        let wrong = Value::from(wrong);
        assert!(versions(&wrong).next().expect("its length is right").own(&wrong).is_none());
    }

    #[test]
    fn stretches_that_were_undone_grow_and_join() {
        let mut undone = Undone::default();
        assert!(!undone.holds(0));
        undone.add(3, 4);
        undone.add(7, 9);
        let held = |undone: &Undone| (0..14).filter(|&stage| undone.holds(stage)).collect::<Vec<_>>();
        assert_eq!(held(&undone), [3, 4, 7, 8, 9]);
        undone.add(10, 10);
        assert_eq!((held(&undone), undone.stretches.len()), (vec![3, 4, 7, 8, 9, 10], 2));
        undone.add(8, 11);
        assert_eq!(held(&undone), [3, 4, 7, 8, 9, 10, 11]);
        undone.add(2, 12);
        assert_eq!((held(&undone), undone.stretches.len()), ((2..=12).collect(), 1));
    }

    #[test]
    fn of_versions_stay_the_last_and_those_that_savepoints_return_to() {
        let put = Pending::Put(PutValue::from(&[][..]));
        let bytes = entry(&[(0, &put), (1, &put), (2, &put), (4, &put), (6, &put)]);
        let needed = |undone: &Undone, savepoints: &[u64]| {
            // In one entry or in two, it is the same.
            let (older, newer) = bytes.split_at(2 * TRAILER_BYTES);
            let stages = |entries: &[&[u8]]| -> Vec<_> {
                needed_versions(entries.iter().copied(), undone, savepoints).map(|(_, found)| found.stage).collect()
            };
            assert_eq!(stages(&[newer, older]), stages(&[&bytes]));
            stages(&[&bytes])
        };
        let mut undone = Undone::default();
        assert_eq!(needed(&undone, &[]), [6]);
        assert_eq!(needed(&undone, &[1, 2, 3, 4, 5, 6]), [6, 4, 2, 1, 0]);
        assert_eq!(needed(&undone, &[3]), [6, 2]);
        assert_eq!(needed(&undone, &[2, 3]), [6, 2, 1]);
        assert_eq!(needed(&undone, &[7]), [6]);
        undone.add(4, 6);
        assert_eq!(needed(&undone, &[]), [2]);
        assert_eq!(needed(&undone, &[1, 4]), [2, 0]);
        undone.add(0, 7);
        assert!(needed(&undone, &[0]).is_empty());
    }
}
