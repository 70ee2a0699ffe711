//! The names of everything that the suite of sustained writes measures, and how much each does.

use crate::harness::arguments;
use crate::measure::machine;

/// What an engine is made to do in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Random puts in transactions of a hundred, with gets beside them.
    Ingest,
    /// The same puts, each a transaction of its own.
    Put1,
    /// Puts of few keys mostly, above a larger base.
    Skewed,
    /// Puts of rising keys, above a larger base.
    Sequential,
    /// Databases that are open and not used.
    Idle,
    /// Reads and puts where the data is three times the memory.
    Bounded,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 6] = [Self::Ingest, Self::Put1, Self::Skewed, Self::Sequential, Self::Idle, Self::Bounded];

    /// Its name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Put1 => "put1",
            Self::Skewed => "skewed",
            Self::Sequential => "sequential",
            Self::Idle => "idle",
            Self::Bounded => "bounded",
        }
    }

    /// The workload of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// In which order keys are put.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Ingest | Self::Put1 | Self::Idle | Self::Bounded => Pattern::Uniform,
            Self::Skewed => Pattern::Skewed,
            Self::Sequential => Pattern::Sequential,
        }
    }

    /// Puts in a transaction.
    pub fn per_transaction(self) -> usize {
        if self == Self::Put1 { 1 } else { 100 }
    }

    /// Whether gets are measured beside and after the puts.
    pub fn reads(self) -> bool {
        self == Self::Ingest
    }
}

/// In which order keys are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Hashed keys, any as often as any other: four of stored ones, then a new one.
    Uniform,
    /// Hashed keys that are stored, by Zipf's law with the exponent 0.99.
    Skewed,
    /// New keys, each above the last.
    Sequential,
}

/// How much a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Records loaded at first.
    pub base: usize,
    /// Puts.
    pub puts: usize,
    /// Gets of stored, and of absent keys, each time that they are measured.
    pub gets: usize,
    /// Short scans likewise.
    pub seeks: usize,
    /// Databases open at once.
    pub databases: usize,
    /// How long is watched what takes no number of operations.
    pub span_ms: usize,
}

/// Records of the base unless the options say otherwise, of `ingest` and of the workloads that are measured by it.
pub const RECORDS: usize = 10_000_000;

/// The same for `--quick`.
pub const RECORDS_QUICK: usize = 250_000;

/// The most records of a larger base: with all puts above it, the keys suffice for no more.
const LARGE_MAX: usize = 50_000_000;

/// Records of a base that is three times as large as some memory, so that an engine can live in that.
const BOUNDED_MIN: usize = 4_000_000;

/// Memory that a record of the larger base takes up in the most demanding engine while it is loaded, and the harness
/// beside it.
const BYTES_PER_LARGE_RECORD: u64 = 1000;

impl Size {
    /// What `workload` does when the base has so many `records`.
    pub fn of(workload: Workload, records: usize, quick: bool) -> Self {
        Self {
            base: match workload {
                Workload::Skewed | Workload::Sequential => large_base(records, machine::memory_bytes()),
                Workload::Bounded => records.max(BOUNDED_MIN),
                _ => records,
            },
            puts: 2 * records,
            gets: (records / 2).clamp(1000, 500_000),
            seeks: (records / 50).clamp(100, 20_000),
            databases: if quick { 50 } else { 1000 },
            span_ms: if quick { 1000 } else { 10_000 },
        }
    }
}

/// Five times the records, or what the machine's memory allows.
pub fn large_base(records: usize, memory_bytes: u64) -> usize {
    const LARGER: usize = 5;
    // Whole millions read better, where there are any.
    let allowed = (memory_bytes / BYTES_PER_LARGE_RECORD) as usize;
    let allowed = if allowed > 1_000_000 { allowed / 1_000_000 * 1_000_000 } else { allowed };
    (LARGER * records).min(LARGE_MAX).min(allowed).max(records)
}

/// A time that a task measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// All puts, until the last is acknowledged.
    Puts,
    /// The same until all is one tree.
    Settled,
    /// Gets of stored keys while puts go on.
    HitDuring,
    /// Gets of stored keys after the last put, before settling.
    HitDebt,
    /// Gets of absent keys likewise.
    MissDebt,
    /// Scans of a hundred records likewise.
    SeekDebt,
    /// Gets of stored keys after settling.
    HitRest,
    /// Gets of absent keys after settling.
    MissRest,
    /// Scans of a hundred records after settling.
    SeekRest,
    /// Gets where memory is short.
    BoundedGet,
    /// Nineteen gets for each put where memory is short.
    BoundedMix,
}

