//! The private changes of one write transaction, before its commit.
//!
//! Ordered by table and key, so that the transaction reads its own writes, ranges included, and so that a commit is
//! logged in key order. Savepoints are marks in an undo list, which is kept only once there is a savepoint.
//!
//! What takes too much memory is *spilled*: all that is here, with what the undo list says of it, becomes a layer of
//! [`Spilled`], and the set begins anew above that. What is in memory is newer than anything spilled.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Bound;

use crate::error::Result;
use crate::format::{LargeValue, MergeRule, Overflowed};
use crate::ids::TableId;
use crate::pager::{Pages, Space};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};
use crate::tree;
use crate::txn::changed_key::ChangedKey;
use crate::txn::changes::Changes;
use crate::txn::spilled::{Layer, Spilled};
use crate::txn::versions::{Own, push_version, version_bytes};

/// What a transaction did to a key last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The key has this value now.
    Put(Box<[u8]>),
    /// The key has the value that lies in an extent of its own.
    PutLarge(Box<LargeValue>),
    /// The key is gone.
    Delete,
    /// The key's value, whatever that is when the transaction commits, is merged with this operand.
    Merge(Vec<u8>),
}

impl Pending {
    /// Bytes of memory that the value takes.
    pub fn weight(&self) -> usize {
        match self {
            Self::Put(value) => value.len(),
            Self::Merge(operand) => operand.len(),
            Self::PutLarge(_) | Self::Delete => 0,
        }
    }
}

/// A mark to return to; valid until the set is rolled back past it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Spills before it.
    spills: u64,
    undo_length: usize,
    number: u64,
    /// The stage that it begins: see [`versions`](crate::txn::versions).
    stage: u64,
}

/// All changes of a transaction.
#[derive(Debug, Default)]
pub struct WriteSet {
    /// In order of the tables. There are few: a list needs less memory and time than a tree.
    tables: Vec<(TableId, Changes)>,
    undo: Vec<Undo>,
    /// What the undo list takes of memory, about.
    undo_bytes: usize,
    marks: Vec<Mark>,
    /// Whether a mark was made since the last spill: only those need an undo list.
    is_marked: bool,
    /// Keys that were changed, of those in memory.
    entries: usize,
    bytes: usize,
    /// Whether a large value was ever among them: otherwise nobody need look for one.
    has_large: bool,
    /// As `has_large`, for merges.
    has_merges: bool,
    /// What was spilled.
    spilled: Option<Box<Spilled>>,
    spills: u64,
    /// The stage of now.
    stage: u64,
    /// The stage in which what is in memory begins.
    first_stage: u64,
}

#[derive(Debug)]
struct Undo {
    table: TableId,
    key: ChangedKey,
    before: Option<Pending>,
}

