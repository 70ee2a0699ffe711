//! The records of one data set: keys packed in order, and which are stored.
//!
//! Invariants: (1) Keys are held once, sorted and packed; values are not held at all (see `values`). While a data set
//! is made, a second copy in order of number lives for the sort alone. (2) One key in eleven of the same shape,
//! evenly over the order, is left out of the store: those are the misses. (3) `ids` gives each key's record number,
//! from which its value follows.

use crate::data::shape::Shape;
use crate::data::values::{Digest, Values};

/// Of this many neighbours in key order, one is not stored.
const ABSENT_EVERY: usize = 11;

/// Which of the neighbours it is.
const ABSENT_AT: usize = 5;

/// Which records a data set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Kind of key.
    pub shape: Shape,
    /// How many are stored.
    pub records: usize,
    /// Length of hashed keys; other shapes have their own.
    pub hashed_key_bytes: usize,
    /// Length of values.
    pub value_bytes: usize,
}

impl Spec {
    /// Its name in progress lines and directories: shape, key and value bytes, records.
    pub fn name(&self) -> String {
        match self.shape {
            Shape::Hashed => {
                format!("hashed-{}-{}-{}", self.hashed_key_bytes, self.value_bytes, short(self.records))
            }
            shape => format!("{}-{}-{}", shape.name(), self.value_bytes, short(self.records)),
        }
    }
}

/// `10M` for 10,000,000.
fn short(number: usize) -> String {
    match number {
        _ if number > 0 && number.is_multiple_of(1_000_000) => format!("{}M", number / 1_000_000),
        _ if number > 0 && number.is_multiple_of(1000) => format!("{}k", number / 1000),
        _ => number.to_string(),
    }
}

/// Keys in order, packed one behind the other.
#[derive(Debug)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Where each key ends; `ends[i]` is also where key `i + 1` begins.
    ends: Vec<u32>,
    ids: Vec<u32>,
}

impl Keys {
    fn with_capacity(count: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(count), ids: Vec::with_capacity(count) }
    }

    fn push(&mut self, shape: Shape, hashed_key_bytes: usize, id: u32) {
        shape.write_key(id, hashed_key_bytes, &mut self.bytes);
        self.ends.push(u32::try_from(self.bytes.len()).expect("keys of a data set take less than 4 GiB"));
        self.ids.push(id);
    }

    /// The keys of records `ids`, which are in the order of their keys.
    pub fn of(shape: Shape, hashed_key_bytes: usize, ids: impl Iterator<Item = u32>) -> Self {
        let mut keys = Self::with_capacity(ids.size_hint().0, 0);
        ids.for_each(|id| keys.push(shape, hashed_key_bytes, id));
        keys
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all keys.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The key at `position`.
    #[inline]
    pub fn key(&self, position: usize) -> &[u8] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.bytes[start as usize..self.ends[position] as usize]
    }

    /// The record number of the key at `position`.
    #[inline]
    pub fn id(&self, position: usize) -> u32 {
        self.ids[position]
    }

    /// Every key with its record's value.
    pub fn records<'a>(&'a self, values: &'a Values) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut start = 0;
        self.ends.iter().zip(&self.ids).map(move |(&end, &id)| {
            let key = &self.bytes[start..end as usize];
            start = end as usize;
            (key, values.get(id))
        })
    }
}

/// A data set.
#[derive(Debug)]
pub struct Dataset {
    /// What was asked for.
    pub spec: Spec,
    /// The stored keys.
    pub stored: Keys,
    /// Keys of the same shape that are not stored.
    pub absent: Keys,
    /// The values of all of them.
    pub values: Values,
}

impl Dataset {
    /// Makes the keys and sorts them.
    pub fn new(spec: Spec) -> Self {
        let total = spec.records + spec.records.div_ceil(ABSENT_EVERY - 1);
        assert!(total <= Shape::ID_LIMIT as usize, "shapes repeat keys beyond their limit");
        let order = sorted_ids(spec.shape, spec.hashed_key_bytes, total);
        let mut stored = Keys::with_capacity(spec.records, 0);
        let mut absent = Keys::with_capacity(total - spec.records, 0);
        for (position, id) in order.into_iter().enumerate() {
            let is_absent = position % ABSENT_EVERY == ABSENT_AT || stored.len() == spec.records;
            let keys = if is_absent { &mut absent } else { &mut stored };
            keys.push(spec.shape, spec.hashed_key_bytes, id);
        }
        stored.bytes.shrink_to_fit();
        Self { spec, stored, absent, values: Values::new(spec.value_bytes) }
    }

    /// The stored position at which a forward scan from the absent key at `position` begins.
    pub fn first_stored_above_absent(&self, position: usize) -> usize {
        let found = (position * (ABSENT_EVERY - 1) + ABSENT_AT).min(self.stored.len());
        debug_assert!(found == 0 || self.stored.key(found - 1) < self.absent.key(position));
        debug_assert!(found == self.stored.len() || self.stored.key(found) > self.absent.key(position));
        found
    }

    /// Bytes of a key, rounded to the nearest if they differ.
    pub fn key_bytes(&self) -> u64 {
        let count = self.stored.len() as u64;
        (self.stored.total_bytes() + count / 2) / count
    }

    /// Bytes of all stored keys and values.
    pub fn content_bytes(&self) -> u64 {
        self.stored.total_bytes() + (self.stored.len() * self.values.length()) as u64
    }

    /// What a scan must have seen: all stored values in rising order.
    pub fn digest(&self) -> Digest {
        digest(self.stored.ids.iter(), &self.values)
    }

    /// What a reverse scan must have seen.
    pub fn digest_reverse(&self) -> Digest {
        digest(self.stored.ids.iter().rev(), &self.values)
    }

