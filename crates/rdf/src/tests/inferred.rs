//! Explicit and inferred quads: what each change leaves of the other, who sees which, and what several writers at once
//! come to.

use fulgurite::{Read, Table};
use oxrdf::{Literal, Quad};

use super::{LEVELS, TestStore, change, count, expect_sound, fact, iri, quad, texts};
use crate::sparql::{Query, QueryResults, Update};
use crate::{
    GraphPattern, IdPattern, IdQuad, Isolation, LoadInput, LoadOptions, Position, Quads, RdfFormat, StatementKinds,
    Store, StoreOptions, SweepOptions, TermId, Transaction,
};

/// Whether a quad is explicit, and whether it is shown as inferred alone.
fn state_of(store: &Store, quad: &Quad) -> (bool, bool) {
    let snapshot = store.snapshot().expect("a snapshot");
    let terms = [quad.subject.clone().into(), quad.predicate.clone().into(), quad.object.clone()];
    let [subject, predicate, object] =
        terms.map(|term: oxrdf::Term| snapshot.id(term.as_ref()).expect("it is looked up").expect("it is there"));
    let id = IdQuad { subject, predicate, object, graph: TermId::DEFAULT_GRAPH };
    let has = |statements| snapshot.of_kinds(statements).contains(&id).expect("it is looked up");
    let (explicit, inferred) = (has(StatementKinds::Explicit), has(StatementKinds::Inferred));
    assert_eq!(has(StatementKinds::All), explicit || inferred);
    assert!(!(explicit && inferred));
    let is_inferred = snapshot.of_kinds(StatementKinds::Explicit).is_inferred(&id).expect("it is looked up");
    assert!(is_inferred || !inferred);
    (explicit, inferred)
}

#[test]
fn a_quad_is_explicit_or_inferred_or_both_and_taking_one_away_leaves_the_other() {
    let place = TestStore::new(StoreOptions::new());
    let (store, fact) = (&place.store, &fact());
    assert!(change(store, |txn| txn.insert_inferred(fact)));
    assert_eq!(state_of(store, fact), (false, true));
    assert!(!change(store, |txn| txn.insert_inferred(fact)), "it is inferred already");
    assert!(!change(store, |txn| txn.remove(fact)), "it is not explicit");
    assert_eq!(state_of(store, fact), (false, true));
    assert!(change(store, |txn| txn.insert(fact)));
    assert_eq!(state_of(store, fact), (true, false));
    assert!(!change(store, |txn| txn.insert_inferred(fact)), "it is both");
    assert!(change(store, |txn| txn.remove(fact)));
    assert_eq!(state_of(store, fact), (false, true), "it was inferred too");
    change(store, |txn| txn.insert(fact));
    assert!(change(store, |txn| txn.remove_inferred(fact)));
    assert_eq!(state_of(store, fact), (true, false));
    assert!(!change(store, |txn| txn.remove_inferred(fact)));
    assert!(change(store, |txn| txn.remove(fact)));
    assert_eq!(state_of(store, fact), (false, false));
    expect_sound(store);
}

