//! Commits that are in the log and not yet in a tree: ordered by key, versioned by sequence, in memory.
//!
//! A [`Delta`] belongs to one table. Commits insert into it before they become visible; reads look into it first, and
//! overlay what it says, tombstones included, on the table's tree; a checkpoint walks it in key order and drops it.
//!
//! Any number of threads insert and read at once. A commit has its sequence before it inserts, so versions of one key come in
//! any order: each goes to its place among them.
//!
//! Invariants: (1) Nothing is removed: a snapshot that reads at a sequence reads the same for as long as the delta
//! lives, whatever is inserted at later ones. (2) Borrowed bytes live as long as the borrow of the delta. (3) Reads take
//! no lock and never wait for a commit; at most they repeat a node that a commit is changing. (4) When an insert returns, its
//! change is found: in its record's chain, by its key through the index, in its place in the order of keys, and counted.
//!
//! A read at sequence `s` sees all inserts at or before `s` only if they all happened before it: the caller learns `s` by an
//! acquiring load of a number that advances, releasing, over commits of which none before it is still inserting (the
//! database's visible sequence). What is inserted later has a later sequence, and the read passes it by.
//!
//! From below: `arena` is memory, `record` what lies in it, `node` one node and how it is read beside a writer, `tree`
//! the tree of nodes, `cursor` places in its order, `changed` what a transaction's validation asks, `index` the filter and
//! hash table in front of the tree, `counts` numbers, `lanes` what keeps threads apart.

mod arena;
mod changed;
mod counts;
mod cursor;
mod index;
mod lanes;
mod node;
mod record;
#[cfg(test)]
mod tests;
mod tree;

pub use cursor::Position;

use crate::delta::arena::Unit;
use crate::delta::counts::Counts;
use crate::delta::cursor::{Place, Start};
use crate::delta::index::Index;
use crate::delta::record::{Record, RecordRef};
use crate::delta::tree::{Entry, Inserted, Tree};
use crate::format::{OverflowRef, ValueAlign};
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::ops::Bound;

/// See the module.
pub struct Delta {
    /// Different for each delta of this process; a [`Position`] names it.
    id: u64,
    tree: Tree,
    index: Index,
    counts: Counts,
}

/// How near to the place of a key an insert of it has come: see [`Delta::approach`].
#[derive(Clone, Copy, Debug)]
pub struct Approach {
    /// Which delta it belongs to.
    delta: u64,
    hash: u64,
    in_tree: tree::Approach,
}

impl Approach {
    /// Whether it was to a key with this hash.
    pub fn is_to(&self, hash: u64) -> bool {
        self.hash == hash
    }

    /// Hash of the key that it was to.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Where an insert has come, for the next one of a key above: see [`Delta::insert_along`].
#[derive(Debug, Default)]
pub struct Trail {
    /// Which delta it belongs to.
    delta: u64,
    leaf: Option<Unit>,
}

/// What a commit did to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'d> {
    /// The key has this value.
    Put(&'d [u8]),
    /// The key has the value that lies in an extent of its own.
    PutLarge(OverflowRef),
    /// The key is gone.
    Delete,
}

impl fmt::Debug for Delta {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("Delta");
        fields.field("entries", &self.entries()).field("versions", &self.versions());
        fields.field("last_sequence", &self.last_sequence()).field("memory_bytes", &self.memory_bytes());
        fields.finish_non_exhaustive()
    }
}

impl Delta {
    /// An empty delta. It allocates nothing before the first insert. Value bytes will be aligned as `value_align` says.
    pub fn new(value_align: ValueAlign) -> Self {
        Self::on(Tree::new(value_align), Index::new())
    }

    /// An empty delta of the same table, to take the place of this one: it will use the memory that this one and those before
    /// it leave when they are dropped.
    pub fn successor(&self) -> Self {
        Self::on(self.tree.successor(), self.index.successor())
    }

    /// Gives back what is kept of the deltas before, and what they will leave until this one or a later one grows again: for a
    /// table that is not written any more.
    pub fn forget_spares(&self) {
        self.tree.forget_spares();
        self.index.forget_spares();
    }

