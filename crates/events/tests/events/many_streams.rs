//! Transactions that append to many streams, whose parts are in blocks of the index until they are folded.

use std::path::Path;

use fulgurite::{Database, Durability, Read};
use fulgurite_events::{
    AppendCondition, Error, EventData, EventQuery, EventStore, Expected, Position, QueryItem, Retention, Snapshot,
    Version,
};

use crate::support::{all, event, store, texts};

/// More than fit the entries of one transaction without a block.
pub const STREAMS: u64 = 40;

pub fn name(stream: u64) -> String {
    format!("stream {stream}")
}

pub fn open(path: &Path) -> EventStore {
    let db = Database::options().create(true).background(false).open(path).unwrap();
    EventStore::options().durability(Durability::Log).open_in(&db).unwrap()
}

/// Appends an event to each stream, in an order that differs from round to round.
pub fn append_round(store: &EventStore, round: u64) {
    let text = round.to_string();
    store
        .transact(|t| {
            for stream in 0..STREAMS {
                t.append(name((stream * 7 + round) % STREAMS), Expected::Any, &[event(&text)])?;
            }
            Ok(())
        })
        .unwrap();
}

/// How many blocks the index of streams has.
pub fn blocks(store: &EventStore) -> usize {
    let txn = store.database().read().unwrap();
    let index = txn.open_table("events.index").unwrap();
    let blocks = txn.range(&index, [0xff_u8; 8]..).unwrap().map(|entry| entry.unwrap());
    blocks.count()
}

/// Checks every way to read a stream.
pub fn check(snapshot: &Snapshot, stream: u64, expected: &[String]) {
    let name = name(stream);
    assert_eq!(texts(snapshot, &name), expected, "{name}");
    assert_eq!(snapshot.stream(&name).unwrap().unwrap().next, Version(expected.len() as u64));
    for from in [1, expected.len() / 3, expected.len() - 1] {
        let mut events = snapshot.read_stream(&name, Version(from as u64)).unwrap();
        let events = events.take_recorded(snapshot, usize::MAX).unwrap();
        assert_eq!(events.len(), expected.len() - from, "{name} from {from}");
        assert!(events.iter().zip(from as u64..).all(|(event, version)| event.version.0 == version));
        let mut before = snapshot.read_stream_backwards(&name, Version(from as u64)).unwrap();
        let before = before.take_recorded(snapshot, usize::MAX).unwrap();
        let versions: Vec<_> = before.iter().map(|event| event.version.0).collect();
        assert_eq!(versions, (0..from as u64).rev().collect::<Vec<_>>(), "{name} before {from}");
        // From the position of the first of these events on.
        let query = EventQuery::new().or(QueryItem::new().stream(&name));
        let mut found = snapshot.read_query(&query, events[0].position).unwrap();
        assert_eq!(found.take_recorded(snapshot, usize::MAX).unwrap(), events, "{name} from {from}");
    }
}

#[test]
fn events_of_many_streams_are_read_from_blocks_and_from_entries() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let mut store = open(&path);
    let mut expected = vec![Vec::new(); STREAMS as usize];
    let (mut most, mut folds, mut before) = (0, 0, 0);
    for round in 0..150 {
        append_round(&store, round);
        expected.iter_mut().for_each(|texts| texts.push(round.to_string()));
        if round % 5 == 0 {
            // An entry between the parts of blocks.
            store.append(name(3), Expected::Exact(Version(expected[3].len() as u64 - 1)), &[event("single")]).unwrap();
            expected[3].push("single".to_owned());
        }
        let now = blocks(&store);
        (most, folds, before) = (now.max(most), folds + u32::from(now < before), now);
        if round == 90 {
            assert!(now > 0);
            let db = store.database().clone();
            drop(store);
            db.close().unwrap();
            store = open(&path);
        }
        if round % 30 == 29 {
            let snapshot = store.snapshot().unwrap();
            (0..STREAMS).zip(&expected).for_each(|(stream, expected)| check(&snapshot, stream, expected));
        }
    }
    assert!(folds >= 2 && (20..=64).contains(&most), "{folds} times, at most {most} blocks");
    let snapshot = store.snapshot().unwrap();
    let infos = snapshot.streams("").unwrap().map(|info| info.unwrap()).collect::<Vec<_>>();
    assert!(infos.iter().all(|info| info.next == snapshot.stream(&info.name).unwrap().unwrap().next));
    assert_eq!((infos.len() as u64, all(&snapshot).len() as u64), (STREAMS, 150 * STREAMS + 30));
}

#[test]
fn a_condition_and_a_version_see_what_blocks_have() {
    let (_directory, store) = store();
    append_round(&store, 0);
    assert_eq!(blocks(&store), 1);
    let query = EventQuery::new().or(QueryItem::new().stream(name(5)));
    let condition = AppendCondition { query, after: None };
    let refused = store.append_if(&condition, name(5), &[event("late")]);
    assert!(matches!(refused, Err(Error::ConditionFailed { .. })), "{refused:?}");
    let refused = store.append(name(5), Expected::NoStream, &[event("late")]);
    assert!(matches!(refused, Err(Error::WrongVersion { actual: Some(Version(0)), .. })), "{refused:?}");
    // Nothing of a transaction that is given up is left.
    let given_up = store.transact(|t| {
        for stream in 0..STREAMS {
            t.append(name(stream), Expected::Any, &[event("no")])?;
        }
        Err::<(), _>(Error::program("no"))
    });
    assert!(given_up.is_err());
    assert_eq!((blocks(&store), all(&store.snapshot().unwrap()).len() as u64), (1, STREAMS));
    append_round(&store, 1);
    check(&store.snapshot().unwrap(), 5, &["0".to_owned(), "1".to_owned()]);
}

