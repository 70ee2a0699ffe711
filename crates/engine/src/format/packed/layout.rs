//! The packed leaf: where its parts are in a page.

use crate::format::page::INLINE_KEY_BYTES_MAX;

pub(super) const FLAGS: usize = 1;
pub(super) const ENTRY_COUNT: usize = 2;
pub(super) const PREFIX_LENGTH: usize = 4;
pub(super) const VALUE_LENGTH: usize = 6;
pub(super) const ENTRIES_OFFSET: usize = 8;
pub(super) const ENTRIES_END: usize = 10;
pub(super) const RESERVED_END: usize = 12;
/// Heads begin here, a u64 for each block; behind them the places of the blocks, a u16 each.
pub(super) const HEADS: usize = 16;
/// Entries of a block.
pub(super) const BLOCK_ENTRIES: usize = 16;
/// What a block takes beside its entries: head and place.
pub(super) const BLOCK_BYTES: usize = 10;
/// Flag: some value is an overflow.
pub(super) const HAS_OVERFLOW: u8 = 1;
/// As the length of all values: each entry has its own.
pub(super) const VALUES_DIFFER: usize = 0xFFFF;
/// A half of an entry's first byte that says: so many, and what the next bytes say.
pub(super) const NIBBLE_MAX: usize = 15;
/// Bytes of lengths at most: the first byte, and two for each of three lengths.
pub(super) const LENGTHS_BYTES_MAX: usize = 7;

/// Where the entries of a leaf with so many begin.
pub(super) const fn entries_offset(entry_count: usize) -> usize {
    HEADS + BLOCK_BYTES * entry_count.div_ceil(BLOCK_ENTRIES)
}

const _: () = assert!(INLINE_KEY_BYTES_MAX < 0x4000, "a length takes two bytes at most");
