//! Stores with damaged entries: what a check finds, and what a rebuild of the indexes repairs.
//!
//! The truth is the log, which is read without the indexes, and the ends of streams from before the damage.

use std::path::Path;

use fulgurite::{Database, Durability, Read, Table, WriteTxn};
use fulgurite_events::{
    Error, EventData, EventQuery, EventStore, Expected, Position, QueryItem, RecordedEvent, Retention, StoreReport,
    StreamMetadata, StreamState, Version,
};

use crate::many_streams::{append_round, name, open};
use crate::support::{all, event};

/// What a store holds.
struct Truth {
    log: Vec<RecordedEvent>,
    /// Names of streams, whether they are open, and the versions that their next events get.
    ends: Vec<(Vec<u8>, bool, Version)>,
}

/// A store with entries of one and of several parts, with blocks, and with streams whose events retention has removed.
fn fill(path: &Path) -> Truth {
    let store = open(path);
    for _ in 0..4 {
        store.append("gone", Expected::Any, &[event("gone")]).unwrap();
    }
    store.set_consumer_position("reader", Position(3)).unwrap();
    store.put_aggregate_state("gone", Version(2), 0, b"state").unwrap();
    store.append("husk", Expected::Any, &[event("husk").id([1; 16])]).unwrap();
    store.append("husk", Expected::Any, &[event("husk")]).unwrap();
    let metadata = StreamMetadata { custom: b"empty".to_vec(), ..StreamMetadata::default() };
    store.set_stream_metadata("empty", metadata).unwrap();
    for number in 0..30 {
        let tags = ["all", if number % 2 == 0 { "even" } else { "odd" }];
        let kind = if number % 3 == 0 { "third" } else { "other" };
        let event = EventData::new(kind, b"payload").tags(&tags);
        store.append(format!("old {}", number % 3), Expected::Any, &[event]).unwrap();
    }
    let retention = Retention { count_max: Some(20), ..Retention::default() };
    assert_eq!(store.apply_retention(&retention).unwrap().start, Position(16));
    store.truncate_before("old 0", Version(8)).unwrap();
    store.delete_stream("old 1", Expected::Any).unwrap();
    store.append("old 1", Expected::Any, &[event("again")]).unwrap();
    store.delete_stream("old 2", Expected::Any).unwrap();
    (0..3).for_each(|round| append_round(&store, round));
    store.append(name(3), Expected::Any, &[event("single")]).unwrap();
    store.append("large", Expected::Any, &[EventData::new("x", &[7; 5_000]); 3]).unwrap();
    let truth = Truth { log: all(&store.snapshot().unwrap()), ends: ends(&store) };
    let db = store.database().clone();
    drop(store);
    db.close().unwrap();
    truth
}

fn ends(store: &EventStore) -> Vec<(Vec<u8>, bool, Version)> {
    let snapshot = store.snapshot().unwrap();
    let streams = snapshot.streams("").unwrap().map(|info| info.unwrap());
    streams.map(|info| (info.name, info.state == StreamState::Open, info.next)).collect()
}

fn store_in(db: &Database) -> EventStore {
    EventStore::options().durability(Durability::Log).open_in(db).unwrap()
}

fn check(db: &Database) -> StoreReport {
    store_in(db).snapshot().unwrap().check().unwrap()
}

fn change(db: &Database, change: impl Fn(&mut WriteTxn)) {
    db.update(|txn| {
        change(txn);
        Ok(())
    })
    .unwrap();
}

/// Compares what the indexes lead to with the truth.
fn expect_whole(store: &EventStore, truth: &Truth) {
    let snapshot = store.snapshot().unwrap();
    assert_eq!(all(&snapshot), truth.log);
    assert_eq!(ends(store), truth.ends);
    for info in snapshot.streams("").unwrap() {
        let info = info.unwrap();
        let of_stream = truth.log.iter().filter(|event| event.stream == info.name);
        let query = EventQuery::new().or(QueryItem::new().stream(&info.name));
        let mut found = snapshot.read_query(&query, Position::START).unwrap();
        let found = found.take_recorded(&snapshot, usize::MAX).unwrap();
        assert_eq!(found, of_stream.clone().cloned().collect::<Vec<_>>());
        if info.state == StreamState::Open {
            let expected: Vec<_> = of_stream.filter(|event| event.version >= info.first).cloned().collect();
            let mut found = snapshot.read_stream(&info.name, Version(0)).unwrap();
            assert_eq!(found.take_recorded(&snapshot, usize::MAX).unwrap(), expected);
        }
    }
    for kind in ["third", "other", "x"] {
        let mut found = snapshot.read_query(&EventQuery::kind(kind), Position::START).unwrap();
        let expected: Vec<_> = truth.log.iter().filter(|event| &*event.kind == kind).cloned().collect();
        assert_eq!(found.take_recorded(&snapshot, usize::MAX).unwrap(), expected, "{kind}");
    }
    for tag in ["all", "even", "odd"] {
        let mut found = snapshot.read_query(&EventQuery::tag(tag), Position::START).unwrap();
        let has_tag = |event: &&RecordedEvent| event.tags.iter().any(|of| of == tag);
        let expected: Vec<_> = truth.log.iter().filter(has_tag).cloned().collect();
        assert_eq!(found.take_recorded(&snapshot, usize::MAX).unwrap(), expected, "{tag}");
    }
}

