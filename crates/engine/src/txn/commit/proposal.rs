//! What a transaction asks to commit, and what must not have changed since its snapshot.

use std::ops::Bound;

use crate::delta::Approach;
use crate::error::Result;
use crate::ids::{Sequence, TableId};
use crate::txn::reads::layers::Layers;
use crate::txn::reads::range::Range;
use crate::txn::reads::read_set::Reads;
use crate::txn::snapshot::state::{Snapshot, State};
use crate::txn::writes::pending::Pending;
use crate::txn::writes::schema::{Schema, SchemaChange};
use crate::txn::writes::write_set::WriteSet;

/// What a transaction wants to commit.
pub struct Proposal<'t> {
    /// What it saw.
    pub snapshot: &'t Snapshot,
    /// Its changes.
    pub set: &'t WriteSet,
    /// The tables that it created, dropped and renamed.
    pub schema: &'t Schema,
    /// What must not have changed since the snapshot.
    pub checks: Checks<'t>,
    /// Whether no other transaction may commit.
    pub is_exclusive: bool,
    /// An approach to the set's only key.
    pub begun: Option<&'t Approach>,
}

/// What must not have changed since a transaction's snapshot.
pub enum Checks<'t> {
    /// Nothing: it read nothing, or no other transaction could commit.
    Nothing,
    /// What it read.
    Reads(&'t Reads),
    /// What it overwrites, and what it guarded.
    Writes(Option<&'t Reads>),
}

impl Proposal<'_> {
    /// Bytes of its changes, with the results of its merges in place of their operands.
    pub fn bytes(&self, results: &[Pending]) -> u64 {
        let operands: usize = match results {
            [] => 0,
            _ => self.set.merges().map(|(_, _, operand)| operand.len()).sum(),
        };
        let results: usize = results.iter().map(Pending::weight).sum();
        (self.set.bytes() - operands + results) as u64
    }

    /// Bytes that it adds: keys and values, `results` of its merges included, and the descriptors of tables that it
    /// creates and does not drop.
    pub fn added_bytes(&self, results: &[Pending]) -> u64 {
        let mut added = 0;
        for change in self.schema.changes() {
            if let SchemaChange::Created(view) = change
                && !self.schema.changes().iter().any(|other| other.drops(view.info.id))
            {
                added += (view.info.name.len() + view.info.descriptor.encode().len()) as u64;
            }
        }
        for (_, key, pending) in resolved(self.set, results) {
            added += match pending {
                Pending::Put(value) => (key.len() + value.len()) as u64,
                Pending::PutLarge(large) => key.len() as u64 + u64::from(large.value.length),
                Pending::Delete => 0,
                Pending::Merge(_) => unreachable!("results are in the place of merges"),
            };
        }
        added
    }

    /// Whether it frees at least so many bytes: the entries that it deletes, and those of the tables that it drops. If
    /// there are any, a few bytes of what it replaces count too, so that the count of what is deleted can be kept. What
    /// cannot be read frees nothing: it may be damage that is being deleted.
    pub fn frees(&self, bytes: u64) -> bool {
        let mut freed = 0;
        for (table, key, pending) in self.set.iter() {
            if matches!(pending, Pending::Delete) {
                freed += self.held_bytes(table, key);
                if freed >= bytes {
                    return true;
                }
            }
        }
        for change in self.schema.changes() {
            let SchemaChange::Dropped(info) = change else { continue };
            let Some(layers) = self.layers(info.id) else { continue };
            for (key, value) in Range::new(layers, Bound::Unbounded, Bound::Unbounded).map_while(Result::ok) {
                freed += (key.len() + value.len()) as u64;
                if freed >= bytes {
                    return true;
                }
            }
        }
        if freed == 0 || freed + REPLACED_BYTES_MAX < bytes {
            return false;
        }
        let mut replaced = 0;
        for (table, key, pending) in self.set.iter() {
            if freed + replaced.min(REPLACED_BYTES_MAX) >= bytes || replaced >= REPLACED_BYTES_MAX {
                break;
            }
            if !matches!(pending, Pending::Delete) {
                replaced += self.held_bytes(table, key);
            }
        }
        freed + replaced.min(REPLACED_BYTES_MAX) >= bytes
    }

    /// Bytes of a key and its value before this transaction; 0 if there is none, or if it cannot be read.
    fn held_bytes(&self, table: TableId, key: &[u8]) -> u64 {
        let value = self.layers(table).and_then(|layers| layers.get(key).ok().flatten());
        value.map_or(0, |value| (key.len() + value.len()) as u64)
    }

    /// The result of a merge with what `state` has up to a sequence.
    ///
    /// # Errors
    /// Why a value cannot be read or merged.
    pub fn merged(&self, state: &State, at: Sequence, (id, key, operand): (TableId, &[u8], &[u8])) -> Result<Vec<u8>> {
        // The table as the transaction knows it. If it was dropped meanwhile, by this transaction or another, the
        // result is not used.
        let Some(known) = self.schema.view_of(&self.snapshot.state, id) else { return Ok(operand.to_vec()) };
        let before = match self.schema.view_of(state, id) {
            Some(view) => Layers { state, view, at, set: None, reads: None }.get(key)?,
            None => None,
        };
        known.info.merged(&state.merge_functions, key, before.as_deref(), operand)
    }

    /// A table without this transaction's changes, if it was there before them.
    fn layers(&self, table: TableId) -> Option<Layers<'_>> {
        let Snapshot { state, sequence } = self.snapshot;
        let view = state.view_of(table)?;
        Some(Layers { state, view, at: *sequence, set: None, reads: None })
    }
}

/// A set's changes, with the results of its merges in place of the merges.
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

/// What is replaced counts as freed up to so many bytes: commits that replace much could follow each other until their
/// log has taken all that is kept for deleting.
const REPLACED_BYTES_MAX: u64 = 4 << 10;
