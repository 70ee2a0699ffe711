//! Random sessions on a disk that loses power: whatever reached the medium, every event is there that was acknowledged
//! or that a follower has seen, the log is dense, the ids of the newest events are recognised, also of those that
//! retention has removed, and the view has every event up to its position exactly once.
//!
//! `cargo xtask events power --images N --seed S` cuts the power more often. `--image ID` repeats one image.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fulgurite::{Database, WriteTxn};
use fulgurite_events::{
    Event, EventData, EventStore, Expected, Position, Result, Retention, Snapshot, Version, View, ViewContext,
};
use fulgurite_testkit::cuts::{RecordedSession, run_cuts};
use fulgurite_testkit::{CrashDisk, CrashImage, Random, Recording, drawn_seed};

fn open(disk: &CrashDisk, create: bool) -> fulgurite::Result<Database> {
    let options = Database::options().create(create).background(false).delta_bytes(64 << 10);
    options.disk(Arc::new(disk.clone())).open(Path::new(PATH))
}

fn open_store(db: &Database) -> Result<EventStore> {
    EventStore::options().id_window(ID_WINDOW).open_in(db)
}

fn view() -> View {
    View::new("bytes").table("bytes", Default::default()).batch_events(9)
}

/// Counts events, sums the lengths of payloads, and keeps the first position.
fn fold(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<()> {
    let table = context.table(0);
    let before = txn.get(table, "sum")?.map_or([0, 0, event.position.0], |value| numbers(&value));
    let sum = [before[0] + 1, before[1] + event.payload.len() as u64, before[2]];
    Ok(txn.put(table, "sum", sum.map(u64::to_le_bytes).concat())?)
}

fn numbers(value: &[u8]) -> [u64; 3] {
    [0, 8, 16].map(|at| u64::from_le_bytes(value[at..at + 8].try_into().unwrap()))
}

/// The length of the payload at a position.
fn length(position: u64) -> usize {
    if position % 40 == 39 { 9_000 } else { (position * 37 % 300) as usize }
}

/// The payloads of the next events.
fn payloads(head: u64, count: u64) -> Vec<Vec<u8>> {
    (head..head + count).map(|position| vec![7; length(position)]).collect()
}

/// The event at a position. Every second one has an id.
fn event_at(position: u64, payload: &[u8]) -> EventData<'_> {
    let event = EventData::new("x", payload);
    if has_id(position) { event.id(u128::from(position).to_le_bytes()) } else { event }
}

fn has_id(position: u64) -> bool {
    position.is_multiple_of(2)
}

fn name(stream: u64) -> String {
    format!("s{stream}")
}

/// A store that is open, and a follower of it on another thread.
struct Opened<'o> {
    store: EventStore,
    disk: &'o CrashDisk,
    /// The position after the last event that the follower has seen. The greatest number after it has ended.
    seen: AtomicU64,
    is_done: AtomicBool,
}

