//! Records of the write-ahead log: the header of each, and the chain. See `docs/reference/file-format.md`, "Log".
//!
//! This file does no I/O: `log` places records in segments, and decides what a damaged record means.
//!
//! (1) A commit is one record, or several *parts* in a row. Only the last one has the kind [`RecordKind::Commit`];
//!     without it the commit does not exist.
//! (2) The payload's checksum is computed when the commit is encoded, outside of any lock. The header, which contains
//!     the checksum, is sealed when the commit has its place: that costs a hash of 48 bytes.

use std::mem::offset_of;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::format::bytes::{get_u32, get_u64, put};
use crate::ids::Sequence;

/// What a record is. On disk: never renumber, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// A whole commit, or the last part of one.
    Commit = 1,
    /// A part of a commit that the next record continues.
    Part = 2,
}

/// The fixed part at the front of each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Checksum of the other fields, seeded with the segment's salt. It also names the record: the next one repeats it.
    pub checksum: u64,
    /// Bytes of header and payload, without the padding that follows.
    pub length: u32,
    /// Whole commit or part.
    pub kind: RecordKind,
    /// The checksum of the record before this one, 0 if there is none.
    pub previous: u64,
    /// The commit's number.
    pub sequence: Sequence,
    /// All commits up to this one were durable when the record was written.
    pub synced_up_to: Sequence,
    /// Checksum of the payload.
    pub payload_checksum: u64,
    /// Position among the parts of its commit, from 0.
    pub part: u32,
}

/// What a record says of its place in the log.
#[derive(Clone, Copy, Debug)]
pub struct RecordLink {
    /// The segment's salt.
    pub salt: u64,
    /// Checksum of the record before.
    pub previous: u64,
    /// The commit's number.
    pub sequence: Sequence,
    /// The last commit known to be durable.
    pub synced_up_to: Sequence,
}

/// What a record's payload says of itself, from which the rest of the header follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct PayloadSummary {
    pub(super) kind: RecordKind,
    pub(super) operation_count: u32,
    pub(super) part: u32,
}

/// The stored form, for its offsets only.
#[repr(C)]
struct Layout {
    checksum: u64,
    length: u32,
    kind: u8,
    zero: [u8; 3],
    previous: u64,
    sequence: u64,
    synced_up_to: u64,
    payload_checksum: u64,
    operation_count: u32,
    part: u32,
}

const CHECKSUM: usize = offset_of!(Layout, checksum);
const LENGTH: usize = offset_of!(Layout, length);
const KIND: usize = offset_of!(Layout, kind);
const ZERO: usize = offset_of!(Layout, zero);
const PREVIOUS: usize = offset_of!(Layout, previous);
const SEQUENCE: usize = offset_of!(Layout, sequence);
const SYNCED_UP_TO: usize = offset_of!(Layout, synced_up_to);
const PAYLOAD_CHECKSUM: usize = offset_of!(Layout, payload_checksum);
const OPERATION_COUNT: usize = offset_of!(Layout, operation_count);
const PART: usize = offset_of!(Layout, part);
/// The checksum covers the header from here on.
const CHECKED: usize = LENGTH;

const _: () = assert!(size_of::<Layout>() == RecordHeader::BYTES);
const _: () = assert!(CHECKSUM == 0 && LENGTH == 8 && KIND == 12 && ZERO == 13 && PREVIOUS == 16 && SEQUENCE == 24);
const _: () = assert!(SYNCED_UP_TO == 32 && PAYLOAD_CHECKSUM == 40 && OPERATION_COUNT == 48 && PART == 52);
const _: () = assert!(RecordHeader::BYTES.is_multiple_of(RECORD_ALIGNMENT));

/// A header's bytes.
type HeaderBytes = [u8; RecordHeader::BYTES];

impl RecordHeader {
    /// Bytes of a header.
    pub const BYTES: usize = 56;

    /// Reads a header, if `bytes` holds one that was written to the segment with this `salt`.
    ///
    /// # Errors
    /// What no writer of this format would have written, although the checksum holds.
    #[inline]
    pub fn decode(bytes: &HeaderBytes, salt: u64) -> Option<Result<Self, &'static str>> {
        if get_u64(bytes, CHECKSUM) != xxh3_64_with_seed(&bytes[CHECKED..], salt) {
            return None;
        }
        Some(Self::decode_fields(bytes).and_then(|header| {
            if header.synced_up_to < header.sequence {
                Ok(header)
            } else {
                Err("a record claims to be durable before it was written")
            }
        }))
    }

    /// Length and number of operations of the record at the front of `bytes`, which was checked before or is not
    /// sealed yet.
    #[inline]
    pub(super) fn extent(bytes: &[u8]) -> Result<(usize, u32), &'static str> {
        let header: &HeaderBytes = bytes.first_chunk().ok_or("a record ends within its header")?;
        Ok((get_u32(header, LENGTH) as usize, get_u32(header, OPERATION_COUNT)))
    }

    fn decode_fields(bytes: &HeaderBytes) -> Result<Self, &'static str> {
        let kind = match bytes[KIND] {
            1 => RecordKind::Commit,
            2 => RecordKind::Part,
            _ => return Err("a record is of no known kind"),
        };
        if bytes[ZERO..PREVIOUS] != [0; 3] {
            return Err("a record has unknown flags");
        }
        let header = Self {
            checksum: get_u64(bytes, CHECKSUM),
            length: get_u32(bytes, LENGTH),
            kind,
            previous: get_u64(bytes, PREVIOUS),
            sequence: Sequence(get_u64(bytes, SEQUENCE)),
            synced_up_to: Sequence(get_u64(bytes, SYNCED_UP_TO)),
            payload_checksum: get_u64(bytes, PAYLOAD_CHECKSUM),
            part: get_u32(bytes, PART),
        };
        if (header.length as usize) < Self::BYTES {
            return Err("a record is shorter than its header");
        }
        Ok(header)
    }

    /// Whether `bytes` may be the header of a record that claims durability past `sequence`: a filter before the
    /// checksum.
    #[inline]
    pub fn may_claim_past(bytes: &HeaderBytes, sequence: Sequence) -> bool {
        let claim = get_u64(bytes, SYNCED_UP_TO);
        claim > sequence.0 && get_u64(bytes, SEQUENCE) > claim && matches!(bytes[KIND], 1 | 2)
    }

    /// Bytes from this record to the next: its length and the padding to a multiple of [`RECORD_ALIGNMENT`].
    #[inline]
    pub fn padded_length(&self) -> u64 {
        u64::from(self.length).next_multiple_of(RECORD_ALIGNMENT as u64)
    }

    /// Whether `payload` is the one that this header was written for.
    #[inline]
    pub fn payload_holds(&self, payload: &[u8]) -> bool {
        xxh3_64(payload) == self.payload_checksum
    }
}

