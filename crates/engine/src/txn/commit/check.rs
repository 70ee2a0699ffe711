//! Whether what a transaction has read, or is about to overwrite, has changed since it began.
//!
//! Everything committed since then is in deltas: those of the transaction's own epoch, which its state holds, and
//! those after. So a key has changed if a delta has a version of it that is later than the transaction's snapshot,
//! and a range if a delta has any such version within. Changes in a delta belong to a commit that is in the log and
//! will become visible, so a conflict with a commit that is not visible yet is a conflict.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::delta::Delta;
use crate::error::{ConflictReason, Error, Result};
use crate::ids::{Sequence, TableId};
use crate::planted::{Fault, give_way, planted};
use crate::sync::Arc;
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::footprints::{Footprint, Footprints};
use crate::txn::commit::proposal::{Checks, Proposal};
use crate::txn::reads::read_set::{RangeRead, Reads};
use crate::txn::snapshot::history::Retired;
use crate::txn::snapshot::state::{State, TableView};
use crate::txn::writes::pending::Pending;
use crate::txn::writes::versions::OwnChange;
use crate::txn::writes::write_set::WriteSet;

impl Core {
    /// Checks a transaction against every commit that is visible now. Returns the last of them.
    ///
    /// # Errors
    /// [`Error::Conflict`], [`Error::TransactionTooOld`].
    pub fn check(&self, writer: &Writer, proposal: &Proposal<'_>) -> Result<Sequence> {
        let visible = self.published.visible();
        let since = proposal.snapshot.sequence;
        if visible == since || matches!(proposal.checks, Checks::Nothing) {
            return Ok(visible);
        }
        let held = &proposal.snapshot.state;
        give_way();
        // Read after the number, so every commit up to it is in deltas of this state or of earlier ones.
        let newer = (!self.published.is_newest(held)).then(|| self.published.state());
        let later = Later::new(writer, held, newer.as_ref())?;
        match &proposal.checks {
            Checks::Nothing => {}
            Checks::Reads(reads) => {
                if !planted(Fault::ReadsUnchecked) {
                    later.check_keys(reads, since)?;
                }
                if !planted(Fault::RangesUnchecked) {
                    later.check_ranges(reads, since)?;
                }
            }
            Checks::Writes(_) if planted(Fault::WritesUnchecked) => {}
            Checks::Writes(guarded) => {
                later.check_writes(proposal.set, since)?;
                if let Some(guarded) = guarded {
                    later.check_keys(guarded, since)?;
                    later.check_ranges(guarded, since)?;
                }
            }
        }
        Ok(visible)
    }
}

impl Proposal<'_> {
    /// Whether no commit above `checked`, up to `last`, can have changed what was checked.
    pub fn is_clear_since(&self, prints: &Footprints, print: &Footprint, checked: Sequence, last: Sequence) -> bool {
        if checked == last || planted(Fault::GapUnchecked) {
            return true;
        }
        match &self.checks {
            Checks::Nothing => true,
            Checks::Reads(reads) => are_clear_since(reads, prints, checked, last),
            Checks::Writes(guarded) => {
                let is_written_clear = print.hashes().is_some_and(|hashes| {
                    let changes = hashes.iter().zip(self.set.iter());
                    let overwritten = changes.filter(|(_, (_, _, pending))| !matches!(pending, Pending::Merge(_)));
                    !prints.may_hold(checked, last, overwritten.map(|(&hash, _)| hash))
                });
                is_written_clear && guarded.is_none_or(|guarded| are_clear_since(guarded, prints, checked, last))
            }
        }
    }

    /// Checks that the tables that were read or changed are in `newer` what they were.
    ///
    /// # Errors
    /// [`Error::Conflict`].
    pub fn check_tables(&self, newer: &State) -> Result<()> {
        let held = &self.snapshot.state;
        let reads = match &self.checks {
            Checks::Nothing => None,
            Checks::Reads(reads) => Some(*reads),
            Checks::Writes(guarded) => *guarded,
        };
        let uses_names = reads.is_some_and(Reads::names) || !self.schema.is_empty();
        if uses_names && newer.tables_changed != held.tables_changed {
            return Err(Error::conflict("", &[], ConflictReason::Tables));
        }
        for id in self.set.tables() {
            // A table that this transaction created is in no state yet.
            if let Some(view) = held.view_of(id) {
                let overwrites = || matches!(self.checks, Checks::Writes(_)) && self.set.overwrites(id);
                check_table(view, newer, overwrites)?;
            }
        }
        if let Some(reads) = reads {
            let tables = reads.keys().map(|read| read.table).chain(reads.ranges().map(|range| range.table));
            let mut last = None;
            for id in tables {
                if last.replace(id) != Some(id)
                    && let Some(view) = held.view_of(id)
                {
                    check_table(view, newer, || true)?;
                }
            }
        }
        Ok(())
    }
}

/// As [`Proposal::is_clear_since`], of what was read.
fn are_clear_since(reads: &Reads, prints: &Footprints, checked: Sequence, last: Sequence) -> bool {
    // More is better compared without the lock.
    let is_little = reads.keys().len() as u64 * (last.0 - checked.0) <= COMPARED_MAX;
    is_little && reads.ranges().next().is_none() && !prints.may_hold(checked, last, reads.keys().map(|read| read.hash))
}

