//! Truncation, deletion, retention and states of aggregates.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, FreeSpace, MemoryDisk};
use fulgurite::{Database, Read};
use fulgurite_events::{
    Error, EventData, EventStore, Expected, Position, Retention, StreamMetadata, StreamState, Version,
};

use crate::support::{all, event, store, texts};

#[test]
fn a_deleted_stream_continues_its_versions_and_a_tombstone_does_not() {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &[event("1"), event("2")]).unwrap();
    assert!(matches!(store.delete_stream("a", Expected::Exact(Version(0))), Err(Error::WrongVersion { .. })));
    store.delete_stream("a", Expected::Exact(Version(1))).unwrap();
    assert!(matches!(store.snapshot().unwrap().read_stream("a", Version(0)), Err(Error::StreamNotFound { .. })));
    assert!(matches!(store.append("a", Expected::StreamExists, &[event("3")]), Err(Error::WrongVersion { .. })));
    assert!(matches!(store.delete_stream("a", Expected::Any), Err(Error::StreamNotFound { .. })));
    assert_eq!(store.append("a", Expected::NoStream, &[event("3")]).unwrap().version, Version(2));
    let snapshot = store.snapshot().unwrap();
    assert_eq!(texts(&snapshot, "a"), ["3"]);
    assert_eq!(all(&snapshot).len(), 3, "the log has them until retention removes them");
    store.bury_stream("a", Expected::Any).unwrap();
    assert!(matches!(store.append("a", Expected::Any, &[event("4")]), Err(Error::Tombstone { .. })));
    let report = store.apply_retention(&Retention::default()).unwrap();
    assert_eq!((report.chunks_removed, report.chunks_rewritten), (0, 2));
    let snapshot = store.snapshot().unwrap();
    assert_eq!((all(&snapshot).len(), snapshot.head().unwrap()), (0, Position(3)));
    assert_eq!(snapshot.stream("a").unwrap().unwrap().state, StreamState::Tombstone);
}

#[test]
fn a_truncated_stream_begins_later() {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &[event("1"), event("2"), event("3")]).unwrap();
    store.append("b", Expected::Any, &[event("4")]).unwrap();
    store.truncate_before("a", Version(2)).unwrap();
    assert!(matches!(store.truncate_before("a", Version(4)), Err(Error::Invalid { .. })));
    assert_eq!(texts(&store.snapshot().unwrap(), "a"), ["3"]);
    store.apply_retention(&Retention::default()).unwrap();
    let positions: Vec<_> = all(&store.snapshot().unwrap()).iter().map(|event| event.position.0).collect();
    assert_eq!(positions, [2, 3]);
    assert_eq!(store.append("a", Expected::Exact(Version(2)), &[event("5")]).unwrap().version, Version(3));
}

#[test]
fn limits_of_the_log_remove_the_oldest_events() {
    let (directory, store) = store();
    let payload = [1; 1000];
    for round in 0..200 {
        store.append(format!("s{}", round % 10), Expected::Any, &vec![EventData::new("x", &payload); 5]).unwrap();
    }
    let report = store.apply_retention(&Retention { count_max: Some(500), ..Retention::default() }).unwrap();
    assert_eq!((report.start, report.chunks_removed), (Position(500), 100));
    let check = |store: &fulgurite_events::EventStore, kept: usize| {
        let snapshot = store.snapshot().unwrap();
        assert_eq!(all(&snapshot).len(), kept);
        let mut in_streams = 0;
        for stream in snapshot.streams("").unwrap() {
            let stream = stream.unwrap();
            assert_eq!(stream.next, Version(100));
            in_streams += texts_of(&snapshot, &stream.name);
        }
        assert_eq!(in_streams, kept);
    };
    check(&store, 500);
    let report = store.apply_retention(&Retention { bytes_max: Some(100_000), ..Retention::default() }).unwrap();
    let kept = 1000 - report.start.0 as usize;
    assert!((80..=100).contains(&kept), "{kept}");
    check(&store, kept);
    let none = Retention { age_max: Some(Duration::ZERO), ..Retention::default() };
    store.apply_retention(&none).unwrap();
    check(&store, 5);
    drop(store);
    let store = fulgurite_events::EventStore::create(directory.path().join("a.ful")).unwrap();
    assert_eq!(store.append("s0", Expected::Exact(Version(99)), &[event("x")]).unwrap().position, Position(1000));
}

