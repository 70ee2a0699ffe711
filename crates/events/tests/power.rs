//! Appends and a view on a disk that loses power: whatever reached the medium, everything acknowledged is there, the
//! log is dense, and the view has every event up to its position exactly once.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

use std::path::Path;
use std::sync::Arc;

use fulgurite::{Database, Read, WriteTxn};
use fulgurite_events::{
    Event, EventData, EventStore, Expected, Position, Result, Retention, Version, View, ViewContext,
};
use fulgurite_testkit::{CrashDisk, Kinds};

const PATH: &str = "events.ful";
/// Streams of a wide transaction.
const WIDE_STREAMS: u64 = 20;

fn open(disk: &CrashDisk, create: bool) -> fulgurite::Result<Database> {
    let options = Database::options().create(create).background(false).delta_bytes(64 << 10);
    options.disk(Arc::new(disk.clone())).open(Path::new(PATH))
}

fn view() -> View {
    View::new("bytes").table("bytes", Default::default()).batch_events(9)
}

/// Sums the lengths of payloads, and counts.
fn fold(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<()> {
    let table = context.table(0);
    let before = txn.get(table, "sum")?.map_or([0, 0], |value| numbers(&value));
    let sum = [before[0] + 1, before[1] + event.payload.len() as u64];
    Ok(txn.put(table, "sum", sum.map(u64::to_le_bytes).concat())?)
}

fn numbers(value: &[u8]) -> [u64; 2] {
    [0, 8].map(|at| u64::from_le_bytes(value[at..at + 8].try_into().unwrap()))
}

/// The length of the payload at a position.
fn length(position: u64) -> usize {
    if position % 40 == 39 { 9_000 } else { (position * 37 % 300) as usize }
}

/// Appends to so many streams in one transaction that the index of streams gets a block.
fn append_wide(store: &EventStore, disk: &CrashDisk) {
    let head = store.snapshot().unwrap().head().unwrap().0;
    let appended = store.transact(|t| {
        for stream in 0..WIDE_STREAMS {
            let payload = vec![7_u8; length(head + stream)];
            t.append(format!("s{stream}"), Expected::Any, &[EventData::new("x", &payload)])?;
        }
        Ok(())
    });
    appended.unwrap();
    disk.mark("appended", head + WIDE_STREAMS);
}

fn work(disk: &CrashDisk) {
    let db = open(disk, true).unwrap();
    let mut store = EventStore::open_in(&db).unwrap();
    for round in 0..60_u64 {
        let head = store.snapshot().unwrap().head().unwrap().0;
        let payloads: Vec<_> = (head..head + 1 + round % 5).map(|position| vec![7; length(position)]).collect();
        let events: Vec<_> = payloads.iter().map(|payload| EventData::new("x", payload)).collect();
        store.append(format!("s{}", round % 4), Expected::Any, &events).unwrap();
        disk.mark("appended", head + events.len() as u64);
        if round % 7 == 3 {
            store.run_view(&view(), fold).unwrap();
            disk.mark("folded", head + events.len() as u64);
        }
        match round {
            10 | 30 | 45 => append_wide(&store, disk),
            20 => db.checkpoint().unwrap(),
            35 => drop(store.rebuild_view(&view(), fold).unwrap()),
            // The next append folds the blocks of the index.
            38 => {
                drop(store);
                store = EventStore::open_in(&db).unwrap();
            }
            50 => {
                store.apply_retention(&Retention { count_max: Some(60), ..Retention::default() }).unwrap();
                db.checkpoint().unwrap();
            }
            _ => {}
        }
    }
}

/// Checks the store on the disk after the power cut. Returns whether there is one.
fn check(disk: &CrashDisk, appended: u64, folded: u64) -> bool {
    let opened = open(disk, false).and_then(|db| db.read().map(|_| db));
    let store = opened.map_err(fulgurite_events::Error::from).and_then(|db| EventStore::open_in(&db));
    let store = match store {
        Ok(store) => store,
        Err(error) => {
            assert_eq!(appended, 0, "{error}");
            return false;
        }
    };
    let snapshot = store.snapshot().unwrap();
    let (head, start) = (snapshot.head().unwrap().0, snapshot.start().unwrap().0);
    assert!(head >= appended, "{appended} events were acknowledged, and {head} are there");
    let mut next = None;
    snapshot
        .scan(.., |event| {
            let position = event.position.0;
            // Removal of old chunks may not have come to its end.
            assert!(next.is_none_or(|next| position == next), "position {position} follows a gap");
            next = Some(position + 1);
            assert_eq!(event.payload.len(), length(position));
        })
        .unwrap();
    assert!(head == 0 || next == Some(head));
    let mut in_streams = 0;
    for stream in snapshot.streams("").unwrap() {
        let stream = stream.unwrap();
        let mut events = snapshot.read_stream(&stream.name, Version(0)).unwrap();
        while let Some(event) = events.next().unwrap() {
            in_streams += u64::from(event.position.0 >= start);
        }
    }
    assert_eq!(in_streams, head - start);
    let position = snapshot.consumer_position("bytes").unwrap();
    assert!(position >= Position(folded));
    if let Ok(table) = snapshot.txn().open_table("bytes") {
        let sum = snapshot.txn().get(&table, "sum").unwrap().map_or([0, 0], |value| numbers(&value));
        assert_eq!(sum, [position.0, (0..position.0).map(|position| length(position) as u64).sum()]);
        assert!(!snapshot.txn().is_empty(&table).unwrap() || position.0 == 0);
    }
    true
}

#[test]
fn a_power_cut_loses_no_acknowledged_event_and_no_view_counts_twice() {
    let disk = CrashDisk::new();
    work(&disk);
    let recording = disk.recording();
    let (mut stores, mut images) = (0, 0);
    for image in recording.images(1, Kinds { subsets: 1, torn: 1 }) {
        let last = |label: &str| {
            let marks = image.marks().iter().rev();
            marks.filter(|mark| mark.label == label).map(|mark| mark.number).next().unwrap_or_default()
        };
        images += 1;
        stores += u32::from(check(&image.disk(), last("appended"), last("folded")));
    }
    println!("{images} images, {stores} with a store");
    assert!(stores > 100, "only {stores} of {images} images had a store");
}
