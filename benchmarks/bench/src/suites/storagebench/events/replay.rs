//! A report from all events, by one thread and by two, from each encoding.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ::fulgurite::Durability;
use fulgurite_events::{Event, EventStore, Position, Snapshot};
use fulgurite_inventory::{AuctionCodec, AuctionReport, FlatBufferAuctions, ProtobufAuctions};

use crate::error::{Error, Result};
use crate::floors::floor::Floor;
use crate::floors::probe::Setting;
use crate::floors::rounds::{self, probes, rows_of};
use crate::harness::row::Row;
use crate::measure::clock::{Charge, Sample, Stopwatch};
use crate::measure::machine::kibibytes_of;
use crate::measure::space;
use crate::suites::storagebench::events::auctions::{self, failed};
use crate::suites::storagebench::events::cold::{self, Closed};
use crate::suites::storagebench::inventory::figures;
use crate::suites::storagebench::suite::Suite;
use crate::suites::storagebench::workload::{FLATBUFFERS, PROTOBUF, SUITE, Workload};

/// A log of events in one encoding.
struct Log {
    row: Row,
    store: EventStore,
    directory: PathBuf,
    file: PathBuf,
    /// Bytes of the file for an event.
    bytes: f64,
}

/// How many events are replayed.
struct Extent {
    events: u64,
    /// The same, by those that the bars are about.
    part: f64,
}

/// Measures both encodings, one after the other: the page cache need not have room for both logs.
///
/// # Errors
/// Reports that differ; what the store answered.
pub fn measure(suite: &mut Suite<'_>) -> Result<()> {
    if !suite.is_measured() {
        return Ok(());
    }
    let extent = extent(suite)?;
    let bandwidths = bandwidths(suite);
    let from_flatbuffers = with_codec::<FlatBufferAuctions>(suite, FLATBUFFERS, &extent, bandwidths)?;
    let from_protobuf = with_codec::<ProtobufAuctions>(suite, PROTOBUF, &extent, bandwidths)?;
    match from_flatbuffers == from_protobuf {
        true => Ok(()),
        false => Err(Error::Wrong { workload: "replay", what: "the reports of the two encodings differ".to_owned() }),
    }
}

/// Fills a log, replays it in rounds, and removes it. Returns the report.
fn with_codec<C: AuctionCodec>(
    suite: &mut Suite<'_>,
    codec: &'static str,
    extent: &Extent,
    bandwidths: [f64; 2],
) -> Result<AuctionReport> {
    let mut log = log::<C>(suite, codec, extent.events)?;
    let mut expected = None;
    for round in 0..=suite.options.rounds {
        let snapshot = log.store.snapshot().map_err(failed("snapshot"))?;
        let (alone, report) = replay::<C>(&snapshot, 1)?;
        let (together, other) = replay::<C>(&snapshot, 2)?;
        let expected = expected.get_or_insert_with(|| report.clone());
        if report != *expected || other != *expected || expected.events() != extent.events {
            let what = format!("the reports of {} events in {codec} differ, or miss events", extent.events);
            return Err(Error::Wrong { workload: "replay", what });
        }
        // The first round maps the pages of the file.
        if round > 0 {
            log.note(&alone, &together, bandwidths, extent.part);
        }
    }
    let Log { row, store, directory, file, bytes } = log;
    let payload_bytes = row.value_bytes;
    store.database().clone().close().map_err(|error| failed("close")(error.into()))?;
    drop(store);
    suite.add(row);
    let expected = expected.unwrap_or_default();
    if codec == FLATBUFFERS {
        let replay = replay::<C>;
        let (directory, file, expected) = (&directory, &file, &expected);
        cold::measure(suite, &Closed { directory, file, bytes, payload_bytes, expected, replay })?;
    }
    suite.places.remove(Workload::Replay.name())?;
    Ok(expected)
}