fn texts_of(snapshot: &fulgurite_events::Snapshot, stream: &[u8]) -> usize {
    let mut events = snapshot.read_stream(stream, Version(0)).unwrap();
    events.take_recorded(snapshot, usize::MAX).unwrap().len()
}

#[test]
fn limits_of_a_stream_do_not_touch_others() {
    let (_directory, store) = store();
    let metadata = StreamMetadata { count_max: Some(2), custom: b"mine".to_vec(), ..StreamMetadata::default() };
    store.set_stream_metadata("a", metadata.clone()).unwrap();
    for text in ["1", "2", "3", "4"] {
        store.append("a", Expected::Any, &[event(text)]).unwrap();
        store.append("b", Expected::Any, &[event(text)]).unwrap();
    }
    store.apply_retention(&Retention::default()).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!((texts(&snapshot, "a").len(), texts(&snapshot, "b").len()), (2, 4));
    assert_eq!(snapshot.stream("a").unwrap().unwrap().metadata, metadata);
}

#[test]
fn the_newest_state_of_an_aggregate_is_kept() {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &[event("1"), event("2"), event("3")]).unwrap();
    assert!(matches!(store.put_aggregate_state("a", Version(3), 1, b"x"), Err(Error::Invalid { .. })));
    store.put_aggregate_state("a", Version(0), 1, b"one").unwrap();
    store.put_aggregate_state("a", Version(2), 1, b"three").unwrap();
    let snapshot = store.snapshot().unwrap();
    let newest = snapshot.aggregate_state("a", Version(u64::MAX)).unwrap().unwrap();
    assert_eq!((newest.version, newest.schema, &newest.state[..]), (Version(2), 1, &b"three"[..]));
    assert!(snapshot.aggregate_state("a", Version(1)).unwrap().is_none(), "only one is kept");
}

#[test]
fn calls_at_once_bring_no_removed_chunk_back() {
    let (_directory, store) = store();
    let payload = [1; 3000];
    let mut before = Position::START;
    for round in 0..40_u64 {
        let events = vec![EventData::new("x", &payload); 3];
        for number in 0..40 {
            store.append(format!("s{}", number % 4), Expected::Any, &events).unwrap();
        }
        store.delete_stream(format!("s{}", round % 4), Expected::Any).unwrap();
        std::thread::scope(|scope| {
            for kept in [200, 3, 90, 40] {
                let store = &store;
                let retention = Retention { count_max: Some(kept), ..Retention::default() };
                scope.spawn(move || store.apply_retention(&retention).unwrap());
            }
        });
        let snapshot = store.snapshot().unwrap();
        let start = snapshot.start().unwrap();
        assert!(start.0 + 6 >= snapshot.head().unwrap().0 && start >= before, "round {round}: {start}");
        let log = snapshot.txn().open_table("events.log").unwrap();
        let (key, _) = snapshot.txn().first(&log).unwrap().unwrap();
        assert_eq!(*key, start.0.to_be_bytes(), "round {round}");
        all(&snapshot);
        before = start;
    }
}

