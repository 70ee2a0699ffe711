//! Appends: expected versions, ids, conditions, transactions, and what is read afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use fulgurite::{Database, Durability};
use fulgurite_events::{
    AppendCondition, Error, EventData, EventQuery, EventStore, Expected, Position, QueryItem, Timestamp, Upcasters,
    Version,
};

use crate::support::{Panic, all, event, store, texts};

#[test]
fn an_append_at_another_version_names_stream_and_versions_and_leaves_nothing() {
    let (_directory, store) = store();
    store.append("a", Expected::NoStream, &[event("1"), event("2")]).unwrap();
    let error = store.append("a", Expected::Exact(Version(0)), &[event("late")]).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("`a`") && message.contains("version 0") && message.contains("version 1"), "{message}");
    assert!(matches!(store.append("a", Expected::NoStream, &[event("late")]), Err(Error::WrongVersion { .. })));
    let missing = store.append("b", Expected::StreamExists, &[event("late")]);
    assert!(matches!(missing, Err(Error::WrongVersion { actual: None, .. })));
    let next = store.append("a", Expected::Exact(Version(1)), &[event("3")]).unwrap();
    assert_eq!((next.position, next.version), (Position(2), Version(2)));
    assert_eq!(store.snapshot().unwrap().stream("b").unwrap(), None);
}

#[test]
fn a_repeated_append_returns_the_first_result_also_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let events = [event("x").id([1; 16]), event("y").id([2; 16])];
    let first = {
        let store = EventStore::create(&path).unwrap();
        store.append("other", Expected::Any, &[event("z").id([1; 16])]).unwrap();
        store.append("a", Expected::NoStream, &events).unwrap()
    };
    let store = EventStore::create(&path).unwrap();
    let again = store.append("a", Expected::NoStream, &events).unwrap();
    assert_eq!((again.position, again.version, again.repeated), (first.position, first.version, true));
    let part = store.append("a", Expected::Any, &[event("y").id([2; 16]), event("new").id([3; 16])]);
    assert!(matches!(part, Err(Error::IdReused { version: Version(1), .. })));
    let twice = store.append("a", Expected::Any, &[event("n").id([4; 16]), event("n").id([4; 16])]);
    assert!(twice.is_err_and(|error| error.to_string().contains("two events of one append")));
    store.append("a", Expected::Any, &[event("n").id([4; 16])]).unwrap();
    assert_eq!(texts(&store.snapshot().unwrap(), "a"), ["x", "y", "n"]);
}

#[test]
fn an_id_outside_of_the_window_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::create(directory.path().join("a.ful")).unwrap();
    let store = EventStore::options().id_window(2).durability(Durability::Log).open_in(&db).unwrap();
    let first = [event("x").id([1; 16])];
    store.append("a", Expected::Any, &first).unwrap();
    assert!(store.append("a", Expected::Any, &first).unwrap().repeated);
    store.append("b", Expected::Any, &[event("1"), event("2")]).unwrap();
    assert!(!store.append("a", Expected::Any, &first).unwrap().repeated);
}

