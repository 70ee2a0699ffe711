//! What a leaf stores for one key: operation, key, value; and how keys too long for a page are ordered.

use std::cmp::Ordering;

use crate::format::cell::overflow::OverflowRef;
use crate::format::hash::Identity;
use crate::format::page::INLINE_KEY_BYTES_MAX;

/// In a stored length field: the bytes are a reference to an overflow, not the key or value itself.
pub const OVERFLOW_BIT: u16 = 1 << 15;
/// The length within a stored length field.
pub const LENGTH_MASK: u16 = OVERFLOW_BIT - 1;
/// Stored length of a long key: its first bytes, its hash, its reference.
pub const LONG_KEY_BYTES: usize = INLINE_KEY_BYTES_MAX + 8 + OverflowRef::BYTES;
/// Bytes of a cell before its key: two length fields.
pub const CELL_HEADER_BYTES: usize = 4;

/// What an entry does to the layers below it, and by how much it changes the table's count.
///
/// On disk in two bits: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// The key has this value, and had none below: +1.
    PutNew = 0,
    /// The key has this value instead of one below, or the table keeps no counts: 0.
    PutReplace = 1,
    /// The key has no value, and had one below: −1.
    DeleteCounted = 2,
    /// The key has no value, and the table keeps no counts: 0.
    Delete = 3,
}

impl Op {
    /// The operation with this number; only the two lowest bits count.
    #[inline(always)]
    pub fn from_bits(bits: usize) -> Self {
        match bits & 3 {
            0 => Self::PutNew,
            1 => Self::PutReplace,
            2 => Self::DeleteCounted,
            _ => Self::Delete,
        }
    }

    /// Whether the key has no value.
    #[inline(always)]
    pub fn is_delete(self) -> bool {
        self as u8 >= Self::DeleteCounted as u8
    }

    /// Change of the number of keys: +1, 0 or −1.
    #[inline(always)]
    pub fn net(self) -> i16 {
        match self {
            Self::PutNew => 1,
            Self::DeleteCounted => -1,
            Self::PutReplace | Self::Delete => 0,
        }
    }
}

/// A key as a cell holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKey<'p> {
    /// The whole key, at most [`INLINE_KEY_BYTES_MAX`] bytes.
    Inline(&'p [u8]),
    /// A longer key.
    Overflow {
        /// Its first [`INLINE_KEY_BYTES_MAX`] bytes.
        prefix: &'p [u8],
        /// `Identity::hash` of the whole key: equal to `at.checksum`.
        hash: u64,
        /// Where the whole key is, its first bytes included.
        at: OverflowRef,
    },
}

/// A separator of a branch: as keys are, long or not.
pub type Separator<'p> = CellKey<'p>;

impl<'p> CellKey<'p> {
    /// The identity's hash of the whole key.
    #[inline]
    pub fn hash(&self, identity: &Identity) -> u64 {
        match *self {
            Self::Inline(bytes) => identity.hash(bytes),
            Self::Overflow { hash, .. } => hash,
        }
    }

    /// The bytes that order this key among all but the long keys that share them.
    #[inline(always)]
    pub fn part(&self) -> &'p [u8] {
        match *self {
            Self::Inline(bytes) => bytes,
            Self::Overflow { prefix, .. } => prefix,
        }
    }

    /// Whether the key is longer than its cell holds.
    #[inline(always)]
    pub fn is_overflow(&self) -> bool {
        matches!(self, Self::Overflow { .. })
    }

    /// Length of the key in its cell, in bytes.
    #[inline(always)]
    pub fn stored_length(&self) -> usize {
        match self {
            Self::Inline(bytes) => bytes.len(),
            Self::Overflow { .. } => LONG_KEY_BYTES,
        }
    }

    /// Length of the whole key.
    pub fn key_length(&self) -> usize {
        match self {
            Self::Inline(bytes) => bytes.len(),
            Self::Overflow { at, .. } => at.length as usize,
        }
    }

    /// How this stored key compares to a whole key.
    ///
    /// # Errors
    /// Those of `long_keys`, which is called only if both are long and share their first bytes.
    pub fn compare<L: LongKeys>(&self, key: &[u8], long_keys: &L) -> Result<Ordering, L::Error> {
        match self {
            Self::Inline(bytes) => Ok((*bytes).cmp(key)),
            Self::Overflow { prefix, at, .. } => {
                let Some((key_part, _)) = key.split_at_checked(INLINE_KEY_BYTES_MAX) else {
                    // The shorter key may equal the part up to its own length; the longer one is then the greater.
                    return Ok((*prefix).cmp(key));
                };
                match (*prefix).cmp(key_part) {
                    Ordering::Equal if key.len() == INLINE_KEY_BYTES_MAX => Ok(Ordering::Greater),
                    Ordering::Equal => long_keys.compare(at, key),
                    unequal => Ok(unequal),
                }
            }
        }
    }
}

/// A value as a cell holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellValue<'p> {
    /// The value itself; empty for a delete.
    Inline(&'p [u8]),
    /// A value too long for a cell.
    Overflow(OverflowRef),
}

impl CellValue<'_> {
    /// Length of the value in its cell, in bytes, without padding.
    #[inline(always)]
    pub fn stored_length(&self) -> usize {
        match self {
            Self::Inline(bytes) => bytes.len(),
            Self::Overflow(_) => OverflowRef::BYTES,
        }
    }
}

/// One entry of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'p> {
    /// What the entry does.
    pub op: Op,
    /// Its key.
    pub key: CellKey<'p>,
    /// Its value; `Inline` and empty for a delete.
    pub value: CellValue<'p>,
}

/// The order of long keys, implemented where overflow pages can be read.
pub trait LongKeys {
    /// What reading can fail with.
    type Error;

    /// How the whole stored key compares to `key`. Called only if both are longer than [`INLINE_KEY_BYTES_MAX`] and
    /// agree up to there.
    ///
    /// # Errors
    /// If the overflow pages cannot be read.
    fn compare(&self, stored: &OverflowRef, key: &[u8]) -> Result<Ordering, Self::Error>;
}
