//! All entries between two bounds, from either end.
//!
//! Invariants: (1) each end is a cursor's leaf and its remaining entries; an end is looked up when it is first used.
//! (2) Once both ends are in one leaf, its remaining entries are in `front` alone, and both ends take from there.

use std::ops::Bound;

use crate::error::Result;
use crate::format::{InlineCells, PackedLeaf, Unpacked};
use crate::pager::Pages;
use crate::tree::root::Root;

use super::cursor::{Cursor, Seek};
use super::entry::Entry;
use super::leaf_entries::LeafEntries;

/// The entries of a tree between two bounds.
#[derive(Debug)]
pub struct Range<'p> {
    pages: &'p Pages,
    root: Option<Root>,
    front: Option<End<'p>>,
    back: Option<End<'p>>,
    /// Both ends are in `front`'s leaf.
    joined: bool,
}

/// One end of a range.
#[derive(Debug)]
struct End<'p> {
    cursor: Cursor,
    entries: LeafEntries<'p>,
    leaves_passed: u32,
}

impl<'p> End<'p> {
    /// Prefetches the next leaf while this one is read, once the scan has proved to be a long one: useless prefetches
    /// cost a short scan more than its waits.
    fn read_ahead(&mut self, pages: &'p Pages, upward: bool) {
        self.leaves_passed = self.leaves_passed.saturating_add(1);
        let is_long = self.leaves_passed >= LONG_SCAN_LEAVES;
        let page = if is_long { self.cursor.neighbour(pages, upward) } else { None };
        self.entries.read_ahead(page, upward);
    }
}

/// A scan that has passed this many leaves is expected to read the whole next leaf.
const LONG_SCAN_LEAVES: u32 = 2;

impl<'p> Range<'p> {
    /// The entries of `root` between the bounds. An empty tree is `None`; crossed bounds contain nothing.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io); so for all that follow.
    #[inline]
    pub fn new(pages: &'p Pages, root: Option<&Root>, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Self> {
        let root = root.filter(|_| !is_empty(low, high)).copied();
        let mut range = Self { pages, root, front: None, back: None, joined: false };
        let Some(root) = root else { return Ok(range) };
        let from = match low {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(Seek::AtLeast(key)),
            Bound::Excluded(key) => Some(Seek::Above(key)),
        };
        let to = match high {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(Seek::Above(key)),
            Bound::Excluded(key) => Some(Seek::AtLeast(key)),
        };
        if let Some(from) = from {
            range.open_front(&root, from)?;
        }
        if let Some(to) = to
            && !range.ends_in_front(to)?
        {
            range.open_back(&root, to)?;
        }
        Ok(range)
    }

