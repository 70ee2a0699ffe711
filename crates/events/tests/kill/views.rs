//! A process that appends, folds a view, rebuilds it and applies retention is killed at any moment, again and again.
//! Afterwards nothing that it acknowledged is missing, the log lacks nothing but what retention has removed, and the
//! view has every event up to its position exactly once. A table that is changed together with
//! appends agrees with them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fulgurite::{Read, ReadTxn, Table, TableOptions, WriteTxn};
use fulgurite_events::{Event, EventStore, Position, Result, Retention, Stop, Version, View, ViewContext};

use crate::process::{Process, end_with_parent};
use crate::store::{
    DISK, LIMITED, LIMITED_KEPT, WRITERS, append_mirrored, append_next, append_wide, count, kills, limit, next_number,
    open, parse,
};

/// The file of the process that is to be killed.
const FILE: &str = "EVENTS_KILL_FILE";
const TEST: &str = "views::views_are_exactly_once_after_every_kill";

fn view() -> View {
    View::new("sums").table("sums", Default::default()).batch_events(20)
}

/// Adds the number of an event to the sum of its writer, and counts it. Events that retention may remove do not count:
/// a view that is folded again lacks them.
fn fold(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<()> {
    let (writer, number) = parse(event.payload);
    if writer == LIMITED {
        return Ok(());
    }
    let table = context.table(0);
    let (count, sum) = txn.get(table, writer.to_be_bytes())?.map_or((0, 0), |value| parse(&value));
    Ok(txn.put(table, writer.to_be_bytes(), [count + 1, sum + number].map(u64::to_le_bytes).concat())?)
}

/// Appends until it is killed, and prints what was acknowledged.
fn be_killed(path: &Path) {
    end_with_parent();
    let store = open(path);
    let mirrors = store.database().open_or_create_table(MIRRORS, TableOptions::new()).unwrap();
    let (store, mirrors) = (&store, &mirrors);
    let stop = Stop::new(store);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || append(store, mirrors, writer));
        }
        scope.spawn(move || maintain(store));
        store.follow_view(&view(), &stop, drop, fold).unwrap();
    });
}

fn append(store: &EventStore, mirrors: &Table, writer: u64) {
    let mut number = next_number(store, writer);
    for round in 0_u64.. {
        if writer == 0 && round % 4 == 0 {
            append_wide(store);
        }
        number = match writer {
            MIRRORED => append_mirrored(store, mirrors, writer, number),
            _ => append_next(store, writer, number),
        };
        print(&format!("acknowledged {writer} {number}"));
    }
}

/// Removes events and rebuilds the view, while the other threads append and fold.
fn maintain(store: &EventStore) {
    limit(store, LIMITED);
    let mut number = next_number(store, LIMITED);
    loop {
        number = append_next(store, LIMITED, number);
        print(&format!("acknowledged {LIMITED} {number}"));
        store.apply_retention(&Retention::default()).unwrap();
        print("retained");
        match store.rebuild_view(&view().batch_events(1_000), fold) {
            // The view that is followed was faster each time.
            Err(error) if error.is_retryable() => {}
            rebuilt => {
                rebuilt.unwrap();
                print("rebuilt");
            }
        }
    }
}

/// Prints a line. One write, so that lines of threads do not mix.
fn print(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// What the killed processes have done.
#[derive(Default)]
struct Done {
    /// How many events of each writer were acknowledged, of those in the same file.
    acknowledged: BTreeMap<u64, u64>,
    retained: u64,
    rebuilt: u64,
}

/// Starts a process, kills it after some time, and notes what it has done.
fn kill_one(directory: &Path, path: &Path, after: Duration, done: &mut Done) {
    let mut process = Process::start(TEST, directory, "view", &[(FILE, path)]);
    // A loaded machine is slow: the first line is awaited, then the time passes.
    let begun = Instant::now();
    while process.lines().is_empty() && begun.elapsed() < after * 20 {
        thread::sleep(Duration::from_micros(200));
    }
    thread::sleep(after);
    process.kill();
    for line in process.lines() {
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["retained"] => done.retained += 1,
            ["rebuilt"] => done.rebuilt += 1,
            ["acknowledged", writer, number] => {
                let before = done.acknowledged.entry(writer.parse().unwrap()).or_default();
                *before = number.parse::<u64>().unwrap().max(*before);
            }
            _ => panic!("the process failed: {line}"),
        }
    }
}

