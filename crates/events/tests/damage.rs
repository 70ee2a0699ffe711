//! Damage to the file of a store, and to the entries of its tables.
//!
//! The engine finds damaged bytes by its checksums: a read returns an error, or exactly what was appended. Damaged
//! entries have right checksums, as a hostile file has them: every call returns, and none panics.
//!
//! `cargo xtask events damage --stores N --seed S` damages more stores.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fulgurite::{Database, Durability, Read};
use fulgurite_events::{
    AppendCondition, Error, EventData, EventQuery, EventStore, Events, Expected, Position, QueryItem, RecordedEvent,
    Result, Retention, Snapshot, StreamInfo, StreamMetadata, Timestamp, Version, View,
};
use fulgurite_testkit::panics::catch;
use fulgurite_testkit::{Random, drawn_seed};

/// What a store holds.
struct Truth {
    head: Position,
    events: BTreeMap<u64, RecordedEvent>,
    streams: BTreeMap<Vec<u8>, StreamInfo>,
}

fn open(path: &Path, read_only: bool) -> Result<EventStore> {
    let db = Database::options().read_only(read_only).durability(Durability::Memory).background(false).open(path)?;
    EventStore::options().durability(Durability::Log).open_in(&db)
}

/// A store with everything that a store can have, and what it holds.
fn make(path: &Path) -> Truth {
    let db = Database::options().create(true).background(false).open(path).unwrap();
    let store = EventStore::options().durability(Durability::Log).open_in(&db).unwrap();
    for number in 0..400_u64 {
        let payload = vec![number as u8; if number % 90 == 7 { 20_000 } else { (number % 200) as usize }];
        let tag = format!("tag {}", number % 5);
        let tags = [tag.as_str(), "all"];
        let kind = format!("kind {}", number % 4);
        let event = EventData::new(&kind, &payload).tags(&tags[..(number % 3) as usize]).metadata(b"m");
        let event = if number % 2 == 0 { event.id(u128::from(number).to_le_bytes()) } else { event };
        store.append(format!("stream {}", number % 9), Expected::Any, &[event]).unwrap();
        if number == 200 {
            store.truncate_before("stream 1", Version(5)).unwrap();
            store.delete_stream("stream 2", Expected::Any).unwrap();
            store.append("stream 9", Expected::Any, &[EventData::new("buried", b"")]).unwrap();
            store.bury_stream("stream 9", Expected::Any).unwrap();
            let limits = StreamMetadata { count_max: Some(3), ..StreamMetadata::default() };
            store.set_stream_metadata("stream 3", limits).unwrap();
            store.put_aggregate_state("stream 4", Version(7), 1, b"state").unwrap();
            store.apply_retention(&Retention { count_max: Some(150), ..Retention::default() }).unwrap();
            db.checkpoint().unwrap();
        }
        if number > 200 && number % 9 == 7 {
            store.set_consumer_position("consumer", Position(number)).unwrap();
        }
    }
    append_wide(&store);
    db.checkpoint().unwrap();
    let snapshot = store.snapshot().unwrap();
    let events = recorded(&snapshot, snapshot.read_all(Position::START).unwrap()).unwrap();
    let streams = snapshot.streams("").unwrap().map(|info| info.map(|info| (info.name.clone(), info)));
    let truth = Truth {
        head: snapshot.head().unwrap(),
        events: events.into_iter().map(|event| (event.position.0, event)).collect(),
        streams: streams.collect::<Result<_>>().unwrap(),
    };
    drop((snapshot, store));
    db.close().unwrap();
    truth
}

/// Appends to so many streams in one transaction that the index of streams gets a block.
fn append_wide(store: &EventStore) {
    let open = (0..9).map(|number| format!("stream {number}"));
    let names: Vec<_> = open.chain((0..WIDE_STREAMS).map(|number| format!("wide {number}"))).collect();
    let appended = store.transact(|t| {
        let event = EventData::new("kind 1", b"wide").tags(&["all"]);
        names.iter().try_for_each(|name| t.append(name, Expected::Any, &[event]).map(drop))
    });
    appended.unwrap();
    let txn = store.database().read().unwrap();
    let index = txn.open_table("events.index").unwrap();
    assert_eq!(txn.range(&index, [0xff_u8; 8]..).unwrap().count(), 1, "the index has a block");
}