impl WriteSet {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.entries == 0 && self.spilled().is_none()
    }

    /// How many keys were changed, of those in memory.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Bytes of the keys and values held in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of memory that all of it takes, about.
    #[inline]
    pub fn memory_bytes(&self) -> usize {
        self.bytes + self.entries * ENTRY_BYTES + self.undo_bytes
    }

    /// What was spilled, if anything was.
    #[inline]
    pub fn spilled(&self) -> Option<&Spilled> {
        self.spilled.as_deref().filter(|spilled| !spilled.is_empty())
    }

    /// Writes all that is in memory to the file's free space, and forgets it here. The versions of a key are written in several parts
    /// if they take more than `entry_bytes_max`.
    ///
    /// # Errors
    /// What the disk reports; [`crate::Error::QuotaExceeded`]. Nothing has changed then, but for layers that may have been joined.
    pub fn spill(&mut self, pages: &Pages, space: &Arc<Mutex<Space>>, entry_bytes_max: usize) -> Result<u64> {
        // Written before anything changes here: whoever catches a panic on the way still has all that was done.
        let layers = Layer::write(pages, space, &SpillOf::new(self, entry_bytes_max))?;
        let spilled = self.spilled.get_or_insert_with(|| Box::new(Spilled::new(pages, space, entry_bytes_max)));
        let bytes = spilled.push(pages, layers)?;
        self.forget_memory();
        if let Some(spilled) = &mut self.spilled {
            let savepoints: Vec<_> = self.marks.iter().map(|mark| mark.stage).collect();
            spilled.join_layers(pages, &savepoints)?;
        }
        Ok(bytes)
    }

    /// How often what was in memory was spilled, or undone by a return to before a spill.
    pub fn spills(&self) -> u64 {
        self.spills
    }

    /// Lets go of what was spilled. Requires: nobody reads the set any more.
    pub fn discard_spilled(&mut self) {
        self.spilled = None;
    }

    /// What is in memory is spilled, or undone.
    fn forget_memory(&mut self) {
        (self.tables, self.undo) = (Vec::new(), Vec::new());
        (self.bytes, self.entries, self.undo_bytes) = (0, 0, 0);
        self.spills += 1;
        self.is_marked = false;
        self.first_stage = self.stage;
    }

    /// Records that `key` changed.
    pub fn set(&mut self, table: TableId, key: &[u8], pending: Pending) {
        self.bytes += pending.weight() + key.len();
        self.entries += 1;
        self.has_large |= matches!(pending, Pending::PutLarge(_));
        self.has_merges |= matches!(pending, Pending::Merge(_));
        let changes = self.changes_mut(table);
        let before = changes.set(key, pending);
        if let Some(before) = &before {
            self.bytes -= before.weight() + key.len();
            self.entries -= 1;
        }
        if self.is_marked {
            self.push_undo(Undo { table, key: ChangedKey::from(key), before });
        }
    }

    /// Records puts as [`WriteSet::set`] does. Where their keys rise and are not few beside those that are there, it takes one pass over both.
    pub fn extend(&mut self, table: TableId, puts: Vec<(ChangedKey, Pending)>) {
        let before = self.changes(table).map_or(0, Changes::len);
        let pays = puts.len() > before / PASSED_PER_PUT && puts.is_sorted_by(|one, next| one.0 < next.0);
        if !pays {
            puts.into_iter().for_each(|(key, pending)| self.set(table, &key, pending));
            return;
        }
        self.entries += puts.len();
        for (key, pending) in &puts {
            self.bytes += pending.weight() + key.len();
            self.has_large |= matches!(pending, Pending::PutLarge(_));
            debug_assert!(!matches!(pending, Pending::Merge(_)));
        }
        let mut undo = Vec::new();
        let (mut replaced, mut replaced_bytes, is_marked) = (0, 0, self.is_marked);
        self.changes_mut(table).extend(puts, |key, before| {
            if let Some(before) = &before {
                replaced += 1;
                replaced_bytes += before.weight() + key.len();
            }
            if is_marked {
                undo.push(Undo { table, key: key.clone(), before });
            }
        });
        self.entries -= replaced;
        self.bytes -= replaced_bytes;
        undo.into_iter().for_each(|undo| self.push_undo(undo));
    }

    fn push_undo(&mut self, undo: Undo) {
        self.undo_bytes += undo.weight();
        self.undo.push(undo);
    }

    /// Merges an operand into what is pending for `key`. Requires: that is nothing, spilled or not, or a merge by the same rule that
    /// is in memory.
    ///
    /// Once there is a mark, each merge copies what is pending, for the undo list.
    ///
    /// # Errors
    /// [`Overflowed`]; nothing has changed then.
    pub fn merge(
        &mut self,
        table: TableId,
        key: &[u8],
        operand: &[u8],
        rule: MergeRule,
    ) -> std::result::Result<(), Overflowed> {
        let in_place = !self.is_marked;
        let merged = match self.changes_mut(table).get_mut(key) {
            Some(Pending::Merge(pending)) if in_place => {
                let before = pending.len();
                rule.apply(pending, operand)?;
                let after = pending.len();
                self.bytes = self.bytes + after - before;
                return Ok(());
            }
            Some(Pending::Merge(pending)) => {
                let mut merged = pending.clone();
                rule.apply(&mut merged, operand)?;
                merged
            }
            pending => {
                assert!(pending.is_none(), "a merge over a put or a deletion is a put");
                operand.to_vec()
            }
        };
        self.set(table, key, Pending::Merge(merged));
        Ok(())
    }

    /// What this transaction did to `key`, if that is in memory.
    pub fn get(&self, table: TableId, key: &[u8]) -> Option<&Pending> {
        self.changes(table)?.get(key)
    }

    /// What this transaction did to `key`, if anything.
    ///
    /// # Errors
    /// What the disk reports of what was spilled; damage to that.
    #[inline]
    pub fn find(&self, table: TableId, key: &[u8]) -> Result<Option<Own<'_>>> {
        match (self.get(table, key), &self.spilled) {
            (Some(pending), _) => Ok(Some(Own::of(pending))),
            (None, None) => Ok(None),
            (None, Some(spilled)) => spilled.get(table, key),
        }
    }

    /// Whether anything in `table` changed.
    pub fn touches(&self, table: TableId) -> bool {
        self.changes(table).is_some_and(|changes| !changes.is_empty())
            || self.spilled().is_some_and(|spilled| spilled.touches(table))
    }

    /// How many keys of `table` changed; of those that were spilled at most so many.
    pub fn count_of(&self, table: TableId) -> u64 {
        let in_memory = self.changes(table).map_or(0, |changes| changes.len() as u64);
        in_memory + self.spilled().map_or(0, |spilled| spilled.entries_of(table))
    }

    /// The first change of `table` within `low`, unbounded above, of those in memory.
    pub fn first_from(&self, table: TableId, low: Bound<&[u8]>) -> Option<(&[u8], &Pending)> {
        self.changes(table)?.first_from(low)
    }

    /// The last change of `table` within `high`, unbounded below, of those in memory.
    pub fn last_until(&self, table: TableId, high: Bound<&[u8]>) -> Option<(&[u8], &Pending)> {
        self.changes(table)?.last_until(high)
    }

    /// Every change in memory, by table and key.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, &[u8], &Pending)> {
        self.tables
            .iter()
            .flat_map(|&(table, ref changes)| changes.iter().map(move |(key, pending)| (table, key, pending)))
    }

    /// The tables that have changes; some may be told several times.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        let spilled = self.spilled().into_iter().flat_map(Spilled::tables);
        // Of a table whose changes were all undone an empty list is left.
        let changed = self.tables.iter().filter(|(_, changes)| !changes.is_empty());
        changed.map(|&(table, _)| table).chain(spilled)
    }

    /// The large values that keys in memory have now.
    pub fn large(&self) -> impl Iterator<Item = (TableId, &[u8], &LargeValue)> {
        let changes = self.has_large.then(|| self.iter()).into_iter().flatten();
        changes.filter_map(|(table, key, pending)| match pending {
            Pending::PutLarge(large) => Some((table, key, &**large)),
            Pending::Put(_) | Pending::Delete | Pending::Merge(_) => None,
        })
    }

    /// The operands of the keys in memory that are merged, by table and key.
    pub fn merges(&self) -> impl Iterator<Item = (TableId, &[u8], &[u8])> {
        let changes = self.has_merges.then(|| self.iter()).into_iter().flatten();
        changes.filter_map(|(table, key, pending)| match pending {
            Pending::Merge(operand) => Some((table, key, &**operand)),
            _ => None,
        })
    }

    /// Whether a change may be a merge.
    #[inline]
    pub fn may_merge(&self) -> bool {
        self.has_merges
    }

    /// Whether all changes are merges, as far as is known without a look at the entries that were spilled.
    pub fn is_merges_alone(&self) -> bool {
        self.has_merges
            && !self.spilled().is_some_and(Spilled::overwrites_any)
            && self.iter().all(|(_, _, pending)| matches!(pending, Pending::Merge(_)))
    }

    /// Whether a change of the table is none that keeps what others did: no merge.
    pub fn overwrites(&self, table: TableId) -> bool {
        let is_merge = |(_, pending): (&[u8], &Pending)| matches!(pending, Pending::Merge(_));
        self.changes(table).is_some_and(|changes| !changes.iter().all(is_merge))
            || self.spilled().is_some_and(|spilled| spilled.overwrites(table))
    }

    /// Forgets what was done to a table: it was dropped. Only a rollback to an earlier mark brings it back.
    pub fn forget(&mut self, table: TableId) {
        let Ok(at) = self.place(table) else { return };
        let (_, changes) = self.tables.remove(at);
        for (key, before) in changes {
            self.bytes -= before.weight() + key.len();
            self.entries -= 1;
            if self.is_marked {
                self.push_undo(Undo { table, key, before: Some(before) });
            }
        }
    }

    /// Marks the present state.
    pub fn mark(&mut self) -> Mark {
        // Unique in the process, so that no other transaction takes it for one of its own. Relaxed: it orders nothing.
        let number = MARKS_MADE.fetch_add(1, Ordering::Relaxed);
        self.stage += 1;
        let mark = Mark { spills: self.spills, undo_length: self.undo.len(), number, stage: self.stage };
        self.marks.push(mark);
        self.is_marked = true;
        mark
    }

    /// Returns to the state of `mark`, which stays valid; later marks do not. False if the mark is not valid.
    #[must_use]
    pub fn roll_back(&mut self, mark: Mark) -> bool {
        let Some(at) = self.marks.iter().position(|&held| held == mark) else { return false };
        self.marks.truncate(at + 1);
        if mark.spills < self.spills {
            self.roll_back_spilled(mark);
            return true;
        }
        while self.undo.len() > mark.undo_length {
            let Some(undo) = self.undo.pop() else { break };
            self.undo_bytes -= undo.weight();
            let Undo { table, key, before } = undo;
            let key_bytes = key.len();
            self.entries += usize::from(before.is_some());
            let redone_bytes = before.as_ref().map_or(0, |before| before.weight() + key_bytes);
            let changes = self.changes_mut(table);
            let undone = match before {
                Some(before) => changes.set(&key, before),
                None => changes.remove(&key),
            };
            self.entries -= usize::from(undone.is_some());
            let undone_bytes = undone.map_or(0, |undone| undone.weight() + key_bytes);
            self.bytes = self.bytes + redone_bytes - undone_bytes;
        }
        true
    }

    /// All that is in memory came after the mark, and of what was spilled all of the stages since.
    fn roll_back_spilled(&mut self, mark: Mark) {
        self.forget_memory();
        if let Some(spilled) = &mut self.spilled {
            spilled.undo(mark.stage, self.stage);
        }
        self.spilled.take_if(|spilled| spilled.is_empty());
        self.stage += 1;
        self.first_stage = self.stage;
    }

    /// The stage of an entry of the undo list.
    fn stage_of(&self, undo: usize) -> u64 {
        let since_spill = &self.marks[self.marks.partition_point(|mark| mark.spills < self.spills)..];
        let before = since_spill.partition_point(|mark| mark.undo_length <= undo);
        before.checked_sub(1).map_or(self.first_stage, |last| since_spill[last].stage)
    }

    fn changes(&self, table: TableId) -> Option<&Changes> {
        self.place(table).ok().map(|at| &self.tables[at].1)
    }

    fn changes_mut(&mut self, table: TableId) -> &mut Changes {
        let at = self.place(table).unwrap_or_else(|at| {
            self.tables.insert(at, (table, Changes::default()));
            at
        });
        &mut self.tables[at].1
    }

    /// Where a table is in the list, or belongs.
    fn place(&self, table: TableId) -> Result<usize, usize> {
        self.tables.binary_search_by_key(&table, |&(table, _)| table)
    }
}

