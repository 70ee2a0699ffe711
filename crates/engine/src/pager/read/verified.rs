//! The pages of a mapped snapshot that were verified before.
//!
//! SAFETY comments here rely on the invariants of `pages` and of [`PageFile`](crate::pager::PageFile).
#![allow(unsafe_code)] // Slices of the map, and views of pages that were verified.

use std::hint::assert_unchecked;
use std::ptr::NonNull;

use crate::format::{Branch, BranchStart, Leaf, PackedLeaf, PageKind, PageSize};
use crate::ids::PageRef;
use crate::io::Map;

use crate::pager::extents::VerifiedNodes;

/// The pages of a mapped snapshot that were verified before: the fast way to bytes, which never fails but may not
/// have a page.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedPages<'a> {
    extents: VerifiedNodes<'a>,
    /// Where the file's first byte is mapped.
    base: NonNull<u8>,
    page_bits: u32,
}

impl<'a> VerifiedPages<'a> {
    #[inline(always)]
    pub(super) fn new(extents: VerifiedNodes<'a>, map: &'a Map, page_bits: u32) -> Self {
        Self { extents, base: map.base(), page_bits }
    }

    /// The page at `at` as a branch of the level that belongs to `start`, if it was verified and is one.
    #[inline(always)]
    pub fn branch(self, at: PageRef, start: BranchStart) -> Option<Branch<'a>> {
        let bytes = self.bytes(at)?;
        // SAFETY: the page was verified, and it is a branch.
        Branch::begins_with(bytes, start).then(|| unsafe { Branch::new_unchecked(bytes) })
    }

    /// The page at `at`, as a leaf with tags, if it was verified and is one. Prefetches its first lines.
    #[inline(always)]
    pub fn leaf(self, at: PageRef) -> Option<Leaf<'a>> {
        let bytes = self.bytes(at)?;
        Leaf::prefetch_page(bytes);
        // SAFETY: the page was verified, and it is a leaf.
        (bytes[0] == PageKind::Leaf as u8).then(|| unsafe { Leaf::new_unchecked(bytes) })
    }

    /// As [`VerifiedPages::leaf`], as a packed leaf.
    #[inline(always)]
    pub fn packed_leaf(self, at: PageRef) -> Option<PackedLeaf<'a>> {
        let bytes = self.bytes(at)?;
        Leaf::prefetch_page(bytes);
        (bytes[0] == PageKind::Packed as u8).then(|| PackedLeaf::of(bytes))
    }

    /// The bytes of the page at `at`, if it was verified.
    #[inline(always)]
    pub fn bytes(self, at: PageRef) -> Option<&'a [u8]> {
        let number = self.extents.page(at)?;
        // SAFETY: a verified node is live, live pages are below the extent map's page count, and the window, which `'a`
        // borrows, reaches past that (`PageFile`, invariant 1).
        let start = unsafe { self.base.add((number << self.page_bits) as usize) };
        // SAFETY: the whole page is in the window as its start is; its bytes are there and stay as in `Pages::ensured`,
        // which it passed before it was verified.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr(), 1 << self.page_bits) };
        // SAFETY: no page is smaller. Without this every look at a page's kind would first compare its length.
        unsafe { assert_unchecked(bytes.len() >= PageSize::KiB8.bytes()) };
        Some(bytes)
    }
}
