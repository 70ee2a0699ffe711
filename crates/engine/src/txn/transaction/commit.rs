//! How a write transaction ends: by a commit, or without one.

use std::collections::HashSet;
use std::mem;

use crate::error::{Error, Result};
use crate::format::LargeValue;
use crate::ids::Sequence;
use crate::merge_functions::check_not_merging;
use crate::options::Durability;
use crate::txn::commit::commit_spilled::SpilledCommit;
use crate::txn::commit::proposal::{Checks, Proposal};
use crate::txn::reads::read_set::ReadSet;
use crate::txn::transaction::write_txn::WriteTxn;
use crate::txn::writes::schema::Schema;

impl WriteTxn {
    /// Commits with the durability of the database's options. Returns the commit's number.
    ///
    /// A transaction that has spilled ([`Options::write_set_bytes`](crate::Options::write_set_bytes)) is durable when
    /// this returns, whatever was asked for. It waits for the commits under way, for an exclusive transaction and for
    /// a checkpoint, and others wait for it; and it needs the database to be open: a handle of it must be left.
    ///
    /// # Errors
    /// [`Error::Conflict`] and [`Error::TransactionTooOld`]: begin again. [`Error::Closed`]. What the disk reports,
    /// such as [`Error::DiskFull`], and [`Error::QuotaExceeded`]. For what was merged: [`Error::Corrupt`] if the
    /// value below cannot be read, [`Error::Unmergeable`] if it is none of the table's numbers, would become too
    /// long, or the table's function fails. Nothing was changed then, unless the error is [`Error::Indeterminate`]:
    /// then the outcome is unknown until the database is reopened.
    pub fn commit(self) -> Result<Sequence> {
        let durability = self.held.core.durability();
        self.commit_with(durability)
    }

    /// Commits with the given durability. Returns the commit's number.
    ///
    /// # Errors
    /// As [`WriteTxn::commit`].
    pub fn commit_with(mut self, durability: Durability) -> Result<Sequence> {
        self.held.core.check_process()?;
        check_not_merging()?;
        if self.set.is_empty() && self.schema.is_empty() {
            // There is nothing to log, but what was read here is to be as safe as was asked for.
            self.held.core.harden(self.held.snapshot.sequence, durability)?;
            return Ok(self.held.snapshot.sequence);
        }
        let guarded = self.guarded.as_mut().map(|guarded| guarded.reads());
        let checks = match self.reads.as_mut().map(ReadSet::reads) {
            _ if self.exclusive.is_some() => Checks::Nothing,
            Some(reads) if reads.is_empty() => Checks::Nothing,
            Some(reads) => Checks::Reads(reads),
            None if guarded.is_none() && self.set.is_merges_alone() => Checks::Nothing,
            None => Checks::Writes(guarded),
        };
        let is_spilled = self.set.spilled().is_some();
        // If this thread panics during the commit, the space of large values that may be in the log is not freed.
        let (schema, large) = (mem::take(&mut self.schema), mem::take(&mut self.large));
        let proposal = Proposal {
            snapshot: &self.held.snapshot,
            set: &self.set,
            schema: &schema,
            checks,
            is_exclusive: self.exclusive.is_some(),
            begun: self.begun.as_ref(),
        };
        if is_spilled {
            let outcome = self.held.core.commit_spilled(&proposal);
            return self.finish_spilled(outcome, schema, large);
        }
        let outcome = self.held.core.commit(&proposal, durability);
        self.large = large;
        match &outcome {
            // What the set still holds belongs to the trees now; what was overwritten on the way was never published.
            Ok(_) | Err(Error::Indeterminate { .. }) if !self.large.is_empty() => {
                let kept: HashSet<_> = self.set.large().map(|(_, _, large)| large.value.extent).collect();
                self.large.retain(|large| !kept.contains(&large.value.extent));
            }
            Ok(_) | Err(Error::Indeterminate { .. }) => {}
            Err(_) => self.schema = schema,
        }
        outcome
    }

    /// Frees what a commit of spilled changes does not keep.
    fn finish_spilled(
        &mut self,
        outcome: Result<SpilledCommit>,
        schema: Schema,
        mut large: Vec<LargeValue>,
    ) -> Result<Sequence> {
        match outcome {
            Ok(SpilledCommit { sequence, kept }) => {
                large.retain(|large| !kept.contains(&large.value.extent));
                self.large = large;
                Ok(sequence)
            }
            // The trees may refer to these values, so they are not freed.
            Err(error @ Error::Indeterminate { .. }) => Err(error),
            Err(error) => {
                (self.schema, self.large) = (schema, large);
                Err(error)
            }
        }
    }

    /// Drops the transaction with all its changes. It does what `drop` does, under a name that says why.
    pub fn abort(self) {}
}

impl Drop for WriteTxn {
    fn drop(&mut self) {
        if self.held.snapshot.state.stamp.is_inherited() {
            // The space that it reserved is the parent's.
            mem::forget(mem::take(&mut self.set));
            return;
        }
        // Before the database may be closed for good.
        self.set.discard_spilled();
        if let (Some(writer), false) = (&self.held.core.writer, self.large.is_empty()) {
            writer.large.discard(&self.large);
        }
        self.return_table_numbers(0);
    }
}
