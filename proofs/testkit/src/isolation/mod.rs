//! The isolation checker: whether a recorded run can have happened at an isolation level.
//!
//! A [`History`] has what every transaction did and was answered, and by [`check`] it becomes a graph: an edge
//! leads from one transaction to another that must come after it, because it replaced what the first one wrote
//! (ww), read it (wr), or replaced what the first one read (rw). A cycle is an anomaly, named by its edges after
//! Adya, "Weak Consistency" (1999); how the edges are found follows Kingsbury and Alvaro, "Elle" (2020). Some
//! anomalies need no cycle, as a read of what was aborted; those are found key by key. The engine is not known
//! here, and its sequences are believed only as far as they order versions that nothing else orders; where they
//! contradict the rest, that is an anomaly too.
//!
//! **Aborted transactions** have not happened, and **those in doubt** have if somebody saw them. Silence proves
//! nothing: where the order of two versions cannot be known, no edge is drawn. A workload should therefore read
//! much, write registers after reading them or with sequences, and end its history with the whole content.
//!
//! **Absences** are weaker than values, which name their version. Where several versions of a register are absent,
//! the reader's snapshot shows which one it found, if the engine's sequences are recorded; without them, phantoms
//! behind deletions may be missed.
//!
//! **Segments.** Time grows in proportion to the length of a history (200,000 transactions of four operations by
//! eight processes take 1.5 s, a million 4.3 s), and so does memory: about 1,400 bytes for a transaction, its
//! history included. A long run is therefore cut: all processes end, everything is synced, the content is read, and
//! it is the end of one history and the beginning of the next. Nothing is lost by that, as every transaction of one
//! segment precedes those of the next in real time, and an anomaly across the cut shows as a difference from the
//! content. Lists grow, and reading them takes time in proportion: each segment should take new keys, and leave the
//! old ones out of its initial content, except registers that its ranges reach.

mod anomaly;
mod cycles;
mod dependencies;
mod ending;
mod graph;
mod history;
mod lists;
mod observations;
mod orders;
mod recorder;
mod registers;
mod roles;
pub mod run;
mod sequences;
mod text;

pub use anomaly::{Anomaly, AnomalyKind, Beside, Level, Report};
pub use history::{
    Content, Durability, End, History, HistoryError, Key, Operation, Outcome, Process, Sequence, Tick, Transaction,
    TransactionId, Value,
};
pub use recorder::{Clock, Recorder, Running};

use anomaly::Findings;
use dependencies::Gathered;
use graph::Graph;
use observations::Observations;
use roles::Cast;

/// What to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is promised.
    pub level: Level,
    /// Whether the transactions of one process must come in their order.
    pub sessions: bool,
    /// Whether a transaction must come after those that had ended when it began. Always with
    /// [`Level::StrictSerializable`].
    pub real_time: bool,
    /// Whether what aborted transactions read is judged as if they had only read. No level asks for that, but an engine
    /// that reads from snapshots keeps it.
    pub aborted_reads: bool,
    /// Anomalies of each kind that are described, at least one; the others are counted.
    pub examples_max: u64,
}

impl Options {
    /// Checks this level and nothing beside.
    pub fn new(level: Level) -> Self {
        Self { level, sessions: false, real_time: false, aborted_reads: false, examples_max: 10 }
    }
}

/// Checks a history.
///
/// # Errors
/// If the history breaks the rules by which it is recorded.
pub fn check(history: &History, options: &Options) -> Result<Report, HistoryError> {
    if history.transactions.len() > TRANSACTIONS_MAX {
        return Err(HistoryError::TooLong);
    }
    let mut findings = Findings::new(options.level, options.examples_max);
    let ending = history.end.content().map(|content| ending_of(history, content));
    let transactions: Vec<&Transaction> = history.transactions.iter().chain(&ending).collect();
    let observations = Observations::new(&history.initial, &transactions, options.aborted_reads, &mut findings)?;
    let cast = Cast::new(&history.end, &transactions, &observations, options.aborted_reads);
    let mut gathered = Gathered { edges: Vec::new(), findings: &mut findings, shown: Vec::new(), lacking: Vec::new() };
    observations.lists.iter().for_each(|list| lists::gather(list, &cast, &mut gathered));
    observations.registers.iter().for_each(|register| registers::gather(register, &cast, &mut gathered));
    let Gathered { mut edges, shown, lacking, .. } = gathered;
    drop(observations);
    let mut besides = Vec::new();
    if options.sessions {
        besides.push(Beside::Session);
        edges.extend(orders::session_edges(&cast));
    }
    if options.real_time || options.level == Level::StrictSerializable {
        besides.push(Beside::RealTime);
        edges.extend(orders::real_time_edges(&cast));
        sequences::report_real_time(&cast, &mut findings);
    }
    let graph = Graph::new(transactions.len(), edges);
    sequences::report(graph.edges(), &cast, &mut findings);
    ending::report(&history.end, (&shown, &lacking), &graph, &cast, &mut findings);
    cycles::report(&graph, &besides, &cast, &mut findings);
    Ok(findings.finish(cast.count(), graph.edges().len() as u64))
}

/// The content at the end as a transaction that reads every key there is.
fn ending_of(history: &History, content: &Content) -> Transaction {
    let mut lists: Vec<Key> = history.initial.lists.keys().chain(content.lists.keys()).copied().collect();
    let mut registers: Vec<Key> = history.initial.registers.keys().chain(content.registers.keys()).copied().collect();
    for operation in history.transactions.iter().flat_map(|transaction| &transaction.operations) {
        match operation {
            Operation::Append { key, .. } => lists.push(*key),
            Operation::Write { key, .. } => registers.push(*key),
            _ => {}
        }
    }
    for keys in [&mut lists, &mut registers] {
        keys.sort_unstable();
        keys.dedup();
    }
    let list = |key: Key| Operation::ReadList { key, elements: content.lists.get(&key).cloned().unwrap_or_default() };
    let register = |key: Key| Operation::Read { key, value: content.registers.get(&key).copied() };
    Transaction {
        process: Process::ENDING,
        operations: lists.into_iter().map(list).chain(registers.into_iter().map(register)).collect(),
        outcome: Outcome::Committed,
        begin: Tick(u64::MAX),
        end: Tick(u64::MAX),
        snapshot: None,
        sequence: None,
        durability: Durability::Memory,
    }
}

/// More would take tens of gigabytes, and the edges of a graph are counted in 32 bits.
const TRANSACTIONS_MAX: usize = 1 << 24;

#[cfg(test)]
mod tests;
