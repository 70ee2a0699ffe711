//! A B+tree over the records of one arena, read without locks while it grows (optimistic lock coupling, Leis et al.).
//!
//! A descent takes a node's version, reads where to go, takes the child's version, and only then makes sure that the
//! node has not changed: so the child was the right one at the moment whose version is held. A writer locks a node
//! only if it is unchanged since the descent, and a parent before its child. A writer that loses a race starts again
//! from the root.
//!
//! Invariants: (1) Nodes and records live until the tree is dropped, and none is ever removed: a key that was found
//! stays. (2) No leaf is empty. (3) Full inner nodes are split on the way down, so that a leaf that splits finds room
//! in its parent. (4) A record is in one leaf; its versions are added under that leaf's lock, which changes its
//! version.
#![allow(unsafe_code)] // Nodes and records are reached through references that live in shared memory.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::delta::arena::{Arena, LINE, Unit, prefetch_lines};
use crate::delta::btree::node::{Header, INNER_KEYS, Inner, Keys, Leaf, Stamp};
use crate::delta::record::{Record, RecordRef};
use crate::format::ValueAlign;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::before_retry;

/// How many leaf headers a walk prefetches at once. They are misses in an order that no processor can predict.
const LEAVES_AHEAD: usize = 32;

/// See the module.
pub(in crate::delta) struct Tree {
    pub(super) arena: Arena,
    pub(super) align: ValueAlign,
    /// Unit of the root; 0 while the tree is empty.
    pub(super) root: AtomicU32,
}

/// A node of a tree, of either kind.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'t> {
    pointer: NonNull<Header>,
    tree: PhantomData<&'t Tree>,
}

