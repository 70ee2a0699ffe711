//! The names of everything that the suite of writers measures, and what each does.

use fulgurite_rivals::{Level, Settings, Usage};

use crate::harness::arguments;

/// A row of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Transactions of one put that survive the process.
    Put1Log,
    /// Transactions of one put that may be lost with the process.
    Put1Memory,
    /// Serializable transactions of five puts.
    Txn5,
    /// Serializable transactions that move an amount between two accounts.
    Bank,
    /// Four gets for each put, each a transaction of its own.
    Mix80,
    /// Seven gets for three puts.
    Mix70,
    /// One thread that commits to the disk.
    Sync1,
    /// Eight threads that commit to the disk.
    Sync8,
    /// Thirty-two threads that commit to the disk.
    Sync32,
    /// Transactions of one put, the disk synced after each hundred.
    Sync100,
    /// [`Workload::Put1Log`] by one thread and by two on different keys.
    TwoPut1,
    /// [`Workload::Txn5`] by one thread and by two on different keys.
    TwoTxn5,
    /// Two threads; each takes every tenth key from a few that both use.
    TwoOverlap,
    /// Transactions that add to one of few counters, by a get and a put.
    CountersPut,
    /// The same by the engine's merge operator, if it has one.
    CountersMerge,
    /// Commits of 1,000 puts.
    Batch1000,
    /// Commits of 10,000 puts.
    Batch10000,
    /// Opening after a kill, with 64 MiB of records in the log.
    Recovery64,
    /// Opening after a kill, with 1 GiB of records in the log.
    Recovery1024,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 19] = [
        Self::Put1Log,
        Self::Put1Memory,
        Self::Txn5,
        Self::Bank,
        Self::Mix80,
        Self::Mix70,
        Self::Sync1,
        Self::Sync8,
        Self::Sync32,
        Self::Sync100,
        Self::TwoPut1,
        Self::TwoTxn5,
        Self::TwoOverlap,
        Self::CountersPut,
        Self::CountersMerge,
        Self::Batch1000,
        Self::Batch10000,
        Self::Recovery64,
        Self::Recovery1024,
    ];

    /// Its name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Put1Log => "put1_log",
            Self::Put1Memory => "put1_memory",
            Self::Txn5 => "txn5",
            Self::Bank => "bank",
            Self::Mix80 => "mix80",
            Self::Mix70 => "mix70",
            Self::Sync1 => "sync1",
            Self::Sync8 => "sync8",
            Self::Sync32 => "sync32",
            Self::Sync100 => "sync100",
            Self::TwoPut1 => "two_put1",
            Self::TwoTxn5 => "two_txn5",
            Self::TwoOverlap => "two_overlap",
            Self::CountersPut => "counters_put",
            Self::CountersMerge => "counters_merge",
            Self::Batch1000 => "batch_1000",
            Self::Batch10000 => "batch_10000",
            Self::Recovery64 => "recovery_64",
            Self::Recovery1024 => "recovery_1024",
        }
    }

    /// The workload of that name, or all whose names begin with it and a number or a further word.
    pub fn named(name: &str) -> Option<Vec<Self>> {
        if let Some(exact) = Self::ALL.into_iter().find(|workload| workload.name() == name) {
            return Some(vec![exact]);
        }
        let belongs = |rest: &str| rest.starts_with('_') || rest.starts_with(|letter: char| letter.is_ascii_digit());
        let family = |workload: &Self| workload.name().strip_prefix(name).is_some_and(belongs);
        let found: Vec<Self> = Self::ALL.into_iter().filter(family).collect();
        (!found.is_empty()).then_some(found)
    }

    /// What it does; `None` for recoveries, which are no rounds of transactions.
    pub fn definition(self) -> Option<Definition> {
        let single = |level| Definition {
            settings: Settings { level, usage: Usage::SingleOperations },
            threads: &[1],
            transaction: Transaction::Single,
            per_transaction: 1,
            mixture: Mixture::Puts,
            settling: Settling::Charged,
        };
        let transactions = Definition {
            settings: Settings { level: Level::Log, usage: Usage::Transactions },
            transaction: Transaction::Serializable,
            per_transaction: 5,
            ..single(Level::Log)
        };
        let synced = |threads| Definition { threads, settling: Settling::Free, ..single(Level::Disk) };
        let two = |definition| Definition { threads: &[1, 2], settling: Settling::Free, ..definition };
        let batches =
            |puts| Definition { transaction: Transaction::Batch, per_transaction: puts, ..single(Level::Log) };
        let counters = |usage, mixture| {
            let settings = Settings { level: Level::Log, usage };
            two(Definition { settings, per_transaction: 1, mixture, ..transactions })
        };
        Some(match self {
            Self::Put1Log => single(Level::Log),
            Self::Put1Memory => single(Level::Memory),
            Self::Txn5 => transactions,
            Self::Bank => Definition { per_transaction: 2, mixture: Mixture::Transfers, ..transactions },
            Self::Mix80 => Definition { mixture: Mixture::Gets { percent: 80 }, ..single(Level::Log) },
            Self::Mix70 => Definition { mixture: Mixture::Gets { percent: 70 }, ..single(Level::Log) },
            Self::Sync1 => synced(&[1]),
            Self::Sync8 => synced(&[8]),
            Self::Sync32 => synced(&[32]),
            Self::Sync100 => Definition { transaction: Transaction::SingleSynced { every: 100 }, ..single(Level::Log) },
            Self::TwoPut1 => two(single(Level::Log)),
            Self::TwoTxn5 => two(transactions),
            Self::TwoOverlap => Definition { threads: &[2], mixture: Mixture::Overlap, ..two(transactions) },
            Self::CountersPut => counters(Usage::Transactions, Mixture::Counters),
            Self::CountersMerge => counters(Usage::Counters, Mixture::MergedCounters),
            Self::Batch1000 => batches(1_000),
            Self::Batch10000 => batches(10_000),
            Self::Recovery64 | Self::Recovery1024 => return None,
        })
    }

    /// Records in the log of a recovery, each of [`RECOVERY_RECORD_BYTES`].
    pub fn recovery_records(self) -> Option<usize> {
        let mebibytes = match self {
            Self::Recovery64 => 64,
            Self::Recovery1024 => 1024,
            _ => return None,
        };
        Some((mebibytes << 20) / RECOVERY_RECORD_BYTES)
    }

    /// Whether the final space of the stores is part of the report: one workload for each kind of store is enough.
    pub fn reports_space(self) -> bool {
        matches!(self, Self::Put1Log | Self::Txn5)
    }

    /// Length of its values: counters are nothing but numbers.
    pub fn value_bytes(self) -> usize {
        if matches!(self, Self::CountersPut | Self::CountersMerge) { 8 } else { 100 }
    }

    /// Transactions of a round: enough to see that everything works, or enough for the bars.
    pub fn transactions(self, quick: bool) -> usize {
        let full = match self {
            Self::Put1Log | Self::Put1Memory | Self::Mix80 | Self::Mix70 => 2_000_000,
            Self::TwoPut1 => 1_000_000,
            Self::Txn5 | Self::Bank => 400_000,
            Self::TwoTxn5 | Self::TwoOverlap => 200_000,
            Self::CountersPut | Self::CountersMerge => 500_000,
            Self::Sync1 => 2_000,
            Self::Sync8 | Self::Sync32 => 8_000,
            Self::Sync100 => 100_000,
            Self::Batch1000 => 2_000,
            Self::Batch10000 => 200,
            Self::Recovery64 | Self::Recovery1024 => 0,
        };
        match self {
            Self::Sync1 | Self::Sync8 | Self::Sync32 if quick => 64,
            Self::Batch1000 | Self::Batch10000 if quick => 2,
            _ if quick => 2_000,
            _ => full,
        }
    }
}

