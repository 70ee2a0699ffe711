//! A place in a tree, and the entries of one leaf from there on.
//!
//! Invariants: (1) `path` leads from the root to `leaf` by child indices, one step for each level.  (2) `index` is at most
//! `count`, the leaf's number of entries; equal means the place behind its last entry.  (3) A cursor holds no page: each
//! call is given the same [`Pages`] and the cursor's root, and a wrong one gives an error or other entries, nothing worse.

use crate::error::Result;
use crate::format::{
    BranchStart, CellKey, CellValue, InlineCells, Leaf, LeafView, PackedLeaf, Search, Unpacked, WithSearch, head8,
    with_search,
};
use crate::ids::PageRef;
use crate::pager::{LeafPage, Pages, Value};

use super::packed_entries::{PackedEntries, packed, unpacked};
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

    /// Asks for the entries that a walk reads first from here on.
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

    /// Where the leaf is in which the cursor is.
    pub(super) fn at(&self) -> PageRef {
        self.leaf
    }

    /// The leaf in which the cursor is.
    pub(super) fn leaf<'p>(&self, pages: &'p Pages) -> Result<LeafPage<'p>> {
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

    /// Moves behind the previous leaf's last entry. `false`, and no move, if there is no previous leaf.
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
    pub(super) fn place_in_leaf(&self, pages: &Pages, to: Seek<'_>) -> Result<Option<usize>> {
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

    /// The bytes of the leaf after this one, or before it, if it is in the same branch, mapped and verified.
    pub(super) fn neighbour<'p>(&self, pages: &'p Pages, upward: bool) -> Option<&'p [u8]> {
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
        cursor.index = index_in::<S>(leaf, pages, to)?;
        Ok(cursor)
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

/// Entries of one leaf, from either end.
#[derive(Debug)]
pub struct LeafEntries<'p> {
    pages: &'p Pages,
    leaf: LeafPage<'p>,
    left: Left<'p>,
}

/// Which entries of a leaf are left.
#[derive(Debug)]
enum Left<'p> {
    /// They lie in the map and have no overflow: the usual case, which costs a few instructions an entry.
    Inline(InlineCells<'p>),
    /// They are in a packed leaf.
    Packed(PackedEntries),
    /// They are kept by their page, or some have to be fetched from elsewhere.
    Other(std::ops::Range<usize>),
}

impl<'p> LeafEntries<'p> {
    /// Requires: `from` is at most the leaf's count.
    fn new(pages: &'p Pages, leaf: LeafPage<'p>, from: usize) -> Self {
        let indices = from..leaf.leaf().count();
        let left = match leaf.mapped() {
            Some(LeafView::Tagged(tagged)) => match tagged.inline_cells(indices.clone()) {
                Some(cells) => Left::Inline(cells),
                None => Left::Other(indices),
            },
            _ if packed(&leaf).is_some() => Left::Packed(PackedEntries::new(indices)),
            _ => Left::Other(indices),
        };
        Self { pages, leaf, left }
    }