impl Undo {
    fn place(&self) -> (TableId, &[u8]) {
        (self.table, &self.key)
    }

    fn weight(&self) -> usize {
        UNDO_BYTES + self.key.len() + self.before.as_ref().map_or(0, Pending::weight)
    }
}

/// What of a set is in memory, as a layer has it.
pub struct SpillOf<'s> {
    set: &'s WriteSet,
    /// Indices into the undo list, by table and key, and the older ones of a key first.
    undo: Vec<usize>,
    entry_bytes_max: usize,
}

impl<'s> SpillOf<'s> {
    fn new(set: &'s WriteSet, entry_bytes_max: usize) -> Self {
        let mut undo: Vec<_> = (0..set.undo.len()).collect();
        undo.sort_by(|&a, &b| set.undo[a].place().cmp(&set.undo[b].place()));
        Self { set, undo, entry_bytes_max }
    }

    /// The tables that have something, rising.
    pub fn tables(&self) -> BTreeSet<TableId> {
        let changed = self.set.tables.iter().map(|&(table, _)| table);
        changed.chain(self.set.undo.iter().map(|undo| undo.table)).collect()
    }

    /// One part of the versions of a table's keys, from 0 on: the first is that of the oldest, and has all of most keys.
    pub fn versions_of(&self, table: TableId, part: usize) -> Versions<'_> {
        let set = self.set;
        let from = self.undo.partition_point(|&at| set.undo[at].table < table);
        let to = self.undo.partition_point(|&at| set.undo[at].table <= table);
        let undo = &self.undo[from..to];
        let changes = set.changes(table).into_iter().flat_map(Changes::iter);
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

/// Changes of a set with what the undo list says of their keys, by key.
pub struct Versions<'s> {
    set: &'s WriteSet,
    changes: Peekable<Box<dyn Iterator<Item = KeyChange<'s>> + 's>>,
    /// See [`SpillOf`]; those of the table.
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

/// The versions of a key, cut into parts that are no larger than an entry may be, but for those of a single version.
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
    /// Whether there is a further part, as far as was gone through.
    pub fn has_more(&self) -> bool {
        self.parts.has_more
    }