/// All events of a read. A read that does not end is a failure.
fn recorded(snapshot: &Snapshot, mut events: Events<'_>) -> Result<Vec<RecordedEvent>> {
    let mut all = Vec::new();
    while let Some(event) = events.next()? {
        all.push(snapshot.record(&event)?);
        assert!(all.len() < EVENTS_MAX, "a read does not end");
    }
    Ok(all)
}

/// Reads everything in every way. Passes what was read without an error to `check`.
fn read_all(snapshot: &Snapshot, check: &mut dyn FnMut(&str, &Snapshot, Vec<RecordedEvent>)) {
    let mut read = |what: &str, events: Result<Events<'_>>| {
        if let Ok(all) = events.and_then(|events| recorded(snapshot, events)) {
            check(what, snapshot, all);
        }
    };
    read("all", snapshot.read_all(Position::START));
    read("all, backwards", snapshot.read_all_backwards(Position(u64::MAX)));
    let names = (0..10).map(|number| format!("stream {number}"));
    for name in names.chain((0..2).map(|number| format!("wide {number}"))) {
        read("stream", snapshot.read_stream(&name, Version(0)));
        read("stream, backwards", snapshot.read_stream_backwards(&name, Version(u64::MAX)));
    }
    let in_blocks = EventQuery::new().or(QueryItem::new().stream("wide 0").stream("stream 0"));
    read("query of streams", snapshot.read_query(&in_blocks, Position::START));
    for query in [EventQuery::tag("tag 2"), EventQuery::tag("all"), EventQuery::kind("kind 1"), EventQuery::new()] {
        read("query", snapshot.read_query(&query, Position::START));
        read("query, backwards", snapshot.read_query_backwards(&query, Position(u64::MAX)));
    }
    let _ = snapshot.position_at(Timestamp::now());
    let _ = snapshot.consumers();
    let _ = snapshot.aggregate_state("stream 4", Version(u64::MAX));
}

/// Replays the log in the fast way. Returns the positions.
fn scanned(snapshot: &Snapshot) -> Result<Vec<u64>> {
    let mut positions = Vec::new();
    snapshot.scan(.., |event| {
        positions.push(event.position.0);
        assert!(positions.len() < EVENTS_MAX, "a scan does not end");
    })?;
    Ok(positions)
}

/// Compares what is read from a damaged file with the truth. Returns whether some of it was read.
fn compare(path: &Path, truth: &Truth) -> bool {
    let Ok(store) = open(path, true) else { return false };
    let Ok(snapshot) = store.snapshot() else { return false };
    let mut count = 0;
    read_all(&snapshot, &mut |what, snapshot, events| {
        for event in &events {
            assert_eq!(Some(event), truth.events.get(&event.position.0), "{what}");
        }
        // Where the root of the newest state is damaged, an older state is read: then it is read whole.
        if what == "all" {
            let (Ok(start), Ok(head)) = (snapshot.start(), snapshot.head()) else { return };
            let expected = truth.events.range(start.0..head.0).count();
            assert!(head < truth.head || events.len() == expected, "{} of {expected} events were read", events.len());
        }
        count += events.len();
    });
    if let Ok(positions) = scanned(&snapshot) {
        assert!(positions.iter().all(|position| truth.events.contains_key(position)));
    }
    if snapshot.head().is_ok_and(|head| head == truth.head)
        && let Ok(streams) = snapshot.streams("")
    {
        for info in streams.flatten() {
            assert_eq!(Some(&info), truth.streams.get(&info.name));
        }
    }
    count > 0
}

