//! A run of the suite: what it was asked for, and what it has found so far.

use std::time::Instant;

use crate::harness::judge::MEASURED;
use crate::harness::report::Report;
use crate::harness::row::Row;
use crate::measure::places::Places;
use crate::suites::storagebench::contestant::Entry;
use crate::suites::storagebench::workload::{Options, SUITE};

/// A run.
pub struct Suite<'r> {
    /// What it was asked for.
    pub options: &'r Options,
    /// Where stores go.
    pub places: Places,
    /// The seed of content and operations.
    pub seed: u64,
    /// The engines that are measured.
    pub engines: Vec<Entry>,
    /// Names of the logs of events that are measured.
    pub logs: Vec<&'static str>,
    /// What was found.
    pub report: Report,
    started: Instant,
}

impl<'r> Suite<'r> {
    /// A run that begins now, with what is known so far.
    pub fn new(options: &'r Options, places: Places, seed: u64, engines: Vec<Entry>, report: Report) -> Self {
        Self { options, places, seed, engines, logs: Vec::new(), report, started: Instant::now() }
    }

    /// Shows what is done next.
    pub fn progress(&self, what: &str) {
        eprintln!("[{:>4} s] {what}", self.started.elapsed().as_secs());
    }

    /// Whether Fulgurite is measured: no other log is replayed here.
    pub fn is_measured(&self) -> bool {
        self.options.wants_engine(MEASURED)
    }

    /// Adds a result and shows it.
    pub fn add(&mut self, row: Row) {
        let of = |name| row.median(name).unwrap_or(f64::NAN);
        let (rate, cpu) = (of("ops_per_s"), of("cpu_ns_per_op"));
        self.progress(&format!("  {} of {}: {rate:.0} a second, {cpu:.0} ns CPU", row.workload, row.engine));
        self.report.rows.push(row);
    }

    /// Adds a remark.
    pub fn note(&mut self, note: String) {
        self.report.notes.push(note);
    }
}

/// A row, without rounds yet, of a log of events.
pub fn log_row(workload: &'static str, records: usize, value_bytes: usize, engine: &'static str) -> Row {
    Row {
        suite: SUITE,
        workload,
        shape: "log",
        value_bytes,
        claims: &[],
        records,
        level: "Log",
        engine,
        rounds: Vec::new(),
        left_out: None,
    }
}
