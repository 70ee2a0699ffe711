//! The content of a store: the records that are loaded, the puts in their order, and what must come of them.
//!
//! Records have numbers: those of the base first, then those that puts insert, in the order of their insertion, then
//! some that are never stored. A put has a number too, from 1, which is the version of its record's value. The time
//! of a read therefore limits the values that it may return.

use fulgurite_rivals::{Snapshot, WritingStore};

use crate::data::dataset::{Keys, sorted_ids};
use crate::data::queries::{Queries, Seeks};
use crate::data::random::Random;
use crate::data::shape::Shape;
use crate::data::values::{Digest, Ends, Values};
use crate::data::zipf::Zipf;
use crate::error::{Error, Result};
use crate::suites::sustained::workload::Pattern;

/// Length of values.
pub const VALUE_BYTES: usize = 100;

/// Records of a short scan.
pub const SEEK_RECORDS: usize = 100;

/// Of so many uniform puts one inserts.
const INSERT_EVERY: usize = 5;

/// For so many records of the base, one more record is never stored.
const ABSENT_EVERY: usize = 10;

/// The exponent of skewed puts: that of YCSB.
const ZIPF_EXPONENT: f64 = 0.99;

/// Gets by one snapshot while everything is verified.
const VERIFIED_AT_ONCE: usize = 1024;

/// Records and puts.
#[derive(Debug)]
pub struct Content {
    shape: Shape,
    base: usize,
    values: Values,
    /// Numbers of all records in the order of their keys.
    order: Vec<u32>,
    /// The record that each put is of.
    targets: Vec<u32>,
    /// For each put the one before it of the same record, or 0.
    previous: Vec<u32>,
    /// For each record its last put, or 0.
    newest: Vec<u32>,
}

impl Content {
    /// Draws `puts` above a base of so many records.
    pub fn new(pattern: Pattern, base: usize, puts: usize, seed: u64) -> Self {
        let shape = shape(pattern);
        let inserted = match pattern {
            Pattern::Uniform => puts / INSERT_EVERY,
            Pattern::Skewed => 0,
            Pattern::Sequential => puts,
        };
        let total = base + inserted + (base / ABSENT_EVERY).max(1);
        assert!(total < Shape::ID_LIMIT as usize, "keys would repeat");
        let mut content = Self {
            shape,
            base,
            values: Values::new(VALUE_BYTES),
            order: sorted_ids(shape, key_bytes(shape), total),
            targets: targets(pattern, base, puts, seed),
            previous: Vec::with_capacity(puts),
            newest: vec![0; total],
        };
        for (index, &id) in content.targets.iter().enumerate() {
            content.previous.push(std::mem::replace(&mut content.newest[id as usize], index as u32 + 1));
        }
        content
    }

    /// How many puts there are.
    pub fn puts(&self) -> usize {
        self.targets.len()
    }

    /// Length of every key.
    pub fn key_bytes(&self) -> usize {
        key_bytes(self.shape)
    }

    /// Length of every record.
    pub fn record_bytes(&self) -> u64 {
        (self.key_bytes() + VALUE_BYTES) as u64
    }

    /// Records in the base.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Records at the end: those with the smallest numbers.
    pub fn stored(&self) -> usize {
        let inserted = self.newest[self.base..].iter().take_while(|&&version| version > 0).count();
        self.base + inserted
    }

    /// Appends the key of record `id`.
    #[inline]
    pub fn write_key(&self, id: u32, key: &mut Vec<u8>) {
        self.shape.write_key(id, self.key_bytes(), key);
    }

    /// Record and value of put `index`, counted from 0.
    #[inline]
    pub fn put(&self, index: usize) -> (u32, &[u8]) {
        let id = self.targets[index];
        (id, self.values.get_version(id, index as u32 + 1))
    }

    /// The keys of the base in order; `values` belong to them as loaded.
    pub fn base_keys(&self) -> Keys {
        let is_base = |id: &u32| (*id as usize) < self.base;
        Keys::of(self.shape, self.key_bytes(), self.order.iter().copied().filter(is_base))
    }

    /// The keys of all records at the end, in order.
    pub fn last_keys(&self) -> Keys {
        let is_stored = |id: &u32| self.last_version(*id).is_some();
        Keys::of(self.shape, self.key_bytes(), self.order.iter().copied().filter(is_stored))
    }

    /// The value of a record that exists at the end.
    pub fn last_value(&self, id: u32) -> &[u8] {
        self.values.get_version(id, self.newest[id as usize])
    }

    /// The values of all records.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The version of a record at the end; `None` if it does not exist.
    fn last_version(&self, id: u32) -> Option<u32> {
        let version = self.newest[id as usize];
        ((id as usize) < self.base || version > 0).then_some(version)
    }

    /// Whether a get of record `id`, which is in the base, may return a value with these ends, if `before` puts had
    /// been made when the get began, and at most `after` when it ended.
    pub fn may_be(&self, id: u32, ends: Option<Ends>, before: u32, after: u32) -> bool {
        let mut version = self.newest[id as usize];
        loop {
            if version <= after && ends.is_some() && ends == Ends::of(self.values.get_version(id, version)) {
                return true;
            }
            if version <= before {
                return false;
            }
            version = self.previous[version as usize - 1];
        }
    }

    /// Gets of stored keys, once all puts are made.
    pub fn hits(&self, count: usize, random: &mut Random) -> Queries {
        let stored = self.stored();
        self.queries(count, || random.below(stored) as u32)
    }

    /// Gets of absent keys.
    pub fn misses(&self, count: usize, random: &mut Random) -> Queries {
        let stored = self.stored();
        self.queries(count, || (stored + random.below(self.newest.len() - stored)) as u32)
    }

