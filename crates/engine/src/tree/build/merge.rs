//! Makes a new tree of an old one and a sorted stream of changes, sharing what did not change.
//!
//! The old tree is walked together with the stream. A subtree that no change falls into is adopted by reference, with
//! three exceptions. If its extent is mostly dead, the subtree is copied, to empty the extent. A leaf among mostly
//! changed leaves is copied too, because its extent is about to be mostly dead: see [`Density`]. If the pages before
//! the subtree would be left too empty, it is opened, and its parts fill them. Everything else is read, merged and
//! rewritten, in one pass and bounded memory: a page for each level, and the pages that the [`Builder`] holds back.
//!
//! Invariants: (1) every page of the old tree is either reachable from the new one or marked as dead, and so are the
//! pages of long keys and values.  (2) Nothing of the old tree is written.

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::Result;
use crate::format::{
    Branch, Cell, CellKey, CellValue, Child, Leaf, LeafForm, LeafView, OverflowRef, PlainEntries, Search, Unpacked,
    WithSearch, with_search,
};
use crate::ids::PageRef;
use crate::pager::{PageWriter, Pages};
use crate::tree::root::{Root, branch_at, leaf_at};

use super::builder::{Builder, Subtree};
use super::changes::{Action, Changes};

/// What a merge made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOutcome {
    /// The new tree; `None` if it is empty.
    pub root: Option<Root>,
    /// Keys that had no value before.
    pub inserted: u64,
    /// Keys that had another value before.
    pub replaced: u64,
    /// Keys that have no value any more.
    pub deleted: u64,
    /// Subtrees adopted by reference.
    pub adopted: u64,
}

/// Merges `changes` into the tree `root` (`None`: an empty one), writing with `writer`, which also learns what is dead.
///
/// `step` is called about every thousand entries; its error ends the merge. After any error abort the writer's
/// operation: the old tree stays valid.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt) or [`Error::Io`](crate::Error::Io) from reading, those of [`PageWriter`]
/// from writing, those of `changes` and `step`.
pub fn merge<C: Changes>(
    pages: &Pages,
    root: Option<&Root>,
    changes: &mut C,
    writer: &mut PageWriter<'_>,
    form: LeafForm,
    step: &mut dyn FnMut() -> Result<()>,
) -> Result<MergeOutcome> {
    let builder = Builder::new(pages, writer, form);
    let mut merge = Merge {
        pages,
        changes,
        builder,
        step,
        countdown: STEP_ENTRIES,
        outcome: MergeOutcome::default(),
        density: Density::default(),
    };
    match root {
        Some(root) => {
            let child = Child { page: root.page, has_overflow: root.has_overflow };
            let count = i64::try_from(root.entries).unwrap_or(i64::MAX);
            let whole = Subtree { child, level: root.level, count, low: None, high: None };
            merge.subtree(&whole)?;
        }
        None => merge.insert_rest()?,
    }
    let Merge { builder, mut outcome, .. } = merge;
    outcome.root = builder.finish()?;
    Ok(outcome)
}

struct Merge<'m, 's, C> {
    pages: &'m Pages,
    changes: &'m mut C,
    builder: Builder<'m, 's>,
    step: &'m mut dyn FnMut() -> Result<()>,
    countdown: u32,
    outcome: MergeOutcome,
    density: Density,
}

/// How many of the leaves that a merge passed last are changed.
///
/// Where most are, the rest are copied too. If they were adopted, each would keep a place in an extent that is
/// otherwise free: the free space would be in pieces too small for the next merge's extents, and the file 1.5 times
/// as large.
#[derive(Clone, Copy, Debug, Default)]
struct Density {
    /// The share of changed leaves, of [`Density::ALL`]; the last leaves have the most weight.
    changed: u32,
}

impl Density {
    const ALL: u32 = 1 << 16;
    /// A leaf has this fraction of the weight: a dozen consecutive unchanged leaves end the copying.
    const LEAVES: u32 = 16;

    fn note(&mut self, changed: bool) {
        self.changed -= self.changed / Self::LEAVES;
        self.changed += if changed { Self::ALL / Self::LEAVES } else { 0 };
    }

    fn is_high(self) -> bool {
        self.changed > Self::ALL / 2
    }
}

