//! The results of a transaction's merges: what the values become when it gets its number.
//!
//! A merge has its place among the commits like any change, so its result is that of the value which the commit
//! before leaves. Results are computed before the log's lock is taken, which has what they read in memory, and brings
//! most of them about. Under the lock, where no commit can come in between, those of keys that have changed since are
//! computed again; if they are large or many, the lock is given back for that. What is logged and inserted are
//! ordinary puts.

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
use crate::txn::reads::layers::Layers;
use crate::txn::snapshot::state::State;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::write_set::WriteSet;

/// The results of a set's merges as of one moment.
pub struct Results<'c> {
    writer: &'c Writer,
    /// The last commit that they are upon.
    seen: Sequence,
    /// The state with that commit, if it is not the transaction's own.
    newer: Option<Arc<State>>,
    /// States that were read before. The last holder of a state frees its deltas, which is not for the lock.
    before: Vec<Arc<State>>,
    /// Puts, in the order of the merges in the set.
    puts: Vec<Pending>,
    /// Puts that are not what they must be as of `seen`: their indices, rising.
    outdated: Vec<usize>,
    /// The log may refer to what was written to the data file.
    entrusted: bool,
}

/// What became of results under the log's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// They hold.
    AsBefore,
    /// They hold now, and are others than they were.
    Anew,
    /// To compute them again is too much for the lock: see [`Core::recompute_merges`].
    NotYet,
}

impl Results<'_> {
    /// Puts in the place of merges, in the order of the set.
    pub fn puts(&self) -> &[Pending] {
        &self.puts
    }

    /// The large values among them, with their keys.
    pub fn large<'s>(&'s self, set: &'s WriteSet) -> impl Iterator<Item = (TableId, &'s [u8], &'s LargeValue)> {
        set.merges().zip(&self.puts).filter_map(|((table, key, _), put)| match put {
            Pending::PutLarge(large) => Some((table, key, &**large)),
            _ => None,
        })
    }

    /// The commit may be in the log from now on: large values are not given back unless [`Results::take_back`] is
    /// called.
    pub fn entrust(&mut self) {
        self.entrusted = true;
    }

    /// The commit is not in the log.
    pub fn take_back(&mut self) {
        self.entrusted = false;
    }

    fn state<'s>(&'s self, proposal: &'s Proposal<'_>) -> &'s Arc<State> {
        self.newer.as_ref().unwrap_or(&proposal.snapshot.state)
    }

    /// Whether it can be told without waiting that no commit since, up to the last one, has changed a merged key.
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
        // So many are better looked at without the lock.
        since == 0
            || (self.puts.len() as u64 * since <= COMPARED_MAX
                && !logged.footprints.may_hold(self.seen, logged.last, hashes))
    }

    /// Goes on to the last commit that is seen: finds the results that are outdated then. It reads no value.
    fn go_on(&mut self, core: &Core, proposal: &Proposal<'_>) {
        // The number before the state, as for the first results.
        let seen = core.published.visible().max(self.seen);
        give_way();
        let held = Arc::clone(self.state(proposal));
        let newest = (!core.published.is_newest(&held)).then(|| core.published.state());
        let later = Later::new(self.writer, &held, newest.as_ref());
        for (index, (table, key, _)) in proposal.set.merges().enumerate() {
            let hash = held.pages.identity().hash(key);
            // Of what is too long ago to be known, anything may have changed.
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

    /// Computes what is outdated, and tells whether any of it has become another put.
    fn renew(&mut self, proposal: &Proposal<'_>) -> Result<bool> {
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

    /// Whether computing a result again is too much for the log's lock, as far as its size tells.
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
        let value = value(proposal, self.state(proposal), self.seen, merge)?;
        Ok(if value.len() < LARGE_VALUE_BYTES_UNSYNCED {
            Pending::Put(value.into_boxed_slice())
        } else {
            Pending::PutLarge(Box::new(self.writer.large.write(&value)?))
        })
    }

    /// As for values that were put: the log must not refer to bytes that a crash can take.
    fn sync(&self) -> Result<()> {
        self.writer.large.sync().inspect_err(|_| self.writer.poison())
    }
}

impl Drop for Results<'_> {
    fn drop(&mut self) {
        if self.entrusted {
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
    /// The results of a proposal's merges as of now; `None` if it has none.
    ///
    /// # Errors
    /// What keeps a value from being read or merged.
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
        let mut results = Results { writer, seen, newer, before, puts, outdated, entrusted: false };
        for merge in proposal.set.merges() {
            let put = results.result(proposal, merge)?;
            results.puts.push(put);
        }
        if results.puts.iter().any(is_large) {
            results.sync()?;
        }
        give_way();
        Ok(Some(results))
    }

    /// Brings results up to the last commit that has a number, if that is soon done. Requires: the caller holds the
    /// log's lock, so that no other commit gets one.
    ///
    /// # Errors
    /// As [`Core::precompute_merges`].
    pub fn revalidate_merges(
        &self,
        logged: &Logged,
        proposal: &Proposal<'_>,
        print: &Footprint,
        results: &mut Results<'_>,
    ) -> Result<Merged> {
        if results.are_current(self, logged, proposal, print) {
            return Ok(Merged::AsBefore);
        }
        if results.puts.len() > HASHES {
            return Ok(Merged::NotYet);
        }
        // Commits that have a number are in the deltas only when they are seen.
        self.published.wait(logged.last);
        results.go_on(self, proposal);
        if results.outdated.iter().any(|&index| results.takes_long(proposal, index)) {
            return Ok(Merged::NotYet);
        }
        Ok(if results.renew(proposal)? { Merged::Anew } else { Merged::AsBefore })
    }

    /// Brings results up to the last commit that is seen, and tells whether they have changed. Under the log's lock,
    /// with all commits that have a number seen, that is for good.
    ///
    /// # Errors
    /// As [`Core::precompute_merges`].
    pub fn recompute_merges(&self, proposal: &Proposal<'_>, results: &mut Results<'_>) -> Result<bool> {
        if planted(Fault::MergeComputedTooEarly) {
            return Ok(false);
        }
        results.go_on(self, proposal);
        results.renew(proposal)
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

/// A function of the program whose result is longer is not called under the log's lock, unless others are too fast:
/// all that is known of its time is what it makes.
const FUNCTION_BYTES_LOCKED_MAX: usize = 4 << 10;

fn is_large(put: &Pending) -> bool {
    matches!(put, Pending::PutLarge(_))
}

fn value(
    proposal: &Proposal<'_>,
    state: &State,
    at: Sequence,
    (id, key, operand): (TableId, &[u8], &[u8]),
) -> Result<Vec<u8>> {
    // As the transaction knows the table. Where another has dropped it meanwhile, or it did so itself, nothing comes
    // of this.
    let Some(known) = proposal.schema.view_of(&proposal.snapshot.state, id) else { return Ok(operand.to_vec()) };
    let before = match proposal.schema.view_of(state, id) {
        Some(view) => Layers { state, view, at, set: None, reads: None }.get(key)?,
        None => None,
    };
    known.info.merged(&state.merge_functions, key, before.as_deref(), operand)
}
