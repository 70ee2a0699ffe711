//! Proof that the body of a page is a packed leaf. Called by `verify_page` only.
//!
//! Every rule of `docs/reference/file-format.md` for kind 3 is checked, in the order in which later rules rely on
//! earlier ones. One set of entries has one form.

use crate::format::bytes::{common_prefix, get_u16, get_u32, get_u64, head8};
use crate::format::cell::{OverflowRef, verify_reference};
use crate::format::packed::layout::{
    BLOCK_ENTRIES, ENTRIES_END, ENTRIES_OFFSET, ENTRY_COUNT, FLAGS, HAS_OVERFLOW, HEADS, NIBBLE_MAX, PREFIX_LENGTH,
    RESERVED_END, VALUE_LENGTH, VALUES_DIFFER, entries_offset,
};
use crate::format::page::{INLINE_KEY_BYTES_MAX, Offence, TRAILER_BYTES, require, zeros};

/// What the header says, once it is known to be consistent.
struct Header {
    count: usize,
    blocks: usize,
    prefix: usize,
    value_length: usize,
    entries_end: usize,
}

/// An entry whose bytes are known to be in bounds.
struct CheckedEntry {
    shared: usize,
    rest_at: usize,
    value_at: usize,
    is_overflow: bool,
    end: usize,
}

/// Checks the body of a packed leaf.
pub fn verify_packed(page: &[u8]) -> Result<(), Offence> {
    let header = header(page)?;
    let mut at = entries_offset(header.count);
    let (mut first_end, mut key) = (0..0, Vec::new());
    let mut first_value_length = None;
    let (mut values_differ, mut flags) = (false, 0);
    for index in 0..header.count {
        let entry = entry(page, &header, at)?;
        let rest = &page[entry.rest_at..entry.value_at];
        let begins = index.is_multiple_of(BLOCK_ENTRIES);
        if begins {
            block(page, &header, index / BLOCK_ENTRIES, at, &entry, &key)?;
            key.clear();
        } else {
            require(entry.shared <= key.len(), at, "more is shared with the key before than it has")?;
            // What follows the shared bytes must be above, and so not the same.
            let next = (key.get(entry.shared), rest.first());
            require(
                matches!(next, (None, Some(_))) || next.0 < next.1,
                at,
                "keys do not rise, or share more than is said",
            )?;
            key.truncate(entry.shared);
        }
        key.extend_from_slice(rest);
        require(key.len() <= INLINE_KEY_BYTES_MAX, at, "key is too long")?;
        let value_length = entry.end - entry.value_at;
        values_differ |= *first_value_length.get_or_insert(value_length) != value_length || entry.is_overflow;
        flags |= if entry.is_overflow { HAS_OVERFLOW } else { 0 };
        if index == 0 {
            first_end = entry.rest_at..entry.value_at;
        }
        at = entry.end;
    }
    require(at == header.entries_end, ENTRIES_END, "entries do not end where the header says")?;
    require(page[FLAGS] == flags, FLAGS, "flags do not match the entries")?;
    let says_they_differ = header.value_length == VALUES_DIFFER;
    require(says_they_differ == values_differ, VALUE_LENGTH, "values of one length each have their own")?;
    let prefix = if header.count == 1 { 0 } else { common_prefix(&page[first_end], &key) };
    require(header.prefix == prefix, PREFIX_LENGTH, "prefix length is not the keys'")?;
    zeros(page, at, page.len() - TRAILER_BYTES, "free space is not zero")
}

fn header(page: &[u8]) -> Result<Header, Offence> {
    let body_end = page.len() - TRAILER_BYTES;
    require(get_u32(page, RESERVED_END) == 0, RESERVED_END, "reserved bytes of the header are not zero")?;
    let count = get_u16(page, ENTRY_COUNT) as usize;
    require(count > 0, ENTRY_COUNT, "leaf without entries")?;
    let entries_at = entries_offset(count);
    require(
        get_u16(page, ENTRIES_OFFSET) as usize == entries_at,
        ENTRIES_OFFSET,
        "entries do not begin where they must",
    )?;
    require(entries_at < body_end, ENTRY_COUNT, "more entries than a page can hold")?;
    let entries_end = get_u16(page, ENTRIES_END) as usize;
    require(entries_end <= body_end, ENTRIES_END, "entries end past the body")?;
    let prefix = get_u16(page, PREFIX_LENGTH) as usize;
    let value_length = get_u16(page, VALUE_LENGTH) as usize;
    Ok(Header { count, blocks: count.div_ceil(BLOCK_ENTRIES), prefix, value_length, entries_end })
}

/// Checks what is said of a block that begins with `entry` at `at`; `before` is the key before it, if there is one.
fn block(
    page: &[u8],
    header: &Header,
    block: usize,
    at: usize,
    entry: &CheckedEntry,
    before: &[u8],
) -> Result<(), Offence> {
    let (head_at, place_at) = (HEADS + 8 * block, HEADS + 8 * header.blocks + 2 * block);
    let key = &page[entry.rest_at..entry.value_at];
    require(entry.shared == 0, at, "the first key of a block is not whole")?;
    require(block == 0 || before < key, at, "keys do not rise")?;
    require(get_u16(page, place_at) as usize == at, place_at, "block does not begin where it must")?;
    require(get_u64(page, head_at) == head8(key, header.prefix), head_at, "head is not that of its block's first key")
}

/// Checks the entry at `at`, which is at most the body's end.
fn entry(page: &[u8], header: &Header, at: usize) -> Result<CheckedEntry, Offence> {
    require(at < header.entries_end, at, "entry begins past the last one's end")?;
    let (mut shared, mut rest) = (usize::from(page[at] >> 4), usize::from(page[at]) & NIBBLE_MAX);
    let mut next = at + 1;
    if shared == NIBBLE_MAX {
        shared += length(page, &mut next)?;
    }
    if rest == NIBBLE_MAX {
        rest += length(page, &mut next)?;
    }
    let is_told = header.value_length == VALUES_DIFFER;
    let field = if is_told { length(page, &mut next)? } else { header.value_length << 1 };
    let (value, is_overflow) = (field >> 1, field & 1 != 0);
    let (rest_at, value_at) = (next, next + rest);
    let end = value_at + value;
    require(end <= header.entries_end, at, "entry ends past the last one's end")?;
    if is_overflow {
        require(value == OverflowRef::BYTES, at, "overflow value of a wrong stored length")?;
        verify_reference(page, value_at)?;
    }
    Ok(CheckedEntry { shared, rest_at, value_at, is_overflow, end })
}

/// Reads a length. Requires: `at` is at most the body's end, behind which is the trailer.
fn length(page: &[u8], at: &mut usize) -> Result<usize, Offence> {
    let low = usize::from(page[*at]);
    if low < 0x80 {
        *at += 1;
        return Ok(low);
    }
    let high = usize::from(page[*at + 1]);
    require(high > 0, *at, "a length takes more bytes than it needs")?;
    *at += 2;
    Ok(low & 0x7F | high << 7)
}
