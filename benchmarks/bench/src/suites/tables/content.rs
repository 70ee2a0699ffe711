//! What is stored: a record's key follows from its number, its value from that, from how often it was put, and from
//! what was added to it.

use fulgurite_rivals::WritingStore;

use crate::data::shape::Shape;
use crate::data::values::{Ends, Values};
use crate::error::{Error, Result};
use crate::suites::tables::lengths::Lengths;

/// Length of hashed keys.
pub const HASHED_BYTES: usize = 32;

/// Records in a transaction of the first load.
const LOAD_BATCH: usize = 1000;

/// What is stored.
pub struct Content {
    shape: Shape,
    lengths: Lengths,
    values: Values,
    /// For each record how often it was put; 0 is one that is not stored.
    versions: Vec<u32>,
    /// For each record what was added to its first 8 bytes; empty if nothing ever was.
    added: Vec<u64>,
}

impl Content {
    /// Nothing, with room for so many records.
    pub fn new(shape: Shape, lengths: Lengths, records: usize) -> Self {
        Self { shape, lengths, values: Values::new(lengths.max()), versions: vec![0; records], added: Vec::new() }
    }

    /// The first records of it, each put once.
    pub fn loaded(shape: Shape, lengths: Lengths, records: usize) -> Self {
        let mut content = Self::new(shape, lengths, records);
        load(&mut content, records);
        content
    }

    /// Appends the key of a record.
    pub fn write_key(&self, id: u32, key: &mut Vec<u8>) {
        self.shape.write_key(id, HASHED_BYTES, key);
    }

    /// The key of a record.
    pub fn key(&self, id: u32) -> Vec<u8> {
        let mut key = Vec::with_capacity(HASHED_BYTES);
        self.write_key(id, &mut key);
        key
    }

    /// The value of a record that was put so often, and to which nothing was added.
    #[inline]
    pub fn value(&self, id: u32, version: u32) -> &[u8] {
        &self.values.get_version(id, version)[..self.lengths.of(id, version)]
    }

    /// Whether a value that was read between the operations is this one: by its length, its first and its last bytes.
    /// Documents are compared whole, because readers of documents read all of them.
    #[inline]
    pub fn is_like(&self, value: Option<&[u8]>, expected: &[u8]) -> bool {
        match self.lengths {
            Lengths::Documents => value == Some(expected),
            Lengths::Fixed(_) => {
                value.is_some_and(|value| value.len() == expected.len() && Ends::of(value) == Ends::of(expected))
            }
        }
    }

    /// Remembers a put, and says the version that is put.
    pub fn put(&mut self, id: u32) -> u32 {
        self.versions[id as usize] += 1;
        self.versions[id as usize]
    }

    /// Remembers an addition.
    pub fn add(&mut self, id: u32, change: i32) {
        self.added.resize(self.versions.len(), 0);
        let sum = &mut self.added[id as usize];
        *sum = sum.wrapping_add_signed(i64::from(change));
    }

    /// How often each record was put.
    pub fn versions(&self) -> &[u32] {
        &self.versions
    }

    /// Whether `value` is what the record must have after everything; that it is not stored is `None`.
    pub fn is_right(&self, id: u32, value: Option<&[u8]>) -> bool {
        let version = self.versions[id as usize];
        let (Some(value), true) = (value, version > 0) else { return value.is_none() && version == 0 };
        let base = self.value(id, version);
        match self.added.get(id as usize) {
            None | Some(0) => value == base,
            Some(added) => match (base.split_first_chunk(), value.split_first_chunk()) {
                (Some((number, base)), Some((sum, rest))) => {
                    rest == base && u64::from_le_bytes(*sum) == u64::from_le_bytes(*number).wrapping_add(*added)
                }
                _ => false,
            },
        }
    }

    /// Bytes of the keys and values that are stored.
    pub fn raw_bytes(&self) -> u64 {
        let stored = (0..).zip(&self.versions).filter(|(_, version)| **version > 0);
        stored.map(|(id, version)| (self.key(id).len() + self.lengths.of(id, *version)) as u64).sum()
    }

    /// Whether records of rising numbers have rising keys.
    pub fn rises(&self) -> bool {
        matches!(self.shape, Shape::Sequential | Shape::User)
    }

    /// The records that are stored, in the order of their keys.
    pub fn order(&self) -> Vec<u32> {
        let stored = || (0..).zip(&self.versions).filter(|(_, version)| **version > 0).map(|(id, _)| id);
        if self.rises() {
            return stored().collect();
        }
        // Whole keys are compared only where their beginnings are the same.
        let mut keyed: Vec<(u128, u32)> = stored().map(|id| (beginning(&self.key(id)), id)).collect();
        keyed.sort_unstable_by(|(a, one), (b, other)| a.cmp(b).then_with(|| self.key(*one).cmp(&self.key(*other))));
        keyed.into_iter().map(|(_, id)| id).collect()
    }
}

/// The first 16 bytes as a number that is as large as they are; missing ones count as 0.
fn beginning(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let length = key.len().min(bytes.len());
    bytes[..length].copy_from_slice(&key[..length]);
    u128::from_be_bytes(bytes)
}

