//! Hashes for collections in memory, of numbers above all: a few instructions each, where the standard library's take
//! hundreds.
//!
//! The seed is a secret of the process, so nobody can choose terms, such as integers, with equal hashes. Hashes are
//! never stored.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// See the module.
#[derive(Clone, Copy)]
pub struct SeededHash(u64);

/// The hash so far.
pub struct SeededHasher(u64);

impl Default for SeededHash {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        Self(*SEED.get_or_init(|| RandomState::new().hash_one(0)))
    }
}

impl BuildHasher for SeededHash {
    type Hasher = SeededHasher;

    #[inline]
    fn build_hasher(&self) -> SeededHasher {
        SeededHasher(self.0)
    }
}

impl Hasher for SeededHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    /// Both halves of a product depend on all bits of the number and of the hash before.
    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * u128::from(MULTIPLIER);
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(self.0.rotate_left(32));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// An odd number with as many ones as zeros, in no order: the golden ratio's digits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn numbers_that_follow_each_other_have_different_hashes_whose_upper_and_lower_bits_are_spread() {
        let hashes = SeededHash::default();
        let all: Vec<u64> =
            (0..4096_u64).flat_map(|one| [0, 1 << 56].map(|two| hashes.hash_one([one, two, 7]))).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        // Of 8192 in 1024 places each most often has 8, and very seldom more than 24.
        for shift in [0, 54] {
            let mut counts = [0; 1024];
            all.iter().for_each(|hash| counts[(hash >> shift) as usize % 1024] += 1);
            assert!(counts.iter().all(|&count| count < 32), "{:?}", counts.iter().max());
        }
    }

    #[test]
    fn texts_are_told_apart_by_what_comes_before_and_after() {
        let hashes = SeededHash::default();
        let texts = [("a", "b"), ("", "ab"), ("ab", ""), ("b", "a"), ("", "")];
        assert_eq!(texts.map(|pair| hashes.hash_one(pair)).into_iter().collect::<HashSet<_>>().len(), texts.len());
    }
}