    fn queries(&self, count: usize, mut draw: impl FnMut() -> u32) -> Queries {
        let mut queries = Queries::with_capacity(count);
        let mut key = Vec::new();
        for _ in 0..count {
            let id = draw();
            key.clear();
            self.write_key(id, &mut key);
            queries.push(&key, self.last_value(id));
        }
        queries
    }

    /// Short scans from stored and absent keys, once all puts are made.
    pub fn seeks(&self, count: usize, random: &mut Random) -> Seeks {
        let mut seeks = Seeks::with_capacity(count);
        let mut key = Vec::new();
        for _ in 0..count {
            let start = random.below(self.order.len());
            key.clear();
            self.write_key(self.order[start], &mut key);
            let mut digest = Digest::default();
            let stored = self.order[start..].iter().filter(|&&id| self.last_version(id).is_some());
            stored.take(SEEK_RECORDS).for_each(|&id| digest.add(self.last_value(id)));
            seeks.push(&key, digest);
        }
        seeks
    }

    /// Compares everything in the store with what was put last: each record and each absent key by a get, and all
    /// that a scan gives, whole keys and whole values in their order.
    pub fn verify<S: WritingStore>(&self, store: &S, workload: &'static str) -> Result<()> {
        self.verify_where(store, workload, |id| self.last_version(id))
    }

    /// The same, but `version_of` says what must exist.
    pub fn verify_where<S: WritingStore>(
        &self,
        store: &S,
        workload: &'static str,
        version_of: impl Fn(u32) -> Option<u32>,
    ) -> Result<()> {
        let wrong = |what: String| Err(Error::Wrong { workload, what });
        let expected = |id: u32| version_of(id).map(|version| self.values.get_version(id, version));
        let mut key = Vec::new();
        for some in self.order.chunks(VERIFIED_AT_ONCE) {
            let snapshot = store.snapshot()?;
            for &id in some {
                key.clear();
                self.write_key(id, &mut key);
                if !snapshot.get(&key, |value| value == expected(id))? {
                    return wrong(format!("a get of record {id} does not give what was put last"));
                }
            }
        }
        let mut rest = self.order.iter().filter(|&&id| version_of(id).is_some());
        let mut differences = 0u64;
        store.scan(|seen, value| {
            let right = rest.next().is_some_and(|&id| {
                key.clear();
                self.write_key(id, &mut key);
                key == seen && Some(value) == expected(id)
            });
            differences += u64::from(!right);
        })?;
        match (differences, rest.count()) {
            (0, 0) => Ok(()),
            (differences, missing) => {
                wrong(format!("a scan gives {differences} records that are not the stored ones, and {missing} too few"))
            }
        }
    }
}

fn shape(pattern: Pattern) -> Shape {
    match pattern {
        Pattern::Uniform | Pattern::Skewed => Shape::Hashed,
        Pattern::Sequential => Shape::Sequential,
    }
}

fn key_bytes(shape: Shape) -> usize {
    if shape == Shape::Hashed { 32 } else { 8 }
}

fn targets(pattern: Pattern, base: usize, puts: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed, 0);
    let zipf = Zipf::new(base, ZIPF_EXPONENT);
    let mut inserted = base;
    let mut target = |index: usize| match pattern {
        Pattern::Uniform if (index + 1).is_multiple_of(INSERT_EVERY) => {
            inserted += 1;
            inserted - 1
        }
        Pattern::Uniform => random.below(inserted),
        Pattern::Skewed => zipf.draw(&mut random),
        Pattern::Sequential => base + index,
    };
    (0..puts).map(|index| target(index) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_put_in_five_inserts_and_the_others_overwrite_what_is_there() {
        let content = Content::new(Pattern::Uniform, 1000, 5000, 1);
        assert_eq!((content.stored(), content.puts()), (2000, 5000));
        let mut stored = 1000;
        for (index, &id) in content.targets.iter().enumerate() {
            match (index + 1).is_multiple_of(5) {
                true => {
                    assert_eq!(id, stored);
                    stored += 1;
                }
                false => assert!(id < stored),
            }
        }
    }

    #[test]
    fn skewed_puts_repeat_and_sequential_ones_rise() {
        let skewed = Content::new(Pattern::Skewed, 1000, 5000, 1);
        assert_eq!((skewed.stored(), skewed.base()), (1000, 1000));
        let most = skewed.targets.iter().filter(|&&id| id == 0).count();
        assert!((500..900).contains(&most), "{most}");
        let sequential = Content::new(Pattern::Sequential, 1000, 5000, 1);
        assert_eq!((sequential.stored(), sequential.key_bytes()), (6000, 8));
        assert!(sequential.targets.iter().copied().eq(1000..6000));
        assert!(sequential.order.iter().copied().eq(0..6100));
    }

    #[test]
    fn a_get_beside_puts_may_give_what_was_newest_while_it_ran_and_nothing_else() {
        let content = Content::new(Pattern::Skewed, 10, 1000, 1);
        let ends = |version| Ends::of(content.values.get_version(0, version));
        let versions: Vec<u32> = (1..=1000).filter(|put| content.targets[*put as usize - 1] == 0).collect();
        let (third, fourth, fifth) = (versions[2], versions[3], versions[4]);
        assert!(content.may_be(0, ends(third), third, third));
        assert!(content.may_be(0, ends(third), third, fifth));
        assert!(content.may_be(0, ends(fourth), third, fifth));
        assert!(content.may_be(0, ends(0), 0, 1000));
        assert!(!content.may_be(0, ends(third), fourth, fifth));
        assert!(!content.may_be(0, ends(fifth), third, fourth));
        assert!(!content.may_be(0, None, 0, 1000));
    }
}