impl<C: Changes> Merge<'_, '_, C> {
    /// Adopts or merges a subtree. Requires: all remaining changes are at or above its low fence.
    fn subtree(&mut self, subtree: &Subtree<'_>) -> Result<()> {
        let touched = self.changes.peek()?.is_some_and(|change| below(change.key, subtree.high));
        if subtree.level == 0 {
            self.density.note(touched);
        }
        if !touched && !self.must_copy(subtree)? && self.builder.adopt(subtree)? {
            self.outcome.adopted += 1;
            return Ok(());
        }
        let at = subtree.child.page;
        let page = self.pages.page(at)?;
        self.builder.writer.kill_page(at)?;
        if subtree.level == 0 {
            let leaf = leaf_at(self.pages, page, at)?;
            return self.leaf(&Entries::of(leaf.leaf()), subtree);
        }
        let branch = branch_at(self.pages, &page, at, subtree.level)?;
        self.branch(branch, subtree)
    }

    /// Whether a subtree is to be copied, though nothing in it changes.
    fn must_copy(&self, subtree: &Subtree<'_>) -> Result<bool> {
        let at = subtree.child.page;
        let Some(moving) = self.builder.writer.moving() else {
            if self.builder.writer.is_cramped() {
                return Ok(false);
            }
            let is_sparse = self.pages.extents().is_sparse(at.extent);
            return Ok(is_sparse || (subtree.level == 0 && self.density.is_high()));
        };
        // Where the leaves of a branch are is unknown here.
        if subtree.level > 0 || self.builder.writer.moves(self.pages, at) {
            return Ok(true);
        }
        let has_overflow_below = subtree.child.has_overflow;
        if !moving.fills && !has_overflow_below {
            return Ok(false);
        }
        let leaf = leaf_at(self.pages, self.pages.page(at)?, at)?;
        Ok((moving.fills && self.has_room(leaf.leaf())) || (has_overflow_below && self.has_moved_overflow(leaf.leaf())))
    }

    /// Whether a leaf has room for several entries more.
    fn has_room(&self, leaf: LeafView<'_>) -> bool {
        let (used, body) = (leaf.bytes_used(), self.builder.writer.page_size().body_bytes());
        used * 100 < body * FULL_PERCENT && used + 2 * used / leaf.count() <= body
    }

    /// Whether any long part of a leaf's entries is moved.
    fn has_moved_overflow(&self, leaf: LeafView<'_>) -> bool {
        let is_moved = |at: &OverflowRef| self.builder.writer.moves(self.pages, at.page());
        match leaf {
            LeafView::Tagged(leaf) => leaf.cells(0..leaf.count()).any(|cell| {
                matches!(cell.key, CellKey::Overflow { at, .. } if is_moved(&at))
                    || matches!(cell.value, CellValue::Overflow(at) if is_moved(&at))
            }),
            LeafView::Packed(leaf) => {
                let entries = leaf.unpack(0..leaf.count());
                entries.values().any(|value| matches!(value, CellValue::Overflow(at) if is_moved(&at)))
            }
        }
    }

    fn branch(&mut self, branch: Branch<'_>, subtree: &Subtree<'_>) -> Result<()> {
        let (mut low, mut high) = (subtree.low.map(<[u8]>::to_vec), Vec::new());
        for index in 0..branch.children() {
            let is_last = index == branch.separator_count();
            if !is_last {
                self.take_separator(branch, index, &mut high)?;
                if low.as_ref().is_some_and(|low| *low >= high) || !below(&high, subtree.high) {
                    let what = "separators of the branch are not between those of its parent";
                    return Err(self.pages.misfit(subtree.child.page, what));
                }
            }
            if subtree.level == 1 && !is_last && self.density.is_high() {
                self.pages.prefetch_whole(branch.child(index + 1).page);
            }
            self.subtree(&Subtree {
                child: branch.child(index),
                level: subtree.level - 1,
                count: branch.count(index),
                low: low.as_deref(),
                high: if is_last { subtree.high } else { Some(&high) },
            })?;
            std::mem::swap(low.get_or_insert_default(), &mut high);
        }
        Ok(())
    }