/// Every open stream continues with its next version.
fn expect_to_go_on(store: &EventStore, truth: &Truth) {
    for (name, _, next) in truth.ends.iter().filter(|(_, is_open, next)| *is_open && *next > Version(0)) {
        let appended = store.append(name, Expected::Exact(Version(next.0 - 1)), &[event("later")]).unwrap();
        assert_eq!(appended.version, *next);
    }
    append_round(store, 9);
    let report = store.snapshot().unwrap().check().unwrap();
    assert!(report.is_sound(), "{:?}", report.defects);
}

fn stored(txn: &WriteTxn, table: &Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entries = txn.range(table, ..).unwrap().map(|entry| entry.unwrap());
    entries.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

fn is_block(key: &[u8]) -> bool {
    key[..8] == [0xff; 8]
}

/// Damages an entry with several parts.
fn damage_entry(how: &str, txn: &mut WriteTxn, index: &Table) {
    let entries = stored(txn, index).into_iter().filter(|(key, _)| !is_block(key));
    let (key, value) = entries.max_by_key(|(_, value)| value.len()).unwrap();
    let (mut key_after, mut changed, last) = (key.clone(), value.clone(), value.len() - PLACE_BYTES);
    assert!(last > 0, "the entry has several parts");
    match how {
        "is missing" => {}
        "is cut" => changed.truncate(value.len() - 1),
        "is empty" => changed.clear(),
        "lacks its last part" => changed.truncate(last),
        "has an event more" => changed[last + 8] += 1,
        "has an event less" => changed[last + 8] -= 1,
        "has events at another place" => changed[..8].copy_from_slice(&NOWHERE.to_le_bytes()),
        "has events of another chunk" => changed[..8].copy_from_slice(&value[last..last + 8]),
        "is of another stream" => key_after[..8].copy_from_slice(&NOWHERE.to_be_bytes()),
        "begins with a later version" => key_after[15] += 1,
        "has its last part twice" => {
            let events: u32 = value[..last].chunks(PLACE_BYTES).map(|place| number(&place[8..])).sum();
            let first = u64::from_be_bytes(key[8..].try_into().unwrap());
            let again = [&key[..8], &(first + u64::from(events)).to_be_bytes()].concat();
            txn.put(index, again, &value[last..]).unwrap();
            return;
        }
        other => panic!("{other}"),
    }
    txn.delete(index, &key).unwrap();
    if how != "is missing" {
        txn.put(index, key_after, changed).unwrap();
    }
}

/// Damages a block.
fn damage_block(how: &str, txn: &mut WriteTxn, index: &Table) {
    let (key, value) = stored(txn, index).into_iter().find(|(key, _)| is_block(key)).unwrap();
    let mut changed = value.clone();
    match how {
        "is missing" => {
            txn.delete(index, &key).unwrap();
            return;
        }
        "is cut" => changed.truncate(value.len() - 1),
        "is empty" => changed.clear(),
        "lacks its last part" => changed.truncate(value.len() - RECORD_BYTES),
        "has parts out of order" => {
            changed[..RECORD_BYTES].copy_from_slice(&value[RECORD_BYTES..2 * RECORD_BYTES]);
            changed[RECORD_BYTES..2 * RECORD_BYTES].copy_from_slice(&value[..RECORD_BYTES]);
        }
        "has an event more" => changed[24] += 1,
        "has no event in a part" => changed[24..RECORD_BYTES].fill(0),
        "has events at another place" => changed[16..24].copy_from_slice(&NOWHERE.to_le_bytes()),
        "has a part of another stream" => changed[..8].copy_from_slice(&(NOWHERE - 1).to_be_bytes()),
        "has a part that is in an entry too" => {
            txn.put(index, &value[..16], &value[16..RECORD_BYTES]).unwrap();
            return;
        }
        "is there twice" => {}
        other => panic!("{other}"),
    }
    let key = if how == "is there twice" { [&[0xff; 8][..], &NOWHERE.to_be_bytes()].concat() } else { key };
    txn.put(index, key, changed).unwrap();
}

/// Damages the index of types or of tags.
fn damage_lane(how: &str, txn: &mut WriteTxn, table: &Table) {
    let (key, _) = stored(txn, table).remove(0);
    match how {
        "is missing" => drop(txn.delete(table, &key).unwrap()),
        "has no such chunk" => txn.put(table, [&key[..key.len() - 8], &NOWHERE.to_be_bytes()].concat(), b"").unwrap(),
        "has a cut key" => txn.put(table, &key[..key.len() - 1], b"").unwrap(),
        other => panic!("{other}"),
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap())
}

#[test]
fn every_damage_of_an_index_is_found_and_repaired_from_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole.ful");
    let truth = fill(&whole);
    let cases = (ENTRY_DAMAGES.iter().map(|how| ("index", "entry", *how)))
        .chain(BLOCK_DAMAGES.iter().map(|how| ("index", "block", *how)))
        .chain(LANE_DAMAGES.iter().flat_map(|how| ["by_type", "by_tag"].map(|table| (table, "key", *how))));
    for (number, (table, what, how)) in cases.enumerate() {
        let path = directory.path().join(format!("{number}.ful"));
        std::fs::copy(&whole, &path).unwrap();
        let db = Database::options().background(false).open(&path).unwrap();
        let before = check(&db);
        assert!(before.is_sound(), "{:?}", before.defects);
        assert_eq!((before.events, before.streams), (truth.log.len() as u64, truth.ends.len() as u64));
        let damaged = db.open_table(&format!("events.{table}")).unwrap();
        change(&db, |txn| match what {
            "entry" => damage_entry(how, txn, &damaged),
            "block" => damage_block(how, txn, &damaged),
            _ => damage_lane(how, txn, &damaged),
        });
        let report = check(&db);
        assert!(!report.is_sound(), "an {what} of {table} {how}");
        assert!(report.is_repairable(), "an {what} of {table} {how}: {:?}", report.defects);
        assert!(report.defects.iter().any(|defect| defect.table == format!("events.{table}")), "{:?}", report.defects);
        let rebuilt = EventStore::options().rebuild_indexes(&db).unwrap();
        // It never had an event, but an entry of it could be lost too.
        let unknown = vec![b"empty".to_vec()];
        assert_eq!((rebuilt.events, rebuilt.unknown_ends), (truth.log.len() as u64, unknown), "{what} {how}");
        let report = check(&db);
        assert!(report.is_sound(), "an {what} of {table} {how}: {:?}", report.defects);
        assert!(db.tables().unwrap().iter().all(|table| !table.name().contains('~')));
        let store = store_in(&db);
        expect_whole(&store, &truth);
        expect_to_go_on(&store, &truth);
        drop(store);
        db.close().unwrap();
    }
}