impl Measure {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 11] = [
        Self::Puts,
        Self::Settled,
        Self::HitDuring,
        Self::HitDebt,
        Self::MissDebt,
        Self::SeekDebt,
        Self::HitRest,
        Self::MissRest,
        Self::SeekRest,
        Self::BoundedGet,
        Self::BoundedMix,
    ];

    /// Its name among the words of a task's answer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Puts => "puts",
            Self::Settled => "settled",
            Self::HitDuring => "get_hit_during",
            Self::HitDebt => "get_hit_debt",
            Self::MissDebt => "get_miss_debt",
            Self::SeekDebt => "seek100_debt",
            Self::HitRest => "get_hit_rest",
            Self::MissRest => "get_miss_rest",
            Self::SeekRest => "seek100_rest",
            Self::BoundedGet => "bounded_get",
            Self::BoundedMix => "bounded_mix",
        }
    }

    /// Its name in reports: reads are measured in one workload alone, puts in several.
    pub fn title(self, workload: Workload) -> &'static str {
        match (self, workload) {
            (Self::Puts, _) => workload.name(),
            (Self::Settled, Workload::Put1) => "put1_settled",
            (Self::Settled, Workload::Skewed) => "skewed_settled",
            (Self::Settled, Workload::Sequential) => "sequential_settled",
            (Self::Settled, _) => "ingest_settled",
            _ => self.name(),
        }
    }
}

/// A figure that is not a time of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Bytes that the engine gave to the system, by calls or through memory, for each byte of keys and values put.
    Passed,
    /// Bytes of pages that the system has to write to the device, for each byte of keys and values put.
    Device,
    /// The most space since the load, divided by all keys and values at the end.
    SpacePeak,
    /// Space taken when settled.
    SpaceSettled,
    /// Longest wall time of a batch of puts, in milliseconds.
    Pause,
    /// 99.9th percentile of the same.
    P999,
    /// Private memory of all databases together, in MiB.
    IdleMemory,
    /// Threads that woke up by themselves.
    IdleAwake,
    /// How often they did.
    IdleWakes,
    /// Threads that there are.
    IdleThreads,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Passed,
        Self::Device,
        Self::SpacePeak,
        Self::SpaceSettled,
        Self::Pause,
        Self::P999,
        Self::IdleMemory,
        Self::IdleAwake,
        Self::IdleWakes,
        Self::IdleThreads,
    ];

    /// Its name among the words of a task's answer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Device => "device",
            Self::SpacePeak => "space_peak",
            Self::SpaceSettled => "space_settled",
            Self::Pause => "pause",
            Self::P999 => "p999",
            Self::IdleMemory => "idle_memory",
            Self::IdleAwake => "idle_awake",
            Self::IdleWakes => "idle_wakes",
            Self::IdleThreads => "idle_threads",
        }
    }

    /// What the report says behind the number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Passed => "bytes written per user byte",
            Self::Device => "bytes for the device per user byte",
            Self::SpacePeak => "× raw data at most",
            Self::SpaceSettled => "× raw data settled",
            Self::Pause => "ms longest batch",
            Self::P999 => "ms p99.9 of a batch",
            Self::IdleMemory => "MiB RssAnon",
            Self::IdleAwake => "threads awake",
            Self::IdleWakes => "wake-ups",
            Self::IdleThreads => "threads",
        }
    }
}

/// Options of `sustained`.
pub type Options = arguments::Options<Workload>;

/// Rounds of each workload unless an option says otherwise.
pub const ROUNDS: usize = 1;

impl Default for Options {
    fn default() -> Self {
        Self::all(ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_read_back_and_titles_differ() {
        for workload in Workload::ALL {
            assert_eq!(Workload::from_name(workload.name()), Some(workload));
        }
        assert_eq!(Workload::from_name("swim"), None);
        let put = [Workload::Ingest, Workload::Put1, Workload::Skewed, Workload::Sequential];
        let titles = Measure::ALL.into_iter().flat_map(|measure| put.map(|workload| measure.title(workload)));
        assert_eq!(titles.collect::<HashSet<_>>().len(), 2 * put.len() + Measure::ALL.len() - 2);
        assert_eq!(Figure::ALL.map(Figure::unit).into_iter().collect::<HashSet<_>>().len(), Figure::ALL.len());
    }

    #[test]
    fn the_larger_base_is_what_memory_allows() {
        assert_eq!(large_base(10_000_000, 1 << 40), 50_000_000);
        assert_eq!(large_base(20_000_000, 1 << 40), 50_000_000);
        assert_eq!(large_base(10_000_000, 24 << 30), 25_000_000);
        assert_eq!(large_base(1000, 24 << 30), 5000);
        assert_eq!(large_base(10_000_000, 1 << 30), 10_000_000);
    }
}
