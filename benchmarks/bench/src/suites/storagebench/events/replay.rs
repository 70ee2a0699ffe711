//! A report from all events, by one thread and by two, from both encodings.

use std::fs;
use std::time::{Duration, Instant};

use ::fulgurite::Durability;
use fulgurite_events::{Event, EventStore, Position, Snapshot};
use fulgurite_inventory::{AuctionCodec, AuctionReport, FlatBufferAuctions, ProtobufAuctions};

use crate::error::{Error, Result};
use crate::floors::floor::Floor;
use crate::floors::probe::Setting;
use crate::floors::rounds::{Extent, probes, rows_of};
use crate::harness::row::Row;
use crate::measure::clock::{Charge, Sample, Stopwatch};
use crate::measure::machine::kibibytes_of;
use crate::measure::rounds::order;
use crate::measure::space;
use crate::suites::storagebench::events::auctions::{self, failed};
use crate::suites::storagebench::inventory::figures;
use crate::suites::storagebench::suite::Suite;
use crate::suites::storagebench::workload::{FLATBUFFERS, PROTOBUF, SUITE, Workload};

/// A log of events in one encoding.
struct Log {
    row: Row,
    store: EventStore,
    /// Bytes of the file for an event.
    bytes: f64,
    replay: fn(&Snapshot, threads: usize) -> Result<(Sample, AuctionReport)>,
}

/// Measures both encodings.
///
/// # Errors
/// Reports that differ; what the store answered.
pub fn measure(suite: &mut Suite<'_>) -> Result<()> {
    if !suite.is_measured() {
        return Ok(());
    }
    let events = events(suite)?;
    let [one, two] = bandwidths(suite);
    let mut logs =
        vec![log::<FlatBufferAuctions>(suite, FLATBUFFERS, events)?, log::<ProtobufAuctions>(suite, PROTOBUF, events)?];
    for round in 0..=suite.options.rounds {
        let mut reports = Vec::new();
        for place in order(round, logs.len()) {
            let log = &mut logs[place];
            let snapshot = log.store.snapshot().map_err(failed("snapshot"))?;
            let (alone, report) = (log.replay)(&snapshot, 1)?;
            let (together, other) = (log.replay)(&snapshot, 2)?;
            reports.extend([report, other]);
            // The first round maps the pages of the file.
            if round > 0 {
                log.note(&alone, &together, [one, two]);
            }
        }
        let is_right = |report: &AuctionReport| *report == reports[0] && report.events() == events;
        if !reports.iter().all(is_right) {
            let what = format!("the reports of {events} events differ, or miss events");
            return Err(Error::Wrong { workload: "replay", what });
        }
    }
    let name = Workload::Replay.name();
    for Log { row, store, .. } in logs {
        store.database().clone().close().map_err(|error| failed("close")(error.into()))?;
        suite.add(row);
    }
    suite.places.remove(name)
}

impl Log {
    fn note(&mut self, alone: &Sample, together: &Sample, bandwidths: [f64; 2]) {
        let mut figures = figures(alone);
        let (rate, both) = (alone.operations_per_second(), together.operations_per_second());
        figures.set(TWO_THREADS, both / rate);
        figures.set("M events a second by two threads", both / 1e6);
        figures.set("GB/s by two threads", both * self.bytes / 1e9);
        figures.set("of the memory bandwidth of one thread, by one", rate * self.bytes / 1e9 / bandwidths[0]);
        figures.set(BANDWIDTH, both * self.bytes / 1e9 / bandwidths[1]);
        figures.set("minutes for 400M events, by one thread", 400e6 / rate / 60.0);
        self.row.rounds.push(figures);
    }
}

/// How many events are replayed: what disk and memory have room for.
fn events(suite: &mut Suite<'_>) -> Result<u64> {
    let wanted = match (suite.options.quick, suite.options.full) {
        (true, _) => EVENTS_QUICK,
        (_, true) => EVENTS_FULL,
        _ => EVENTS,
    };
    let wanted = suite.options.events.map_or(wanted, |events| events as u64);
    let memory = kibibytes_of("/proc/meminfo", "MemAvailable") * 1024;
    let disk = space::available_bytes(suite.places.path())?;
    // Both logs are in the page cache, and a part of the memory is left to the rest.
    let fitting = (memory / 4 * 3 / (2 * MEMORY_BYTES)).min(disk / DISK_BYTES);
    if fitting < wanted {
        suite.note(format!("replay: {fitting} events, not {wanted}: memory or disk have no room for more"));
    }
    Ok(wanted.min(fitting))
}