    /// Whether a change was none that keeps what others did, of those gone through.
    pub fn overwrites(&self) -> bool {
        self.overwrites
    }

    /// The first stage of which there was a version, of those gone through.
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

    /// Goes to the next key. Whether there is one.
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
            // A version that was replaced in its own stage is none that anybody returns to.
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
        // A key whose versions all were of a table that is dropped and the stage of that has none, as one whose are of other parts.
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

static MARKS_MADE: AtomicU64 = AtomicU64::new(0);

/// Memory that a changed key takes beyond key and value, about.
pub const ENTRY_BYTES: usize = 80;
/// Passing an entry by costs so much less than setting one.
const PASSED_PER_PUT: usize = 8;
/// As [`ENTRY_BYTES`], in the undo list.
const UNDO_BYTES: usize = 72;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::MergeOperator;

    const TABLE: TableId = TableId(1);

    fn put(value: &[u8]) -> Pending {
        Pending::Put(value.into())
    }

    #[test]
    fn a_rollback_restores_values_deletes_and_sizes() {
        let mut set = WriteSet::default();
        set.set(TABLE, b"a", put(b"1"));
        set.set(TABLE, b"b", put(b"22"));
        let bytes = set.bytes();
        let first = set.mark();
        set.set(TABLE, b"a", Pending::Delete);
        let second = set.mark();
        set.set(TABLE, b"c", put(b"333"));
        set.forget(TABLE);
        assert!(set.is_empty());
        assert!(set.roll_back(second));
        assert_eq!(set.get(TABLE, b"a"), Some(&Pending::Delete));
        assert_eq!(set.get(TABLE, b"c"), None);
        assert!(set.roll_back(first));
        assert_eq!(set.get(TABLE, b"a"), Some(&put(b"1")));
        assert_eq!(set.get(TABLE, b"b"), Some(&put(b"22")));
        assert_eq!(set.bytes(), bytes);
        assert!(!set.roll_back(second), "a mark past the one returned to is gone");
        assert!(set.roll_back(first), "the mark returned to stays");
    }

