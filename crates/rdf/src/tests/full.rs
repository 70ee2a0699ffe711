//! Changes that fail half way because the file may not grow: what is left of them.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Options};
use oxrdf::Literal;

use super::iri;
use crate::dictionary::{self, bytes};
use crate::model::id::Tag;
use crate::{Error, IdPattern, IdQuad, Quads, Store, StoreOptions, TermId};

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
    assert!(matches!(added, Err(Error::Engine(fulgurite::Error::QuotaExceeded { .. }))));
    txn.commit().expect("it is committed");
    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!(snapshot.id(term.as_ref().into()).expect("it is looked up"), None);
    assert_eq!(snapshot.id(iri("a").as_ref().into()).expect("it is looked up"), None);
}

#[test]
fn a_transaction_that_a_full_file_has_broken_is_not_committed_but_goes_on_from_a_savepoint() {
    let store = store_of(QUOTA_BYTES, |options| options.write_set_bytes(1 << 16));
    for attempt in 0..4_i64 {
        let mut txn = store.begin().expect("a transaction");
        let node = txn.intern(iri("a").as_ref().into()).expect("a number");
        let before = txn.savepoint();
        let mut number = attempt;
        let mut failed = txn.savepoint();
        let error = loop {
            let object = txn.intern(Literal::from(number).as_ref().into()).expect("a number by itself");
            match txn.insert_ids(&IdQuad { subject: node, predicate: node, object, graph: node }) {
                Ok(_) => number += 1,
                Err(error) => break error,
            }
            if number % 100 == 0 {
                failed = txn.savepoint();
            }
        };
        assert!(matches!(error, Error::Engine(fulgurite::Error::QuotaExceeded { .. })), "{number}: {error}");
        let quad = IdQuad { subject: node, predicate: node, object: node, graph: TermId::DEFAULT_GRAPH };
        let within = txn.savepoint();
        assert!(matches!(txn.insert_ids(&quad), Err(Error::TransactionBroken)));
        assert!(matches!(txn.remove_ids(&quad), Err(Error::TransactionBroken)));
        assert!(matches!(txn.remove_matching(&IdPattern::ALL), Err(Error::TransactionBroken)));
        assert!(matches!(txn.set_namespace("a", "http://a/"), Err(Error::TransactionBroken)));
        assert!(matches!(txn.intern(iri("new").as_ref().into()), Err(Error::TransactionBroken)));
        txn.rollback_to(within).expect("the savepoint is there");
        assert!(matches!(txn.insert_ids(&quad), Err(Error::TransactionBroken)), "it was broken there already");
        if attempt == 0 {
            assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
            assert_eq!(store.stats().expect("statistics").quads, 0);
            continue;
        }
        txn.rollback_to(if attempt == 1 { failed } else { before }).expect("the savepoint is there");
        txn.rollback_to(before).expect("the savepoint is there");
        txn.insert_ids(&quad).expect("it is inserted");
        txn.insert_ids(&IdQuad { graph: node, ..quad }).expect("it is inserted");
        txn.commit().expect("it is committed");
        let stats = store.stats().expect("statistics");
        for (name, entries) in &stats.tables {
            let is_index = store.orders().iter().any(|order| order.to_string() == *name);
            assert!(!is_index || *entries == 1, "{name}: {entries}");
        }
        assert_eq!(stats.quads, 2);
    }
}

const QUOTA_BYTES: u64 = 4 << 20;