/// A node of a tree, by its kind.
pub(super) enum Kind<'t> {
    Leaf(&'t Leaf),
    Inner(&'t Inner),
}

impl<'t> NodeRef<'t> {
    #[inline(always)]
    fn header(self) -> &'t Header {
        // SAFETY: a `NodeRef` points to an initialised node, which begins with its header and lives as long as the
        // tree.
        unsafe { self.pointer.as_ref() }
    }

    #[inline(always)]
    pub(super) fn kind(self) -> Kind<'t> {
        if self.header().level() == 0 {
            // SAFETY: every node of level 0 was made as a `Leaf`, and the pointer reaches all of its allocation.
            Kind::Leaf(unsafe { self.pointer.cast::<Leaf>().as_ref() })
        } else {
            // SAFETY: every node of another level was made as an `Inner`; the pointer reaches all of its allocation.
            Kind::Inner(unsafe { self.pointer.cast::<Inner>().as_ref() })
        }
    }

    /// Prefetches at once all that a descent may read of the node, instead of one line after the other.
    #[inline(always)]
    pub(super) fn prefetch(self, level: u32) {
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
    pub(in crate::delta) fn new(align: ValueAlign) -> Self {
        Self::on(Arena::default(), align)
    }

    /// An empty tree that will reuse the memory of this one and those before it.
    pub(in crate::delta) fn successor(&self) -> Self {
        Self::on(self.arena.successor(), self.align)
    }

    /// Frees the memory that is kept for reuse.
    pub(in crate::delta) fn forget_spares(&self) {
        self.arena.forget_spares();
    }

    /// How many pieces of memory are kept for reuse.
    #[cfg(test)]
    pub(in crate::delta) fn spare_count(&self) -> usize {
        self.arena.spare_count()
    }

    fn on(arena: Arena, align: ValueAlign) -> Self {
        Self { arena, align, root: AtomicU32::new(0) }
    }

    /// Whether nothing was ever inserted.
    #[inline(always)]
    pub(in crate::delta) fn is_empty(&self) -> bool {
        // Relaxed: a thread that is ordered after an insert sees a root.
        self.root.load(Ordering::Relaxed) == 0
    }

    /// Bytes of nodes and records.
    pub(in crate::delta) fn used_bytes(&self) -> usize {
        self.arena.used_bytes()
    }

    /// The record with this name.
    #[inline(always)]
    pub(in crate::delta) fn record(&self, record: RecordRef) -> Record<'_> {
        // SAFETY: this tree's arena is the only one whose records it and its cursors ever see, and they learn of them
        // by `AtomicRecordRef::load`.
        unsafe { Record::resolve(&self.arena, record) }
    }

    /// The key of the record with this name.
    #[inline(always)]
    pub(in crate::delta) fn key(&self, record: RecordRef) -> &[u8] {
        self.record(record).key()
    }

    /// Prefetches the first lines of a record.
    #[inline(always)]
    pub(in crate::delta) fn prefetch(&self, record: RecordRef) {
        prefetch_lines::<3>(self.record(record).address());
    }

    /// Prefetches the first lines of a record's newest version. The record itself should have been prefetched a while
    /// ago.
    #[inline(always)]
    pub(in crate::delta) fn prefetch_newest(&self, record: RecordRef) {
        prefetch_lines::<3>(self.record(record).newest_address());
    }

    /// The leaf with this number.
    ///
    /// Requires: [`Header::unit`] of a leaf of this tree returned it.
    pub(in crate::delta) fn leaf(&self, unit: Unit) -> &Leaf {
        match self.node(unit).kind() {
            Kind::Leaf(leaf) => leaf,
            Kind::Inner(_) => unreachable!("a leaf stays a leaf"),
        }
    }

    /// The leaf that begins where `leaf` ends, if that is known and `leaf` has not changed since `stamp`.
    pub(in crate::delta) fn leaf_after(&self, leaf: &Leaf, stamp: Stamp) -> Option<(&Leaf, Stamp)> {
        let high = leaf.high()?;
        let right = self.leaf(leaf.right()?);
        let right_stamp = right.stamp();
        (right.low() == Some(high) && leaf.is_unchanged(stamp)).then_some((right, right_stamp))
    }

    /// The leaf that ends where `leaf` begins, if that is known and `leaf` has not changed since `stamp`.
    pub(in crate::delta) fn leaf_before(&self, leaf: &Leaf, stamp: Stamp) -> Option<(&Leaf, Stamp)> {
        let low = leaf.low()?;
        let left = self.leaf(leaf.left()?);
        let left_stamp = left.stamp();
        (left.high() == Some(low) && leaf.is_unchanged(stamp)).then_some((left, left_stamp))
    }

    /// Prefetches a leaf.
    pub(in crate::delta) fn prefetch_leaf(&self, unit: Unit) {
        self.node(unit).prefetch(0);
    }

    #[inline(always)]
    pub(super) fn node(&self, unit: Unit) -> NodeRef<'_> {
        // SAFETY: units of nodes come from this tree's root, children and headers, by acquiring loads.
        let pointer = unsafe { self.arena.address(unit) }.cast::<Header>();
        NodeRef { pointer, tree: PhantomData }
    }

    /// The leaf where `key` is or would be. None if the tree is empty.
    #[inline]
    pub(in crate::delta) fn descend_to(&self, key: &[u8]) -> Option<(&Leaf, Stamp)> {
        self.descend(|inner| self.route(inner, key))
    }

    /// As [`Tree::descend_to`]. Also prefetches the headers of the leaves that follow, and returns how many.
    pub(in crate::delta) fn descend_ahead(&self, key: &[u8]) -> Option<(&Leaf, Stamp, usize)> {
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
    pub(in crate::delta) fn descend_below(&self, key: &[u8]) -> Option<(&Leaf, Stamp)> {
        self.descend(|inner| Some(inner.keys.search(key, |record| self.key(record))?.position))
    }

    /// The last leaf. None if the tree is empty.
    pub(in crate::delta) fn descend_to_last(&self) -> Option<(&Leaf, Stamp)> {
        self.descend(|inner| Some(inner.keys.count()))
    }

    /// Which child of `inner` `key` belongs to. None: a writer is at work.
    #[inline(always)]
    pub(super) fn route(&self, inner: &Inner, key: &[u8]) -> Option<usize> {
        let found = inner.keys.search(key, |record| self.key(record))?;
        Some(found.position + usize::from(found.exact))
    }

    /// Follows the children that `choose` returns; `None` starts again.
    #[inline(always)]
    pub(super) fn descend(&self, choose: impl Fn(&Inner) -> Option<usize>) -> Option<(&Leaf, Stamp)> {
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
    pub(super) fn child(&self, inner: &Inner, stamp: Stamp, index: usize) -> Option<(NodeRef<'_>, Stamp)> {
        let child = self.node(inner.child(index)?);
        child.prefetch(inner.keys.level() - 1);
        let child_stamp = child.header().stamp();
        // After the child's version: so the child was the right one when it had that version.
        inner.keys.is_unchanged(stamp).then_some((child, child_stamp))
    }

    /// The root and its version. The outer none: the tree is empty; the inner: the root was just split.
    #[inline(always)]
    pub(super) fn root(&self) -> Option<Option<(NodeRef<'_>, Stamp)>> {
        // Acquire pairs with the Release in `insert_first` and `attach`.
        let unit = Unit::new(self.root.load(Ordering::Acquire))?;
        Some(self.root_at(unit))
    }

    /// The node at `unit` and its version, if it still is the root.
    #[inline(always)]
    pub(super) fn root_at(&self, unit: Unit) -> Option<(NodeRef<'_>, Stamp)> {
        let root = self.node(unit);
        let stamp = root.header().stamp();
        // A root that has been split is no root any more. `attach` stores the new one before the old one is unlocked,
        // so a thread that sees the later version sees the new root too.
        (self.root.load(Ordering::Relaxed) == unit.get()).then_some((root, stamp))
    }

    pub(super) fn new_leaf(&self) -> &Leaf {
        let (unit, memory) = self.arena.allocate(size_of::<Leaf>(), align_of::<Leaf>());
        let pointer = memory.cast::<Leaf>();
        // SAFETY: fresh memory of that size and alignment.
        unsafe { pointer.write(Leaf::new(0, unit)) };
        // SAFETY: initialised above, and lives as long as the tree.
        unsafe { pointer.as_ref() }
    }

    pub(super) fn new_inner(&self, level: u32) -> &Inner {
        assert!(level > 0);
        let (unit, memory) = self.arena.allocate(size_of::<Inner>(), align_of::<Inner>());
        let pointer = memory.cast::<Inner>();
        // SAFETY: fresh memory of that size and alignment.
        unsafe { pointer.write(Inner::new(level, unit)) };
        // SAFETY: initialised above, and lives as long as the tree.
        unsafe { pointer.as_ref() }
    }
}