#[test]
fn without_the_old_index_streams_whose_events_were_removed_are_named_and_continue_where_they_can() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let truth = fill(&path);
    let db = Database::options().background(false).open(&path).unwrap();
    for table in ["events.index", "events.by_type", "events.by_tag"] {
        let table = db.open_table(table).unwrap();
        change(&db, |txn| {
            txn.delete_range(&table, ..).unwrap();
        });
    }
    assert!(check(&db).is_repairable());
    let rebuilt = EventStore::options().rebuild_indexes(&db).unwrap();
    assert_eq!(rebuilt.unknown_ends, [&b"gone"[..], b"husk", b"empty"]);
    let report = check(&db);
    assert!(report.is_sound(), "{:?}", report.defects);
    // A state shows that "gone" had version 2, and an id that "husk" had version 0.
    let ends = truth.ends.iter().map(|(name, is_open, next)| match &name[..] {
        b"gone" => (name.clone(), *is_open, Version(3)),
        b"husk" => (name.clone(), *is_open, Version(1)),
        _ => (name.clone(), *is_open, *next),
    });
    let truth = Truth { ends: ends.collect(), log: truth.log };
    let store = store_in(&db);
    expect_whole(&store, &truth);
    expect_to_go_on(&store, &truth);
}

#[test]
fn damage_of_other_tables_is_found_and_is_not_repairable() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole.ful");
    fill(&whole);
    for (number, (table, how)) in LOST.into_iter().enumerate() {
        let path = directory.path().join(format!("{number}.ful"));
        std::fs::copy(&whole, &path).unwrap();
        let db = Database::options().background(false).open(&path).unwrap();
        let damaged = db.open_table(&format!("events.{table}")).unwrap();
        change(&db, |txn| {
            let entries = stored(txn, &damaged);
            let (key, mut value) = entries[entries.len() / 2].clone();
            match how {
                "is missing" => drop(txn.delete(&damaged, &key).unwrap()),
                "last is missing" => drop(txn.delete(&damaged, &entries[entries.len() - 1].0).unwrap()),
                "all are missing" => drop(txn.delete_range(&damaged, ..).unwrap()),
                "is cut" => {
                    value.truncate(value.len() - 1);
                    txn.put(&damaged, &key, value).unwrap();
                }
                "has another version" => {
                    value[CHUNK_HEADER_BYTES + 16] += 1;
                    txn.put(&damaged, &key, value).unwrap();
                }
                "has an earlier time" => {
                    value[..8].fill(0);
                    txn.put(&damaged, &key, value).unwrap();
                }
                "leads to another stream" => txn.put(&damaged, &key, &entries[0].1).unwrap(),
                "is too high" => txn.put(&damaged, b"start", NOWHERE.to_be_bytes()).unwrap(),
                "is malformed" => txn.put(&damaged, b"malformed", b"x").unwrap(),
                other => panic!("{other}"),
            }
        });
        let report = check(&db);
        assert!(!report.is_sound() && !report.is_repairable(), "{table} {how}: {report:?}");
        assert!(report.defects.iter().any(|defect| !defect.is_in_index), "{:?}", report.defects);
        let refused = EventStore::options().rebuild_indexes(&db).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{table} {how}: {refused}");
        assert!(!check(&db).is_repairable(), "{table} {how}");
    }
}

