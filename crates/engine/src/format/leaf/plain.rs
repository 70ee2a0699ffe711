//! The entries of a leaf as they are stored, for a builder that copies stretches of them unchanged.
//!
//! Where values are not aligned, a cell's bytes do not depend on its place. So a stretch of cells is copied as one
//! piece, and their tags are copied without hashing keys again.

use crate::format::bytes::get_u16;
use crate::format::cell::{CELL_HEADER_BYTES, ValueAlign};
use crate::format::leaf::layout::{
    BLOCK_BYTES, BLOCK_ENTRIES, BLOCK_SLOTS, BLOCKS_OFFSET, ENTRY_COUNT, FLAGS, HAS_OTHER_OPS, HAS_OVERFLOW,
    SLOT_OFFSET_MASK, VALUE_ALIGN,
};

/// The entries of a leaf in which each entry is a whole key and a whole value, with
/// [`Op::PutNew`](crate::format::Op::PutNew), not aligned.
#[derive(Clone, Copy, Debug)]
pub struct PlainEntries<'p> {
    page: &'p [u8],
    blocks: usize,
    count: usize,
    cells_end: usize,
}

impl<'p> PlainEntries<'p> {
    /// The entries of a page, if all are of that kind.
    ///
    /// Requires: `verify_page` or `verify_own_page` accepted the page as a leaf.
    ///
    /// # Panics
    /// If it did not, and the page is not one.
    pub fn of(page: &'p [u8]) -> Option<Self> {
        if page[FLAGS] & (HAS_OVERFLOW | HAS_OTHER_OPS) != 0 || page[VALUE_ALIGN] != ValueAlign::One as u8 {
            return None;
        }
        let count = get_u16(page, ENTRY_COUNT) as usize;
        let mut entries = Self { page, blocks: get_u16(page, BLOCKS_OFFSET) as usize, count, cells_end: 0 };
        let last = entries.start(count - 1);
        let lengths = get_u16(page, last) as usize + get_u16(page, last + 2) as usize;
        entries.cells_end = last + CELL_HEADER_BYTES + lengths;
        Some(entries)
    }

    /// Where the cell of an entry begins in the page; for the number of entries, where the last one ends.
    #[inline]
    pub(super) fn start(&self, index: usize) -> usize {
        if index == self.count {
            return self.cells_end;
        }
        get_u16(self.page, self.tag_place(index) + BLOCK_SLOTS) as usize & SLOT_OFFSET_MASK
    }

    /// The tag of an entry.
    #[inline]
    pub(super) fn tag(&self, index: usize) -> u16 {
        get_u16(self.page, self.tag_place(index))
    }

    /// The cells of a page from `start` to `end`.
    pub(super) fn cells(&self, start: usize, end: usize) -> &'p [u8] {
        &self.page[start..end]
    }

    #[inline]
    fn tag_place(&self, index: usize) -> usize {
        self.blocks + BLOCK_BYTES * (index / BLOCK_ENTRIES) + 2 * (index % BLOCK_ENTRIES)
    }
}
