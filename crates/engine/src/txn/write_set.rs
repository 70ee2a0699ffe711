//! The private changes of one write transaction, before its commit.
//!
//! Ordered by table and key, so that the transaction reads its own writes, ranges included, and so that a commit is
//! logged in key order. Savepoints are marks in an undo list, which is kept only once there is a savepoint.

use std::ops::Bound;

use crate::format::{LargeValue, MergeRule};
use crate::ids::TableId;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::txn::changes::Changes;

/// What a transaction did to a key last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The key has this value now.
    Put(Box<[u8]>),
    /// The key has the value that lies in an extent of its own.
    PutLarge(LargeValue),
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
    undo_length: usize,
    number: u64,
}

/// All changes of a transaction.
#[derive(Debug, Default)]
pub struct WriteSet {
    /// In order of the tables. There are few: a list needs less memory and time than a tree.
    tables: Vec<(TableId, Changes)>,
    undo: Vec<Undo>,
    marks: Vec<Mark>,
    bytes: usize,
    /// Whether a large value was ever among them: otherwise nobody need look for one.
    has_large: bool,
    /// As `has_large`, for merges.
    has_merges: bool,
}

#[derive(Debug)]
struct Undo {
    table: TableId,
    key: Box<[u8]>,
    before: Option<Pending>,
}

