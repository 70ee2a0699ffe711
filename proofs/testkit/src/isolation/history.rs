//! What a recorded run is: transactions with their operations and results, the content before them and after them.
//!
//! Engine-independent: keys and values are numbers, which a workload maps to bytes. There are two spaces of keys.
//! **Lists** only grow, by appends, so that a read of one shows the order of its versions. **Registers** are
//! written, deleted and read, alone or by ranges.
//!
//! Who records keeps three rules. A value is written to a key once in a history, and is not in its initial content: a
//! read then names its writer. A write is recorded before it is made and a read after its answer, so that what a
//! failed transaction may have done is there. The initial content holds every list and register that the transactions
//! can reach.

use std::collections::BTreeMap;
use std::fmt;

/// The name of a list or of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

/// An element of a list, or what a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u64);

/// A moment of the clock that all processes of a run share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(pub u64);

/// The engine's number of a commit; a larger one is later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(pub u64);

/// A thread that runs one transaction after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(pub u32);

/// The place of a transaction in its history. The content at the end has the place after the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionId(pub u32);

/// One call of a transaction, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Puts an element at the end of a list.
    Append {
        /// The list.
        key: Key,
        /// Appended to this list nowhere else.
        element: Value,
    },
    /// Reads a whole list.
    ReadList {
        /// The list.
        key: Key,
        /// What it held, oldest first.
        elements: Vec<Value>,
    },
    /// Sets a register.
    Write {
        /// The register.
        key: Key,
        /// Written to this register nowhere else.
        value: Value,
    },
    /// Makes a register absent.
    Delete {
        /// The register.
        key: Key,
    },
    /// Reads a register.
    Read {
        /// The register.
        key: Key,
        /// What it held; `None` if it was absent.
        value: Option<Value>,
    },
    /// Reads all registers from `low` up to, and without, `high`: those that are not among the entries were absent.
    ReadRange {
        /// The lowest register.
        low: Key,
        /// The end of the range.
        high: Key,
        /// Those that were present, in order.
        entries: Vec<(Key, Value)>,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its commit was acknowledged; or it only read, and ended well.
    Committed,
    /// It has certainly not happened.
    Aborted,
    /// Nobody knows, as after a crash within the commit: it has happened if somebody saw it.
    Indeterminate,
}

/// What an acknowledged commit survives. The later level survives more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing.
    Memory,
    /// The death of the process.
    Log,
    /// A power cut.
    Disk,
}

/// One transaction of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Who ran it.
    pub process: Process,
    /// What it did, in order.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub outcome: Outcome,
    /// A moment before it began.
    pub begin: Tick,
    /// A moment after its end was known.
    pub end: Tick,
    /// The commit whose state it read, where the engine says so. 0 is the content at the beginning.
    pub snapshot: Option<Sequence>,
    /// The number of its commit, where the engine gave it one.
    pub sequence: Option<Sequence>,
    /// What its commit was to survive.
    pub durability: Durability,
}

/// What all lists and registers hold at one moment. A list that is not in it is empty, a register absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The lists.
    pub lists: BTreeMap<Key, Vec<Value>>,
    /// The registers that are present.
    pub registers: BTreeMap<Key, Value>,
}

/// How a history ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Nobody looked.
    #[default]
    Open,
    /// All processes had ended, and then this was read: all that was committed must be in it.
    Closed(Content),
    /// The engine died and was opened again.
    Crashed {
        /// What was read afterwards.
        content: Content,
        /// The lowest level whose commits must be in it.
        survives: Durability,
        /// Commits of any level that ended before this moment must be in it too: a sync that succeeded began then.
        synced: Option<Tick>,
    },
}

/// A run, or a segment of one: what was there, what was done, and what was there after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The content before the first transaction.
    pub initial: Content,
    /// The transactions, in any order.
    pub transactions: Vec<Transaction>,
    /// The content after the last one.
    pub end: End,
}

/// A history that breaks the rules of recording. The recording is at fault, not the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryError {
    /// A value is written to one key twice, or is in its initial content already.
    ValueWrittenTwice {
        /// The operation that wrote it again.
        operation: Operation,
        /// Whose operation that is.
        transaction: TransactionId,
    },
    /// A transaction ends before it begins.
    EndBeforeBegin(TransactionId),
    /// A range ends before it begins.
    RangeReversed(TransactionId),
    /// There are more transactions than a checker numbers.
    TooLong,
}

impl Transaction {
    /// Whether it changes anything.
    pub fn writes(&self) -> bool {
        self.operations.iter().any(Operation::is_write)
    }

    /// Whether it stands for the content at the end of its history.
    pub(super) fn is_ending(&self) -> bool {
        self.process == Process::ENDING
    }
}

impl Process {
    /// The process that reads the content at the end of a history; no process of a run has this number.
    pub(super) const ENDING: Self = Self(u32::MAX);
}

impl Operation {
    /// Whether it changes anything.
    pub fn is_write(&self) -> bool {
        matches!(self, Self::Append { .. } | Self::Write { .. } | Self::Delete { .. })
    }
}

impl End {
    /// The content at the end, if somebody read it.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::Open => None,
            Self::Closed(content) | Self::Crashed { content, .. } => Some(content),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append { key, element } => write!(f, "append list {} element {}", key.0, element.0),
            Self::ReadList { key, elements } => {
                write!(f, "read list {} -> [", key.0)?;
                let hidden = elements.len().saturating_sub(SHOWN_MAX);
                if hidden > 0 {
                    write!(f, "{hidden} more, ")?;
                }
                write_joined(f, elements[hidden..].iter().map(|element| element.0.to_string()))?;
                f.write_str("]")
            }
            Self::Write { key, value } => write!(f, "write register {} = {}", key.0, value.0),
            Self::Delete { key } => write!(f, "delete register {}", key.0),
            Self::Read { key, value: Some(value) } => write!(f, "read register {} -> {}", key.0, value.0),
            Self::Read { key, value: None } => write!(f, "read register {} -> absent", key.0),
            Self::ReadRange { low, high, entries } => {
                write!(f, "read registers {}..{} -> {{", low.0, high.0)?;
                let shown = entries.iter().take(SHOWN_MAX).map(|(key, value)| format!("{}: {}", key.0, value.0));
                write_joined(f, shown)?;
                match entries.len().saturating_sub(SHOWN_MAX) {
                    0 => f.write_str("}"),
                    hidden => write!(f, ", {hidden} more}}"),
                }
            }
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = String>) -> fmt::Result {
    f.write_str(&items.collect::<Vec<_>>().join(", "))
}

/// Elements and entries that a report shows of one read.
const SHOWN_MAX: usize = 12;

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ValueWrittenTwice { operation, transaction } => {
                write!(f, "T{}: `{operation}`: this value was written to this key before; draw another", transaction.0)
            }
            Self::EndBeforeBegin(transaction) => {
                write!(f, "T{} ends before it begins; take both moments from one clock", transaction.0)
            }
            Self::RangeReversed(transaction) => {
                write!(f, "T{} reads a range that ends before it begins; swap its bounds", transaction.0)
            }
            Self::TooLong => f.write_str(
                "more transactions than can be checked at once; check the run in segments of at most 16 million",
            ),
        }
    }
}

impl std::error::Error for HistoryError {}
