//! Proof that the body of a page is a leaf that may be read unchecked. Called by `verify_page` only.
//!
//! Every rule of `docs/reference/file-format.md` for kind 1 is checked, in the order in which later rules rely on
//! earlier ones.

use crate::format::bytes::{common_prefix, get_u16, get_u32, head4};
use crate::format::cell::{
    CELL_HEADER_BYTES, LENGTH_MASK, OVERFLOW_BIT, Op, OverflowRef, ValueAlign, verify_long_key, verify_reference,
};
use crate::format::hash::Identity;
use crate::format::leaf::layout::{
    BLOCK_BYTES, BLOCK_COUNT, BLOCK_ENTRIES, BLOCK_SLOTS, BLOCKS_OFFSET, CELLS_OFFSET, ENTRY_COUNT, FLAGS,
    HAS_OTHER_OPS, HAS_OVERFLOW, HINTS, NET_COUNT, PREFIX_LENGTH, RESERVED, SLOT_OFFSET_BITS, SLOT_OFFSET_MASK,
    VALUE_ALIGN, blocks_offset, cells_offset,
};
use crate::format::page::{INLINE_KEY_BYTES_MAX, Offence, TRAILER_BYTES, require, zeros};

/// What the header says, once it is known to be consistent.
struct Header {
    count: usize,
    blocks: usize,
    blocks_offset: usize,
    cells_offset: usize,
    align_bytes: usize,
    body_end: usize,
}

/// A cell whose bytes are known to be in bounds and well formed.
struct CheckedCell<'p> {
    part: &'p [u8],
    /// Hash of the whole key, if it is long.
    long_hash: Option<u64>,
    long_value: bool,
    op: Op,
    end: usize,
}

/// Checks the body of a leaf; its tags only if it is given the identity that they come from.
pub fn verify_leaf(page: &[u8], tags_of: Option<&Identity>) -> Result<(), Offence> {
    let header = header(page)?;
    let mut at = header.cells_offset;
    let mut net = 0i64;
    let mut flags = 0;
    let mut first: &[u8] = &[];
    let mut previous: &[u8] = &[];
    for index in 0..header.count {
        let block = header.blocks_offset + BLOCK_BYTES * (index / BLOCK_ENTRIES);
        let tag_at = block + 2 * (index % BLOCK_ENTRIES);
        let slot = get_u16(page, tag_at + BLOCK_SLOTS) as usize;
        require(slot & SLOT_OFFSET_MASK == at, tag_at + BLOCK_SLOTS, "slot does not lead to where the cell must be")?;
        let cell = cell(page, &header, at, Op::from_bits(slot >> SLOT_OFFSET_BITS))?;
        if let Some(identity) = tags_of {
            let hash = cell.long_hash.unwrap_or_else(|| identity.hash(cell.part));
            require(get_u16(page, tag_at) == (hash >> 48) as u16, tag_at, "tag is not that of the key's hash")?;
        }
        if index == 0 {
            first = cell.part;
        } else {
            let rises = previous < cell.part || (cell.long_hash.is_some() && previous == cell.part);
            require(rises, at, "keys do not rise")?;
        }
        if index % BLOCK_ENTRIES == BLOCK_ENTRIES - 1 || index == header.count - 1 {
            let hint_at = HINTS + 4 * (index / BLOCK_ENTRIES);
            let hint = head4(cell.part, get_u16(page, PREFIX_LENGTH) as usize);
            require(get_u32(page, hint_at) == hint, hint_at, "hint is not the head of its block's last key")?;
        }
        net += cell.op.net() as i64;
        flags |= if cell.long_hash.is_some() || cell.long_value { HAS_OVERFLOW } else { 0 };
        flags |= if cell.op == Op::PutNew { 0 } else { HAS_OTHER_OPS };
        previous = cell.part;
        at = cell.end;
    }
    let prefix = if header.count == 1 { 0 } else { common_prefix(first, previous) };
    require(get_u16(page, PREFIX_LENGTH) as usize == prefix, PREFIX_LENGTH, "prefix length is not the keys'")?;
    require(get_u16(page, NET_COUNT) as i16 as i64 == net, NET_COUNT, "net count is not the operations' sum")?;
    require(page[FLAGS] == flags, FLAGS, "flags do not match the cells")?;
    unused(page, &header, at)
}

