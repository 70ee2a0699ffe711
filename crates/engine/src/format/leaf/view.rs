//! The view over a verified leaf with tags.
//!
//! Invariant: a [`Leaf`] stands for a page that `leaf/verify.rs` accepted, so that every offset in it is in bounds
//! and every length ends before the trailer. SAFETY comments here name what verification proved. The page's bytes
//! never change while the view lives: pages are written once.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use std::cmp::Ordering;

use crate::format::bytes::{array_at, slice_at, u16_at, u32_at};
use crate::format::cell::{
    CELL_HEADER_BYTES, Cell, CellKey, CellValue, LENGTH_MASK, LongKeys, OVERFLOW_BIT, Op, OverflowRef, long_key_at,
};
use crate::format::leaf::layout::{
    BLOCK_BYTES, BLOCK_COUNT, BLOCK_ENTRIES, BLOCK_SLOTS, BLOCKS_OFFSET, ENTRY_COUNT, FLAGS, HAS_OTHER_OPS,
    HAS_OVERFLOW, HINTS, NET_COUNT, PREFIX_LENGTH, SLOT_OFFSET_BITS, SLOT_OFFSET_MASK, VALUE_ALIGN,
};
use crate::format::page::INLINE_KEY_BYTES_MAX;
use crate::format::search::Search;

/// A verified leaf.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'p> {
    pub(super) page: &'p [u8],
}

impl<'p> Leaf<'p> {
    /// A view over a page.
    ///
    /// # Safety
    /// `verify_page` or `verify_own_page` accepted `page` as a leaf, and its bytes do not change during `'p`.
    #[inline(always)]
    pub const unsafe fn new_unchecked(page: &'p [u8]) -> Self {
        Self { page }
    }

