//! Directories, ids and random numbers.

use std::path::PathBuf;

use fulgurite_facts::{Fact, FactId, PredicateId, Result, Snapshot, Store, StoreOptions};

/// A directory that is removed with this.
pub struct Directory(tempfile::TempDir);

impl Directory {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn store(&self, name: &str) -> Store {
        options().create(self.path(name)).expect("a new store")
    }
}

/// Options for a database in the backend of these tests.
pub fn options() -> StoreOptions {
    Store::options().backend(crate::BACKEND)
}

pub fn predicate(number: u64) -> PredicateId {
    PredicateId::new(1024 + number).expect("not 0")
}

pub fn id(number: u64) -> FactId {
    FactId::new(number).expect("not 0")
}

/// Defines facts in a batch of their own.
pub fn add(store: &Store, facts: &[(u64, &[u8], &[u8])]) -> Vec<FactId> {
    let mut batch = store.batch().expect("an incomplete store");
    let defined = facts.iter().map(|(number, key, value)| batch.define(predicate(*number), key, value));
    let ids: Vec<FactId> = defined.collect::<Result<_>>().expect("facts without contradiction");
    let committed = batch.commit(None).expect("a commit");
    ids.into_iter().map(|id| committed.id(id)).collect()
}

/// Completes a store whose facts refer to nothing.
pub fn complete(store: &Store) {
    store.complete(|_, _| Ok(())).expect("it is completed");
}

/// What tests compare of a fact.
pub fn plain(fact: Result<Fact<'_>>) -> (u64, Vec<u8>, Vec<u8>) {
    let fact = fact.expect("a sound fact");
    (fact.id().get(), fact.key().to_vec(), fact.value().to_vec())
}

/// The keys that a seek returns, as text.
pub fn keys(snapshot: &Snapshot, number: u64, prefix: &str) -> Vec<String> {
    let facts = snapshot.seek(predicate(number), prefix.as_bytes()).expect("a seek");
    facts.map(|fact| String::from_utf8(plain(fact).1).expect("text")).collect()
}

/// A small generator: the sequence follows from the seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        // splitmix64, by Steele, Lea and Flood.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