    #[test]
    fn puts_that_are_recorded_together_are_those_recorded_one_by_one() {
        let puts = |numbers: &[u8]| -> Vec<(ChangedKey, Pending)> {
            numbers.iter().map(|&number| (ChangedKey::from(&[number; 3][..]), put(&[number; 5]))).collect()
        };
        // Rising and not; few beside what is there and many; with a mark, so that what was there comes back, and without.
        for batches in [vec![&[1, 3, 5][..], &[2, 3, 9]], vec![&[5, 1], &[5]], vec![&[1, 2, 3, 4, 5, 6, 7, 8, 9], &[4]]]
        {
            for marked_from in 0..=batches.len() {
                let (mut together, mut single) = (WriteSet::default(), WriteSet::default());
                let mut marks = None;
                let mut at_mark = Vec::new();
                for (place, batch) in batches.iter().enumerate() {
                    if place == marked_from {
                        at_mark = single.iter().map(|(_, key, pending)| (key.to_vec(), pending.clone())).collect();
                        marks = Some((together.mark(), single.mark()));
                    }
                    together.extend(TABLE, puts(batch));
                    puts(batch).into_iter().for_each(|(key, pending)| single.set(TABLE, &key, pending));
                    assert!(together.iter().eq(single.iter()));
                    assert_eq!((together.len(), together.bytes()), (single.len(), single.bytes()));
                    assert_eq!(together.memory_bytes(), single.memory_bytes());
                }
                if let Some((mark, _)) = marks {
                    assert!(together.roll_back(mark));
                    let left: Vec<_> =
                        together.iter().map(|(_, key, pending)| (key.to_vec(), pending.clone())).collect();
                    assert_eq!(left, at_mark);
                }
            }
        }
    }