#[test]
fn a_deleted_stream_leaves_no_state_of_an_aggregate() {
    let (_directory, store) = store();
    for name in ["a", "b"] {
        store.append(name, Expected::Any, &[event("1")]).unwrap();
        store.put_aggregate_state(name, Version(0), 1, b"old").unwrap();
    }
    store.delete_stream("a", Expected::Any).unwrap();
    store.append("a", Expected::Any, &[event("2")]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let state = |name| snapshot.aggregate_state(name, Version(u64::MAX)).unwrap();
    assert!(state("a").is_none());
    assert_eq!(state("b").unwrap().state, b"old");
}

/// As [`store`], with a window for the newest ids.
fn open(directory: &std::path::Path, id_window: u64) -> fulgurite_events::EventStore {
    let db = fulgurite::Database::create(directory.join("a.ful")).unwrap();
    let options = fulgurite_events::EventStore::options().durability(fulgurite::Durability::Log);
    options.id_window(id_window).open_in(&db).unwrap()
}

#[test]
fn ids_of_a_deleted_stream_are_free_and_those_of_a_truncated_one_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let ids = [event("1").id([1; 16]), event("2").id([2; 16])];
    let store = open(directory.path(), 1000);
    for name in ["deleted", "truncated"] {
        store.append(name, Expected::Any, &ids).unwrap();
    }
    store.truncate_before("truncated", Version(2)).unwrap();
    let undone = store.transact(|t| {
        t.delete_stream("deleted", Expected::Any)?;
        assert!(!t.append("deleted", Expected::NoStream, &ids)?.repeated);
        t.append("deleted", Expected::NoStream, &[event("3")])
    });
    assert!(matches!(undone, Err(Error::WrongVersion { .. })));
    assert!(store.append("deleted", Expected::Any, &ids).unwrap().repeated);
    store.delete_stream("deleted", Expected::Any).unwrap();
    // While it is deleted, and also after the database was opened again.
    assert!(matches!(store.append("deleted", Expected::Exact(Version(1)), &ids), Err(Error::WrongVersion { .. })));
    assert_eq!(store.append("deleted", Expected::Any, &[event("3")]).unwrap().version, Version(2));
    drop(store);
    let store = open(directory.path(), 1000);
    let again = store.append("deleted", Expected::Any, &ids).unwrap();
    assert_eq!((again.version, again.repeated), (Version(3), false));
    assert!(store.append("deleted", Expected::Any, &ids).unwrap().repeated);
    assert!(store.append("truncated", Expected::Any, &ids).unwrap().repeated);
    assert_eq!(texts(&store.snapshot().unwrap(), "deleted"), ["3", "1", "2"]);
    store.bury_stream("deleted", Expected::Any).unwrap();
    assert!(matches!(store.append("deleted", Expected::Any, &ids), Err(Error::Tombstone { .. })));
}

#[test]
fn retention_frees_no_ids_within_the_window_but_those_of_deleted_streams() {
    let directory = tempfile::tempdir().unwrap();
    let id = |number: u8| event("x").id([number; 16]);
    let store = open(directory.path(), 10);
    let fill = |store: &fulgurite_events::EventStore, count: usize| {
        (0..count).for_each(|_| assert!(!store.append("filler", Expected::Any, &[event("x")]).unwrap().repeated));
    };
    store.append("truncated", Expected::Any, &[id(1)]).unwrap();
    store.append("old", Expected::Any, &[id(2)]).unwrap();
    store.append("deleted", Expected::Any, &[id(3)]).unwrap();
    fill(&store, 3);
    store.truncate_before("truncated", Version(1)).unwrap();
    store.delete_stream("deleted", Expected::Any).unwrap();
    store.apply_retention(&Retention { count_max: Some(2), ..Retention::default() }).unwrap();
    assert_eq!(all(&store.snapshot().unwrap()).len(), 2);
    drop(store);
    let store = open(directory.path(), 10);
    for (stream, number) in [("truncated", 1), ("old", 2)] {
        let again = store.append(stream, Expected::Any, &[id(number)]).unwrap();
        assert_eq!((again.position, again.repeated), (Position(u64::from(number) - 1), true), "{stream}");
    }
    assert!(!store.append("deleted", Expected::Any, &[id(3)]).unwrap().repeated);
    // Out of the window, nothing is left of them.
    fill(&store, 10);
    store.apply_retention(&Retention { count_max: Some(2), ..Retention::default() }).unwrap();
    assert!(store.database().check().unwrap().is_sound());
    drop(store);
    let store = open(directory.path(), 1000);
    assert!(!store.append("old", Expected::Any, &[id(2)]).unwrap().repeated);
}

