//! Where the records of a log segment are, written from `docs/file-format.md`; and how to make a changed segment's checksums
//! hold again.

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

/// Recomputes the checksums of the segment's header and of all records that stood where `known` says, chaining them anew.
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
