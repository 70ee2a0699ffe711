//! Reading and comparing bytes: unchecked reads for the views over verified pages, and safe word-wise comparison.
//!
//! Callers: `format` only. Comparison never calls `memcmp`: keys differ early and are short, so a loop over 64-bit
//! words, inlined, is cheaper than the call.
#![allow(unsafe_code)] // Unchecked reads of verified pages, and word loads whose bounds were just compared.

use crate::format::page::INLINE_KEY_BYTES_MAX;

/// `N` bytes of `bytes` from `at`.
///
/// # Safety
/// `at + N <= bytes.len()`.
#[inline(always)]
pub unsafe fn array_at<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    debug_assert!(at + N <= bytes.len(), "read of {N} bytes at {at} of {}", bytes.len());
    // SAFETY: `at` is inside `bytes` by this function's contract.
    let start = unsafe { bytes.as_ptr().add(at) };
    // SAFETY: the `N` bytes from `start` lie inside `bytes` by this function's contract; `[u8; N]` needs no alignment.
    unsafe { &*start.cast::<[u8; N]>() }
}

/// `length` bytes of `bytes` from `at`.
///
/// # Safety
/// `at + length <= bytes.len()`.
#[inline(always)]
pub unsafe fn slice_at(bytes: &[u8], at: usize, length: usize) -> &[u8] {
    debug_assert!(at + length <= bytes.len(), "read of {length} bytes at {at} of {}", bytes.len());
    // SAFETY: this function's contract is that of `get_unchecked`.
    unsafe { bytes.get_unchecked(at..at + length) }
}

/// The little-endian u16 at `at`, widened.
///
/// # Safety
/// `at + 2 <= bytes.len()`.
#[inline(always)]
pub unsafe fn u16_at(bytes: &[u8], at: usize) -> usize {
    // SAFETY: this function's contract.
    u16::from_le_bytes(*unsafe { array_at(bytes, at) }) as usize
}

/// The little-endian u32 at `at`.
///
/// # Safety
/// `at + 4 <= bytes.len()`.
#[inline(always)]
pub unsafe fn u32_at(bytes: &[u8], at: usize) -> u32 {
    // SAFETY: this function's contract.
    u32::from_le_bytes(*unsafe { array_at(bytes, at) })
}

/// The little-endian u64 at `at`.
///
/// # Safety
/// `at + 8 <= bytes.len()`.
#[inline(always)]
pub unsafe fn u64_at(bytes: &[u8], at: usize) -> u64 {
    // SAFETY: this function's contract.
    u64::from_le_bytes(*unsafe { array_at(bytes, at) })
}

/// The little-endian u16 at `at`. Panics out of bounds, as slices do.
#[inline]
pub fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The little-endian u32 at `at`. Panics out of bounds, as slices do.
#[inline]
pub fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The little-endian u64 at `at`. Panics out of bounds, as slices do.
#[inline]
pub fn get_u64(bytes: &[u8], at: usize) -> u64 {
    // Not `copy_from_slice`: that is a call, whose length is a constant only where the call is inlined.
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Writes a little-endian number's bytes at `at`. Panics out of bounds, as slices do.
#[inline]
pub fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

/// The four bytes of `key` after its first `skip`, zero-padded, as a big-endian number: the key's head.
///
/// `skip` may still be loading from memory: the usual case waits for it in one load.
#[inline(always)]
pub fn head4(key: &[u8], skip: usize) -> u32 {
    let length = key.len();
    if skip.saturating_add(4) <= length {
        // SAFETY: just compared.
        return u32::from_be_bytes(*unsafe { array_at(key, skip) });
    }
    head_near_end(key, skip)
}

/// [`head4`] of a key that ends before the head does. A function of its own leaves registers to the case of longer
/// keys.
#[inline(never)]
fn head_near_end(key: &[u8], skip: usize) -> u32 {
    (head8(key, skip) >> 32) as u32
}

/// [`head4`] of the part of a key that cells hold; bytes past that part count as padding. For keys that are usually
/// longer.
#[inline(always)]
pub fn head4_of_part(key: &[u8], skip: usize) -> u32 {
    let part_length = key.len().min(INLINE_KEY_BYTES_MAX);
    if skip + 4 <= part_length {
        // SAFETY: just compared.
        return u32::from_be_bytes(*unsafe { array_at(key, skip) });
    }
    // SAFETY: the length is at most the slice's.
    head4(unsafe { slice_at(key, 0, part_length) }, skip)
}

/// The eight bytes of `key` after its first `skip`, zero-padded, as a big-endian number.
#[inline(always)]
pub fn head8(key: &[u8], skip: usize) -> u64 {
    let Some(last) = key.len().checked_sub(8) else { return short_word(key).unbounded_shl(8 * skip.min(8) as u32) };
    let at = skip.min(last);
    // SAFETY: `at <= key.len() - 8`.
    let word = u64::from_be_bytes(*unsafe { array_at(key, at) });
    word.unbounded_shl(8 * (skip - at).min(8) as u32)
}

/// All of a key of less than eight bytes, zero-padded, as a big-endian number.
#[inline(always)]
fn short_word(key: &[u8]) -> u64 {
    let length = key.len();
    if length < 4 {
        return key.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)).unbounded_shl(8 * (8 - length) as u32);
    }
    // SAFETY: the key has at least four bytes.
    let start = u32::from_be_bytes(*unsafe { array_at(key, 0) });
    // SAFETY: as above.
    let end = u32::from_be_bytes(*unsafe { array_at(key, length - 4) });
    // Bytes that are in both are equal.
    u64::from(start) << 32 | u64::from(end) << (64 - 8 * length)
}