    /// The next entry.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io) from a long key's or value's pages.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)] // The result is inside out: an iterator could not be asked with `?`.
    pub fn next(&mut self) -> Result<Option<Entry<'p>>> {
        match &mut self.left {
            Left::Inline(cells) => Ok(cells.next().map(Entry::from)),
            Left::Packed(entries) => match (entries.indices.next(), packed(&self.leaf)) {
                (Some(index), Some(packed)) => entries.entry(self.pages, &self.leaf, packed, index).map(Some),
                _ => Ok(None),
            },
            Left::Other(indices) => match indices.next() {
                Some(index) => self.entry(index).map(Some),
                None => Ok(None),
            },
        }
    }

    /// The last entry that is left.
    ///
    /// # Errors
    /// As [`LeafEntries::next`].
    #[inline(always)]
    pub fn next_back(&mut self) -> Result<Option<Entry<'p>>> {
        match &mut self.left {
            Left::Inline(cells) => Ok(cells.next_back().map(Entry::from)),
            Left::Packed(entries) => match (entries.indices.next_back(), packed(&self.leaf)) {
                (Some(index), Some(packed)) => entries.entry(self.pages, &self.leaf, packed, index).map(Some),
                _ => Ok(None),
            },
            Left::Other(indices) => match indices.next_back() {
                Some(index) => self.entry(index).map(Some),
                None => Ok(None),
            },
        }
    }

    /// Asks memory for what comes after this leaf, or before it, while its entries are read: the same places of `page`, or
    /// without one, what is a little further on in the file.
    pub(super) fn read_ahead(&mut self, page: Option<&'p [u8]>, upward: bool) {
        if let Left::Inline(cells) = &mut self.left {
            let short = if upward { SHORT_AHEAD_BYTES } else { SHORT_AHEAD_BYTES.wrapping_neg() };
            match page {
                Some(page) => cells.read_ahead(page, 0),
                None => cells.read_ahead(cells.page(), short),
            }
        }
    }

    /// Whether no entry is left.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.indices().is_empty()
    }

    /// Leaves out all from the leaf's entry `end` on.
    pub(super) fn cut(&mut self, end: usize) {
        let left = self.indices();
        let to = left.end.min(end);
        self.set_indices(left.start.min(to)..to);
    }

    /// Keeps what is left here and in `other` as well: the entries of one leaf that two ends still have between them.
    pub(super) fn meet(&mut self, other: &Self) {
        let (left, other) = (self.indices(), other.indices());
        let from = left.start.max(other.start);
        self.set_indices(from..left.end.min(other.end).max(from));
    }

    /// Takes the first that are left, so many at most, if every entry is inline.
    pub(super) fn take_inline(&mut self, most: usize) -> Option<InlineCells<'p>> {
        let Left::Inline(cells) = &mut self.left else { return None };
        let mut taken = cells.clone();
        let left = taken.indices();
        let end = left.start.saturating_add(most).min(left.end);
        taken.set_indices(left.start..end);
        cells.set_indices(end..left.end);
        Some(taken)
    }

    /// Takes the first that are left, so many at most, if the leaf is mapped and packed.
    #[inline]
    pub(super) fn take_packed(&mut self, most: usize) -> Option<(PackedLeaf<'p>, std::ops::Range<usize>)> {
        let Left::Packed(entries) = &mut self.left else { return None };
        let Some(LeafView::Packed(leaf)) = self.leaf.mapped() else { return None };
        let left = entries.indices.clone();
        entries.indices.start = left.start.saturating_add(most).min(left.end);
        Some((leaf, left.start..entries.indices.start))
    }

    /// Takes all that is left, if the leaf is mapped and packed.
    pub(super) fn take_unpacked(&mut self) -> Option<Unpacked<'p>> {
        let Left::Packed(entries) = &mut self.left else { return None };
        let taken = unpacked(&self.leaf, entries.indices.clone())?;
        entries.indices.start = entries.indices.end;
        Some(taken)
    }

    /// Takes back what was left out before the place of the cursor that made this.
    pub(super) fn rewind(&mut self) {
        self.set_indices(0..self.indices().end);
    }

    #[inline(always)]
    fn indices(&self) -> std::ops::Range<usize> {
        match &self.left {
            Left::Inline(cells) => cells.indices(),
            Left::Packed(entries) => entries.indices.clone(),
            Left::Other(indices) => indices.clone(),
        }
    }

    fn set_indices(&mut self, indices: std::ops::Range<usize>) {
        match &mut self.left {
            Left::Inline(cells) => cells.set_indices(indices),
            Left::Packed(entries) => entries.indices = indices,
            Left::Other(left) => *left = indices,
        }
    }

    #[inline(never)]
    fn entry(&self, index: usize) -> Result<Entry<'p>> {
        let leaf = self.leaf.leaf().tagged().expect("packed leaves are read as such");
        let cell = leaf.cell(index);
        let key = match cell.key {
            CellKey::Inline(key) => self.leaf.value(key),
            CellKey::Overflow { at, .. } => self.pages.value(&at)?,
        };
        let value = match cell.value {
            CellValue::Inline(value) => self.leaf.value(value),
            CellValue::Overflow(at) => self.pages.value(&at)?,
        };
        Ok(Entry { key, value })
    }
}

impl<'p> From<(&'p [u8], &'p [u8])> for Entry<'p> {
    #[inline(always)]
    fn from((key, value): (&'p [u8], &'p [u8])) -> Self {
        Self { key: Value::from(key), value: Value::from(value) }
    }
}

/// How far ahead of itself a scan asks for bytes while it may yet be a short one.
const SHORT_AHEAD_BYTES: usize = 2048;
