//! Inserts into the tree: descents for writing, splits, and places that are found ahead of an insert.

use crate::delta::arena::Unit;
use crate::delta::btree::node::{Inner, KeySearch, Leaf, Located, Locked, LockedInner, Stamp};
use crate::delta::btree::tree::{Kind, Tree};
use crate::delta::change::Change;
use crate::delta::record::{RecordRef, Stored, Unpublished, write_record};
use crate::ids::Sequence;
use crate::sync::atomic::Ordering;
use crate::sync::before_retry;

/// What an insert did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::delta) enum Inserted {
    /// A key that was not there, in a record of its own.
    Key(RecordRef),
    /// A version of the key that was there, in this record.
    Version(RecordRef),
}

/// One change to a key.
#[derive(Clone, Copy)]
pub(in crate::delta) struct Entry<'e> {
    pub(in crate::delta) key: &'e [u8],
    pub(in crate::delta) hash: u64,
    pub(in crate::delta) at: Sequence,
    pub(in crate::delta) change: Change<'e>,
}

/// An insert in progress, and what it has written so far, which the next attempt uses after one that lost a race.
pub(super) struct Attempts<'e> {
    entry: &'e Entry<'e>,
    stored: Stored<'e>,
    record: Option<RecordRef>,
    version: Option<Unpublished>,
}

/// A descent that ended above the prefetched leaf: the leaf's parent, and which of its children the leaf is.
#[derive(Clone, Copy, Debug)]
pub(in crate::delta) struct Approach {
    parent: Unit,
    stamp: Stamp,
    index: usize,
    /// The place that [`Tree::prefetch_record`] found.
    pub(super) leaf_place: Option<LeafPlace>,
}

/// The place of a key in a leaf. Its record was prefetched if there may be one.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafPlace {
    pub(super) leaf: Unit,
    pub(super) stamp: Stamp,
    located: Located,
}

/// The leaf of the key before, when keys rise: where the next one is sought first.
#[derive(Clone, Copy, Debug)]
pub(in crate::delta) struct Last {
    pub(super) leaf: Unit,
    /// Whether that leaf was found beside the one before. Then keys are dense enough to look there again.
    pub(in crate::delta) is_near: bool,
}

impl Approach {
    /// Whether it leads to the leaf of `other`, or to one beside it below the same parent.
    pub(in crate::delta) fn is_beside(&self, other: &Self) -> bool {
        self.parent == other.parent && self.index.abs_diff(other.index) <= 1
    }
}

/// A descent: a leaf and its parent.
pub(super) struct Path<'t> {
    parent: Option<(&'t Inner, Stamp)>,
    pub(super) leaf: &'t Leaf,
    stamp: Stamp,
}

/// The node that will point to both halves of a node that is split.
enum SplitParent<'t> {
    Parent(&'t Inner, LockedInner<'t>),
    /// Not published yet.
    Root(&'t Inner),
}

impl<'e> Attempts<'e> {
    pub(super) fn new(entry: &'e Entry<'e>, stored: Stored<'e>) -> Self {
        Self { entry, stored, record: None, version: None }
    }
}

impl Tree {
    /// Descends to where `key` belongs, as far as nodes are in the near caches, and prefetches the leaf. `None` where
    /// an insert has to begin at the root.
    pub(in crate::delta) fn approach(&self, key: &[u8]) -> Option<Approach> {
        let (mut node, mut stamp) = self.root()??;
        loop {
            let Kind::Inner(parent) = node.kind() else { return None };
            if parent.keys.is_full() {
                return None;
            }
            let index = self.route(parent, key)?;
            if parent.keys.level() == 1 {
                // Its version is in the prefetched lines, and reading it would wait for them.
                self.node(parent.child(index)?).prefetch(0);
                return Some(Approach { parent: parent.keys.unit(), stamp, index, leaf_place: None });
            }
            (node, stamp) = self.child(parent, stamp, index)?;
        }
    }

    /// Looks for the key in the prefetched leaf, and prefetches its record if there may be one. Where a writer is at
    /// work, the approach stays as it is.
    ///
    /// Requires: the approach was made in this tree, for this key.
    pub(in crate::delta) fn prefetch_record(&self, approach: &mut Approach, key: &[u8]) {
        let Some(Path { leaf, stamp, .. }) = self.path_from(*approach) else { return };
        let Some(located) = leaf.locate(key, |record| self.key(record)) else { return };
        if let Some(record) = leaf.tied(located) {
            self.prefetch(record);
        }
        if leaf.is_unchanged(stamp) {
            approach.leaf_place = Some(LeafPlace { leaf: leaf.unit(), stamp, located });
        }
    }

