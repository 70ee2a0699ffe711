//! Page search for any processor: loops that compilers turn into whatever vectors the target's baseline has.

use crate::format::search::{HeadLine, Isa, Search, TagLine};

/// See [`Search`].
#[derive(Clone, Copy)]
pub(super) struct Portable;

/// Counts the heads for which `counts` holds, without a branch.
#[inline(always)]
fn count<const N: usize>(heads: [u32; N], counts: impl Fn(u32) -> bool) -> usize {
    let mut total = 0;
    for head in heads {
        total += counts(head) as u32;
    }
    total as usize
}

/// The last `N` heads of a line.
#[inline(always)]
fn heads<const N: usize>(line: &HeadLine) -> [u32; N] {
    let (heads, _) = line.as_chunks::<4>();
    std::array::from_fn(|lane| u32::from_le_bytes(heads[16 - N + lane]))
}

impl Search for Portable {
    const ISA: Isa = Isa::Portable;

    #[inline(always)]
    fn count_below_after_4(line: &HeadLine, head: u32) -> usize {
        count(heads::<12>(line), |other| other < head)
    }

    #[inline(always)]
    fn count_below(line: &HeadLine, head: u32) -> usize {
        count(heads::<16>(line), |other| other < head)
    }

    #[inline(always)]
    fn count_at_most(line: &HeadLine, head: u32) -> usize {
        count(heads::<16>(line), |other| other <= head)
    }

    #[inline(always)]
    fn tags_equal(tags: &TagLine, tag: u16) -> u32 {
        const LOW: u64 = 0x7FFF_7FFF_7FFF_7FFF;
        // Moves the top bits of the four lanes side by side into bits 48 to 51 of a product.
        const GATHER: u64 = 1 << 48 | 1 << 33 | 1 << 18 | 1 << 3;
        let wanted = tag as u64 * 0x0001_0001_0001_0001;
        let mut mask = 0;
        for (index, word) in tags.as_chunks::<8>().0.iter().enumerate() {
            let difference = u64::from_le_bytes(*word) ^ wanted;
            // The top bit of each lane that is zero, and no other bit.
            let zero = !(((difference & LOW) + LOW) | difference | LOW);
            mask |= ((((zero >> 15).wrapping_mul(GATHER)) >> 48) & 15) << (4 * index);
        }
        mask as u32
    }
}