/// Damages some bytes of a file.
fn damage_bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(3) {
        let at = random.index(bytes.len());
        let end = (at + 1 + random.index(3_000)).min(bytes.len());
        match random.below(5) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at..end].fill(0),
            2 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.next_u64() as u8),
            3 => {
                let from = random.index(bytes.len() - (end - at));
                bytes.copy_within(from..from + (end - at), at);
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
}

/// Changes an entry of one of the store's tables. The engine's checksums are right afterwards.
fn damage_entry(random: &mut Random, path: &Path) {
    let db = Database::options().durability(Durability::Memory).background(false).open(path).unwrap();
    let tables = db.tables().unwrap();
    db.update(|txn| {
        for _ in 0..1 + random.below(3) {
            let table = &tables[random.index(tables.len())];
            let entries = txn.range(table, ..)?.collect::<fulgurite::Result<Vec<_>>>()?;
            let owned: Vec<_> = entries.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
            drop(entries);
            if owned.is_empty() {
                txn.put(table, random.next_u64().to_be_bytes(), random.next_u64().to_be_bytes())?;
                continue;
            }
            let (key, value) = &owned[random.index(owned.len())];
            let mut changed = value.clone();
            let at = random.index(changed.len() + 1);
            match random.below(8) {
                0 => drop(txn.delete(table, key)?),
                1 => txn.put(table, random.next_u64().to_be_bytes(), value)?,
                2 => txn.put(table, &key[..random.index(key.len() + 1)], value)?,
                3 => txn.put(table, key, &owned[random.index(owned.len())].1)?,
                4 => txn.put(table, key, &value[..at])?,
                5 => txn.put(table, key, [value.as_slice(), &random.next_u64().to_le_bytes()].concat())?,
                6 => {
                    let end = (at + 8).min(changed.len());
                    changed[at..end].copy_from_slice(&random.next_u64().to_le_bytes()[..end - at]);
                    txn.put(table, key, changed)?;
                }
                _ => {
                    let extreme = if random.coin() { 0 } else { 0xff };
                    let end = (at + 4).min(changed.len());
                    changed[at..end].fill(extreme);
                    txn.put(table, key, changed)?;
                }
            }
        }
        Ok(())
    })
    .unwrap();
    db.close().unwrap();
}

/// Uses a store in every way. Errors are what damage leads to; each call has to return.
fn use_damaged(path: &Path) {
    let Ok(store) = open(path, false) else { return };
    let reads = |store: &EventStore| {
        let Ok(snapshot) = store.snapshot() else { return };
        read_all(&snapshot, &mut |_, _, _| {});
        let _ = scanned(&snapshot);
        if let Ok(streams) = snapshot.streams("") {
            let _ = streams.take(EVENTS_MAX).collect::<Vec<_>>();
        }
        let _ = snapshot.scan_parallel(.., 2, || 0, |count: &mut usize, _| *count += 1);
    };
    reads(&store);
    for number in 0..10 {
        let name = format!("stream {number}");
        let event = EventData::new("kind 1", b"new").tags(&["all"]).id([number as u8; 16]);
        let _ = store.append(&name, Expected::Any, &[event]);
        let _ = store.append(&name, Expected::Exact(Version(44)), &[event.id([77; 16])]);
    }
    let condition = AppendCondition { query: EventQuery::tag("all"), after: None };
    let _ = store.append_if(&condition, "stream 5", &[EventData::new("x", b"")]);
    let view = View::new("damaged").table("damaged", Default::default()).batch_events(50);
    let count = |txn: &mut fulgurite::WriteTxn,
                 context: &fulgurite_events::ViewContext<'_>,
                 event: &fulgurite_events::Event<'_>| {
        Ok::<_, Error>(txn.put(context.table(0), event.stream.0.to_be_bytes(), b"")?)
    };
    let _ = store.run_view(&view, count);
    let _ = store.rebuild_view(&view, count);
    let mut follower = store.follow(Position::START).unwrap();
    for _ in 0..20 {
        let _ = follower.poll(Duration::ZERO, |_, _| Ok(()));
    }
    let _ = store.truncate_before("stream 5", Version(2));
    let _ = store.delete_stream("stream 6", Expected::Any);
    let _ = store.apply_retention(&Retention { bytes_max: Some(9_000), ..Retention::default() });
    reads(&store);
}

