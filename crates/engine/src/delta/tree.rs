//! A B+tree over the records of one arena, read without locks while it grows (optimistic lock coupling, Leis et al.).
//!
//! A descent takes a node's version, reads where to go, takes the child's version, and only then makes sure that the
//! node has not changed: so the child was the right one at the moment whose version is held. A writer locks a node only
//! if it is unchanged since the descent, and a parent before its child: whoever loses a race starts again from the root.
//!
//! Invariants: (1) Nodes and records live until the tree is dropped, and none is ever removed: a key that was found
//! stays. (2) No leaf is empty. (3) Full inner nodes are split on the way down, so that a leaf that splits finds room in
//! its parent. (4) A record is in one leaf; its versions are added under that leaf's lock, which changes its version.
#![allow(unsafe_code)] // Nodes and records are reached through references that live in shared memory.

use crate::delta::Change;
use crate::delta::arena::{Arena, LINE, Unit, prefetch_lines};
use crate::delta::node::{Found, Header, INNER_KEYS, Inner, Keys, Leaf, Locked, LockedInner, Stamp};
use crate::delta::record::{Record, RecordRef, Stored, Unpublished, write_record};
use crate::format::ValueAlign;
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU32, Ordering};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// How many leaves a walk over headers asks for at once. They are misses in no order that a processor could guess.
const LEAVES_AHEAD: usize = 32;

/// See the module.
pub(super) struct Tree {
    arena: Arena,
    align: ValueAlign,
    /// Unit of the root; 0 while the tree is empty.
    root: AtomicU32,
}

/// What an insert did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// A key that was not there, in a record of its own.
    Key(RecordRef),
    /// A version of the key that was there, in this record.
    Version(RecordRef),
}

/// One change to a key.
#[derive(Clone, Copy)]
pub(super) struct Entry<'e> {
    pub(super) key: &'e [u8],
    pub(super) hash: u64,
    pub(super) at: Sequence,
    pub(super) change: Change<'e>,
}

/// An insert under way, and what it has written so far: that serves the next attempt after one that lost a race.
struct Attempts<'e> {
    entry: &'e Entry<'e>,
    stored: Stored<'e>,
    record: Option<RecordRef>,
    version: Option<Unpublished>,
}

/// A node of a tree, of either kind.
#[derive(Clone, Copy)]
struct NodeRef<'t> {
    pointer: NonNull<Header>,
    tree: PhantomData<&'t Tree>,
}

/// A node of a tree, by its kind.
enum Kind<'t> {
    Leaf(&'t Leaf),
    Inner(&'t Inner),
}

/// A descent that ended above the leaf, which was asked for: the leaf's parent, and which of its children the leaf is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    parent: Unit,
    stamp: Stamp,
    index: usize,
}

/// A descent: a leaf and what was above it. An outer none: the tree is empty; an inner one: lost a race, try again.
struct Path<'t> {
    parent: Option<(&'t Inner, Stamp)>,
    leaf: &'t Leaf,
    stamp: Stamp,
}

/// What will point to both halves of a node that is split.
enum Above<'t> {
    Parent(&'t Inner, LockedInner<'t>),
    /// Not published yet.
    Root(&'t Inner),
}

impl<'e> Attempts<'e> {
    fn new(entry: &'e Entry<'e>, stored: Stored<'e>) -> Self {
        Self { entry, stored, record: None, version: None }
    }
}

