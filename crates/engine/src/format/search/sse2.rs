//! Page search with SSE2, which every x86-64 processor has: there, `portable` means this file.

use std::arch::x86_64::{
    __m128i, _mm_andnot_si128, _mm_cmpeq_epi16, _mm_cmpeq_epi32, _mm_cmpgt_epi32, _mm_loadu_si128, _mm_movemask_epi8,
    _mm_or_si128, _mm_packs_epi16, _mm_packs_epi32, _mm_set1_epi16, _mm_set1_epi32, _mm_xor_si128,
};

use crate::format::search::{BLOCKS_AT_ONCE, EIGHT_HEADS, HeadLine, Isa, Search, TagLine};

/// See [`Search`].
#[derive(Clone, Copy)]
pub(super) struct Sse2;

/// 16 bytes of a line.
#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the load takes the array's 16 bytes.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// A bit for each head of a line that is below `head`. The top bit is flipped because SSE2 compares signed numbers.
#[inline]
#[target_feature(enable = "sse2")]
fn below(line: &HeadLine, head: u32) -> u32 {
    let flip = _mm_set1_epi32(i32::MIN);
    let wanted = _mm_set1_epi32((head ^ 1 << 31) as i32);
    let (parts, _) = line.as_chunks::<16>();
    let below = |part: usize| _mm_cmpgt_epi32(wanted, _mm_xor_si128(load(&parts[part]), flip));
    let (low, high) = (_mm_packs_epi32(below(0), below(1)), _mm_packs_epi32(below(2), below(3)));
    _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
}

/// A bit for each number that is below `bound`.
#[inline]
#[target_feature(enable = "sse2")]
fn signed_below(numbers: &[i32; EIGHT_HEADS], bound: i32) -> u32 {
    let bound = _mm_set1_epi32(bound);
    let (halves, _) = numbers.as_chunks::<4>();
    // SAFETY: the load takes the array's 16 bytes.
    let below = |half: usize| _mm_cmpgt_epi32(bound, unsafe { _mm_loadu_si128(halves[half].as_ptr().cast()) });
    let below = _mm_packs_epi32(below(0), below(1));
    _mm_movemask_epi8(_mm_packs_epi16(below, below)) as u32 & 0xFF
}

/// How many of the lowest bits are set before the first clear bit. SSE2 cannot count bits, but finds the lowest.
///
/// Requires: 16 bits at most.
#[inline(always)]
fn count_first(bits: u32) -> usize {
    (bits + 1).trailing_zeros() as usize
}

#[inline]
#[target_feature(enable = "sse2")]
fn tags_equal(tags: &TagLine, tag: u16) -> u32 {
    let wanted = _mm_set1_epi16(tag as i16);
    let (halves, _) = tags.as_chunks::<16>();
    let equal = |half: usize| _mm_cmpeq_epi16(load(&halves[half]), wanted);
    _mm_movemask_epi8(_mm_packs_epi16(equal(0), equal(1))) as u32
}

/// See [`Search::has_tied_hints`]: eight pairs of neighbours are two vectors and those one number before them.
#[inline]
#[target_feature(enable = "sse2")]
fn has_tied_hints(line: &HeadLine) -> bool {
    let hints = |at: usize| load(line[at..].first_chunk().expect("16 bytes of a line"));
    let largest = _mm_set1_epi32(-1);
    let tied = |at: usize| {
        let hints_here = hints(at);
        _mm_andnot_si128(_mm_cmpeq_epi32(hints_here, largest), _mm_cmpeq_epi32(hints_here, hints(at - 4)))
    };
    const { assert!(BLOCKS_AT_ONCE == 9, "eight pairs of neighbours") };
    _mm_movemask_epi8(_mm_or_si128(tied(20), tied(36))) != 0
}

// SAFETY of every block below: SSE2 is part of x86-64.
impl Search for Sse2 {
    const ISA: Isa = Isa::Portable;

    #[inline(always)]
    fn count_below_after_4(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        count_first(unsafe { below(line, head) } | 0xF) - 4
    }

    #[inline(always)]
    fn count_below(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        count_first(unsafe { below(line, head) })
    }

    #[inline(always)]
    fn count_at_most(line: &HeadLine, head: u32) -> usize {
        head.checked_add(1).map_or(16, |above| Self::count_below(line, above))
    }

    #[inline(always)]
    fn signed_below(numbers: &[i32; EIGHT_HEADS], bound: i32) -> usize {
        // SAFETY: see above.
        count_first(unsafe { signed_below(numbers, bound) })
    }

    #[inline(always)]
    fn tags_equal(tags: &TagLine, tag: u16) -> u32 {
        // SAFETY: see above.
        unsafe { tags_equal(tags, tag) }
    }

    #[inline(always)]
    fn has_tied_hints(line: &HeadLine) -> bool {
        // SAFETY: see above.
        unsafe { has_tied_hints(line) }
    }
}