/// Damages copies of a store, and calls `check` with each.
fn damaged(what: &str, base: &[u8], damage: impl Fn(&mut Random, &Path, &[u8]), check: impl Fn(&Path) -> bool) -> u64 {
    let stores = std::env::var("EVENTS_DAMAGES").map_or(STORES, |stores| stores.parse().unwrap());
    let seed = std::env::var("EVENTS_SEED").map_or_else(|_| drawn_seed(), |seed| seed.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut counted = 0;
    for number in 0..stores {
        let path = directory.path().join(format!("{what}-{number}.ful"));
        damage(&mut Random::for_part(seed, &[number]), &path, base);
        match catch(|| check(&path)) {
            Ok(is_counted) => counted += u64::from(is_counted),
            Err(panic) => panic!(
                "{what}, store {number}: {panic}\nrepeat it: cargo xtask events damage --seed {seed} --stores {}",
                number + 1
            ),
        }
        for entry in std::fs::read_dir(directory.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
    counted
}

#[test]
fn damaged_bytes_give_errors_or_the_events_that_were_appended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("truth.ful");
    let truth = make(&path);
    assert!(compare(&path, &truth));
    let read = damaged(
        "bytes",
        &std::fs::read(&path).unwrap(),
        |random, path, bytes| {
            let mut bytes = bytes.to_vec();
            damage_bytes(random, &mut bytes);
            std::fs::write(path, bytes).unwrap();
        },
        |path| compare(path, &truth),
    );
    println!("events were read from {read} damaged files");
    assert!(read > 0);
}

#[test]
fn damaged_entries_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("base.ful");
    make(&path);
    damaged(
        "entries",
        &std::fs::read(&path).unwrap(),
        |random, path, bytes| {
            std::fs::write(path, bytes).unwrap();
            damage_entry(random, path);
        },
        |path| {
            use_damaged(path);
            true
        },
    );
}

/// A key of the log that damage had made huge let a view commit an empty batch for every 10,000 positions before it.
#[test]
fn a_gap_of_any_width_does_not_delay_views_and_followers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gap.ful");
    let db = Database::options().create(true).durability(Durability::Memory).open(&path).unwrap();
    let store = EventStore::options().durability(Durability::Log).open_in(&db).unwrap();
    store.append("a", Expected::Any, &[EventData::new("x", b"1")]).unwrap();
    let log = db.open_table("events.log").unwrap();
    let value = db.read().unwrap().get(&log, 0_u64.to_be_bytes()).unwrap().unwrap().to_vec();
    db.update(|txn| txn.put(&log, (1_u64 << 62).to_be_bytes(), &value)).unwrap();
    drop(store);
    db.close().unwrap();

    let store = open(&path, false).unwrap();
    let progress = store.run_view(&View::new("gap"), |_, _, _| Ok(())).unwrap();
    assert_eq!((progress.events, progress.position), (2, Position((1 << 62) + 1)));
    let (mut follower, mut seen) = (store.follow(Position::START).unwrap(), Vec::new());
    for _ in 0..4 {
        let note = |_: &Snapshot, event: &fulgurite_events::Event<'_>| {
            seen.push(event.position.0);
            Ok(())
        };
        follower.poll(Duration::ZERO, note).unwrap();
    }
    assert_eq!(seen, [0, 1 << 62]);
}

/// Streams that only the wide transaction appends to.
const WIDE_STREAMS: u64 = 12;
/// No read of a damaged store returns as many.
const EVENTS_MAX: usize = 100_000;
/// Stores that a test damages.
const STORES: u64 = 200;