impl<'t> NodeRef<'t> {
    #[inline(always)]
    fn header(self) -> &'t Header {
        // SAFETY: a `NodeRef` points to an initialised node, which begins with its header and lives as long as the tree.
        unsafe { self.pointer.as_ref() }
    }

    #[inline(always)]
    fn kind(self) -> Kind<'t> {
        if self.header().level() == 0 {
            // SAFETY: every node of level 0 was made as a `Leaf`, and the pointer reaches all of its allocation.
            Kind::Leaf(unsafe { self.pointer.cast::<Leaf>().as_ref() })
        } else {
            // SAFETY: every node of another level was made as an `Inner`; the pointer reaches all of its allocation.
            Kind::Inner(unsafe { self.pointer.cast::<Inner>().as_ref() })
        }
    }

    /// Asks at once for all that a descent may read of the node, rather than for one line after the other.
    #[inline(always)]
    fn prefetch(self, level: u32) {
        let address = self.pointer.as_ptr().cast::<u8>().cast_const();
        if level == 0 {
            prefetch_lines::<{ size_of::<Leaf>() / LINE }>(address);
        } else {
            prefetch_lines::<{ Keys::<INNER_KEYS>::SEARCH_BYTES / LINE }>(address);
            let children = address.wrapping_add(Inner::CHILDREN_OFFSET);
            prefetch_lines::<{ Inner::CHILDREN_BYTES / LINE }>(children);
        }
    }
}

impl Tree {
    /// An empty tree, which owns no memory.
    pub(super) fn new(align: ValueAlign) -> Self {
        Self::on(Arena::default(), align)
    }

    /// An empty tree that will live in the memory that this one and those before it leave.
    pub(super) fn successor(&self) -> Self {
        Self::on(self.arena.successor(), self.align)
    }

    /// Gives back the memory that is kept for reuse.
    pub(super) fn forget_spares(&self) {
        self.arena.forget_spares();
    }

    /// How many pieces of memory are kept for reuse.
    #[cfg(test)]
    pub(super) fn spare_count(&self) -> usize {
        self.arena.spare_count()
    }

    fn on(arena: Arena, align: ValueAlign) -> Self {
        Self { arena, align, root: AtomicU32::new(0) }
    }