/// The table must still exist. If its content `was_used`, no bulk load may have changed it.
fn check_table(view: &TableView, newer: &State, was_used: impl FnOnce() -> bool) -> Result<()> {
    let reason = match newer.view_of(view.info.id) {
        Some(now) if now.loads == view.loads || !was_used() => return Ok(()),
        Some(_) => ConflictReason::BulkLoad,
        None => ConflictReason::Tables,
    };
    Err(Error::conflict(&view.info.name, &[], reason))
}

/// The deltas that hold what was committed since a state.
pub struct Later<'a> {
    held: &'a State,
    between: Vec<Arc<Retired>>,
    /// The newest state, if it is another.
    newer: Option<&'a State>,
}

impl<'a> Later<'a> {
    /// From `held` to `newer`, which is the newest state if it is another one.
    ///
    /// # Errors
    /// [`Error::TransactionTooOld`] if some of them are gone.
    pub fn new(writer: &Writer, held: &'a Arc<State>, newer: Option<&'a Arc<State>>) -> Result<Self> {
        let between = match newer {
            Some(newer) if newer.thawed > held.epoch.number + 1 && !planted(Fault::HistoryIgnored) => {
                writer.history.lock().between(held.epoch.number, newer.thawed).ok_or(Error::TransactionTooOld)?
            }
            _ => Vec::new(),
        };
        Ok(Self { held, between, newer: newer.map(|newer| &**newer) })
    }

    /// The deltas of a table. Those of the newest state may be the held one's too.
    fn deltas(&self, table: TableId) -> impl Iterator<Item = &Delta> {
        let held = self.held.view_of(table).map(|view| &*view.active);
        let between = self.between.iter().filter_map(move |retired| retired.delta(table));
        let newest = self.newer.and_then(|newer| newer.view_of(table));
        let newest = newest.into_iter().flat_map(|view| [view.frozen.as_deref(), Some(&*view.active)]).flatten();
        let deltas = held.into_iter().chain(between).chain(newest);
        deltas.filter(|delta| !delta.is_empty())
    }

    fn check_keys(&self, reads: &Reads, since: Sequence) -> Result<()> {
        for read in reads.keys() {
            self.check_key(read.table, read.key, read.hash, since, ConflictReason::Read)?;
        }
        Ok(())
    }

    fn check_writes(&self, set: &WriteSet, since: Sequence) -> Result<()> {
        let identity = self.held.pages.identity();
        // Merges keep what other transactions did.
        let overwrites = set.iter().filter(|(_, _, pending)| !matches!(pending, Pending::Merge(_)));
        for (table, key, _) in overwrites {
            self.check_key(table, key, identity.hash(key), since, ConflictReason::Write)?;
        }
        if set.spilled().is_some() { self.check_spilled(set, since) } else { Ok(()) }
    }

    /// As [`Later::check_writes`], for what was spilled. That may be much, so it is searched for each key that other
    /// transactions have changed.
    fn check_spilled(&self, set: &WriteSet, since: Sequence) -> Result<()> {
        let tables: BTreeSet<_> = set.tables().filter(|&table| set.overwrites(table)).collect();
        for table in tables {
            for delta in self.deltas(table) {
                let mut low = Bound::Unbounded;
                while let Some(key) = delta.first_changed_since(low, Bound::Unbounded, since) {
                    if !matches!(set.find(table, key)?, None | Some(OwnChange::Merge(_))) {
                        return Err(self.conflict(table, key, ConflictReason::Write));
                    }
                    low = Bound::Excluded(key);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn check_key(&self, table: TableId, key: &[u8], hash: u64, since: Sequence, reason: ConflictReason) -> Result<()> {
        match self.has_committed(table, key, hash, since) {
            true => Err(self.conflict(table, key, reason)),
            false => Ok(()),
        }
    }

    #[inline]
    fn has_committed(&self, table: TableId, key: &[u8], hash: u64, since: Sequence) -> bool {
        self.deltas(table).any(|delta| delta.newest_sequence(key, hash).is_some_and(|newest| newest > since))
    }

    /// Whether a key may have another value than it had at `since`: by a commit, or by a bulk load of its table or a
    /// large commit.
    pub fn has_changed(&self, table: TableId, key: &[u8], hash: u64, since: Sequence) -> bool {
        let loads = |state: &State| state.view_of(table).map(|view| view.loads);
        self.newer.is_some_and(|newer| loads(newer) != loads(self.held)) || self.has_committed(table, key, hash, since)
    }

    fn check_ranges(&self, reads: &Reads, since: Sequence) -> Result<()> {
        for RangeRead { table, low, high } in reads.ranges() {
            let (low, high) = (low.as_ref().map(|key| &**key), high.as_ref().map(|key| &**key));
            if let Some(key) = self.deltas(*table).find_map(|delta| delta.first_changed_since(low, high, since)) {
                return Err(self.conflict(*table, key, ConflictReason::Range));
            }
        }
        Ok(())
    }

    #[cold]
    fn conflict(&self, table: TableId, key: &[u8], reason: ConflictReason) -> Error {
        Error::conflict(self.held.view_of(table).map_or("", |view| &view.info.name), key, reason)
    }
}

/// Footprints and keys that are compared under the log's lock: some microseconds' worth.
pub const COMPARED_MAX: u64 = 1 << 10;
