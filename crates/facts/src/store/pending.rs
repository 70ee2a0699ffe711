//! [`Pending`]: the new facts of a batch, found by key and by id.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::ids::{FactId, PredicateId};
use crate::layout::hashes::hash;

/// The new facts of a batch. Their ids are dense.
pub struct Pending {
    first: FactId,
    /// Keys and values, one after the other.
    bytes: Vec<u8>,
    facts: Vec<Entry>,
    /// The hash of a key → the last fact with that hash.
    newest: HashMap<u64, u32, BuildHasherDefault<Unhashed>>,
}

/// A fact that is to be added.
#[derive(Clone, Copy)]
pub struct NewFact<'b> {
    pub predicate: PredicateId,
    pub key: &'b [u8],
    pub value: &'b [u8],
}

struct Entry {
    predicate: PredicateId,
    /// Where the key and the value begin; the value ends where the next key begins.
    key: usize,
    value: usize,
    /// The fact before this with the same hash.
    before: Option<u32>,
}

impl Pending {
    pub fn new(first: FactId) -> Self {
        Self { first, bytes: Vec::new(), facts: Vec::new(), newest: HashMap::default() }
    }

    /// The hash by which a key is found.
    pub fn hash(predicate: PredicateId, key: &[u8]) -> u64 {
        hash(predicate, key)
    }

    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// The id of the first fact.
    pub fn first(&self) -> FactId {
        self.first
    }

    /// The id that the next fact gets.
    pub fn end(&self) -> FactId {
        self.first.plus(self.facts.len() as u64)
    }

    /// The fact with this key.
    pub fn find(&self, hash: u64, predicate: PredicateId, key: &[u8]) -> Option<(FactId, NewFact<'_>)> {
        let mut next = self.newest.get(&hash).copied();
        while let Some(index) = next {
            let fact = self.at(index as usize);
            if fact.predicate == predicate && fact.key == key {
                return Some((self.first.plus(index.into()), fact));
            }
            next = self.facts[index as usize].before;
        }
        None
    }

    /// Adds a fact. Requires: no fact has its key.
    pub fn push(&mut self, hash: u64, fact: NewFact<'_>) -> FactId {
        let id = self.end();
        let index = u32::try_from(self.facts.len()).expect("memory holds fewer than 2³² facts");
        let key = self.bytes.len();
        self.bytes.extend_from_slice(fact.key);
        let value = self.bytes.len();
        self.bytes.extend_from_slice(fact.value);
        let before = self.newest.insert(hash, index);
        self.facts.push(Entry { predicate: fact.predicate, key, value, before });
        id
    }

    /// The fact with this index.
    pub fn at(&self, index: usize) -> NewFact<'_> {
        let entry = &self.facts[index];
        let end = self.facts.get(index + 1).map_or(self.bytes.len(), |next| next.key);
        let (key, value) = (&self.bytes[entry.key..entry.value], &self.bytes[entry.value..end]);
        NewFact { predicate: entry.predicate, key, value }
    }

    /// The hashes of the keys, in the order of ids.
    pub fn hashes(&self) -> impl ExactSizeIterator<Item = u64> {
        (0..self.facts.len()).map(|index| {
            let fact = self.at(index);
            Self::hash(fact.predicate, fact.key)
        })
    }

    /// The indices of the facts, in the order of predicates and keys.
    pub fn sorted(&self) -> Vec<u32> {
        // Most keys differ in their first bytes, so most comparisons read nothing else.
        let mut heads: Vec<(PredicateId, u64, u32)> = (0..self.facts.len() as u32)
            .map(|index| {
                let fact = self.at(index as usize);
                (fact.predicate, head(fact.key), index)
            })
            .collect();
        heads.sort_unstable_by(|a, b| {
            (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| self.at(a.2 as usize).key.cmp(self.at(b.2 as usize).key))
        });
        heads.into_iter().map(|(_, _, index)| index).collect()
    }
}

/// The first eight bytes of a key as a number. Keys in order have heads in order.
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

/// A hasher of what is a hash already.
#[derive(Default)]
struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_with_equal_hashes_are_told_apart() {
        let mut pending = Pending::new(FactId::FIRST);
        for key in [&b"b"[..], b"a", b"", b"ab"] {
            pending.push(7, NewFact { predicate: PredicateId::FIRST, key, value: b"v" });
        }
        let (id, fact) = pending.find(7, PredicateId::FIRST, b"a").expect("it was added");
        assert_eq!((id.get(), fact.key, fact.value), (1025, &b"a"[..], &b"v"[..]));
        assert!(pending.find(7, PredicateId::FIRST, b"c").is_none());
        assert!(pending.find(8, PredicateId::FIRST, b"a").is_none());
        assert_eq!(pending.sorted(), [2, 1, 3, 0]);
    }
}
