//! Page search with AVX2.

use std::arch::x86_64::{
    __m128i, __m256i, _bzhi_u32, _mm_castsi128_ps, _mm_cmpgt_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_max_epu16,
    _mm_minpos_epu16, _mm_movemask_epi8, _mm_movemask_ps, _mm_or_si128, _mm_packs_epi16, _mm_set1_epi16,
    _mm_set1_epi32, _mm_setr_epi32, _mm_testz_si128, _mm_xor_si128, _mm256_and_si256, _mm256_castsi256_ps,
    _mm256_castsi256_si128, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32, _mm256_cmpgt_epi16, _mm256_cmpgt_epi32,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_max_epu16, _mm256_movemask_epi8, _mm256_movemask_ps,
    _mm256_or_si256, _mm256_packs_epi32, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_testc_si256, _mm256_testz_si256, _mm256_xor_si256,
};

use crate::format::bytes;
use crate::format::search::{
    BLOCKS_AT_ONCE, BlockLines, EIGHT_HEADS, HeadLine, HintLines, Isa, Lookup, Search, TagLine, WithSearch,
};

/// See [`Search`].
#[derive(Clone, Copy)]
struct Avx2;

/// Runs `work` compiled for AVX2.
///
/// # Safety
/// The machine supports the features named below.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
pub(super) unsafe fn run<W: WithSearch>(work: W) -> W::Output {
    work.run::<Avx2>()
}

/// Runs a lookup compiled for AVX2.
///
/// # Safety
/// The machine supports the features named below.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
pub(super) unsafe fn look_up<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    L::run::<Avx2>(pages, tree, key)
}

/// 32 bytes of a line.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the load takes the array's 32 bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// 16 bytes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn load_half(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the load takes the array's 16 bytes.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Two bits for each head of a line that is below `head`: those of the line's first four heads are the lowest eight.
/// The top bit is flipped because AVX2 compares signed numbers.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn below(line: &HeadLine, head: u32) -> u32 {
    let flip = _mm256_set1_epi32(i32::MIN);
    let wanted = _mm256_set1_epi32((head ^ 1 << 31) as i32);
    let (halves, _) = line.as_chunks::<32>();
    let first = _mm256_cmpgt_epi32(wanted, _mm256_xor_si256(load(&halves[0]), flip));
    let second = _mm256_cmpgt_epi32(wanted, _mm256_xor_si256(load(&halves[1]), flip));
    // Packing reorders the halves, except for the first four. Counting does not depend on the order.
    _mm256_movemask_epi8(_mm256_packs_epi32(first, second)) as u32
}

/// See [`Search::hints_below`]. No branch on the number of hints: root and other branches differ in it.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn hints_below(hints: &HintLines, hint_count: usize, head: u32) -> usize {
    let last = |line: usize| bytes::get_u32(hints, 64 * line + 60) as i32;
    let flip = _mm_set1_epi32(i32::MIN);
    let wanted = _mm_set1_epi32((head ^ 1 << 31) as i32);
    let past = _mm_cmpgt_epi32(wanted, _mm_xor_si128(_mm_setr_epi32(last(0), last(1), last(2), 0), flip));
    // Lines after the last hint are not hints. Without any hint the caller does not use the result.
    let past = _bzhi_u32(_mm_movemask_ps(_mm_castsi128_ps(past)) as u32, (hint_count.wrapping_sub(1) >> 4) as u32);
    let line = past.count_ones() as usize & 3;
    let (lines, _) = hints.as_chunks::<64>();
    16 * line + (below(&lines[line], head).count_ones() / 2) as usize
}

/// See [`Search::has_tied_hints`]: eight pairs of neighbours are one vector and the one before it.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn has_tied_hints(line: &HeadLine) -> bool {
    const { assert!(BLOCKS_AT_ONCE == 9, "eight pairs of neighbours") };
    let hints = |at: usize| load(line[at..].first_chunk().expect("32 bytes of a line"));
    let is_largest = _mm256_cmpeq_epi32(hints(20), _mm256_set1_epi32(-1));
    _mm256_testc_si256(is_largest, _mm256_cmpeq_epi32(hints(20), hints(16))) == 0
}

/// See [`Search::signed_below`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
pub(super) fn signed_below(numbers: &[i32; EIGHT_HEADS], bound: i32) -> usize {
    // SAFETY: the load takes the array's 32 bytes.
    let numbers = unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) };
    let below = _mm256_cmpgt_epi32(_mm256_set1_epi32(bound), numbers);
    _mm256_movemask_ps(_mm256_castsi256_ps(below)).count_ones() as usize
}