    /// The next entry.
    ///
    /// # Errors
    /// As [`Range::new`].
    #[inline(always)]
    #[allow(clippy::should_implement_trait)] // The result is inside out: an iterator could not be asked with `?`.
    pub fn next(&mut self) -> Result<Option<Entry<'p>>> {
        loop {
            if let Some(front) = &mut self.front
                && !front.entries.is_empty()
            {
                return front.entries.next();
            }
            if !self.advance_front()? {
                return Ok(None);
            }
        }
    }

    /// The last remaining entry.
    ///
    /// # Errors
    /// As [`Range::new`].
    #[inline(always)]
    pub fn next_back(&mut self) -> Result<Option<Entry<'p>>> {
        loop {
            let end = if self.joined { &mut self.front } else { &mut self.back };
            if let Some(end) = end
                && !end.entries.is_empty()
            {
                return end.entries.next_back();
            }
            if !self.advance_back()? {
                return Ok(None);
            }
        }
    }

    /// At most `most` remaining entries of the leaf at the front, or of the next one, if they are inline. `None` if
    /// they are not, or if no entry remains: [`Range::next`] distinguishes the two.
    ///
    /// # Errors
    /// As [`Range::new`].
    pub fn next_inline(&mut self, most: usize) -> Result<Option<InlineCells<'p>>> {
        let found = self.advance_front()?;
        Ok(self.front.as_mut().filter(|_| found).and_then(|front| front.entries.take_inline(most)))
    }

    /// As [`Range::next_inline`], of a mapped leaf that is packed.
    ///
    /// # Errors
    /// As [`Range::new`].
    pub fn next_unpacked(&mut self) -> Result<Option<Unpacked<'p>>> {
        let found = self.advance_front()?;
        Ok(self.front.as_mut().filter(|_| found).and_then(|front| front.entries.take_unpacked()))
    }

    /// As [`Range::next_inline`], of a mapped leaf that is packed: the leaf, and the indices of the entries.
    ///
    /// # Errors
    /// As [`Range::new`].
    #[inline]
    pub fn next_packed(&mut self, most: usize) -> Result<Option<(PackedLeaf<'p>, std::ops::Range<usize>)>> {
        let found = self.advance_front()?;
        Ok(self.front.as_mut().filter(|_| found).and_then(|front| front.entries.take_packed(most)))
    }

    /// As [`Range::next_unpacked`], from the back.
    ///
    /// # Errors
    /// As [`Range::new`].
    pub fn next_unpacked_back(&mut self) -> Result<Option<Unpacked<'p>>> {
        let found = self.advance_back()?;
        let end = if self.joined { &mut self.front } else { &mut self.back };
        Ok(end.as_mut().filter(|_| found).and_then(|end| end.entries.take_unpacked()))
    }

    /// As [`Range::next_inline`], from the back.
    ///
    /// # Errors
    /// As [`Range::new`].
    pub fn next_inline_back(&mut self) -> Result<Option<InlineCells<'p>>> {
        let found = self.advance_back()?;
        let end = if self.joined { &mut self.front } else { &mut self.back };
        Ok(end.as_mut().filter(|_| found).and_then(|end| end.entries.take_inline(usize::MAX)))
    }

    /// Moves the back to the previous leaf until there is an entry to take from it. `false` if none remains.
    #[cold]
    #[inline(never)]
    fn advance_back(&mut self) -> Result<bool> {
        let Some(root) = self.root else { return Ok(false) };
        if self.back.is_none() && !self.joined {
            self.open_back(&root, Seek::End)?;
        }
        if self.front.is_none() {
            self.open_front(&root, Seek::First)?;
        }
        while !self.joined {
            let Some(back) = &mut self.back else { return Ok(false) };
            if !back.entries.is_empty() {
                return Ok(true);
            }
            if !back.cursor.previous_leaf(self.pages)? {
                return Ok(false);
            }
            back.entries = back.cursor.entries(self.pages)?;
            back.entries.rewind();
            back.read_ahead(self.pages, false);
            self.join();
        }
        Ok(self.front.as_ref().is_some_and(|front| !front.entries.is_empty()))
    }

    /// Moves the front to the next leaf until it has an entry. `false` if none remains.
    #[cold]
    #[inline(never)]
    fn advance_front(&mut self) -> Result<bool> {
        let Some(root) = self.root else { return Ok(false) };
        if self.front.is_none() {
            self.open_front(&root, Seek::First)?;
        }
        loop {
            let Some(front) = &mut self.front else { return Ok(false) };
            if !front.entries.is_empty() {
                return Ok(true);
            }
            if self.joined || !front.cursor.next_leaf(self.pages)? {
                return Ok(false);
            }
            front.entries = front.cursor.entries(self.pages)?;
            front.read_ahead(self.pages, true);
            self.join();
        }
    }

    fn open_front(&mut self, root: &Root, from: Seek<'_>) -> Result<()> {
        let cursor = Cursor::seek(self.pages, root, from)?;
        let mut entries = cursor.entries(self.pages)?;
        entries.read_ahead(None, true);
        self.front = Some(End { cursor, entries, leaves_passed: 0 });
        self.join();
        Ok(())
    }

    /// Joins the ends if the range ends in the leaf in which it begins: most short ranges do, and need no second
    /// descent.
    fn ends_in_front(&mut self, to: Seek<'_>) -> Result<bool> {
        let Some(front) = &mut self.front else { return Ok(false) };
        let Some(place) = front.cursor.place_in_leaf(self.pages, to)? else { return Ok(false) };
        front.entries.cut(place);
        self.joined = true;
        Ok(true)
    }

    fn open_back(&mut self, root: &Root, to: Seek<'_>) -> Result<()> {
        let cursor = Cursor::seek(self.pages, root, to)?;
        let mut entries = cursor.entries(self.pages)?;
        entries.rewind();
        entries.cut(cursor.index());
        entries.read_ahead(None, false);
        self.back = Some(End { cursor, entries, leaves_passed: 0 });
        self.join();
        Ok(())
    }

    /// Joins the ends if they are in one leaf, or have passed each other.
    fn join(&mut self) {
        let (Some(front), Some(back)) = (&mut self.front, &mut self.back) else { return };
        if front.cursor.same_leaf(&back.cursor) {
            front.entries.meet(&back.entries);
        } else if front.cursor.is_in_later_leaf(&back.cursor) {
            front.entries.cut(0);
        } else {
            return;
        }
        self.joined = true;
        self.back = None;
    }
}

/// Whether no key can be between the bounds.
fn is_empty(low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
    match (low, high) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low >= high,
    }
}
