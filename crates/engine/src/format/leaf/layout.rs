//! The leaf with tags: where its parts are in a page.

use std::mem::offset_of;

use crate::format::search::BLOCKS_AT_ONCE;

/// The header as stored, for its offsets only: it is never read as a whole.
#[repr(C)]
struct Header {
    kind: u8,
    flags: u8,
    entry_count: u16,
    prefix_length: u16,
    block_count: u16,
    blocks_offset: u16,
    cells_offset: u16,
    net_count: i16,
    value_align_log2: u8,
    reserved: u8,
}

pub(super) const FLAGS: usize = offset_of!(Header, flags);
pub(super) const ENTRY_COUNT: usize = offset_of!(Header, entry_count);
pub(super) const PREFIX_LENGTH: usize = offset_of!(Header, prefix_length);
pub(super) const BLOCK_COUNT: usize = offset_of!(Header, block_count);
pub(super) const BLOCKS_OFFSET: usize = offset_of!(Header, blocks_offset);
pub(super) const CELLS_OFFSET: usize = offset_of!(Header, cells_offset);
pub(super) const NET_COUNT: usize = offset_of!(Header, net_count);
pub(super) const VALUE_ALIGN: usize = offset_of!(Header, value_align_log2);
pub(super) const RESERVED: usize = offset_of!(Header, reserved);
/// Hints begin here, a u32 for each block.
pub(super) const HINTS: usize = 16;

const _: () = assert!(size_of::<Header>() == HINTS && offset_of!(Header, kind) == 0 && FLAGS == 1);
const _: () = assert!(ENTRY_COUNT == 2 && PREFIX_LENGTH == 4 && BLOCK_COUNT == 6 && BLOCKS_OFFSET == 8);
const _: () = assert!(CELLS_OFFSET == 10 && NET_COUNT == 12 && VALUE_ALIGN == 14 && RESERVED == 15);

/// Flag: some key or value is an overflow.
pub(super) const HAS_OVERFLOW: u8 = 1;
/// Flag: some operation is not [`Op::PutNew`](crate::format::Op::PutNew).
pub(super) const HAS_OTHER_OPS: u8 = 2;

/// Entries of a block.
pub(super) const BLOCK_ENTRIES: usize = 16;
/// A block: 16 tags, 16 slots, one cache line.
pub(super) const BLOCK_BYTES: usize = 64;
/// Where the slots of a block begin.
pub(super) const BLOCK_SLOTS: usize = 32;
/// The part of a slot that is the cell's offset; the two bits above are its operation.
pub(super) const SLOT_OFFSET_MASK: usize = (1 << SLOT_OFFSET_BITS) - 1;
/// Width of the offset in a slot.
pub(super) const SLOT_OFFSET_BITS: usize = 14;

// A leaf of no more blocks than one look reads has its hints in the first line, and its blocks after that.
const _: () = assert!(blocks_offset(1) == BLOCK_BYTES && blocks_offset(BLOCKS_AT_ONCE) == BLOCK_BYTES);

/// Where the blocks of a leaf begin: the first cache line after the hints.
pub(super) const fn blocks_offset(block_count: usize) -> usize {
    (HINTS + 4 * block_count).next_multiple_of(BLOCK_BYTES)
}

/// Where the cells of a leaf with so many entries begin.
pub(super) const fn cells_offset(entry_count: usize) -> usize {
    let blocks = entry_count.div_ceil(BLOCK_ENTRIES);
    blocks_offset(blocks) + BLOCK_BYTES * blocks
}
