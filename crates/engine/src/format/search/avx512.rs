//! Page search with AVX-512.

use std::arch::x86_64::{
    __m128i, __m512i, _bzhi_u32, _bzhi_u64, _mm_adds_epu16, _mm_cmplt_epu16_mask, _mm_cvtsi128_si32, _mm_cvtsi128_si64,
    _mm_maskz_loadu_epi8, _mm_set1_epi16, _mm_setr_epi8, _mm_setr_epi16, _mm_shuffle_epi8, _mm256_cmpeq_epi16_mask,
    _mm256_cmpneq_epu8_mask, _mm256_loadu_si256, _mm256_maskz_loadu_epi8, _mm256_set1_epi16, _mm512_alignr_epi32,
    _mm512_and_si512, _mm512_cmpeq_epi64_mask, _mm512_cmple_epu32_mask, _mm512_cmplt_epu32_mask,
    _mm512_cmplt_epu64_mask, _mm512_cmpneq_epu8_mask, _mm512_kunpackd, _mm512_kunpackw, _mm512_loadu_si512,
    _mm512_mask_cmpeq_epi32_mask, _mm512_mask_cmplt_epu32_mask, _mm512_mask_cmpneq_epi32_mask, _mm512_maskz_loadu_epi8,
    _mm512_permutexvar_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_sllv_epi64,
    _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_test_epi64_mask,
};

use crate::format::search::{
    BlockLines, EIGHT_HEADS, HeadLine, HintLines, Isa, Lookup, Search, TagLine, WithSearch, avx2,
};

/// See [`Search`].
#[derive(Clone, Copy)]
struct Avx512;

/// Runs `work` compiled for AVX-512.
///
/// # Safety
/// The machine supports the features named below.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
pub(super) unsafe fn run<W: WithSearch>(work: W) -> W::Output {
    work.run::<Avx512>()
}

/// Runs a lookup compiled for AVX-512.
///
/// # Safety
/// The machine supports the features named below.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
pub(super) unsafe fn look_up<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    L::run::<Avx512>(pages, tree, key)
}

/// Declares a function that may use AVX-512, and is inlined into [`run`] together with its caller.
macro_rules! with_features {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty $body:block)*) => {$(
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
        fn $name($($argument: $type),*) -> $output $body
    )*};
}

with_features! {
    fn heads(line: &HeadLine) -> __m512i {
        // SAFETY: the load takes the line's 64 bytes.
        unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
    }

    fn head4(key: &[u8], skip: u16) -> u32 {
        let reversed = _mm_setr_epi8(3, 2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        let places = _mm_setr_epi16(0, 1, 2, 3, -1, -1, -1, -1);
        _mm_cvtsi128_si32(_mm_shuffle_epi8(padded(key, skip, places), reversed)) as u32
    }

    fn head8(key: &[u8], skip: u16) -> u64 {
        let reversed = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1);
        let places = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
        _mm_cvtsi128_si64(_mm_shuffle_epi8(padded(key, skip, places), reversed)) as u64
    }

    // The bytes of `key` at `places` after the first `skip`, zeros past its end. Vectors find the end, because the
    // number of other registers that gets write limits how they overlap.
    fn padded(key: &[u8], skip: u16, places: __m128i) -> __m128i {
        debug_assert!(key.len() < 1 << 16, "a longer key would be taken for a shorter one");
        let places = _mm_adds_epu16(_mm_set1_epi16(skip as i16), places);
        let mask = _mm_cmplt_epu16_mask(places, _mm_set1_epi16(key.len() as i16));
        // SAFETY: the mask excludes all bytes past the end of the key, and masked bytes are not accessed.
        unsafe { _mm_maskz_loadu_epi8(u16::from(mask), key.as_ptr().wrapping_add(usize::from(skip)).cast()) }
    }

    fn count_below_after_4(line: &HeadLine, head: u32) -> usize {
        _mm512_mask_cmplt_epu32_mask(!0xF, heads(line), _mm512_set1_epi32(head as i32)).count_ones() as usize
    }

    fn count_below(line: &HeadLine, head: u32) -> usize {
        _mm512_cmplt_epu32_mask(heads(line), _mm512_set1_epi32(head as i32)).count_ones() as usize
    }

    fn count_at_most(line: &HeadLine, head: u32) -> usize {
        _mm512_cmple_epu32_mask(heads(line), _mm512_set1_epi32(head as i32)).count_ones() as usize
    }

    fn hints_below(hints: &HintLines, hint_count: usize, head: u32) -> usize {
        // Always all lines: a branch on their number would sometimes be mispredicted.
        let head = _mm512_set1_epi32(head as i32);
        let (lines, _) = hints.as_chunks::<64>();
        let below = |line: usize| _mm512_cmplt_epu32_mask(heads(&lines[line]), head);
        let low = _mm512_kunpackw(u32::from(below(1)), u32::from(below(0)));
        let high = _mm512_kunpackw(u32::from(below(3)), u32::from(below(2)));
        _bzhi_u64(_mm512_kunpackd(u64::from(high), u64::from(low)), hint_count as u32).count_ones() as usize
    }

    fn tags_equal(tags: &TagLine, tag: u16) -> u32 {
        // SAFETY: the load takes the line's 32 bytes.
        let tags = unsafe { _mm256_loadu_si256(tags.as_ptr().cast()) };
        _mm256_cmpeq_epi16_mask(tags, _mm256_set1_epi16(tag as i16)) as u32
    }

    fn has_tied_hints(line: &HeadLine) -> bool {
        let line = heads(line);
        let next = _mm512_alignr_epi32::<1>(line, line);
        // Eight pairs of neighbours. The slots after the last hint hold the largest number.
        let used = _mm512_mask_cmpneq_epi32_mask(0x0FF0, next, _mm512_set1_epi32(-1));
        _mm512_mask_cmpeq_epi32_mask(used, next, line) != 0
    }

    fn long_heads_below(line: &[u64; 8], head: u64) -> (usize, bool) {
        // SAFETY: the load takes the line's 64 bytes.
        let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        let head = _mm512_set1_epi64(head as i64);
        let same = _mm512_cmpeq_epi64_mask(line, head) != 0;
        (_mm512_cmplt_epu64_mask(line, head).count_ones() as usize, same)
    }

    fn has_filter_bits(line: &HeadLine, mixed: u64) -> bool {
        // Nine bits of the hash for each; the last one twice, because there are eight lanes.
        let shifts = _mm512_setr_epi64(55, 46, 37, 28, 19, 10, 1, 1);
        let bits = _mm512_srlv_epi64(_mm512_set1_epi64(mixed as i64), shifts);
        // Only the low three bits of a word's index count.
        let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<6>(bits), heads(line));
        let asked = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_and_si512(bits, _mm512_set1_epi64(63)));
        _mm512_test_epi64_mask(words, asked) == 0xFF
    }

    fn equal_beyond_32(left: &[u8], right: &[u8]) -> bool {
        let length = left.len().min(right.len());
        if length > 128 {
            return equal_long(left, right);
        }
        // Always both halves: a branch on the length would be mispredicted for keys of about 64 bytes.
        let rest = _bzhi_u64(!0, length.saturating_sub(64) as u32);
        !(differ(left, right, 0, _bzhi_u64(!0, length as u32)) | differ(left, right, 64, rest))
    }

    fn equal_to_32(left: &[u8], right: &[u8]) -> bool {
        let mask = _bzhi_u32(!0, left.len().min(right.len()) as u32);
        // SAFETY: the mask leaves out all bytes past the end of the shorter slice, and masked bytes are not accessed.
        let left = unsafe { _mm256_maskz_loadu_epi8(mask, left.as_ptr().cast()) };
        // SAFETY: as above.
        let right = unsafe { _mm256_maskz_loadu_epi8(mask, right.as_ptr().cast()) };
        _mm256_cmpneq_epu8_mask(left, right) == 0
    }

    fn equal_short(left: &[u8], right: &[u8]) -> bool {
        let length = left.len().min(right.len());
        debug_assert!(length <= 64, "only the start is compared");
        !differ(left, right, 0, _bzhi_u64(!0, length as u32))
    }

    fn differ(left: &[u8], right: &[u8], at: usize, mask: u64) -> bool {
        // SAFETY: callers mask out all bytes past the end of the shorter slice, and masked bytes are not accessed.
        let left = unsafe { _mm512_maskz_loadu_epi8(mask, left.as_ptr().wrapping_add(at).cast()) };
        // SAFETY: as above.
        let right = unsafe { _mm512_maskz_loadu_epi8(mask, right.as_ptr().wrapping_add(at).cast()) };
        _mm512_cmpneq_epu8_mask(left, right) != 0
    }
}