/// Key and value of a record of the recoveries.
pub const RECOVERY_RECORD_BYTES: usize = 144;

/// What a workload does.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// How the store is opened.
    pub settings: Settings,
    /// Threads that share a round, for each of its parts.
    pub threads: &'static [usize],
    /// How changes become transactions.
    pub transaction: Transaction,
    /// Steps in one of them.
    pub per_transaction: usize,
    /// What the steps are.
    pub mixture: Mixture,
    /// Whether settling is part of the cost.
    pub settling: Settling,
}

impl Definition {
    /// How many transactions run between two readings of the clock. Transactions that wait for the disk or have many
    /// puts are long enough to be timed one by one.
    pub fn batch(&self) -> usize {
        let are_long = self.settings.level == Level::Disk || self.transaction == Transaction::Batch;
        if are_long { 1 } else { crate::measure::clock::BATCH }
    }
}

/// How changes become transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Each by itself, by the engine's fastest way.
    Single,
    /// The same, with a sync after each so many.
    SingleSynced {
        /// How many.
        every: usize,
    },
    /// Puts that are committed together, by the engine's fastest way.
    Batch,
    /// Several in a transaction that is begun again when it is refused.
    Serializable,
}

/// What the steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixture {
    /// Puts, uniform over stored and absent keys.
    Puts,
    /// Gets of stored keys, and puts of them.
    Gets {
        /// Gets in a hundred steps.
        percent: usize,
    },
    /// An amount taken from one stored key and added to another.
    Transfers,
    /// One added to a counter that all threads share.
    Counters,
    /// The same by merges.
    MergedCounters,
    /// Puts, and for every tenth key one added to a counter that all threads share.
    Overlap,
}