fn header(page: &[u8]) -> Result<Header, Offence> {
    let body_end = page.len() - TRAILER_BYTES;
    let count = get_u16(page, ENTRY_COUNT) as usize;
    require(count > 0, ENTRY_COUNT, "leaf without entries")?;
    let blocks = count.div_ceil(BLOCK_ENTRIES);
    require(get_u16(page, BLOCK_COUNT) as usize == blocks, BLOCK_COUNT, "block count does not match the entry count")?;
    let blocks_offset = blocks_offset(blocks);
    require(
        get_u16(page, BLOCKS_OFFSET) as usize == blocks_offset,
        BLOCKS_OFFSET,
        "blocks are not where they must be",
    )?;
    let cells_offset = cells_offset(count);
    require(get_u16(page, CELLS_OFFSET) as usize == cells_offset, CELLS_OFFSET, "cells are not where they must be")?;
    require(cells_offset + count * CELL_HEADER_BYTES <= body_end, ENTRY_COUNT, "more entries than a page can hold")?;
    let align = ValueAlign::from_log2(page[VALUE_ALIGN]);
    let Some(align) = align else { return Err(Offence::new(VALUE_ALIGN, "unknown alignment of values")) };
    require(page[RESERVED] == 0, RESERVED, "reserved byte of the header is not zero")?;
    Ok(Header { count, blocks, blocks_offset, cells_offset, align_bytes: align.bytes(), body_end })
}

/// Checks the cell at `at`, which is at most the body's end.
fn cell<'p>(page: &'p [u8], header: &Header, at: usize, op: Op) -> Result<CheckedCell<'p>, Offence> {
    require(at + CELL_HEADER_BYTES <= header.body_end, at, "cell begins past the body")?;
    let key_field = get_u16(page, at);
    let value_field = get_u16(page, at + 2);
    let key_at = at + CELL_HEADER_BYTES;
    let key_end = key_at + (key_field & LENGTH_MASK) as usize;
    let value_at = key_end.next_multiple_of(header.align_bytes);
    let end = value_at + (value_field & LENGTH_MASK) as usize;
    require(end <= header.body_end, at, "cell ends past the body")?;
    zeros(page, key_end, value_at, "padding before a value is not zero")?;
    require(!op.is_delete() || value_field == 0, at + 2, "delete with a value")?;
    let long_value = value_field & OVERFLOW_BIT != 0;
    if long_value {
        require(end - value_at == OverflowRef::BYTES, at + 2, "overflow value of a wrong stored length")?;
        verify_reference(page, value_at)?;
    }
    let stored = &page[key_at..key_end];
    if key_field & OVERFLOW_BIT == 0 {
        require(stored.len() <= INLINE_KEY_BYTES_MAX, at, "inline key is too long")?;
        return Ok(CheckedCell { part: stored, long_hash: None, long_value, op, end });
    }
    let long_hash = Some(verify_long_key(page, key_at, stored.len())?);
    Ok(CheckedCell { part: &stored[..INLINE_KEY_BYTES_MAX], long_hash, long_value, op, end })
}

/// Checks what no entry uses. Requires: a checked header, and cells up to `cells_end`.
fn unused(page: &[u8], header: &Header, cells_end: usize) -> Result<(), Offence> {
    let hints_end = HINTS + 4 * header.blocks;
    let padded = page[hints_end..header.blocks_offset].iter().all(|&byte| byte == 0xFF);
    require(padded, hints_end, "padding of the hints is not the largest number")?;
    let used = (header.count - 1) % BLOCK_ENTRIES + 1;
    let last = header.blocks_offset + BLOCK_BYTES * (header.blocks - 1);
    zeros(page, last + 2 * used, last + BLOCK_SLOTS, "unused tag is not zero")?;
    zeros(page, last + BLOCK_SLOTS + 2 * used, last + BLOCK_BYTES, "unused slot is not zero")?;
    zeros(page, cells_end, header.body_end, "free space is not zero")
}