fn check(path: &Path, acknowledged: &BTreeMap<u64, u64>) -> u64 {
    let store = open(path);
    let snapshot = store.snapshot().unwrap();
    let position = snapshot.consumer_position("sums").unwrap();
    let (mut next, mut all, mut folded) = (0, BTreeMap::new(), BTreeMap::new());
    // The positions that the log lacks, and the number of the first event that retention has kept.
    let (mut missing, mut removed) = (0, 0);
    snapshot
        .scan(.., |event| {
            let (writer, number) = parse(event.payload);
            missing += event.position.0 - next;
            next = event.position.0 + 1;
            let count = all.entry(writer).or_insert_with(|| {
                removed = if writer == LIMITED { number } else { removed };
                if writer == LIMITED { number } else { 0 }
            });
            assert_eq!((number, event.version), (*count, Version(*count)), "of writer {writer}");
            *count += 1;
            if event.position < position && writer != LIMITED {
                let (count, sum) = folded.entry(writer).or_insert((0, 0));
                (*count, *sum) = (*count + 1, *sum + number);
            }
        })
        .unwrap();
    assert_eq!((snapshot.head().unwrap().0, missing), (next, removed), "the head, and the positions that are missing");
    let limited = all.get(&LIMITED).copied().unwrap_or_default();
    assert!(limited - removed >= limited.min(LIMITED_KEPT), "retention has removed {removed} events of {limited}");
    for (writer, events) in &all {
        let first = if *writer == LIMITED { removed } else { 0 };
        assert_eq!(count(&snapshot, *writer, first), *events, "in the stream of writer {writer}");
    }
    for (writer, number) in acknowledged {
        assert!(
            all.get(writer).is_some_and(|count| count >= number),
            "an acknowledged event of writer {writer} is lost"
        );
    }
    let txn = snapshot.txn();
    let mirrored = txn.open_table(MIRRORS).ok().and_then(|mirrors| txn.get(&mirrors, MIRRORED.to_be_bytes()).unwrap());
    let mirrored = mirrored.map(|number| u64::from_le_bytes(number[..].try_into().unwrap()));
    assert_eq!(mirrored, all.get(&MIRRORED).copied(), "what was put together with the events of a writer");
    assert_eq!(sums(txn), folded, "the view up to {position}");
    assert!(position == Position(0) || txn.open_table("sums").is_ok());
    next
}

/// The table of the view: how many events of each writer, and the sum of their numbers.
fn sums(txn: &ReadTxn) -> BTreeMap<u64, (u64, u64)> {
    let Ok(table) = txn.open_table("sums") else { return BTreeMap::new() };
    let entries = txn.range(&table, ..).unwrap().map(|entry| {
        let (key, value) = entry.unwrap();
        (u64::from_be_bytes(key[..].try_into().unwrap()), parse(&value))
    });
    entries.collect()
}

#[test]
fn views_are_exactly_once_after_every_kill() {
    if let Some(path) = std::env::var_os(FILE) {
        return be_killed(Path::new(&path));
    }
    let kills = kills();
    let directory = tempfile::tempdir().unwrap();
    let (mut done, mut events, mut path) = (Done::default(), 0, directory.path().to_owned());
    for kill in 0..kills {
        // A new file now and then, so that checks stay short and creation is killed too.
        if kill % 25 == 0 {
            done.acknowledged.clear();
            let kind = if kill / 25 % 4 == 3 { DISK } else { "log" };
            path = directory.path().join(format!("{kind}-{kill}.ful"));
        }
        let after = Duration::from_micros(kill * 7_919 % 60_000);
        kill_one(directory.path(), &path, after, &mut done);
        events = check(&path, &done.acknowledged).max(events);
    }
    println!("retention was applied {} times, and the view rebuilt {} times", done.retained, done.rebuilt);
    assert!(kills < 25 || events > 100, "only {events} events were appended");
    assert!(kills < 200 || done.retained > 0, "retention was never applied");
}

/// The table that is changed together with the events of a writer.
const MIRRORS: &str = "mirrors";
const MIRRORED: u64 = 2;