    /// Whether nothing was ever inserted.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: whoever is ordered after an insert sees a root.
        self.root.load(Ordering::Relaxed) == 0
    }

    /// Bytes of nodes and records.
    pub(super) fn used_bytes(&self) -> usize {
        self.arena.used_bytes()
    }

    /// The record with this name.
    #[inline(always)]
    pub(super) fn record(&self, record: RecordRef) -> Record<'_> {
        // SAFETY: this tree's arena is the only one whose records it and its cursors ever see, and they learn of them
        // by `AtomicRecordRef::load`.
        unsafe { Record::resolve(&self.arena, record) }
    }

    /// The key of the record with this name.
    #[inline(always)]
    pub(super) fn key(&self, record: RecordRef) -> &[u8] {
        self.record(record).key()
    }

    /// Asks for the first lines of a record.
    #[inline(always)]
    pub(super) fn prefetch(&self, record: RecordRef) {
        prefetch_lines::<3>(self.record(record).address());
    }

    /// The leaf with this number.
    ///
    /// Requires: [`Header::unit`] of a leaf of this tree said it.
    pub(super) fn leaf(&self, unit: Unit) -> &Leaf {
        match self.node(unit).kind() {
            Kind::Leaf(leaf) => leaf,
            Kind::Inner(_) => unreachable!("a leaf stays a leaf"),
        }
    }

    /// The leaf that begins where `leaf` ends, if that is known and `leaf` has not changed since `stamp`.
    pub(super) fn leaf_after(&self, leaf: &Leaf, stamp: Stamp) -> Option<(&Leaf, Stamp)> {
        let high = leaf.high()?;
        let right = self.leaf(leaf.right()?);
        let right_stamp = right.stamp();
        (right.low() == Some(high) && leaf.is_unchanged(stamp)).then_some((right, right_stamp))
    }

    /// The leaf that ends where `leaf` begins, if that is known and `leaf` has not changed since `stamp`.
    pub(super) fn leaf_before(&self, leaf: &Leaf, stamp: Stamp) -> Option<(&Leaf, Stamp)> {
        let low = leaf.low()?;
        let left = self.leaf(leaf.left()?);
        let left_stamp = left.stamp();
        (left.high() == Some(low) && leaf.is_unchanged(stamp)).then_some((left, left_stamp))
    }

    /// Asks for a leaf.
    pub(super) fn prefetch_leaf(&self, unit: Unit) {
        self.node(unit).prefetch(0);
    }

    #[inline(always)]
    fn node(&self, unit: Unit) -> NodeRef<'_> {
        // SAFETY: units of nodes come from this tree's root, children and headers, by acquiring loads.
        let pointer = unsafe { self.arena.address(unit) }.cast::<Header>();
        NodeRef { pointer, tree: PhantomData }
    }

    /// The leaf where `key` is or would be. None if the tree is empty.
    #[inline]
    pub(super) fn descend_to(&self, key: &[u8]) -> Option<(&Leaf, Stamp)> {
        self.descend(|inner| self.route(inner, key))
    }

    /// As [`Tree::descend_to`]. Asks for the headers of the leaves that follow too, and says of how many.
    pub(super) fn descend_ahead(&self, key: &[u8]) -> Option<(&Leaf, Stamp, usize)> {
        let ahead = Cell::new(0);
        let (leaf, stamp) = self.descend(|inner| {
            let index = self.route(inner, key)?;
            if inner.keys.level() == 1 {
                // A writer may be at work, and the hint be wrong.
                let end = inner.keys.count().min(index + LEAVES_AHEAD);
                for unit in (index + 1..=end).map_while(|next| inner.child(next)) {
                    prefetch_lines::<1>(self.node(unit).pointer.as_ptr().cast());
                }
                ahead.set(end.saturating_sub(index));
            }
            Some(index)
        })?;
        Some((leaf, stamp, ahead.get()))
    }

    /// The leaf where the last key below `key` is or would be. None if the tree is empty.
    pub(super) fn descend_below(&self, key: &[u8]) -> Option<(&Leaf, Stamp)> {
        self.descend(|inner| Some(inner.keys.search(key, |record| self.key(record))?.position))
    }

    /// The last leaf. None if the tree is empty.
    pub(super) fn descend_to_last(&self) -> Option<(&Leaf, Stamp)> {
        self.descend(|inner| Some(inner.keys.count()))
    }

    /// Goes down to where `key` belongs, as far as that is in the near caches, and asks for the leaf. None where an insert has
    /// to begin at the root.
    pub(super) fn approach(&self, key: &[u8]) -> Option<Approach> {
        let (mut node, mut stamp) = self.root()??;
        loop {
            let Kind::Inner(parent) = node.kind() else { return None };
            if parent.keys.is_full() {
                return None;
            }
            let index = self.route(parent, key)?;
            if parent.keys.level() == 1 {
                // Its version is in the lines that are asked for, and would have to be waited for.
                self.node(parent.child(index)?).prefetch(0);
                return Some(Approach { parent: parent.keys.unit(), stamp, index });
            }
            (node, stamp) = self.child(parent, stamp, index)?;
        }
    }

    /// The path whose last step an approach left out. None if the parent has changed since: otherwise it is as if the descent
    /// had only now come there.
    ///
    /// Requires: the approach was made in this tree.
    fn path_from(&self, approach: Approach) -> Option<Path<'_>> {
        let Approach { parent, stamp, index } = approach;
        let Kind::Inner(parent) = self.node(parent).kind() else { unreachable!("an inner node stays one") };
        let (node, leaf_stamp) = self.child(parent, stamp, index)?;
        let Kind::Leaf(leaf) = node.kind() else { unreachable!("what is below level 1 is a leaf") };
        Some(Path { parent: Some((parent, stamp)), leaf, stamp: leaf_stamp })
    }

    /// Which child of `inner` `key` belongs to. None: a writer is at work.
    #[inline(always)]
    fn route(&self, inner: &Inner, key: &[u8]) -> Option<usize> {
        let found = inner.keys.search(key, |record| self.key(record))?;
        Some(found.position + usize::from(found.exact))
    }

    /// Follows the children that `choose` names; it says none to start again.
    #[inline(always)]
    fn descend(&self, choose: impl Fn(&Inner) -> Option<usize>) -> Option<(&Leaf, Stamp)> {
        loop {
            let Some((mut node, mut stamp)) = self.root()? else { continue };
            loop {
                let inner = match node.kind() {
                    Kind::Leaf(leaf) => return Some((leaf, stamp)),
                    Kind::Inner(inner) => inner,
                };
                let Some(index) = choose(inner) else { break };
                let Some(below) = self.child(inner, stamp, index) else { break };
                (node, stamp) = below;
            }
        }
    }

    /// Child `index` of `inner` and its version. None if `inner` has changed since `stamp`.
    #[inline(always)]
    fn child(&self, inner: &Inner, stamp: Stamp, index: usize) -> Option<(NodeRef<'_>, Stamp)> {
        let child = self.node(inner.child(index)?);
        child.prefetch(inner.keys.level() - 1);
        let child_stamp = child.header().stamp();
        // After the child's version: so the child was the right one when it had that version.
        inner.keys.is_unchanged(stamp).then_some((child, child_stamp))
    }

    /// The root and its version. The outer none: the tree is empty; the inner: the root was just split.
    #[inline(always)]
    fn root(&self) -> Option<Option<(NodeRef<'_>, Stamp)>> {
        // Acquire pairs with the Release in `insert_first` and `attach`.
        let unit = Unit::new(self.root.load(Ordering::Acquire))?;
        Some(self.root_at(unit))
    }

    /// The node at `unit` and its version, if it still is the root.
    #[inline(always)]
    fn root_at(&self, unit: Unit) -> Option<(NodeRef<'_>, Stamp)> {
        let root = self.node(unit);
        let stamp = root.header().stamp();
        // A root that has been split is no root any more. `attach` stores the new one before the old one is unlocked,
        // so whoever sees the later version sees the new root too.
        (self.root.load(Ordering::Relaxed) == unit.get()).then_some((root, stamp))
    }

    /// Adds a change: a version to the record of its key, or a record. If there is an approach, it is to that key, in this tree.
    pub(super) fn insert(&self, entry: &Entry<'_>, approach: Option<Approach>) -> Inserted {
        let mut attempts = Attempts::new(entry, Stored::new(&self.arena, entry.change));
        if let Some(path) = approach.and_then(|approach| self.path_from(approach))
            && let Some(inserted) = self.insert_at(&path, &mut attempts)
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
        }
    }

    /// The path to `key`. The outer none: the tree is empty; the inner: lost a race, or split a node on the way.
    fn path_to(&self, key: &[u8]) -> Option<Option<Path<'_>>> {
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

    /// One attempt. None: another writer came first, or the leaf was split; try again.
    fn insert_at(&self, path: &Path<'_>, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let (leaf, key) = (path.leaf, attempts.entry.key);
        let found = leaf.search(key, |record| self.key(record))?;
        if found.exact {
            let record = leaf.key(found.position)?;
            return if leaf.is_unchanged(path.stamp) { self.add_version(path, record, attempts) } else { None };
        }
        if leaf.is_full() {
            return self.split_leaf(path, found, attempts);
        }
        let record = self.fresh_record(attempts);
        let locked = leaf.try_lock(path.stamp)?;
        locked.raise_latest(attempts.entry.at);
        locked.admit(key, |record| self.key(record));
        locked.insert(found.position, record, key);
        Some(Inserted::Key(record))
    }

    /// Adds a version to a record of the path's leaf. None: another writer came first.
    fn add_version(&self, path: &Path<'_>, name: RecordRef, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let (record, at) = (self.record(name), attempts.entry.at);
        // What goes above all others is written before the lock is taken, which is held the shorter. No other version comes in
        // between: it would change the leaf.
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

    /// Splits the full leaf of `path`. Where keys come in order, they fill the left leaf to its end, and then a key of
    /// theirs begins a leaf of its own. Otherwise nothing is inserted yet, and the answer is none.
    #[cold]
    fn split_leaf(&self, path: &Path<'_>, found: Found, attempts: &mut Attempts<'_>) -> Option<Inserted> {
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
    fn lock_above<'t>(&'t self, parent: Option<(&'t Inner, Stamp)>, level: u32) -> Option<Above<'t>> {
        match parent {
            Some((inner, stamp)) => Some(Above::Parent(inner, inner.keys.try_lock(stamp)?)),
            None => Some(Above::Root(self.new_inner(level + 1))),
        }
    }

    /// Makes `right` reachable, to the right of `left`, which is locked.
    fn attach(&self, above: Above<'_>, left: Unit, separator: RecordRef, right: Unit) {
        let key = self.key(separator);
        match above {
            Above::Parent(inner, locked) => {
                locked.admit(key, |record| self.key(record));
                let found = locked.search(key, |record| self.key(record)).expect("a locked node is whole");
                inner.open_gap(found.position + 1);
                inner.set_child(found.position + 1, Some(right));
                locked.insert(found.position, separator, key);
            }
            Above::Root(root) => {
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

    fn new_leaf(&self) -> &Leaf {
        let (unit, memory) = self.arena.allocate(size_of::<Leaf>(), align_of::<Leaf>());
        let pointer = memory.cast::<Leaf>();
        // SAFETY: fresh memory of that size and alignment.
        unsafe { pointer.write(Leaf::new(0, unit)) };
        // SAFETY: initialised above, and lives as long as the tree.
        unsafe { pointer.as_ref() }
    }

    fn new_leaf_with(&self, record: RecordRef, entry: &Entry<'_>) -> &Leaf {
        let leaf = self.new_leaf();
        let locked = leaf.lock_fresh();
        locked.raise_latest(entry.at);
        locked.insert(0, record, entry.key);
        locked.choose_prefix(|record| self.key(record));
        leaf
    }

    fn new_inner(&self, level: u32) -> &Inner {
        assert!(level > 0);
        let (unit, memory) = self.arena.allocate(size_of::<Inner>(), align_of::<Inner>());
        let pointer = memory.cast::<Inner>();
        // SAFETY: fresh memory of that size and alignment.
        unsafe { pointer.write(Inner::new(level, unit)) };
        // SAFETY: initialised above, and lives as long as the tree.
        unsafe { pointer.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    //! The steps of a descent with a writer between them: races too narrow for threads to hit.

    use super::*;
    use crate::delta::node::LEAF_KEYS;

    fn insert(tree: &Tree, number: u32) {
        let key = number.to_be_bytes();
        tree.insert(&Entry { key: &key, hash: 0, at: Sequence(1), change: Change::Delete }, None);
    }

    #[test]
    fn a_descent_does_not_begin_at_a_root_that_was_split() {
        let tree = Tree::new(ValueAlign::One);
        insert(&tree, 0);
        let unit = Unit::new(tree.root.load(Ordering::Acquire)).expect("the tree has a root");
        assert!(tree.root_at(unit).is_some());
        (1..100).for_each(|number| insert(&tree, number));
        assert!(tree.root_at(unit).is_none());
    }

    #[test]
    fn a_descent_begins_again_when_a_child_was_split_before_its_version_was_read() {
        let tree = Tree::new(ValueAlign::One);
        (0..100).for_each(|number| insert(&tree, number * 1000));
        let (root, stamp) = tree.root().flatten().expect("the tree is at rest");
        let Kind::Inner(root) = root.kind() else { panic!("a hundred keys are more than a leaf") };
        let index = tree.route(root, &50_u32.to_be_bytes()).expect("the tree is at rest");
        assert!(tree.child(root, stamp, index).is_some());
        (1..100).for_each(|number| insert(&tree, number));
        assert!(tree.child(root, stamp, index).is_none());
    }

    #[test]
    fn an_insert_goes_on_from_its_approach_or_begins_anew_if_the_parent_has_changed() {
        let tree = Tree::new(ValueAlign::One);
        let insert_from = |number: u32, approach| {
            let key = number.to_be_bytes();
            tree.insert(&Entry { key: &key, hash: 0, at: Sequence(1), change: Change::Delete }, approach)
        };
        let approach_to = |number: u32| tree.approach(&number.to_be_bytes());
        assert!(approach_to(1).is_none(), "an empty tree has nothing to go down");
        (0..200).for_each(|number| insert(&tree, number * 4000));
        let (mut followed, mut outdated) = (0, 0);
        let count = if cfg!(miri) { 200 } else { 2000 };
        for number in 0..count {
            let (near, far) = (number * 400 + 1, (number * 31 % count) * 400 + 2);
            let (Some(first), Some(second)) = (approach_to(near), approach_to(far)) else { continue };
            // The leaf may have been split by the first, and then its parent is another.
            assert!(matches!(insert_from(far, Some(second)), Inserted::Key(_)));
            if tree.path_from(first).is_some() {
                followed += 1
            } else {
                outdated += 1
            }
            assert!(matches!(insert_from(near, Some(first)), Inserted::Key(_)));
            for number in [near, far] {
                let again = insert_from(number, approach_to(number));
                assert!(matches!(again, Inserted::Version(_)), "{number} was inserted");
            }
        }
        assert!(followed > count / 20 && outdated > count / 200, "{followed} followed, {outdated} outdated");
    }

    #[test]
    fn a_writer_does_not_lock_a_leaf_that_changed_since_its_descent() {
        let tree = Tree::new(ValueAlign::One);
        insert(&tree, 5);
        let (leaf, stamp) = tree.descend_to(&[]).expect("the tree is not empty");
        assert!(leaf.try_lock(leaf.stamp()).is_some());
        assert!(leaf.try_lock(stamp).is_none());
        assert!(!leaf.is_unchanged(stamp));
    }

    /// The bytes that a read at `at` finds, and the sequence of the newest version.
    fn read(tree: &Tree, key: &[u8], at: u64) -> Option<(Vec<u8>, u64)> {
        let (leaf, _) = tree.descend_to(key)?;
        let found = leaf.search(key, |record| tree.key(record)).filter(|found| found.exact)?;
        let record = tree.record(leaf.key(found.position)?);
        let Change::Put(value) = record.change(record.visible(Sequence(at))?) else { panic!("it was put") };
        Some((value.to_vec(), record.newest_sequence().0))
    }

    /// One attempt with a path that was found before.
    fn attempt(tree: &Tree, path: &Path<'_>, entry: &Entry<'_>) -> Option<Inserted> {
        let stored = Stored::new(&tree.arena, entry.change);
        tree.insert_at(path, &mut Attempts::new(entry, stored))
    }

    fn put<'e>(key: &'e [u8], at: u64, value: &'e [u8]) -> Entry<'e> {
        Entry { key, hash: 0, at: Sequence(at), change: Change::Put(value) }
    }

    #[test]
    fn a_version_is_not_added_where_another_came_in_between() {
        // The other comes later or earlier in sequence than this one, and this one above or below what was there.
        for (this, other) in [(8, 9), (9, 8), (3, 8), (8, 3), (3, 4), (4, 3), (8, 8)] {
            let tree = Tree::new(ValueAlign::One);
            tree.insert(&put(b"key", 5, b"there"), None);
            let path = tree.path_to(b"key").flatten().expect("the tree is at rest");
            tree.insert(&put(b"key", other, b"other"), None);
            assert_eq!(attempt(&tree, &path, &put(b"key", this, b"this")), None);
            // The other may also come after this one saw the leaf unchanged.
            let record = path.leaf.key(0).expect("the leaf has a key");
            let entry = put(b"key", this, b"this");
            let mut attempts = Attempts::new(&entry, Stored::new(&tree.arena, entry.change));
            assert_eq!(tree.add_version(&path, record, &mut attempts), None);
            assert_eq!(read(&tree, b"key", other), Some((b"other".to_vec(), other.max(5))), "nothing was published");
            tree.insert(&put(b"key", this, b"this"), None);
            let newest = this.max(other).max(5);
            assert_eq!(read(&tree, b"key", this), Some((b"this".to_vec(), newest)));
            assert_eq!(read(&tree, b"key", 5), Some((b"there".to_vec(), newest)));
            if this != other {
                assert_eq!(read(&tree, b"key", other), Some((b"other".to_vec(), newest)));
            }
        }
    }

    #[test]
    fn a_key_is_not_added_where_another_thread_added_it_in_between() {
        let tree = Tree::new(ValueAlign::One);
        insert(&tree, 0);
        let path = tree.path_to(b"key").flatten().expect("the tree is at rest");
        assert!(matches!(tree.insert(&put(b"key", 7, b"other"), None), Inserted::Key(_)));
        assert_eq!(attempt(&tree, &path, &put(b"key", 6, b"this")), None);
        assert!(matches!(tree.insert(&put(b"key", 6, b"this"), None), Inserted::Version(_)));
        assert_eq!(read(&tree, b"key", 6), Some((b"this".to_vec(), 7)));
        assert_eq!(read(&tree, b"key", 7), Some((b"other".to_vec(), 7)));
    }

    #[test]
    fn nothing_is_added_to_a_leaf_that_was_split_in_between() {
        let tree = Tree::new(ValueAlign::One);
        (0..40).for_each(|number| insert(&tree, number * 1000));
        let (this, last) = (38_500_u32.to_be_bytes(), 39_000_u32.to_be_bytes());
        let paths = [&this, &last].map(|key| tree.path_to(key).flatten().expect("the tree is at rest"));
        (0..100).for_each(|number| insert(&tree, number * 389 + 1));
        assert_eq!(attempt(&tree, &paths[0], &put(&this, 2, b"this")), None);
        assert_eq!(attempt(&tree, &paths[1], &put(&last, 2, b"last")), None);
        assert_eq!(read(&tree, &this, 9), None);
        tree.insert(&put(&this, 2, b"this"), None);
        assert_eq!(read(&tree, &this, 9), Some((b"this".to_vec(), 2)));
    }

    #[test]
    fn two_threads_that_split_one_leaf_split_it_once() {
        for leaves in [1, 3] {
            let tree = Tree::new(ValueAlign::One);
            // In order, so that leaves are filled.
            (0..LEAF_KEYS as u32 * leaves).for_each(|number| insert(&tree, number * 10));
            let key = 5_u32.to_be_bytes();
            let [this, other] = [0, 1].map(|_| tree.path_to(&key).flatten().expect("the tree is at rest"));
            assert!(this.leaf.is_full());
            let high = this.leaf.high();
            assert_eq!(attempt(&tree, &this, &put(&key, 2, b"this")), None, "the leaf is split first");
            let fence = this.leaf.high();
            assert_ne!(fence, high);
            // Other keys have filled it again.
            (11..).take_while(|_| !this.leaf.is_full()).for_each(|number| insert(&tree, number));
            assert_eq!(attempt(&tree, &other, &put(&key, 2, b"other")), None);
            assert_eq!(this.leaf.high(), fence, "it was split once");
            let (right, _) = tree.leaf_after(this.leaf, this.leaf.stamp()).expect("the tree is at rest");
            assert_eq!(right.high(), high);
            tree.insert(&put(&key, 2, b"this"), None);
            assert_eq!(read(&tree, &key, 9), Some((b"this".to_vec(), 2)));
        }
    }
}
