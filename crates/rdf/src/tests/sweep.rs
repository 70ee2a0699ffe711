//! Sweeps remove unused terms and keep used ones, also with concurrent readers and writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fulgurite::Read;
use oxrdf::{Literal, NamedNode, Quad, Term, Triple};

use super::{LEVELS, TestStore, expect_sound, iri, quad, texts};
use crate::tables::TermHasher;
use crate::{
    Error, IdPattern, IdQuad, Isolation, Order, Quads, Store, StoreOptions, SweepOptions, SweepReport, TermId,
};

fn long(name: &str) -> Literal {
    Literal::new_simple_literal(format!("a text that is longer than a number: {name}"))
}

fn sweep(store: &Store) -> SweepReport {
    store.sweep(&SweepOptions::new()).expect("it is swept")
}

fn id_of(quads: &impl Quads, term: impl Into<Term>) -> Option<TermId> {
    quads.id(term.into().as_ref()).expect("it is looked up")
}

fn remove(store: &Store, removed: &Quad) {
    assert!(store.update(|txn| txn.remove(removed)).expect("it is committed"));
}

/// A store with `a p <object>` and, unused, the term `dead`.
fn with_a_dead_term(options: StoreOptions) -> TestStore {
    let place = TestStore::new(options);
    let gone = quad("a", "p", long("dead"), None);
    place.store.update(|txn| txn.insert(&gone)).expect("it is committed");
    place.store.update(|txn| txn.insert(&quad("a", "p", iri("o"), None))).expect("it is committed");
    remove(&place.store, &gone);
    assert_eq!(place.store.unused_terms().expect("they are counted"), 1);
    place
}

/// Stores with indexes for every place, and with one of each kind.
fn kinds() -> [StoreOptions; 2] {
    [StoreOptions::new(), StoreOptions::new().orders(["spo", "gspo"].into_iter().filter_map(Order::parse))]
}

#[test]
fn what_no_quad_uses_goes_and_all_else_stays() {
    let hashers = [TermHasher::of_seed(1), TermHasher::narrow(2), TermHasher::narrow(0)];
    for (options, hasher) in kinds().into_iter().flat_map(|options| hashers.map(|hasher| (options.clone(), hasher))) {
        let place = TestStore::new(options.hasher(hasher));
        let inner = Triple::new(iri("inner"), iri("p"), long("inner"));
        let kept = [
            quad("a", "p", inner.clone(), None),
            quad("b", "q", long("kept"), Some("g")),
            quad("b", "q", oxrdf::BlankNode::new_unchecked("label"), Some("g")),
        ];
        let number = |number: u32| quad(&format!("s{number}"), "p", long(&number.to_string()), Some("h"));
        let changed = place.store.update(|txn| {
            kept.iter().try_for_each(|quad| txn.insert(quad).map(drop))?;
            (0..40).try_for_each(|at| txn.insert(&number(at)).map(drop))?;
            txn.create_graph(iri("empty").as_ref().into())
        });
        changed.expect("it is committed");
        (0..30).for_each(|at| remove(&place.store, &number(at)));
        let before = place.store.check().expect("it is checked");
        assert_eq!(before.unused_terms, 60);
        assert_eq!(place.store.unused_terms().expect("they are counted"), 60);
        let texts_before = texts(&place.store.snapshot().expect("a snapshot"));
        let report = sweep(&place.store);
        assert_eq!((report.terms, report.removed, report.kept), (before.terms, 60, 0));
        let place = place.reopen();
        let after = place.store.check().expect("it is checked");
        assert!(after.is_sound(), "{after:?}");
        assert_eq!((after.unused_terms, after.terms, after.quads), (0, before.terms - 60, before.quads));
        let snapshot = place.store.snapshot().expect("a snapshot");
        assert_eq!(texts(&snapshot), texts_before);
        assert_eq!(id_of(&snapshot, long("29")), None);
        assert!(id_of(&snapshot, long("30")).is_some() && id_of(&snapshot, inner).is_some());
        assert_eq!(snapshot.graph_names().count(), 3);
        assert_eq!(sweep(&place.store).removed, 0);
    }
}

