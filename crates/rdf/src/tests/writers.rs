//! Several writers at once.

use oxrdf::Literal;

use super::{TestStore, count, iri, quad};
use crate::{Error, Isolation, Quads, StoreOptions};

#[test]
fn transactions_that_add_different_terms_are_in_no_conflict() {
    let place = TestStore::new(StoreOptions::new());
    let mut first = place.store.begin().expect("a transaction");
    let mut second = place.store.begin().expect("a transaction");
    first.insert(&quad("a", "p1", Literal::new_simple_literal("the first text"), None)).expect("it is inserted");
    second.insert(&quad("b", "p2", Literal::new_simple_literal("the second text"), None)).expect("it is inserted");
    first.commit().expect("no conflict");
    second.commit().expect("no conflict");
    assert_eq!(count(&place.store.snapshot().expect("a snapshot")), 2);
}

#[test]
fn of_two_that_add_one_new_term_the_second_is_refused_and_gets_the_first_one_s_number_when_it_begins_again() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let place = TestStore::new(StoreOptions::new());
        let mut first = place.store.begin_with(isolation).expect("a transaction");
        let mut second = place.store.begin_with(isolation).expect("a transaction");
        first.insert(&quad("a", "p", iri("o1"), None)).expect("it is inserted");
        second.insert(&quad("a", "p", iri("o2"), None)).expect("it is inserted");
        first.commit().expect("it is the first");
        let error = second.commit().expect_err("a conflict");
        assert!(error.is_retryable(), "{error}");
        place.store.update(|txn| txn.insert(&quad("a", "p", iri("o2"), None))).expect("it is inserted");
        let stats = place.store.stats().expect("statistics");
        assert_eq!((stats.quads, stats.terms), (2, 4));
    }
}

#[test]
fn many_threads_that_add_the_same_terms_end_with_one_number_for_each() {
    let place = TestStore::new(StoreOptions::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &place.store;
            scope.spawn(move || {
                for round in 0..25 {
                    let subject = format!("s{round}");
                    let object = Literal::from(thread);
                    store
                        .update(|txn| txn.insert(&quad(&subject, "p", object.clone(), None)))
                        .expect("it is committed");
                }
            });
        }
    });
    let stats = place.store.stats().expect("statistics");
    assert_eq!((stats.quads, stats.terms), (100, 26));
    let snapshot = place.store.snapshot().expect("a snapshot");
    for round in 0..25 {
        assert!(snapshot.id(iri(&format!("s{round}")).as_ref().into()).expect("it is looked up").is_some());
    }
}

#[test]
fn a_rolled_back_term_is_given_another_number_and_is_found_by_it() {
    let place = TestStore::new(StoreOptions::new());
    let mut txn = place.store.begin().expect("a transaction");
    let before = txn.savepoint();
    txn.insert(&quad("a", "p", iri("o"), None)).expect("it is inserted");
    txn.rollback_to(before).expect("it is rolled back");
    assert_eq!(txn.view().id(iri("o").as_ref().into()).expect("it is looked up"), None);
    assert!(txn.insert(&quad("a", "p", iri("o"), None)).expect("it is inserted"));
    txn.commit().expect("it is committed");
    let snapshot = place.store.snapshot().expect("a snapshot");
    assert!(snapshot.id(iri("o").as_ref().into()).expect("it is looked up").is_some());
    assert_eq!(count(&snapshot), 1);
}

#[test]
fn quads_of_terms_that_make_none_are_refused() {
    let place = TestStore::new(StoreOptions::new());
    let mut txn = place.store.begin().expect("a transaction");
    let literal = txn.intern(Literal::from(1).as_ref().into()).expect("a number");
    let node = txn.intern(iri("a").as_ref().into()).expect("a number");
    let good = crate::IdQuad { subject: node, predicate: node, object: literal, graph: node };
    assert!(txn.insert_ids(&good).expect("it is inserted"));
    for bad in [
        crate::IdQuad { subject: literal, ..good },
        crate::IdQuad { predicate: literal, ..good },
        crate::IdQuad { graph: literal, ..good },
        crate::IdQuad { object: crate::TermId::DEFAULT_GRAPH, ..good },
    ] {
        assert!(matches!(txn.insert_ids(&bad), Err(Error::Invalid { .. })));
    }
}

