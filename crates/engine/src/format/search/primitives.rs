//! What page search asks of a processor: the trait [`Search`], and the work that is generic over it.
//!
//! Invariant: an implementation of [`Search`] that needs more than the target's baseline is named only by the
//! functions `run` and `look_up` of its file. These enable its features, and `dispatch` calls them only after
//! [`Isa::is_supported`] returned true. So its methods may use those features, and are safe to call. All other code
//! receives an implementation as a type parameter, through `with_search` or `look_up`.

use crate::format::search::isa::Isa;
use crate::format::{bytes, filter};

/// Sixteen u32 heads, little-endian: one cache line.
pub type HeadLine = [u8; 64];
/// The lines of hints of a branch, whether or not it has so many.
pub type HintLines = [u8; 256];
/// Sixteen u16 tags, little-endian: half a block.
pub type TagLine = [u8; 32];

/// The first blocks of a leaf, whether or not it has so many.
pub type BlockLines = [u8; 64 * BLOCKS_AT_ONCE];
/// Heads in half a cache line.
pub const EIGHT_HEADS: usize = 8;
/// Blocks that [`Search::slot_of`] looks at: all blocks of a leaf whose records have a hundred bytes or more.
pub const BLOCKS_AT_ONCE: usize = 9;

/// What page search requires of a processor. Inlined whole into the caller, which must run inside `with_search` or
/// `look_up`.
pub trait Search: Copy + 'static {
    /// Which one this is.
    const ISA: Isa;

    /// The four bytes of `key` after its first `skip`, zero-padded, as a big-endian number: the key's head.
    ///
    /// Requires: the key is shorter than 64 KiB.
    #[inline(always)]
    fn head4(key: &[u8], skip: u16) -> u32 {
        bytes::head4(key, usize::from(skip))
    }

    /// As [`Search::head4`], but eight bytes.
    #[inline(always)]
    fn head8(key: &[u8], skip: u16) -> u64 {
        bytes::head8(key, usize::from(skip))
    }

    /// How many heads after the first four are below `head`. Requires: these rise.
    fn count_below_after_4(line: &HeadLine, head: u32) -> usize;

    /// How many heads are below `head`. Requires: they rise.
    fn count_below(line: &HeadLine, head: u32) -> usize;

    /// How many heads are at most `head`. Requires: they rise.
    fn count_at_most(line: &HeadLine, head: u32) -> usize;

    /// How many of the first `hint_count` hints are below `head`. Requires: they rise, and those after them in their
    /// line are not below `head`.
    #[inline(always)]
    fn hints_below(hints: &HintLines, hint_count: usize, head: u32) -> usize {
        let (lines, _) = hints.as_chunks::<64>();
        // The last hint of each line shows in which line to count, which is less work than counting in all lines.
        let is_past = |line: usize| usize::from(bytes::get_u32(&lines[line], 60) < head);
        let mut line = 0;
        if hint_count > 16 {
            line += is_past(0);
            if hint_count > 32 {
                line += is_past(1);
                if hint_count > 48 {
                    line += is_past(2);
                }
            }
        }
        16 * line + Self::count_below(&lines[line], head)
    }

    /// A bit for each tag that equals `tag`, the first tag's lowest.
    fn tags_equal(tags: &TagLine, tag: u16) -> u32;

    /// The place in bytes of the first tag that equals `tag`, if one does.
    #[inline(always)]
    fn first_tag(tags: &TagLine, tag: u16) -> Option<usize> {
        match Self::tags_equal(tags, tag) {
            0 => None,
            equal => Some(2 * equal.trailing_zeros() as usize),
        }
    }

    /// How many of some signed numbers are below `bound`. Requires: they rise.
    #[inline(always)]
    fn signed_below(numbers: &[i32; EIGHT_HEADS], bound: i32) -> usize {
        numbers.iter().map(|&number| usize::from(number < bound)).sum()
    }

    /// Whether two neighbours of the first [`BLOCKS_AT_ONCE`] hints in a leaf's first cache line are equal, ///
    /// excepted. In a leaf with fewer blocks, the hints after the last are that number.
    #[inline(always)]
    fn has_tied_hints(line: &HeadLine) -> bool {
        let (hints, _) = line.as_chunks::<4>();
        let mut tied = false;
        for (index, hint) in hints.iter().enumerate().take(4 + BLOCKS_AT_ONCE).skip(5) {
            tied |= *hint == hints[index - 1] && u32::from_le_bytes(*hint) != u32::MAX;
        }
        tied
    }

    /// How many numbers of a line are below `head`, and whether any of them is the same.
    #[inline(always)]
    fn long_heads_below(line: &[u64; 8], head: u64) -> (usize, bool) {
        let below = line.iter().map(|&other| usize::from(other < head)).sum();
        (below, line.iter().fold(false, |same, &other| same | (other == head)))
    }

    /// Whether a line of a filter has all bits that a key sets whose mixed hash is this: see `filter_line_passes`.
    #[inline(always)]
    fn has_filter_bits(line: &HeadLine, mixed: u64) -> bool {
        filter::has_bits(line, mixed)
    }

    /// The largest slot that has this tag in the first `block_count` blocks, 0 if none has it. Any of several slots
    /// would do, but it must be a stored one.
    #[inline(always)]
    fn slot_of(blocks: &BlockLines, block_count: usize, tag: u16) -> usize {
        let mut best = [0u16; 16];
        let (blocks, _) = blocks.as_chunks::<64>();
        for (index, block) in blocks.iter().enumerate() {
            let is_block = if index < block_count { u16::MAX } else { 0 };
            let (words, _) = block.as_chunks::<2>();
            for (lane, best) in best.iter_mut().enumerate() {
                let is_tag = if u16::from_le_bytes(words[lane]) == tag { u16::MAX } else { 0 };
                *best = (*best).max(u16::from_le_bytes(words[16 + lane]) & is_tag & is_block);
            }
        }
        best.into_iter().fold(0, u16::max) as usize
    }

    /// Whether two slices of one length are equal.
    #[inline(always)]
    fn equal(left: &[u8], right: &[u8]) -> bool {
        bytes::equal(left, right)
    }

    /// Whether two slices of one length are equal. Requires: they have at most 64 bytes.
    #[inline(always)]
    fn equal_short(left: &[u8], right: &[u8]) -> bool {
        bytes::equal(left, right)
    }

    /// Whether `left <= right`.
    #[inline(always)]
    fn at_most(left: &[u8], right: &[u8]) -> bool {
        bytes::at_most(left, right)
    }
}

/// Work that runs with the best [`Search`] of this machine.
pub trait WithSearch {
    /// What it returns.
    type Output;

    /// Does the work. Implement it `#[inline(always)]`, and the functions it calls too: code that is not inlined is
    /// compiled without the processor's features.
    fn run<S: Search>(self) -> Self::Output;
}

/// A search for one key. As [`WithSearch`], but its inputs and its output are passed in registers: a point get is so
/// short that passing them through memory is measurable.
///
/// `P` is the source of the pages, `T` one of their trees; each is a word or two.
pub trait Lookup<P, T> {
    /// What it finds: two words at most.
    type Output;

    /// Looks for `key`, with the same care for inlining as [`WithSearch::run`].
    fn run<S: Search>(pages: P, tree: T, key: &[u8]) -> Self::Output;
}
