//! Seeks in a leaf with tags: the first entry that is at least a key.
//!
//! SAFETY comments here name what verification proved of the page: see `view`.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use std::hint::select_unpredictable;

use crate::format::bytes::{head4_of_part, slice_at, u16_at};
use crate::format::cell::{CELL_HEADER_BYTES, LongKeys, OVERFLOW_BIT};
use crate::format::leaf::layout::BLOCK_ENTRIES;
use crate::format::leaf::view::Leaf;
use crate::format::search::{Search, prefetch};

impl Leaf<'_> {
    /// The first entry whose key is at least `key`; [`Leaf::count`] if there is none.
    ///
    /// # Errors
    /// Those of `long_keys`.
    #[inline(always)]
    pub fn lower_bound<S: Search, L: LongKeys>(self, key: &[u8], long_keys: &L) -> Result<usize, L::Error> {
        let count = self.count();
        let block_count = self.block_count();
        let prefix_length = self.prefix_length();
        let head = head4_of_part(key, prefix_length);
        let mut block = self.blocks_below::<S>(head);
        // Hints order only keys that share the page's prefix. Any entry shows the prefix: use one that is needed
        // anyway.
        let witness = self.key_part((block * BLOCK_ENTRIES).min(count - 1));
        // SAFETY: every key's part begins with the prefix, whose length verification proved.
        let prefix = unsafe { slice_at(witness, 0, prefix_length) };
        let Some(key_start) = key.get(..prefix_length) else { return Ok(outside(prefix, key, count)) };
        if !S::equal(prefix, key_start) {
            return Ok(outside(prefix, key, count));
        }
        let mut tied = 0;
        while block + tied < block_count && self.hint(block + tied) == head {
            tied += 1;
        }
        while tied > 0 {
            let middle = block + tied / 2;
            let last = (middle * BLOCK_ENTRIES + BLOCK_ENTRIES).min(count) - 1;
            let below = self.entry_below::<S, L>(last, prefix_length, key, long_keys)?;
            block = select_unpredictable(below, middle + 1, block);
            tied = select_unpredictable(below, tied - tied / 2 - 1, tied / 2);
        }
        let mut from = (block * BLOCK_ENTRIES).min(count);
        let mut size = BLOCK_ENTRIES.min(count - from);
        for index in from..from + size {
            prefetch(self.page, self.cell_offset(index));
        }
        while size > 0 {
            let middle = from + size / 2;
            let below = self.entry_below::<S, L>(middle, prefix_length, key, long_keys)?;
            from = select_unpredictable(below, middle + 1, from);
            size = select_unpredictable(below, size - size / 2 - 1, size / 2);
        }
        Ok(from)
    }

    /// Whether an entry's key is below `key`. Requires: `index < count`, and `key` begins with the page's prefix.
    #[inline(always)]
    fn entry_below<S: Search, L: LongKeys>(
        self,
        index: usize,
        prefix_length: usize,
        key: &[u8],
        long_keys: &L,
    ) -> Result<bool, L::Error> {
        let offset = self.cell_offset(index);
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let field = unsafe { u16_at(self.page, offset) };
        if field & OVERFLOW_BIT as usize != 0 {
            return long_entry_below(self, index, key, long_keys);
        }
        let rest_at = offset + CELL_HEADER_BYTES + prefix_length;
        // SAFETY: verification proved that a cell's key ends inside the body, and is no shorter than the prefix.
        let stored_rest = unsafe { slice_at(self.page, rest_at, field - prefix_length) };
        // SAFETY: the caller knows that `key` is no shorter than the prefix.
        let key_rest = unsafe { slice_at(key, prefix_length, key.len() - prefix_length) };
        // `stored < key` if and only if not `key <= stored`.
        Ok(!S::at_most(key_rest, stored_rest))
    }
}

/// The lower bound of a key that does not begin with the page's prefix: before all entries, or after.
#[cold]
#[inline(never)]
fn outside(prefix: &[u8], key: &[u8], count: usize) -> usize {
    if prefix < key { count } else { 0 }
}

#[cold]
#[inline(never)]
fn long_entry_below<L: LongKeys>(leaf: Leaf<'_>, index: usize, key: &[u8], long_keys: &L) -> Result<bool, L::Error> {
    Ok(leaf.compare(index, key, long_keys)?.is_lt())
}