    /// Completes an approach to a path. `None` if the parent has changed since: otherwise it is as if the descent had
    /// reached the parent only now.
    ///
    /// Requires: the approach was made in this tree.
    pub(super) fn path_from(&self, approach: Approach) -> Option<Path<'_>> {
        let Approach { parent, stamp, index, .. } = approach;
        let Kind::Inner(parent) = self.node(parent).kind() else { unreachable!("an inner node stays one") };
        let (node, leaf_stamp) = self.child(parent, stamp, index)?;
        let Kind::Leaf(leaf) = node.kind() else { unreachable!("what is below level 1 is a leaf") };
        Some(Path { parent: Some((parent, stamp)), leaf, stamp: leaf_stamp })
    }

    /// Adds a change: a version to the record of its key, or a record. If there is an approach, it is for that key,
    /// in this tree.
    pub(in crate::delta) fn insert(&self, entry: &Entry<'_>, approach: Option<Approach>) -> Inserted {
        let mut attempts = Attempts::new(entry, Stored::new(&self.arena, entry.change));
        if let Some(approach) = approach
            && let Some(inserted) = self.insert_near(approach, &mut attempts)
        {
            return inserted;
        }
        loop {
            let inserted = match self.path_to(entry.key) {
                Some(Some(path)) => self.insert_at(&path, &mut attempts),
                Some(None) => None,
                None => self.insert_first(&mut attempts),
            };
            if let Some(inserted) = inserted {
                return inserted;
            }
            before_retry();
        }
    }

    /// As [`Tree::insert`], for one of many rising keys: `last` has the leaf of the one before, and then of this one.
    /// Where the key belongs to the same leaf, or to the next one where keys are dense, and that has room, no descent
    /// is made.
    pub(in crate::delta) fn insert_along(&self, entry: &Entry<'_>, last: &mut Option<Last>) -> Inserted {
        let mut attempts = Attempts::new(entry, Stored::new(&self.arena, entry.change));
        let before = last.take();
        if let Some(before) = before
            && let Some((inserted, now)) = self.insert_beside(before, &mut attempts)
        {
            *last = Some(now);
            return inserted;
        }
        loop {
            let inserted = match self.path_to(entry.key) {
                Some(Some(path)) => self.insert_at(&path, &mut attempts).inspect(|_| {
                    let leaf = path.leaf.unit();
                    let is_beside = |before: Last| before.leaf == leaf || self.leaf(before.leaf).right() == Some(leaf);
                    *last = Some(Last { leaf, is_near: before.is_some_and(is_beside) });
                }),
                Some(None) => None,
                None => self.insert_first(&mut attempts),
            };
            if let Some(inserted) = inserted {
                return inserted;
            }
            before_retry();
        }
    }

    /// Attempts in the leaf of the key before, and in the next one where keys are dense. `None`: the key belongs to
    /// neither, or the leaf is full, or another writer was first.
    pub(super) fn insert_beside(&self, before: Last, attempts: &mut Attempts<'_>) -> Option<(Inserted, Last)> {
        let key = attempts.entry.key;
        let mut leaf = self.leaf(before.leaf);
        let mut stamp = leaf.stamp();
        if !self.belongs_to(leaf, key) {
            if !before.is_near {
                return None;
            }
            (leaf, stamp) = self.leaf_after(leaf, stamp)?;
            self.prefetch_leaf(leaf.unit());
            if !self.belongs_to(leaf, key) {
                return None;
            }
        }
        let found = leaf.search(key, |record| self.key(record))?;
        if !found.exact && leaf.is_full() {
            // A split needs the parent.
            return None;
        }
        let inserted = self.insert_within(&Path { parent: None, leaf, stamp }, found, attempts)?;
        Some((inserted, Last { leaf: leaf.unit(), is_near: true }))
    }

    /// Whether a key belongs to a leaf. A search cannot decide this: it does not compare the bytes that all keys of
    /// the leaf share.
    #[inline]
    fn belongs_to(&self, leaf: &Leaf, key: &[u8]) -> bool {
        leaf.low().is_none_or(|low| self.key(low) <= key) && leaf.high().is_none_or(|high| key < self.key(high))
    }

    /// The path to `key`. The outer none: the tree is empty; the inner: lost a race, or split a node on the way.
    pub(super) fn path_to(&self, key: &[u8]) -> Option<Option<Path<'_>>> {
        let Some((mut node, mut stamp)) = self.root()? else { return Some(None) };
        let mut parent = None;
        loop {
            let inner = match node.kind() {
                Kind::Leaf(leaf) => return Some(Some(Path { parent, leaf, stamp })),
                Kind::Inner(inner) => inner,
            };
            if inner.keys.is_full() {
                self.split_inner(parent, inner, stamp);
                return Some(None);
            }
            let Some(index) = self.route(inner, key) else { return Some(None) };
            let Some(below) = self.child(inner, stamp, index) else { return Some(None) };
            parent = Some((inner, stamp));
            (node, stamp) = below;
        }
    }

    /// Attempts from the place of an approach. `None`: others changed too much since; begin at the root.
    fn insert_near(&self, approach: Approach, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        if let Some(LeafPlace { leaf, stamp, located }) = approach.leaf_place {
            let Kind::Inner(parent) = self.node(approach.parent).kind() else {
                unreachable!("an inner node stays one")
            };
            let path = Path { parent: Some((parent, approach.stamp)), leaf: self.leaf(leaf), stamp };
            if let Some(found) = path.leaf.confirm(attempts.entry.key, located, |record| self.key(record))
                && let Some(inserted) = self.insert_found(&path, found, attempts)
            {
                return Some(inserted);
            }
        }
        self.insert_at(&self.path_from(approach)?, attempts)
    }

    /// One attempt. None: another writer came first, or the leaf was split; try again.
    pub(super) fn insert_at(&self, path: &Path<'_>, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let found = path.leaf.search(attempts.entry.key, |record| self.key(record))?;
        self.insert_found(path, found, attempts)
    }

    /// One attempt, at the key's place in the leaf. None: as for [`Tree::insert_at`].
    #[inline]
    fn insert_found(&self, path: &Path<'_>, found: KeySearch, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        if !found.exact && path.leaf.is_full() {
            return self.split_leaf(path, found, attempts);
        }
        self.insert_within(path, found, attempts)
    }

    /// One attempt that splits nothing. None: another writer came first.
    ///
    /// Requires: the key is in the leaf, or the leaf had room when it was unchanged since the path's stamp.
    #[inline]
    fn insert_within(&self, path: &Path<'_>, found: KeySearch, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let (leaf, key) = (path.leaf, attempts.entry.key);
        if found.exact {
            let record = leaf.key(found.position)?;
            return if leaf.is_unchanged(path.stamp) { self.add_version(path, record, attempts) } else { None };
        }
        let record = self.fresh_record(attempts);
        let locked = leaf.try_lock(path.stamp)?;
        locked.raise_latest(attempts.entry.at);
        locked.shorten_prefix(key, |record| self.key(record));
        locked.insert(found.position, record, key);
        Some(Inserted::Key(record))
    }

    /// Adds a version to a record of the path's leaf. None: another writer came first.
    pub(super) fn add_version(
        &self,
        path: &Path<'_>,
        name: RecordRef,
        attempts: &mut Attempts<'_>,
    ) -> Option<Inserted> {
        let (record, at) = (self.record(name), attempts.entry.at);
        // A version that goes above all others is written before the lock is taken, so that the lock is held for a
        // shorter time. No other version is added in between: it would change the leaf.
        let newest = record.write_newest(self.align, at, attempts.stored, attempts.version.take());
        let Some(locked) = path.leaf.try_lock(path.stamp) else {
            attempts.version = newest;
            return None;
        };
        let newest = newest.unwrap_or_else(|| record.write_late(self.align, at, attempts.stored));
        locked.raise_latest(at);
        record.publish(newest);
        Some(Inserted::Version(name))
    }

    /// The first leaf of an empty tree. None: another writer came first.
    #[cold]
    fn insert_first(&self, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let record = self.fresh_record(attempts);
        let leaf = self.new_leaf_with(record, attempts.entry);
        // Release pairs with the Acquire in `root`.
        self.root.compare_exchange(0, leaf.unit().get(), Ordering::Release, Ordering::Relaxed).ok()?;
        Some(Inserted::Key(record))
    }

    fn fresh_record(&self, attempts: &mut Attempts<'_>) -> RecordRef {
        let Attempts { entry, stored, record, .. } = attempts;
        *record.get_or_insert_with(|| write_record(&self.arena, self.align, entry.key, entry.hash, entry.at, *stored))
    }

    /// Splits the full leaf of `path`. Where keys are inserted in order, they fill the left leaf to its end, and then
    /// a key of theirs begins a leaf of its own. Otherwise nothing is inserted yet, and the result is `None`.
    #[cold]
    fn split_leaf(&self, path: &Path<'_>, found: KeySearch, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let left = path.leaf;
        let (count, position) = (left.count(), found.position);
        let ascending = left.follows_last_insert(position);
        let append = position == count && (ascending || left.high().is_none());
        let prepend = position == 0 && left.low().is_none();
        let right =
            if append { self.new_leaf_with(self.fresh_record(attempts), attempts.entry) } else { self.new_leaf() };
        let above = self.lock_above(path.parent, left.level())?;
        let locked = left.try_lock(path.stamp)?;
        let locked_right = right.lock_fresh();
        if !append {
            let middle = match position {
                0 if prepend => 1,
                1.. if ascending => position,
                _ => count / 2,
            };
            locked_right.take(left, middle);
            locked.truncate(middle);
        }
        right.set_left(Some(left.unit()));
        right.set_right(left.right());
        if let Some(next) = left.right() {
            self.leaf(next).set_left(Some(right.unit()));
        }
        left.set_right(Some(right.unit()));
        let separator = right.key(0).expect("the right leaf has at least one key");
        self.set_fences(&locked, &locked_right, separator);
        self.attach(above, left.unit(), separator, right.unit());
        append.then_some(Inserted::Key(separator))
    }

    /// Splits the full inner node `left`, or does nothing if another writer came first.
    #[cold]
    fn split_inner(&self, parent: Option<(&Inner, Stamp)>, left: &Inner, stamp: Stamp) -> Option<()> {
        let right = self.new_inner(left.keys.level());
        let above = self.lock_above(parent, left.keys.level())?;
        let locked = left.keys.try_lock(stamp)?;
        let locked_right = right.keys.lock_fresh();
        let count = left.keys.count();
        // At the right edge keys are likely to ascend: the left part will see no more of them.
        let middle = if left.keys.high().is_none() { count - 2 } else { count / 2 };
        let separator = left.keys.key(middle).expect("a full node has a key in the middle");
        locked_right.take(&left.keys, middle + 1);
        for (to, from) in (middle + 1..=count).enumerate() {
            right.set_child(to, left.child(from));
        }
        locked.truncate(middle);
        self.set_fences(&locked, &locked_right, separator);
        self.attach(above, left.keys.unit(), separator, right.keys.unit());
        Some(())
    }

    /// Divides the range of `left` at `separator`.
    fn set_fences<const N: usize>(&self, left: &Locked<'_, N>, right: &Locked<'_, N>, separator: RecordRef) {
        right.set_fences(Some(separator), left.high());
        left.set_fences(left.low(), Some(separator));
        left.choose_prefix(|record| self.key(record));
        right.choose_prefix(|record| self.key(record));
    }

    /// What will point to the new neighbour of a node of this level. None: another writer came first.
    fn lock_above<'t>(&'t self, parent: Option<(&'t Inner, Stamp)>, level: u32) -> Option<SplitParent<'t>> {
        match parent {
            Some((inner, stamp)) => Some(SplitParent::Parent(inner, inner.keys.try_lock(stamp)?)),
            None => Some(SplitParent::Root(self.new_inner(level + 1))),
        }
    }

    /// Makes `right` reachable, to the right of `left`, which is locked.
    fn attach(&self, above: SplitParent<'_>, left: Unit, separator: RecordRef, right: Unit) {
        let key = self.key(separator);
        match above {
            SplitParent::Parent(inner, locked) => {
                locked.shorten_prefix(key, |record| self.key(record));
                let found = locked.search(key, |record| self.key(record)).expect("a locked node is whole");
                inner.open_gap(found.position + 1);
                inner.set_child(found.position + 1, Some(right));
                locked.insert(found.position, separator, key);
            }
            SplitParent::Root(root) => {
                let locked = root.keys.lock_fresh();
                root.set_child(0, Some(left));
                root.set_child(1, Some(right));
                locked.insert(0, separator, key);
                locked.choose_prefix(|record| self.key(record));
                drop(locked);
                // Release pairs with the Acquire in `root`. The old root is still locked: see there.
                self.root.store(root.keys.unit().get(), Ordering::Release);
            }
        }
    }

    fn new_leaf_with(&self, record: RecordRef, entry: &Entry<'_>) -> &Leaf {
        let leaf = self.new_leaf();
        let locked = leaf.lock_fresh();
        locked.raise_latest(entry.at);
        locked.insert(0, record, entry.key);
        locked.choose_prefix(|record| self.key(record));
        leaf
    }
}