#[test]
fn retention_keeps_the_versions_of_streams_whose_parts_are_in_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let store = open(&path);
    let payload = [7; 500];
    for _ in 0..20 {
        let appended = store.transact(|t| {
            for stream in 0..STREAMS {
                t.append(name(stream), Expected::Any, &[EventData::new("x", &payload)])?;
            }
            Ok(())
        });
        appended.unwrap();
    }
    assert_eq!(blocks(&store), 20);
    // Within a transaction of the store it does not fold: it finds blocks as it does beside appends.
    let retention = Retention { count_max: Some(200), ..Retention::default() };
    let report = store.transact(|_| store.apply_retention(&retention)).unwrap();
    assert!(report.chunks_removed > 0 && report.start > Position(500), "{report:?}");
    store.truncate_before(name(1), Version(18)).unwrap();
    store.delete_stream(name(2), Expected::Exact(Version(19))).unwrap();
    store.transact(|_| store.apply_retention(&Retention::default())).unwrap();
    assert_eq!(blocks(&store), 20);
    let check = |store: &EventStore| {
        let snapshot = store.snapshot().unwrap();
        let mut kept = 0;
        for info in snapshot.streams("").unwrap() {
            let info = info.unwrap();
            assert_eq!(info.next, Version(20));
            if info.name != name(2).as_bytes() {
                let mut events = snapshot.read_stream(&info.name, Version(0)).unwrap();
                kept += events.take_recorded(&snapshot, usize::MAX).unwrap().len();
            }
        }
        assert_eq!(kept, all(&snapshot).len());
        let mut first = snapshot.read_stream(name(1), Version(0)).unwrap();
        assert_eq!(first.next().unwrap().unwrap().version, Version(18));
    };
    check(&store);
    let db = store.database().clone();
    drop(store);
    db.close().unwrap();
    // The first append after opening folds the blocks.
    let store = open(&path);
    check(&store);
    assert_eq!(store.append(name(39), Expected::Exact(Version(19)), &[event("x")]).unwrap().version, Version(20));
    assert_eq!(store.append(name(2), Expected::NoStream, &[event("x")]).unwrap().version, Version(20));
    assert_eq!(blocks(&store), 0);
    store.apply_retention(&Retention { count_max: Some(1), ..Retention::default() }).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!((0..STREAMS).all(|stream| snapshot.stream(name(stream)).unwrap().unwrap().next >= Version(20)));
}

#[test]
fn a_store_without_blocks_is_read_and_its_layout_is_raised_by_the_commit_that_needs_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("a.ful"));
    let db = store.database().clone();
    for text in ["0", "1", "2"] {
        store.append("a", Expected::Any, &[event(text)]).unwrap();
    }
    drop(store);
    let meta = db.open_table("events.meta").unwrap();
    let layout = || db.read().unwrap().get(&meta, "layout").unwrap().unwrap().to_vec();
    assert_eq!(layout(), [2]);
    // What it was before blocks: each append of these has put an entry of one part.
    db.update(|txn| txn.put(&meta, "layout", [1_u8])).unwrap();
    let store = EventStore::options().durability(Durability::Log).open_in(&db).unwrap();
    assert_eq!(texts(&store.snapshot().unwrap(), "a"), ["0", "1", "2"]);
    assert_eq!(layout(), [1], "a read changes nothing");
    store.append("a", Expected::Any, &[event("3")]).unwrap();
    store.apply_retention(&Retention::default()).unwrap();
    let given_up = store.transact(|t| {
        for stream in 0..STREAMS {
            t.append(name(stream), Expected::Any, &[event("no")])?;
        }
        Err::<(), _>(Error::program("no"))
    });
    assert!(given_up.is_err());
    assert_eq!(layout(), [1], "nothing needs the new one");
    append_round(&store, 0);
    assert_eq!((layout(), blocks(&store)), (vec![2], 1));
    db.update(|txn| txn.put(&meta, "layout", [1_u8])).unwrap();
    let payload = [7; 5_000];
    store.append("b", Expected::Any, &[EventData::new("x", &payload); 2]).unwrap();
    assert_eq!(layout(), [2], "an entry has two parts");
    drop(store);
    db.update(|txn| txn.put(&meta, "layout", [3_u8])).unwrap();
    let newer = EventStore::options().durability(Durability::Log).open_in(&db);
    let refused = newer.unwrap_err();
    assert!(matches!(refused, Error::NewerLayout { layout: 3, known: 2, .. }));
    assert!(refused.to_string().contains("open it with a newer version"), "{refused}");
}
