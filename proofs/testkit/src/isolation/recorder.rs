//! How many threads record one history: a clock that they share, and a recorder for each, which waits for nobody.

use std::sync::atomic::{AtomicU64, Ordering};

use super::history::{Durability, Operation, Outcome, Process, Sequence, Tick, Transaction};

/// The clock of a run. Its ticks are unique, and an event that follows another has a later one.
#[derive(Debug, Default)]
pub struct Clock {
    ticks: AtomicU64,
}

impl Clock {
    /// The next moment.
    pub fn tick(&self) -> Tick {
        // SeqCst: the ticks stand for real time, so what happens before one must not be seen after it.
        Tick(self.ticks.fetch_add(1, Ordering::SeqCst))
    }
}

/// Records the transactions of one process, one after the other.
#[derive(Debug)]
pub struct Recorder<'c> {
    clock: &'c Clock,
    process: Process,
    transactions: Vec<Transaction>,
}

/// A transaction that runs. Dropped without [`Running::end`], it leaves nothing: only what did nothing may be dropped.
#[derive(Debug)]
#[must_use = "a transaction that is not ended is not in the history"]
pub struct Running<'r, 'c> {
    recorder: &'r mut Recorder<'c>,
    transaction: Transaction,
}

impl<'c> Recorder<'c> {
    /// The recorder of this process.
    pub fn new(clock: &'c Clock, process: Process) -> Self {
        Self { clock, process, transactions: Vec::new() }
    }

    /// To be called before the engine begins the transaction.
    pub fn begin(&mut self) -> Running<'_, 'c> {
        let begin = self.clock.tick();
        let transaction = Transaction {
            process: self.process,
            operations: Vec::new(),
            outcome: Outcome::Indeterminate,
            begin,
            end: begin,
            snapshot: None,
            sequence: None,
            durability: Durability::Disk,
        };
        Running { recorder: self, transaction }
    }

    /// What was recorded, for [`History::transactions`](super::History::transactions).
    pub fn finish(self) -> Vec<Transaction> {
        self.transactions
    }
}

impl Running<'_, '_> {
    /// Adds an operation: a write before it is made, a read with its answer.
    pub fn add(&mut self, operation: Operation) {
        self.transaction.operations.push(operation);
    }

    /// Notes whose state the engine says it reads.
    pub fn set_snapshot(&mut self, snapshot: Sequence) {
        self.transaction.snapshot = Some(snapshot);
    }

    /// Notes what its commit is to survive, if that is not a power cut.
    pub fn set_durability(&mut self, durability: Durability) {
        self.transaction.durability = durability;
    }

    /// To be called when the engine has answered; `sequence` is what it called the commit, if it said so.
    pub fn end(mut self, outcome: Outcome, sequence: Option<Sequence>) {
        self.transaction.outcome = outcome;
        self.transaction.sequence = sequence;
        self.transaction.end = self.recorder.clock.tick();
        self.recorder.transactions.push(self.transaction);
    }
}
