//! The value of every record, without a byte of memory for each: a slice of one block of noise, chosen by the record.
//!
//! Invariant: a record's number and version determine its value, so that every answer of an engine can be judged. Two
//! records share a value once in [`SLOTS`] pairs; the pass that compares all content sees all records, so no
//! systematic mistake can hide behind that. The block fits the second-level cache and costs both engines the same.

use crate::data::random::{Random, mix};

/// How many different values there are: as many as bytes in the block at which a value can begin.
pub const SLOTS: usize = 1 << 18;

/// Shortest value that the checks can judge: its first and last 8 bytes.
pub const LENGTH_MIN: usize = 8;

/// All values of a data set.
#[derive(Debug)]
pub struct Values {
    noise: Vec<u8>,
    length: usize,
}

impl Values {
    /// Values of `length` bytes, at least [`LENGTH_MIN`].
    pub fn new(length: usize) -> Self {
        assert!(length >= LENGTH_MIN, "a value is judged by its first and last 8 bytes");
        let mut random = Random::new(0, 0);
        let words = (SLOTS + length).div_ceil(8);
        let noise = (0..words).flat_map(|_| random.next().to_le_bytes()).collect();
        Self { noise, length }
    }

    /// Bytes of each value.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The value of record `id` as first loaded.
    #[inline]
    pub fn get(&self, id: u32) -> &[u8] {
        self.get_version(id, 0)
    }

    /// The value of record `id` after `version` overwrites.
    #[inline]
    pub fn get_version(&self, id: u32, version: u32) -> &[u8] {
        let slot = mix(u64::from(version) << 32 | u64::from(id)) as usize % SLOTS;
        &self.noise[slot..slot + self.length]
    }
}

/// What a timed loop sees of a value: its first and last 8 bytes. Its length is the same for the whole data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The first 8 bytes.
    pub first: u64,
    /// The last 8 bytes.
    pub last: u64,
}

impl Ends {
    /// The ends of `value`, `None` if it is too short to have them.
    #[inline(always)]
    pub fn of(value: &[u8]) -> Option<Self> {
        let first = u64::from_le_bytes(*value.first_chunk()?);
        let last = u64::from_le_bytes(*value.last_chunk()?);
        Some(Self { first, last })
    }
}

/// A running sum over values in the order they are handed out: the check of scans, where comparing each record with a
/// table of expected ends would cost as much as the scan itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    first: u64,
    last: u64,
    lengths: u64,
    /// Values that were added.
    pub count: u64,
}

impl Digest {
    /// Adds the length and ends of `value`; one without ends changes only the length and count.
    #[inline(always)]
    pub fn add(&mut self, value: &[u8]) {
        let ends = Ends::of(value).unwrap_or(Ends { first: 0, last: 0 });
        self.first = self.first.rotate_left(1).wrapping_add(ends.first);
        self.last = self.last.rotate_left(1).wrapping_add(ends.last);
        self.lengths += value.len() as u64;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_depends_on_the_record_and_its_version_only() {
        let values = Values::new(100);
        assert_eq!(values.get(5), Values::new(100).get(5));
        assert_ne!(values.get(5), values.get(6));
        assert_ne!(values.get(5), values.get_version(5, 1));
        assert_eq!(values.get(5).len(), 100);
    }

    #[test]
    fn every_slot_has_room_for_a_whole_value() {
        let values = Values::new(8);
        assert!(values.noise.len() >= SLOTS + 8);
        assert_eq!(Ends::of(values.get(1)).map(|ends| ends.first == ends.last), Some(true));
    }

    #[test]
    fn ends_overlap_in_short_values_and_are_missing_in_shorter_ones() {
        let ends = Ends::of(&[1, 0, 0, 0, 0, 0, 0, 0, 2]).unwrap();
        assert_eq!((ends.first, ends.last), (1, 2 << 56));
        assert_eq!(Ends::of(&[0; 7]), None);
    }

    #[test]
    fn a_digest_sees_order_content_and_length() {
        let digest = |values: &[&[u8]]| {
            let mut digest = Digest::default();
            values.iter().for_each(|value| digest.add(value));
            digest
        };
        let (a, b) = ([1u8; 16], [2u8; 16]);
        assert_ne!(digest(&[&a, &b]), digest(&[&b, &a]));
        assert_ne!(digest(&[&a, &a]), digest(&[&a, &b]));
        assert_ne!(digest(&[&a]), digest(&[&[1u8; 17]]));
        assert_eq!(digest(&[&a, &b]), digest(&[&a, &b]));
    }
}