/// Whether the work that commits defer is part of the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// The round.
    Charged,
    /// Nobody: what is measured is how fast commits are accepted.
    Free,
}

/// Unit of amounts that say how many commits share a wait for the disk.
pub const COMMITS_PER_FLUSH: &str = "commits a flush";

/// Unit of amounts that set two threads beside one.
pub const SPEED_UP: &str = "× the transactions a second of one thread";

/// Unit of processor times of large commits.
pub const CPU_PER_PUT: &str = "ns CPU a put";

/// Unit of wall times of recoveries.
pub const WALL: &str = "ms wall";

/// Unit of processor times of recoveries.
pub const CPU: &str = "ms CPU";

/// Length of the keys.
pub const KEY_BYTES: usize = 32;

/// Length of the values.
pub const VALUE_BYTES: usize = RECOVERY_RECORD_BYTES - KEY_BYTES;

/// How a store is opened that only single puts write to, as applications do.
pub fn at_log(usage: Usage) -> Settings {
    Settings { level: Level::Log, usage }
}
/// Options of `writers`.
pub type Options = arguments::Options<Workload>;

/// Rounds of each workload unless an option says otherwise.
pub const ROUNDS: usize = 5;

impl Default for Options {
    fn default() -> Self {
        Self::all(ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_alone_or_as_families() {
        for workload in Workload::ALL {
            assert_eq!(Workload::named(workload.name()), Some(vec![workload]));
        }
        assert_eq!(Workload::named("two").unwrap().len(), 3);
        assert_eq!(Workload::named("put1").unwrap(), [Workload::Put1Log, Workload::Put1Memory]);
        assert_eq!(Workload::named("s"), None);
    }

    #[test]
    fn batches_commit_many_puts_at_once_and_as_many_in_all() {
        for (workload, puts) in [(Workload::Batch1000, 1000), (Workload::Batch10000, 10_000)] {
            let definition = workload.definition().unwrap();
            assert_eq!((definition.per_transaction, definition.batch(), definition.threads), (puts, 1, &[1][..]));
            assert_eq!((definition.mixture, definition.settings.level), (Mixture::Puts, Level::Log));
            assert_eq!(workload.transactions(false) * puts, 2_000_000);
        }
        assert_eq!(Workload::named("batch").unwrap(), [Workload::Batch1000, Workload::Batch10000]);
    }

    #[test]
    fn every_workload_is_rounds_or_a_recovery() {
        for workload in Workload::ALL {
            assert_ne!(workload.definition().is_some(), workload.recovery_records().is_some());
        }
        assert_eq!(Workload::Recovery1024.recovery_records(), Some(7_456_540));
    }
}
