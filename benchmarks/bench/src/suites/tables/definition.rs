//! What a suite of tables and each of its workloads are made of.

use fulgurite_rivals::Level;

use crate::data::shape::Shape;
use crate::harness::row::Claim;
use crate::suites::tables::lengths::Lengths;

/// A suite whose workloads are rows of the tables of one report.
#[derive(Clone, Copy, Debug)]
pub struct TableSuite {
    /// Its name.
    pub name: &'static str,
    /// What it measures, in one sentence.
    pub about: &'static str,
    /// Further sentences of its help: what is beside the figures, and what memory and disk it needs.
    pub details: &'static str,
    /// What `--records` counts.
    pub records: &'static str,
    /// Its workloads, in the order of the report.
    pub definitions: &'static [Definition],
}

/// The part of an engine's data that its cache holds in [`Kind::Cache`]: one in so many bytes.
pub const CACHED_PART: usize = 10;

/// A workload: a row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What is done, in words.
    pub about: &'static str,
    /// Kind of key.
    pub shape: Shape,
    /// How long values are.
    pub lengths: Lengths,
    /// What is done.
    pub kind: Kind,
    /// What the report claims of it.
    pub claims: &'static [Claim],
    /// What a commit survives, where that is not for the options to say.
    pub level: Option<Level>,
}

impl Definition {
    /// A workload at the level of the options.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        (shape, lengths): (Shape, Lengths),
        kind: Kind,
        claims: &'static [Claim],
    ) -> Self {
        Self { name, about, shape, lengths, kind, claims, level: None }
    }
}

/// What is done with a store.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Operations one after the other.
    Steps(Steps),
    /// A checkpoint, which is a copy of the synced files, of so many records, and its opening.
    Checkpoint(usize),
    /// So many times so many records and a checkpoint, which is opened and compared.
    Cycles(usize, usize),
    /// So many batches of so many records, and the space after each.
    Growth(usize, usize),
    /// So many times so many operations, half puts and half gets, and the memory before and after.
    Memory(usize, usize),
    /// Scans.
    Ranges(Ranges),
    /// So many records, whose keys rise, into an empty store by the engine's own way.
    BulkLoad(usize),
    /// So many records, and the memory that they take when each was got.
    MemoryPerKey(usize),
    /// Gets by more and more threads.
    Scaling(Scaling),
    /// A part of the work on a graph of so many nodes.
    Graph(GraphPart, usize),
    /// As many gets and puts by Zipf's law as records; the cache may hold a tenth of them.
    Cache(usize),
    /// Operations that begin when they are due.
    OpenLoop(Steps),
    /// The opening of a store whose writer was killed when it had put so many records.
    Recovery(usize),
    /// So many times a writer of so many records is killed.
    Kills(usize, usize),
    /// Nothing: what the report measures is not there.
    NotYet,
}

/// Gets of loaded records.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    /// Records.
    pub loaded: usize,
    /// Gets of all threads together.
    pub count: usize,
    /// How many threads there are, one number after the other.
    pub threads: &'static [usize],
}

/// What is timed of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphPart {
    /// Putting its edges.
    Put,
    /// Gets of nodes.
    Lookups,
    /// All edges of a node.
    Neighbours,
    /// All edges of a node, and all of each of its neighbours.
    TwoHops,
}

/// Operations one after the other, in each of so many threads.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Records that are loaded first.
    pub loaded: usize,
    /// Operations of all threads together.
    pub count: usize,
    /// Threads; each changes its own records, and reads those.
    pub threads: usize,
    /// Which operations.
    pub mixture: Mixture,
    /// The records that they use, and in which order.
    pub order: Order,
    /// What operations share.
    pub grouping: Grouping,
}

/// Scans by one thread, each from a record that is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Ranges {
    /// Records.
    pub loaded: usize,
    /// Scans.
    pub count: usize,
    /// What each of them gives.
    pub span: Span,
}

/// What a scan gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// So many records, rising.
    Forward(usize),
    /// So many records, falling.
    Back(usize),
    /// All records whose keys differ only in their last byte.
    Prefix,
}

