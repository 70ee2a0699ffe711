//! The results of a transaction's merges: the values that keys have when the transaction gets its number.
//!
//! A merge takes its place among the commits like any change, so its operand is applied to the value that the commit
//! before leaves. Results are computed before the log's lock is taken: then what they read is in memory, and most of
//! them still hold. Under the lock, where no commit can come in between, the results of keys that have changed since
//! are recomputed. If these are large or many, the lock is released first. What is logged and inserted are ordinary
//! puts.

use crate::error::Result;
use crate::format::LargeValue;
use crate::ids::{Sequence, TableId};
use crate::options::LARGE_VALUE_BYTES_UNSYNCED;
use crate::planted::{Fault, give_way, planted};
use crate::sync::Arc;
use crate::txn::commit::check::{COMPARED_MAX, Later};
use crate::txn::commit::core::{Core, Logged, Writer};
use crate::txn::commit::footprints::{Footprint, HASHES};
use crate::txn::commit::proposal::Proposal;
use crate::txn::snapshot::state::State;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::write_set::WriteSet;

/// The results of a set's merges as of one moment.
pub struct Results<'c> {
    writer: &'c Writer,
    /// The last commit that they take into account.
    seen: Sequence,
    /// The state with that commit, if it is not the transaction's own.
    newer: Option<Arc<State>>,
    /// States that were read before. They are dropped without the lock, because the last holder of a state frees its
    /// deltas.
    before: Vec<Arc<State>>,
    /// Puts, in the order of the merges in the set.
    puts: Vec<Pending>,
    /// The indices of puts that no longer hold as of `seen`, rising.
    outdated: Vec<usize>,
    /// The log may refer to large values among them.
    may_be_logged: bool,
    /// They would take more memory than a transaction may use, and some are missing.
    is_cut_short: bool,
}

/// Whether results hold, under the log's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revalidated {
    /// They hold.
    Unchanged,
    /// They hold now, and some of them have changed.
    Changed,
    /// Recomputing them takes too long for the log's lock: see [`Core::recompute_merges`].
    TooCostly,
}

impl Results<'_> {
    /// Puts in place of the merges, in the order of the set.
    pub fn puts(&self) -> &[Pending] {
        &self.puts
    }

    /// Whether the results would take more memory than a transaction may use. Then some of them are missing.
    pub fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    /// The large values among them, with their keys.
    pub fn large<'s>(&'s self, set: &'s WriteSet) -> impl Iterator<Item = (TableId, &'s [u8], &'s LargeValue)> {
        set.merges().zip(&self.puts).filter_map(|((table, key, _), put)| match put {
            Pending::PutLarge(large) => Some((table, key, &**large)),
            _ => None,
        })
    }

    /// The commit may be in the log from now on: large values are not freed unless [`Results::unmark_logged`] is
    /// called.
    pub fn mark_logged(&mut self) {
        self.may_be_logged = true;
    }

    /// The commit is not in the log.
    pub fn unmark_logged(&mut self) {
        self.may_be_logged = false;
    }

    fn state<'s>(&'s self, proposal: &'s Proposal<'_>) -> &'s Arc<State> {
        self.newer.as_ref().unwrap_or(&proposal.snapshot.state)
    }

    /// Whether it is certain, without waiting, that no commit up to the last one has changed a merged key since.
    fn are_current(&self, core: &Core, logged: &Logged, proposal: &Proposal<'_>, print: &Footprint) -> bool {
        if planted(Fault::MergeComputedTooEarly) {
            return true;
        }
        let state = self.state(proposal);
        // Bulk loads and checkpoints exchange the state.
        if !core.published.is_newest(state) {
            return false;
        }
        let since = logged.last.0 - self.seen.0;
        let merges =
            proposal.set.iter().enumerate().filter(|(_, (_, _, pending))| matches!(pending, Pending::Merge(_)));
        let hashes = merges.map(|(index, (_, key, _))| {
            print.hashes().map_or_else(|| state.pages.identity().hash(key), |hashes| hashes[index])
        });
        // A larger number is better compared without the lock.
        since == 0
            || (self.puts.len() as u64 * since <= COMPARED_MAX
                && !logged.footprints.may_hold(self.seen, logged.last, hashes))
    }

    /// Advances to the last visible commit, and finds the results that are outdated then. It reads no value.
    fn advance(&mut self, core: &Core, proposal: &Proposal<'_>) {
        // The number before the state, as for the first results.
        let seen = core.published.visible().max(self.seen);
        give_way();
        let held = Arc::clone(self.state(proposal));
        let newest = (!core.published.is_newest(&held)).then(|| core.published.state());
        let later = Later::new(self.writer, &held, newest.as_ref());
        for (index, (table, key, _)) in proposal.set.merges().enumerate() {
            let hash = held.pages.identity().hash(key);
            // If the history does not go back so far, any key may have changed.
            let changed = later.as_ref().map_or(true, |later| later.has_changed(table, key, hash, self.seen));
            if changed && let Err(place) = self.outdated.binary_search(&index) {
                self.outdated.insert(place, index);
            }
        }
        if let Some(newest) = newest {
            self.seen = seen.max(newest.floor);
            self.before.extend(self.newer.replace(newest));
        } else {
            self.seen = seen;
        }
    }

    /// Recomputes what is outdated, and returns whether any put has changed.
    fn recompute_outdated(&mut self, proposal: &Proposal<'_>) -> Result<bool> {
        let (mut any, mut any_large) = (false, false);
        let outdated = std::mem::take(&mut self.outdated);
        let mut merges = proposal.set.merges().enumerate();
        for wanted in outdated {
            let (_, merge) = merges.find(|(index, _)| *index == wanted).expect("each index is a merge's");
            let put = self.result(proposal, merge)?;
            any |= put != self.puts[wanted];
            any_large |= is_large(&put);
            if let Pending::PutLarge(replaced) = std::mem::replace(&mut self.puts[wanted], put) {
                self.writer.large.discard(&[*replaced]);
            }
        }
        if any_large {
            self.sync()?;
        }
        Ok(any)
    }

    /// Whether recomputing a result takes too long for the log's lock, judged by its size.
    fn takes_long(&self, proposal: &Proposal<'_>, index: usize) -> bool {
        match &self.puts[index] {
            Pending::Put(value) if value.len() > FUNCTION_BYTES_LOCKED_MAX => {
                let table = proposal.set.merges().nth(index).map(|(table, _, _)| table);
                let view = table.and_then(|table| proposal.schema.view_of(&proposal.snapshot.state, table));
                view.is_some_and(|view| view.info.merge_function().is_some())
            }
            put => is_large(put),
        }
    }

    fn result(&self, proposal: &Proposal<'_>, merge: (TableId, &[u8], &[u8])) -> Result<Pending> {
        let value = proposal.merged(self.state(proposal), self.seen, merge)?;
        Ok(if value.len() < LARGE_VALUE_BYTES_UNSYNCED {
            Pending::Put(value.into_boxed_slice().into())
        } else {
            Pending::PutLarge(Box::new(self.writer.large.write(&value)?))
        })
    }

    /// As for values that were put: the log must not refer to bytes that a crash can destroy.
    fn sync(&self) -> Result<()> {
        self.writer.large.sync().inspect_err(|_| self.writer.poison())
    }
}

