//! The hash of a term: XXH3 of 128 bits over its bytes, with a secret seed of the store. Without the seed, nobody can
//! construct terms with equal hashes.

use std::hash::{BuildHasher, Hasher, RandomState};

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// How a store hashes terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermHasher {
    seed: u64,
    /// Bits that are kept; fewer than 128 in tests of collisions only.
    bits: u8,
}

impl TermHasher {
    /// A hasher with a seed of its own.
    pub fn random() -> Self {
        Self::of_seed(RandomState::new().hash_one(std::process::id()))
    }

    pub fn of_seed(seed: u64) -> Self {
        Self { seed, bits: 128 }
    }

    /// A hasher whose hashes have few bits.
    #[cfg(test)]
    pub fn narrow(bits: u8) -> Self {
        Self { seed: 1, bits }
    }

    #[inline]
    pub fn hash(&self, bytes: &[u8]) -> u128 {
        let hash = xxh3_128_with_seed(bytes, self.seed);
        if self.bits == 128 { hash } else { hash & ((1 << self.bits) - 1) }
    }

    pub fn to_bytes(self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[..8].copy_from_slice(&self.seed.to_be_bytes());
        bytes[8] = self.bits;
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (seed, &[bits]) = bytes.split_first_chunk::<8>()? else { return None };
        let is_width = bits == 128 || (cfg!(test) && bits < 128);
        is_width.then(|| Self { seed: u64::from_be_bytes(*seed), bits })
    }
}

/// Hashes of terms are hashes already.
#[derive(Default)]
pub struct HashedAlready(u64);

impl Hasher for HashedAlready {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only numbers of 128 bits are hashed")
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
