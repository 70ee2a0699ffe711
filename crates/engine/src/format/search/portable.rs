//! Page search for any processor: loops that compilers turn into the vectors of the target's baseline. On x86-64, whose
//! baseline is SSE2, only tests run it.

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
        let (tags, _) = tags.as_chunks::<2>();
        // Without a branch, and lane by lane until the end, so that the compiler uses vectors of the baseline.
        let mut mask = 0;
        for (lane, stored) in tags.iter().enumerate() {
            mask |= if u16::from_le_bytes(*stored) == tag { 1 << lane } else { 0u16 };
        }
        u32::from(mask)
    }
}
