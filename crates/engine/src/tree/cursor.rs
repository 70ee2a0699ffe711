//! A place in a tree, and the entries of one leaf from there on.
//!
//! Invariants: (1) `path` leads from the root to `leaf` by child indices, one step for each level.  (2) `index` is at most
//! `count`, the leaf's number of entries; equal means the place behind its last entry.  (3) A cursor holds no page: each
//! call is given the same [`Pages`] and the cursor's root, and a wrong one gives an error or other entries, nothing worse.

use crate::error::Result;
use crate::format::{CellKey, CellValue, Leaf, Search, WithSearch, with_search};
use crate::ids::PageRef;
use crate::pager::{LeafPage, Pages, Value};

use super::root::{Root, branch_at, leaf_at};

/// An entry, readable on its own.
#[derive(Clone, Debug)]
pub struct Entry<'p> {
    /// The whole key.
    pub key: Value<'p>,
    /// The value; empty for a delete.
    pub value: Value<'p>,
}

/// Where to place a cursor.
#[derive(Clone, Copy, Debug)]
pub enum Seek<'a> {
    /// At the first entry.
    First,
    /// Behind the last entry.
    End,
    /// At the first entry whose key is at least this.
    AtLeast(&'a [u8]),
    /// At the first entry whose key is above this.
    Above(&'a [u8]),
}

/// A place in a tree, without lifetime: at an entry, before the first, or behind the last.
#[derive(Clone, Debug)]
pub struct Cursor {
    root: Root,
    path: Vec<Step>,
    leaf: PageRef,
    index: usize,
    count: usize,
    before_first: bool,
}

/// A branch on the way, and which of its children was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    page: PageRef,
    child: u32,
    children: u32,
}

impl Cursor {
    /// A cursor placed so. It may stand behind the last entry of a leaf: see [`Cursor::settle`].
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io); so for all that follow.
    pub fn seek(pages: &Pages, root: &Root, to: Seek<'_>) -> Result<Self> {
        let path = Vec::with_capacity(usize::from(root.level));
        let cursor = Self { root: *root, path, leaf: root.page, index: 0, count: 0, before_first: false };
        with_search(SeekTo { pages, cursor, to })
    }

    /// Moves to the next leaf's first entry if the cursor stands behind a leaf's last. Whether it is at an entry now.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn settle(&mut self, pages: &Pages) -> Result<bool> {
        while self.index >= self.count {
            if !self.next_leaf(pages)? {
                return Ok(false);
            }
        }
        Ok(!self.before_first)
    }

    /// Moves on by one entry. Whether the cursor is at an entry now, rather than behind the last.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn next(&mut self, pages: &Pages) -> Result<bool> {
        if std::mem::take(&mut self.before_first) {
            return self.settle(pages);
        }
        if self.index < self.count {
            self.index += 1;
        }
        self.settle(pages)
    }

    /// Moves back by one entry. Whether the cursor is at an entry now, rather than before the first.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn previous(&mut self, pages: &Pages) -> Result<bool> {
        if self.before_first {
            return Ok(false);
        }
        while self.index == 0 {
            if !self.previous_leaf(pages)? {
                self.before_first = true;
                return Ok(false);
            }
        }
        self.index -= 1;
        Ok(true)
    }

    /// The entry at which the cursor is, if it is at one.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn entry<'p>(&self, pages: &'p Pages) -> Result<Option<Entry<'p>>> {
        if self.before_first || self.index >= self.count {
            return Ok(None);
        }
        let mut entries = self.entries(pages)?;
        entries.next()
    }

    /// The entries of the cursor's leaf, from the cursor on.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn entries<'p>(&self, pages: &'p Pages) -> Result<LeafEntries<'p>> {
        let leaf = leaf_at(pages, pages.page(self.leaf)?, self.leaf)?;
        let to = leaf.leaf().count();
        Ok(LeafEntries { pages, from: self.index.min(to), to, leaf })
    }

    /// The cursor's place within its leaf: how many of the leaf's entries are before it.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Moves to the next leaf's first entry. `false`, and no move, if there is no next leaf.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn next_leaf(&mut self, pages: &Pages) -> Result<bool> {
        let Some(depth) = self.path.iter().rposition(|step| step.child + 1 < step.children) else { return Ok(false) };
        self.path[depth].child += 1;
        self.descend(pages, depth, |_| 0)?;
        self.index = 0;
        self.before_first = false;
        self.prefetch_after(pages)?;
        Ok(true)
    }

    /// Moves behind the previous leaf's last entry. `false`, and no move, if there is no previous leaf.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn previous_leaf(&mut self, pages: &Pages) -> Result<bool> {
        let Some(depth) = self.path.iter().rposition(|step| step.child > 0) else { return Ok(false) };
        self.path[depth].child -= 1;
        self.descend(pages, depth, |children| children - 1)?;
        self.index = self.count;
        Ok(true)
    }

    /// Whether two cursors of one tree are in the same leaf.
    pub fn same_leaf(&self, other: &Self) -> bool {
        self.leaf == other.leaf && self.path == other.path
    }

    /// Whether this cursor's leaf comes after the other's, in one tree.
    pub fn is_in_later_leaf(&self, other: &Self) -> bool {
        let children = |cursor: &Self| cursor.path.iter().map(|step| step.child).collect::<Vec<_>>();
        children(self) > children(other)
    }

    /// Goes down to a leaf from the child taken at `depth`, by the child that `choose` takes of so many.
    fn descend(&mut self, pages: &Pages, depth: usize, choose: impl Fn(u32) -> u32) -> Result<()> {
        self.path.truncate(depth + 1);
        let mut at = {
            let step = self.path[depth];
            let page = pages.page(step.page)?;
            let branch = branch_at(pages, &page, step.page, self.root.level - depth as u8)?;
            if step.child as usize >= branch.children() {
                return Err(pages.misfit(step.page, "the branch is not the one that the cursor went through"));
            }
            branch.child(step.child as usize).page
        };
        for level in (1..self.root.level - depth as u8).rev() {
            let page = pages.page(at)?;
            let branch = branch_at(pages, &page, at, level)?;
            let children = branch.children() as u32;
            let child = choose(children);
            self.path.push(Step { page: at, child, children });
            at = branch.child(child as usize).page;
        }
        self.leaf = at;
        self.count = leaf_at(pages, pages.page(at)?, at)?.leaf().count();
        Ok(())
    }

    /// Asks for the leaf after this one, which a scan reads soon.
    fn prefetch_after(&self, pages: &Pages) -> Result<()> {
        if let Some(step) = self.path.last()
            && step.child + 1 < step.children
        {
            let page = pages.page(step.page)?;
            let branch = branch_at(pages, &page, step.page, 1)?;
            if step.child as usize + 1 < branch.children() {
                pages.prefetch(branch.child(step.child as usize + 1).page);
            }
        }
        Ok(())
    }
}