    /// The whole separator of a branch that will not be in the new tree. The separator's own pages, if it has any,
    /// become dead.
    fn take_separator(&mut self, branch: Branch<'_>, index: usize, whole: &mut Vec<u8>) -> Result<()> {
        if let CellKey::Overflow { at, prefix, .. } = branch.separator(index, whole) {
            self.builder.writer.kill_value(&at)?;
            let stored = self.pages.value(&at)?;
            if !stored.starts_with(prefix) {
                return Err(self.pages.misfit(at.page(), "a long separator does not begin as its branch says"));
            }
            whole.clear();
            whole.extend_from_slice(&stored);
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: &Entries<'_>, subtree: &Subtree<'_>) -> Result<()> {
        self.check_fences(leaf, subtree)?;
        let stretch = Stretch { pages: self.pages, leaf, at: subtree.child.page };
        let count = leaf.count();
        let mut next = 0;
        while let Some(change) = self.changes.peek()?.filter(|change| below(change.key, subtree.high)) {
            let place = place_of(self.pages, leaf, next, change.key)?;
            let (key, found) = (change.key, place.found);
            // The cells before the change go first; the change stays borrowed from its source.
            stretch.keep(&mut self.builder, next..place.index)?;
            self.countdown = self.countdown.saturating_sub((place.index - next) as u32 + 1);
            let old = found.then(|| leaf.cell(place.index));
            let hash = change.hash.unwrap_or_else(|| self.builder.hash(key));
            apply(&mut self.builder, &mut self.outcome, key, hash, change.action, old)?;
            next = place.index + usize::from(found);
            self.changes.advance();
            self.maybe_step()?;
        }
        stretch.keep(&mut self.builder, next..count)?;
        self.countdown = self.countdown.saturating_sub((count - next) as u32);
        self.maybe_step()
    }

    /// Adds all remaining changes to a tree that is otherwise empty.
    fn insert_rest(&mut self) -> Result<()> {
        while let Some(change) = self.changes.peek()? {
            let hash = change.hash.unwrap_or_else(|| self.builder.hash(change.key));
            apply(&mut self.builder, &mut self.outcome, change.key, hash, change.action, None)?;
            self.changes.advance();
            self.countdown -= 1;
            self.maybe_step()?;
        }
        Ok(())
    }

    #[inline]
    fn maybe_step(&mut self) -> Result<()> {
        if self.countdown > 0 {
            return Ok(());
        }
        self.countdown = STEP_ENTRIES;
        (self.step)()
    }

    /// Refuses a leaf with keys outside of its parent's separators: the new tree's order rests on them.
    fn check_fences(&self, leaf: &Entries<'_>, subtree: &Subtree<'_>) -> Result<()> {
        let first_below = match subtree.low {
            Some(low) => leaf.compare(0, low, self.pages)?.is_lt(),
            None => false,
        };
        let last_above = match subtree.high {
            Some(high) => leaf.compare(leaf.count() - 1, high, self.pages)?.is_ge(),
            None => false,
        };
        if first_below || last_above {
            let what = "keys of the leaf are not between its parent's separators";
            return Err(self.pages.misfit(subtree.child.page, what));
        }
        Ok(())
    }
}

/// The entries of a leaf of the base.
enum Entries<'l> {
    Tagged { leaf: Leaf<'l>, plain: Option<PlainEntries<'l>> },
    Packed(Unpacked<'l>),
}

impl<'l> Entries<'l> {
    fn of(leaf: LeafView<'l>) -> Self {
        match leaf {
            LeafView::Tagged(leaf) => Self::Tagged { leaf, plain: PlainEntries::of(leaf.page()) },
            LeafView::Packed(leaf) => Self::Packed(leaf.unpack(0..leaf.count())),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Tagged { leaf, .. } => leaf.count(),
            Self::Packed(entries) => entries.len(),
        }
    }

    #[inline]
    fn cell(&self, index: usize) -> Cell<'_> {
        match self {
            Self::Tagged { leaf, .. } => leaf.cell(index),
            Self::Packed(entries) => entries.cell(index),
        }
    }

    #[inline]
    fn compare(&self, index: usize, key: &[u8], pages: &Pages) -> Result<Ordering> {
        match self {
            Self::Tagged { leaf, .. } => leaf.compare(index, key, pages),
            Self::Packed(entries) => Ok(entries.key(index).cmp(key)),
        }
    }

    /// The first entry whose key is at least `key`.
    fn lower_bound(&self, key: &[u8], pages: &Pages) -> Result<usize> {
        match self {
            Self::Tagged { leaf, .. } => with_search(LowerBound { pages, leaf: *leaf, key }),
            Self::Packed(entries) => Ok(entries.lower_bound(key)),
        }
    }
}

/// A leaf of the base whose stretches of entries go to the new tree.
struct Stretch<'s> {
    pages: &'s Pages,
    leaf: &'s Entries<'s>,
    at: PageRef,
}

impl Stretch<'_> {
    /// Copies entries: as raw bytes as far as possible.
    fn keep(&self, builder: &mut Builder<'_, '_>, range: Range<usize>) -> Result<()> {
        let rest = match self.leaf {
            Entries::Tagged { plain: Some(plain), .. } => builder.push_plain(plain, range)?,
            _ => range,
        };
        match self.leaf {
            Entries::Tagged { leaf, .. } => {
                leaf.cells(rest).try_for_each(|cell| keep(builder, self.pages, &cell, self.at))
            }
            Entries::Packed(entries) => {
                rest.map(|index| entries.cell(index)).try_for_each(|cell| keep(builder, self.pages, &cell, self.at))
            }
        }
    }
}

