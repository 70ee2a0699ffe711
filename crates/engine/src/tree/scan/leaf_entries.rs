//! The entries of one leaf, from either end.

use crate::error::Result;
use crate::format::{CellKey, CellValue, InlineCells, LeafView, PackedLeaf, Unpacked};
use crate::pager::{LeafPage, Pages};

use super::entry::Entry;
use super::packed_entries::{PackedEntries, packed, unpacked};

/// Entries of one leaf, from either end.
#[derive(Debug)]
pub struct LeafEntries<'p> {
    pages: &'p Pages,
    leaf: LeafPage<'p>,
    left: Left<'p>,
}

/// The remaining entries of a leaf.
#[derive(Debug)]
enum Left<'p> {
    /// They are in the map and have no overflow: the usual case, which costs a few instructions an entry.
    Inline(InlineCells<'p>),
    /// They are in a packed leaf.
    Packed(PackedEntries),
    /// Their page keeps them alive, or some have to be fetched from elsewhere.
    Other(std::ops::Range<usize>),
}

impl<'p> LeafEntries<'p> {
    /// Requires: `from` is at most the leaf's count.
    pub(in crate::tree) fn new(pages: &'p Pages, leaf: LeafPage<'p>, from: usize) -> Self {
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

    /// The last remaining entry.
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

    /// From now on, prefetches the memory after this leaf, or before it, while its entries are read: the same places
    /// of `page`, or without one, the bytes a little further on in the file.
    pub(in crate::tree) fn read_ahead(&mut self, page: Option<&'p [u8]>, upward: bool) {
        if let Left::Inline(cells) = &mut self.left {
            let short = if upward { SHORT_AHEAD_BYTES } else { SHORT_AHEAD_BYTES.wrapping_neg() };
            match page {
                Some(page) => cells.read_ahead(page, 0),
                None => cells.read_ahead(cells.page(), short),
            }
        }
    }

    /// Whether no entry remains.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.indices().is_empty()
    }

    /// Drops all entries from the leaf's entry `end` on.
    pub(in crate::tree) fn cut(&mut self, end: usize) {
        let left = self.indices();
        let to = left.end.min(end);
        self.set_indices(left.start.min(to)..to);
    }

    /// Keeps the entries that remain both here and in `other`: those of one leaf between the two ends of a range.
    pub(in crate::tree) fn meet(&mut self, other: &Self) {
        let (left, other) = (self.indices(), other.indices());
        let from = left.start.max(other.start);
        self.set_indices(from..left.end.min(other.end).max(from));
    }

    /// Takes at most `most` of the first remaining entries, if every entry is inline.
    pub(in crate::tree) fn take_inline(&mut self, most: usize) -> Option<InlineCells<'p>> {
        let Left::Inline(cells) = &mut self.left else { return None };
        let mut taken = cells.clone();
        let left = taken.indices();
        let end = left.start.saturating_add(most).min(left.end);
        taken.set_indices(left.start..end);
        cells.set_indices(end..left.end);
        Some(taken)
    }

    /// Takes at most `most` of the first remaining entries, if the leaf is mapped and packed.
    #[inline]
    pub(in crate::tree) fn take_packed(&mut self, most: usize) -> Option<(PackedLeaf<'p>, std::ops::Range<usize>)> {
        let Left::Packed(entries) = &mut self.left else { return None };
        let Some(LeafView::Packed(leaf)) = self.leaf.mapped() else { return None };
        let left = entries.indices.clone();
        entries.indices.start = left.start.saturating_add(most).min(left.end);
        Some((leaf, left.start..entries.indices.start))
    }

    /// Takes all remaining entries, if the leaf is mapped and packed.
    pub(in crate::tree) fn take_unpacked(&mut self) -> Option<Unpacked<'p>> {
        let Left::Packed(entries) = &mut self.left else { return None };
        let taken = unpacked(&self.leaf, entries.indices.clone())?;
        entries.indices.start = entries.indices.end;
        Some(taken)
    }

    /// Restores the entries before the place of the cursor that made this.
    pub(in crate::tree) fn rewind(&mut self) {
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

/// How far ahead of itself a scan prefetches while it may still be a short one.
const SHORT_AHEAD_BYTES: usize = 2048;