#[test]
fn views_read_merge_and_count_what_they_are_asked_for() {
    let place = TestStore::new(StoreOptions::new());
    change(&place.store, |txn| {
        for number in 0..60 {
            let graph = (number % 5 == 0).then_some("g");
            let quad = quad("s", &format!("p{}", number % 3), Literal::from(number), graph);
            match number % 4 {
                0 => drop(txn.insert(&quad)?),
                1 => drop((txn.insert(&quad)?, txn.insert_inferred(&quad)?)),
                _ => drop(txn.insert_inferred(&quad)?),
            }
        }
        Ok(())
    });
    let place = place.reopen();
    let snapshot = place.store.snapshot().expect("a snapshot");
    let counts = [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred]
        .map(|statements| count(&snapshot.of_kinds(statements)));
    assert_eq!(counts, [60, 30, 30]);
    // In the order of the index, explicit and inferred among each other.
    let default = IdPattern { graph: GraphPattern::Default, ..IdPattern::ALL };
    let mut sorted = snapshot.quads_sorted_by(&default, Position::Object).expect("there is an index");
    let first = sorted.next().expect("there are some").expect("it is read").object;
    let rest: Vec<TermId> = sorted.map(|quad| quad.expect("it is read").object).collect();
    assert!(rest.is_sorted() && rest[0] > first && rest.len() == 47);
    let mut skipping = snapshot.quads_sorted_by(&default, Position::Object).expect("there is an index");
    skipping.skip_to(rest[30]);
    assert_eq!(skipping.next().expect("there are some").expect("it is read").object, rest[30]);
    // Shown alone, and of it all again.
    let explicit = snapshot.of_kinds(StatementKinds::Explicit);
    assert_eq!(texts(&explicit.of_kinds(StatementKinds::All)), texts(&snapshot));
    assert_eq!(texts(&explicit).len() + texts(&snapshot.of_kinds(StatementKinds::Inferred)).len(), 60);
}

#[test]
fn where_nothing_is_inferred_there_are_no_tables_for_it_and_its_view_is_empty() {
    let place = TestStore::new(StoreOptions::new());
    change(&place.store, |txn| {
        txn.insert(&quad("a", "b", Literal::from(1), Some("g")))?;
        assert!(!txn.remove_inferred(&fact())?);
        txn.clear_inferred(&IdPattern::ALL)
    });
    let mut txn = place.store.begin().expect("a transaction");
    let before = txn.savepoint();
    txn.insert_inferred(&fact()).expect("it is inserted");
    assert_eq!(texts(&txn.view().of_kinds(StatementKinds::Inferred)).len(), 1);
    txn.rollback_to(before).expect("it is rolled back");
    assert_eq!(texts(&txn.view()).len(), 1);
    txn.insert(&quad("a", "b", Literal::from(2), None)).expect("it is inserted");
    txn.commit().expect("it is committed");
    let stats = place.store.stats().expect("statistics");
    assert!(stats.tables.iter().all(|(name, _)| !name.contains("inferred")), "{:?}", stats.tables);
    let inferred = place.store.snapshot().expect("a snapshot").of_kinds(StatementKinds::Inferred);
    assert_eq!((count(&inferred), texts(&inferred).len(), inferred.graph_names().count()), (0, 0, 1));
    drop(inferred);
    // After the roll back it can be made all the same.
    let mut txn = place.store.begin().expect("a transaction");
    let before = txn.savepoint();
    txn.insert_inferred(&fact()).expect("it is inserted");
    txn.rollback_to(before).expect("it is rolled back");
    txn.insert_inferred(&fact()).expect("it is inserted");
    txn.commit().expect("it is committed");
    assert_eq!(place.store.stats().expect("statistics").inferred, 1);
    expect_sound(&place.reopen().store);
}

#[test]
fn a_snapshot_from_before_the_first_inferred_quad_reads_on() {
    let place = TestStore::new(StoreOptions::new());
    change(&place.store, |txn| txn.insert(&quad("a", "b", Literal::from(1), None)));
    let before = place.store.snapshot().expect("a snapshot");
    let txn = place.store.begin_with(Isolation::Snapshot).expect("a transaction");
    change(&place.store, |txn| txn.insert_inferred(&fact()));
    // Which now knows of the tables.
    assert_eq!(texts(&place.store.snapshot().expect("a snapshot")).len(), 2);
    assert_eq!((texts(&before).len(), texts(&txn.view()).len()), (1, 1));
    assert_eq!(count(&before.of_kinds(StatementKinds::Inferred)), 0);
}

