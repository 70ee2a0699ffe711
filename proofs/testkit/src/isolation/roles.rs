//! Which transactions are judged: whose reads must be explained, and whose writes are there to explain them.

use super::history::{End, Operation, Outcome, Transaction};
use super::observations::{Observations, Place};

/// The transactions of a history with their parts in it.
#[derive(Debug)]
pub(super) struct Cast<'h, 't> {
    /// All transactions; after them, if it is known, the content at the end as one that reads everything.
    pub transactions: &'t [&'h Transaction],
    /// The number of that last one.
    pub ending: Option<u32>,
    /// Whether it follows a crash. What the crash has undone did not happen after it, it has not happened.
    pub crashed: bool,
    reads: Vec<bool>,
    writes: Vec<bool>,
}

impl<'h, 't> Cast<'h, 't> {
    /// Decides. A transaction in doubt is taken as committed if another one that counts, or the content at the end,
    /// shows something that it wrote; otherwise it is left out.
    pub(super) fn new(
        end: &End,
        transactions: &'t [&'h Transaction],
        observations: &Observations<'_>,
        aborted_reads: bool,
    ) -> Self {
        let committed = |transaction: &&&Transaction| transaction.outcome == Outcome::Committed;
        let writes: Vec<bool> = transactions.iter().map(|transaction| committed(&transaction)).collect();
        let mut cast = Self {
            transactions,
            ending: end.content().map(|_| transactions.len() as u32 - 1),
            crashed: matches!(end, End::Crashed { .. }),
            reads: writes.clone(),
            writes,
        };
        if aborted_reads {
            for (reads, transaction) in cast.reads.iter_mut().zip(transactions) {
                *reads |= transaction.outcome == Outcome::Aborted;
            }
        }
        if transactions.iter().any(|transaction| transaction.outcome == Outcome::Indeterminate) {
            // One that is seen may be the one that saw another.
            while cast.admit_seen(observations) {}
        }
        cast
    }

    /// Whether its reads are judged.
    pub(super) fn reads(&self, transaction: u32) -> bool {
        self.reads[transaction as usize]
    }

    /// Whether its writes have happened.
    pub(super) fn writes(&self, transaction: u32) -> bool {
        self.writes[transaction as usize]
    }

    /// Whether it is in doubt, and nobody saw it.
    pub(super) fn in_doubt(&self, transaction: u32) -> bool {
        !self.writes(transaction) && self.outcome(transaction) == Outcome::Indeterminate
    }

    pub(super) fn outcome(&self, transaction: u32) -> Outcome {
        self.transactions[transaction as usize].outcome
    }

    pub(super) fn operation(&self, place: Place) -> &'h Operation {
        &self.transactions[place.transaction as usize].operations[place.operation as usize]
    }

    /// How many are judged.
    pub(super) fn count(&self) -> u64 {
        (0..self.transactions.len() as u32).filter(|number| self.reads(*number) && self.ending != Some(*number)).count()
            as u64
    }

    fn admit_seen(&mut self, observations: &Observations<'_>) -> bool {
        let mut seen = Vec::new();
        for list in &observations.lists {
            for append in list.appends.iter().filter(|append| self.in_doubt(append.place.transaction)) {
                let shows = |elements: &[_]| elements.iter().any(|element| Some(*element) == append.value);
                if list.reads.iter().any(|read| self.is_other(read.place, append.place) && shows(read.elements)) {
                    seen.push(append.place.transaction);
                }
            }
        }
        for register in &observations.registers {
            let absent_without = register.initial.is_none()
                || register.writes.iter().any(|write| write.value.is_none() && self.writes(write.place.transaction));
            let deletions_in_doubt =
                register.writes.iter().filter(|write| write.value.is_none() && self.in_doubt(write.place.transaction));
            let one_deletion = deletions_in_doubt.count() == 1;
            for write in register.writes.iter().filter(|write| self.in_doubt(write.place.transaction)) {
                // An absence names its deletion only if there is no other.
                let names = write.value.is_some() || (one_deletion && !absent_without);
                let mut reads = register.reads.iter().filter(|read| read.value == write.value);
                if names && reads.any(|read| self.is_other(read.place, write.place)) {
                    seen.push(write.place.transaction);
                }
            }
        }
        for transaction in &seen {
            self.reads[*transaction as usize] = true;
            self.writes[*transaction as usize] = true;
        }
        !seen.is_empty()
    }

    fn is_other(&self, reader: Place, writer: Place) -> bool {
        self.reads(reader.transaction) && reader.transaction != writer.transaction
    }
}