/// A rebuild would remove the entries that show the lost events, and the store would give their positions again.
#[test]
fn a_log_without_its_last_events_is_not_repairable_if_an_index_or_a_consumer_shows_them() {
    let directory = tempfile::tempdir().unwrap();
    for (number, shown_by) in ["index", "consumers"].into_iter().enumerate() {
        for kept in 0..3 {
            let db = Database::options().create(true).background(false);
            let db = db.open(directory.path().join(format!("{number}-{kept}.ful"))).unwrap();
            let store = store_in(&db);
            for _ in 0..3 {
                store.append("a", Expected::Any, &[event("x")]).unwrap();
            }
            store.set_consumer_position("reader", Position(3)).unwrap();
            drop(store);
            assert!(check(&db).is_sound());
            let tables = ["log", "index", "consumers"].map(|table| db.open_table(&format!("events.{table}")).unwrap());
            let [log, index, consumers] = &tables;
            change(&db, |txn| {
                for (key, _) in stored(txn, log).split_off(kept) {
                    txn.delete(log, &key).unwrap();
                }
                txn.delete_range(if shown_by == "index" { consumers } else { index }, ..).unwrap();
            });
            let report = check(&db);
            assert!(!report.is_repairable(), "{shown_by}, {kept}: {report:?}");
            let refused = EventStore::options().rebuild_indexes(&db).unwrap_err();
            let is_of_log = matches!(&refused, Error::Damaged { table, .. } if table == "events.log");
            assert!(is_of_log && refused.to_string().contains("the log ends before"), "{refused}");
            assert_eq!(check(&db), report);
            db.close().unwrap();
        }
    }
}

#[test]
fn a_stream_whose_last_entry_is_malformed_continues_after_the_entry_before_it_and_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let truth = fill(&path);
    let db = Database::options().background(false).open(&path).unwrap();
    let names = db.open_table("events.names").unwrap();
    let index = db.open_table("events.index").unwrap();
    change(&db, |txn| {
        let number = stored(txn, &names).into_iter().find(|(name, _)| name == b"gone").unwrap().1;
        txn.put(&index, [&number[..], &NOWHERE.to_be_bytes()].concat(), b"malformed").unwrap();
    });
    assert!(check(&db).is_repairable());
    let rebuilt = EventStore::options().rebuild_indexes(&db).unwrap();
    assert_eq!(rebuilt.unknown_ends, [&b"gone"[..], b"empty"]);
    let store = store_in(&db);
    expect_whole(&store, &truth);
    expect_to_go_on(&store, &truth);
}

