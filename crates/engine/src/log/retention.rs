//! Which segments stay although no checkpoint needs them: as many as the database's options keep, and those in use by
//! readers.
//!
//! Segments are kept from the newest back, without holes: so the first number identifies them. Lengths of files
//! count, in blocks, because the bound is for disk space.
//!
//! Its lock has the rank [`LockRank::Retention`].

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::segment::segment_path;
use crate::ids::{SegmentNumber, Sequence};
use crate::io::{Access, Disk};
use crate::sync::{Arc, LockRank, Mutex};

/// See the module. One for each open database.
#[derive(Debug)]
pub struct Retention {
    bytes_max: u64,
    /// The log does not have all commits up to here.
    floor: Sequence,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// The first segment that stayed when segments were removed last: files of lower segments mean nothing.
    first: SegmentNumber,
    /// Bytes of segments that do not grow any more.
    lengths: BTreeMap<SegmentNumber, u64>,
    /// The first segment that each reader needs.
    pins: BTreeMap<u64, SegmentNumber>,
    next_pin: u64,
    /// Where readers ended, the latest last: a reader that continues there need not read the segment from its
    /// beginning.
    ends: VecDeque<ReadEnd>,
}

/// A commit that was read, and where the next one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadEnd {
    pub(super) sequence: Sequence,
    /// Of the commit's last record.
    pub(super) checksum: u64,
    pub(super) segment: SegmentNumber,
    /// Behind it.
    pub(super) offset: u64,
}

/// How much is kept that no checkpoint needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// All of it.
    pub bytes: u64,
    /// What of it is over the bound, and stays for a reader alone.
    pub held_bytes: u64,
}

/// Somebody reads a segment and those after it, which stay as long as this lives.
#[derive(Debug)]
pub struct SegmentPin {
    retention: Arc<Retention>,
    id: u64,
}

impl Retention {
    /// Keeps up to so many bytes. What the log may still have of commits up to `floor` is not all that happened.
    /// Segments below `first` cannot be read.
    pub fn new(bytes_max: u64, floor: Sequence, first: SegmentNumber) -> Arc<Self> {
        Arc::new(Self { bytes_max, floor, held: Mutex::ranked(LockRank::Retention, Held { first, ..Held::default() }) })
    }

    /// Keeps nothing.
    pub fn none() -> Arc<Self> {
        Self::new(0, Sequence(0), SegmentNumber(0))
    }

    /// Whether anything is kept.
    pub fn keeps(&self) -> bool {
        self.bytes_max > 0
    }

    /// The last commit up to which the log does not have all commits.
    pub fn floor(&self) -> Sequence {
        self.floor
    }

    /// The first of those segments, rising, that stays; `end` if none does.
    pub fn first_kept(
        &self,
        disk: &dyn Disk,
        database: &Path,
        superfluous: &[SegmentNumber],
        end: SegmentNumber,
    ) -> SegmentNumber {
        let mut held = self.held.lock();
        let mut first = held.first_within(disk, database, superfluous, end, self.bytes_max);
        first = held.pins.values().copied().fold(first, SegmentNumber::min);
        held.first = held.first.max(first);
        held.lengths = held.lengths.split_off(&first);
        first
    }

    /// What of those segments, rising, is kept.
    pub fn kept(&self, disk: &dyn Disk, database: &Path, superfluous: &[SegmentNumber]) -> Kept {
        let mut held = self.held.lock();
        let superfluous = &superfluous[superfluous.partition_point(|&number| number < held.first)..];
        let end = SegmentNumber(u64::MAX);
        let first = held.first_within(disk, database, superfluous, end, self.bytes_max);
        let mut kept = Kept::default();
        for &number in superfluous {
            let bytes = held.length(disk, database, number);
            kept.bytes += bytes;
            kept.held_bytes += if number < first { bytes } else { 0 };
        }
        kept
    }

    /// Those of `segments` that can still be read: the others wait for their removal.
    pub fn readable(&self, mut segments: Vec<SegmentNumber>) -> Vec<SegmentNumber> {
        let first = self.held.lock().first;
        segments.retain(|&number| number >= first);
        segments
    }