struct SeekTo<'a> {
    pages: &'a Pages,
    cursor: Cursor,
    to: Seek<'a>,
}

impl WithSearch for SeekTo<'_> {
    type Output = Result<Cursor>;

    #[inline(always)]
    fn run<S: Search>(self) -> Result<Cursor> {
        let Self { pages, mut cursor, to } = self;
        let mut at = cursor.root.page;
        for level in (1..=cursor.root.level).rev() {
            let page = pages.page(at)?;
            let branch = branch_at(pages, &page, at, level)?;
            let child = match to {
                Seek::First => 0,
                Seek::End => branch.children() - 1,
                Seek::AtLeast(key) | Seek::Above(key) => branch.route::<S, Pages>(key, pages)?,
            };
            cursor.path.push(Step { page: at, child: child as u32, children: branch.children() as u32 });
            at = branch.child(child).page;
        }
        let page = pages.page(at)?;
        Leaf::prefetch_page(page.bytes());
        let page = leaf_at(pages, page, at)?;
        let leaf = page.leaf();
        cursor.leaf = at;
        cursor.count = leaf.count();
        cursor.index = match to {
            Seek::First => 0,
            Seek::End => cursor.count,
            Seek::AtLeast(key) => leaf.lower_bound::<S, Pages>(key, pages)?,
            Seek::Above(key) => {
                let index = leaf.lower_bound::<S, Pages>(key, pages)?;
                let equal = index < cursor.count && leaf.compare(index, key, pages)?.is_eq();
                index + usize::from(equal)
            }
        };
        Ok(cursor)
    }
}

/// Entries of one leaf, from either end.
#[derive(Debug)]
pub struct LeafEntries<'p> {
    pages: &'p Pages,
    leaf: LeafPage<'p>,
    from: usize,
    to: usize,
}

impl<'p> LeafEntries<'p> {
    /// The next entry.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io) from a long key's or value's pages.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)] // The result is inside out: an iterator could not be asked with `?`.
    pub fn next(&mut self) -> Result<Option<Entry<'p>>> {
        if self.from >= self.to {
            return Ok(None);
        }
        self.from += 1;
        self.entry(self.from - 1)
    }

    /// The last entry that is left.
    ///
    /// # Errors
    /// As [`LeafEntries::next`].
    #[inline(always)]
    pub fn next_back(&mut self) -> Result<Option<Entry<'p>>> {
        if self.from >= self.to {
            return Ok(None);
        }
        self.to -= 1;
        self.entry(self.to)
    }

    /// Whether no entry is left.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// Leaves out all from the leaf's entry `end` on.
    pub(super) fn cut(&mut self, end: usize) {
        self.to = self.to.min(end);
        self.from = self.from.min(self.to);
    }

    /// Keeps what is left here and in `other` as well: the entries of one leaf that two ends still have between them.
    pub(super) fn meet(&mut self, other: &Self) {
        self.from = self.from.max(other.from);
        self.to = self.to.min(other.to).max(self.from);
    }

    /// Leaves what `other`, of the same leaf, has left.
    pub(super) fn copy_place(&mut self, other: &Self) {
        self.to = other.to.min(self.to);
        self.from = other.from.min(self.to);
    }

    /// Takes back what was left out before the place of the cursor that made this.
    pub(super) fn rewind(&mut self) {
        self.from = 0;
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> Result<Option<Entry<'p>>> {
        match self.leaf.entry(index) {
            Some((_, key, value)) => Ok(Some(Entry { key, value })),
            None => self.entry_in_overflow(index),
        }
    }

    #[cold]
    #[inline(never)]
    fn entry_in_overflow(&self, index: usize) -> Result<Option<Entry<'p>>> {
        let cell = self.leaf.leaf().cell(index);
        let key = match cell.key {
            CellKey::Inline(key) => self.leaf.value(key),
            CellKey::Overflow { at, .. } => self.pages.value(&at)?,
        };
        let value = match cell.value {
            CellValue::Inline(value) => self.leaf.value(value),
            CellValue::Overflow(at) => self.pages.value(&at)?,
        };
        Ok(Some(Entry { key, value }))
    }
}