#[test]
fn limits_of_a_deleted_stream_do_not_open_it() {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &[event("1"), event("2")]).unwrap();
    store.delete_stream("a", Expected::Any).unwrap();
    let metadata = StreamMetadata { count_max: Some(1), ..StreamMetadata::default() };
    store.set_stream_metadata("a", metadata.clone()).unwrap();
    assert!(matches!(store.snapshot().unwrap().read_stream("a", Version(0)), Err(Error::StreamNotFound { .. })));
    assert!(matches!(store.append("a", Expected::StreamExists, &[event("3")]), Err(Error::WrongVersion { .. })));
    assert_eq!(store.append("a", Expected::NoStream, &[event("3")]).unwrap().version, Version(2));
    let stream = store.snapshot().unwrap().stream("a").unwrap().unwrap();
    assert_eq!((stream.state, stream.metadata), (StreamState::Open, metadata));
}

#[test]
fn an_id_that_was_used_again_after_a_deletion_is_known_until_its_new_event_leaves_the_window() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 4);
    let ids = [event("1").id([1; 16])];
    store.append("a", Expected::Any, &ids).unwrap();
    store.delete_stream("a", Expected::Any).unwrap();
    store.append("b", Expected::Any, &[event("x"), event("x")]).unwrap();
    assert!(!store.append("a", Expected::Any, &ids).unwrap().repeated);
    // The deleted event leaves the window, and the new one is in it.
    store.append("b", Expected::Any, &[event("x"), event("x")]).unwrap();
    assert!(store.append("a", Expected::Any, &ids).unwrap().repeated);
}

#[test]
fn limits_of_a_stream_read_no_chunk_without_its_events() {
    let (_directory, store) = store();
    let aged = StreamMetadata { age_us_max: Some(0), ..StreamMetadata::default() };
    store.set_stream_metadata("aged", aged).unwrap();
    for round in 0..20 {
        for name in ["truncated", "other", "aged"] {
            store.append(name, Expected::Any, &[event("x")]).unwrap();
        }
        if round == 10 {
            store.truncate_before("truncated", Version(round)).unwrap();
            store.apply_retention(&Retention::default()).unwrap();
        }
    }
    // A call that reads it fails.
    let db = store.database();
    let log = db.open_table("events.log").unwrap();
    let other = db.read().unwrap().get(&log, 31_u64.to_be_bytes()).unwrap().unwrap().to_vec();
    db.update(|txn| txn.put(&log, 31_u64.to_be_bytes(), "malformed")).unwrap();
    store.truncate_before("truncated", Version(15)).unwrap();
    store.apply_retention(&Retention::default()).unwrap();
    db.update(|txn| txn.put(&log, 31_u64.to_be_bytes(), &other)).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!([texts(&snapshot, "truncated").len(), texts(&snapshot, "other").len()], [5, 20]);
    assert_eq!(all(&snapshot).iter().filter(|event| event.stream == b"truncated").count(), 5);
    // Only the last entry of the index is left of what is too old.
    assert!(texts(&snapshot, "aged").is_empty() && snapshot.check().unwrap().is_sound());
    let index = snapshot.txn().open_table("events.index").unwrap();
    let aged = snapshot.stream_id("aged").unwrap().unwrap();
    assert_eq!(snapshot.txn().prefix(&index, aged.0.to_be_bytes()).unwrap().count(), 1);
}

