//! The private changes of one write transaction, before its commit.
//!
//! Changes are ordered by table and key, so that the transaction reads its own writes, in ranges too, and a commit is
//! logged in key order. Savepoints are marks in an undo list, which is kept only once there is a savepoint.
//!
//! When changes take too much memory, they are *spilled*: everything in memory, with its undo list, becomes a layer
//! of [`Spilled`], and the set is empty again above that layer. Changes in memory are newer than all spilled ones.

use std::ops::Bound;

use crate::error::Result;
use crate::format::{LargeValue, MergeRule, Overflowed};
use crate::ids::TableId;
use crate::pager::{Pages, Space};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};
use crate::txn::writes::pending::Pending;
use crate::txn::writes::small_bytes::ChangedKey;
use crate::txn::writes::spill_source::{InMemory, SpillSource};
use crate::txn::writes::spilled::{Layer, Spilled};
use crate::txn::writes::table_writes::{self, Between, TableWrites};
use crate::txn::writes::undo::{Mark, Undo};
use crate::txn::writes::versions::OwnChange;

/// All changes of a transaction.
#[derive(Debug, Default)]
pub struct WriteSet {
    /// In order of the tables. There are few: a list needs less memory and time than a tree.
    tables: Vec<(TableId, TableWrites)>,
    undo: Vec<Undo>,
    /// What the undo list takes of memory, about.
    undo_bytes: usize,
    marks: Vec<Mark>,
    /// What the marks since the last spill take of memory, about.
    mark_bytes: usize,
    /// Whether a mark was made since the last spill: only those need an undo list.
    is_marked: bool,
    /// Keys that were changed, of those in memory.
    entries: usize,
    bytes: usize,
    /// Whether a large value was ever among them. If not, there is no need to search for one.
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

    /// Bytes of memory that all of it takes, about. Marks from before the last spill do not count: a spill frees no
    /// marks, so each change would be spilled by itself.
    #[inline]
    pub fn memory_bytes(&self) -> usize {
        self.bytes + self.entries * ENTRY_BYTES + self.undo_bytes + self.mark_bytes
    }

    /// Whether a spill would write anything.
    pub fn has_memory(&self) -> bool {
        self.entries > 0 || !self.undo.is_empty()
    }

    /// What was spilled, if anything was.
    #[inline]
    pub fn spilled(&self) -> Option<&Spilled> {
        self.spilled.as_deref().filter(|spilled| !spilled.is_empty())
    }