impl Log {
    fn note(&mut self, alone: &Sample, together: &Sample, bandwidths: [f64; 2], part: f64) {
        let mut figures = figures(alone);
        figures.set(EVENTS_PART, part);
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

/// As many events as are asked for, or as memory and disk have room for.
fn extent(suite: &mut Suite<'_>) -> Result<Extent> {
    let wanted = match (suite.options.quick, suite.options.full) {
        (true, _) => EVENTS_QUICK,
        (_, true) => EVENTS_FULL,
        _ => EVENTS,
    };
    let wanted = suite.options.events.map_or(wanted, |events| events as u64);
    let memory = kibibytes_of("/proc/meminfo", "MemAvailable") * 1024;
    let disk = space::available_bytes(suite.places.path())?;
    // Logs that are kept take space of the disk together. The page cache needs one at a time.
    let logs = if suite.options.keep { 2 } else { 1 };
    // A part of the memory is left to the rest.
    let fitting = (memory / 4 * 3 / MEMORY_BYTES).min(disk / (logs * DISK_BYTES));
    if fitting < wanted {
        let gigabytes = |bytes_each: u64| wanted.saturating_mul(bytes_each).div_ceil(1_000_000_000);
        let (memory, disk) = (gigabytes(MEMORY_BYTES.div_ceil(3) * 4), gigabytes(logs * DISK_BYTES));
        suite.note(format!(
            "replay: {fitting} events: {wanted} need {memory} GB of available memory and {disk} GB of the disk"
        ));
    }
    let events = wanted.min(fitting);
    Ok(Extent { events, part: events as f64 / wanted.min(EVENTS) as f64 })
}

/// Reading memory in order by one thread and by two, in GB/s.
fn bandwidths(suite: &mut Suite<'_>) -> [f64; 2] {
    let directory = suite.places.path().join("bandwidth");
    let measured = fs::create_dir_all(&directory).is_ok();
    let (span, memory_bytes) = match suite.options.quick {
        true => (Duration::from_millis(2), 16 << 20),
        false => (Duration::from_millis(200), 512 << 20),
    };
    let extent = rounds::Extent { span, memory_bytes, file_bytes: 1 << 20 };
    let (setting, _) = Setting::fitting(&directory, suite.seed, extent);
    let rows = rows_of(probes(&setting), 3, |floor| measured && [Floor::Read1, Floor::Read2].contains(&floor));
    let of = |floor| rows.iter().find(|row| row.floor == floor).and_then(|row| row.median()).unwrap_or(f64::NAN);
    let found = [of(Floor::Read1), of(Floor::Read2)];
    suite.note(format!("reading memory in order: {:.1} GB/s by one thread, {:.1} by two", found[0], found[1]));
    found
}

fn log<C: AuctionCodec>(suite: &mut Suite<'_>, codec: &'static str, events: u64) -> Result<Log> {
    let directory = suite.places.fresh(Workload::Replay.name(), codec)?;
    let file = directory.join("events.ful");
    suite.progress(&format!("replay: appending {events} events in {codec}"));
    let begun = Instant::now();
    let store = EventStore::options().durability(Durability::Log).create(&file).map_err(failed("create"))?;
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
    Ok(Log { row, store, directory, file, bytes })
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

/// The name of a figure: events that were replayed, by those that the bars of replays are about.
pub const EVENTS_PART: &str = "of the events that its bars are about";
/// The name of a figure: how many times as fast two threads are.
pub const TWO_THREADS: &str = "times as fast by two threads";
/// The name of a figure: bytes of events that two threads read, by what they can read at most.
pub const BANDWIDTH: &str = "of the memory bandwidth of two threads, by two";
/// Events with `--quick`: both logs are appended and replayed in some seconds.
const EVENTS_QUICK: u64 = 1_000_000;
/// Events that the bars are about, unless the options ask for fewer.
const EVENTS: u64 = 100_000_000;
const EVENTS_FULL: u64 = 400_000_000;
/// Events of a transaction.
const PER_TRANSACTION: u64 = 10_000;
/// Bytes of an event in a chunk of the log beside its payload.
const EVENT_HEADER_BYTES: usize = 24;
/// What an event takes of memory, at most.
const MEMORY_BYTES: u64 = 140;
/// What an event takes of the disk, with the log of the engine, at most.
const DISK_BYTES: u64 = 250;