#[test]
fn a_term_that_comes_again_has_another_number_and_the_old_one_is_refused() {
    let place = with_a_dead_term(StoreOptions::new());
    let before = id_of(&place.store.snapshot().expect("a snapshot"), long("dead")).expect("it is there");
    assert_eq!(sweep(&place.store).removed, 1);
    let mut txn = place.store.begin().expect("a transaction");
    let node = txn.intern(iri("a").as_ref().into()).expect("a number");
    let held = IdQuad { subject: node, predicate: node, object: before, graph: TermId::DEFAULT_GRAPH };
    assert!(matches!(txn.insert_ids(&held), Err(Error::Invalid { .. })));
    drop(txn);
    let place = place.reopen();
    place.store.update(|txn| txn.insert(&quad("a", "p", long("dead"), None))).expect("it is committed");
    let after = id_of(&place.store.snapshot().expect("a snapshot"), long("dead")).expect("it is there");
    assert!(after.payload() > before.payload());
    expect_sound(&place.store);
}

#[test]
fn a_number_that_was_kept_over_a_sweep_is_told_as_that_and_not_as_damage() {
    let [all, few] = kinds();
    for (options, can_tell) in [(all, true), (few, false)] {
        let place = with_a_dead_term(options);
        let before = place.store.snapshot().expect("a snapshot");
        let kept = id_of(&before, long("dead")).expect("it is there");
        assert_eq!(sweep(&place.store).removed, 1);
        let (after, txn) = (place.store.snapshot().expect("a snapshot"), place.store.begin().expect("a transaction"));
        let explicit = after.of_kinds(crate::StatementKinds::Explicit);
        for read in [after.term(kept), explicit.term(kept), txn.view().term(kept)] {
            match read {
                Err(Error::NoSuchTerm { number, .. }) => assert!(can_tell && number == kept.to_bits()),
                // Without an index for every place it is not known that no quad has it.
                Err(Error::Damaged { .. }) => assert!(!can_tell),
                read => panic!("{read:?}"),
            }
        }
        assert_eq!(before.term(kept).expect("it is read"), Term::from(long("dead")));
    }
}

#[test]
fn a_snapshot_from_before_reads_on() {
    for options in kinds() {
        let place = TestStore::new(options);
        let quads = [quad("a", "p", long("one"), None), quad("x", "y", long("two"), Some("g"))];
        place
            .store
            .update(|txn| quads.iter().try_for_each(|quad| txn.insert(quad).map(drop)))
            .expect("it is committed");
        let snapshot = place.store.snapshot().expect("a snapshot");
        let before = texts(&snapshot);
        place.store.update(|txn| txn.clear()).expect("it is committed");
        assert_eq!(sweep(&place.store).removed, 7);
        place.store.database().checkpoint().expect("the disk works");
        assert_eq!(texts(&snapshot), before);
        assert!(id_of(&snapshot, long("two")).is_some());
        let now = place.store.snapshot().expect("a snapshot");
        assert_eq!((id_of(&now, long("two")), place.store.stats().expect("statistics").terms), (None, 0));
        expect_sound(&place.store);
    }
}

/// Inserts a quad of the dead term, by its number or by itself.
fn use_again(txn: &mut crate::Transaction, by_number: bool) {
    if by_number {
        let ids = [Term::from(iri("a")), iri("p").into(), long("dead").into()];
        let [subject, predicate, object] = ids.map(|term| id_of(&txn.view(), term).expect("it is there"));
        let again = IdQuad { subject, predicate, object, graph: TermId::DEFAULT_GRAPH };
        assert!(txn.insert_ids(&again).expect("it is inserted"));
    } else {
        assert!(txn.insert(&quad("a", "p", long("dead"), None)).expect("it is inserted"));
    }
}

