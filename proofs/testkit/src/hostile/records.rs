//! Where the records of a log segment are, written from `docs/reference/file-format.md`; and how to make a changed
//! segment's checksums hold again.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::layout::{u32_at, u64_at};

/// A record of a sound segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it begins.
    pub at: usize,
    /// Bytes of header and payload.
    pub length: usize,
    /// Its commit.
    pub sequence: u64,
    /// Every commit up to this one was durable when it was written.
    pub synced_up_to: u64,
}

/// Bytes of a segment's header.
pub const SEGMENT_BYTES: usize = 64;
/// Bytes of a record's header.
pub const RECORD_BYTES: usize = 56;

/// The records of a sound segment, in order.
pub fn records(segment: &[u8]) -> Vec<Record> {
    let salt = u64_at(segment, 40);
    let mut found = Vec::new();
    let mut at = SEGMENT_BYTES;
    while let Some(header) = segment.get(at..at + RECORD_BYTES) {
        if u64_at(header, 0) != xxh3_64_with_seed(&header[8..], salt) {
            break;
        }
        let length = u32_at(header, 8) as usize;
        found.push(Record { at, length, sequence: u64_at(header, 24), synced_up_to: u64_at(header, 32) });
        at += length.next_multiple_of(8);
    }
    found
}

/// Recomputes the checksums of the segment's header and of all records at the places in `known`, and chains them again.
pub fn reseal(segment: &mut [u8], known: &[Record]) {
    if segment.len() < SEGMENT_BYTES {
        return;
    }
    let sum = xxh3_64(&segment[..56]);
    segment[56..SEGMENT_BYTES].copy_from_slice(&sum.to_le_bytes());
    let salt = u64_at(segment, 40);
    let mut previous = None;
    for record in known {
        let Some(bytes) = segment.get_mut(record.at..) else { break };
        if bytes.len() < RECORD_BYTES {
            break;
        }
        // A changed length is believed as far as the file goes.
        let length = (u32_at(bytes, 8) as usize).clamp(RECORD_BYTES, bytes.len());
        let payload = xxh3_64(&bytes[RECORD_BYTES..length]);
        bytes[40..48].copy_from_slice(&payload.to_le_bytes());
        if let Some(previous) = previous {
            bytes[16..24].copy_from_slice(&u64::to_le_bytes(previous));
        }
        let checksum = xxh3_64_with_seed(&bytes[8..RECORD_BYTES], salt);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        previous = Some(checksum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    /// The segments of a database that crashed, in order.
    fn segments() -> Vec<Vec<u8>> {
        let all = golden::all().expect("a memory disk");
        let crashed = all.into_iter().find(|golden| golden.name == "crashed").expect("there is one");
        let is_segment = |name: &str| name.contains("-log.") && !name.ends_with(".spare");
        crashed.files.into_iter().filter(|(name, _)| is_segment(name)).map(|(_, bytes)| bytes).collect()
    }

    #[test]
    fn the_records_of_a_log_have_rising_sequences_and_nothing_behind_them_is_one() {
        let mut last = None;
        for segment in segments() {
            let records = records(&segment);
            for record in &records {
                assert!(last.is_none_or(|last| record.sequence == last + 1), "{record:?} after {last:?}");
                assert!(record.synced_up_to < record.sequence);
                last = Some(record.sequence);
            }
            let end = records.last().map_or(SEGMENT_BYTES, |last| last.at + last.length.next_multiple_of(8));
            // What follows was never written, or in another segment.
            let salt = u64_at(&segment, 40);
            for header in segment[end..].windows(RECORD_BYTES).step_by(8) {
                assert_ne!(u64_at(header, 0), xxh3_64_with_seed(&header[8..], salt));
            }
        }
        assert!(last.is_some_and(|last| last > 10), "{last:?}");
    }

    #[test]
    fn resealing_changes_nothing_in_a_sound_segment_and_makes_a_changed_one_hold() {
        for segment in segments() {
            let known = records(&segment);
            let mut same = segment.clone();
            reseal(&mut same, &known);
            assert!(same == segment, "it was sealed before");
            let mut changed = segment.clone();
            let first = known.first().expect("each segment has commits");
            changed[first.at + first.length - 1] ^= 1;
            reseal(&mut changed, &known);
            assert_eq!(records(&changed), known, "all checksums hold again");
            assert_ne!(changed[first.at + 40..first.at + 48], segment[first.at + 40..first.at + 48]);
            for pair in known.windows(2) {
                let (before, after) = (u64_at(&changed, pair[0].at), u64_at(&changed, pair[1].at + 16));
                assert_eq!(before, after, "the chain holds again");
            }
            reseal(&mut changed[..first.at + 20], &known);
            reseal(&mut [], &known);
        }
    }
}