#[test]
fn two_that_make_one_quad_explicit_and_inferred_keep_it_once_whichever_is_first() {
    for (level, inferred_first) in LEVELS.into_iter().flat_map(|level| [(level, false), (level, true)]) {
        for has_tables in [false, true] {
            let place = TestStore::new(StoreOptions::new());
            let (store, fact) = (&place.store, &fact());
            // So that their terms are no conflict.
            change(store, |txn| txn.insert(fact).and_then(|_| txn.remove(fact)));
            if has_tables {
                change(store, |txn| txn.insert_inferred(&quad("dog", "is", iri("animal"), None)));
            }
            let mut explicit = store.begin_with(level).expect("a transaction");
            let mut inferred = store.begin_with(level).expect("a transaction");
            assert!(explicit.insert(fact).expect("it is inserted"));
            assert!(inferred.insert_inferred(fact).expect("it is inserted"));
            let (first, second) = if inferred_first { (inferred, explicit) } else { (explicit, inferred) };
            first.commit().expect("it is the first");
            assert!(
                second.commit().is_err_and(|error| error.is_retryable()),
                "{level:?} {inferred_first} {has_tables}"
            );
            expect_sound(store);
            // And of what is both one takes the explicit, the other the inferred one away.
            change(store, |txn| txn.insert(fact).and_then(|_| txn.insert_inferred(fact)));
            let mut explicit = store.begin_with(level).expect("a transaction");
            let mut inferred = store.begin_with(level).expect("a transaction");
            assert!(explicit.remove(fact).expect("it is removed"));
            assert!(inferred.remove_inferred(fact).expect("it is removed"));
            let (first, second) = if inferred_first { (inferred, explicit) } else { (explicit, inferred) };
            first.commit().expect("it is the first");
            assert!(
                second.commit().is_err_and(|error| error.is_retryable()),
                "{level:?} {inferred_first} {has_tables}"
            );
            expect_sound(store);
        }
    }
}

#[test]
fn a_load_of_what_was_inferred_makes_it_both() {
    let place = TestStore::new(StoreOptions::new());
    let known = quad("s", "p", iri("known"), Some("g"));
    change(&place.store, |txn| {
        txn.insert_inferred(&fact())?;
        txn.insert_inferred(&known)?;
        txn.insert_inferred(&quad("s", "p", iri("other"), None))
    });
    let document = format!("{} .\n{known} .\n{} .\n", fact(), quad("s", "p", iri("new"), None));
    let input = LoadInput::reader("a", std::io::Cursor::new(document), RdfFormat::NQuads);
    let report = place.store.load(vec![input], &LoadOptions::new()).expect("it is loaded");
    assert_eq!((report.read, report.inserted), (3, 3));
    let stats = place.store.stats().expect("statistics");
    assert_eq!((stats.quads, stats.inferred), (4, 1));
    expect_sound(&place.store);
    change(&place.store, |txn| txn.remove_matching(&IdPattern::ALL));
    assert_eq!(texts(&place.store.snapshot().expect("a snapshot")).len(), 3);
    change(&place.store, |txn| txn.clear_inferred(&IdPattern::ALL));
    assert_eq!(count(&place.store.snapshot().expect("a snapshot")), 0);
    // Nothing is inferred any more, and trees are filled again.
    let input = LoadInput::reader("a", std::io::Cursor::new(format!("{known} .\n")), RdfFormat::NQuads);
    place.store.load(vec![input], &LoadOptions::new()).expect("it is loaded");
    expect_sound(&place.store);
}

#[test]
fn clearing_and_dropping_take_inferred_quads_too_and_sweeps_spare_their_terms() {
    let place = TestStore::new(StoreOptions::new());
    let long = || Literal::new_simple_literal("a text that is longer than a number");
    let fill = |txn: &mut Transaction| {
        txn.insert_inferred(&quad("s", "p", long(), Some("g")))?;
        txn.insert(&quad("s", "p", iri("gone"), None))?;
        txn.remove(&quad("s", "p", iri("gone"), None))
    };
    assert!(change(&place.store, fill));
    assert_eq!(place.store.sweep(&SweepOptions::new()).expect("it is swept").removed, 1);
    expect_sound(&place.store);
    assert!(change(&place.store, |txn| txn.drop_graph(iri("g").as_ref().into())));
    assert_eq!(count(&place.store.snapshot().expect("a snapshot")), 0);
    assert!(change(&place.store, fill));
    assert_eq!(change(&place.store, |txn| txn.clear()), 1);
    let snapshot = place.store.snapshot().expect("a snapshot");
    assert_eq!((count(&snapshot), snapshot.graph_names().count()), (0, 0));
    place.store.sweep(&SweepOptions::new()).expect("it is swept");
    assert_eq!(place.store.stats().expect("statistics").terms, 0);
    expect_sound(&place.store);
}

