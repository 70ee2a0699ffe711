//! Queries of one round: keys drawn uniformly, packed in the order of their use, with the expected answers.
//!
//! Invariant: every round draws new queries, so that no engine and no cache has seen their order. Drawing them is not
//! timed, and reading them costs a sequential pass that is the same for both engines.

use crate::data::dataset::{Dataset, Keys};
use crate::data::random::Random;
use crate::data::values::{Digest, Ends};

/// Keys one behind the other, in the order of their use.
#[derive(Debug)]
pub struct Packed {
    bytes: Vec<u8>,
    /// Where each key ends, after a 0.
    ends: Vec<u32>,
}

impl Packed {
    /// None yet, room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0);
        Self { bytes: Vec::new(), ends }
    }

    /// Appends a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(u32::try_from(self.bytes.len()).expect("a round's keys take less than 4 GiB"));
    }

    /// The key at `index`.
    #[inline(always)]
    pub fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.ends[index] as usize..self.ends[index + 1] as usize]
    }
}

/// Keys to ask for, and the ends of the value that each must give.
#[derive(Debug)]
pub struct Queries {
    keys: Packed,
    expected: Vec<Ends>,
}

impl Queries {
    /// `count` stored keys.
    pub fn hits(data: &Dataset, count: usize, random: &mut Random) -> Self {
        Self::drawn_from(data, count, random, |_| &data.stored)
    }

    /// `count` keys that are not stored. Their expected ends are never looked at.
    pub fn misses(data: &Dataset, count: usize, random: &mut Random) -> Self {
        Self::drawn_from(data, count, random, |_| &data.absent)
    }

    /// `count` keys, half from the stored ones and half from those that were put later, in random order.
    pub fn halves(data: &Dataset, count: usize, random: &mut Random) -> Self {
        Self::drawn_from(data, count, random, |coin| if coin { &data.stored } else { &data.absent })
    }

    /// None yet, room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        Self { keys: Packed::with_capacity(count), expected: Vec::with_capacity(count) }
    }

    /// Appends a key that must give `value`.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.keys.push(key);
        self.expected.push(Ends::of(value).expect("values are at least LENGTH_MIN long"));
    }

    fn drawn_from<'a>(data: &'a Dataset, count: usize, random: &mut Random, choose: impl Fn(bool) -> &'a Keys) -> Self {
        let mut queries = Self::with_capacity(count);
        for _ in 0..count {
            let keys = choose(random.next() & 1 == 0);
            let position = random.below(keys.len());
            let value = data.values.get(keys.id(position));
            queries.push(keys.key(position), value);
        }
        // One byte for the skew of the last key.
        queries.keys.bytes.push(0);
        queries
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.expected.len()
    }

    /// The key of query `index`.
    #[inline(always)]
    pub fn key(&self, index: usize) -> &[u8] {
        self.keys.get(index)
    }

    /// The key of query `index`, `skew` (0 or 1) bytes further on: a number that is 0 unless an answer was wrong, but
    /// that the processor must wait for.
    #[inline(always)]
    pub fn key_after(&self, index: usize, skew: usize) -> &[u8] {
        &self.keys.bytes[self.keys.ends[index] as usize + skew..self.keys.ends[index + 1] as usize + skew]
    }

    /// The ends of its value.
    #[inline(always)]
    pub fn expected(&self, index: usize) -> Ends {
        self.expected[index]
    }
}

/// Starting points of short scans, half of them stored keys and half not, and the digest that each must give.
#[derive(Debug)]
pub struct Seeks {
    starts: Packed,
    digests: Vec<Digest>,
}

impl Seeks {
    /// `count` scans of `length` records.
    pub fn new(data: &Dataset, count: usize, length: usize, random: &mut Random) -> Self {
        let mut seeks = Self::with_capacity(count);
        for _ in 0..count {
            let (start, first) = if random.next() & 1 == 0 {
                let position = random.below(data.stored.len());
                (data.stored.key(position), position)
            } else {
                let position = random.below(data.absent.len());
                (data.absent.key(position), data.first_stored_above_absent(position))
            };
            seeks.push(start, data.digest_of(first, length));
        }
        seeks
    }

    /// None yet, room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        Self { starts: Packed::with_capacity(count), digests: Vec::with_capacity(count) }
    }

    /// Appends a scan from `start` that must give `digest`.
    pub fn push(&mut self, start: &[u8], digest: Digest) {
        self.starts.push(start);
        self.digests.push(digest);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Where scan `index` begins.
    #[inline(always)]
    pub fn start(&self, index: usize) -> &[u8] {
        self.starts.get(index)
    }

    /// What it must see.
    #[inline(always)]
    pub fn digest(&self, index: usize) -> Digest {
        self.digests[index]
    }

    /// Records that all of them together must see.
    pub fn records(&self) -> u64 {
        self.digests.iter().map(|digest| digest.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::dataset::tests::small;

    #[test]
    fn hits_are_stored_and_misses_are_not() {
        let data = small(1000, 100);
        let stored: HashSet<&[u8]> = (0..data.stored.len()).map(|i| data.stored.key(i)).collect();
        let mut random = Random::new(1, 1);
        let hits = Queries::hits(&data, 5000, &mut random);
        assert!((0..hits.len()).all(|i| stored.contains(hits.key(i))));
        let misses = Queries::misses(&data, 5000, &mut random);
        assert!((0..misses.len()).all(|i| !stored.contains(misses.key(i))));
    }

    #[test]
    fn draws_cover_all_keys_and_differ_between_rounds() {
        let data = small(100, 100);
        let round = |number| Queries::hits(&data, 5000, &mut Random::new(1, number));
        let (a, b) = (round(1), round(2));
        assert_eq!((0..a.len()).map(|i| a.key(i)).collect::<HashSet<_>>().len(), 100);
        assert_ne!(a.keys.bytes, b.keys.bytes);
        assert_eq!(a.keys.bytes, round(1).keys.bytes);
    }

    #[test]
    fn halves_come_from_both_sides_evenly() {
        let data = small(1000, 100);
        let halves = Queries::halves(&data, 10_000, &mut Random::new(3, 3));
        let stored: HashSet<&[u8]> = (0..data.stored.len()).map(|i| data.stored.key(i)).collect();
        let hits = (0..halves.len()).filter(|&i| stored.contains(halves.key(i))).count();
        assert!((4_700..5_300).contains(&hits), "{hits}");
    }

    #[test]
    fn expected_ends_are_those_of_the_keys_value() {
        let data = small(1000, 100);
        let hits = Queries::hits(&data, 100, &mut Random::new(4, 4));
        for i in 0..hits.len() {
            let position = (0..data.stored.len()).find(|&p| data.stored.key(p) == hits.key(i)).unwrap();
            assert_eq!(Some(hits.expected(i)), Ends::of(data.values.get(data.stored.id(position))));
        }
    }

    #[test]
    fn seeks_count_the_records_that_are_left() {
        let data = small(50, 100);
        let seeks = Seeks::new(&data, 1000, 100, &mut Random::new(5, 5));
        assert!(seeks.records() < 1000 * 50);
        assert!((0..seeks.len()).all(|i| seeks.digest(i).count <= 50));
    }
}
