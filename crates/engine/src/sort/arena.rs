//! Records in memory, one behind the other in the order they came: lengths of key and value, key, value.
//!
//! Invariant: a place given out by [`Arena::push`] is that of a record's header, and the record is whole.

use super::order::Records;
use crate::format::prefetch;

/// Bytes before each record's key: the lengths of key and value, little-endian `u32`.
pub(super) const HEADER_BYTES: usize = 8;

/// Encodes a record's header.
fn header(key_length: u32, value_length: u32) -> [u8; HEADER_BYTES] {
    (u64::from(value_length) << 32 | u64::from(key_length)).to_le_bytes()
}

/// The lengths of key and value that a header holds.
fn lengths(header: [u8; HEADER_BYTES]) -> (u32, u32) {
    let both = u64::from_le_bytes(header);
    (both as u32, (both >> 32) as u32)
}

/// The records.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    /// What the records take.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// What is allocated for them.
    #[cfg(test)]
    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Appends a record, whose key and value come in two parts each, and returns its place. What is allocated grows by
    /// doubling, but to no more than `limit_bytes`, unless this record alone needs more.
    ///
    /// # Panics
    /// If the length of key or value does not fit a `u32`.
    #[inline]
    pub fn push(&mut self, key: [&[u8]; 2], value: [&[u8]; 2], limit_bytes: usize) -> u64 {
        let (key_bytes, value_bytes) = (key[0].len() + key[1].len(), value[0].len() + value[1].len());
        let key_length = u32::try_from(key_bytes).expect("the sorter refuses longer keys");
        let value_length = u32::try_from(value_bytes).expect("the sorter refuses longer values");
        self.grow(HEADER_BYTES + key_bytes + value_bytes, limit_bytes);
        let place = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&header(key_length, value_length));
        for part in [key[0], key[1], value[0], value[1]] {
            self.bytes.extend_from_slice(part);
        }
        place
    }

    /// Forgets the records and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The key and value of the record at `place`.
    #[inline]
    pub fn record(&self, place: u64) -> (&[u8], &[u8]) {
        let (key_length, value_length) = self.lengths(place);
        self.bytes[place as usize + HEADER_BYTES..][..key_length + value_length].split_at(key_length)
    }

    #[inline]
    fn lengths(&self, place: u64) -> (usize, usize) {
        let header = self.bytes[place as usize..].first_chunk().expect("places are those of whole records");
        let (key_length, value_length) = lengths(*header);
        (key_length as usize, value_length as usize)
    }

    fn grow(&mut self, more_bytes: usize, limit_bytes: usize) {
        let needed = self.bytes.len() + more_bytes;
        if needed > self.bytes.capacity() {
            let capacity = (2 * self.bytes.capacity()).max(GROWTH_MIN_BYTES).min(limit_bytes).max(needed);
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
    }
}

impl Records for Arena {
    #[inline]
    fn key(&self, place: u64) -> &[u8] {
        let (key_length, _) = self.lengths(place);
        &self.bytes[place as usize + HEADER_BYTES..][..key_length]
    }

    #[inline]
    fn prefetch(&self, place: u64, lines: usize) {
        for line in 0..lines {
            prefetch(&self.bytes, place as usize + line * LINE_BYTES);
        }
    }
}

/// What the processor fetches at once.
const LINE_BYTES: usize = 64;
/// The least to allocate.
const GROWTH_MIN_BYTES: usize = 64 << 10;