    /// The page's bytes.
    pub fn page(self) -> &'p [u8] {
        self.page
    }

    /// Number of entries, at least 1.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.header_u16(ENTRY_COUNT)
    }

    /// Sum of the entries' [`Op::net`].
    #[inline(always)]
    pub fn net_count(self) -> i64 {
        self.header_u16(NET_COUNT) as u16 as i16 as i64
    }

    /// Whether some key or value lives in an overflow.
    #[inline(always)]
    pub fn has_overflow(self) -> bool {
        self.flags() & HAS_OVERFLOW != 0
    }

    /// Whether every entry is [`Op::PutNew`], as in a base tree.
    #[inline(always)]
    pub fn all_new(self) -> bool {
        self.flags() & HAS_OTHER_OPS == 0
    }

    /// Bytes that its entries take, of [`PageSize::body_bytes`](crate::format::PageSize::body_bytes).
    pub fn bytes_used(self) -> usize {
        let offset = self.slot(self.count() - 1) & SLOT_OFFSET_MASK;
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let fields = unsafe { u32_at(self.page, offset) };
        let length = |field: u32| (field as u16 & LENGTH_MASK) as usize;
        // Cells are stored in the order of their keys, without gaps.
        value_start(offset, length(fields), self.below_align()) + length(fields >> 16)
    }

    /// How the key of an entry compares to `key`.
    ///
    /// # Errors
    /// Those of `long_keys`.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn compare<L: LongKeys>(self, index: usize, key: &[u8], long_keys: &L) -> Result<Ordering, L::Error> {
        self.key(index).compare(key, long_keys)
    }

    /// An entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    #[inline(always)]
    pub fn cell(self, index: usize) -> Cell<'p> {
        assert!(index < self.count(), "entry index out of range");
        self.cell_at(self.slot(index), self.below_align())
    }

    /// The key of an entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    #[inline(always)]
    pub fn key(self, index: usize) -> CellKey<'p> {
        assert!(index < self.count(), "entry index out of range");
        self.key_at(self.slot(index) & SLOT_OFFSET_MASK)
    }

    #[inline(always)]
    fn flags(self) -> u8 {
        // SAFETY: a page is longer than its header.
        unsafe { array_at::<1>(self.page, FLAGS)[0] }
    }

    #[inline(always)]
    pub(super) fn header_u16(self, at: usize) -> usize {
        // SAFETY: `at` is a field of the header, and a page is longer than its header.
        unsafe { u16_at(self.page, at) }
    }

    #[inline(always)]
    pub(super) fn block_count(self) -> usize {
        self.header_u16(BLOCK_COUNT)
    }

    #[inline(always)]
    pub(super) fn prefix_length(self) -> usize {
        self.header_u16(PREFIX_LENGTH)
    }

    #[inline(always)]
    pub(super) fn hint(self, block: usize) -> u32 {
        // SAFETY: callers pass `block < block_count`, and verification placed the hints before the blocks.
        unsafe { u32_at(self.page, HINTS + 4 * block) }
    }

    /// How many blocks end below the keys with this head.
    ///
    /// Hints are read in whole cache lines. The first line begins with the header, the last ends with the largest
    /// number, which is below nothing.
    #[inline(always)]
    pub(super) fn blocks_below<S: Search>(self, head: u32) -> usize {
        // SAFETY: a page is longer than a cache line.
        let mut below = S::count_below_after_4(unsafe { array_at(self.page, 0) }, head);
        let mut at = BLOCK_BYTES;
        while at < self.header_u16(BLOCKS_OFFSET) {
            // SAFETY: verification proved that the blocks begin inside the page, and `blocks_offset` is a multiple of
            // 64.
            below += S::count_below(unsafe { array_at(self.page, at) }, head);
            at += BLOCK_BYTES;
        }
        below
    }

    /// The slot of an entry. Requires: `index < count`.
    #[inline(always)]
    pub(super) fn slot(self, index: usize) -> usize {
        let block = self.header_u16(BLOCKS_OFFSET) + BLOCK_BYTES * (index / BLOCK_ENTRIES);
        // SAFETY: verification proved blocks for all entries inside the page; callers pass `index < count`.
        unsafe { u16_at(self.page, block + BLOCK_SLOTS + 2 * (index % BLOCK_ENTRIES)) }
    }

    /// The slot at a place within the blocks.
    ///
    /// # Safety
    /// `at` is where a block of this page has a used slot.
    #[inline(always)]
    pub(super) unsafe fn slot_at(self, at: usize) -> usize {
        // SAFETY: verification proved that all blocks lie inside the page.
        unsafe { u16_at(self.page, at) }
    }

    #[inline(always)]
    pub(super) fn cell_offset(self, index: usize) -> usize {
        self.slot(index) & SLOT_OFFSET_MASK
    }

    #[inline(always)]
    pub(super) fn cell_at(self, slot: usize, below_align: usize) -> Cell<'p> {
        match self.inline_cell_at(slot, below_align) {
            Some((op, key, value)) => Cell { op, key: CellKey::Inline(key), value: CellValue::Inline(value) },
            None => self.overflow_cell_at(slot),
        }
    }

    #[inline(always)]
    fn inline_cell_at(self, slot: usize, below_align: usize) -> Option<(Op, &'p [u8], &'p [u8])> {
        let offset = slot & SLOT_OFFSET_MASK;
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let fields = unsafe { u32_at(self.page, offset) };
        if fields & (OVERFLOW_BIT as u32 | (OVERFLOW_BIT as u32) << 16) != 0 {
            return None;
        }
        // SAFETY: the bits above say that no part of the cell is in an overflow.
        let (key, value) = unsafe { self.key_and_value_at(offset, below_align) };
        Some((Op::from_bits(slot >> SLOT_OFFSET_BITS), key, value))
    }

    /// Key and value of a cell that holds both.
    ///
    /// # Safety
    /// A used slot of this page leads to `offset`, and neither overflow bit is set there.
    #[inline(always)]
    pub(super) unsafe fn key_and_value_at(self, offset: usize, below_align: usize) -> (&'p [u8], &'p [u8]) {
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let fields = unsafe { u32_at(self.page, offset) };
        let (key_length, value_length) = ((fields & 0xFFFF) as usize, (fields >> 16) as usize);
        // SAFETY: verification proved that a cell's key ends inside the body.
        let key = unsafe { slice_at(self.page, offset + CELL_HEADER_BYTES, key_length) };
        // SAFETY: verification proved that a cell's value ends inside the body.
        let value = unsafe { slice_at(self.page, value_start(offset, key_length, below_align), value_length) };
        (key, value)
    }

    #[cold]
    #[inline(never)]
    fn overflow_cell_at(self, slot: usize) -> Cell<'p> {
        let offset = slot & SLOT_OFFSET_MASK;
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let key_length = unsafe { u16_at(self.page, offset) } & LENGTH_MASK as usize;
        let op = Op::from_bits(slot >> SLOT_OFFSET_BITS);
        Cell { op, key: self.key_at(offset), value: self.value_at(offset, key_length) }
    }

    #[inline(always)]
    fn key_at(self, offset: usize) -> CellKey<'p> {
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let key_field = unsafe { u16_at(self.page, offset) };
        if key_field & OVERFLOW_BIT as usize != 0 {
            // SAFETY: the field says that a long key follows it.
            return unsafe { long_key_at(self.page, offset + CELL_HEADER_BYTES) };
        }
        // SAFETY: verification proved that a cell's key ends inside the body.
        CellKey::Inline(unsafe { slice_at(self.page, offset + CELL_HEADER_BYTES, key_field) })
    }

    #[inline(always)]
    pub(super) fn value_at(self, offset: usize, stored_key_length: usize) -> CellValue<'p> {
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let field = unsafe { u16_at(self.page, offset + 2) };
        let start = value_start(offset, stored_key_length, self.below_align());
        if field & OVERFLOW_BIT as usize != 0 {
            // SAFETY: the field says that a reference is there.
            return unsafe { long_value_at(self.page, start) };
        }
        // SAFETY: verification proved that a cell's value ends inside the body.
        CellValue::Inline(unsafe { slice_at(self.page, start, field) })
    }

    /// One less than the alignment of values.
    #[inline(always)]
    pub(super) fn below_align(self) -> usize {
        // SAFETY: a page is longer than its header.
        let align_log2 = unsafe { array_at::<1>(self.page, VALUE_ALIGN)[0] };
        (1 << (align_log2 & 7)) - 1
    }

    /// The part of an entry's key that orders it. Requires: `index < count`.
    #[inline(always)]
    pub(super) fn key_part(self, index: usize) -> &'p [u8] {
        let offset = self.cell_offset(index);
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let field = unsafe { u16_at(self.page, offset) };
        let length =
            if field & OVERFLOW_BIT as usize != 0 { INLINE_KEY_BYTES_MAX } else { field & LENGTH_MASK as usize };
        // SAFETY: verification proved that a cell's key ends inside the body.
        unsafe { slice_at(self.page, offset + CELL_HEADER_BYTES, length) }
    }
}

/// Where the value of the cell at `offset` begins.
#[inline(always)]
pub(super) fn value_start(offset: usize, stored_key_length: usize, below_align: usize) -> usize {
    (offset + CELL_HEADER_BYTES + stored_key_length + below_align) & !below_align
}

/// The reference stored at `at`.
///
/// # Safety
/// Verification found an overflow value there.
#[cold]
#[inline(never)]
unsafe fn long_value_at<'p>(page: &'p [u8], at: usize) -> CellValue<'p> {
    // SAFETY: verification proved that a reference takes 24 bytes inside the body.
    CellValue::Overflow(OverflowRef::from_bytes(unsafe { array_at(page, at) }))
}
