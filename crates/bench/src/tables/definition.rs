//! What a workload of a table is made of.

use crate::arguments::Grammar;
use crate::engines;
use crate::shape::Shape;

/// A workload: a row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What is done, in words.
    pub about: &'static str,
    /// Kind of key.
    pub shape: Shape,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// What is done.
    pub kind: Kind,
    /// What the report claims of it.
    pub claims: &'static [Claim],
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
}

/// Operations of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Records that are there before.
    pub loaded: usize,
    /// Operations.
    pub count: usize,
    /// Which operations.
    pub mixture: Mixture,
    /// On which records.
    pub order: Order,
    /// How many puts a transaction has.
    pub grouping: Grouping,
}

/// Shares of operations, in a hundred; what is left are gets.
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
}

impl Mixture {
    /// Gets alone.
    pub const GETS: Self = Self { updates: 0, inserts: 0, scans: 0, read_modify_writes: 0 };
    /// Puts of new keys alone.
    pub const INSERTS: Self = Self { inserts: 100, ..Self::GETS };

    /// Whether nothing is changed.
    pub fn reads_alone(self) -> bool {
        self.updates == 0 && self.inserts == 0 && self.read_modify_writes == 0
    }
}

/// On which records operations are; new ones come in rising order but for [`Order::Shuffled`].
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
}

/// How many puts share a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One each.
    Each,
    /// So many.
    Every(usize),
    /// All.
    All,
}

/// A figure of the report that a table is from.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Of which engine, and whether it was measured.
    pub of: &'static str,
    /// The figure.
    pub value: f64,
    /// Its unit, such as `ops/s`.
    pub unit: &'static str,
}

/// A claim.
pub const fn claim(of: &'static str, value: f64, unit: &'static str) -> Claim {
    Claim { of, value, unit }
}

/// A quick run does this part of the operations, on this part of the records.
const QUICK_PART: usize = 10;

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
        }
    }

    /// The same with so many records before, where there are any.
    pub fn with_records(self, records: usize) -> Self {
        match self {
            Self::Steps(steps) if steps.loaded > 0 => Self::Steps(Steps { loaded: records, count: records, ..steps }),
            kind => kind,
        }
    }

    /// Records that are there in the end at most, and operations.
    pub fn extent(self) -> (usize, usize) {
        match self {
            Self::Steps(steps) => (steps.loaded + if steps.mixture.inserts > 0 { steps.count } else { 0 }, steps.count),
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
    /// Whether an engine with planted faults can show them here, in a quick run of a thousand records: that takes enough puts, and no
    /// second opening, as it keeps nothing.
    pub fn can_be_planted(&self) -> bool {
        let kind = self.kind.with_records(1000).quick();
        !matches!(kind, Kind::Checkpoint(_) | Kind::Cycles(..)) && kind.extent().0 >= PUTS_OF_A_FAULT
    }
}

/// What suites of tables print in the place of a judgement.
pub const NO_BARS: &str = "bars: this suite has none; every answer was checked\n";

/// The options of a suite of tables; its help tells what each workload does.
pub fn grammar(help: &'static str, definitions: &'static [Definition]) -> Grammar<&'static str> {
    let about: String =
        definitions.iter().map(|definition| format!("  {:22} {}\n", definition.name, definition.about)).collect();
    Grammar {
        help: format!("{help}\n{about}"),
        workloads: definitions.iter().map(|definition| definition.name).collect(),
        named: Box::new(move |name| {
            definitions.iter().find(|definition| definition.name == name).map(|definition| vec![definition.name])
        }),
        engines: &engines::NAMES,
        shapes: false,
        levels: true,
        self_test: true,
        statements: false,
        rounds: 5,
        records: 100..=20_000_000,
    }
}
