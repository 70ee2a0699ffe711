//! How a write transaction ends: by a commit, or without one.

use std::collections::HashSet;
use std::mem;

use crate::error::{Error, Result};
use crate::format::LargeValue;
use crate::ids::Sequence;
use crate::merge_functions::check_not_merging;
use crate::options::Durability;
use crate::sync::Arc;
use crate::txn::commit::commit_spilled::SpilledCommit;
use crate::txn::commit::core::Core;
use crate::txn::commit::proposal::{Checks, Proposal};
use crate::txn::reads::read_set::ReadSet;
use crate::txn::transaction::write_txn::WriteTxn;
use crate::txn::writes::schema::Schema;

impl WriteTxn {
    /// Commits with the durability of [`Options::durability`](crate::Options::durability). Returns the sequence of the
    /// commit.
    ///
    /// A transaction that has spilled ([`Options::write_set_bytes`](crate::Options::write_set_bytes)), or whose merges
    /// have results that take more memory than that, is always durable when this returns. It waits for running commits,
    /// for an exclusive transaction and for a checkpoint, and other commits wait for it. The database must still be
    /// open: a [`Database`](crate::Database) handle must exist.
    ///
    /// # Errors
    /// [`Error::Conflict`] and [`Error::TransactionTooOld`]: run the transaction again. [`Error::Closed`],
    /// [`Error::QuotaExceeded`], and errors of the disk, such as [`Error::DiskFull`]. For merges: [`Error::Corrupt`] if
    /// the stored value cannot be read; [`Error::Unmergeable`] if the stored value is not a number of the table's type,
    /// the result would be too long, or the merge function fails. Nothing is changed in these cases. After
    /// [`Error::Indeterminate`] the outcome is unknown until the database is reopened.
    pub fn commit(self) -> Result<Sequence> {
        let durability = self.held.core.durability();
        self.commit_with(durability)
    }

    /// Commits with the given durability. Returns the sequence of the commit.
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
        if self.set.spilled().is_none() {
            if let Some(sequence) = self.commit_in_memory(durability)? {
                return Ok(sequence);
            }
            self.spill()?;
        }
        // If this thread panics during the commit, the space of large values that trees may have is not freed.
        let (schema, large) = (mem::take(&mut self.schema), mem::take(&mut self.large));
        let outcome = self.propose(&schema, |core, proposal| core.commit_spilled(proposal));
        self.finish_spilled(outcome, schema, large)
    }

    /// Commits changes that are all in memory. `None`, and nothing has changed, if the results of its merges would take
    /// too much memory.
    fn commit_in_memory(&mut self, durability: Durability) -> Result<Option<Sequence>> {
        // If this thread panics during the commit, the space of large values that may be in the log is not freed.
        let (schema, large) = (mem::take(&mut self.schema), mem::take(&mut self.large));
        let outcome = self.propose(&schema, |core, proposal| core.try_commit(proposal, durability));
        self.large = large;
        match &outcome {
            // What the set still holds belongs to the trees now; what was overwritten on the way was never published.
            Ok(Some(_)) | Err(Error::Indeterminate { .. }) if !self.large.is_empty() => {
                let kept: HashSet<_> = self.set.large().map(|(_, _, large)| large.value.extent).collect();
                self.large.retain(|large| !kept.contains(&large.value.extent));
            }
            Ok(Some(_)) | Err(Error::Indeterminate { .. }) => {}
            Ok(None) | Err(_) => self.schema = schema,
        }
        outcome
    }

    /// Calls `commit` with the changes, and with what must not have changed since the snapshot.
    fn propose<T>(&mut self, schema: &Schema, commit: impl FnOnce(&Arc<Core>, &Proposal<'_>) -> T) -> T {
        let guarded = self.guarded.as_mut().map(|guarded| guarded.reads());
        let checks = match self.reads.as_mut().map(ReadSet::reads) {
            _ if self.exclusive.is_some() => Checks::Nothing,
            Some(reads) if reads.is_empty() => Checks::Nothing,
            Some(reads) => Checks::Reads(reads),
            None if guarded.is_none() && self.set.is_merges_alone() => Checks::Nothing,
            None => Checks::Writes(guarded),
        };
        let proposal = Proposal {
            snapshot: &self.held.snapshot,
            set: &self.set,
            schema,
            checks,
            is_exclusive: self.exclusive.is_some(),
            begun: self.begun.as_ref(),
        };
        commit(&self.held.core, &proposal)
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

    /// Discards the transaction and its changes, as `drop` does.
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
