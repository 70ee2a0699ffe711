//! The branch: where its parts are in a page.

use std::mem::offset_of;

use crate::format::page::PageSize;
use crate::format::search::HintLines;

/// The header as stored, for its offsets only: it is never read as a whole.
#[repr(C)]
struct Header {
    kind: u8,
    level: u8,
    separator_count: u16,
    prefix_length: u16,
    hint_count: u16,
    heads_offset: u16,
    children_offset: u16,
    counts_offset: u16,
    slots_offset: u16,
    prefix_offset: u16,
    separators_offset: u16,
    flags: u8,
    reserved: [u8; 3],
    prefix_start: [u8; PREFIX_START_BYTES],
}

pub(super) const LEVEL: usize = offset_of!(Header, level);
pub(super) const SEPARATOR_COUNT: usize = offset_of!(Header, separator_count);
pub(super) const PREFIX_LENGTH: usize = offset_of!(Header, prefix_length);
pub(super) const HINT_COUNT: usize = offset_of!(Header, hint_count);
pub(super) const HEADS_OFFSET: usize = offset_of!(Header, heads_offset);
pub(super) const CHILDREN_OFFSET: usize = offset_of!(Header, children_offset);
pub(super) const COUNTS_OFFSET: usize = offset_of!(Header, counts_offset);
pub(super) const SLOTS_OFFSET: usize = offset_of!(Header, slots_offset);
pub(super) const PREFIX_OFFSET: usize = offset_of!(Header, prefix_offset);
pub(super) const SEPARATORS_OFFSET: usize = offset_of!(Header, separators_offset);
pub(super) const FLAGS: usize = offset_of!(Header, flags);
pub(super) const RESERVED: usize = offset_of!(Header, reserved);
/// The prefix begins here; what is too long stands at `prefix_offset` only.
pub(super) const PREFIX_START: usize = offset_of!(Header, prefix_start);
/// As much of the prefix as the header's cache line holds.
pub(super) const PREFIX_START_BYTES: usize = 40;
/// Hints begin here, in whole cache lines.
pub(super) const HINTS: usize = 64;

const _: () = assert!(size_of::<Header>() == HINTS && offset_of!(Header, kind) == 0 && LEVEL == 1);
const _: () = assert!(SEPARATOR_COUNT == 2 && PREFIX_LENGTH == 4 && HINT_COUNT == 6 && HEADS_OFFSET == 8);
const _: () = assert!(CHILDREN_OFFSET == 10 && COUNTS_OFFSET == 12 && SLOTS_OFFSET == 14 && PREFIX_OFFSET == 16);
const _: () = assert!(SEPARATORS_OFFSET == 18 && FLAGS == 20 && RESERVED == 21 && PREFIX_START == 24);

/// Flag: some separator is an overflow.
pub(super) const HAS_LONG_SEPARATOR: u8 = 1;
/// Highest level of a branch: trees are at most 64 pages deep.
pub const LEVEL_MAX: u8 = 63;
/// Heads in a cache line.
pub(super) const LINE_HEADS: usize = 16;
/// A cache line.
pub(super) const LINE_BYTES: usize = 64;
/// Bytes of a child reference.
pub(super) const CHILD_BYTES: usize = 8;
/// Bytes of a separator's length field.
pub(super) const SEPARATOR_HEADER_BYTES: usize = 2;
/// In a child reference: the subtree has overflow keys or values.
pub(super) const CHILD_OVERFLOW: u64 = 1 << 56;
/// Bits of a child reference that are zero.
pub(super) const CHILD_RESERVED: u64 = !0 << 57;
/// Counts of a child stay within this, so that a branch's sum cannot overflow.
pub(super) const COUNT_MAX: i64 = 1 << 48;
/// Lines of hints in the largest branch: a separator takes a head, a child, a count, a slot and a field at least.
const HINT_LINES_MAX: usize = (PageSize::KiB16.body_bytes() / (4 + CHILD_BYTES + 2 + 2 + SEPARATOR_HEADER_BYTES))
    .div_ceil(LINE_HEADS * LINE_HEADS);
const _: () = assert!(HINT_LINES_MAX * LINE_BYTES == size_of::<HintLines>());

/// Where the parts of a branch begin that follow from its level, separator count and prefix length.
pub(super) struct Layout {
    pub hint_count: usize,
    pub heads: usize,
    pub children: usize,
    pub counts: usize,
    pub slots: usize,
    pub prefix: usize,
    pub separators: usize,
}

impl Layout {
    pub(super) const fn new(level: u8, separator_count: usize, prefix_length: usize) -> Self {
        let hint_count = separator_count.div_ceil(LINE_HEADS);
        let hint_lines = if hint_count == 0 { 1 } else { hint_count.div_ceil(LINE_HEADS) };
        let heads = HINTS + LINE_BYTES * hint_lines;
        let children = heads + LINE_BYTES * hint_count;
        let counts = children + CHILD_BYTES * (separator_count + 1);
        let slots = counts + count_bytes(level) * (separator_count + 1);
        let prefix = slots + 2 * separator_count;
        Self { hint_count, heads, children, counts, slots, prefix, separators: prefix + prefix_length }
    }
}

/// Bytes of a child's count.
pub(super) const fn count_bytes(level: u8) -> usize {
    if level == 1 { 2 } else { 8 }
}
