//! A process that appends and folds a view is killed at any moment, again and again. Afterwards nothing that it
//! acknowledged is missing, the log is dense, and the view has every event up to its position exactly once.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fulgurite::{Read, WriteTxn};
use fulgurite_events::{Event, EventStore, Position, Result, Stop, Version, View, ViewContext};

use crate::process::{Process, end_with_parent};
use crate::store::{WRITERS, append_next, append_wide, count, kills, next_number, open, parse};

/// The file of the process that is to be killed.
const FILE: &str = "EVENTS_KILL_FILE";
const TEST: &str = "views::views_are_exactly_once_after_every_kill";

fn view() -> View {
    View::new("sums").table("sums", Default::default()).batch_events(20)
}

/// Adds the number of an event to the sum of its writer, and counts it.
fn fold(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<()> {
    let (writer, number) = parse(event.payload);
    let table = context.table(0);
    let (count, sum) = txn.get(table, writer.to_be_bytes())?.map_or((0, 0), |value| parse(&value));
    Ok(txn.put(table, writer.to_be_bytes(), [count + 1, sum + number].map(u64::to_le_bytes).concat())?)
}

/// Appends until it is killed, and prints what was acknowledged.
fn be_killed(path: &Path) {
    end_with_parent();
    let store = open(path);
    let store = &store;
    let stop = Stop::new(store);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || append(store, writer));
        }
        store.follow_view(&view(), &stop, drop, fold).unwrap();
    });
}

fn append(store: &EventStore, writer: u64) {
    let mut number = next_number(store, writer);
    for round in 0_u64.. {
        if writer == 0 && round % 4 == 0 {
            append_wide(store);
        }
        number = append_next(store, writer, number);
        // One write, so that lines of threads do not mix.
        std::io::stderr().write_all(format!("acknowledged {writer} {number}\n").as_bytes()).unwrap();
    }
}

/// Starts a process, kills it after some time, and notes how many events of each writer it had acknowledged.
fn kill_one(directory: &Path, path: &Path, after: Duration, acknowledged: &mut BTreeMap<u64, u64>) {
    let mut process = Process::start(TEST, directory, "view", &[(FILE, path)]);
    // A loaded machine is slow: the first acknowledgement is awaited, then the time passes.
    let begun = Instant::now();
    while process.lines().is_empty() && begun.elapsed() < after * 20 {
        thread::sleep(Duration::from_micros(200));
    }
    thread::sleep(after);
    process.kill();
    for line in process.lines() {
        let Some(numbers) = line.strip_prefix("acknowledged ") else { panic!("the process failed: {line}") };
        let Some((writer, number)) = numbers.split_once(' ') else { continue };
        let (Ok(writer), Ok(number)) = (writer.parse(), number.parse::<u64>()) else { continue };
        let before = acknowledged.entry(writer).or_default();
        *before = number.max(*before);
    }
}

fn check(path: &Path, acknowledged: &BTreeMap<u64, u64>) -> u64 {
    let store = open(path);
    let snapshot = store.snapshot().unwrap();
    let position = snapshot.consumer_position("sums").unwrap();
    let (mut next, mut all, mut folded) = (Position(0), BTreeMap::new(), BTreeMap::new());
    snapshot
        .scan(.., |event| {
            assert_eq!(event.position, next);
            let (writer, number) = parse(event.payload);
            let count = all.entry(writer).or_insert(0);
            assert_eq!((number, event.version), (*count, Version(*count)), "of writer {writer}");
            *count += 1;
            if event.position < position {
                let (count, sum) = folded.entry(writer).or_insert((0, 0));
                (*count, *sum) = (*count + 1, *sum + number);
            }
            next.0 += 1;
        })
        .unwrap();
    assert_eq!(snapshot.head().unwrap(), next);
    for (writer, events) in &all {
        assert_eq!(count(&snapshot, *writer), *events, "in the stream of writer {writer}");
    }
    for (writer, number) in acknowledged {
        assert!(
            all.get(writer).is_some_and(|count| count >= number),
            "an acknowledged event of writer {writer} is lost"
        );
    }
    let txn = snapshot.txn();
    let Ok(table) = txn.open_table("sums") else {
        assert_eq!(position, Position(0));
        return next.0;
    };
    let entries = txn.range(&table, ..).unwrap().map(|entry| {
        let (key, value) = entry.unwrap();
        (u64::from_be_bytes(key[..].try_into().unwrap()), parse(&value))
    });
    assert_eq!(entries.collect::<BTreeMap<_, _>>(), folded, "the view up to {position}");
    next.0
}

#[test]
fn views_are_exactly_once_after_every_kill() {
    if let Some(path) = std::env::var_os(FILE) {
        return be_killed(Path::new(&path));
    }
    let kills = kills();
    let directory = tempfile::tempdir().unwrap();
    let (mut acknowledged, mut events, mut file) = (BTreeMap::new(), 0, 0);
    for kill in 0..kills {
        // A new file now and then, so that checks stay short and creation is killed too.
        if kill % 25 == 0 {
            (acknowledged, file) = (BTreeMap::new(), kill);
        }
        let path = directory.path().join(format!("{file}.ful"));
        let after = Duration::from_micros(kill * 7_919 % 60_000);
        kill_one(directory.path(), &path, after, &mut acknowledged);
        events = check(&path, &acknowledged).max(events);
    }
    assert!(kills < 25 || events > 100, "only {events} events were appended");
}