/// Shares of operations, in a hundred; the rest are gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixture {
    /// Puts of stored keys.
    pub updates: u8,
    /// Puts of new keys.
    pub inserts: u8,
    /// Scans from stored keys.
    pub scans: u8,
    /// A get and a put of the same key, one after the other.
    pub read_modify_writes: u8,
    /// Gets of keys that are not stored.
    pub misses: u8,
    /// Additions to a few records that all threads share: a get and a put, in a transaction.
    pub additions: u8,
    /// Two additions, to any two records, which make up for each other.
    pub transfers: u8,
}

impl Mixture {
    /// Gets alone.
    pub const GETS: Self =
        Self { updates: 0, inserts: 0, scans: 0, read_modify_writes: 0, misses: 0, additions: 0, transfers: 0 };
    /// Puts of new keys alone.
    pub const INSERTS: Self = Self { inserts: 100, ..Self::GETS };
    /// Puts of stored keys alone.
    pub const UPDATES: Self = Self { updates: 100, ..Self::GETS };
    /// Transfers alone.
    pub const TRANSFERS: Self = Self { transfers: 100, ..Self::GETS };

    /// Whether nothing is changed.
    pub fn reads_alone(self) -> bool {
        self.updates == 0 && self.inserts == 0 && self.read_modify_writes == 0 && !self.adds()
    }

    /// Whether something is added to records.
    pub fn adds(self) -> bool {
        self.additions > 0 || self.transfers > 0
    }
}

/// Which records operations use; new ones come in rising order, except for [`Order::Shuffled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    Rising,
    /// Each new one once, in no order.
    Shuffled,
    /// Any, all equally likely.
    Uniform,
    /// By Zipf's law with the exponent 0.99, the frequent ones spread over all.
    Zipf,
    /// By the same law, the newest most frequently.
    Latest,
    /// From the first of the newest so many on; a scan gives all of them.
    Window(usize),
}

/// What operations share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Each is alone: a put is a transaction, a get sees the newest state.
    Each,
    /// So many puts are a batch, which is committed at once.
    Every(usize),
    /// All puts are one.
    All,
    /// So many operations are a serializable transaction, which counts as one, and is begun again if it is refused.
    Transactions(usize),
    /// So many gets share a read transaction, which counts as one.
    Snapshots(usize),
}

impl Grouping {
    /// Whether operations are begun again when they are refused.
    pub fn is_refusable(self) -> bool {
        matches!(self, Self::Transactions(_))
    }

    /// Operations that are counted as one.
    pub fn counted(self) -> usize {
        match self {
            Self::Each | Self::Every(_) | Self::All => 1,
            Self::Transactions(count) | Self::Snapshots(count) => count,
        }
    }
}

/// A quick run does this part of the operations, on this part of the records.
const QUICK_PART: usize = 10;

/// It kills this part of the writers.
const QUICK_KILLS_PART: usize = 5;

/// Fewer are not worth a transaction.
const QUICK_MIN: usize = 10;

impl Kind {
    /// The same for a quick run.
    pub fn quick(self) -> Self {
        let part = |count: usize| if count <= QUICK_MIN { count } else { (count / QUICK_PART).max(QUICK_MIN) };
        match self {
            Self::Steps(steps) => Self::Steps(Steps { loaded: part(steps.loaded), count: part(steps.count), ..steps }),
            Self::Checkpoint(records) => Self::Checkpoint(part(records)),
            Self::Cycles(cycles, records) => Self::Cycles(part(cycles), records),
            Self::Growth(batches, records) => Self::Growth(batches, part(records)),
            Self::Memory(cycles, operations) => Self::Memory(part(cycles), operations),
            Self::Ranges(ranges) => {
                Self::Ranges(Ranges { loaded: part(ranges.loaded), count: part(ranges.count), ..ranges })
            }
            Self::BulkLoad(records) => Self::BulkLoad(part(records)),
            Self::MemoryPerKey(records) => Self::MemoryPerKey(part(records)),
            Self::Scaling(scaling) => {
                Self::Scaling(Scaling { loaded: part(scaling.loaded), count: part(scaling.count), ..scaling })
            }
            Self::Graph(of, nodes) => Self::Graph(of, part(nodes)),
            Self::Cache(records) => Self::Cache(part(records)),
            Self::OpenLoop(steps) => {
                Self::OpenLoop(Steps { loaded: part(steps.loaded), count: part(steps.count), ..steps })
            }
            Self::Recovery(records) => Self::Recovery(part(records)),
            Self::Kills(kills, records) => Self::Kills(kills.div_ceil(QUICK_KILLS_PART), part(records)),
            Self::NotYet => Self::NotYet,
        }
    }