/// The records that are loaded first, each put once.
pub fn load(content: &mut Content, records: usize) {
    (0..records as u32).for_each(|id| {
        content.put(id);
    });
}

/// Puts the first records, each in its first version, in transactions as large as are good for every engine.
pub fn fill<S: WritingStore>(store: &S, content: &Content, records: usize) -> Result<()> {
    let mut first = 0;
    while first < records {
        let ids = first as u32..(first + LOAD_BATCH).min(records) as u32;
        let keys: Vec<Vec<u8>> = ids.clone().map(|id| content.key(id)).collect();
        store.put_all(keys.iter().zip(ids).map(|(key, id)| (&key[..], content.value(id, 1))))?;
        first += LOAD_BATCH;
    }
    Ok(())
}

/// Compares everything that is stored with what must be: each record is asked for and compared whole, and a scan must
/// give all of them in order, keys and values, and nothing else.
pub fn verify<S: WritingStore>(store: &S, content: &Content, workload: &'static str) -> Result<()> {
    let wrong = |what: String| Error::Wrong { workload, what };
    let mut key = Vec::with_capacity(HASHED_BYTES);
    for (id, version) in (0..).zip(content.versions()) {
        key.clear();
        content.write_key(id, &mut key);
        if !store.get(&key, |value| content.is_right(id, value))? {
            return Err(wrong(format!("record {id} is not what was put last, in version {version}")));
        }
    }
    let order = content.order();
    let (mut seen, mut right) = (0, true);
    store.scan(|found, value| {
        right &= order.get(seen).is_some_and(|&id| {
            key.clear();
            content.write_key(id, &mut key);
            key == found && content.is_right(id, Some(value))
        });
        seen += 1;
    })?;
    match right && seen == order.len() {
        true => Ok(()),
        false => Err(wrong(format!("a scan gives {seen} records instead of {}, or others", order.len()))),
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Settings, Usage, WritingEngine};

    use super::*;
    use crate::engines::planted::writing::{NO_FAULT, Planted};

    #[test]
    fn the_order_is_that_of_the_keys_of_what_is_stored() {
        for shape in Shape::ALL {
            let mut content = Content::loaded(shape, Lengths::Fixed(8), 5000);
            content.versions[7] = 0;
            let order = content.order();
            assert_eq!(order.len(), 4999, "{}", shape.name());
            assert!(!order.contains(&7));
            assert!(order.is_sorted_by_key(|&id| content.key(id)), "{}", shape.name());
        }
    }

    #[test]
    fn what_was_added_counts_and_the_rest_of_the_value_stays() {
        let mut content = Content::loaded(Shape::Hashed, Lengths::Fixed(100), 3);
        let mut value = content.value(1, 1).to_vec();
        assert!(content.is_right(1, Some(&value)) && !content.is_right(1, None));
        content.add(1, -5);
        content.add(1, 3);
        assert!(!content.is_right(1, Some(&value)));
        let number = u64::from_le_bytes(*value.first_chunk().unwrap()).wrapping_sub(2);
        value[..8].copy_from_slice(&number.to_le_bytes());
        assert!(content.is_right(1, Some(&value)) && content.is_right(0, Some(content.value(0, 1))));
        value[99] ^= 1;
        assert!(!content.is_right(1, Some(&value)));
    }

    #[test]
    fn documents_are_compared_whole_and_others_by_their_ends() {
        for (lengths, is_found) in [(Lengths::Documents, true), (Lengths::Fixed(1000), false)] {
            let content = Content::loaded(Shape::Hashed, lengths, 3);
            let expected = content.value(1, 1);
            assert!(content.is_like(Some(expected), expected) && !content.is_like(None, expected));
            let mut changed = expected.to_vec();
            changed[500] ^= 1;
            assert_eq!(content.is_like(Some(&changed), expected), !is_found);
            changed[0] ^= 1;
            assert!(!content.is_like(Some(&changed), expected));
        }
    }

    /// What `verify` reports about a store with these records, if the first three must exist.
    fn verified(records: &[(Vec<u8>, &[u8])]) -> Result<()> {
        let content = Content::loaded(Shape::Hashed, Lengths::Fixed(100), 3);
        let settings = Settings { level: Level::Log, usage: Usage::SingleOperations };
        let directory = tempfile::tempdir().unwrap();
        let store = <Planted<NO_FAULT> as WritingEngine>::open(directory.path(), settings)?;
        fill(&store, &content, 3)?;
        store.put_all(records.iter().map(|(key, value)| (&key[..], *value)))?;
        verify(&store, &content, "a test")
    }

    #[test]
    fn a_record_too_many_and_another_value_are_found() {
        let content = Content::loaded(Shape::Hashed, Lengths::Fixed(100), 3);
        verified(&[]).unwrap();
        verified(&[(content.key(1), content.value(1, 1))]).unwrap();
        for wrong in [(content.key(1), content.value(1, 2)), (b"more".to_vec(), content.value(1, 1))] {
            assert!(matches!(verified(&[wrong]), Err(Error::Wrong { .. })));
        }
    }
}
