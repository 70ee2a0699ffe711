//! XXH3-64 of long input with AVX-512: the checksum of pages, in a third of the time that baseline instructions need
//! while the page is in the near cache.
//!
//! `xxhash-rust` chooses its instructions when it is compiled, and so uses the baseline's. The result is the same at
//! every length, which the tests compare. Called by `hash/identity.rs` only.
#![allow(unsafe_code)] // Vector loads, and the call of what needs a feature.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_loadu_si512, _mm512_mul_epu32, _mm512_set1_epi64, _mm512_shuffle_epi32,
    _mm512_slli_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_xor_si512,
};

use xxhash_rust::const_xxh3::const_custom_default_secret;

use crate::format::bytes::{get_u64, put};
use crate::format::search::{Isa, selected};

/// XXH3-64 with a seed, if the input is long and the machine has AVX-512. The check costs less than a page's first
/// cache miss.
pub(super) fn xxh3_64_of_long(bytes: &[u8], seed: u64) -> Option<u64> {
    if bytes.len() <= SHORT_BYTES_MAX || !matches!(selected(), Ok(Isa::Avx512)) {
        return None;
    }
    // SAFETY: `selected` names only what this machine supports, and AVX-512 there includes the features named below.
    Some(unsafe { long(bytes, seed) })
}

/// Requires: more than [`SHORT_BYTES_MAX`] bytes.
#[target_feature(enable = "avx512f")]
fn long(bytes: &[u8], seed: u64) -> u64 {
    let secret = secret_of(seed);
    let mut keys = [_mm512_set1_epi64(0); STRIPES + 1];
    for (number, key) in keys.iter_mut().enumerate() {
        *key = load(stripe(&secret, KEY_STEP * number));
    }
    let mut start = [0; STRIPE];
    for (number, lane) in LANES.iter().enumerate() {
        put(&mut start, 8 * number, lane.to_le_bytes());
    }
    let mut lanes = load(&start);
    // The last byte always belongs to the last stripe, which overlaps the bytes before it.
    let (blocks, rest) = bytes[..bytes.len() - 1].as_chunks::<{ STRIPE * STRIPES }>();
    for block in blocks {
        let (stripes, _) = block.as_chunks::<STRIPE>();
        for (stripe, key) in stripes.iter().zip(&keys) {
            lanes = accumulate(lanes, load(stripe), *key);
        }
        lanes = scramble(lanes, keys[STRIPES]);
    }
    let (stripes, _) = rest.as_chunks::<STRIPE>();
    for (stripe, key) in stripes.iter().zip(&keys) {
        lanes = accumulate(lanes, load(stripe), *key);
    }
    let last = load(stripe(bytes, bytes.len() - STRIPE));
    let last_key = load(stripe(&secret, secret.len() - STRIPE - LAST_STEP));
    merge(accumulate(lanes, last, last_key), &secret, bytes.len())
}

/// The secret that a seed makes: its even numbers are raised by the seed, its odd ones lowered.
fn secret_of(seed: u64) -> [u8; SECRET.len()] {
    let mut secret = [0; SECRET.len()];
    for at in (0..SECRET.len()).step_by(16) {
        put(&mut secret, at, get_u64(&SECRET, at).wrapping_add(seed).to_le_bytes());
        put(&mut secret, at + 8, get_u64(&SECRET, at + 8).wrapping_sub(seed).to_le_bytes());
    }
    secret
}

/// Requires: `at + STRIPE <= bytes.len()`.
#[inline(always)]
fn stripe(bytes: &[u8], at: usize) -> &[u8; STRIPE] {
    bytes[at..].first_chunk().expect("the caller's word")
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; STRIPE]) -> __m512i {
    // SAFETY: the load takes the 64 bytes behind the reference, at any alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn accumulate(lanes: __m512i, stripe: __m512i, key: __m512i) -> __m512i {
    let mixed = _mm512_xor_si512(stripe, key);
    let product = _mm512_mul_epu32(mixed, _mm512_srli_epi64::<32>(mixed));
    // The two numbers of each pair change places.
    let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(stripe);
    _mm512_add_epi64(lanes, _mm512_add_epi64(product, swapped))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn scramble(lanes: __m512i, key: __m512i) -> __m512i {
    let mixed = _mm512_xor_si512(_mm512_xor_si512(lanes, _mm512_srli_epi64::<47>(lanes)), key);
    let prime = _mm512_set1_epi64(PRIME_32.cast_signed());
    let (low, high) = (_mm512_mul_epu32(mixed, prime), _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), prime));
    _mm512_add_epi64(low, _mm512_slli_epi64::<32>(high))
}

#[target_feature(enable = "avx512f")]
fn merge(lanes: __m512i, secret: &[u8], length: usize) -> u64 {
    let mut numbers = [0_u64; 8];
    // SAFETY: the store fills the array's 64 bytes, at any alignment.
    unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), lanes) };
    let mut hash = (length as u64).wrapping_mul(PRIME_64);
    for (number, pair) in numbers.as_chunks::<2>().0.iter().enumerate() {
        let at = MERGE_START + 16 * number;
        let (one, other) = (pair[0] ^ get_u64(secret, at), pair[1] ^ get_u64(secret, at + 8));
        let product = u128::from(one) * u128::from(other);
        hash = hash.wrapping_add(product as u64 ^ (product >> 64) as u64);
    }
    hash = (hash ^ hash >> 37).wrapping_mul(PRIME_AVALANCHE);
    hash ^ hash >> 32
}

/// XXH3 treats input up to this length in other ways.
const SHORT_BYTES_MAX: usize = 240;
const STRIPE: usize = 64;
/// Stripes of a block: after them the lanes are scrambled.
const STRIPES: usize = 16;
/// Each stripe's key begins so many bytes after the one before.
const KEY_STEP: usize = 8;
/// The last stripe's key ends so many bytes before the secret does.
const LAST_STEP: usize = 7;
/// Where the part of the secret begins that the lanes are merged with.
const MERGE_START: usize = 11;
/// XXH3's secret without a seed.
const SECRET: [u8; 192] = const_custom_default_secret(0);
const PRIME_32: u64 = 0x9E37_79B1;
const PRIME_64: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME_AVALANCHE: u64 = 0x1656_6791_9E37_79F9;
/// What the lanes begin with: the primes of XXH32 and XXH64.
const LANES: [u64; 8] = [
    0xC2B2_AE3D,
    PRIME_64,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x85EB_CA77,
    0x27D4_EB2F_1656_67C5,
    PRIME_32,
];

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    use super::*;
    use crate::format::search::supported;

    #[test]
    fn long_input_hashes_as_the_reference_has_it_at_every_length() {
        if !supported().any(|isa| isa == Isa::Avx512) {
            return;
        }
        let bytes: Vec<u8> = (0..20_000_u32).map(|index| (index.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
        for seed in [0, 1, 0x0123_4567_89AB_CDEF, u64::MAX] {
            for length in (SHORT_BYTES_MAX + 1..5000).chain([8184, 16_376, 16_384, 20_000]) {
                let bytes = &bytes[length % 7..][..length - 7];
                if bytes.len() <= SHORT_BYTES_MAX {
                    continue;
                }
                // SAFETY: the machine supports AVX-512, as was asked above.
                let found = unsafe { long(bytes, seed) };
                assert_eq!(found, xxh3_64_with_seed(bytes, seed), "{} bytes, seed {seed}", bytes.len());
            }
        }
    }

    #[test]
    fn short_input_is_left_to_the_reference() {
        assert_eq!(xxh3_64_of_long(&[7; SHORT_BYTES_MAX], 1), None);
    }
}