/// Reading memory in order by one thread and by two, in GB/s.
fn bandwidths(suite: &mut Suite<'_>) -> [f64; 2] {
    let directory = suite.places.path().join("bandwidth");
    let measured = fs::create_dir_all(&directory).is_ok();
    let (span, memory_bytes) = match suite.options.quick {
        true => (Duration::from_millis(2), 16 << 20),
        false => (Duration::from_millis(200), 512 << 20),
    };
    let extent = Extent { span, memory_bytes, file_bytes: 1 << 20 };
    let (setting, _) = Setting::fitting(&directory, suite.seed, extent);
    let rows = rows_of(probes(&setting), 3, |floor| measured && [Floor::Read1, Floor::Read2].contains(&floor));
    let of = |floor| rows.iter().find(|row| row.floor == floor).and_then(|row| row.median()).unwrap_or(f64::NAN);
    let found = [of(Floor::Read1), of(Floor::Read2)];
    suite.note(format!("reading memory in order: {:.1} GB/s by one thread, {:.1} by two", found[0], found[1]));
    found
}

fn log<C: AuctionCodec>(suite: &mut Suite<'_>, codec: &'static str, events: u64) -> Result<Log> {
    let directory = suite.places.fresh(Workload::Replay.name(), codec)?;
    suite.progress(&format!("replay: appending {events} events in {codec}"));
    let begun = Instant::now();
    let store = EventStore::options()
        .durability(Durability::Log)
        .create(directory.join("events.ful"))
        .map_err(failed("create"))?;
    auctions::append::<C>(&store, suite.seed, 0..events, PER_TRANSACTION)?;
    store.database().checkpoint().map_err(|error| failed("checkpoint")(error.into()))?;
    let rate = events as f64 / begun.elapsed().as_secs_f64();
    suite.progress(&format!("replay: appended, {:.2}M events a second with their encoding", rate / 1e6));
    let mut payload = Vec::new();
    C::default().encode(&auctions::event(suite.seed, 0), &mut payload);
    let row = Row {
        suite: SUITE,
        workload: Workload::Replay.with_codec(codec),
        shape: "log",
        value_bytes: payload.len(),
        claims: Workload::Replay.claims(codec),
        records: events as usize,
        level: "Log",
        engine: "fulgurite",
        rounds: Vec::new(),
        left_out: None,
    };
    let bytes = (payload.len() + EVENT_HEADER_BYTES).next_multiple_of(8) as f64;
    Ok(Log { row, store, bytes, replay: replay::<C> })
}

/// Makes the report. Events are read in place.
fn replay<C: AuctionCodec>(snapshot: &Snapshot, threads: usize) -> Result<(Sample, AuctionReport)> {
    let head = snapshot.head().map_err(failed("head"))?;
    let each = |(report, wrong): &mut (AuctionReport, u64), event: &Event<'_>| {
        *wrong += u64::from(C::add(event.payload, report).is_err());
    };
    let (sample, parts) = if threads == 1 {
        let watch = Stopwatch::start(Charge::Thread);
        let mut state = Default::default();
        snapshot.scan(Position::START.., |event| each(&mut state, event)).map_err(failed("scan"))?;
        (watch.pause(head.0), vec![state])
    } else {
        let watch = Stopwatch::start(Charge::Process);
        let all = snapshot.scan_parallel(Position::START.., threads, Default::default, each);
        (watch.pause(head.0), all.map_err(failed("scan"))?)
    };
    let mut report = AuctionReport::default();
    for (part, wrong) in parts {
        if wrong > 0 {
            return Err(Error::Wrong { workload: "replay", what: format!("{wrong} events cannot be read") });
        }
        report.merge(&part);
    }
    Ok((sample, report))
}

/// The name of a figure: how many times as fast two threads are.
pub const TWO_THREADS: &str = "times as fast by two threads";
/// The name of a figure: bytes of events that two threads read, by what they can read at most.
pub const BANDWIDTH: &str = "of the memory bandwidth of two threads, by two";
/// Events with `--quick`: both logs are appended and replayed in some seconds.
const EVENTS_QUICK: u64 = 1_000_000;
const EVENTS: u64 = 100_000_000;
const EVENTS_FULL: u64 = 400_000_000;
/// Events of a transaction.
const PER_TRANSACTION: u64 = 10_000;
/// Bytes of an event in a chunk of the log beside its payload.
const EVENT_HEADER_BYTES: usize = 24;
/// What an event takes of memory, at most.
const MEMORY_BYTES: u64 = 140;
/// What an event takes of the disk in both encodings, with the log of the engine.
const DISK_BYTES: u64 = 500;
