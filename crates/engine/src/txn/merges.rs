//! The results of a transaction's merges: what the values become when it gets its number.
//!
//! A merge has its place among the commits like any change, so its result is that of the value which the commit before leaves.
//! Results are computed before the log's lock is taken, which has what they read in memory, and brings most of them about. Under
//! the lock, where no commit can come in between, they are computed again if one that came since may have changed a key. What is
//! logged and inserted are ordinary puts.

use crate::error::Result;
use crate::format::{LargeValue, RecordEncoder};
use crate::ids::{Sequence, TableId};
use crate::options::LARGE_VALUE_BYTES_UNSYNCED;
use crate::planted::{Fault, give_way, planted};
use crate::sync::Arc;
use crate::txn::commit::{Proposal, encode, view};
use crate::txn::core::{Core, Logged, Writer};
use crate::txn::layers::Layers;
use crate::txn::state::State;
use crate::txn::write_set::{Pending, WriteSet};

/// The results of a set's merges as of one moment.
pub struct Results<'c> {
    writer: &'c Writer,
    /// The last commit that they are upon.
    seen: Sequence,
    /// The state with that commit, if it is not the transaction's own.
    newer: Option<Arc<State>>,
    /// The state that was read before. The last holder of a state frees its deltas, which is not for the lock.
    before: Option<Arc<State>>,
    /// Puts, in the order of the merges in the set.
    puts: Vec<Pending>,
    /// Values that were written to the data file, and no commit refers to yet.
    unlogged: Vec<LargeValue>,
}

impl Results<'_> {
    /// Puts in the place of merges, in the order of the set.
    pub fn puts(&self) -> &[Pending] {
        &self.puts
    }

    /// The large values among them, with their keys.
    pub fn large<'s>(&'s self, set: &'s WriteSet) -> impl Iterator<Item = (TableId, &'s [u8], &'s LargeValue)> {
        set.merges().zip(&self.puts).filter_map(|((table, key, _), put)| match put {
            Pending::PutLarge(large) => Some((table, key, large)),
            _ => None,
        })
    }

    /// The commit may be in the log from now on: large values are not given back unless [`Results::take_back`] says so.
    pub fn entrust(&mut self) -> Vec<LargeValue> {
        std::mem::take(&mut self.unlogged)
    }

    /// The commit is not in the log.
    pub fn take_back(&mut self, unlogged: Vec<LargeValue>) {
        self.unlogged = unlogged;
    }

    /// Whether no commit since, up to the last one, may have changed a merged key.
    fn are_current(&self, core: &Core, logged: &Logged, proposal: &Proposal<'_>) -> bool {
        let state = self.newer.as_ref().unwrap_or(&proposal.snapshot.state);
        let hashes = proposal.set.merges().map(|(_, key, _)| state.pages.identity().hash(key));
        // Bulk loads and checkpoints exchange the state.
        core.published.is_newest(state)
            && (self.seen == logged.last || !logged.footprints.may_hold(self.seen, logged.last, hashes))
    }
}

impl Drop for Results<'_> {
    fn drop(&mut self) {
        if !self.unlogged.is_empty() {
            self.writer.large.discard(&self.unlogged);
        }
    }
}

impl Core {
    /// The results of a proposal's merges as of now; `None` if it has none.
    ///
    /// # Errors
    /// What keeps a value from being read or merged.
    pub fn merge_ahead<'c>(&self, writer: &'c Writer, proposal: &Proposal<'_>) -> Result<Option<Results<'c>>> {
        if !proposal.set.may_merge() {
            return Ok(None);
        }
        // The number before the state: so every commit up to it is in the state's deltas, or in its trees.
        let seen = self.published.visible();
        give_way();
        let held = &proposal.snapshot.state;
        let newer = (!self.published.is_newest(held)).then(|| self.published.state());
        let seen = newer.as_ref().map_or(seen, |newer| seen.max(newer.floor));
        let results = merge(writer, proposal, newer, seen)?;
        give_way();
        Ok(Some(results))
    }

    /// Brings the results up to the last commit that has a number, and the commit's records with them. Requires: the caller holds
    /// the log's lock, so that no other commit gets one.
    ///
    /// # Errors
    /// As [`Core::merge_ahead`].
    pub fn merge_now(
        &self,
        logged: &Logged,
        proposal: &Proposal<'_>,
        results: &mut Results<'_>,
        encoder: &mut RecordEncoder,
    ) -> Result<()> {
        if results.are_current(self, logged, proposal) || planted(Fault::MergeComputedTooEarly) {
            return Ok(());
        }
        // Commits that have a number are in the deltas only when they are seen.
        self.published.wait(logged.last);
        let before = results.newer.take();
        *results = merge(results.writer, proposal, Some(self.published.state()), logged.last)?;
        results.before = before;
        encode(encoder, proposal, results.puts());
        Ok(())
    }
}

/// A set's changes with the results of its merges in their places.
#[inline]
pub fn resolved<'s>(
    set: &'s WriteSet,
    results: &'s [Pending],
) -> impl Iterator<Item = (TableId, &'s [u8], &'s Pending)> {
    let mut results = results.iter();
    set.iter().map(move |(table, key, pending)| match pending {
        Pending::Merge(_) => (table, key, results.next().expect("each merge has a result")),
        _ => (table, key, pending),
    })
}

fn merge<'c>(
    writer: &'c Writer,
    proposal: &Proposal<'_>,
    newer: Option<Arc<State>>,
    seen: Sequence,
) -> Result<Results<'c>> {
    let mut results = Results { writer, seen, newer, before: None, puts: Vec::new(), unlogged: Vec::new() };
    for (id, key, operand) in proposal.set.merges() {
        let state = results.newer.as_ref().unwrap_or(&proposal.snapshot.state);
        let value = result(proposal, state, seen, (id, key, operand))?;
        let put = if value.len() < LARGE_VALUE_BYTES_UNSYNCED {
            Pending::Put(value.into_boxed_slice())
        } else {
            let written = writer.large.write(&value)?;
            results.unlogged.push(written);
            Pending::PutLarge(written)
        };
        results.puts.push(put);
    }
    if !results.unlogged.is_empty() {
        // As for values that were put: the log must not refer to bytes that a crash can take.
        writer.large.sync().inspect_err(|_| writer.poison())?;
    }
    Ok(results)
}

fn result(
    proposal: &Proposal<'_>,
    state: &State,
    at: Sequence,
    (id, key, operand): (TableId, &[u8], &[u8]),
) -> Result<Vec<u8>> {
    // As the transaction knows the table. Where another has dropped it meanwhile, or it did so itself, nothing comes of this.
    let Some(known) = view(&proposal.snapshot.state, proposal.schema, id) else { return Ok(operand.to_vec()) };
    let before = match view(state, proposal.schema, id) {
        Some(view) => Layers { state, view, at, set: None, reads: None }.get(key)?,
        None => None,
    };
    known.info.merged(key, before.as_deref(), operand)
}
