//! What is prefetched before a leaf with tags is read. Prefetching never changes a result.
//!
//! Callers: gets and seeks of `tree`, which do other work meanwhile.

use crate::format::bytes::head4_of_part;
use crate::format::leaf::layout::BLOCK_ENTRIES;
use crate::format::leaf::view::Leaf;
use crate::format::search::{Search, prefetch};

impl Leaf<'_> {
    /// Prefetches the lines that a point get reads first, whether or not the page is verified, or a leaf.
    #[inline(always)]
    pub fn prefetch_page(page: &[u8]) {
        for line in 0..PREFETCH_LINES {
            prefetch(page, 64 * line);
        }
    }

    /// Prefetches all lines of a page that is probably a leaf.
    pub fn prefetch_whole_page(page: &[u8]) {
        for line in 0..page.len() / 64 {
            prefetch(page, 64 * line);
        }
    }

    /// Prefetches the keys that [`Leaf::lower_bound`] will compare.
    #[inline(always)]
    pub fn prefetch_lower_bound<S: Search>(self, key: &[u8]) {
        let block = self.blocks_below::<S>(head4_of_part(key, self.prefix_length()));
        let from = (block * BLOCK_ENTRIES).min(self.count());
        for index in from..(from + BLOCK_ENTRIES).min(self.count()) {
            prefetch(self.page(), self.cell_offset(index));
        }
    }

    /// Prefetches the entries that a walk reads first if it begins at this one.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    #[inline(always)]
    pub fn prefetch_from(self, index: usize) {
        assert!(index < self.count(), "entry index out of range");
        let offset = self.cell_offset(index);
        for ahead in (0..WALKED_AHEAD_BYTES).step_by(64) {
            prefetch(self.page(), offset + ahead);
        }
    }

    /// Prefetches what a walk reads a few entries after this one: a processor's own prefetcher is slow to detect that
    /// cells are read in a row, and stops at the end of each 4 KiB.
    #[inline(always)]
    pub fn prefetch_after(self, index: usize) {
        let offset = self.cell_offset(index);
        prefetch(self.page(), offset.wrapping_add(WALKED_AHEAD_BYTES));
        prefetch(self.page(), offset.wrapping_add(WALKED_AHEAD_BYTES + 64));
    }
}

/// Lines that a point get of a usual leaf reads before its cell: header and hints, then eight blocks.
const PREFETCH_LINES: usize = 9;
/// How far ahead of itself a walk prefetches.
const WALKED_AHEAD_BYTES: usize = 1024;
