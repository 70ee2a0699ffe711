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
    /// Bytes that it adds: keys and values, results of merges included, and the descriptors of created tables.
    ///
    /// # Errors
    /// Why a value cannot be read or merged.
    pub fn added_bytes(&self) -> Result<u64> {
        let mut added = 0;
        for change in self.schema.changes() {
            if let SchemaChange::Created(view) = change {
                added += view.info.name.len() + view.info.descriptor.encode().len();
            }
        }
        let Snapshot { state, sequence } = self.snapshot;
        for (table, key, pending) in self.set.iter() {
            added += match pending {
                Pending::Put(value) => key.len() + value.len(),
                Pending::PutLarge(large) => key.len() + large.value.length as usize,
                Pending::Merge(operand) => key.len() + self.merged(state, *sequence, (table, key, operand))?.len(),
                Pending::Delete => 0,
            };
        }
        Ok(added as u64)
    }

    /// Whether it frees at least so many bytes: the entries that it deletes, and those of the tables that it drops. If
    /// there are any, a few bytes of what it replaces count too, so that the count of what is deleted can be kept. It
    /// reads no more entries than are needed to say so.
    ///
    /// # Errors
    /// Damage to what it reads.
    pub fn frees(&self, bytes: u64) -> Result<bool> {
        let (mut freed, mut replaced) = (0, 0);
        for (table, key, pending) in self.set.iter() {
            if freed >= bytes {
                return Ok(true);
            }
            let is_deleted = matches!(pending, Pending::Delete);
            if !is_deleted && replaced >= REPLACED_BYTES_MAX {
                continue;
            }
            let value = self.layers(table).map(|layers| layers.get(key)).transpose()?.flatten();
            let held = value.map_or(0, |value| (key.len() + value.len()) as u64);
            *(if is_deleted { &mut freed } else { &mut replaced }) += held;
        }
        for change in self.schema.changes() {
            let SchemaChange::Dropped(info) = change else { continue };
            let Some(layers) = self.layers(info.id) else { continue };
            for entry in Range::new(layers, Bound::Unbounded, Bound::Unbounded) {
                if freed >= bytes {
                    return Ok(true);
                }
                let (key, value) = entry?;
                freed += (key.len() + value.len()) as u64;
            }
        }
        Ok(freed > 0 && freed + replaced.min(REPLACED_BYTES_MAX) >= bytes)
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

/// What is replaced counts as freed up to so many bytes: commits that replace much could follow each other until their
/// log has taken all that is kept for deleting.
const REPLACED_BYTES_MAX: u64 = 4 << 10;