/// Copies an entry of the base.
#[inline]
fn keep(builder: &mut Builder<'_, '_>, pages: &Pages, cell: &Cell<'_>, at: PageRef) -> Result<()> {
    if cell.op.is_delete() {
        // Nothing is below a base: the delete is not needed any more.
        return drop_key(builder, &cell.key);
    }
    if !builder.can_store(cell) {
        return Err(pages.misfit(at, "an entry of the leaf is larger than its table allows"));
    }
    if builder.writer.moving().is_some() {
        return keep_moved(builder, pages, cell);
    }
    builder.push_cell(cell)
}

/// Copies an entry of the base, and its long parts if they are moved.
fn keep_moved(builder: &mut Builder<'_, '_>, pages: &Pages, cell: &Cell<'_>) -> Result<()> {
    let hash = builder.hash_of(&cell.key);
    let (mut key, mut value) = (cell.key, cell.value);
    if let CellKey::Overflow { at, .. } = &mut key {
        *at = builder.move_value(pages, *at)?;
    }
    if let CellValue::Overflow(at) = &mut value {
        *at = builder.move_value(pages, *at)?;
    }
    builder.push(key, value, hash)
}

/// Applies a change to a key for which the base may have the entry `old`.
#[inline]
fn apply(
    builder: &mut Builder<'_, '_>,
    outcome: &mut MergeOutcome,
    key: &[u8],
    hash: u64,
    action: Action<'_>,
    old: Option<Cell<'_>>,
) -> Result<()> {
    let Some(old) = old else {
        return match action {
            Action::Put(value) => {
                outcome.inserted += 1;
                builder.push_new(key, hash, value)
            }
            Action::PutLarge(at) => {
                outcome.inserted += 1;
                let key = builder.store_key(key)?;
                builder.push(key, CellValue::Overflow(at), hash)
            }
            Action::Delete => Ok(()),
        };
    };
    let existed = !old.op.is_delete();
    if let CellValue::Overflow(at) = old.value {
        builder.writer.kill_value(&at)?;
    }
    if action == Action::Delete {
        outcome.deleted += u64::from(existed);
        return drop_key(builder, &old.key);
    }
    outcome.replaced += u64::from(existed);
    outcome.inserted += u64::from(!existed);
    // The key stays as it is stored, with the pages of a long one.
    let value = match action {
        Action::Put(value) => builder.store_value(key.len(), value)?,
        Action::PutLarge(at) => CellValue::Overflow(at),
        Action::Delete => CellValue::Inline(&[]),
    };
    builder.push(old.key, value, hash)
}

fn drop_key(builder: &mut Builder<'_, '_>, key: &CellKey<'_>) -> Result<()> {
    match key {
        CellKey::Inline(_) => Ok(()),
        CellKey::Overflow { at, .. } => builder.writer.kill_value(at),
    }
}

/// Whether a key is below a fence; `None` is above all keys.
#[inline]
fn below(key: &[u8], fence: Option<&[u8]>) -> bool {
    fence.is_none_or(|fence| key < fence)
}

/// Where a key belongs in a leaf.
#[derive(Clone, Copy, Debug)]
struct KeyPlace {
    /// Of the first entry that is not below the key.
    index: usize,
    /// Whether that entry has the key.
    found: bool,
}

/// Finds a key's place from entry `from` on: step by step while it may be near, for dense changes, then by search.
#[inline]
fn place_of(pages: &Pages, leaf: &Entries<'_>, from: usize, key: &[u8]) -> Result<KeyPlace> {
    let count = leaf.count();
    for index in from..(from + NEAR_ENTRIES).min(count) {
        match leaf.compare(index, key, pages)? {
            Ordering::Less => {}
            order => return Ok(KeyPlace { index, found: order.is_eq() }),
        }
    }
    if from + NEAR_ENTRIES >= count {
        return Ok(KeyPlace { index: count, found: false });
    }
    let index = leaf.lower_bound(key, pages)?.max(from);
    let found = index < count && leaf.compare(index, key, pages)?.is_eq();
    Ok(KeyPlace { index, found })
}

struct LowerBound<'a> {
    pages: &'a Pages,
    leaf: Leaf<'a>,
    key: &'a [u8],
}

impl WithSearch for LowerBound<'_> {
    type Output = Result<usize>;

    #[inline(always)]
    fn run<S: Search>(self) -> Result<usize> {
        self.leaf.lower_bound::<S, Pages>(self.key, self.pages)
    }
}

/// `step` is called after about this many entries.
const STEP_ENTRIES: u32 = 1024;

/// A leaf with this much is full enough.
const FULL_PERCENT: usize = 90;
/// Entries that are compared one by one before a search.
const NEAR_ENTRIES: usize = 4;
