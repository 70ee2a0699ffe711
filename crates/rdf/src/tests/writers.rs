//! Several writers at once.

use oxrdf::Literal;

use super::{Place, count, iri, quad};
use crate::{Error, Isolation, Quads, StoreOptions};

#[test]
fn transactions_that_add_different_terms_are_in_no_conflict() {
    let place = Place::new(StoreOptions::new());
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
        let place = Place::new(StoreOptions::new());
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
    let place = Place::new(StoreOptions::new());
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
    let place = Place::new(StoreOptions::new());
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
    let place = Place::new(StoreOptions::new());
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