#[test]
fn a_transaction_changes_streams_and_tables_together_or_not_at_all() {
    let (_directory, store) = store();
    let table = store.database().create_table("t", Default::default()).unwrap();
    let failed = store.transact(|t| {
        t.append("a", Expected::Any, &[event("1")])?;
        t.put(&table, "k", "v")?;
        t.append("b", Expected::StreamExists, &[event("2")])
    });
    assert!(matches!(failed, Err(Error::WrongVersion { .. })));
    assert!(store.database().read().unwrap().get(&table, "k").unwrap().is_none());
    store
        .transact(|t| {
            t.append("a", Expected::NoStream, &[event("1")])?;
            t.append("b", Expected::NoStream, &[event("2"), event("3")])?;
            t.append("a", Expected::Exact(Version(0)), &[event("4")])?;
            assert!(matches!(store.append("c", Expected::Any, &[event("5")]), Err(Error::Nested)));
            Ok(t.put(&table, "k", "v")?)
        })
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(all(&snapshot).iter().map(|event| event.position.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(
        (texts(&snapshot, "a"), texts(&snapshot, "b")),
        (vec!["1".into(), "4".into()], vec!["2".into(), "3".into()])
    );
    assert!(snapshot.txn().get(&table, "k").unwrap().is_some());
}

#[test]
fn a_condition_fails_if_an_event_was_not_read() {
    let (_directory, store) = store();
    let tags = ["course:1", "student:2"];
    store.append("s", Expected::Any, &[event("enrolled").tags(&tags), event("left")]).unwrap();
    let full = EventQuery::new().or(QueryItem::new().kind("enrolled").tag("course:1"));
    let unread = AppendCondition { query: full.clone(), after: None };
    let refused = store.append_if(&unread, "s", &[event("enrolled").tags(&tags)]);
    assert!(matches!(refused, Err(Error::ConditionFailed { position: Position(0) })));
    let read = AppendCondition { query: full.clone(), after: Some(Position(0)) };
    store.append_if(&read, "s", &[event("enrolled").tags(&tags)]).unwrap();
    assert!(matches!(
        store.append_if(&read, "s", &[event("x")]),
        Err(Error::ConditionFailed { position: Position(2) })
    ));
    for query in
        [EventQuery::kind("never"), EventQuery::tag("course:2"), EventQuery::new().or(QueryItem::new().stream("t"))]
    {
        store.append_if(&AppendCondition { query, after: None }, "s", &[event("x")]).unwrap();
    }
    let own = store.transact(|t| {
        t.append("s", Expected::Any, &[event("enrolled").tags(&tags)])?;
        t.require(&AppendCondition { query: full.clone(), after: Some(Position(5)) })
    });
    assert!(matches!(own, Err(Error::ConditionFailed { position: Position(6) })));
}

#[test]
fn a_repeated_append_is_returned_although_its_own_events_break_its_condition() {
    let (_directory, store) = store();
    let condition = AppendCondition { query: EventQuery::kind("enrolled"), after: None };
    let events = [event("enrolled").id([1; 16])];
    let first = store.append_if(&condition, "s", &events).unwrap();
    let again = store.append_if(&condition, "s", &events).unwrap();
    assert_eq!((again.position, again.version, again.repeated), (first.position, first.version, true));
    let within = store.transact(|t| t.append_if(&condition, "s", Expected::NoStream, &events)).unwrap();
    assert!(within.repeated);
    let other = store.append_if(&condition, "s", &[event("enrolled").id([2; 16])]);
    assert!(matches!(other, Err(Error::ConditionFailed { position: Position(0) })));
    let wrong = store.transact(|t| {
        let nothing = AppendCondition { query: EventQuery::kind("never"), after: None };
        t.append_if(&nothing, "s", Expected::NoStream, &[event("x")])
    });
    assert!(matches!(wrong, Err(Error::WrongVersion { .. })));
    assert_eq!(texts(&store.snapshot().unwrap(), "s"), ["enrolled"]);
}

#[test]
fn queries_find_events_by_type_tag_and_stream_both_ways() {
    let (_directory, store) = store();
    for round in 0..50 {
        let tag = format!("order:{}", round % 5);
        let tags = [tag.as_str()];
        let kind = if round % 3 == 0 { "third" } else { "other" };
        store.append(format!("s{}", round % 7), Expected::Any, &[event(kind).tags(&tags)]).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    let whole = all(&snapshot);
    let check = |query: &EventQuery, is_match: &dyn Fn(&fulgurite_events::RecordedEvent) -> bool| {
        for from in [0, 13, 49, 50, 99] {
            let expected: Vec<_> = whole.iter().filter(|e| e.position.0 >= from && is_match(e)).cloned().collect();
            let mut found = snapshot.read_query(query, Position(from)).unwrap();
            assert_eq!(found.take_recorded(&snapshot, usize::MAX).unwrap(), expected, "{query:?} from {from}");
            let mut expected: Vec<_> = whole.iter().filter(|e| e.position.0 < from && is_match(e)).cloned().collect();
            expected.reverse();
            let mut found = snapshot.read_query_backwards(query, Position(from)).unwrap();
            assert_eq!(found.take_recorded(&snapshot, usize::MAX).unwrap(), expected, "{query:?} before {from}");
        }
    };
    check(&EventQuery::new(), &|_| true);
    check(&EventQuery::kind("third"), &|event| &*event.kind == "third");
    check(&EventQuery::tag("order:4"), &|event| event.tags == ["order:4"]);
    check(&EventQuery::kind("none"), &|_| false);
    let mixed = EventQuery::new()
        .or(QueryItem::new().stream("s2").stream("s3").kind("other"))
        .or(QueryItem::new().tag("order:1").kind("third"));
    check(&mixed, &|event| {
        (&*event.kind == "other" && (event.stream == b"s2" || event.stream == b"s3"))
            || (&*event.kind == "third" && event.tags == ["order:1"])
    });
}

#[test]
fn a_time_leads_to_its_first_event() {
    let (_directory, store) = store();
    for round in 0..100 {
        store.append("a", Expected::Any, &vec![event("x"); 1 + round % 3]).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    let whole = all(&snapshot);
    for event in &whole {
        let first = whole.iter().find(|other| other.time >= event.time).unwrap();
        assert_eq!(snapshot.position_at(event.time).unwrap(), first.position);
    }
    assert_eq!(snapshot.position_at(Timestamp(0)).unwrap(), Position(0));
    assert_eq!(snapshot.position_at(Timestamp(u64::MAX)).unwrap(), snapshot.head().unwrap());
}

#[test]
fn payloads_are_aligned_and_large_ones_are_whole() {
    let (directory, store) = store();
    let sizes = [0, 1, 100, 7_999, 8_000, 70_000, 3 << 20];
    for size in sizes {
        let payload = vec![size as u8; size];
        store.append("a", Expected::Any, &[EventData::new("x", &payload), EventData::new("x", b"y")]).unwrap();
    }
    let check = |store: &EventStore| {
        let snapshot = store.snapshot().unwrap();
        let mut lengths = Vec::new();
        snapshot
            .scan(.., |event| {
                assert_eq!(event.payload.as_ptr() as usize % 8, 0, "{}", event.position);
                lengths.push(event.payload.len());
            })
            .unwrap();
        assert_eq!(lengths.iter().step_by(2).copied().collect::<Vec<_>>(), sizes);
        let mut events = snapshot.read_stream("a", Version(0)).unwrap();
        while let Some(event) = events.next().unwrap() {
            assert_eq!(event.payload.as_ptr() as usize % 8, 0, "{}", event.position);
        }
    };
    check(&store);
    store.database().checkpoint().unwrap();
    check(&store);
    drop(store);
    check(&EventStore::options().durability(Durability::Log).create(directory.path().join("a.ful")).unwrap());
}

#[test]
fn old_schema_versions_are_upcast_at_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let upcasters = Upcasters::new().register("named", 0, |payload| Ok([payload, b"+1"].concat())).register(
        "named",
        1,
        |payload| Ok([payload, b"+2"].concat()),
    );
    let store = EventStore::options().upcasters(upcasters).create(&path).unwrap();
    store
        .append("a", Expected::Any, &[EventData::new("named", b"old"), EventData::new("named", b"new").schema(2)])
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(texts(&snapshot, "a"), ["old+1+2", "new"]);
    assert!(all(&snapshot).iter().all(|event| event.schema == 2));
}

#[test]
fn limits_are_errors_that_leave_nothing() {
    let (_directory, store) = store();
    let long = "x".repeat(1025);
    assert!(matches!(store.append("", Expected::Any, &[event("x")]), Err(Error::Invalid { .. })));
    assert!(matches!(store.append(&long, Expected::Any, &[event("x")]), Err(Error::Invalid { .. })));
    assert!(matches!(store.append("a", Expected::Any, &[event("")]), Err(Error::Invalid { .. })));
    assert!(matches!(store.append("a", Expected::Any, &[event(&long)]), Err(Error::Invalid { .. })));
    assert!(matches!(store.append("a", Expected::Any, &[event("x").tags(&[""])]), Err(Error::Invalid { .. })));
    assert_eq!(store.snapshot().unwrap().head().unwrap(), Position(0));
    store.append(&long[..1024], Expected::NoStream, &[event("x")]).unwrap();
}

#[test]
fn a_store_is_shared_and_refuses_other_options() {
    let (_directory, store) = store();
    let other = EventStore::options().open_in(store.database());
    assert!(matches!(other, Err(Error::OtherOptions { .. })));
    let same = EventStore::options().durability(Durability::Log).open_in(store.database()).unwrap();
    same.append("a", Expected::NoStream, &[event("1")]).unwrap();
    store.append("a", Expected::Exact(Version(0)), &[event("2")]).unwrap();
    let second = EventStore::options().name("second").open_in(store.database()).unwrap();
    assert_eq!(second.append("a", Expected::NoStream, &[event("1")]).unwrap().position, Position(0));
}

#[test]
fn a_database_without_a_store_is_refused_read_only_and_where_none_is_to_be_created() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let db = Database::create(&path).unwrap();
    assert!(matches!(EventStore::options().open_existing_in(&db), Err(Error::NotEvents { .. })));
    assert!(db.tables().unwrap().is_empty(), "nothing was created");
    drop(EventStore::options().name("other").open_in(&db).unwrap());
    assert_eq!(EventStore::options().name("other").open_existing_in(&db).unwrap().name(), "other");
    db.close().unwrap();
    let db = Database::options().read_only(true).open(&path).unwrap();
    assert!(matches!(EventStore::open_in(&db), Err(Error::NotEvents { .. })));
}

#[test]
fn a_scan_on_several_threads_ends_with_an_error_of_its_function() {
    let (_directory, store) = store();
    for _ in 0..40 {
        store.append("a", Expected::Any, &[event("x"); 5]).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    let count = |count: &mut u64, _: &fulgurite_events::Event<'_>| {
        *count += 1;
        Ok::<(), Error>(())
    };
    let counts = snapshot.try_scan_parallel(.., 3, || 0, count).unwrap();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (3, 200));
    let failed = snapshot.try_scan_parallel(
        ..,
        3,
        || (),
        |_, event| match event.position {
            Position(150) => Err(Error::program("no")),
            _ => Ok(()),
        },
    );
    assert!(matches!(failed, Err(Error::Program(_))), "{failed:?}");
}

/// The other threads went on to their ends.
#[test]
fn a_scan_on_several_threads_ends_when_its_function_panics() {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &[event("x"); 20]).unwrap();
    let (snapshot, panic, calls) = (store.snapshot().unwrap(), Panic::new(), AtomicU64::new(0));
    let each = |_: &mut (), event: &fulgurite_events::Event<'_>| {
        if event.position < Position(10) {
            panic.panic();
        }
        panic.await_end();
        calls.fetch_add(1, Ordering::SeqCst);
        Ok::<(), Error>(())
    };
    let scanned = catch_unwind(AssertUnwindSafe(|| snapshot.try_scan_parallel(.., 2, || (), each)));
    assert!(scanned.is_err());
    // The other thread had perhaps not begun.
    assert!(calls.into_inner() <= 1);
}