    /// Has all segments from `first` on stay. Requires: none of them can be removed meanwhile.
    pub fn pin(self: &Arc<Self>, first: SegmentNumber) -> SegmentPin {
        let mut held = self.held.lock();
        let id = held.next_pin;
        held.next_pin += 1;
        held.pins.insert(id, first);
        drop(held);
        SegmentPin { retention: Arc::clone(self), id }
    }
}

impl Held {
    /// The first of those segments that is within the bound.
    fn first_within(
        &mut self,
        disk: &dyn Disk,
        database: &Path,
        superfluous: &[SegmentNumber],
        end: SegmentNumber,
        bytes_max: u64,
    ) -> SegmentNumber {
        let (mut first, mut sum) = (end, 0);
        for &number in superfluous.iter().rev().filter(|_| bytes_max > 0) {
            sum += self.length(disk, database, number);
            if sum > bytes_max {
                break;
            }
            first = number;
        }
        first
    }

    /// The length of a segment that does not grow any more. One that cannot be measured counts as the least.
    fn length(&mut self, disk: &dyn Disk, database: &Path, number: SegmentNumber) -> u64 {
        *self.lengths.entry(number).or_insert_with(|| {
            let file = disk.open(&segment_path(database, number), Access::Read);
            file.and_then(|file| file.len()).unwrap_or(0).max(1).next_multiple_of(BLOCK_BYTES)
        })
    }
}

impl SegmentPin {
    /// Remembers where this reader ended. Requires: the commit is durable, so that nobody takes it back.
    pub(super) fn note_end(&self, end: ReadEnd) {
        let mut held = self.retention.held.lock_after_panic();
        held.ends.retain(|other| *other != end);
        held.ends.push_back(end);
        if held.ends.len() > ENDS_MAX {
            held.ends.pop_front();
        }
    }

    /// The last place in a segment where a reader ended, at the commit `after` or before it.
    pub(super) fn end_before(&self, segment: SegmentNumber, after: Sequence) -> Option<ReadEnd> {
        let held = self.retention.held.lock();
        let ends = held.ends.iter().filter(|end| end.segment == segment && end.sequence <= after);
        ends.max_by_key(|end| end.sequence).copied()
    }

    /// Needs the segments from `first` on, and none before any more.
    pub fn advance(&self, first: SegmentNumber) {
        self.retention.held.lock().pins.insert(self.id, first);
    }
}

impl Drop for SegmentPin {
    fn drop(&mut self) {
        self.retention.held.lock_after_panic().pins.remove(&self.id);
    }
}

/// A file system gives out space in blocks of so many bytes: a directory of tiny files is no way around a bound.
const BLOCK_BYTES: u64 = 4096;

/// So many readers that follow the log find where they were; of more, some read their segment again.
const ENDS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    fn numbers(numbers: std::ops::Range<u64>) -> Vec<SegmentNumber> {
        numbers.map(SegmentNumber).collect()
    }

    #[test]
    fn the_newest_segments_stay_within_the_bound_and_older_ones_for_who_reads_them() {
        let (disk, database) = (MemoryDisk::new(), Path::new("a.ful"));
        for number in numbers(1..9) {
            let file = disk.open(&segment_path(database, number), Access::CreateNew).unwrap();
            file.write_at(0, &[1; 5000]).unwrap();
        }
        let first = |retention: &Retention| retention.first_kept(&disk, database, &numbers(1..9), SegmentNumber(9)).0;
        for (bytes_max, expected) in [(0, 9), (8191, 9), (8192, 8), (8 * 8192 - 1, 2), (8 * 8192, 1)] {
            assert_eq!(first(&Retention::new(bytes_max, Sequence(0), SegmentNumber(0))), expected, "{bytes_max} bytes");
        }
        let retention = Retention::new(2 * 8192, Sequence(0), SegmentNumber(0));
        let (early, late) = (retention.pin(SegmentNumber(3)), retention.pin(SegmentNumber(5)));
        assert_eq!(first(&retention), 3);
        let kept = retention.kept(&disk, database, &numbers(1..9));
        assert_eq!(kept, Kept { bytes: 6 * 8192, held_bytes: 4 * 8192 });
        early.advance(SegmentNumber(6));
        assert_eq!(first(&retention), 5);
        drop((early, late));
        assert_eq!(first(&retention), 7);
        assert_eq!(retention.readable(numbers(1..11)), numbers(7..11));
    }
}