/// A function of its own, because long keys are rare and otherwise every search would contain it.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
fn equal_long(left: &[u8], right: &[u8]) -> bool {
    let length = left.len().min(right.len());
    let mut at = 0;
    while at + 64 < length {
        if differ(left, right, at, !0) {
            return false;
        }
        at += 64;
    }
    !differ(left, right, at, _bzhi_u64(!0, (length - at) as u32))
}

// SAFETY of every block below: `Avx512` runs only inside `run` and `look_up`, whose features were detected.
impl Search for Avx512 {
    const ISA: Isa = Isa::Avx512;

    #[inline(always)]
    fn head4(key: &[u8], skip: u16) -> u32 {
        // SAFETY: see above.
        unsafe { head4(key, skip) }
    }

    #[inline(always)]
    fn head8(key: &[u8], skip: u16) -> u64 {
        // SAFETY: see above.
        unsafe { head8(key, skip) }
    }

    #[inline(always)]
    fn count_below_after_4(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { count_below_after_4(line, head) }
    }

    #[inline(always)]
    fn count_below(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { count_below(line, head) }
    }

    #[inline(always)]
    fn count_at_most(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { count_at_most(line, head) }
    }

    #[inline(always)]
    fn signed_below(numbers: &[i32; EIGHT_HEADS], bound: i32) -> usize {
        // SAFETY: see above.
        unsafe { avx2::signed_below(numbers, bound) }
    }

    #[inline(always)]
    fn hints_below(hints: &HintLines, hint_count: usize, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { hints_below(hints, hint_count, head) }
    }

    #[inline(always)]
    fn long_heads_below(line: &[u64; 8], head: u64) -> (usize, bool) {
        // SAFETY: see above.
        unsafe { long_heads_below(line, head) }
    }

    #[inline(always)]
    fn has_filter_bits(line: &HeadLine, mixed: u64) -> bool {
        // SAFETY: see above.
        unsafe { has_filter_bits(line, mixed) }
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
    fn slot_of(blocks: &BlockLines, block_count: usize, tag: u16) -> usize {
        // SAFETY: see above.
        unsafe { avx2::slot_of(blocks, block_count, tag) }
    }

    #[inline(always)]
    fn equal(left: &[u8], right: &[u8]) -> bool {
        if left.len().min(right.len()) <= 32 {
            // SAFETY: see above.
            return unsafe { equal_to_32(left, right) };
        }
        // SAFETY: see above.
        unsafe { equal_beyond_32(left, right) }
    }

    #[inline(always)]
    fn equal_short(left: &[u8], right: &[u8]) -> bool {
        // SAFETY: see above.
        unsafe { equal_short(left, right) }
    }
}