#[test]
fn numbers_of_terms_that_are_not_there_are_refused() {
    let place = TestStore::new(StoreOptions::new());
    let mut txn = place.store.begin().expect("a transaction");
    let node = txn.intern(iri("a").as_ref().into()).expect("a number");
    let before = txn.savepoint();
    let gone = txn.intern(iri("b").as_ref().into()).expect("a number");
    let good = crate::IdQuad { subject: node, predicate: node, object: gone, graph: crate::TermId::DEFAULT_GRAPH };
    assert!(txn.insert_ids(&good).expect("it is inserted"));
    txn.rollback_to(before).expect("it is rolled back");
    let never = crate::TermId::from_bits(gone.to_bits() + 1000).expect("a number");
    // Of texts the bytes of a number are UTF-8.
    let no_text = crate::TermId::from_bits(6 << 56 | 0xff << 48).expect("a number");
    for object in [gone, never, no_text] {
        let error = txn.insert_ids(&crate::IdQuad { object, ..good }).expect_err("it is not a term");
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
    assert!(matches!(txn.insert_ids(&crate::IdQuad { graph: gone, object: node, ..good }), Err(Error::Invalid { .. })));
    // The transaction is whole all the same.
    assert!(txn.insert_ids(&crate::IdQuad { object: node, ..good }).expect("it is inserted"));
    txn.commit().expect("it is committed");
    assert_eq!(count(&place.store.snapshot().expect("a snapshot")), 1);
}

#[test]
fn a_graph_that_one_drops_while_another_inserts_into_it_is_listed_if_it_has_quads() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        for (drops_first, clears) in [(true, false), (false, false), (true, true), (false, true)] {
            let place = TestStore::new(StoreOptions::new());
            let into = |object: &str| quad("a", "p", iri(object), Some("g"));
            place.store.update(|txn| txn.insert(&into("o"))).expect("it is committed");
            place.store.update(|txn| txn.intern(iri("new").as_ref().into())).expect("it is committed");
            let mut inserts = place.store.begin_with(isolation).expect("a transaction");
            let mut drops = place.store.begin_with(isolation).expect("a transaction");
            assert!(inserts.insert(&into("new")).expect("it is inserted"));
            if clears {
                assert_eq!(drops.clear().expect("it is cleared"), 1);
            } else {
                assert!(drops.drop_graph(iri("g").as_ref().into()).expect("it is dropped"));
            }
            let (first, second) = if drops_first { (drops, inserts) } else { (inserts, drops) };
            first.commit().expect("it is the first");
            let outcome = second.commit();
            let case = format!("{isolation:?} {drops_first} {clears}");
            if let Err(error) = &outcome {
                assert!(error.is_retryable(), "{case}: {error}");
            }
            if !drops_first {
                assert!(outcome.is_err(), "{case}: the graph that it dropped was written to");
            }
            let snapshot = place.store.snapshot().expect("a snapshot");
            let graphs = snapshot.graph_names().count() as u64;
            assert_eq!(graphs, count(&snapshot).min(1), "{case}");
        }
    }
}

#[test]
fn those_that_insert_into_one_graph_are_in_no_conflict_for_it() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let place = TestStore::new(StoreOptions::new());
        place.store.update(|txn| txn.insert(&quad("a", "g", iri("p"), None))).expect("it is committed");
        let mut txns = [(); 2].map(|()| place.store.begin_with(isolation).expect("a transaction"));
        for (txn, object) in txns.iter_mut().zip([1, 2]) {
            assert!(txn.insert(&quad("a", "g", Literal::from(object), Some("g"))).expect("it is inserted"));
            // At the other isolation to have looked would be a conflict.
            if isolation == Isolation::Snapshot {
                assert_eq!(txn.view().graph_names().count(), 1);
            }
        }
        for txn in txns {
            txn.commit().expect("no conflict");
        }
        let snapshot = place.store.snapshot().expect("a snapshot");
        assert_eq!((snapshot.graph_names().count(), count(&snapshot)), (1, 3));
    }
}
