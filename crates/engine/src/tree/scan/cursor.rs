//! A position in a tree.
//!
//! Invariants: (1) `path` leads from the root to `leaf` by child indices, one step for each level. (2) `index` is at
//! most `count`, the leaf's number of entries; equal means the place after its last entry. (3) A cursor holds no
//! page: each call takes the same [`Pages`] and the cursor's root. A wrong one causes an error or other entries,
//! nothing worse.

use crate::error::Result;
use crate::format::{BranchStart, CellKey, CellValue, Leaf, LeafView, Search, WithSearch, head8, with_search};
use crate::ids::PageRef;
use crate::pager::{LeafPage, Pages, Value};
use crate::tree::root::{Root, branch_at, leaf_at};

use super::entry::Entry;
use super::leaf_entries::LeafEntries;

/// Where to place a cursor.
#[derive(Clone, Copy, Debug)]
pub enum Seek<'a> {
    /// At the first entry.
    First,
    /// After the last entry.
    End,
    /// At the first entry whose key is at least this.
    AtLeast(&'a [u8]),
    /// At the first entry whose key is above this.
    Above(&'a [u8]),
}

/// A place in a tree, without lifetime: at an entry, before the first, or after the last.
#[derive(Clone, Debug)]
pub struct Cursor {
    root: Root,
    path: Vec<Step>,
    leaf: PageRef,
    index: usize,
    count: usize,
    before_first: bool,
}

/// A branch of the path, and the child that was taken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    page: PageRef,
    child: u32,
    children: u32,
}