impl Opened<'_> {
    fn head(&self) -> Result<u64> {
        Ok(self.store.snapshot()?.head()?.0)
    }

    /// Does random operations while the follower runs.
    fn work(&self, random: &mut Random) -> Result<()> {
        let begin = self.head()?;
        self.seen.store(begin, Ordering::Relaxed);
        thread::scope(|scope| {
            let follower = scope.spawn(move || {
                let _ended = OnDrop(|| self.seen.store(u64::MAX, Ordering::Relaxed));
                self.follow(begin)
            });
            let done = OnDrop(|| self.is_done.store(true, Ordering::Relaxed));
            let worked = (0..ROUNDS).try_for_each(|_| self.operate(random));
            drop(done);
            follower.join().expect("the follower does not panic").and(worked)
        })
    }

    /// Notes on the disk what a follower sees.
    fn follow(&self, from: u64) -> Result<()> {
        let mut follower = self.store.follow(Position(from))?;
        while !self.is_done.load(Ordering::Relaxed) {
            follower.poll(Duration::from_millis(1), |_, event| {
                self.disk.mark(SEEN, event.position.0 + 1);
                self.seen.store(event.position.0 + 1, Ordering::Relaxed);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn operate(&self, random: &mut Random) -> Result<()> {
        match random.below(16) {
            0..=8 => {
                let (stream, count) = (random.below(4), 1 + random.below(5));
                let streams = vec![stream; count as usize];
                self.append(&streams, |events| self.store.append(name(stream), Expected::Any, events).map(drop))
            }
            // To so many streams that the index of streams gets a block.
            9 => {
                let streams: Vec<u64> = (0..WIDE_STREAMS).collect();
                self.append(&streams, |events| {
                    self.store.transact(|t| {
                        let mut events = streams.iter().zip(events);
                        events.try_for_each(|(stream, event)| {
                            t.append(name(*stream), Expected::Any, slice::from_ref(event)).map(drop)
                        })
                    })
                })
            }
            10..=11 => self.run_view(),
            12 => {
                self.store.database().checkpoint()?;
                Ok(())
            }
            13 => self.store.rebuild_view(&view(), fold).map(drop),
            _ => {
                // The view does not miss what is removed.
                self.run_view()?;
                let retention = Retention { count_max: Some(30 + random.below(60)), ..Retention::default() };
                self.store.apply_retention(&retention).map(drop)
            }
        }
    }

    /// Appends an event to each of the streams, and waits until the follower has seen them: so a seed leads to the same
    /// recording again.
    fn append(&self, streams: &[u64], append: impl FnOnce(&[EventData<'_>]) -> Result<()>) -> Result<()> {
        let (head, count) = (self.head()?, streams.len() as u64);
        streams.iter().for_each(|stream| self.disk.mark(STREAM, *stream));
        self.disk.mark(BEGUN, head + count);
        let payloads = payloads(head, count);
        let events: Vec<_> = (head..).zip(&payloads).map(|(position, payload)| event_at(position, payload)).collect();
        append(&events)?;
        self.disk.mark(APPENDED, head + count);
        while self.seen.load(Ordering::Relaxed) < head + count {
            thread::yield_now();
        }
        Ok(())
    }

    fn run_view(&self) -> Result<()> {
        let folded = self.store.run_view(&view(), fold)?.position;
        self.disk.mark(FOLDED, folded.0);
        Ok(())
    }
}

/// Calls a function when it is dropped, also if the thread panics: another thread waits for what the function stores.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// What the disk has recorded.
struct Session(Recording);

impl RecordedSession for Session {
    const COMMAND: &'static str = "events power";

    fn record(seed: u64) -> std::result::Result<Self, String> {
        let (disk, mut random) = (CrashDisk::new(), Random::for_part(seed, &[1]));
        let mut work = || -> Result<()> {
            let db = open(&disk, true)?;
            for _ in 0..OPENINGS {
                let store = open_store(&db)?;
                disk.mark("created", 0);
                let opened = Opened { store, disk: &disk, seen: AtomicU64::new(0), is_done: AtomicBool::new(false) };
                opened.work(&mut random)?;
            }
            Ok(())
        };
        work().map_err(|error| format!("seed {seed}: the session failed: {error}"))?;
        Ok(Self(disk.recording()))
    }

    fn recording(&self) -> &Recording {
        &self.0
    }

    fn recover(&self, image: &CrashImage<'_>) -> std::result::Result<bool, String> {
        let numbers = |label: &'static str| {
            let marks = image.marks().iter().filter(move |mark| mark.label == label);
            marks.map(|mark| mark.number)
        };
        let newest = |label: &'static str| numbers(label).max().unwrap_or_default();
        let streams: Vec<u64> = numbers(STREAM).collect();
        let head = check(&image.disk(), newest(APPENDED).max(newest(SEEN)), newest(FOLDED), &streams);
        Ok(head >= newest(BEGUN))
    }
}

/// Checks the store on the disk after the power cut, and continues it. `durable` events were acknowledged or seen, and
/// `folded` are in the view. `streams` has the stream of each position. Returns how many events there were.
fn check(disk: &CrashDisk, durable: u64, folded: u64, streams: &[u64]) -> u64 {
    let db = open(disk, false).unwrap();
    let store = open_store(&db).unwrap();
    let snapshot = store.snapshot().unwrap();
    let (head, start) = (snapshot.head().unwrap().0, snapshot.start().unwrap().0);
    assert!(head >= durable, "{durable} events were acknowledged or seen, and {head} are there");
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
    let report = snapshot.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.defects);
    assert!(check_view(&snapshot) >= folded);
    check_ids(&store, head, streams);
    let payload = payloads(head, 1).concat();
    let appended = store.append("after the cut", Expected::Any, &[EventData::new("x", &payload)]).unwrap();
    store.run_view(&view(), fold).unwrap();
    assert_eq!([appended.position.0, check_view(&store.snapshot().unwrap())], [head, head + 1]);
    head
}

/// Appends the newest events that have ids again.
fn check_ids(store: &EventStore, head: u64, streams: &[u64]) {
    for position in (head.saturating_sub(ID_WINDOW)..head).filter(|position| has_id(*position)) {
        let events = [event_at(position, b"again")];
        let again = store.append(name(streams[position as usize]), Expected::Any, &events).unwrap();
        assert_eq!((again.repeated, again.position.0), (true, position), "of {head}");
    }
}

/// Compares the view with the events up to its position. Returns the position.
fn check_view(snapshot: &Snapshot) -> u64 {
    let position = snapshot.consumer_position("bytes").unwrap().0;
    let txn = snapshot.txn();
    let sum = txn.open_table("bytes").ok().and_then(|table| txn.get(&table, "sum").unwrap());
    let Some(sum) = sum else {
        assert_eq!(position, 0, "the view is empty");
        return 0;
    };
    let sum = numbers(&sum);
    let bytes: u64 = (sum[2]..position).map(|position| length(position) as u64).sum();
    assert_eq!(sum, [position - sum[2], bytes, sum[2]], "the view up to {position}");
    position
}

#[test]
fn a_power_cut_loses_no_event_that_was_acknowledged_or_seen_and_no_view_counts_twice() {
    let number = |name: &str| std::env::var(name).ok().map(|number| number.parse().unwrap());
    let (seed, images) = (number("EVENTS_SEED"), number("EVENTS_IMAGES"));
    let image = std::env::var("EVENTS_IMAGE").ok();
    let run = run_cuts::<Session>(seed.unwrap_or_else(drawn_seed), images.unwrap_or(IMAGES), image.as_deref());
    assert!(run.unwrap(), "an image is wrong");
}

const PATH: &str = "events.ful";
/// What is noted on the disk: the stream of each event in order, and how many events an append has begun to add, were
/// acknowledged, seen, and folded.
const STREAM: &str = "stream";
const BEGUN: &str = "begun";
const APPENDED: &str = "appended";
const SEEN: &str = "seen";
const FOLDED: &str = "folded";
/// How often a session opens the store, and how many operations it does each time.
const OPENINGS: u64 = 3;
const ROUNDS: u64 = 25;
/// The newest events whose ids are recognised. Retention keeps fewer events, so it joins chunks, and removes others.
const ID_WINDOW: u64 = 120;
/// Streams of a wide transaction.
const WIDE_STREAMS: u64 = 20;
/// Images of a run that says nothing else.
const IMAGES: u64 = 400;