/// Two bits for each tag that equals `tag`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn tag_bits(tags: &TagLine, tag: u16) -> u32 {
    _mm256_movemask_epi8(_mm256_cmpeq_epi16(load(tags), _mm256_set1_epi16(tag as i16))) as u32
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn tags_equal(tags: &TagLine, tag: u16) -> u32 {
    let same = _mm256_cmpeq_epi16(load(tags), _mm256_set1_epi16(tag as i16));
    let packed = _mm_packs_epi16(_mm256_castsi256_si128(same), _mm256_extracti128_si256::<1>(same));
    _mm_movemask_epi8(packed) as u32
}

/// See [`Search::equal`]: slices of 8 to 64 bytes are compared without a loop.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn equal(left: &[u8], right: &[u8]) -> bool {
    let length = left.len().min(right.len());
    if (16..=32).contains(&length) {
        let differ = |at: usize| {
            // SAFETY: both slices have at least 16 bytes from `at`.
            let left = load_half(unsafe { bytes::array_at(left, at) });
            // SAFETY: as above.
            _mm_xor_si128(left, load_half(unsafe { bytes::array_at(right, at) }))
        };
        let differ = _mm_or_si128(differ(0), differ(length - 16));
        return _mm_testz_si128(differ, differ) != 0;
    }
    if (33..=64).contains(&length) {
        let differ = |at: usize| {
            // SAFETY: both slices have at least 32 bytes from `at`.
            let left = load(unsafe { bytes::array_at(left, at) });
            // SAFETY: as above.
            _mm256_xor_si256(left, load(unsafe { bytes::array_at(right, at) }))
        };
        let differ = _mm256_or_si256(differ(0), differ(length - 32));
        return _mm256_testz_si256(differ, differ) != 0;
    }
    if (8..16).contains(&length) {
        return bytes::equal_by_words(left, right);
    }
    equal_at_other_lengths(left, right)
}

/// A function of its own, because otherwise every search would contain it.
#[inline(never)]
fn equal_at_other_lengths(left: &[u8], right: &[u8]) -> bool {
    bytes::equal(left, right)
}

/// See [`Search::slot_of`]. It uses vectors only: the number of other registers limits how gets overlap.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
pub(super) fn slot_of(blocks: &BlockLines, block_count: usize, tag: u16) -> usize {
    let (halves, _) = blocks.as_chunks::<32>();
    let tag = _mm256_set1_epi16(tag as i16);
    let block_count = _mm256_set1_epi16(block_count as i16);
    let mut best = _mm256_setzero_si256();
    for index in 0..BLOCKS_AT_ONCE {
        let is_tag = _mm256_cmpeq_epi16(load(&halves[2 * index]), tag);
        let is_block = _mm256_cmpgt_epi16(block_count, _mm256_set1_epi16(index as i16));
        let slots = _mm256_and_si256(load(&halves[2 * index + 1]), is_block);
        best = _mm256_max_epu16(best, _mm256_and_si256(slots, is_tag));
    }
    let best = _mm_max_epu16(_mm256_castsi256_si128(best), _mm256_extracti128_si256::<1>(best));
    // The processor finds only the least of eight numbers.
    let least = _mm_minpos_epu16(_mm_xor_si128(best, _mm_set1_epi16(-1)));
    !_mm_cvtsi128_si32(least) as usize & 0xFFFF
}

// SAFETY of every block below: `Avx2` runs only inside `run` and `look_up`, whose features were detected.
impl Search for Avx2 {
    const ISA: Isa = Isa::Avx2;

    #[inline(always)]
    fn count_below_after_4(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        ((unsafe { below(line, head) } & !0xFF).count_ones() / 2) as usize
    }

    #[inline(always)]
    fn count_below(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        (unsafe { below(line, head) }.count_ones() / 2) as usize
    }

    #[inline(always)]
    fn count_at_most(line: &HeadLine, head: u32) -> usize {
        head.checked_add(1).map_or(16, |above| Self::count_below(line, above))
    }

    #[inline(always)]
    fn hints_below(hints: &HintLines, hint_count: usize, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { hints_below(hints, hint_count, head) }
    }

    #[inline(always)]
    fn signed_below(numbers: &[i32; EIGHT_HEADS], bound: i32) -> usize {
        // SAFETY: see above.
        unsafe { signed_below(numbers, bound) }
    }

    #[inline(always)]
    fn first_tag(tags: &TagLine, tag: u16) -> Option<usize> {
        // SAFETY: see above.
        match unsafe { tag_bits(tags, tag) } {
            0 => None,
            bits => Some(bits.trailing_zeros() as usize),
        }
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

    #[inline(always)]
    fn equal(left: &[u8], right: &[u8]) -> bool {
        // SAFETY: see above.
        unsafe { equal(left, right) }
    }

    #[inline(always)]
    fn slot_of(blocks: &BlockLines, block_count: usize, tag: u16) -> usize {
        // SAFETY: see above.
        unsafe { slot_of(blocks, block_count, tag) }
    }
}
