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
use crate::delta::node::{Found, Header, INNER_KEYS, Inner, Keys, Leaf, Located, Locked, LockedInner, Stamp};
use crate::delta::record::{Record, RecordRef, Stored, Unpublished, write_record};
use crate::format::ValueAlign;
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::before_retry;
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
    /// Where [`Tree::come_nearer`] came.
    nearer: Option<Nearer>,
}

/// The place of a key in a leaf, whose record was asked for if there may be one.
#[derive(Clone, Copy, Debug)]
struct Nearer {
    leaf: Unit,
    stamp: Stamp,
    located: Located,
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

    /// Asks for the first lines of a record's newest version: of one whose own lines were asked for a while ago.
    #[inline(always)]
    pub(super) fn prefetch_newest(&self, record: RecordRef) {
        prefetch_lines::<3>(self.record(record).newest_address());
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
                return Some(Approach { parent: parent.keys.unit(), stamp, index, nearer: None });
            }
            (node, stamp) = self.child(parent, stamp, index)?;
        }
    }

    /// Looks for the key in the leaf that was asked for, and asks for its record if it may have one. Where a writer is at work,
    /// the approach stays as it is.
    ///
    /// Requires: the approach was made in this tree, to this key.
    pub(super) fn come_nearer(&self, approach: &mut Approach, key: &[u8]) {
        let Some(Path { leaf, stamp, .. }) = self.path_from(*approach) else { return };
        let Some(located) = leaf.locate(key, |record| self.key(record)) else { return };
        if let Some(record) = leaf.tied(located) {
            self.prefetch(record);
        }
        if leaf.is_unchanged(stamp) {
            approach.nearer = Some(Nearer { leaf: leaf.unit(), stamp, located });
        }
    }

    /// The path whose last step an approach left out. None if the parent has changed since: otherwise it is as if the descent
    /// had only now come there.
    ///
    /// Requires: the approach was made in this tree.
    fn path_from(&self, approach: Approach) -> Option<Path<'_>> {
        let Approach { parent, stamp, index, .. } = approach;
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
            let Some((mut node, mut stamp)) = self.root()? else {
                before_retry();
                continue;
            };
            loop {
                let inner = match node.kind() {
                    Kind::Leaf(leaf) => return Some((leaf, stamp)),
                    Kind::Inner(inner) => inner,
                };
                let Some(index) = choose(inner) else { break };
                let Some(below) = self.child(inner, stamp, index) else { break };
                (node, stamp) = below;
            }
            before_retry();
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

    /// As [`Tree::insert`], of one of many keys that rise: `last` is the leaf of the one before, and then of this one. Where the key
    /// belongs to the same leaf, which has room, no descent is made.
    pub(super) fn insert_along(&self, entry: &Entry<'_>, last: &mut Option<Unit>) -> Inserted {
        let mut attempts = Attempts::new(entry, Stored::new(&self.arena, entry.change));
        if let Some(unit) = last.take()
            && let Some(inserted) = self.insert_beside(self.leaf(unit), &mut attempts)
        {
            *last = Some(unit);
            return inserted;
        }
        loop {
            let inserted = match self.path_to(entry.key) {
                Some(Some(path)) => self.insert_at(&path, &mut attempts).inspect(|_| *last = Some(path.leaf.unit())),
                Some(None) => None,
                None => self.insert_first(&mut attempts),
            };
            if let Some(inserted) = inserted {
                return inserted;
            }
            before_retry();
        }
    }

    /// Attempts in a leaf that may not be the key's. None: it is not, or is full, or another writer came first.
    fn insert_beside(&self, leaf: &Leaf, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let (stamp, key) = (leaf.stamp(), attempts.entry.key);
        let begins_here = leaf.low().is_none_or(|low| self.key(low) <= key);
        let ends_here = leaf.high().is_none_or(|high| key < self.key(high));
        if !begins_here || !ends_here {
            return None;
        }
        let found = leaf.search(key, |record| self.key(record))?;
        if !found.exact && leaf.is_full() {
            // Who splits it needs its parent.
            return None;
        }
        self.insert_within(&Path { parent: None, leaf, stamp }, found, attempts)
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

    /// Attempts from where an approach came. None: others changed too much since; begin at the root.
    fn insert_near(&self, approach: Approach, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        if let Some(Nearer { leaf, stamp, located }) = approach.nearer {
            let Kind::Inner(parent) = self.node(approach.parent).kind() else {
                unreachable!("an inner node stays one")
            };
            let path = Path { parent: Some((parent, approach.stamp)), leaf: self.leaf(leaf), stamp };
            if let Some(found) = path.leaf.settle(attempts.entry.key, located, |record| self.key(record))
                && let Some(inserted) = self.insert_found(&path, found, attempts)
            {
                return Some(inserted);
            }
        }
        self.insert_at(&self.path_from(approach)?, attempts)
    }

    /// One attempt. None: another writer came first, or the leaf was split; try again.
    fn insert_at(&self, path: &Path<'_>, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let found = path.leaf.search(attempts.entry.key, |record| self.key(record))?;
        self.insert_found(path, found, attempts)
    }

    /// One attempt, at the key's place in the leaf. None: as for [`Tree::insert_at`].
    #[inline]
    fn insert_found(&self, path: &Path<'_>, found: Found, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        if !found.exact && path.leaf.is_full() {
            return self.split_leaf(path, found, attempts);
        }
        self.insert_within(path, found, attempts)
    }

    /// One attempt that splits nothing. None: another writer came first.
    ///
    /// Requires: the key is in the leaf, or the leaf had room when it was unchanged since the path's stamp.
    #[inline]
    fn insert_within(&self, path: &Path<'_>, found: Found, attempts: &mut Attempts<'_>) -> Option<Inserted> {
        let (leaf, key) = (path.leaf, attempts.entry.key);
        if found.exact {
            let record = leaf.key(found.position)?;
            return if leaf.is_unchanged(path.stamp) { self.add_version(path, record, attempts) } else { None };
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
mod tests;
