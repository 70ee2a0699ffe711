//! The one hash of the format, and how it is seeded from a database's identity.

use xxhash_rust::const_xxh3::const_custom_default_secret;
use xxhash_rust::xxh3::{xxh3_64_with_secret, xxh3_64_with_seed};

use crate::format::bytes::get_u64;
use crate::ids::PageRef;

/// A database's identity: its uuid, and the hash seed that follows from it.
///
/// The seed makes the tags of one database useless against another. It also makes a page that was copied from another
/// database, or from another place of this one, fail its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Random at creation, stored in the meta.
    pub uuid: [u8; 16],
    /// The two halves of the uuid as little-endian numbers, exclusive-ored.
    pub tag_seed: u64,
    /// The secret that XXH3 derives from the seed. For 17 to 128 bytes, as most keys have, a hash with this secret
    /// equals the hash with the seed, without the work of mixing the seed into the secret each time.
    secret: [u8; 192],
}

impl Identity {
    /// The identity that belongs to a uuid.
    pub fn new(uuid: [u8; 16]) -> Self {
        let tag_seed = get_u64(&uuid, 0) ^ get_u64(&uuid, 8);
        Self { uuid, tag_seed, secret: const_custom_default_secret(tag_seed) }
    }

    /// XXH3-64 of `bytes`, seeded with the tag seed: the hash of a key, and the checksum of overflow bytes.
    #[inline(always)]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        match bytes.len() {
            17..=128 => xxh3_64_with_secret(bytes, &self.secret),
            _ => xxh3_64_with_seed(bytes, self.tag_seed),
        }
    }

    /// Seed of the checksum of the page at `at`: different for every page of a database.
    pub fn page_seed(&self, at: PageRef) -> u64 {
        self.tag_seed ^ mix((at.extent.0 as u64) << 32 | at.slot as u64)
    }
}

/// One step of SplitMix64: a bijection, so that two places never share a seed.
fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// XXH3-64 with an explicit seed, for pages and metas.
pub fn checksum(bytes: &[u8], seed: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(sum) = super::avx512::xxh3_64_of_long(bytes, seed) {
        return sum;
    }
    xxh3_64_with_seed(bytes, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prepared_secret_gives_the_seeded_hash_at_every_length() {
        let bytes: Vec<u8> = (0..300u32).map(|index| (index * 89 + 7) as u8).collect();
        for uuid in [[0; 16], [7; 16], std::array::from_fn(|index| (index * index + 1) as u8)] {
            let identity = Identity::new(uuid);
            // Under Miri some lengths of each way to hash, and those where one way ends.
            let asked =
                |length: &usize| !cfg!(miri) || length.is_multiple_of(31) || [16, 17, 128, 129].contains(length);
            for length in (0..=bytes.len()).filter(asked) {
                let expected = xxh3_64_with_seed(&bytes[..length], identity.tag_seed);
                assert_eq!(identity.hash(&bytes[..length]), expected, "{length} bytes");
            }
        }
    }
}
