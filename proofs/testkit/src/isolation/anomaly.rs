//! What can be wrong with a history, by the names of Adya's thesis and of Elle, and which of it a level forbids.

use std::collections::BTreeMap;
use std::fmt;

use super::history::TransactionId;

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Each transaction reads one state, and of two that write the same key at the same time one aborts. Write skew
    /// is allowed.
    SnapshotIsolation,
    /// There is an order of the transactions in which each would have read what it read.
    Serializable,
    /// There is such an order in which nobody comes before what had ended when it began.
    StrictSerializable,
}

/// A kind of anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnomalyKind {
    /// A transaction does not read what it wrote itself.
    InternalInconsistency,
    /// A transaction reads the same key twice and finds two states.
    NonRepeatableRead,
    /// A range that answers keys out of order, twice, or from outside its bounds.
    MalformedRange,
    /// A value that nobody wrote, or the absence of what nobody deleted.
    UnwrittenRead,
    /// G1a: what an aborted transaction wrote.
    AbortedRead,
    /// G1b: what its writer replaced before it committed.
    IntermediateRead,
    /// An element that is in a list twice.
    DuplicateElement,
    /// Two reads of a list; neither begins with the other.
    IncompatibleOrder,
    /// Two transactions that read the same version of a key and both replaced it.
    LostUpdate,
    /// The engine's sequences contradict what was read and written.
    SequenceMismatch,
    /// A commit that is not in the content at a clean end.
    LostCommit,
    /// A commit that should have survived a crash and did not.
    LostDurable,
    /// A commit that a crash left in part.
    FracturedCommit,
    /// A commit that survived a crash though one before it did not.
    NonPrefix,
    /// G0, dirty write: a cycle of writes alone.
    G0,
    /// G1c, circular information flow: a cycle of writes, and reads of them.
    G1c,
    /// G-single, read skew: a cycle with one anti-dependency. A fractured read is one of two transactions.
    GSingle,
    /// G-single through a range: a phantom.
    GSinglePredicate,
    /// A cycle of several anti-dependencies, none directly after the other: no snapshots explain it.
    GNonadjacent,
    /// G2-item, write skew: a cycle of several anti-dependencies on keys that were read.
    G2Item,
    /// G2: write skew through a range, which did not have a key that was then inserted.
    G2,
}

/// An order beside the dependencies that a cycle needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beside {
    /// None: the dependencies contradict each other.
    #[default]
    Nothing,
    /// The order in which one process ran its transactions.
    Session,
    /// The order of two transactions, if one ended before the other began.
    RealTime,
}

/// One anomaly of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What it is.
    pub kind: AnomalyKind,
    /// Which other order it contradicts.
    pub beside: Beside,
    /// The transactions, in the order of the cycle if it is one.
    pub transactions: Vec<TransactionId>,
    /// What happened, for people; of several lines.
    pub text: String,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Anomalies that the level forbids: of each kind as many as were asked for.
    pub anomalies: Vec<Anomaly>,
    /// Write skew that the level allows.
    pub allowed: Vec<Anomaly>,
    /// How many anomalies of each kind were met, forbidden or not. Of the cycles within one strongly connected
    /// component, one of each kind counts.
    pub counts: BTreeMap<AnomalyKind, u64>,
    /// Transactions that were judged.
    pub transactions: u64,
    /// Dependencies between them, and steps of the other orders that were asked for.
    pub dependencies: u64,
}

impl Level {
    /// Whether it forbids anomalies of this kind.
    pub fn forbids(self, kind: AnomalyKind) -> bool {
        self != Self::SnapshotIsolation || !matches!(kind, AnomalyKind::G2Item | AnomalyKind::G2)
    }
}

impl Report {
    /// Whether nothing was found that the level forbids.
    pub fn is_sound(&self) -> bool {
        self.anomalies.is_empty()
    }

    /// Whether an anomaly of this kind was met.
    pub fn has(&self, kind: AnomalyKind) -> bool {
        self.counts.contains_key(&kind)
    }
}

impl AnomalyKind {
    /// What the literature calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InternalInconsistency => "internal inconsistency",
            Self::NonRepeatableRead => "non-repeatable read",
            Self::MalformedRange => "malformed range",
            Self::UnwrittenRead => "read of what was never written",
            Self::AbortedRead => "G1a (aborted read)",
            Self::IntermediateRead => "G1b (intermediate read)",
            Self::DuplicateElement => "duplicate element",
            Self::IncompatibleOrder => "incompatible version order",
            Self::LostUpdate => "lost update",
            Self::SequenceMismatch => "sequence mismatch",
            Self::LostCommit => "lost commit",
            Self::LostDurable => "lost durable commit",
            Self::FracturedCommit => "fractured commit",
            Self::NonPrefix => "crash that left no prefix",
            Self::G0 => "G0 (dirty write)",
            Self::G1c => "G1c (circular information flow)",
            Self::GSingle => "G-single (read skew)",
            Self::GSinglePredicate => "G-single by predicate (phantom)",
            Self::GNonadjacent => "G-nonadjacent (no snapshots)",
            Self::G2Item => "G2-item (write skew)",
            Self::G2 => "G2 (write skew by predicate)",
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beside = match self.beside {
            Beside::Nothing => "",
            Beside::Session => ", with the order of a process",
            Beside::RealTime => ", with real time",
        };
        write!(f, "{}{beside}: {}", self.kind, self.text)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for anomaly in &self.anomalies {
            writeln!(f, "{anomaly}")?;
        }
        for (kind, count) in &self.counts {
            writeln!(f, "{count} x {kind}")?;
        }
        write!(f, "{} transactions, {} dependencies", self.transactions, self.dependencies)
    }
}

/// Gathers anomalies, and writes the text of the first of each kind alone: a broken store has thousands.
#[derive(Debug)]
pub(super) struct Findings {
    level: Level,
    examples_max: u64,
    examples: BTreeMap<(AnomalyKind, Beside), u64>,
    report: Report,
}

impl Findings {
    pub(super) fn new(level: Level, examples_max: u64) -> Self {
        Self { level, examples_max: examples_max.max(1), examples: BTreeMap::new(), report: Report::default() }
    }

    /// Adds an anomaly of no other order.
    pub(super) fn add(&mut self, kind: AnomalyKind, transactions: &[u32], text: impl FnOnce() -> String) {
        self.add_beside(kind, Beside::Nothing, transactions, text);
    }

    pub(super) fn add_beside(
        &mut self,
        kind: AnomalyKind,
        beside: Beside,
        transactions: &[u32],
        text: impl FnOnce() -> String,
    ) {
        *self.report.counts.entry(kind).or_default() += 1;
        let examples = self.examples.entry((kind, beside)).or_default();
        if *examples >= self.examples_max {
            return;
        }
        *examples += 1;
        let transactions = transactions.iter().copied().map(TransactionId).collect();
        let anomaly = Anomaly { kind, beside, transactions, text: text() };
        let forbidden = self.level.forbids(kind);
        if forbidden { &mut self.report.anomalies } else { &mut self.report.allowed }.push(anomaly);
    }

    pub(super) fn finish(self, transactions: u64, dependencies: u64) -> Report {
        Report { transactions, dependencies, ..self.report }
    }
}
