//! The delta of one table.

use std::fmt;
use std::ops::Bound;

use crate::delta::btree::{self, Entry, Inserted, Place, Position, Start, Tree, first_changed};
use crate::delta::change::Change;
use crate::delta::counts::Counts;
use crate::delta::index::Index;
use crate::delta::record::{Record, RecordRef};
use crate::format::ValueAlign;
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU64, Ordering};

/// See the module.
pub struct Delta {
    /// Different for each delta of this process; a [`Position`] names it.
    id: u64,
    pub(super) tree: Tree,
    pub(super) index: Index,
    pub(super) counts: Counts,
}

/// The place of an insert, as far as it was found ahead: see [`Delta::approach`].
#[derive(Clone, Copy, Debug)]
pub struct Approach {
    /// Which delta it belongs to.
    delta: u64,
    hash: u64,
    in_tree: btree::Approach,
}

impl Approach {
    /// Whether it is for a key with this hash.
    pub fn is_to(&self, hash: u64) -> bool {
        self.hash == hash
    }

    /// Hash of its key.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether it leads to the leaf of `other`, or to one beside it, as far as that is known.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.delta == other.delta && self.in_tree.is_beside(&other.in_tree)
    }
}

impl Trail {
    /// Whether the last insert was near the one before.
    pub(super) fn is_near(&self) -> bool {
        self.last.is_some_and(|last| last.is_near)
    }
}

/// The leaf of an insert, for the next insert of a greater key: see [`Delta::insert_along`].
#[derive(Debug, Default)]
pub struct Trail {
    /// Which delta it belongs to.
    delta: u64,
    last: Option<btree::Last>,
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

    /// An empty delta of the same table, to take the place of this one: it will reuse the memory of this one and
    /// those before it when they are dropped.
    pub fn successor(&self) -> Self {
        Self::on(self.tree.successor(), self.index.successor())
    }

    /// Frees the kept memory of earlier deltas, and does not keep more until this delta or a later one grows again:
    /// for a table that is not written any more.
    pub fn forget_spares(&self) {
        self.tree.forget_spares();
        self.index.forget_spares();
    }

    fn on(tree: Tree, index: Index) -> Self {
        // From 1: the default of a `Trail` belongs to no delta.
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), tree, index, counts: Counts::default() }
    }

    /// Records that commit `at` did `change` to `key`, whose hash is `hash`. Commits may come in any order; a second
    /// change at the same sequence replaces the first one.
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

    /// Descends to where `key`, whose hash is `hash`, belongs, and prefetches what an insert will read and write:
    /// misses are two thirds of an insert's time. This saves time where there is other work before
    /// [`Delta::insert_near`]. `None` while the delta is small, and where a node of the path is full or being
    /// changed.
    pub fn approach(&self, key: &[u8], hash: u64) -> Option<Approach> {
        self.index.prefetch_add(hash, self.counts.next_ordinal());
        Some(Approach { delta: self.id, hash, in_tree: self.tree.approach(key)? })
    }

    /// Continues an approach when its prefetched lines have arrived, and prefetches the record of the key, if there
    /// may be one.
    ///
    /// Requires: the approach is for this key.
    pub fn prefetch_record(&self, approach: &mut Approach, key: &[u8]) {
        if approach.delta == self.id {
            self.tree.prefetch_record(&mut approach.in_tree, key);
        }
    }

    /// As [`Delta::insert`], whatever was inserted since the approach, and even if the approach was in another delta.
    ///
    /// Requires: the approach is for this key.
    ///
    /// # Panics
    /// As [`Delta::insert`].
    pub fn insert_near(&self, approach: &Approach, key: &[u8], at: Sequence, change: Change<'_>) {
        let in_tree = (approach.delta == self.id).then_some(approach.in_tree);
        self.insert_from(in_tree, &Entry { key, hash: approach.hash, at, change });
    }

    /// As [`Delta::insert`], of one of many keys that rise: faster where it is near the one before. `trail` begins as
    /// its default, and is used for these keys only.
    ///
    /// # Panics
    /// As [`Delta::insert`].
    pub fn insert_along(&self, trail: &mut Trail, key: &[u8], hash: u64, at: Sequence, change: Change<'_>) {
        let entry = Entry { key, hash, at, change };
        self.index.prefetch_add(hash, self.counts.next_ordinal());
        if trail.delta != self.id {
            *trail = Trail { delta: self.id, last: None };
        }
        let inserted = self.tree.insert_along(&entry, &mut trail.last);
        self.add_to_index(inserted, &entry);
    }

    fn insert_from(&self, approach: Option<btree::Approach>, entry: &Entry<'_>) {
        let inserted = self.tree.insert(entry, approach);
        self.add_to_index(inserted, entry);
    }

    /// The rest of an insert, when the tree has the change. Until then another thread may find the record in the
    /// tree, but not through the index.
    pub(super) fn add_to_index(&self, inserted: Inserted, entry: &Entry<'_>) {
        match inserted {
            Inserted::Key(record) => self.index_as(self.counts.add_key(entry.at), record, entry.hash),
            Inserted::Version(record) => {
                self.counts.add_version(entry.at);
                // The thread that inserted the key may not have reached this line, and this commit may be visible
                // before that. So each insert makes sure that the index has the record. The index may then have it
                // twice, which does no harm.
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

    /// The newest change to `key` at or before `at`. `None`: this delta does not have the key, and the tree decides.
    #[inline]
    pub fn get(&self, key: &[u8], hash: u64, at: Sequence) -> Option<Change<'_>> {
        let record = self.find(key, hash)?;
        Some(record.change(record.visible(at)?))
    }

    /// The sequence of the newest change to `key`, of any kind. `None`: no commit in this delta changed it.
    ///
    /// It considers each insert that happened before the call, and may consider one in progress.
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
            self.tree.prefetch(record); // The value follows the key.
            self.tree.key(record) == key
        };
        Some(self.tree.record(self.index.find(hash, is_it)?))
    }

    /// Fetches into the cache what [`Delta::get`] will read first.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Whether it has so many keys that reads of it miss the near caches.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.index.is_large()
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

    /// The first key between `low` and `high` that was changed later than `since`, tombstones included, whether or
    /// not any reader can see that.
    ///
    /// It misses no insert that happened before the call, and may find one in progress. Unchanged stretches cost half
    /// a nanosecond for each key.
    pub fn first_changed_since(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, since: Sequence) -> Option<&[u8]> {
        if self.last_sequence() <= since {
            return None;
        }
        first_changed(&self.tree, low, high, since)
    }
}
