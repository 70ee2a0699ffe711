//! Changes that fail half way because the file may not grow: what is left of them.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Options};
use oxrdf::Literal;

use super::iri;
use crate::dictionary::{self, bytes};
use crate::id::Tag;
use crate::{Quads, Store, StoreOptions, TermId};

/// A store whose file has a quota, in memory.
fn store_of(bytes_max: u64, change: impl FnOnce(Options) -> Options) -> Store {
    let disk = Arc::new(MemoryDisk::new());
    let options = Database::options().create(true).background(false).disk(disk).max_size_bytes(bytes_max);
    Store::open_with(change(options), Path::new("full.ful"), StoreOptions::new()).expect("a new store")
}

/// A term that does not fit into [`QUOTA_BYTES`].
fn large_term() -> Literal {
    Literal::new_simple_literal("x".repeat(2 * QUOTA_BYTES as usize))
}

#[test]
fn a_term_that_could_not_be_added_is_not_there_if_the_rest_is_committed() {
    let store = store_of(QUOTA_BYTES, |options| options);
    let (term, shared, tables) = (large_term(), &store.shared, store.shared.tables());
    let mut encoded = Vec::new();
    bytes::encode(term.as_ref().into(), &mut encoded).expect("it is not nested");
    let (hash, id) = (shared.hasher.hash(&encoded), TermId::new(Tag::LITERAL, 0));
    let mut txn = store.database().write().expect("a transaction");
    let added = dictionary::add(&mut txn, &tables, &shared.iri_namespaces, hash, &encoded, id);
    assert!(matches!(added, Err(crate::Error::Engine(fulgurite::Error::QuotaExceeded { .. }))));
    txn.commit().expect("it is committed");
    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!(snapshot.id(term.as_ref().into()).expect("it is looked up"), None);
    assert_eq!(snapshot.id(iri("a").as_ref().into()).expect("it is looked up"), None);
}

const QUOTA_BYTES: u64 = 4 << 20;
