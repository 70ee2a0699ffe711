//! Followers in the same process: where they begin, and what they say of removed events.

use std::time::Duration;

use fulgurite::{Database, Durability};
use fulgurite_events::{Error, EventData, EventStore, Expected, Position, Retention, Signal};

use crate::support::{event, store};

#[test]
fn a_follower_begins_at_the_next_position_at_most() {
    let (_directory, store) = store();
    let refused = |from: u64| match store.follow(Position(from)) {
        Err(Error::Invalid { message }) => message,
        other => panic!("{other:?}"),
    };
    assert!(store.follow(Position::START).is_ok());
    refused(1);
    store.append("a", Expected::Any, &[event("1"), event("2")]).unwrap();
    let message = refused(3);
    assert!(message.contains("position 3") && message.contains("follow from 2"), "{message}");
    refused(u64::MAX);
    let mut follower = store.follow(Position(2)).unwrap();
    assert_eq!(follower.poll(Duration::ZERO, |_, _| Ok(())).unwrap().signal, Some(Signal::CaughtUp));
    store.append("a", Expected::Any, &[event("3")]).unwrap();
    assert_eq!(follower.poll(Duration::ZERO, |_, _| Ok(())).unwrap().events, 1);
}

/// A snapshot shows events before they are durable, and a program may follow from its head.
#[test]
fn a_follower_of_durable_events_begins_at_the_head_of_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::options().create(true).durability(Durability::Memory);
    let db = db.open(directory.path().join("a.ful")).unwrap();
    let store = EventStore::options().durability(Durability::Disk).open_in(&db).unwrap();
    let head = store.transact(|transaction| {
        transaction.append("a", Expected::Any, &[event("1")])?;
        // The events of this transaction have no position yet that could be followed.
        assert!(matches!(store.follow(Position(1)), Err(Error::Invalid { .. })));
        store.snapshot()?.head()
    });
    assert!(store.follow(head.unwrap()).is_ok());
    let head = store.snapshot().unwrap().head().unwrap();
    assert_eq!(store.follow(head).unwrap().position(), Position(1));
}

#[test]
fn what_a_failed_call_has_missed_is_counted_once() {
    let (_directory, store) = store();
    let payload = [1; 5000];
    for _ in 0..20 {
        store.append("a", Expected::Any, &[EventData::new("x", &payload)]).unwrap();
    }
    store.apply_retention(&Retention { count_max: Some(5), ..Retention::default() }).unwrap();
    let mut follower = store.follow(Position(4)).unwrap();
    for _ in 0..2 {
        let failed = follower.poll(Duration::ZERO, |_, _| Err(Error::program("a planted fault")));
        assert!(matches!(failed, Err(Error::Program(_))));
        assert_eq!((follower.missed(), follower.position()), (11, Position(15)));
    }
    let delivered = follower.poll(Duration::ZERO, |_, _| Ok(())).unwrap();
    assert_eq!((delivered.missed, delivered.events), (11, 5));
    let delivered = follower.poll(Duration::ZERO, |_, _| Ok(())).unwrap();
    assert_eq!((delivered.missed, delivered.signal, follower.missed()), (0, Some(Signal::CaughtUp), 11));
}

#[test]
fn a_signal_of_a_failed_call_is_returned_by_the_next_one() {
    let (_directory, store) = store();
    let mut follower = store.follow(Position::START).unwrap().behind_max(1);
    assert_eq!(follower.poll(Duration::ZERO, |_, _| Ok(())).unwrap().signal, Some(Signal::CaughtUp));
    store.append("a", Expected::Any, &[event("1"), event("2"), event("3")]).unwrap();
    follower.poll(Duration::ZERO, |_, _| Err(Error::program("a planted fault"))).unwrap_err();
    let delivered = follower.poll(Duration::ZERO, |_, _| Ok(())).unwrap();
    assert_eq!((delivered.events, delivered.signal), (3, Some(Signal::FellBehind { events: 3 })));
}
