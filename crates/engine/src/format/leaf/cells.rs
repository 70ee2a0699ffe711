//! Iterators over the entries of a verified leaf.
//!
//! Invariant: `from <= to <=` the leaf's count, so that every index between them has a used slot.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use std::ops::Range;

use crate::format::cell::Cell;
use crate::format::leaf::layout::{BLOCK_BYTES, BLOCK_ENTRIES, BLOCK_SLOTS, BLOCKS_OFFSET, SLOT_OFFSET_MASK};
use crate::format::leaf::view::Leaf;
use crate::format::search::prefetch;

impl<'p> Leaf<'p> {
    /// Entries in order, from either end.
    ///
    /// # Panics
    /// Unless `range.start <= range.end <= self.count()`.
    #[inline(always)]
    pub fn cells(self, range: Range<usize>) -> Cells<'p> {
        assert!(range.start <= range.end && range.end <= self.count(), "range of entries out of range");
        Cells::new(self, range)
    }

    /// Keys and values in order, from either end, if the leaf holds them all: none is in an overflow.
    ///
    /// # Panics
    /// Unless `range.start <= range.end <= self.count()`.
    #[inline(always)]
    pub fn inline_cells(self, range: Range<usize>) -> Option<InlineCells<'p>> {
        assert!(range.start <= range.end && range.end <= self.count(), "range of entries out of range");
        (!self.has_overflow()).then(|| InlineCells::new(self, range))
    }
}

/// Entries of a leaf in order; made by [`Leaf::cells`].
#[derive(Clone, Debug)]
pub struct Cells<'p> {
    leaf: Leaf<'p>,
    below_align: usize,
    from: usize,
    to: usize,
}

impl<'p> Cells<'p> {
    /// Requires: `range.start <= range.end <= leaf.count()`.
    #[inline(always)]
    pub(super) fn new(leaf: Leaf<'p>, range: Range<usize>) -> Self {
        Self { leaf, below_align: leaf.below_align(), from: range.start, to: range.end }
    }
}

impl<'p> Iterator for Cells<'p> {
    type Item = Cell<'p>;

    #[inline(always)]
    fn next(&mut self) -> Option<Cell<'p>> {
        if self.from >= self.to {
            return None;
        }
        let index = self.from;
        self.from += 1;
        Some(self.leaf.cell_at(self.leaf.slot(index), self.below_align))
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.to - self.from, Some(self.to - self.from))
    }
}

impl DoubleEndedIterator for Cells<'_> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.from >= self.to {
            return None;
        }
        self.to -= 1;
        Some(self.leaf.cell_at(self.leaf.slot(self.to), self.below_align))
    }
}

impl ExactSizeIterator for Cells<'_> {}

/// Keys and values of a leaf in order; made by [`Leaf::inline_cells`].
///
/// Invariant: no key and no value of the leaf is in an overflow.
#[derive(Clone, Debug)]
pub struct InlineCells<'p> {
    leaf: Leaf<'p>,
    /// Where the first slot of the first block is.
    slots: usize,
    below_align: usize,
    from: usize,
    to: usize,
    ahead: Ahead<'p>,
}

/// What to prefetch while a cell is read: the lines at the same place in another page, because the pages of a table are
/// full of cells of much the same sizes. A processor's own prefetcher stops at the end of each 4 KiB.
#[derive(Clone, Copy, Debug)]
struct Ahead<'p> {
    page: &'p [u8],
    /// Added to the place, wrapping.
    shift: usize,
    /// How many lines, the first that of the cell's start.
    lines: usize,
}

impl<'p> InlineCells<'p> {
    /// Requires: `range.start <= range.end <= leaf.count()`, and the leaf has no overflow.
    #[inline(always)]
    pub(super) fn new(leaf: Leaf<'p>, range: Range<usize>) -> Self {
        let slots = leaf.header_u16(BLOCKS_OFFSET) + BLOCK_SLOTS;
        let ahead = Ahead { page: &[], shift: 0, lines: 0 };
        Self { leaf, slots, below_align: leaf.below_align(), from: range.start, to: range.end, ahead }
    }

    /// From now on, reading a cell prefetches the lines of `page` at the cell's place plus `shift`, wrapping. They
    /// may be anywhere: prefetching reads nothing.
    pub fn read_ahead(&mut self, page: &'p [u8], shift: usize) {
        let cells_bytes = page.len() - self.slots;
        let lines = (cells_bytes / self.leaf.count()).div_ceil(BLOCK_BYTES).min(AHEAD_LINES_MAX);
        self.ahead = Ahead { page, shift, lines };
    }

    /// The bytes of the leaf.
    pub fn page(&self) -> &'p [u8] {
        self.leaf.page()
    }

    /// The remaining indices.
    #[inline(always)]
    pub fn indices(&self) -> Range<usize> {
        self.from..self.to
    }

    /// Skips or restores entries, so that these remain.
    ///
    /// # Panics
    /// Unless `indices.start <= indices.end <=` the leaf's count.
    pub fn set_indices(&mut self, indices: Range<usize>) {
        assert!(indices.start <= indices.end && indices.end <= self.leaf.count(), "indices out of range");
        (self.from, self.to) = (indices.start, indices.end);
    }

    /// Requires: `index` is one of the indices.
    #[inline(always)]
    fn at(&self, index: usize) -> (&'p [u8], &'p [u8]) {
        let at = self.slots + BLOCK_BYTES * (index / BLOCK_ENTRIES) + 2 * (index % BLOCK_ENTRIES);
        // SAFETY: every index has a used slot (invariant), and this is where it is.
        let offset = unsafe { self.leaf.slot_at(at) } & SLOT_OFFSET_MASK;
        for line in 0..self.ahead.lines {
            prefetch(self.ahead.page, offset.wrapping_add(self.ahead.shift).wrapping_add(BLOCK_BYTES * line));
        }
        // SAFETY: the leaf has no overflow (invariant).
        unsafe { self.leaf.key_and_value_at(offset, self.below_align) }
    }
}

impl<'p> Iterator for InlineCells<'p> {
    type Item = (&'p [u8], &'p [u8]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.from >= self.to {
            return None;
        }
        self.from += 1;
        Some(self.at(self.from - 1))
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.to - self.from, Some(self.to - self.from))
    }

    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, mut folded: B, mut f: F) -> B {
        for index in self.from..self.to {
            folded = f(folded, self.at(index));
        }
        folded
    }
}

impl DoubleEndedIterator for InlineCells<'_> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.from >= self.to {
            return None;
        }
        self.to -= 1;
        Some(self.at(self.to))
    }

    #[inline(always)]
    fn rfold<B, F: FnMut(B, Self::Item) -> B>(self, mut folded: B, mut f: F) -> B {
        for index in (self.from..self.to).rev() {
            folded = f(folded, self.at(index));
        }
        folded
    }
}

impl ExactSizeIterator for InlineCells<'_> {}

/// Lines prefetched at a cell. After them a large cell is a stream, which the processor detects by itself:
/// prefetching all its lines takes twice the time.
const AHEAD_LINES_MAX: usize = 2;
