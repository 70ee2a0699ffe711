//! Proof that the body of a page is a branch that may be read unchecked. Called by `verify_page` only.
//!
//! Every rule of `docs/reference/file-format.md` for kind 2 is checked, in the order in which later rules rely on
//! earlier ones.

use crate::format::branch::layout::{
    CHILD_BYTES, CHILD_RESERVED, CHILDREN_OFFSET, COUNT_MAX, COUNTS_OFFSET, FLAGS, HAS_LONG_SEPARATOR, HEADS_OFFSET,
    HINT_COUNT, HINTS, LEVEL, LEVEL_MAX, LINE_BYTES, LINE_HEADS, Layout, PREFIX_LENGTH, PREFIX_OFFSET, PREFIX_START,
    PREFIX_START_BYTES, RESERVED, SEPARATOR_COUNT, SEPARATOR_HEADER_BYTES, SEPARATORS_OFFSET, SLOTS_OFFSET,
};
use crate::format::bytes::{common_prefix, get_u16, get_u32, get_u64, head4};
use crate::format::cell::{LENGTH_MASK, OVERFLOW_BIT, verify_long_key};
use crate::format::page::{INLINE_KEY_BYTES_MAX, Offence, TRAILER_BYTES, require, zeros};

/// What the header says, once it is known to be consistent.
struct Header {
    level: u8,
    count: usize,
    prefix_length: usize,
    layout: Layout,
    body_end: usize,
}

/// Checks the body of a branch.
pub fn verify_branch(page: &[u8]) -> Result<(), Offence> {
    let header = header(page)?;
    prefix(page, &header)?;
    let mut at = header.layout.separators;
    let mut flags = 0;
    let mut first: &[u8] = &[];
    let mut previous: &[u8] = &[];
    for index in 0..header.count {
        let slot_at = header.layout.slots + 2 * index;
        require(get_u16(page, slot_at) as usize == at, slot_at, "slot does not lead to where the separator must be")?;
        let (suffix, long, end) = separator(page, &header, at)?;
        let head_at = header.layout.heads + 4 * index;
        require(get_u32(page, head_at) == head4(suffix, 0), head_at, "head is not its separator's")?;
        if index == 0 {
            first = suffix;
        } else {
            require(previous < suffix || (long && previous == suffix), at, "separators do not rise")?;
        }
        flags |= if long { HAS_LONG_SEPARATOR } else { 0 };
        previous = suffix;
        at = end;
    }
    require(page[FLAGS] == flags, FLAGS, "flags do not match the separators")?;
    if header.count < 2 {
        require(header.prefix_length == 0, PREFIX_LENGTH, "prefix of fewer than two separators")?;
    } else {
        require(common_prefix(first, previous) == 0, PREFIX_LENGTH, "prefix length is not the separators'")?;
    }
    zeros(page, at, header.body_end, "free space is not zero")?;
    hints(page, &header)?;
    children(page, &header)
}

fn header(page: &[u8]) -> Result<Header, Offence> {
    let body_end = page.len() - TRAILER_BYTES;
    let level = page[LEVEL];
    require((1..=LEVEL_MAX).contains(&level), LEVEL, "level is out of range")?;
    let count = get_u16(page, SEPARATOR_COUNT) as usize;
    let prefix_length = get_u16(page, PREFIX_LENGTH) as usize;
    require(prefix_length <= INLINE_KEY_BYTES_MAX, PREFIX_LENGTH, "prefix is too long")?;
    let layout = Layout::new(level, count, prefix_length);
    let separators_least = SEPARATOR_HEADER_BYTES * count;
    require(layout.separators + separators_least <= body_end, SEPARATOR_COUNT, "more separators than a page can hold")?;
    let fields = [
        (HINT_COUNT, layout.hint_count, "hint count does not match the separator count"),
        (HEADS_OFFSET, layout.heads, "heads are not where they must be"),
        (CHILDREN_OFFSET, layout.children, "children are not where they must be"),
        (COUNTS_OFFSET, layout.counts, "counts are not where they must be"),
        (SLOTS_OFFSET, layout.slots, "slots are not where they must be"),
        (PREFIX_OFFSET, layout.prefix, "prefix is not where it must be"),
        (SEPARATORS_OFFSET, layout.separators, "separators are not where they must be"),
    ];
    for (at, expected, what) in fields {
        require(get_u16(page, at) as usize == expected, at, what)?;
    }
    zeros(page, RESERVED, PREFIX_START, "reserved bytes of the header are not zero")?;
    Ok(Header { level, count, prefix_length, layout, body_end })
}