impl Cursor {
    /// A cursor at this place. It may be after the last entry of a leaf: see [`Cursor::settle`].
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io); so for all that follow.
    pub fn seek(pages: &Pages, root: &Root, to: Seek<'_>) -> Result<Self> {
        let mut cursor = Self::unplaced(root);
        with_search(SeekTo { pages, cursor: &mut cursor, to })?;
        Ok(cursor)
    }

    /// As [`Cursor::seek`], in a tree that may be damaged, but only to the leaf: the place in it is not exact. After an
    /// error, the cursor is in what could not be read: [`Cursor::next_leaf`] moves it to the leaf behind that, as it
    /// does after an error of its own.
    pub(in crate::tree) fn seek_damaged(pages: &Pages, root: &Root, to: Seek<'_>) -> (Self, Result<()>) {
        let mut cursor = Self::unplaced(root);
        let outcome = with_search(SeekTo { pages, cursor: &mut cursor, to });
        // If a long key of the leaf cannot be read, the others can.
        let is_in_leaf = cursor.count > 0;
        (cursor, if is_in_leaf { Ok(()) } else { outcome })
    }

    fn unplaced(root: &Root) -> Self {
        let path = Vec::with_capacity(usize::from(root.level));
        Self { root: *root, path, leaf: root.page, index: 0, count: 0, before_first: false }
    }

    /// Moves to the next leaf's first entry if the cursor is after a leaf's last. Returns whether it is at an entry
    /// now.
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

    /// Moves to the next entry. Returns whether the cursor is at an entry now, rather than after the last.
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

    /// Moves back by one entry. Returns whether the cursor is at an entry now, rather than before the first.
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
        let from = self.index.min(leaf.leaf().count());
        Ok(LeafEntries::new(pages, leaf, from))
    }

    /// The key at which the cursor is, if it is at one, and its value; no value if a run says that the key has none.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn change<'p>(&self, pages: &'p Pages) -> Result<Option<(Value<'p>, Option<Value<'p>>)>> {
        if self.before_first || self.index >= self.count {
            return Ok(None);
        }
        let leaf = leaf_at(pages, pages.page(self.leaf)?, self.leaf)?;
        if self.index >= leaf.leaf().count() {
            return Ok(None);
        }
        let tagged = match leaf.leaf() {
            LeafView::Tagged(tagged) => tagged,
            LeafView::Packed(packed) => {
                let mut key = Vec::new();
                let value = match packed.key(self.index, &mut key) {
                    CellValue::Inline(value) => leaf.value(value),
                    CellValue::Overflow(at) => pages.value(&at)?,
                };
                return Ok(Some((Value::from(key), Some(value))));
            }
        };
        let cell = tagged.cell(self.index);
        let key = match cell.key {
            CellKey::Inline(key) => leaf.value(key),
            CellKey::Overflow { at, .. } => pages.value(&at)?,
        };
        let value = match cell.value {
            _ if cell.op.is_delete() => None,
            CellValue::Inline(value) => Some(leaf.value(value)),
            CellValue::Overflow(at) => Some(pages.value(&at)?),
        };
        Ok(Some((key, value)))
    }

    /// The first eight bytes of the key at which the cursor is, as a number, if it is at one.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn head(&self, pages: &Pages) -> Result<Option<u64>> {
        let leaf = self.leaf(pages)?;
        let is_at_entry = !self.before_first && self.index < leaf.leaf().count();
        Ok(is_at_entry.then(|| match leaf.leaf() {
            LeafView::Tagged(leaf) => {
                leaf.prefetch_after(self.index);
                head8(leaf.key(self.index).part(), 0)
            }
            LeafView::Packed(leaf) => {
                let mut key = Vec::new();
                leaf.key(self.index, &mut key);
                head8(&key, 0)
            }
        }))
    }

    /// Prefetches the entries that a walk from here reads first.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn prefetch_from(&self, pages: &Pages) -> Result<()> {
        let leaf = self.leaf(pages)?;
        if let LeafView::Tagged(tagged) = leaf.leaf()
            && self.index < tagged.count()
        {
            tagged.prefetch_from(self.index);
        }
        Ok(())
    }

    /// The page of the cursor's leaf.
    pub(in crate::tree) fn at(&self) -> PageRef {
        self.leaf
    }

    /// The cursor's leaf.
    pub(in crate::tree) fn leaf<'p>(&self, pages: &'p Pages) -> Result<LeafPage<'p>> {
        leaf_at(pages, pages.page(self.leaf)?, self.leaf)
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
        if let Some(page) = self.neighbour(pages, true) {
            Leaf::prefetch_page(page);
        }
        Ok(true)
    }

    /// A lower bound of the next leaf's keys: the separator before that leaf, or the part of a long one that its branch
    /// has. `None` if there is no next leaf.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub(in crate::tree) fn next_leaf_bound(&self, pages: &Pages) -> Result<Option<Vec<u8>>> {
        let Some(depth) = self.path.iter().rposition(|step| step.child + 1 < step.children) else { return Ok(None) };
        let step = self.path[depth];
        let page = pages.page(step.page)?;
        let branch = branch_at(pages, &page, step.page, self.root.level - depth as u8)?;
        if step.child as usize >= branch.separator_count() {
            return Err(pages.misfit(step.page, "the branch is not the one that the cursor went through"));
        }
        let (prefix, suffix) = branch.separator_parts(step.child as usize);
        Ok(Some([prefix, suffix].concat()))
    }

    /// Moves to after the previous leaf's last entry. `false`, and no move, if there is no previous leaf.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn previous_leaf(&mut self, pages: &Pages) -> Result<bool> {
        let Some(depth) = self.path.iter().rposition(|step| step.child > 0) else { return Ok(false) };
        self.path[depth].child -= 1;
        self.descend(pages, depth, |children| children - 1)?;
        self.index = self.count;
        if let Some(page) = self.neighbour(pages, false) {
            Leaf::prefetch_page(page);
        }
        Ok(true)
    }

    /// The place of `to` within the cursor's leaf, if there is an entry at it there.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub(in crate::tree) fn place_in_leaf(&self, pages: &Pages, to: Seek<'_>) -> Result<Option<usize>> {
        with_search(PlaceInLeaf { pages, cursor: self, to })
    }

    /// Whether two cursors of one tree are in the same leaf.
    pub fn same_leaf(&self, other: &Self) -> bool {
        self.leaf == other.leaf && self.path == other.path
    }

    /// Whether this cursor's leaf comes after the other's, in one tree.
    pub fn is_in_later_leaf(&self, other: &Self) -> bool {
        self.path.iter().map(|step| step.child).gt(other.path.iter().map(|step| step.child))
    }

    /// Descends to a leaf from the child taken at `depth`. `choose` returns the index of the child to take, given
    /// their number.
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

    /// The bytes of the leaf after this one, or before it, if it is in the same branch, mapped and verified.
    pub(in crate::tree) fn neighbour<'p>(&self, pages: &'p Pages, upward: bool) -> Option<&'p [u8]> {
        let step = self.path.last()?;
        let verified = pages.verified()?;
        let child = if upward { step.child as usize + 1 } else { (step.child as usize).checked_sub(1)? };
        let branch = verified.branch(step.page, BranchStart::of_level(1))?;
        if child >= branch.children() {
            return None;
        }
        verified.bytes(branch.child(child).page)
    }
}

struct SeekTo<'a> {
    pages: &'a Pages,
    cursor: &'a mut Cursor,
    to: Seek<'a>,
}

impl WithSearch for SeekTo<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Search>(self) -> Result<()> {
        let Self { pages, cursor, to } = self;
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
        cursor.index = index_in::<S>(leaf, pages, to)?;
        Ok(())
    }
}

/// How many of a leaf's entries are before a place.
#[inline(always)]
fn index_in<S: Search>(leaf: LeafView<'_>, pages: &Pages, to: Seek<'_>) -> Result<usize> {
    Ok(match to {
        Seek::First => 0,
        Seek::End => leaf.count(),
        Seek::AtLeast(key) => leaf.lower_bound::<S, Pages>(key, pages)?,
        Seek::Above(key) => leaf.upper_bound::<S, Pages>(key, pages)?,
    })
}

struct PlaceInLeaf<'a> {
    pages: &'a Pages,
    cursor: &'a Cursor,
    to: Seek<'a>,
}

impl WithSearch for PlaceInLeaf<'_> {
    type Output = Result<Option<usize>>;

    #[inline(always)]
    fn run<S: Search>(self) -> Result<Option<usize>> {
        let page = self.cursor.leaf(self.pages)?;
        let index = index_in::<S>(page.leaf(), self.pages, self.to)?;
        Ok((index < page.leaf().count()).then_some(index))
    }
}
