//! Folding of blocks into entries: when it is due, in how many commits it is done, and what readers and retention see.

use std::ops::Range;
use std::thread;

use fulgurite::{Database, Durability, TableOptions};
use fulgurite_events::{EventData, EventStore, Expected, Retention, Version};

use crate::many_streams::{STREAMS, append_round, blocks, check, name, open};
use crate::support::{all, event, store};

/// Streams of a transaction with many parts.
const DEEP_STREAMS: u64 = 100;

/// The payload of the events of a round of [`append_deep`].
fn text(round: u64) -> String {
    format!("{round:0>80}")
}

/// Appends an event to each of some streams in each round, in one transaction. The events of a round take more than a
/// chunk, so that each is a part.
fn append_deep(store: &EventStore, rounds: Range<u64>) {
    store
        .transact(|t| {
            for round in rounds.clone() {
                let text = text(round);
                let event = EventData::new("x", text.as_bytes());
                (0..DEEP_STREAMS).try_for_each(|stream| t.append(name(stream), Expected::Any, &[event]).map(drop))?;
            }
            Ok(())
        })
        .unwrap();
}

fn close(store: EventStore) {
    let db = store.database().clone();
    drop(store);
    db.close().unwrap();
}

fn store_in(db: &Database) -> EventStore {
    EventStore::options().durability(Durability::Log).open_in(db).unwrap()
}

#[test]
fn a_stream_is_read_from_two_blocks_of_a_transaction() {
    let (_directory, store) = store();
    append_deep(&store, 0..30);
    assert_eq!(blocks(&store), 2);
    let (snapshot, expected) = (store.snapshot().unwrap(), (0..30).map(text).collect::<Vec<_>>());
    // The first block has 2,000 parts: those of 66 streams, and 20 of the next one.
    [0, 65, 66, 67, 99].into_iter().for_each(|stream| check(&snapshot, stream, &expected));
}

#[test]
fn many_parts_are_folded_and_a_transaction_with_as_many_puts_entries() {
    let (_directory, store) = store();
    append_deep(&store, 0..400);
    append_deep(&store, 400..800);
    assert_eq!(blocks(&store), 40);
    store.append(name(0), Expected::Exact(Version(799)), &[event("single")]).unwrap();
    assert_eq!(blocks(&store), 0, "80,000 parts are too many");
    append_deep(&store, 800..1_500);
    assert_eq!(blocks(&store), 0, "70,000 parts of one transaction are entries");
    let (snapshot, mut expected) = (store.snapshot().unwrap(), (0..1_500).map(text).collect::<Vec<_>>());
    check(&snapshot, 99, &expected);
    expected.insert(800, "single".to_owned());
    check(&snapshot, 0, &expected);
}

#[test]
fn a_fold_that_would_be_spilled_is_done_in_several_commits() {
    for (write_set_bytes, commits) in [(64 << 20, 1..=1), (256 << 10, 2..=12), (16 << 10, 20..=41)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ful");
        let store = open(&path);
        append_deep(&store, 0..400);
        assert_eq!(blocks(&store), 20);
        close(store);
        let db = Database::options().background(false).write_set_bytes(write_set_bytes).open(&path).unwrap();
        let (store, sequence) = (store_in(&db), || db.read().unwrap().sequence().0);
        let (before, begun) = (store.snapshot().unwrap(), sequence());
        store.append(name(0), Expected::Exact(Version(399)), &[event("single")]).unwrap();
        let count = sequence() - begun - 1;
        assert!(commits.contains(&count), "{count} commits with {write_set_bytes} bytes");
        assert_eq!(blocks(&store), 0);
        let (after, mut expected) = (store.snapshot().unwrap(), (0..400).map(text).collect::<Vec<_>>());
        for stream in [0, 1, 50, 99] {
            check(&before, stream, &expected);
        }
        check(&after, 50, &expected);
        expected.push("single".to_owned());
        check(&after, 0, &expected);
    }
}