#[test]
fn ids_of_events_that_a_limit_has_removed_are_removed_when_they_leave_the_window() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 10);
    let ids = [event("1").id([1; 16]), event("2").id([2; 16])];
    store.append("a", Expected::Any, &ids).unwrap();
    store.append("a", Expected::Any, &[event("3")]).unwrap();
    store.truncate_before("a", Version(3)).unwrap();
    store.apply_retention(&Retention::default()).unwrap();
    assert_eq!(first_chunk_bytes(&store), 16 + 2 * (24 + 16), "headers and ids are left");
    assert!(store.append("a", Expected::Any, &ids).unwrap().repeated);
    store.append("filler", Expected::Any, &[event("x"); 10]).unwrap();
    store.apply_retention(&Retention::default()).unwrap();
    assert_eq!(first_chunk_bytes(&store), 16 + 2 * 24, "only headers are left");
    assert!(store.snapshot().unwrap().check().unwrap().is_sound());
}

/// The length of the chunk at position 0.
fn first_chunk_bytes(store: &fulgurite_events::EventStore) -> usize {
    let txn = store.database().read().unwrap();
    let log = txn.open_table("events.log").unwrap();
    txn.get(&log, 0_u64.to_be_bytes()).unwrap().unwrap().len()
}

/// A store with a window of four ids, which the id of its first event has left. Retention has noted that.
fn beyond_window(directory: &std::path::Path) -> fulgurite_events::EventStore {
    let store = open(directory, 4);
    store.append("a", Expected::Any, &[event("1").id([1; 16])]).unwrap();
    store.append("filler", Expected::Any, &[event("x"); 10]).unwrap();
    store.append("a", Expected::Any, &[event("2")]).unwrap();
    store.append("b", Expected::Any, &[event("3")]).unwrap();
    store.truncate_before("b", Version(1)).unwrap();
    store.apply_retention(&Retention::default()).unwrap();
    store
}

/// The position up to which ids were removed stayed that of the smaller window.
#[test]
fn ids_that_a_larger_window_has_kept_are_removed_when_they_leave_a_smaller_one() {
    let directory = tempfile::tempdir().unwrap();
    let store = beyond_window(directory.path());
    drop(store);
    let store = open(directory.path(), 1000);
    store.truncate_before("a", Version(1)).unwrap();
    store.apply_retention(&Retention::default()).unwrap();
    assert_eq!(first_chunk_bytes(&store), 16 + 24 + 16, "the id is in the window");
    drop(store);
    let store = open(directory.path(), 4);
    store.apply_retention(&Retention::default()).unwrap();
    assert_eq!(first_chunk_bytes(&store), 16 + 24, "only the header is left");
}

/// It went back last: chunks that a failed call had changed before kept their ids for ever.
#[test]
fn the_note_of_removed_ids_goes_back_before_chunks_are_changed() {
    let directory = tempfile::tempdir().unwrap();
    let store = beyond_window(directory.path());
    assert_eq!(noted(&store), 1);
    drop(store);
    let store = open(directory.path(), 1000);
    store.truncate_before("a", Version(1)).unwrap();
    let db = store.database();
    let log = db.open_table("events.log").unwrap();
    db.update(|txn| txn.put(&log, 0_u64.to_be_bytes(), "no chunk")).unwrap();
    assert!(matches!(store.apply_retention(&Retention::default()), Err(Error::Damaged { .. })));
    assert_eq!(noted(&store), 0);
}

/// The position up to which ids were removed.
fn noted(store: &fulgurite_events::EventStore) -> u64 {
    let txn = store.database().read().unwrap();
    let meta = txn.open_table("events.meta").unwrap();
    u64::from_be_bytes(txn.get(&meta, "ids").unwrap().unwrap()[..].try_into().unwrap())
}

/// The first commit of retention was a put alone, which a full disk refuses.
#[test]
fn a_full_disk_refuses_appends_and_no_retention() {
    let (disk, store) = on_disk();
    let append = |stream: &str| store.append(stream, Expected::Any, &vec![EventData::new("x", &[1; 1000]); 5]);
    for round in 0..100 {
        append(&format!("s{}", round % 10)).unwrap();
    }
    store.truncate_before("s1", Version(48)).unwrap();
    disk.fill(&store);

    let mut expected = all(&store.snapshot().unwrap());
    let report = store.apply_retention(&Retention { count_max: Some(250), ..Retention::default() }).unwrap();
    assert_eq!(report.start.0 + 250, expected.last().unwrap().position.0 + 1);
    expected.retain(|event| event.position >= report.start && (*event.stream != *b"s1" || event.version.0 >= 48));
    let snapshot = store.snapshot().unwrap();
    assert_eq!(all(&snapshot), expected);
    assert!(snapshot.check().unwrap().is_sound());
}

