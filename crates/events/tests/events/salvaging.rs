//! What can be read of a store whose pages are damaged.
//!
//! A read of the log ended at the first damaged page: a dozen such pages hid tens of thousands of sound events.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fulgurite::{Database, Durability};
use fulgurite_events::{Error, EventData, EventStore, Expected, Position, Salvaged};
use tempfile::TempDir;

/// A closed store of [`EVENTS`] events in many pages.
fn written() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let store = EventStore::options().durability(Durability::Log).create(&path).unwrap();
    for number in (0..EVENTS).step_by(STEP) {
        let payloads: Vec<_> = (number..number + STEP as u64).map(payload).collect();
        let events: Vec<_> = payloads.iter().map(|payload| EventData::new("x", payload.as_bytes())).collect();
        store.append(format!("stream {}", number % 7), Expected::Any, &events).unwrap();
    }
    let db = store.database().clone();
    drop(store);
    db.close().unwrap();
    (directory, path)
}

fn payload(number: u64) -> String {
    format!("the event {number:08}")
}

/// Changes a byte of every page that has an event.
fn damage(path: &Path, number: u64) {
    let (mut bytes, mark) = (std::fs::read(path).unwrap(), payload(number));
    let places: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(mark.as_bytes())).collect();
    assert!(!places.is_empty(), "{mark} is in the file");
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    std::fs::write(path, bytes).unwrap();
}

/// Reads what can be read from a position on. Returns the positions that were left out; those that are not known to end
/// end with the last event.
fn salvaged(store: &EventStore, from: u64) -> Vec<(u64, u64)> {
    let snapshot = store.snapshot().unwrap();
    let (mut next, mut left_out) = (from, Vec::new());
    for salvaged in snapshot.salvage(Position(from)).unwrap() {
        match salvaged.unwrap() {
            Salvaged::Event(event) => {
                assert_eq!((event.position.0, event.payload), (next, payload(next).into_bytes()));
                next += 1;
            }
            Salvaged::LeftOut { from, to, error } => {
                assert!(matches!(&error, Error::Engine(error) if error.is_corruption()), "{error}");
                assert_eq!(from.0, next);
                next = to.map_or(EVENTS, |to| to.0);
                left_out.push((from.0, next));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(next, EVENTS, "every position is returned or left out");
    left_out
}

#[test]
fn events_beside_damaged_pages_are_read_and_the_others_are_named() {
    let (_directory, path) = written();
    let damaged = [0, 2_000, 3_500, EVENTS - 1];
    damaged.iter().for_each(|&number| damage(&path, number));
    let db = Database::options().read_only(true).open(&path).unwrap();
    let store = EventStore::open_in(&db).unwrap();
    let left_out = salvaged(&store, 0);
    assert_eq!(left_out.len(), damaged.len(), "{left_out:?}");
    for ((from, to), number) in left_out.iter().zip(damaged) {
        assert!((*from..*to).contains(&number), "{number}: {left_out:?}");
        assert!(to - from < PAGE_EVENTS, "{left_out:?}");
    }
    // From within a damaged page on, and from behind it.
    assert_eq!(salvaged(&store, 2_000)[0], (2_000, left_out[1].1));
    assert_eq!(salvaged(&store, left_out[1].1), left_out[2..]);

    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.read_all(Position(0)).and_then(|mut events| events.next().map(drop)).is_err());
    assert!(store.follow(Position(0)).is_err(), "the end of the log is damaged");
}

/// The thread waited for itself.
#[test]
fn a_thread_with_an_exclusive_transaction_is_refused_a_store_whose_last_events_are_damaged() {
    let (_directory, path) = written();
    damage(&path, EVENTS - 1);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let db = Database::open(&path).unwrap();
        let exclusive = db.begin_exclusive(Duration::from_secs(60)).unwrap().unwrap();
        let opened = EventStore::open_in(&db);
        sender.send(matches!(&opened, Err(Error::Engine(error)) if error.is_corruption())).unwrap();
        drop(exclusive);
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(120)), Ok(true));
}

#[test]
fn all_events_of_a_sound_store_are_read_from_any_position() {
    let (_directory, path) = written();
    let db = Database::options().read_only(true).open(&path).unwrap();
    let store = EventStore::open_in(&db).unwrap();
    for from in [0, 1, STEP as u64 + 1, EVENTS - 1, EVENTS] {
        assert_eq!(salvaged(&store, from), []);
    }
}

const EVENTS: u64 = 6_000;
/// Events of a transaction.
const STEP: usize = 10;
/// More events than a page has.
const PAGE_EVENTS: u64 = 700;