/// Whether `left <= right`, by words.
#[inline(always)]
pub fn at_most(left: &[u8], right: &[u8]) -> bool {
    let (left_word, right_word) = first_difference(left, right);
    left_word < right_word || (left_word == right_word && left.len() <= right.len())
}

/// The first pair of big-endian words that differ, zero-padded at the end; an equal pair if none does.
#[inline(always)]
fn first_difference(left: &[u8], right: &[u8]) -> (u64, u64) {
    let shared = left.len().min(right.len());
    let mut at = 0;
    while at + 8 <= shared {
        // SAFETY: `at + 8 <= shared <= left.len()`.
        let left_word = u64::from_be_bytes(*unsafe { array_at(left, at) });
        // SAFETY: `at + 8 <= shared <= right.len()`.
        let right_word = u64::from_be_bytes(*unsafe { array_at(right, at) });
        if left_word != right_word {
            return (left_word, right_word);
        }
        at += 8;
    }
    (head8(left, at), head8(right, at))
}

/// Whether two slices of equal length hold the same bytes, by pieces that overlap at the end.
#[inline(always)]
pub fn equal(left: &[u8], right: &[u8]) -> bool {
    debug_assert_eq!(left.len(), right.len());
    let length = left.len().min(right.len());
    if length == 0 {
        return true;
    }
    if length >= 16 {
        // Sixteen bytes are one vector of every processor's baseline.
        let mut same = sixteen_equal(left, right, 0);
        let mut at = 16;
        while at + 16 < length {
            same &= sixteen_equal(left, right, at);
            at += 16;
        }
        return same & sixteen_equal(left, right, length - 16);
    }
    if length >= 8 {
        return equal_by_words(left, right);
    }
    if length >= 4 {
        // SAFETY: `4 <= length`, the shorter of both.
        let start = unsafe { u32_at(left, 0) } ^ unsafe { u32_at(right, 0) };
        // SAFETY: `4 <= length`, the shorter of both.
        let end = unsafe { u32_at(left, length - 4) } ^ unsafe { u32_at(right, length - 4) };
        return start | end == 0;
    }
    // First, middle and last byte are all of them.
    (left[0] ^ right[0]) | (left[length / 2] ^ right[length / 2]) | (left[length - 1] ^ right[length - 1]) == 0
}

/// [`equal`] for slices of 8 to 16 bytes.
#[inline(always)]
pub fn equal_by_words(left: &[u8], right: &[u8]) -> bool {
    let length = left.len().min(right.len());
    assert!(length >= 8, "a word is in both");
    words_differ(left, right, 0) | words_differ(left, right, length - 8) == 0
}

/// Requires: `at + 16` is in both.
#[inline(always)]
fn sixteen_equal(left: &[u8], right: &[u8], at: usize) -> bool {
    // SAFETY: all callers compared `at + 16` with the shorter length.
    let left: &[u8; 16] = unsafe { array_at(left, at) };
    // SAFETY: as above.
    left == unsafe { array_at(right, at) }
}

/// The bits in which two words differ. Requires: `at + 8` is in both.
#[inline(always)]
fn words_differ(left: &[u8], right: &[u8], at: usize) -> u64 {
    // SAFETY: all callers compared `at + 8` with the shorter length.
    let left = unsafe { u64_at(left, at) };
    // SAFETY: as above.
    left ^ unsafe { u64_at(right, at) }
}

/// Length of the longest common prefix.
#[inline]
pub fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    let shared = left.len().min(right.len());
    let mut at = 0;
    while at + 8 <= shared {
        let difference = words_differ(left, right, at);
        if difference != 0 {
            return at + difference.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + left[at..shared].iter().zip(&right[at..shared]).take_while(|(a, b)| a == b).count()
}
