//! What fails leaves the store as it was.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fulgurite::{Database, Durability, TableOptions};
use fulgurite_events::{Error, EventStore, Expected, Position, StreamState, Version};

use crate::support::{event, store, texts};

#[test]
fn a_transaction_that_cannot_begin_leaves_the_numbers_of_streams() {
    let directory = tempfile::tempdir().unwrap();
    // A merge function may not begin a transaction, so the engine refuses the one of the append.
    let (used, outcome) = (Arc::new(Mutex::new(None::<EventStore>)), Arc::new(Mutex::new(None)));
    let options = Database::options().create(true).durability(Durability::Log).merge_function("append", {
        let (used, outcome) = (Arc::clone(&used), Arc::clone(&outcome));
        move |_, _, _| {
            if let Some(store) = used.lock().unwrap().take() {
                *outcome.lock().unwrap() = Some(store.append("x", Expected::Any, &[event("no")]));
            }
            Ok(Vec::new())
        }
    });
    let db = options.open(directory.path().join("a.ful")).unwrap();
    let store = EventStore::options().durability(Durability::Log).open_in(&db).unwrap();
    let table = db.create_table("t", TableOptions::new().merge_function("append")).unwrap();
    store.append("a", Expected::Any, &[event("1")]).unwrap();
    store.append("b", Expected::Any, &[event("2")]).unwrap();
    *used.lock().unwrap() = Some(store.clone());
    db.update(|txn| txn.merge(&table, "k", "")).unwrap();
    drop(db.read().unwrap().get(&table, "k").unwrap());
    assert!(matches!(outcome.lock().unwrap().take(), Some(Err(Error::Engine(_)))));
    store.append("c", Expected::NoStream, &[event("3")]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let numbers = ["a", "b", "c"].map(|name| snapshot.stream(name).unwrap().unwrap().id.0);
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(["a", "b", "c"].map(|name| texts(&snapshot, name)), [["1"], ["2"], ["3"]]);
}

#[test]
fn a_transaction_changes_values_of_the_program_at_their_places() {
    let (_directory, store) = store();
    let table = store.database().create_table("sums", TableOptions::new()).unwrap();
    store.transact(|t| Ok(t.reserve(&table, "a", 1, |value| value[0] = 1)?)).unwrap();
    let sum = store.transact(|t| {
        t.append("x", Expected::Any, &[event("1")])?;
        t.modify(&table, "a", |value| value[0] += 1)?;
        t.try_modify(&table, "a", |value| {
            value[0] += 1;
            Ok::<_, Error>(value[0])
        })
    });
    assert_eq!(sum.unwrap(), Some(3));
    let refused = store.transact(|t| {
        t.append("x", Expected::Any, &[event("2")])?;
        t.try_modify(&table, "a", |value| {
            value[0] = 9;
            Err::<(), _>(Error::program("no"))
        })
    });
    assert!(matches!(refused, Err(Error::Program(_))));
    let txn = store.database().read().unwrap();
    assert_eq!(txn.get(&table, "a").unwrap().as_deref(), Some(&[3][..]));
    assert_eq!(texts(&store.snapshot().unwrap(), "x"), ["1"]);
}

#[test]
fn an_append_that_is_refused_neither_creates_nor_opens_a_stream() {
    let (_directory, store) = store();
    store.append("deleted", Expected::Any, &[event("1")]).unwrap();
    store.delete_stream("deleted", Expected::Any).unwrap();
    store
        .transact(|t| {
            for name in ["deleted", "new"] {
                let twice = [event("2").id([7; 16]), event("3").id([7; 16])];
                assert!(matches!(t.append(name, Expected::Any, &twice), Err(Error::Invalid { .. })));
            }
            t.append("other", Expected::Any, &[event("4")])
        })
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.stream("deleted").unwrap().unwrap().state, StreamState::Deleted);
    assert!(snapshot.stream("new").unwrap().is_none());
    assert_eq!(texts(&snapshot, "other"), ["4"]);
    let once = [event("2").id([7; 16])];
    assert_eq!(store.append("deleted", Expected::NoStream, &once).unwrap().version, Version(1));
}

#[test]
fn a_transaction_with_a_change_that_failed_in_the_middle_is_not_committed() {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &[event("1")]).unwrap();
    let outcome = store.transact(|t| {
        let streams = t.open_table("events.streams")?;
        t.put(&streams, 0_u64.to_be_bytes(), "not a record")?;
        assert!(matches!(t.truncate_before("a", Version(1)), Err(Error::Damaged { .. })));
        t.append("b", Expected::Any, &[event("2")])
    });
    assert!(matches!(outcome, Err(Error::Invalid { .. })));
    store.append("a", Expected::Exact(Version(0)), &[event("3")]).unwrap();
    assert_eq!(texts(&store.snapshot().unwrap(), "a"), ["1", "3"]);
}

#[test]
fn a_follower_of_a_store_that_was_opened_with_another_durability_sees_every_event() {
    let directory = tempfile::tempdir().unwrap();
    let options = Database::options().create(true).background(false);
    let db = options.open(directory.path().join("a.ful")).unwrap();
    let open = |durability| EventStore::options().durability(durability).open_in(&db).unwrap();
    let store = open(Durability::Memory);
    store.append("a", Expected::Any, &[event("1"), event("2")]).unwrap();
    drop(store);
    let mut follower = open(Durability::Disk).follow(Position::START).unwrap();
    let mut seen = Vec::new();
    follower
        .poll(Duration::from_secs(1), |_, event| {
            seen.push(event.position.0);
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, [0, 1]);
}