/// The oldest chunk was to be rewritten, which a full disk refuses, so nothing was removed.
#[test]
fn a_full_disk_refuses_no_retention_of_events_whose_ids_are_recognised() {
    // The changes of the second store are too large for one commit.
    for (rounds, count, payload_bytes, joined) in [(100, 5, 1000, 39), (200, 55, 100, 3)] {
        let (disk, store) = on_disk();
        let payload = vec![1; payload_bytes];
        let append = |store: &EventStore, round: u8| {
            let id = |number: u8| [round, number].repeat(8).try_into().unwrap();
            let events: Vec<_> = (0..count).map(|number| EventData::new("x", &payload).id(id(number))).collect();
            store.append(format!("s{}", round % 10), Expected::Any, &events).unwrap()
        };
        let appended: Vec<_> = (0..rounds).map(|round| append(&store, round)).collect();
        disk.fill(&store);

        let mut expected = all(&store.snapshot().unwrap());
        let kept = u64::from(rounds / 4) * u64::from(count);
        let report = store.apply_retention(&Retention { count_max: Some(kept), ..Retention::default() }).unwrap();
        let removed = report.start.0 / u64::from(count);
        let wanted = expected.last().unwrap().position.0 + 1 - kept;
        assert_eq!(report.start.0, wanted - wanted % u64::from(count), "chunks stay whole");
        assert_eq!((report.chunks_removed, report.chunks_rewritten), (0, removed));
        expected.retain(|event| event.position >= report.start);
        let snapshot = store.snapshot().unwrap();
        assert_eq!(all(&snapshot), expected);
        assert!(snapshot.check().unwrap().is_sound());
        // Of the events before, the log has headers and ids, in few chunks.
        let log = snapshot.txn().open_table("events.log").unwrap();
        let before = snapshot.txn().range(&log, ..report.start.0.to_be_bytes()).unwrap();
        let lengths: Vec<usize> = before.map(|entry| entry.unwrap().1.len()).collect();
        let chunks = removed.div_ceil(joined);
        assert_eq!(lengths.len() as u64, chunks);
        assert_eq!(lengths.iter().sum::<usize>() as u64, 16 * chunks + (24 + 16) * report.start.0);
        // All ids are still recognised, also after an opening.
        let db = store.database().clone();
        drop((snapshot, store));
        let store = EventStore::open_in(&db).unwrap();
        for (round, before) in (0..rounds).zip(appended) {
            let again = append(&store, round);
            assert_eq!((again.repeated, again.position), (true, before.position), "round {round}");
        }
    }
}