impl WriteSet {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|(_, changes)| changes.is_empty())
    }

    /// How many keys were changed.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|(_, changes)| changes.len()).sum()
    }

    /// Bytes of the keys and values held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Records that `key` changed.
    pub fn set(&mut self, table: TableId, key: &[u8], pending: Pending) {
        self.bytes += pending.weight() + key.len();
        self.has_large |= matches!(pending, Pending::PutLarge(_));
        self.has_merges |= matches!(pending, Pending::Merge(_));
        let changes = self.changes_mut(table);
        let before = changes.set(key, pending);
        if let Some(before) = &before {
            self.bytes -= before.weight() + key.len();
        }
        if !self.marks.is_empty() {
            self.undo.push(Undo { table, key: key.into(), before });
        }
    }

    /// Merges an operand into what is pending for `key`. Requires: that is nothing, or a merge by the same rule.
    ///
    /// Once there is a mark, each merge copies what is pending, for the undo list.
    pub fn merge(&mut self, table: TableId, key: &[u8], operand: &[u8], rule: MergeRule) {
        let in_place = self.marks.is_empty();
        let merged = match self.changes_mut(table).get_mut(key) {
            Some(Pending::Merge(pending)) if in_place => {
                let before = pending.len();
                rule.apply(pending, operand);
                let after = pending.len();
                self.bytes = self.bytes + after - before;
                return;
            }
            Some(Pending::Merge(pending)) => {
                let mut merged = pending.clone();
                rule.apply(&mut merged, operand);
                merged
            }
            pending => {
                assert!(pending.is_none(), "a merge over a put or a deletion is a put");
                operand.to_vec()
            }
        };
        self.set(table, key, Pending::Merge(merged));
    }

    /// What this transaction did to `key`, if anything.
    pub fn get(&self, table: TableId, key: &[u8]) -> Option<&Pending> {
        self.changes(table)?.get(key)
    }

    /// Whether anything in `table` changed.
    pub fn touches(&self, table: TableId) -> bool {
        self.changes(table).is_some_and(|changes| !changes.is_empty())
    }

    /// How many keys of `table` changed.
    pub fn count_of(&self, table: TableId) -> u64 {
        self.changes(table).map_or(0, |changes| changes.len() as u64)
    }

    /// The first change of `table` within `low`, unbounded above.
    pub fn first_from(&self, table: TableId, low: Bound<&[u8]>) -> Option<(&[u8], &Pending)> {
        self.changes(table)?.first_from(low)
    }

    /// The last change of `table` within `high`, unbounded below.
    pub fn last_until(&self, table: TableId, high: Bound<&[u8]>) -> Option<(&[u8], &Pending)> {
        self.changes(table)?.last_until(high)
    }

    /// Every change, by table and key.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, &[u8], &Pending)> {
        self.tables
            .iter()
            .flat_map(|&(table, ref changes)| changes.iter().map(move |(key, pending)| (table, key, pending)))
    }

    /// The tables that have changes, and those whose changes were undone.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        self.tables.iter().map(|&(table, _)| table)
    }

    /// The large values that keys have now.
    pub fn large(&self) -> impl Iterator<Item = (TableId, &[u8], &LargeValue)> {
        let changes = self.has_large.then(|| self.iter()).into_iter().flatten();
        changes.filter_map(|(table, key, pending)| match pending {
            Pending::PutLarge(large) => Some((table, key, large)),
            Pending::Put(_) | Pending::Delete | Pending::Merge(_) => None,
        })
    }

    /// The operands of the keys that are merged, by table and key.
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

    /// Whether all changes are merges.
    pub fn is_merges_alone(&self) -> bool {
        self.has_merges && self.iter().all(|(_, _, pending)| matches!(pending, Pending::Merge(_)))
    }

    /// Whether a change of the table is none that keeps what others did: no merge.
    pub fn overwrites(&self, table: TableId) -> bool {
        let is_merge = |(_, pending): (&[u8], &Pending)| matches!(pending, Pending::Merge(_));
        self.changes(table).is_some_and(|changes| !changes.iter().all(is_merge))
    }

    /// Forgets what was done to a table: it was dropped. Only a rollback to an earlier mark brings it back.
    pub fn forget(&mut self, table: TableId) {
        let Ok(at) = self.place(table) else { return };
        let (_, changes) = self.tables.remove(at);
        for (key, before) in changes {
            self.bytes -= before.weight() + key.len();
            if !self.marks.is_empty() {
                self.undo.push(Undo { table, key, before: Some(before) });
            }
        }
    }

    /// Marks the present state.
    pub fn mark(&mut self) -> Mark {
        // Unique in the process, so that no other transaction takes it for one of its own. Relaxed: it orders nothing.
        let number = MARKS_MADE.fetch_add(1, Ordering::Relaxed);
        let mark = Mark { undo_length: self.undo.len(), number };
        self.marks.push(mark);
        mark
    }

    /// Returns to the state of `mark`, which stays valid; later marks do not. False if the mark is not valid.
    #[must_use]
    pub fn roll_back(&mut self, mark: Mark) -> bool {
        let Some(at) = self.marks.iter().position(|&held| held == mark) else { return false };
        self.marks.truncate(at + 1);
        while self.undo.len() > mark.undo_length {
            let Some(Undo { table, key, before }) = self.undo.pop() else { break };
            let key_bytes = key.len();
            let redone_bytes = before.as_ref().map_or(0, |before| before.weight() + key_bytes);
            let changes = self.changes_mut(table);
            let undone = match before {
                Some(before) => changes.set(&key, before),
                None => changes.remove(&key),
            };
            let undone_bytes = undone.map_or(0, |undone| undone.weight() + key_bytes);
            self.bytes = self.bytes + redone_bytes - undone_bytes;
        }
        true
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

static MARKS_MADE: AtomicU64 = AtomicU64::new(0);

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
    fn operands_of_one_key_are_folded_and_unfolded_by_a_rollback() {
        let rule = MergeRule::of(MergeOperator::Append, "").unwrap();
        let merge = |operand: &[u8]| Pending::Merge(operand.to_vec());
        let mut set = WriteSet::default();
        assert!(!set.may_merge() && !set.is_merges_alone());
        set.merge(TABLE, b"k", b"a", rule);
        set.merge(TABLE, b"k", b"bc", rule);
        assert_eq!((set.get(TABLE, b"k"), set.bytes()), (Some(&merge(b"abc")), 4));
        let mark = set.mark();
        set.merge(TABLE, b"k", b"d", rule);
        set.merge(TABLE, b"l", b"e", rule);
        assert!(set.is_merges_alone());
        set.set(TABLE, b"l", put(b"1"));
        assert!(!set.is_merges_alone());
        assert_eq!(set.merges().collect::<Vec<_>>(), [(TABLE, &b"k"[..], &b"abcd"[..])]);
        assert!(set.roll_back(mark));
        assert_eq!((set.get(TABLE, b"k"), set.get(TABLE, b"l"), set.bytes()), (Some(&merge(b"abc")), None, 4));
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
