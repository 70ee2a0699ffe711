//! What is recorded of transactions beside their history: counts, bulk loads, and how they ended.

use std::collections::BTreeMap;

use super::super::history::{Key, Tick, Transaction};

/// What a process recorded.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub transactions: Vec<Transaction>,
    /// Of each transaction.
    pub notes: Vec<Note>,
    pub loads: Vec<Load>,
    /// What the engine said of itself and cannot be.
    pub wrong: Vec<String>,
    pub tally: Tally,
}

/// What is known of a transaction beside its history.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub counts: Vec<Count>,
    /// A moment after the engine had begun it.
    pub began: Tick,
    /// Whether the engine checks all that it reads.
    pub serializable: bool,
    /// Whether it may read an older state than the newest.
    pub stale: bool,
    /// The newest commit that the engine says it sees.
    pub snapshot: u64,
}

/// How many transactions ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Committed, those that only read among them; without those that a crash has left in doubt.
    pub committed: u64,
    /// Committed and changed something.
    pub written: u64,
    /// Ended by a conflict, of each kind.
    pub conflicts: BTreeMap<&'static str, u64>,
    /// Ended because they were too old.
    pub too_old: u64,
    /// Given up.
    pub aborted: u64,
}

impl Tally {
    /// Adds another.
    pub(super) fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.written += other.written;
        for (reason, count) in &other.conflicts {
            *self.conflicts.entry(reason).or_default() += count;
        }
        self.too_old += other.too_old;
        self.aborted += other.aborted;
    }

    /// Ended by a conflict.
    pub fn in_conflict(&self) -> u64 {
        self.conflicts.values().sum()
    }

    /// Of a thousand commits that would have changed something, those that were refused.
    pub fn refused_per_thousand(&self) -> u64 {
        let refused = self.in_conflict() + self.too_old;
        1000 * refused / (refused + self.written).max(1)
    }
}

/// A bulk load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// Its place among the transactions of the history.
    pub transaction: usize,
    /// The last commit before it.
    pub sequence: u64,
    /// A moment at which no other could commit, and no snapshot showed the load yet.
    pub inside: Tick,
}

/// A count of the registers from `low` up to, and without, `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub low: Key,
    pub high: Key,
    pub counted: u64,
    /// How many operations its transaction had made before it.
    pub after: usize,
}
