//! Inferred quads in concurrent transactions: their conflicts, and what a transaction sees of its own changes.

use std::sync::Arc;

use fulgurite::Isolation;
use oxrdf::Quad;

use super::{LEVELS, TestStore, change, count, expect_sound, fact, iri, quad, texts};
use crate::{
    IdPattern, LoadInput, LoadOptions, QuadIds, Quads, RdfFormat, StatementKinds, Store, StoreOptions, TermId,
    Transaction,
};

/// What is done, in words, and how.
type Named<F> = (&'static str, F);

fn how_many(quads: QuadIds) -> usize {
    quads.collect::<crate::Result<Vec<_>>>().expect("they are read").len()
}

fn load(store: &Store, text: String) {
    let input = LoadInput::reader("a", std::io::Cursor::new(text), RdfFormat::NQuads);
    store.load(vec![input], &LoadOptions::new()).expect("it is loaded");
}

#[test]
fn who_sets_namespaces_alone_is_in_no_conflict_with_loads_new_terms_and_the_first_inferred_quad() {
    let others: [Named<fn(&Store)>; 3] = [
        ("a load", |store| load(store, format!("{} .\n", fact()))),
        ("new terms", |store| assert!(change(store, |txn| txn.insert(&fact())))),
        ("the first inferred quad", |store| assert!(change(store, |txn| txn.insert_inferred(&fact())))),
    ];
    for (level, (what, other)) in LEVELS.into_iter().flat_map(|level| others.map(|other| (level, other))) {
        let place = TestStore::new(StoreOptions::new());
        let mut txn = place.store.begin_with(level).expect("a transaction");
        txn.set_namespace("ex", "http://example.org/").expect("it is set");
        other(&place.store);
        txn.commit().unwrap_or_else(|error| panic!("{level:?}, {what}: {error}"));
        let snapshot = place.store.snapshot().expect("a snapshot");
        assert_eq!(snapshot.namespaces().expect("they are read").len(), 1, "{level:?}, {what}");
        assert_eq!(count(&snapshot), 1);
        expect_sound(&place.store);
    }
}

#[test]
fn who_goes_by_that_nothing_is_inferred_is_in_conflict_with_the_first_inferred_quad() {
    let all = &IdPattern::ALL;
    let uses: [Named<fn(&mut Transaction)>; 5] = [
        ("counts", |txn| assert_eq!(txn.view().count(&IdPattern::ALL).expect("it is counted"), 1)),
        ("reads", |txn| assert_eq!(txn.view().quads(&IdPattern::ALL).count(), 1)),
        ("removes", |txn| assert!(txn.remove(&fact()).expect("it is removed"))),
        ("clears", |txn| assert_eq!(txn.remove_matching(&IdPattern::ALL).expect("it is cleared"), 1)),
        ("drops", |txn| assert!(txn.drop_graph(oxrdf::GraphNameRef::DefaultGraph).expect("it is dropped"))),
    ];
    for (level, (what, of_quads)) in LEVELS.into_iter().flat_map(|level| uses.map(|of_quads| (level, of_quads))) {
        let place = TestStore::new(StoreOptions::new());
        change(&place.store, |txn| txn.insert(&fact()));
        let mut txn = place.store.begin_with(level).expect("a transaction");
        of_quads(&mut txn);
        // So that it changes something, if it only reads.
        txn.set_namespace("ex", "http://example.org/").expect("it is set");
        change(&place.store, |txn| txn.insert_inferred(&fact()));
        let outcome = txn.commit();
        let only_reads = matches!(what, "counts" | "reads");
        match outcome {
            Ok(_) => assert!(only_reads && level == Isolation::Snapshot, "{level:?}, {what}"),
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                assert!(!only_reads || level == Isolation::Serializable, "{level:?}, {what}: {error}");
            }
        }
        assert_eq!(place.store.snapshot().expect("a snapshot").count(all).expect("it is counted"), 1);
        expect_sound(&place.store);
    }
}

#[test]
fn who_takes_what_is_inferred_from_one_graph_is_in_no_conflict_with_inferences_in_another() {
    let (here, there) = (quad("a", "p", iri("b"), Some("here")), quad("a", "p", iri("b"), Some("there")));
    let alone = quad("b", "p", iri("a"), Some("here"));
    for (level, drops) in LEVELS.into_iter().flat_map(|level| [(level, true), (level, false)]) {
        let place = TestStore::new(StoreOptions::new());
        change(&place.store, |txn| {
            txn.insert(&here)?;
            txn.insert(&there)?;
            txn.insert_inferred(&alone)?;
            txn.insert_inferred(&here)
        });
        let mut txn = place.store.begin_with(level).expect("a transaction");
        if drops {
            assert!(txn.drop_graph(iri("here").as_ref().into()).expect("it is dropped"));
        } else {
            let id = txn.view().id(iri("here").as_ref().into()).expect("it is looked up").expect("it is there");
            assert_eq!(txn.clear_inferred(&IdPattern::of_graph(id)).expect("it is cleared"), 2);
        }
        assert!(change(&place.store, |txn| txn.insert_inferred(&there)));
        txn.commit().unwrap_or_else(|error| panic!("{level:?}, {drops}: {error}"));
        let left = place.store.snapshot().expect("a snapshot");
        assert_eq!((count(&left), left.graph_names().count()), if drops { (1, 1) } else { (2, 2) });
        assert_eq!(count(&left.of_kinds(StatementKinds::Inferred)), 0);
        change(&place.store, |txn| txn.remove_matching(&IdPattern::ALL));
        assert_eq!(texts(&place.store.snapshot().expect("a snapshot")).len(), 1, "one was both, and is inferred still");
        expect_sound(&place.store);
    }
}