impl Drop for Results<'_> {
    fn drop(&mut self) {
        if self.may_be_logged {
            return;
        }
        for put in &self.puts {
            if let Pending::PutLarge(large) = put {
                self.writer.large.discard(&[**large]);
            }
        }
    }
}

impl Core {
    /// The results of a proposal's merges as of now; `None` if it has none. They are
    /// [cut short](Results::is_cut_short) if they would take much memory.
    ///
    /// # Errors
    /// Why a value cannot be read or merged.
    pub fn precompute_merges<'c>(&self, writer: &'c Writer, proposal: &Proposal<'_>) -> Result<Option<Results<'c>>> {
        if !proposal.set.may_merge() {
            return Ok(None);
        }
        // The number before the state: so every commit up to it is in the state's deltas, or in its trees.
        let seen = self.published.visible();
        give_way();
        let held = &proposal.snapshot.state;
        let newer = (!self.published.is_newest(held)).then(|| self.published.state());
        let seen = newer.as_ref().map_or(seen, |newer| seen.max(newer.floor));
        let (before, puts, outdated) = (Vec::new(), Vec::new(), Vec::new());
        let (may_be_logged, is_cut_short) = (false, false);
        let mut results = Results { writer, seen, newer, before, puts, outdated, may_be_logged, is_cut_short };
        let mut bytes = 0;
        for merge in proposal.set.merges() {
            if bytes > writer.write_set_bytes {
                results.is_cut_short = true;
                return Ok(Some(results));
            }
            let put = results.result(proposal, merge)?;
            bytes += put.weight();
            results.puts.push(put);
        }
        if results.puts.iter().any(is_large) {
            results.sync()?;
        }
        give_way();
        Ok(Some(results))
    }

    /// Updates results to the last commit that has a number, if that takes little time. Requires: the caller holds
    /// the log's lock, so that no other commit gets a number.
    ///
    /// # Errors
    /// As [`Core::precompute_merges`].
    pub fn revalidate_merges(
        &self,
        logged: &Logged,
        proposal: &Proposal<'_>,
        print: &Footprint,
        results: &mut Results<'_>,
    ) -> Result<Revalidated> {
        if results.are_current(self, logged, proposal, print) {
            return Ok(Revalidated::Unchanged);
        }
        if results.puts.len() > HASHES {
            return Ok(Revalidated::TooCostly);
        }
        // A commit that has a number is certain to be in the deltas only when it is visible.
        self.published.wait(logged.last);
        results.advance(self, proposal);
        if results.outdated.iter().any(|&index| results.takes_long(proposal, index)) {
            return Ok(Revalidated::TooCostly);
        }
        Ok(if results.recompute_outdated(proposal)? { Revalidated::Changed } else { Revalidated::Unchanged })
    }

    /// Updates results to the last visible commit, and returns whether they have changed. Under the log's lock, when
    /// all commits that have a number are visible, the results are final.
    ///
    /// # Errors
    /// As [`Core::precompute_merges`].
    pub fn recompute_merges(&self, proposal: &Proposal<'_>, results: &mut Results<'_>) -> Result<bool> {
        if planted(Fault::MergeComputedTooEarly) {
            return Ok(false);
        }
        results.advance(self, proposal);
        results.recompute_outdated(proposal)
    }
}

/// A function of the program whose result is longer is not called under the log's lock, unless other transactions are
/// too fast. The length of its result is all that is known about its time.
const FUNCTION_BYTES_LOCKED_MAX: usize = 4 << 10;

fn is_large(put: &Pending) -> bool {
    matches!(put, Pending::PutLarge(_))
}
