//! A replay of a log that the page cache does not have, beside what the disk reads in order.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use ::fulgurite::Durability;
use fulgurite_events::{EventStore, Snapshot};
use fulgurite_inventory::AuctionReport;

use crate::error::{Error, Result};
use crate::measure::clock::Sample;
use crate::measure::page_cache::evict_below;
use crate::suites::storagebench::events::auctions::failed;
use crate::suites::storagebench::inventory::figures;
use crate::suites::storagebench::suite::{Suite, log_row};

/// The name of the row. It has no bar.
pub const REPLAY_COLD: &str = "replay_cold";

/// A closed log, and how it is replayed.
pub struct Closed<'l> {
    /// The directory that has nothing but the files of the log.
    pub directory: &'l Path,
    /// The file of the log.
    pub file: &'l Path,
    /// Bytes of the file for an event.
    pub bytes: f64,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// The report that a replay must make.
    pub expected: &'l AuctionReport,
    /// Makes the report by so many threads.
    pub replay: fn(&Snapshot, usize) -> Result<(Sample, AuctionReport)>,
}

/// Measures replays by one thread, each after the page cache has lost the log.
///
/// # Errors
/// A wrong report; what the store or the disk answered.
pub fn measure(suite: &mut Suite<'_>, log: &Closed<'_>) -> Result<()> {
    let mut row = log_row(REPLAY_COLD, log.expected.events() as usize, log.payload_bytes, "fulgurite");
    for _ in 0..suite.options.rounds {
        evict_below(log.directory)?;
        let disk = disk_gigabytes_per_second(log.file)?;
        evict_below(log.directory)?;
        let sample = replayed(log)?;
        let mut figures = figures(&sample);
        let rate = sample.operations_per_second() * log.bytes / 1e9;
        figures.set("GB/s from the disk", rate);
        figures.set("GB/s that the disk reads in order", disk);
        figures.set("of what the disk reads", rate / disk);
        row.rounds.push(figures);
    }
    suite.add(row);
    Ok(())
}

/// Opens the log, replays it, and closes it.
fn replayed(log: &Closed<'_>) -> Result<Sample> {
    let store = EventStore::options().durability(Durability::Log).create(log.file).map_err(failed("open"))?;
    let snapshot = store.snapshot().map_err(failed("snapshot"))?;
    let (sample, report) = (log.replay)(&snapshot, 1)?;
    drop(snapshot);
    store.database().clone().close().map_err(|error| failed("close")(error.into()))?;
    match report == *log.expected {
        true => Ok(sample),
        false => Err(Error::Wrong { workload: REPLAY_COLD, what: "the report differs from the first one".to_owned() }),
    }
}

/// Reads the begin of a file in order.
fn disk_gigabytes_per_second(path: &Path) -> Result<f64> {
    let io = |error| Error::io("read", path, error);
    let mut file = File::open(path).map_err(io)?;
    let (mut buffer, mut bytes, begun) = (vec![0; CALL_BYTES], 0, Instant::now());
    while bytes < DISK_BYTES {
        match file.read(&mut buffer).map_err(io)? {
            0 => break,
            length => bytes += length,
        }
    }
    Ok(bytes as f64 / begun.elapsed().as_nanos() as f64)
}

/// Bytes of a call.
const CALL_BYTES: usize = 4 << 20;
/// Bytes that show what the disk can do.
const DISK_BYTES: usize = 1 << 30;
