//! What a spill writes: the changes of a write set that are in memory, by table and key, each key with its
//! [versions](crate::txn::writes::versions).
//!
//! A layer holds one entry for each key. The versions of a key that take too much for one entry are cut into parts,
//! and each part goes into a layer of its own.

use std::collections::BTreeSet;
use std::iter::Peekable;

use crate::error::Result;
use crate::ids::TableId;
use crate::tree;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::table_writes::TableWrites;
use crate::txn::writes::undo::{Mark, Undo};
use crate::txn::writes::versions::{push_version, version_bytes};

/// The changes of a write set that are in memory, with what their savepoints may still return to.
#[derive(Clone, Copy)]
pub struct InMemory<'s> {
    /// In order of the tables.
    pub tables: &'s [(TableId, TableWrites)],
    /// What rollbacks undo, the oldest first.
    pub undo: &'s [Undo],
    /// The savepoints that stand, the oldest first.
    pub marks: &'s [Mark],
    /// Spills so far.
    pub spills: u64,
    /// The stage in which these changes begin.
    pub first_stage: u64,
}

impl<'s> InMemory<'s> {
    fn changes(&self, table: TableId) -> Option<&'s TableWrites> {
        let at = self.tables.binary_search_by_key(&table, |&(table, _)| table).ok()?;
        Some(&self.tables[at].1)
    }

    /// The stage of an entry of the undo list.
    fn stage_of(&self, undo: usize) -> u64 {
        let since_spill = &self.marks[self.marks.partition_point(|mark| mark.spills < self.spills)..];
        let before = since_spill.partition_point(|mark| mark.undo_length <= undo);
        before.checked_sub(1).map_or(self.first_stage, |last| since_spill[last].stage)
    }
}

/// What is in memory, as a layer has it.
pub struct SpillSource<'s> {
    set: InMemory<'s>,
    /// Indices into the undo list, by table and key, and the older ones of a key first.
    undo: Vec<usize>,
    entry_bytes_max: usize,
}

impl<'s> SpillSource<'s> {
    /// Requires: no list of `set` changes while this is used.
    pub fn new(set: InMemory<'s>, entry_bytes_max: usize) -> Self {
        let mut undo: Vec<_> = (0..set.undo.len()).collect();
        undo.sort_by(|&a, &b| set.undo[a].place().cmp(&set.undo[b].place()));
        Self { set, undo, entry_bytes_max }
    }

    /// The tables that have something, rising.
    pub fn tables(&self) -> BTreeSet<TableId> {
        let changed = self.set.tables.iter().map(|&(table, _)| table);
        changed.chain(self.set.undo.iter().map(|undo| undo.table)).collect()
    }

    /// One part of the versions of a table's keys, counted from 0. The first part has the oldest versions, and for
    /// most keys it has all of them.
    pub fn versions_of(&self, table: TableId, part: usize) -> Versions<'_> {
        let set = self.set;
        let from = self.undo.partition_point(|&at| set.undo[at].table < table);
        let to = self.undo.partition_point(|&at| set.undo[at].table <= table);
        let undo = &self.undo[from..to];
        let changes = set.changes(table).into_iter().flat_map(TableWrites::iter);
        let changes: Box<dyn Iterator<Item = KeyChange<'_>> + '_> = Box::new(changes);
        let (changes, entry) = (changes.peekable(), Vec::new());
        let (stands, overwrites, first_stage) = (false, false, u64::MAX);
        let (entry_bytes_max, has_more) = (self.entry_bytes_max, false);
        let parts = Parts { part, entry_bytes_max, at: 0, at_bytes: 0, has_more };
        Versions { set, changes, undo, at: 0, key: &[], entry, parts, stands, overwrites, first_stage }
    }
}

/// A key, and what was done to it.
type KeyChange<'s> = (&'s [u8], &'s Pending);

/// TableWrites of a set with what the undo list says of their keys, by key.
pub struct Versions<'s> {
    set: InMemory<'s>,
    changes: Peekable<Box<dyn Iterator<Item = KeyChange<'s>> + 's>>,
    /// See [`SpillSource`]; those of the table.
    undo: &'s [usize],
    /// How many of these are used.
    at: usize,
    key: &'s [u8],
    /// The versions of the key.
    entry: Vec<u8>,
    parts: Parts,
    /// Whether these are of the change at hand.
    stands: bool,
    overwrites: bool,
    first_stage: u64,
}

/// The versions of a key, cut into parts. Each part fits into an entry, or is a single version.
struct Parts {
    /// The part that is wanted.
    part: usize,
    entry_bytes_max: usize,
    /// The part that the next version belongs to, and what it has so far.
    at: usize,
    at_bytes: usize,
    /// Whether any key had a version in a part after the one wanted.
    has_more: bool,
}

impl Parts {
    /// Whether the next version, which has so many bytes, belongs to the part that is wanted.
    fn take(&mut self, bytes: usize) -> bool {
        if self.at_bytes > 0 && self.at_bytes + bytes > self.entry_bytes_max {
            (self.at, self.at_bytes) = (self.at + 1, 0);
        }
        self.at_bytes += bytes;
        self.has_more |= self.at > self.part;
        self.at == self.part
    }
}

impl Versions<'_> {
    /// Whether a later part has a version, of the keys that this has gone through.
    pub fn has_more(&self) -> bool {
        self.parts.has_more
    }

    /// Whether a change that this has gone through overwrites what other transactions did, which a merge does not.
    pub fn overwrites(&self) -> bool {
        self.overwrites
    }

    /// The first stage that has a version, of those that this has gone through.
    pub fn first_stage(&self) -> u64 {
        self.first_stage
    }

    fn push(&mut self, stage: u64, pending: &Pending) {
        if !self.parts.take(version_bytes(pending)) {
            return;
        }
        push_version(&mut self.entry, stage, pending);
        self.first_stage = self.first_stage.min(stage);
        self.overwrites |= !matches!(pending, Pending::Merge(_));
    }

    /// Advances to the next key. Returns whether there is one.
    fn step(&mut self) -> bool {
        let set = self.set;
        let undone = self.undo.get(self.at).map(|&undo| &*set.undo[undo].key);
        let changed = self.changes.peek().map(|&(key, _)| key);
        let Some(key) = undone.into_iter().chain(changed).min() else { return false };
        (self.key, self.stands) = (key, true);
        self.entry.clear();
        (self.parts.at, self.parts.at_bytes) = (0, 0);
        let mut stage = set.first_stage;
        while let Some(&at) = self.undo.get(self.at).filter(|&&at| *set.undo[at].key == *key) {
            let changed_at = set.stage_of(at);
            // No rollback restores a version that was replaced in its own stage.
            if let (Some(before), true) = (&set.undo[at].before, changed_at > stage) {
                self.push(stage, before);
            }
            stage = changed_at;
            self.at += 1;
        }
        if let Some((_, pending)) = self.changes.next_if(|&(changed, _)| changed == key) {
            self.push(stage, pending);
        }
        true
    }
}

impl tree::Changes for Versions<'_> {
    fn peek(&mut self) -> Result<Option<tree::Change<'_>>> {
        // A key has no version in this part if its versions are in other parts, or if its table was dropped in the
        // same stage.
        while !self.stands || self.entry.is_empty() {
            if !self.step() {
                return Ok(None);
            }
        }
        Ok(Some(tree::Change { key: self.key, hash: None, action: tree::Action::Put(&self.entry) }))
    }

    fn advance(&mut self) {
        self.stands = false;
    }
}