#[test]
fn who_clears_all_is_in_conflict_with_who_infers_what_was_explicit() {
    for level in LEVELS {
        let place = TestStore::new(StoreOptions::new());
        change(&place.store, |txn| {
            txn.insert(&fact())?;
            txn.insert_inferred(&quad("dog", "is", iri("animal"), None))
        });
        let mut txn = place.store.begin_with(level).expect("a transaction");
        assert_eq!(txn.clear().expect("it is cleared"), 2);
        assert!(change(&place.store, |txn| txn.insert_inferred(&fact())));
        assert!(txn.commit().is_err_and(|error| error.is_retryable()), "{level:?}");
        expect_sound(&place.store);
        assert_eq!(change(&place.store, Transaction::clear), 2);
        assert_eq!(count(&place.store.snapshot().expect("a snapshot")), 0);
        expect_sound(&place.store);
    }
}

#[test]
fn inferred_quads_of_every_pattern_are_cleared_and_no_others() {
    let place = TestStore::new(StoreOptions::new());
    let graphs = [None, Some("g"), Some("h")];
    let quads: Vec<Quad> = graphs
        .into_iter()
        .flat_map(|graph| {
            (0..12).map(move |at| quad(["s", "t"][at % 2], ["p", "q"][at / 2 % 2], iri(&at.to_string()), graph))
        })
        .collect();
    change(&place.store, |txn| {
        for (at, quad) in quads.iter().enumerate() {
            if at % 3 != 0 {
                txn.insert(quad)?;
            }
            if at % 3 != 1 {
                txn.insert_inferred(quad)?;
            }
        }
        Ok(())
    });
    let snapshot = place.store.snapshot().expect("a snapshot");
    let id = |name: &str| snapshot.id(iri(name).as_ref().into()).expect("it is looked up").expect("it is there");
    let any = crate::GraphPattern::Any;
    let of_graphs =
        [any, crate::GraphPattern::AnyNamed, crate::GraphPattern::Default, crate::GraphPattern::Named(id("g"))];
    let (s, p, o) = (id("s"), id("p"), id("0"));
    for (graph, bound) in of_graphs.into_iter().flat_map(|graph| (0..8).map(move |bound| (graph, bound))) {
        let given = |bit: u32, id: TermId| (bound & bit != 0).then_some(id);
        let pattern = IdPattern { subject: given(1, s), predicate: given(2, p), object: given(4, o), graph };
        let is_inferred = |quad: &crate::IdQuad| snapshot.is_inferred(quad).expect("it is looked up");
        let all = snapshot.quads(&pattern).map(|quad| quad.expect("it is read"));
        let expected = all.filter(is_inferred).count() as u64;
        let mut txn = place.store.begin().expect("a transaction");
        assert_eq!(txn.clear_inferred(&pattern).expect("it is cleared"), expected, "{pattern:?}");
        let after = txn.view();
        for quad in snapshot.quads(&IdPattern::ALL).map(|quad| quad.expect("it is read")) {
            let stays = is_inferred(&quad) && !pattern.matches(&quad);
            assert_eq!(after.is_inferred(&quad).expect("it is looked up"), stays, "{pattern:?} {quad:?}");
        }
        let explicit = after.of_kinds(StatementKinds::Explicit).count(&IdPattern::ALL).expect("it is counted");
        assert_eq!(explicit, count(&snapshot.of_kinds(StatementKinds::Explicit)));
    }
}

#[test]
fn iterators_from_before_the_first_inferred_quad_of_their_transaction_see_it() {
    let place = TestStore::new(StoreOptions::new());
    change(&place.store, |txn| txn.insert(&quad("a", "b", iri("c"), None)));
    let mut txn = place.store.begin().expect("a transaction");
    let view = txn.view();
    let [all, explicit, inferred] = [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred]
        .map(|kinds| view.of_kinds(kinds).quads(&IdPattern::ALL));
    let before = txn.savepoint();
    txn.insert_inferred(&fact()).expect("it is inserted");
    let counted = [all, explicit, inferred].map(how_many);
    assert_eq!(counted, [2, 1, 1]);
    // And those from before it is taken back do not look for it.
    let quads = view.quads(&IdPattern::ALL);
    txn.rollback_to(before).expect("it is rolled back");
    assert_eq!(how_many(quads), 1);
}

#[test]
fn what_is_read_for_one_kind_of_statements_is_made_once() {
    let place = TestStore::new(StoreOptions::new());
    for has_inferred in [false, true] {
        if has_inferred {
            change(&place.store, |txn| txn.insert_inferred(&fact()));
        }
        let snapshot = place.store.snapshot().expect("a snapshot");
        let later = place.store.snapshot().expect("a snapshot");
        for kinds in [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred] {
            assert!(Arc::ptr_eq(&snapshot.all_tables().of(kinds), &later.all_tables().of(kinds)), "{kinds:?}");
        }
    }
}
