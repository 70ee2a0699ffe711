//! The view over a verified branch.
//!
//! Invariant: a [`Branch`] stands for a page that `branch/verify.rs` accepted, so that every offset in it is in
//! bounds. SAFETY comments here name what verification proved.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use crate::format::branch::child::{BranchStart, Child};
use crate::format::branch::layout::{
    CHILD_BYTES, CHILDREN_OFFSET, COUNTS_OFFSET, LEVEL, PREFIX_LENGTH, PREFIX_OFFSET, SEPARATOR_COUNT,
    SEPARATOR_HEADER_BYTES, SLOTS_OFFSET,
};
use crate::format::bytes::{array_at, slice_at, u16_at, u64_at};
use crate::format::cell::{CellKey, LENGTH_MASK, OVERFLOW_BIT, Separator, long_key_at};
use crate::format::page::INLINE_KEY_BYTES_MAX;

/// A verified branch.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'p> {
    pub(super) page: &'p [u8],
}

impl<'p> Branch<'p> {
    /// A view over a page.
    ///
    /// # Safety
    /// `verify_page` or `verify_own_page` accepted `page` as a branch, and its bytes do not change during `'p`.
    #[inline(always)]
    pub const unsafe fn new_unchecked(page: &'p [u8]) -> Self {
        Self { page }
    }

    /// Whether a verified page is a branch of this level.
    #[inline(always)]
    pub fn is_of_level(page: &[u8], level: u8) -> bool {
        Self::begins_with(page, BranchStart::of_level(level))
    }

    /// Whether a verified page is a branch of the level that belongs to `start`.
    #[inline(always)]
    pub fn begins_with(page: &[u8], start: BranchStart) -> bool {
        u16::from_le_bytes([page[0], page[LEVEL]]) == start.number()
    }

    /// Height above the leaves: 1 if the children are leaves.
    #[inline(always)]
    pub fn level(self) -> u8 {
        // SAFETY: a page is longer than its header.
        unsafe { array_at::<1>(self.page, LEVEL)[0] }
    }

    /// Number of children, at least 1.
    #[inline(always)]
    pub fn children(self) -> usize {
        self.separator_count() + 1
    }

    /// Number of separators: one less than children.
    #[inline(always)]
    pub fn separator_count(self) -> usize {
        self.header_u16(SEPARATOR_COUNT)
    }

    /// A child.
    ///
    /// # Panics
    /// Unless `index < self.children()`.
    #[inline(always)]
    pub fn child(self, index: usize) -> Child {
        assert!(index <= self.separator_count(), "child index out of range");
        // SAFETY: verification placed a reference for each child inside the page.
        Child::from_bits(unsafe { u64_at(self.page, self.header_u16(CHILDREN_OFFSET) + CHILD_BYTES * index) })
    }

    /// Net count of a child's entries.
    ///
    /// # Panics
    /// Unless `index < self.children()`.
    #[inline]
    pub fn count(self, index: usize) -> i64 {
        assert!(index <= self.separator_count(), "child index out of range");
        let counts = self.header_u16(COUNTS_OFFSET);
        if self.level() == 1 {
            // SAFETY: verification placed a u16 for each child of a branch of level 1 inside the page.
            unsafe { u16_at(self.page, counts + 2 * index) as u16 as i16 as i64 }
        } else {
            // SAFETY: verification placed a u64 for each child of a higher branch inside the page.
            unsafe { u64_at(self.page, counts + 8 * index) as i64 }
        }
    }

    /// Sum of the counts of the children in `range`.
    ///
    /// # Panics
    /// Unless `range.end <= self.children()`.
    pub fn count_of(self, range: std::ops::Range<usize>) -> i64 {
        range.map(|index| self.count(index)).sum()
    }

    /// The bytes that all separators begin with, and the rest of one separator's part that orders it.
    ///
    /// # Panics
    /// Unless `index < self.separator_count()`.
    pub fn separator_parts(self, index: usize) -> (&'p [u8], &'p [u8]) {
        assert!(index < self.separator_count(), "separator index out of range");
        // SAFETY: verification placed the prefix inside the page.
        let prefix = unsafe { slice_at(self.page, self.header_u16(PREFIX_OFFSET), self.prefix_length()) };
        (prefix, self.suffix(index))
    }

    /// A separator: the smallest key that belongs to child `index + 1`. One that is stored without the node's prefix is
    /// together in `buffer`.
    ///
    /// # Panics
    /// Unless `index < self.separator_count()`.
    pub fn separator<'b>(self, index: usize, buffer: &'b mut Vec<u8>) -> Separator<'b>
    where
        'p: 'b,
    {
        let (prefix, suffix) = self.separator_parts(index);
        if self.is_long(index) {
            // SAFETY: the length field before it says that a long separator is stored there.
            return unsafe { long_key_at(self.page, self.separator_offset(index) + SEPARATOR_HEADER_BYTES) };
        }
        buffer.clear();
        buffer.extend_from_slice(prefix);
        buffer.extend_from_slice(suffix);
        CellKey::Inline(buffer)
    }

    #[inline(always)]
    pub(super) fn header_u16(self, at: usize) -> usize {
        // SAFETY: `at` is a field of the header, and a page is longer than its header.
        unsafe { u16_at(self.page, at) }
    }

    #[inline(always)]
    pub(super) fn prefix_length(self) -> usize {
        self.header_u16(PREFIX_LENGTH)
    }

    /// Where a separator's length field is. Requires: `index < separator_count`.
    #[inline(always)]
    pub(super) fn separator_offset(self, index: usize) -> usize {
        // SAFETY: verification placed a slot for each separator inside the page.
        unsafe { u16_at(self.page, self.header_u16(SLOTS_OFFSET) + 2 * index) }
    }

    /// Requires: `index < separator_count`.
    fn is_long(self, index: usize) -> bool {
        // SAFETY: verification proved that a separator's slot leads to its length field.
        unsafe { u16_at(self.page, self.separator_offset(index)) & OVERFLOW_BIT as usize != 0 }
    }

    /// A separator's ordering part after the prefix. Requires: `index < separator_count`.
    fn suffix(self, index: usize) -> &'p [u8] {
        let at = self.separator_offset(index) + SEPARATOR_HEADER_BYTES;
        if self.is_long(index) {
            let prefix_length = self.prefix_length();
            // SAFETY: verification proved that a long separator stores its first 1,024 bytes, the prefix included.
            return unsafe { slice_at(self.page, at + prefix_length, INLINE_KEY_BYTES_MAX - prefix_length) };
        }
        // SAFETY: verification proved that a separator's slot leads to its length field.
        let length = unsafe { u16_at(self.page, at - SEPARATOR_HEADER_BYTES) } & LENGTH_MASK as usize;
        // SAFETY: verification proved that a separator ends inside the body.
        unsafe { slice_at(self.page, at, length) }
    }
}