    /// What a scan of `count` records from the stored position `start` must have seen; shorter at the end.
    pub fn digest_of(&self, start: usize, count: usize) -> Digest {
        let end = (start + count).min(self.stored.len());
        digest(self.stored.ids[start..end].iter(), &self.values)
    }
}

fn digest<'a>(ids: impl Iterator<Item = &'a u32>, values: &Values) -> Digest {
    let mut digest = Digest::default();
    ids.for_each(|&id| digest.add(values.get(id)));
    digest
}

/// The numbers below `total` in the order of their keys.
pub fn sorted_ids(shape: Shape, hashed_key_bytes: usize, total: usize) -> Vec<u32> {
    let keys = Keys::of(shape, hashed_key_bytes, 0..total as u32);
    let prefix = (1..keys.len())
        .fold(keys.key(0).len(), |prefix, position| common_prefix(&keys.key(0)[..prefix], keys.key(position)));
    let mut entries: Vec<(u64, u32)> = (0..total as u32).map(|id| (0, id)).collect();
    sort_from(prefix, &keys, &mut entries);
    drop(keys);
    entries.into_iter().map(|(_, id)| id).collect()
}

/// Sorts the keys of `entries`, all equal up to `depth`, 8 bytes at a time: each of these is fetched once for each key,
/// which on long shared prefixes is several times faster than comparing whole keys.
fn sort_from(depth: usize, keys: &Keys, entries: &mut [(u64, u32)]) {
    for (head, id) in &mut *entries {
        *head = head_of(keys.key(*id as usize).get(depth..).unwrap_or_default());
    }
    entries.sort_unstable();
    for tied in entries.chunk_by_mut(|a, b| a.0 == b.0).filter(|tied| tied.len() > 1) {
        let length = |&(_, id): &(u64, u32)| keys.key(id as usize).len();
        if tied.iter().any(|entry| length(entry) > depth + 8) {
            sort_from(depth + 8, keys, tied);
        } else {
            // Only zeros behind the shorter ones: they come first.
            tied.sort_unstable_by_key(length);
            let repeated = tied.windows(2).any(|pair| length(&pair[0]) == length(&pair[1]));
            assert!(!repeated, "a shape repeats a key");
        }
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The first 8 bytes as a number that compares as they do; shorter keys are padded with zeros.
fn head_of(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A small data set of hashed keys for tests of other modules.
    pub fn small(records: usize, value_bytes: usize) -> Dataset {
        Dataset::new(Spec { shape: Shape::Hashed, records, hashed_key_bytes: 32, value_bytes })
    }

    #[test]
    fn keys_of_every_shape_rise_strictly_and_absent_ones_lie_between() {
        for shape in Shape::ALL {
            let data = Dataset::new(Spec { shape, records: 20_000, hashed_key_bytes: 8, value_bytes: 8 });
            assert_eq!(data.stored.len(), 20_000);
            assert_eq!(data.absent.len(), 2_000);
            for keys in [&data.stored, &data.absent] {
                assert!((1..keys.len()).all(|i| keys.key(i - 1) < keys.key(i)), "{}", shape.name());
            }
            for position in 0..data.absent.len() {
                let above = data.first_stored_above_absent(position);
                assert!(above == 0 || data.stored.key(above - 1) < data.absent.key(position));
                assert!(above == data.stored.len() || data.stored.key(above) > data.absent.key(position));
            }
        }
    }

    #[test]
    fn a_key_belongs_to_its_id() {
        for shape in Shape::ALL {
            let data = Dataset::new(Spec { shape, records: 1000, hashed_key_bytes: 16, value_bytes: 10 });
            for position in 0..data.stored.len() {
                let mut key = Vec::new();
                shape.write_key(data.stored.id(position), 16, &mut key);
                assert_eq!(data.stored.key(position), key);
            }
        }
    }

    #[test]
    fn records_pair_each_key_with_its_value() {
        let data = small(500, 100);
        for (position, (key, value)) in data.stored.records(&data.values).enumerate() {
            assert_eq!(key, data.stored.key(position));
            assert_eq!(value, data.values.get(data.stored.id(position)));
        }
        assert_eq!(data.content_bytes(), 500 * 132);
        assert_eq!(data.key_bytes(), 32);
    }

    #[test]
    fn a_partial_digest_stops_at_the_end() {
        let data = small(100, 8);
        assert_eq!(data.digest_of(0, 100), data.digest());
        assert_eq!(data.digest_of(90, 100).count, 10);
        assert_eq!(data.digest_of(100, 5), Digest::default());
        assert_ne!(data.digest(), data.digest_reverse());
    }

    #[test]
    fn sorting_by_parts_is_sorting_by_keys() {
        let mut keys = Keys::with_capacity(0, 0);
        let texts: [&[u8]; 9] = [
            b"prefix 12345678 b",
            b"prefix 12345678",
            b"prefix 12345678 a",
            b"prefix 12345678\0\0\0\0\0\0\0\0\0",
            b"prefix 12345678\0",
            b"prefix ",
            b"prefix 2",
            b"prefix 12345678 a much longer tail",
            b"prefix 12345678 a much longer end",
        ];
        for (id, text) in texts.iter().enumerate() {
            keys.bytes.extend_from_slice(text);
            keys.ends.push(keys.bytes.len() as u32);
            keys.ids.push(id as u32);
        }
        let mut entries: Vec<(u64, u32)> = (0..texts.len() as u32).map(|id| (0, id)).collect();
        sort_from(7, &keys, &mut entries);
        let mut expected = texts;
        expected.sort_unstable();
        assert_eq!(entries.iter().map(|&(_, id)| texts[id as usize]).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_tell_the_shape_and_sizes() {
        assert_eq!(small(1000, 100).spec.name(), "hashed-32-100-1k");
    }
}