    /// The same with so many records before, where there are any.
    pub fn with_records(self, records: usize) -> Self {
        match self {
            Self::Steps(steps) if steps.loaded > 0 => Self::Steps(Steps { loaded: records, count: records, ..steps }),
            Self::Ranges(ranges) => Self::Ranges(Ranges { loaded: records, ..ranges }),
            Self::BulkLoad(_) => Self::BulkLoad(records),
            Self::MemoryPerKey(_) => Self::MemoryPerKey(records),
            Self::Scaling(scaling) => Self::Scaling(Scaling { loaded: records, count: records, ..scaling }),
            Self::Graph(of, _) => Self::Graph(of, records),
            Self::Cache(_) => Self::Cache(records),
            Self::OpenLoop(steps) => Self::OpenLoop(Steps { loaded: records, count: records, ..steps }),
            Self::Recovery(_) => Self::Recovery(records),
            Self::Kills(kills, _) => Self::Kills(kills, records),
            kind => kind,
        }
    }

    /// Whether it has transactions of several steps.
    pub fn has_transactions(self) -> bool {
        matches!(self, Self::Steps(steps) if steps.grouping.is_refusable())
    }

    /// Whether transactions add to what others have added.
    pub fn adds(self) -> bool {
        matches!(self, Self::Steps(steps) if steps.mixture.adds())
    }

    /// Whether it starts processes and kills them.
    pub fn kills(self) -> bool {
        matches!(self, Self::Recovery(_) | Self::Kills(..))
    }

    /// Whether it scans in falling order.
    pub fn scans_back(self) -> bool {
        matches!(self, Self::Ranges(Ranges { span: Span::Back(_), .. }))
    }

    /// Records at the end at most, and operations.
    pub fn extent(self) -> (usize, usize) {
        match self {
            Self::Steps(steps) => (steps.loaded + if steps.mixture.inserts > 0 { steps.count } else { 0 }, steps.count),
            Self::Ranges(ranges) => (ranges.loaded, ranges.count),
            Self::BulkLoad(records) | Self::MemoryPerKey(records) | Self::Cache(records) => (records, records),
            Self::Scaling(scaling) => (scaling.loaded, scaling.count),
            Self::Graph(_, nodes) => (nodes, nodes),
            Self::OpenLoop(steps) => (steps.loaded, steps.count),
            Self::Recovery(records) => (records, 1),
            Self::Kills(kills, records) => (records, kills),
            Self::NotYet => (0, 0),
            Self::Checkpoint(records) => (records, 1),
            Self::Cycles(cycles, records) => (cycles * records, cycles),
            Self::Growth(batches, records) => (batches * records, batches * records),
            Self::Memory(cycles, operations) => (operations / 2, cycles * operations),
        }
    }
}

/// The engine of the tests that has faults goes wrong at a put that only so many reach.
const PUTS_OF_A_FAULT: usize = 50;

impl Definition {
    /// Whether an engine with planted faults can show them here, in a quick run of a thousand records: that takes
    /// enough puts, and no second opening, as it keeps nothing.
    pub fn can_be_planted(&self) -> bool {
        let kind = self.kind.with_records(1000).quick();
        !matches!(kind, Kind::Checkpoint(_) | Kind::Cycles(..)) && !kind.kills() && kind.extent().0 >= PUTS_OF_A_FAULT
    }
}