    fn on(tree: Tree, index: Index) -> Self {
        // From 1: the default of a `Trail` is none's.
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), tree, index, counts: Counts::default() }
    }

    /// Records that commit `at` did `change` to `key`, whose hash is `hash`. Commits may come in any order; a second change
    /// at the same sequence replaces the first one.
    ///
    /// It costs a copy of each version of the key that is later, which should be no more than those of commits that are
    /// inserting at this moment.
    ///
    /// # Panics
    /// If a value has 1 GiB or more, a key has 1 GiB or more, or the delta outgrows 32 GiB.
    pub fn insert(&self, key: &[u8], hash: u64, at: Sequence, change: Change<'_>) {
        self.index.prefetch_add(hash, self.counts.next_ordinal());
        self.insert_from(None, &Entry { key, hash, at, change });
    }

    /// Asks for what an insert of `key`, whose hash is `hash`, will read and write, and finds its way down to that: misses are
    /// two thirds of an insert's time. It pays where there is other work before [`Delta::insert_near`]. None while the delta
    /// is small, and where a node on the way is full or being changed.
    pub fn approach(&self, key: &[u8], hash: u64) -> Option<Approach> {
        self.index.prefetch_add(hash, self.counts.next_ordinal());
        Some(Approach { delta: self.id, hash, in_tree: self.tree.approach(key)? })
    }

    /// Goes on with an approach when what that asked for has arrived, and asks for the record of the key, if there may be one.
    ///
    /// Requires: the approach was to this key.
    pub fn come_nearer(&self, approach: &mut Approach, key: &[u8]) {
        if approach.delta == self.id {
            self.tree.come_nearer(&mut approach.in_tree, key);
        }
    }

    /// Does what [`Delta::insert`] does, whatever was inserted since the approach, and even if that was to another delta.
    ///
    /// Requires: the approach was to this key.
    ///
    /// # Panics
    /// As [`Delta::insert`].
    pub fn insert_near(&self, approach: &Approach, key: &[u8], at: Sequence, change: Change<'_>) {
        let in_tree = (approach.delta == self.id).then_some(approach.in_tree);
        self.insert_from(in_tree, &Entry { key, hash: approach.hash, at, change });
    }

    /// As [`Delta::insert`], of one of many keys that rise: faster where it falls near the one before. `trail` begins as its default, and
    /// goes with these keys.
    ///
    /// # Panics
    /// As [`Delta::insert`].
    pub fn insert_along(&self, trail: &mut Trail, key: &[u8], hash: u64, at: Sequence, change: Change<'_>) {
        let entry = Entry { key, hash, at, change };
        self.index.prefetch_add(hash, self.counts.next_ordinal());
        if trail.delta != self.id {
            *trail = Trail { delta: self.id, leaf: None };
        }
        let inserted = self.tree.insert_along(&entry, &mut trail.leaf);
        self.make_known(inserted, &entry);
    }

    fn insert_from(&self, approach: Option<tree::Approach>, entry: &Entry<'_>) {
        let inserted = self.tree.insert(entry, approach);
        self.make_known(inserted, entry);
    }

    /// The rest of an insert, when the tree has the change: until then another thread may find the record in the tree, but not
    /// through the index.
    fn make_known(&self, inserted: Inserted, entry: &Entry<'_>) {
        match inserted {
            Inserted::Key(record) => self.index_as(self.counts.add_key(entry.at), record, entry.hash),
            Inserted::Version(record) => {
                self.counts.add_version(entry.at);
                // Who inserted the key may not have come to this line, and this commit may be visible before that: so each
                // insert answers for the index. It may know the record twice then, which does no harm.
                if !self.tree.record(record).is_indexed() {
                    self.index_as(self.counts.add_double(), record, entry.hash);
                }
            }
        }
    }

    fn index_as(&self, ordinal: usize, record: RecordRef, hash: u64) {
        self.index.add(hash, ordinal, record);
        self.tree.record(record).set_indexed();
    }

    /// The newest change to `key` at or before `at`. None: this delta knows nothing of the key, ask the tree.
    #[inline]
    pub fn get(&self, key: &[u8], hash: u64, at: Sequence) -> Option<Change<'_>> {
        let record = self.find(key, hash)?;
        Some(record.change(record.visible(at)?))
    }

    /// The sequence of the newest change to `key`, whatever that was. None: no commit that this delta knows changed it.
    ///
    /// It tells of each insert that happened before the call, and may tell of one that is under way.
    #[inline]
    pub fn newest_sequence(&self, key: &[u8], hash: u64) -> Option<Sequence> {
        Some(self.find(key, hash)?.newest_sequence())
    }

    /// Whether the delta may know a key with this hash.
    #[inline(always)]
    pub fn may_know(&self, hash: u64) -> bool {
        self.index.may_know(hash)
    }

    #[inline(always)]
    fn find(&self, key: &[u8], hash: u64) -> Option<Record<'_>> {
        let is_it = |record| {
            self.tree.prefetch(record); // The value lies behind the key.
            self.tree.key(record) == key
        };
        Some(self.tree.record(self.index.find(hash, is_it)?))
    }

    /// Fetches into the cache what [`Delta::get`] will read first.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Number of distinct keys, deleted ones included.
    pub fn entries(&self) -> usize {
        self.counts.entries()
    }

    /// Number of inserts.
    pub fn versions(&self) -> usize {
        self.counts.versions()
    }

    /// Whether nothing was ever inserted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The latest sequence of any insert; 0 if there was none.
    pub fn last_sequence(&self) -> Sequence {
        self.counts.last_sequence()
    }

    /// Memory in use, in bytes: keys, values, nodes and filter.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.tree.used_bytes() + self.index.bytes()
    }

    /// The first entry visible at `at`.
    pub fn first(&self, at: Sequence) -> Position {
        Position::seek(&self.tree, self.id, Start::First, at)
    }

    /// The last entry visible at `at`.
    pub fn last(&self, at: Sequence) -> Position {
        Position::seek(&self.tree, self.id, Start::Last, at)
    }

    /// The first entry visible at `at` whose key is `key` or above.
    pub fn seek(&self, key: &[u8], at: Sequence) -> Position {
        Position::seek(&self.tree, self.id, Start::From(key), at)
    }

    /// The first entry visible at `at` whose key is above `key`.
    pub fn seek_after(&self, key: &[u8], at: Sequence) -> Position {
        Position::seek(&self.tree, self.id, Start::After(key), at)
    }

    /// The last entry visible at `at` whose key is below `key`.
    pub fn seek_before(&self, key: &[u8], at: Sequence) -> Position {
        Position::seek(&self.tree, self.id, Start::Before(key), at)
    }

    /// Moves `position` to the next entry that is visible at its sequence: from before the first to the first, from the
    /// last, or after it, to after the last.
    ///
    /// # Panics
    /// If `position` belongs to another delta.
    #[inline]
    pub fn next(&self, position: &mut Position) {
        assert!(position.delta == self.id, "a position of another delta");
        position.next(&self.tree);
    }

    /// Moves `position` to the entry before that is visible at its sequence: from after the last to the last, from the
    /// first, or before it, to before the first.
    ///
    /// # Panics
    /// If `position` belongs to another delta.
    #[inline]
    pub fn previous(&self, position: &mut Position) {
        assert!(position.delta == self.id, "a position of another delta");
        position.previous(&self.tree);
    }

    /// Key and change at `position`; none before the first and after the last.
    ///
    /// # Panics
    /// If `position` belongs to another delta.
    #[inline]
    pub fn entry(&self, position: &Position) -> Option<(&[u8], Change<'_>)> {
        assert!(position.delta == self.id, "a position of another delta");
        let Place::On(record, version) = position.place else { return None };
        let record = self.tree.record(record);
        Some((record.key(), record.change(version)))
    }

    /// Hash of the key at `position`, and the sequence of the change there.
    ///
    /// # Panics
    /// If `position` belongs to another delta.
    pub fn hash_and_sequence(&self, position: &Position) -> Option<(u64, Sequence)> {
        assert!(position.delta == self.id, "a position of another delta");
        let Place::On(record, version) = position.place else { return None };
        let record = self.tree.record(record);
        Some((record.hash(), record.sequence(version)))
    }

    /// Whether no key between `low` and `high` has a change, tombstones included, that is visible at `at`.
    pub fn range_is_empty(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, at: Sequence) -> bool {
        if self.is_empty() {
            return true;
        }
        let position = match low {
            Bound::Unbounded => self.first(at),
            Bound::Included(key) => self.seek(key, at),
            Bound::Excluded(key) => self.seek_after(key, at),
        };
        match (self.entry(&position), high) {
            (None, _) => true,
            (Some(_), Bound::Unbounded) => false,
            (Some((key, _)), Bound::Included(high)) => key > high,
            (Some((key, _)), Bound::Excluded(high)) => key >= high,
        }
    }

    /// The first key between `low` and `high` that was changed later than `since`, tombstones included, whether or not that is
    /// visible to anybody.
    ///
    /// It misses no insert that happened before the call, and may tell of one that is under way. Stretches of keys that did
    /// not change cost it half a nanosecond for a key.
    pub fn first_changed_since(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, since: Sequence) -> Option<&[u8]> {
        if self.last_sequence() <= since {
            return None;
        }
        changed::first_changed(&self.tree, low, high, since)
    }
}