    /// Writes everything in memory to the file's free space, and removes it here. The versions of a key are written
    /// in several parts if they take more than `entry_bytes_max`.
    ///
    /// # Errors
    /// What the disk reports; [`crate::Error::QuotaExceeded`]. Nothing has changed then, except that layers may have
    /// been joined.
    pub fn spill(&mut self, pages: &Pages, space: &Arc<Mutex<Space>>, entry_bytes_max: usize) -> Result<u64> {
        // Written before anything changes here: if a panic on the way is caught, no change is lost.
        let layers = Layer::write(pages, space, &SpillSource::new(self.in_memory(), entry_bytes_max))?;
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

    /// Drops what was spilled. Requires: the set is not read any more.
    pub fn discard_spilled(&mut self) {
        self.spilled = None;
    }

    /// Empties the memory, whose changes were spilled or undone.
    fn forget_memory(&mut self) {
        (self.tables, self.undo) = (Vec::new(), Vec::new());
        (self.bytes, self.entries, self.undo_bytes, self.mark_bytes) = (0, 0, 0, 0);
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

    /// Records puts as [`WriteSet::set`] does. Where their keys rise and are not few beside those that are there, it
    /// takes one pass over both.
    pub fn extend(&mut self, table: TableId, puts: Vec<(ChangedKey, Pending)>) {
        let before = self.changes(table).map_or(0, TableWrites::len);
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

    /// Merges an operand into what is pending for `key`. Requires: that is nothing, spilled or not, or a merge by the
    /// same rule that is in memory.
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

    /// The value of `key`, to be changed in place, if the last change of the key is a put in memory.
    ///
    /// Once there is a mark, each call copies the value, for the undo list.
    pub fn put_mut(&mut self, table: TableId, key: &[u8]) -> Option<&mut [u8]> {
        let at = self.place(table).ok()?;
        if self.is_marked {
            let before = self.tables[at].1.get(key).filter(|pending| matches!(pending, Pending::Put(_)))?.clone();
            self.push_undo(Undo { table, key: ChangedKey::from(key), before: Some(before) });
        }
        match self.tables[at].1.get_mut(key)? {
            Pending::Put(value) => Some(value.bytes_mut()),
            Pending::PutLarge(_) | Pending::Delete | Pending::Merge(_) => None,
        }
    }

    /// What this transaction did to `key`, if anything.
    ///
    /// # Errors
    /// What the disk reports of what was spilled; damage to that.
    #[inline]
    pub fn find(&self, table: TableId, key: &[u8]) -> Result<Option<OwnChange<'_>>> {
        match (self.get(table, key), &self.spilled) {
            (Some(pending), _) => Ok(Some(OwnChange::of(pending))),
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

    /// The changes of `table` between bounds, of those in memory. Requires: one of the bounds is unbounded.
    pub fn range(&self, table: TableId, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Between<'_> {
        self.changes(table).map_or_else(Between::default, |changes| changes.range(low, high))
    }

    /// Every change in memory, by table and key.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (TableId, &[u8], &Pending)> {
        let mut tables = self.tables.iter();
        let mut of_table = None;
        // A loop, because `flat_map` makes this several times as slow for a set of one change.
        std::iter::from_fn(move || {
            loop {
                if let Some((table, changes)) = &mut of_table
                    && let Some((key, pending)) = table_writes::Iter::next(changes)
                {
                    return Some((*table, key, pending));
                }
                let (table, changes) = tables.next()?;
                of_table = Some((*table, changes.iter()));
            }
        })
    }

    /// The tables that have changes. A table can come more than once.
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

    /// Removes the changes of a table, which was dropped. Only a rollback to an earlier mark restores them.
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
        self.mark_bytes += MARK_BYTES;
        self.is_marked = true;
        mark
    }

    /// Returns to the state of `mark`, which stays valid; later marks do not. False if the mark is not valid.
    #[must_use]
    pub fn roll_back(&mut self, mark: Mark) -> bool {
        // Most rollbacks return to one of the last marks.
        let Some(at) = self.marks.iter().rposition(|&held| held == mark) else { return false };
        let later = self.marks.len() - (at + 1);
        self.marks.truncate(at + 1);
        if mark.spills < self.spills {
            self.roll_back_spilled(mark);
            return true;
        }
        self.mark_bytes -= later * MARK_BYTES;
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

    /// All changes in memory are later than the mark, and so are the spilled ones of the stages since.
    fn roll_back_spilled(&mut self, mark: Mark) {
        self.forget_memory();
        if let Some(spilled) = &mut self.spilled {
            spilled.undo(mark.stage, self.stage);
        }
        self.spilled.take_if(|spilled| spilled.is_empty());
        self.stage += 1;
        self.first_stage = self.stage;
    }

    fn in_memory(&self) -> InMemory<'_> {
        let Self { tables, undo, marks, spills, first_stage, .. } = self;
        InMemory { tables, undo, marks, spills: *spills, first_stage: *first_stage }
    }

    fn changes(&self, table: TableId) -> Option<&TableWrites> {
        self.place(table).ok().map(|at| &self.tables[at].1)
    }

    fn changes_mut(&mut self, table: TableId) -> &mut TableWrites {
        let at = self.place(table).unwrap_or_else(|at| {
            self.tables.insert(at, (table, TableWrites::default()));
            at
        });
        &mut self.tables[at].1
    }

    /// Where a table is in the list, or belongs.
    fn place(&self, table: TableId) -> Result<usize, usize> {
        self.tables.binary_search_by_key(&table, |&(table, _)| table)
    }
}

static MARKS_MADE: AtomicU64 = AtomicU64::new(0);

/// Memory that a changed key takes beyond key and value, about: an entry of 72 bytes in nodes that are two thirds full.
pub const ENTRY_BYTES: usize = 110;

/// Memory that a mark takes here, and in the list of its transaction.
const MARK_BYTES: usize = size_of::<Mark>() + size_of::<(Mark, usize)>();

/// Skipping an entry costs so many times less than setting one.
const PASSED_PER_PUT: usize = 8;

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
        // Rising and not; few beside what is there and many; with a mark, so that what was there comes back, and
        // without.
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
    fn a_put_that_changes_in_place_is_restored_by_a_rollback() {
        for length in [2, 100] {
            let mut set = WriteSet::default();
            set.set(TABLE, b"a", put(&vec![1; length]));
            set.set(TABLE, b"b", Pending::Delete);
            let bytes = set.bytes();
            let address = set.put_mut(TABLE, b"a").map(|value| value.as_ptr());
            set.put_mut(TABLE, b"a").expect("it was put").fill(2);
            assert_eq!((set.get(TABLE, b"a"), set.undo.len()), (Some(&put(&vec![2; length])), 0));
            let mark = set.mark();
            for number in 3..5 {
                set.put_mut(TABLE, b"a").expect("it was put").fill(number);
                assert_eq!(set.get(TABLE, b"a"), Some(&put(&vec![number; length])));
            }
            assert_eq!(set.put_mut(TABLE, b"a").map(|value| value.as_ptr()), address, "it was not copied elsewhere");
            for (table, key) in [(TABLE, b"b"), (TABLE, b"c"), (TableId(2), b"a")] {
                assert!(set.put_mut(table, key).is_none());
            }
            assert!(set.roll_back(mark));
            assert_eq!((set.get(TABLE, b"a"), set.bytes()), (Some(&put(&vec![2; length])), bytes));
            assert_eq!((set.len(), set.undo_bytes), (2, 0));
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
        let source = SpillSource::new(set.in_memory(), 64);
        let (mut found, mut part) = (Vec::new(), 0);
        loop {
            let mut versions = source.versions_of(TABLE, part);
            let mut keys = Vec::new();
            while let Some(change) = versions.peek().unwrap() {
                let crate::tree::Action::Put(entry) = change.action else { panic!("versions are put") };
                let of_part: Vec<_> =
                    crate::txn::writes::versions::versions(entry).map(|version| version.stage).collect();
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
    fn marks_take_memory_until_they_are_rolled_back() {
        let mut set = WriteSet::default();
        set.set(TABLE, b"a", put(b"1"));
        let (before, first) = (set.memory_bytes(), set.mark());
        let marks: Vec<Mark> = (0..100).map(|_| set.mark()).collect();
        assert_eq!(set.memory_bytes(), before + 101 * MARK_BYTES);
        assert!(set.roll_back(marks[40]) && !set.roll_back(marks[41]));
        assert_eq!(set.memory_bytes(), before + 42 * MARK_BYTES);
        assert!(set.roll_back(first) && set.roll_back(first) && !set.roll_back(marks[0]));
        assert_eq!((set.memory_bytes(), set.has_memory()), (before + MARK_BYTES, true));
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
        let keys = |low, high| set.range(TABLE, low, high).map(|(key, _)| key.to_vec()).collect::<Vec<_>>().concat();
        assert_eq!(keys(Bound::Included(b"d"), Bound::Unbounded), b"df");
        assert_eq!(keys(Bound::Excluded(b"d"), Bound::Unbounded), b"f");
        assert_eq!(keys(Bound::Unbounded, Bound::Excluded(b"d")), b"b");
        assert_eq!(keys(Bound::Unbounded, Bound::Excluded(b"b")), b"");
        assert_eq!(set.range(TableId(2), Bound::Unbounded, Bound::Unbounded).count(), 0);
    }
}