#[test]
fn who_has_found_a_term_that_is_swept_before_it_commits_is_in_conflict() {
    for (level, by_number) in LEVELS.into_iter().flat_map(|level| [(level, false), (level, true)]) {
        for options in kinds() {
            let place = with_a_dead_term(options);
            let mut txn = place.store.begin_with(level).expect("a transaction");
            use_again(&mut txn, by_number);
            assert_eq!(sweep(&place.store).removed, 1);
            let error = txn.commit().expect_err("a conflict");
            assert!(error.is_retryable(), "{error}");
            place.store.update(|txn| txn.insert(&quad("a", "p", long("dead"), None))).expect("it is committed");
            expect_sound(&place.store);
        }
    }
}

#[test]
fn a_term_that_is_used_again_while_a_sweep_is_under_way_stays() {
    for (level, by_number) in LEVELS.into_iter().flat_map(|level| [(level, false), (level, true)]) {
        let place = with_a_dead_term(StoreOptions::new());
        let (store, is_used) = (place.store.clone(), Arc::new(AtomicBool::new(false)));
        let used = Arc::clone(&is_used);
        // What quads use was read by then.
        let options = SweepOptions::new().progress(move |now| {
            if now.stage == "reading quads" && !used.swap(true, Ordering::SeqCst) {
                let mut txn = store.begin_with(level).expect("a transaction");
                use_again(&mut txn, by_number);
                txn.commit().expect("nobody else commits");
            }
        });
        let report = place.store.sweep(&options).expect("it is swept");
        assert!(is_used.load(Ordering::SeqCst));
        assert_eq!((report.removed, report.kept), (0, 1), "{level:?}");
        assert!(id_of(&place.store.snapshot().expect("a snapshot"), long("dead")).is_some());
        expect_sound(&place.store);
    }
}