#[test]
fn a_check_does_not_count_events_below_the_start_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let db = Database::options().create(true).background(false).open(&path).unwrap();
    let store = store_in(&db);
    for _ in 0..3 {
        store.append("a", Expected::Any, &[event("x")]).unwrap();
    }
    drop(store);
    // So far `apply_retention` comes before it removes events.
    let meta = db.open_table("events.meta").unwrap();
    change(&db, |txn| txn.put(&meta, "start", 1_u64.to_be_bytes()).unwrap());
    let report = check(&db);
    assert!(report.is_sound(), "{:?}", report.defects);
    assert_eq!((report.events, report.chunks), (2, 3));
}

#[test]
fn a_rebuild_that_fails_leaves_the_indexes_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    fill(&path);
    let db = Database::options().background(false).open(&path).unwrap();
    let log = db.open_table("events.log").unwrap();
    let index = db.open_table("events.index").unwrap();
    let before = stored(&db.write().unwrap(), &index);
    change(&db, |txn| {
        let (key, value) = stored(txn, &log).pop().unwrap();
        txn.put(&log, key, &value[..value.len() - 8]).unwrap();
    });
    let failed = EventStore::options().rebuild_indexes(&db).unwrap_err();
    assert!(matches!(&failed, Error::Damaged { table, .. } if table == "events.log"), "{failed}");
    assert_eq!(stored(&db.write().unwrap(), &index), before);
    assert!(db.tables().unwrap().iter().all(|table| !table.name().contains('~')));
}

#[test]
fn indexes_are_not_rebuilt_under_open_handles_and_what_an_interrupted_rebuild_left_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let truth = fill(&path);
    let db = Database::options().background(false).open(&path).unwrap();
    let store = store_in(&db);
    let refused = EventStore::options().rebuild_indexes(&db).unwrap_err();
    assert!(refused.to_string().contains("drop its handles"), "{refused}");
    drop(store);
    let other = EventStore::options().name("other").rebuild_indexes(&db);
    assert!(matches!(other, Err(Error::NotEvents { .. })));
    let left = db.create_table("events.index~rebuild", Default::default()).unwrap();
    // An earlier version puts one part into each entry. The rebuild joins them.
    let meta = db.open_table("events.meta").unwrap();
    change(&db, |txn| {
        txn.put(&left, b"left", b"over").unwrap();
        txn.put(&meta, "layout", [1_u8]).unwrap();
    });
    EventStore::options().rebuild_indexes(&db).unwrap();
    assert_eq!(db.read().unwrap().get(&meta, "layout").unwrap().as_deref(), Some(&[2][..]));
    let store = store_in(&db);
    expect_whole(&store, &truth);
    expect_to_go_on(&store, &truth);
}

/// What happens to an entry, a block, and a key of the other indexes.
const ENTRY_DAMAGES: &[&str] = &[
    "is missing",
    "is cut",
    "is empty",
    "lacks its last part",
    "has an event more",
    "has an event less",
    "has events at another place",
    "has events of another chunk",
    "is of another stream",
    "begins with a later version",
    "has its last part twice",
];
const BLOCK_DAMAGES: &[&str] = &[
    "is missing",
    "is cut",
    "is empty",
    "lacks its last part",
    "has parts out of order",
    "has an event more",
    "has no event in a part",
    "has events at another place",
    "has a part of another stream",
    "has a part that is in an entry too",
    "is there twice",
];
const LANE_DAMAGES: &[&str] = &["is missing", "has no such chunk", "has a cut key"];
/// What happens to an entry of a table that is not an index.
const LOST: [(&str, &str); 12] = [
    ("log", "is missing"),
    ("log", "last is missing"),
    ("log", "all are missing"),
    ("log", "is cut"),
    ("log", "has another version"),
    ("log", "has an earlier time"),
    ("meta", "is too high"),
    ("names", "is missing"),
    ("names", "leads to another stream"),
    ("streams", "is missing"),
    ("streams", "is cut"),
    ("consumers", "is malformed"),
];
/// No event has this position, no stream this number.
const NOWHERE: u64 = 1 << 40;
/// Bytes of a part in an entry and in a block, and of a chunk before its events.
const PLACE_BYTES: usize = 12;
const RECORD_BYTES: usize = 28;
const CHUNK_HEADER_BYTES: usize = 16;