/// Fills in the part of a record's header that describes its payload.
///
/// # Panics
/// If the record is 4 GiB or longer.
pub(super) fn describe_payload(record: &mut [u8], summary: PayloadSummary) {
    let length = u32::try_from(record.len()).expect("a record is closed long before 4 GiB");
    let (header, payload) = record.split_at_mut(RecordHeader::BYTES);
    put(header, LENGTH, length.to_le_bytes());
    header[KIND] = summary.kind as u8;
    put(header, PAYLOAD_CHECKSUM, xxh3_64(payload).to_le_bytes());
    put(header, OPERATION_COUNT, summary.operation_count.to_le_bytes());
    put(header, PART, summary.part.to_le_bytes());
}

/// Fills in the rest of the header, and seals it. Answers the record's checksum, and its length with padding.
#[inline]
pub(super) fn seal_header(header: &mut HeaderBytes, link: &RecordLink) -> (u64, usize) {
    put(header, PREVIOUS, link.previous.to_le_bytes());
    put(header, SEQUENCE, link.sequence.0.to_le_bytes());
    put(header, SYNCED_UP_TO, link.synced_up_to.0.to_le_bytes());
    let checksum = xxh3_64_with_seed(&header[CHECKED..], link.salt);
    put(header, CHECKSUM, checksum.to_le_bytes());
    (checksum, (get_u32(header, LENGTH) as usize).next_multiple_of(RECORD_ALIGNMENT))
}

/// Every record begins at a multiple of this many bytes.
pub const RECORD_ALIGNMENT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: u64 = 11;

    /// A sealed record without operations.
    fn record() -> HeaderBytes {
        let mut bytes = [0; RecordHeader::BYTES];
        describe_payload(&mut bytes, PayloadSummary { kind: RecordKind::Commit, operation_count: 0, part: 0 });
        let link = RecordLink { salt: SALT, previous: 22, sequence: Sequence(5), synced_up_to: Sequence(3) };
        seal_header(&mut bytes, &link);
        bytes
    }

    #[test]
    fn header_reads_back_as_sealed() {
        let header = RecordHeader::decode(&record(), SALT).expect("the checksum holds").expect("it is sound");
        assert_eq!((header.length, header.kind), (56, RecordKind::Commit));
        assert_eq!((header.previous, header.sequence, header.synced_up_to), (22, Sequence(5), Sequence(3)));
        assert!(header.payload_holds(b""));
        assert!(!header.payload_holds(b"another"));
    }

    #[test]
    fn header_of_another_segment_or_with_any_bit_flipped_is_none() {
        assert_eq!(RecordHeader::decode(&record(), SALT + 1), None);
        for bit in (0..RecordHeader::BYTES * 8).step_by(if cfg!(miri) { 13 } else { 1 }) {
            let mut flipped = record();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RecordHeader::decode(&flipped, SALT), None, "bit {bit}");
        }
    }

    #[test]
    fn sealed_header_that_contradicts_itself_is_an_offence() {
        for (at, byte, what) in [
            (KIND, 0, "a record is of no known kind"),
            (KIND, 3, "a record is of no known kind"),
            (ZERO, 1, "a record has unknown flags"),
            (ZERO + 2, 1, "a record has unknown flags"),
            (LENGTH, 55, "a record is shorter than its header"),
            (SYNCED_UP_TO, 5, "a record claims to be durable before it was written"),
        ] {
            let mut header = record();
            header[at] = byte;
            let checksum = xxh3_64_with_seed(&header[CHECKED..], SALT);
            put(&mut header, CHECKSUM, checksum.to_le_bytes());
            assert_eq!(RecordHeader::decode(&header, SALT), Some(Err(what)));
        }
    }

    #[test]
    fn filter_for_claims_passes_every_header_that_claims_past_the_sequence() {
        assert!(RecordHeader::may_claim_past(&record(), Sequence(2)));
        assert!(!RecordHeader::may_claim_past(&record(), Sequence(3)));
        assert!(!RecordHeader::may_claim_past(&[0; RecordHeader::BYTES], Sequence(0)));
    }
}