    #[test]
    fn operands_of_one_key_are_folded_and_unfolded_by_a_rollback() {
        let rule = MergeRule::of(MergeOperator::Append, "").unwrap();
        let merge = |operand: &[u8]| Pending::Merge(operand.to_vec());
        let mut set = WriteSet::default();
        assert!(!set.may_merge() && !set.is_merges_alone());
        set.merge(TABLE, b"k", b"a", rule).unwrap();
        set.merge(TABLE, b"k", b"bc", rule).unwrap();
        assert_eq!((set.get(TABLE, b"k"), set.bytes()), (Some(&merge(b"abc")), 4));
        let mark = set.mark();
        set.merge(TABLE, b"k", b"d", rule).unwrap();
        set.merge(TABLE, b"l", b"e", rule).unwrap();
        assert!(set.is_merges_alone());
        set.set(TABLE, b"l", put(b"1"));
        assert!(!set.is_merges_alone());
        assert_eq!(set.merges().collect::<Vec<_>>(), [(TABLE, &b"k"[..], &b"abcd"[..])]);
        assert!(set.roll_back(mark));
        assert_eq!((set.get(TABLE, b"k"), set.get(TABLE, b"l"), set.bytes()), (Some(&merge(b"abc")), None, 4));
    }

    #[test]
    fn versions_of_a_key_that_are_many_are_cut_into_parts() {
        use crate::tree::Changes as _;
        let mut set = WriteSet::default();
        let mut stages = Vec::new();
        for (round, length) in [10, 10, 200, 10, 10, 10, 300].into_iter().enumerate() {
            stages.push(set.mark().stage);
            set.set(TABLE, b"hot", put(&vec![round as u8; length]));
        }
        set.set(TABLE, b"once", Pending::Delete);
        let source = SpillOf::new(&set, 64);
        let (mut found, mut part) = (Vec::new(), 0);
        loop {
            let mut versions = source.versions_of(TABLE, part);
            let mut keys = Vec::new();
            while let Some(change) = versions.peek().unwrap() {
                let tree::Action::Put(entry) = change.action else { panic!("versions are put") };
                let of_part: Vec<_> = crate::txn::versions::versions(entry).map(|version| version.stage).collect();
                assert!(entry.len() <= 64 || of_part.len() == 1, "{of_part:?} in {} bytes", entry.len());
                if change.key == b"hot" {
                    found.extend(of_part.into_iter().rev());
                }
                keys.push(change.key.to_vec());
                versions.advance();
            }
            assert_eq!(keys.len(), if part == 0 { 2 } else { 1 }, "{keys:?}");
            part += 1;
            if !versions.has_more() {
                break;
            }
        }
        assert_eq!((found, part), (stages, 5));
    }

    #[test]
    fn a_mark_of_another_set_is_refused() {
        let (mut mine, mut other) = (WriteSet::default(), WriteSet::default());
        let foreign = other.mark();
        mine.mark();
        assert!(!mine.roll_back(foreign));
    }

    #[test]
    fn neighbours_are_found_from_both_sides_of_a_bound() {
        let mut set = WriteSet::default();
        for key in [b"b", b"d", b"f"] {
            set.set(TABLE, key, put(key));
        }
        let key = |found: Option<(&[u8], &Pending)>| found.map(|(key, _)| key.to_vec());
        assert_eq!(key(set.first_from(TABLE, Bound::Included(b"d"))), Some(b"d".to_vec()));
        assert_eq!(key(set.first_from(TABLE, Bound::Excluded(b"d"))), Some(b"f".to_vec()));
        assert_eq!(key(set.last_until(TABLE, Bound::Excluded(b"d"))), Some(b"b".to_vec()));
        assert_eq!(key(set.last_until(TABLE, Bound::Excluded(b"b"))), None);
        assert_eq!(key(set.first_from(TableId(2), Bound::Unbounded)), None);
    }
}