#[test]
fn neighbours_that_keep_only_ids_are_one_chunk_until_the_ids_leave_the_window() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 100);
    for number in 0..90_u8 {
        store.append("a", Expected::Any, &[event("x").id([number; 16])]).unwrap();
    }
    let keep = |count: u64| {
        let report = store.apply_retention(&Retention { count_max: Some(count), ..Retention::default() }).unwrap();
        let snapshot = store.snapshot().unwrap();
        assert!(snapshot.check().unwrap().is_sound());
        let log = snapshot.txn().open_table("events.log").unwrap();
        let chunks = snapshot.txn().range(&log, ..report.start.0.to_be_bytes()).unwrap().count();
        (all(&snapshot).len(), report.chunks_removed, report.chunks_rewritten, chunks)
    };
    assert_eq!(keep(40), (40, 0, 50, 1));
    // The joint chunk and those that join it.
    assert_eq!(keep(10), (10, 0, 31, 1));
    assert_eq!(keep(10), (10, 0, 0, 1), "nothing changes");
    let again = store.append("a", Expected::Any, &[event("x").id([7; 16])]).unwrap();
    assert_eq!((again.position, again.repeated), (Position(7), true));
    // Some ids leave the window, then all that are below the start of the log.
    store.append("a", Expected::Any, &[event("y"); 60]).unwrap();
    assert!(!store.append("a", Expected::Any, &[event("x").id([7; 16])]).unwrap().repeated);
    assert!(store.append("a", Expected::Any, &[event("x").id([77; 16])]).unwrap().repeated);
    assert_eq!(keep(61), (61, 0, 11, 1));
    assert_eq!(first_chunk_bytes(&store), 16 + 51 * 24 + 39 * (24 + 16), "51 of 90 events are out of the window");
    store.append("a", Expected::Any, &[event("y"); 100]).unwrap();
    assert_eq!(keep(100).3, 0);
}

#[test]
fn a_chunk_below_the_start_of_the_log_whose_ids_are_not_recognised_is_removed_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 10);
    // The window begins within the first chunk, after the event that has an id.
    store.append("old", Expected::Any, &[event("1").id([1; 16]), event("2"), event("3")]).unwrap();
    store.append("deleted", Expected::Any, &[event("4").id([4; 16])]).unwrap();
    store.append("filler", Expected::Any, &[event("x"); 8]).unwrap();
    store.delete_stream("deleted", Expected::Any).unwrap();
    let report = store.apply_retention(&Retention { count_max: Some(8), ..Retention::default() }).unwrap();
    assert_eq!((report.start, report.chunks_removed, report.chunks_rewritten), (Position(4), 2, 0));
    assert!(store.snapshot().unwrap().check().unwrap().is_sound());
}

/// Appends an event whose id is this number.
fn append_id(store: &EventStore, number: u64) -> fulgurite_events::Appended {
    store.append("a", Expected::Any, &[event("x").id(u128::from(number).to_le_bytes())]).unwrap()
}

/// The lengths of the chunks below the start of the log.
fn lengths_below_start(store: &EventStore) -> Vec<usize> {
    let snapshot = store.snapshot().unwrap();
    let log = snapshot.txn().open_table("events.log").unwrap();
    let before = snapshot.txn().range(&log, ..snapshot.start().unwrap().0.to_be_bytes()).unwrap();
    before.map(|entry| entry.unwrap().1.len()).collect()
}

/// A commit has about 1,000 changes. The last chunk of ids is not complete when the two first commits are made.
#[test]
fn chunks_of_ids_are_joined_beyond_the_commits_of_a_call() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 1 << 16);
    (0..2400).for_each(|number| assert!(!append_id(&store, number).repeated));
    store.truncate_before("a", Version(2350)).unwrap();
    let report = store.apply_retention(&Retention { count_max: Some(1100), ..Retention::default() }).unwrap();
    assert_eq!((report.start, report.chunks_removed, report.chunks_rewritten), (Position(1300), 0, 2350));
    let mut lengths = [16 + 199 * (24 + 16); 7];
    lengths[6] = 16 + (1300 - 6 * 199) * (24 + 16);
    assert_eq!(lengths_below_start(&store), lengths);
    let snapshot = store.snapshot().unwrap();
    let positions: Vec<u64> = all(&snapshot).iter().map(|event| event.position.0).collect();
    assert_eq!(positions, (2350..2400).collect::<Vec<_>>());
    assert!(snapshot.check().unwrap().is_sound());
    drop((snapshot, store));
    let store = open(directory.path(), 1 << 16);
    for number in 0..2400 {
        let again = append_id(&store, number);
        assert_eq!((again.repeated, again.position), (true, Position(number)));
    }
}

