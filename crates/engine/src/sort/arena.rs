//! Records in memory, one behind the other in the order they came: lengths of key and value, key, value.
//!
//! Invariants: (1) an offset given out by [`Arena::offsets`] is that of a record's header, and the record is whole.
//! (2) All keys begin with the first `common` bytes of the first one.

use super::order::common_prefix;

/// Bytes before each record's key: the lengths of key and value, little-endian `u32`.
pub(super) const HEADER_BYTES: usize = 8;

/// Encodes a record's header.
pub(super) fn header(key_length: u32, value_length: u32) -> [u8; HEADER_BYTES] {
    (u64::from(value_length) << 32 | u64::from(key_length)).to_le_bytes()
}

/// The lengths of key and value that a header holds.
pub(super) fn lengths(header: [u8; HEADER_BYTES]) -> (u32, u32) {
    let both = u64::from_le_bytes(header);
    (both as u32, (both >> 32) as u32)
}

/// The records.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    count: usize,
    common: usize,
}

impl Arena {
    /// The number of records.
    pub fn count(&self) -> usize {
        self.count
    }

    /// What the records take.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// What is allocated for them.
    #[cfg(test)]
    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// The beginning that all keys share.
    pub fn shared_prefix(&self) -> &[u8] {
        if self.count == 0 { &[] } else { &self.key(0)[..self.common] }
    }

    /// Appends a record. What is allocated grows by doubling, but to no more than `limit_bytes`, unless this record alone
    /// needs more.
    ///
    /// # Panics
    /// If key or value are longer than a `u32` tells.
    pub fn push(&mut self, key: &[u8], value: &[u8], limit_bytes: usize) {
        let key_length = u32::try_from(key.len()).expect("the sorter refuses longer keys");
        let value_length = u32::try_from(value.len()).expect("the sorter refuses longer values");
        if self.count == 0 {
            self.common = key.len();
        } else if self.common > 0 {
            self.common = common_prefix(self.shared_prefix(), key);
        }
        self.grow(HEADER_BYTES + key.len() + value.len(), limit_bytes);
        self.bytes.extend_from_slice(&header(key_length, value_length));
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.count += 1;
    }

    /// Forgets the records and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.common = 0;
    }

    /// The offsets of the records, in the order they came.
    pub fn offsets(&self) -> impl Iterator<Item = usize> {
        let mut next = 0;
        (0..self.count).map(move |_| {
            let offset = next;
            let (key_length, value_length) = self.lengths(offset);
            next += HEADER_BYTES + key_length + value_length;
            offset
        })
    }

    /// The key of the record at `offset`.
    #[inline]
    pub fn key(&self, offset: usize) -> &[u8] {
        let (key_length, _) = self.lengths(offset);
        &self.bytes[offset + HEADER_BYTES..][..key_length]
    }

    /// The key and value of the record at `offset`.
    #[inline]
    pub fn record(&self, offset: usize) -> (&[u8], &[u8]) {
        let (key_length, value_length) = self.lengths(offset);
        self.bytes[offset + HEADER_BYTES..][..key_length + value_length].split_at(key_length)
    }

    /// Brings the records at `offsets` into the processor's cache: the part of them that most records have.
    pub fn fetch(&self, offsets: impl Iterator<Item = usize>) {
        let lines = (self.bytes.len() / self.count.max(1) / LINE_BYTES + 1).min(FETCHED_LINES_MAX);
        let mut sum = 0;
        for offset in offsets {
            for line in 0..lines {
                sum ^= self.bytes.get(offset + line * LINE_BYTES).copied().unwrap_or(0);
            }
        }
        // Nobody wants the sum, but without a use of it nothing would be read.
        std::hint::black_box(sum);
    }

    #[inline]
    fn lengths(&self, offset: usize) -> (usize, usize) {
        let header = self.bytes[offset..].first_chunk().expect("offsets are those of whole records");
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

/// What the processor fetches at once.
const LINE_BYTES: usize = 64;
/// Beyond so many lines the processor foresees the reading itself.
const FETCHED_LINES_MAX: usize = 6;
/// The least to allocate.
const GROWTH_MIN_BYTES: usize = 64 << 10;
