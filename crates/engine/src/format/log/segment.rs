//! The header of a log segment. See `docs/reference/file-format.md`, "Log".
//!
//! A header says which database the segment belongs to, and nothing about its records. So the log can prepare a segment
//! before it knows the first commit.

use std::mem::offset_of;

use xxhash_rust::xxh3::xxh3_64;

use crate::format::bytes::{get_u32, get_u64, put};
use crate::ids::SegmentNumber;

/// The first bytes of a segment's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The database that the segment belongs to.
    pub uuid: [u8; 16],
    /// The segment's number, which its name repeats.
    pub number: SegmentNumber,
    /// Random and different in each segment: the seed of the records' checksums, so that no record of another segment
    /// passes.
    pub salt: u64,
    /// Whether its records may note bulk loads, which an older reader does not know.
    pub notes_loads: bool,
    /// Whether its records may rename tables, which an older reader does not know.
    pub renames_tables: bool,
}

/// Why a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentHeaderFault {
    /// The checksum does not hold, or this is no header at all.
    Damaged,
    /// A newer version wrote it.
    Unsupported {
        /// Its version.
        version: u32,
        /// Its feature bits.
        features: u32,
    },
}

/// The stored form, for its offsets only.
#[repr(C)]
struct Layout {
    magic: [u8; 8],
    version: u32,
    features: u32,
    uuid: [u8; 16],
    number: u64,
    salt: u64,
    reserved: u64,
    checksum: u64,
}

const VERSION_AT: usize = offset_of!(Layout, version);
const FEATURES_AT: usize = offset_of!(Layout, features);
const UUID_AT: usize = offset_of!(Layout, uuid);
const NUMBER_AT: usize = offset_of!(Layout, number);
const SALT_AT: usize = offset_of!(Layout, salt);
/// The checksum covers all bytes before it.
const CHECKSUM_AT: usize = offset_of!(Layout, checksum);

const _: () = assert!(size_of::<Layout>() == SegmentHeader::BYTES && offset_of!(Layout, magic) == 0);
const _: () = assert!(VERSION_AT == 8 && FEATURES_AT == 12 && UUID_AT == 16 && NUMBER_AT == 32);
const _: () = assert!(SALT_AT == 40 && offset_of!(Layout, reserved) == 48 && CHECKSUM_AT == 56);

impl SegmentHeader {
    /// Bytes of a header; the first record follows.
    pub const BYTES: usize = 64;

    /// The stored form.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        put(&mut bytes, 0, MAGIC);
        put(&mut bytes, VERSION_AT, VERSION.to_le_bytes());
        let feature = |is_set: bool, bit: u32| u32::from(is_set) * bit;
        let features = feature(self.notes_loads, FEATURE_LOADS) | feature(self.renames_tables, FEATURE_RENAMES);
        put(&mut bytes, FEATURES_AT, features.to_le_bytes());
        put(&mut bytes, UUID_AT, self.uuid);
        put(&mut bytes, NUMBER_AT, self.number.0.to_le_bytes());
        put(&mut bytes, SALT_AT, self.salt.to_le_bytes());
        let checksum = xxh3_64(&bytes[..CHECKSUM_AT]);
        put(&mut bytes, CHECKSUM_AT, checksum.to_le_bytes());
        bytes
    }

    /// Reads what [`SegmentHeader::encode`] wrote.
    ///
    /// # Errors
    /// See [`SegmentHeaderFault`].
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, SegmentHeaderFault> {
        if bytes[..8] != MAGIC || get_u64(bytes, CHECKSUM_AT) != xxh3_64(&bytes[..CHECKSUM_AT]) {
            return Err(SegmentHeaderFault::Damaged);
        }
        let (version, features) = (get_u32(bytes, VERSION_AT), get_u32(bytes, FEATURES_AT));
        if version != VERSION || features & !(FEATURE_LOADS | FEATURE_RENAMES) != 0 {
            return Err(SegmentHeaderFault::Unsupported { version, features });
        }
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[UUID_AT..NUMBER_AT]);
        Ok(Self {
            uuid,
            number: SegmentNumber(get_u64(bytes, NUMBER_AT)),
            salt: get_u64(bytes, SALT_AT),
            notes_loads: features & FEATURE_LOADS != 0,
            renames_tables: features & FEATURE_RENAMES != 0,
        })
    }
}

/// The first bytes of every segment.
const MAGIC: [u8; 8] = *b"FULGULOG";
/// The only version there is.
const VERSION: u32 = 1;
/// The segment may have operations of the kind `loaded`. On disk: never renumber.
const FEATURE_LOADS: u32 = 1;
/// The segment may have operations of the kind `renamed`. On disk: never renumber.
const FEATURE_RENAMES: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader = SegmentHeader {
        uuid: [7; 16],
        number: SegmentNumber(3),
        salt: 0x1122_3344_5566_7788,
        notes_loads: false,
        renames_tables: false,
    };

    #[test]
    fn header_reads_back_as_written() {
        for (notes_loads, renames_tables) in [(false, false), (true, false), (false, true), (true, true)] {
            let header = SegmentHeader { notes_loads, renames_tables, ..HEADER };
            assert_eq!(SegmentHeader::decode(&header.encode()), Ok(header));
        }
    }

    #[test]
    fn header_with_a_feature_that_nobody_knows_is_refused() {
        let mut bytes = SegmentHeader { notes_loads: true, ..HEADER }.encode();
        bytes[FEATURES_AT] = 5;
        let checksum = xxh3_64(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        let fault = SegmentHeaderFault::Unsupported { version: 1, features: 5 };
        assert_eq!(SegmentHeader::decode(&bytes), Err(fault));
    }

    #[test]
    fn header_has_the_bytes_that_the_format_document_shows() {
        #[rustfmt::skip]
        let expected = [
            0x46, 0x55, 0x4c, 0x47, 0x55, 0x4c, 0x4f, 0x47, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
            0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07,
            0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf5, 0x70, 0x3b, 0xad, 0x9c, 0xd3, 0xff, 0xad,
        ];
        assert_eq!(HEADER.encode(), expected);
    }

    #[test]
    fn header_with_any_bit_flipped_is_damaged() {
        for bit in (0..SegmentHeader::BYTES * 8).step_by(if cfg!(miri) { 13 } else { 1 }) {
            let mut bytes = HEADER.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::decode(&bytes), Err(SegmentHeaderFault::Damaged), "bit {bit}");
        }
    }

    #[test]
    fn header_of_a_newer_version_is_told_from_a_damaged_one() {
        let mut bytes = HEADER.encode();
        bytes[8] = 2;
        let checksum = xxh3_64(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        let fault = SegmentHeaderFault::Unsupported { version: 2, features: 0 };
        assert_eq!(SegmentHeader::decode(&bytes), Err(fault));
    }
}