#[test]
fn threads_that_use_terms_while_they_are_swept_lose_none() {
    for options in kinds() {
        let place = TestStore::new(options);
        let (ended, swept) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for (thread, level) in LEVELS.into_iter().enumerate() {
                let (store, ended) = (&place.store, &ended);
                scope.spawn(move || {
                    let mut round = 0_u32;
                    while round < 150 {
                        let subject = format!("s{}", (round + thread as u32) % 3);
                        let used = quad(
                            &subject,
                            "p",
                            long(&(round % 5).to_string()),
                            ["g", "h"].get(round as usize % 3).copied(),
                        );
                        let mut txn = store.begin_with(level).expect("a transaction");
                        let changed =
                            if round.is_multiple_of(2) { txn.insert(&used).map(drop) } else { txn.clear().map(drop) };
                        match changed.and_then(|()| txn.commit()) {
                            Ok(_) => round += 1,
                            Err(error) => assert!(error.is_retryable(), "{error}"),
                        }
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
            while ended.load(Ordering::SeqCst) < 2 {
                swept.fetch_add(sweep(&place.store).removed, Ordering::SeqCst);
                texts(&place.store.snapshot().expect("a snapshot"));
            }
        });
        assert!(swept.load(Ordering::SeqCst) > 0);
        expect_sound(&place.store);
        sweep(&place.store);
        assert_eq!(place.store.unused_terms().expect("they are counted"), 0);
    }
}

fn in_namespace(namespace: &str, name: &str) -> Quad {
    let node = |name: &str| NamedNode::new_unchecked(format!("http://example.org/{namespace}/{name}"));
    Quad::new(node(name), node("p"), node("o"), oxrdf::GraphName::DefaultGraph)
}

fn namespaces(store: &Store) -> u64 {
    let stats = store.stats().expect("statistics");
    let entries = stats.tables.iter().find(|(name, _)| name == "iri_namespaces").map(|(_, entries)| *entries);
    entries.expect("the table is there") / 2
}

#[test]
fn namespaces_without_iris_go_and_who_knew_them_stores_no_iri_by_their_numbers() {
    let place = TestStore::new(StoreOptions::new());
    // Another handle, which learns for itself.
    let other = Store::open(place.store.database().path()).expect("it opens");
    for (namespace, store) in [("one", &place.store), ("two", &other), ("three", &place.store)] {
        store.update(|txn| txn.insert(&in_namespace(namespace, "a"))).expect("it is committed");
    }
    other.update(|txn| txn.insert(&in_namespace("one", "b"))).expect("it is committed");
    let snapshot = place.store.snapshot().expect("a snapshot");
    let before = texts(&snapshot);
    other.update(|txn| txn.clear()).expect("it is committed");
    assert_eq!(namespaces(&place.store), 3);
    // It has looked up by what numbers it stores IRIs.
    let mut earlier = other.begin_with(Isolation::Snapshot).expect("a transaction");
    earlier.insert(&in_namespace("one", "c")).expect("it is inserted");
    let report = sweep(&place.store);
    assert_eq!((report.namespaces_removed, namespaces(&place.store)), (2, 1));
    assert!(earlier.commit().is_err_and(|error| error.is_retryable()));
    assert_eq!(texts(&snapshot), before);
    for store in [&place.store, &other] {
        for namespace in ["one", "two", "three"] {
            store.update(|txn| txn.insert(&in_namespace(namespace, "d"))).expect("it is committed");
        }
        expect_sound(&place.store);
    }
    assert_eq!((namespaces(&place.store), texts(&snapshot)), (3, before));
    assert_eq!(texts(&place.store.snapshot().expect("a snapshot")).len(), 3);
    drop((snapshot, other));
    expect_sound(&place.reopen().store);
}

#[test]
fn a_new_namespace_after_a_sweep_of_others_is_no_conflict() {
    let place = TestStore::new(StoreOptions::new());
    for namespace in ["one", "two"] {
        place.store.update(|txn| txn.insert(&in_namespace(namespace, "a"))).expect("it is committed");
    }
    place.store.update(|txn| txn.clear()).expect("it is committed");
    assert_eq!(sweep(&place.store).namespaces_removed, 1);
    let mut txn = place.store.begin_with(Isolation::Serializable).expect("a transaction");
    txn.insert(&in_namespace("three", "a")).expect("it is inserted");
    txn.commit().expect("nobody else has changed anything");
    assert_eq!(namespaces(&place.store), 2);
    expect_sound(&place.store);
}

#[test]
fn a_load_after_a_sweep_of_namespaces_stores_no_iri_by_their_numbers() {
    use crate::{LoadInput, LoadOptions, RdfFormat};

    let place = TestStore::new(StoreOptions::new());
    let other = Store::open(place.store.database().path()).expect("it opens");
    for namespace in ["one", "two"] {
        place.store.update(|txn| txn.insert(&in_namespace(namespace, "a"))).expect("it is committed");
    }
    place.store.update(|txn| txn.clear()).expect("it is committed");
    assert_eq!(sweep(&other).namespaces_removed, 1);
    // Of one term, so that it is worth no number.
    let text = format!("{} .", in_namespace("one", "b"));
    let input = LoadInput::reader("a", std::io::Cursor::new(text), RdfFormat::NQuads);
    place.store.load(vec![input], &LoadOptions::new()).expect("it is loaded");
    expect_sound(&other);
    assert_eq!(other.snapshot().expect("a snapshot").count(&IdPattern::ALL).expect("it is counted"), 1);
}

#[test]
fn a_sweep_waits_for_others_as_long_as_it_is_told_and_reports_progress() {
    let [all, few] = kinds();
    let place = with_a_dead_term(few);
    let exclusive = place.store.database().begin_exclusive(std::time::Duration::ZERO).expect("it is begun");
    let options = SweepOptions::new().wait(std::time::Duration::ZERO);
    assert!(matches!(place.store.sweep(&options), Err(Error::WriterBusy { .. })));
    drop(exclusive);
    let seen = Arc::new(AtomicU64::new(0));
    for place in [place, with_a_dead_term(all)] {
        let counted = Arc::clone(&seen);
        let options = SweepOptions::new().progress(move |now| {
            assert!(now.done <= now.total || now.stage != "removing terms", "{now:?}");
            counted.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(place.store.sweep(&options).expect("it is swept").removed, 1);
        assert!(seen.swap(0, Ordering::SeqCst) >= 2);
    }
}

#[test]
fn more_terms_than_are_taken_away_together_go_all() {
    let place = TestStore::new(StoreOptions::new());
    let inserted = place.store.update(|txn| {
        (0..1500).try_for_each(|number| txn.insert(&quad("a", "p", long(&number.to_string()), None)).map(drop))
    });
    inserted.expect("it is committed");
    let removed = place.store.update(|txn| {
        (0..1500)
            .filter(|number| number % 7 != 0)
            .try_for_each(|number| txn.remove(&quad("a", "p", long(&number.to_string()), None)).map(drop))
    });
    removed.expect("it is committed");
    assert_eq!(sweep(&place.store).removed, 1285);
    let check = place.reopen().store.check().expect("it is checked");
    assert!(check.is_sound() && check.unused_terms == 0 && check.quads == 215, "{check:?}");
}

#[test]
fn namespaces_beyond_the_first_16384_numbers_are_written_and_read_like_others() {
    use crate::{LoadInput, LoadOptions, RdfFormat};

    let place = TestStore::new(StoreOptions::new());
    // As sweeps of thousands leave it: the one with the highest number.
    let (number, text) = (20_000_u32.to_be_bytes(), "http://example.org/last/");
    let table = place.store.database().open_table("iri_namespaces").expect("it is there");
    let written = place.store.database().update(|txn| {
        txn.put(&table, &[&[0], &number[..]].concat(), text.as_bytes())?;
        txn.put(&table, &[&[1], text.as_bytes()].concat(), &number)
    });
    written.expect("it is committed");
    let place = place.reopen();
    // It learns of later ones where it reads.
    let other = Store::open(place.store.database().path()).expect("it opens");
    let mut expected = Vec::new();
    let mut expect = |namespace: &str| {
        let node = |name: &str| format!("<http://example.org/{namespace}/{name}>");
        expected.push(format!("{} {} {} -", node("a"), node("p"), node("o")));
        expected.sort();
        expected.clone()
    };
    let mut txn = place.store.begin().expect("a transaction");
    txn.insert(&in_namespace("later", "a")).expect("it is inserted");
    assert_eq!(texts(&txn.view()), expect("later"));
    txn.commit().expect("nobody else has changed anything");
    place.store.update(|txn| txn.insert(&in_namespace("last", "a"))).expect("it is committed");
    let document = format!("{} .\n", in_namespace("loaded", "a"));
    let names = ["a", "b", "c", "d"].map(|name| in_namespace("loaded", name));
    let all = names.map(|quad| format!("{quad} .\n")).concat();
    let input = LoadInput::reader("a", std::io::Cursor::new(all), RdfFormat::NQuads);
    place.store.load(vec![input], &LoadOptions::new()).expect("it is loaded");
    place
        .store
        .update(|txn| ["b", "c", "d"].iter().try_for_each(|name| txn.remove(&in_namespace("loaded", name)).map(drop)))
        .expect("they are removed");
    expect("last");
    let expected = expect("loaded");
    let place = {
        let read = |store: &Store| {
            let snapshot = store.snapshot().expect("a snapshot");
            let txn = store.begin().expect("a transaction");
            let statements = snapshot.statements(&IdPattern::ALL).map(|read| read.expect("it is read").to_string());
            assert!(statements.into_iter().any(|statement| document.starts_with(&statement)));
            assert_eq!((texts(&snapshot), texts(&txn.view())), (expected.clone(), expected.clone()));
        };
        read(&other);
        read(&place.store);
        let entries = place.store.database().read().expect("a snapshot");
        let numbers = entries.range(&table_of(&place.store), ..&[1_u8][..]).expect("they are read");
        let numbers: Vec<Vec<u8>> = numbers.map(|entry| entry.expect("it is read").0.to_vec()).collect();
        let expected = [20_000_u32, 20_001, 20_002].map(|number| [&[0], &number.to_be_bytes()[..]].concat());
        assert_eq!(numbers, expected);
        drop(entries);
        expect_sound(&place.store);
        drop(other);
        place.reopen()
    };
    assert_eq!(texts(&place.store.snapshot().expect("a snapshot")), expected);
    expect_sound(&place.store);
}

fn table_of(store: &Store) -> fulgurite::Table {
    store.database().open_table("iri_namespaces").expect("it is there")
}