#[test]
fn sparql_sees_both_unless_asked_otherwise_and_deletes_what_is_explicit() {
    let place = TestStore::new(StoreOptions::new());
    change(&place.store, |txn| {
        txn.insert_inferred(&fact())?;
        txn.insert(&quad("dog", "is", iri("animal"), None))
    });
    let snapshot = place.store.snapshot().expect("a snapshot");
    let query = Query::parse("SELECT ?s { ?s <http://example.org/is> ?o }", None).expect("it is a query");
    let rows = |view: &crate::Snapshot| match query.evaluate(view).expect("it is evaluated") {
        QueryResults::Solutions(solutions) => solutions.count(),
        _ => panic!("it has solutions"),
    };
    let views =
        [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred].map(|which| snapshot.of_kinds(which));
    assert_eq!(views.each_ref().map(rows), [2, 1, 1]);
    let update = Update::parse("DELETE WHERE { ?s ?p ?o }", None).expect("it is an update");
    assert_eq!(update.execute(&place.store).expect("it is executed").removed, 1);
    let after = place.store.stats().expect("statistics");
    assert_eq!((after.quads, after.inferred), (1, 1));
}

#[test]
fn a_quad_that_is_twice_or_said_to_be_both_and_is_not_is_told() {
    let defects_after = |damage: &dyn Fn(&mut fulgurite::WriteTxn, [&Table; 3]) -> fulgurite::Result<()>| {
        let place = TestStore::new(StoreOptions::new());
        change(&place.store, |txn| txn.insert_inferred(&fact()));
        change(&place.store, |txn| txn.insert(&quad("a", "is", iri("b"), None)));
        let database = place.store.database();
        let tables = ["spo", "inferred_spo", "explicit_and_inferred"]
            .map(|name| database.open_table(name).expect("it is there"));
        database.update(|txn| damage(txn, tables.each_ref())).expect("it is changed");
        let check = place.store.check().expect("it is checked");
        assert!(!check.is_sound());
        check.defects.join("\n")
    };
    let first = |txn: &fulgurite::WriteTxn, table: &Table| Ok(txn.first(table)?.expect("it has one").0.to_vec());
    let defects = defects_after(&|txn, [explicit, inferred, _]| {
        let key: fulgurite::Result<Vec<u8>> = first(txn, explicit);
        txn.put(inferred, &key?, &[])
    });
    assert!(defects.contains("the quad is explicit too"), "{defects}");
    let defects = defects_after(&|txn, [_, inferred, both]| {
        let key: fulgurite::Result<Vec<u8>> = first(txn, inferred);
        txn.put(both, &[&key?, &[0][..]].concat(), &[])
    });
    assert!(defects.contains("the quad is not explicit"), "{defects}");
    let place = TestStore::new(StoreOptions::new());
    change(&place.store, |txn| txn.insert_inferred(&fact()));
    let meta = place.store.database().open_table("meta").expect("it is there");
    place.store.database().update(|txn| txn.delete(&meta, b"inferred")).expect("it is changed");
    let check = place.reopen().store.check().expect("it is checked");
    assert!(check.defects.iter().any(|defect| defect.contains("tables of inferred quads are")), "{check:?}");
    let defects = defects_after(&|txn, [_, _, both]| txn.put(both, &[0xff], &[]));
    assert!(defects.contains("it is not a quad"), "{defects}");
    let defects = defects_after(&|txn, [_, inferred, _]| {
        let key: fulgurite::Result<Vec<u8>> = first(txn, inferred);
        txn.delete(inferred, &key?).map(drop)
    });
    assert!(defects.contains("another index does not have this quad"), "{defects}");
}