/// Checks the start of the prefix that the header repeats.
fn prefix(page: &[u8], header: &Header) -> Result<(), Offence> {
    let repeated = header.prefix_length.min(PREFIX_START_BYTES);
    let prefix = &page[header.layout.prefix..header.layout.prefix + repeated];
    let end = PREFIX_START + repeated;
    require(page[PREFIX_START..end] == *prefix, PREFIX_START, "prefix in the header is not the prefix")?;
    zeros(page, end, PREFIX_START + PREFIX_START_BYTES, "padding of the prefix in the header is not zero")
}

/// Checks the separator at `at`, at most the body's end: its ordering part after the prefix, whether it is long, its
/// end.
fn separator<'p>(page: &'p [u8], header: &Header, at: usize) -> Result<(&'p [u8], bool, usize), Offence> {
    require(at + SEPARATOR_HEADER_BYTES <= header.body_end, at, "separator begins past the body")?;
    let field = get_u16(page, at);
    let start = at + SEPARATOR_HEADER_BYTES;
    let length = (field & LENGTH_MASK) as usize;
    let end = start + length;
    require(end <= header.body_end, at, "separator ends past the body")?;
    if field & OVERFLOW_BIT == 0 {
        require(header.prefix_length + length <= INLINE_KEY_BYTES_MAX, at, "inline separator is too long")?;
        return Ok((&page[start..end], false, end));
    }
    verify_long_key(page, start, length)?;
    let part = &page[start..start + INLINE_KEY_BYTES_MAX];
    let prefix = &page[header.layout.prefix..header.layout.prefix + header.prefix_length];
    require(part.starts_with(prefix), start, "long separator does not begin with the prefix")?;
    Ok((&part[header.prefix_length..], true, end))
}

/// Checks hints and the padding of hints and heads, given checked heads.
fn hints(page: &[u8], header: &Header) -> Result<(), Offence> {
    let layout = &header.layout;
    for hint in 0..(layout.heads - HINTS) / 4 {
        let at = HINTS + 4 * hint;
        let expected = if hint < layout.hint_count {
            let last = ((hint + 1) * LINE_HEADS).min(header.count) - 1;
            get_u32(page, layout.heads + 4 * last)
        } else {
            u32::MAX
        };
        require(get_u32(page, at) == expected, at, "hint is not the last head of its line")?;
    }
    for head in header.count..layout.hint_count * LINE_BYTES / 4 {
        let at = layout.heads + 4 * head;
        require(get_u32(page, at) == u32::MAX, at, "padding of the heads is not the largest number")?;
    }
    Ok(())
}

fn children(page: &[u8], header: &Header) -> Result<(), Offence> {
    for child in 0..=header.count {
        let at = header.layout.children + CHILD_BYTES * child;
        require(get_u64(page, at) & CHILD_RESERVED == 0, at, "reserved bits of a child reference are not zero")?;
        if header.level > 1 {
            let at = header.layout.counts + 8 * child;
            let count = get_u64(page, at) as i64;
            require((-COUNT_MAX..=COUNT_MAX).contains(&count), at, "count of a child is out of range")?;
        } else {
            let at = header.layout.counts + 2 * child;
            let count = get_u16(page, at) as i16 as isize;
            // An entry of a packed leaf takes two bytes at least; one of another, eight.
            require(count.unsigned_abs() <= page.len() / 2, at, "count of a child is out of range")?;
        }
    }
    Ok(())
}