/// The chunk that was nearly full was the first one, and the call ended when its commit was refused.
#[test]
fn a_full_disk_that_refuses_to_join_one_chunk_joins_others() {
    let (disk, store) = on_disk();
    let retain = |kept: u64| store.apply_retention(&Retention { count_max: Some(kept), ..Retention::default() });
    (0..199).for_each(|number| assert!(!append_id(&store, number).repeated));
    retain(1).unwrap();
    assert_eq!(lengths_below_start(&store), [16 + 198 * (24 + 16)]);
    // Three chunks of ids, each of 14 chunks. The four together free less than they add.
    for chunk in 0..3 * 14_u8 {
        let ids = (0..14_u8).map(|number| [chunk, number].repeat(8).try_into().unwrap());
        let events: Vec<_> = ids.map(|id| EventData::new("x", &[1; 8]).id(id)).collect();
        store.append("b", Expected::Any, &events).unwrap();
    }
    store.append("c", Expected::Any, &[event("x")]).unwrap();
    disk.fill(&store);

    let wanted = 199 + 3 * 14 * 14;
    let kept = store.snapshot().unwrap().head().unwrap().0 - wanted;
    let Err(Error::Engine(full)) = retain(kept) else { panic!("there is no room for the first") };
    assert!(matches!(*full, fulgurite::Error::DiskFull { .. }), "{full}");
    let (first, joined) = (16 + 198 * (24 + 16), 16 + 14 * 14 * (24 + 16));
    assert_eq!(lengths_below_start(&store), [first, 16 + 24 + 16 + 8, joined, joined, joined]);
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.start().unwrap(), Position(wanted));
    let positions: Vec<u64> = all(&snapshot).iter().map(|event| event.position.0).collect();
    assert_eq!(positions[..2], [198, wanted], "the event of the chunk that was not joined is left");
    assert!(snapshot.check().unwrap().is_sound());

    disk.available_bytes.store(1 << 30, Ordering::SeqCst);
    retain(kept).unwrap();
    assert_eq!(lengths_below_start(&store), [first + 24 + 16, joined, joined, joined]);
    assert_eq!(all(&store.snapshot().unwrap())[0].position, Position(wanted));
    for number in 0..199 {
        assert!(append_id(&store, number).repeated);
    }
}

/// A store on a disk whose free space the test sets.
fn on_disk() -> (FullDisk, EventStore) {
    let disk = FullDisk { inner: MemoryDisk::new(), available_bytes: Arc::new(AtomicU64::new(1 << 30)) };
    let db = Database::options().disk(Arc::new(disk.clone())).background(false).create(true).open("a.ful").unwrap();
    (disk, EventStore::open_in(&db).unwrap())
}

/// A disk in memory whose file system says how many bytes are free.
#[derive(Clone, Debug)]
struct FullDisk {
    inner: MemoryDisk,
    available_bytes: Arc<AtomicU64>,
}

impl FullDisk {
    /// Leaves no more than the engine keeps for deleting, and appends to the store until it refuses.
    fn fill(&self, store: &EventStore) {
        self.available_bytes.store(24 << 20, Ordering::SeqCst);
        store.database().checkpoint().unwrap();
        let events = vec![EventData::new("x", &[1; 1000]); 5];
        let error = (0..10).find_map(|_| store.append("late", Expected::Any, &events).err()).expect("the disk is full");
        let Error::Engine(full) = error else { panic!("{error}") };
        assert!(matches!(*full, fulgurite::Error::DiskFull { .. }), "{full}");
    }
}

impl ForwardDisk for FullDisk {
    fn inner(&self) -> &dyn Disk {
        &self.inner
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(FullFile(self.inner.open(path, access)?, Arc::clone(&self.available_bytes))))
    }
}

#[derive(Debug)]
struct FullFile(Arc<dyn File>, Arc<AtomicU64>);

impl ForwardFile for FullFile {
    fn inner(&self) -> &dyn File {
        &*self.0
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        let available_bytes = self.1.load(Ordering::SeqCst);
        Ok(Some(FreeSpace { available_bytes, total_bytes: 1 << 30, file_system: 1 }))
    }
}
