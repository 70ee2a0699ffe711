//! The filter of a run: one cache line shows that a key is certainly not in the run. See
//! `docs/reference/file-format.md`, "Filters".
//!
//! A key has one line of 64 bytes by the upper half of its hash, and sets seven bits of it. Of absent keys, it passes
//! about one in 150.

use crate::format::filter::line::{LINE_BYTES, bits_of, has_bits};
use crate::format::search::Search;

/// The filter of keys with these hashes, as it is stored.
pub fn build_filter(hashes: &[u64]) -> Vec<u8> {
    let lines = (hashes.len() * KEY_BITS).div_ceil(8 * LINE_BYTES).max(1);
    let mut filter = vec![0; lines * LINE_BYTES];
    for &hash in hashes {
        let start = line_of(lines, hash) * LINE_BYTES;
        for bit in bits_of(hash.wrapping_mul(MIX)) {
            filter[start + bit / 8] |= 1 << (bit % 8);
        }
    }
    filter
}

/// Where in a filter of so many bytes the line of a key is.
#[inline(always)]
pub fn filter_line(filter_bytes: usize, hash: u64) -> usize {
    line_of(filter_bytes / LINE_BYTES, hash) * LINE_BYTES
}

/// Whether a key with this hash may be among those of the filter that has this line at [`filter_line`].
#[inline(always)]
pub fn filter_line_passes<S: Search>(line: &[u8; LINE_BYTES], hash: u64) -> bool {
    S::has_filter_bits(line, hash.wrapping_mul(MIX))
}

/// Whether a key with this hash may be among those of the filter. A filter that no version wrote passes every key.
#[inline(always)]
pub fn filter_passes(filter: &[u8], hash: u64) -> bool {
    let start = filter_line(filter.len(), hash);
    let Some(line) = filter.get(start..).and_then(<[u8]>::first_chunk::<LINE_BYTES>) else { return true };
    has_bits(line, hash.wrapping_mul(MIX))
}

#[inline(always)]
fn line_of(lines: usize, hash: u64) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}

/// Bits of the filter for each key. Only the writer of a filter needs to know.
const KEY_BITS: usize = 12;
/// Odd, and its bits look random: so each bit of the hash has a say in the upper ones. On disk: never change.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Identity;
    use crate::format::search::{WithSearch, supported, with_isa};

    fn hashes(keys: std::ops::Range<u64>) -> Vec<u64> {
        let identity = Identity::new(*b"0123456789abcdef");
        keys.map(|key| identity.hash(&key.to_le_bytes())).collect()
    }

    #[test]
    fn every_key_of_a_filter_passes_and_few_others_do() {
        for count in if cfg!(miri) { [1, 40, 120] } else { [1, 1000, 100_000] } {
            let filter = build_filter(&hashes(0..count));
            assert_eq!(filter.len() % 64, 0);
            assert!(hashes(0..count).iter().all(|&hash| filter_passes(&filter, hash)), "{count} keys");
            let others = hashes(count..2 * count + 100);
            let passed = others.iter().filter(|&&hash| filter_passes(&filter, hash)).count();
            assert!(passed <= others.len() / 50 + 3, "{passed} of {} absent keys pass", others.len());
        }
    }

    #[test]
    fn every_instruction_set_says_the_same_of_a_line() {
        const KEYS: u64 = if cfg!(miri) { 50 } else { 150 };
        struct Lines(Vec<u8>);
        impl WithSearch for Lines {
            type Output = usize;

            fn run<S: Search>(self) -> usize {
                let (lines, _) = self.0.as_chunks::<LINE_BYTES>();
                let hashes = hashes(0..2 * KEYS);
                let asked = || lines.iter().flat_map(|line| hashes.iter().map(move |&hash| (line, hash)));
                let passing = |(line, hash): &(&[u8; LINE_BYTES], u64)| filter_line_passes::<S>(line, *hash);
                assert!(asked().all(|(line, hash)| filter_line_passes::<S>(line, hash) == filter_passes(line, hash)));
                asked().filter(passing).count()
            }
        }
        let filter = build_filter(&hashes(0..KEYS));
        let counts: Vec<_> = supported().filter_map(|isa| with_isa(isa, Lines(filter.clone()))).collect();
        assert!(counts.iter().all(|&count| count >= KEYS as usize && count == counts[0]), "{counts:?}");
    }

    #[test]
    fn a_filter_that_nobody_wrote_passes_every_key() {
        for length in [0, 1, 63] {
            assert!(filter_passes(&vec![0; length], 1 << 63));
        }
        assert!(!filter_passes(&[0; 64], 1 << 63));
    }
}