#[test]
fn a_snapshot_from_before_a_fold_reads_the_same_after_it() {
    let (_directory, store) = store();
    (0..5).for_each(|round| append_round(&store, round));
    let (before, expected) = (store.snapshot().unwrap(), (0..6).map(|round| round.to_string()).collect::<Vec<_>>());
    assert_eq!(blocks(&store), 5);
    store.apply_retention(&Retention::default()).unwrap();
    assert_eq!(blocks(&store), 0, "retention folds");
    append_round(&store, 5);
    let after = store.snapshot().unwrap();
    for stream in 0..STREAMS {
        check(&before, stream, &expected[..5]);
        check(&after, stream, &expected);
    }
}

#[test]
fn a_fold_without_room_leaves_the_blocks_and_appends_continue() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let store = open(&path);
    append_deep(&store, 0..400);
    close(store);
    let limit = std::fs::metadata(&path).unwrap().len() + (1 << 20);
    let options = Database::options().background(false).write_set_bytes(64 << 10).max_size_bytes(limit);
    let db = options.open(&path).unwrap();
    let filler = db.create_table("filler", TableOptions::new()).unwrap();
    let value = vec![7_u8; 64 << 10];
    let put = |number: u64| db.update(|txn| txn.put(&filler, number.to_be_bytes(), &value));
    let full = (0..).find_map(|number| put(number).err()).unwrap();
    assert!(matches!(full, fulgurite::Error::QuotaExceeded { .. }), "{full}");
    let mut expected: Vec<_> = (0..400).map(text).collect();
    let store = store_in(&db);
    let spilled = || db.stats().unwrap().spilled_bytes;
    store.append(name(3), Expected::Exact(Version(399)), &[event("one")]).unwrap();
    let tried = spilled();
    store.append(name(3), Expected::Exact(Version(400)), &[event("two")]).unwrap();
    store.append(name(4), Expected::Exact(Version(399)), &[event("one")]).unwrap();
    assert_eq!((spilled(), blocks(&store)), (tried, 20), "it is not tried again by each append");
    expected.extend(["one", "two"].map(str::to_owned));
    check(&store.snapshot().unwrap(), 3, &expected);
    drop((store, db));
    let store = open(&path);
    store.append(name(3), Expected::Exact(Version(401)), &[event("three")]).unwrap();
    assert_eq!(blocks(&store), 0, "there is room again");
    expected.push("three".to_owned());
    check(&store.snapshot().unwrap(), 3, &expected);
}

#[test]
fn retention_runs_beside_wide_appends_and_folds() {
    const ROUNDS: u64 = 150;
    for write_set_bytes in [64 << 20, 8 << 10] {
        let directory = tempfile::tempdir().unwrap();
        let options = Database::options().create(true).background(false).write_set_bytes(write_set_bytes);
        let store = store_in(&options.open(directory.path().join("a.ful")).unwrap());
        thread::scope(|scope| {
            let appends = scope.spawn(|| (0..ROUNDS).for_each(|round| append_round(&store, round)));
            let retention = Retention { count_max: Some(1_000), ..Retention::default() };
            loop {
                store.apply_retention(&retention).unwrap();
                if appends.is_finished() {
                    break;
                }
            }
            appends.join().unwrap();
        });
        let (snapshot, mut found) = (store.snapshot().unwrap(), 0);
        for stream in 0..STREAMS {
            assert_eq!(snapshot.stream(name(stream)).unwrap().unwrap().next, Version(ROUNDS));
            let mut events = snapshot.read_stream(name(stream), Version(0)).unwrap();
            let events = events.take_recorded(&snapshot, usize::MAX).unwrap();
            let kept = ROUNDS - events.len() as u64..ROUNDS;
            assert!(events.iter().map(|event| event.version.0).eq(kept), "stream {stream}");
            found += events.len();
        }
        assert_eq!(found, all(&snapshot).len());
        assert!(found >= 1_000);
    }
}
