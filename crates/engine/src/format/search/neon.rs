//! Page search with NEON, which every aarch64 processor of interest has.

use std::arch::aarch64::{
    uint16x8_t, uint32x4_t, vaddq_u32, vaddvq_u16, vaddvq_u32, vandq_u16, vceqq_u16, vcleq_u32, vcltq_u32, vdupq_n_u16,
    vdupq_n_u32, vld1q_u8, vld1q_u16, vreinterpretq_u16_u8, vreinterpretq_u32_u8, vshrq_n_u32,
};

use crate::format::search::{HeadLine, Isa, Lookup, Search, TagLine, WithSearch};

/// See [`Search`].
#[derive(Clone, Copy)]
struct Neon;

/// Runs `work` compiled for NEON.
///
/// # Safety
/// The machine supports NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn run<W: WithSearch>(work: W) -> W::Output {
    work.run::<Neon>()
}

/// Runs a lookup compiled for NEON.
///
/// # Safety
/// The machine supports NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn look_up<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    L::run::<Neon>(pages, tree, key)
}

/// Four of a line's heads, from the `part`th on. Requires: `part < 4`.
#[inline]
#[target_feature(enable = "neon")]
fn heads(line: &HeadLine, part: usize) -> uint32x4_t {
    let (parts, _) = line.as_chunks::<16>();
    // SAFETY: the load takes the array's 16 bytes.
    vreinterpretq_u32_u8(unsafe { vld1q_u8(parts[part].as_ptr()) })
}

/// Eight tags.
#[inline]
#[target_feature(enable = "neon")]
fn tags(bytes: &[u8; 16]) -> uint16x8_t {
    // SAFETY: the load takes the array's 16 bytes.
    vreinterpretq_u16_u8(unsafe { vld1q_u8(bytes.as_ptr()) })
}

/// One where a lane is all ones, else zero.
#[inline]
#[target_feature(enable = "neon")]
fn ones(lanes: uint32x4_t) -> uint32x4_t {
    vshrq_n_u32::<31>(lanes)
}

#[inline]
#[target_feature(enable = "neon")]
fn count_below_from(line: &HeadLine, first_part: usize, head: u32) -> usize {
    let wanted = vdupq_n_u32(head);
    let mut total = vdupq_n_u32(0);
    for part in first_part..4 {
        total = vaddq_u32(total, ones(vcltq_u32(heads(line, part), wanted)));
    }
    vaddvq_u32(total) as usize
}

#[inline]
#[target_feature(enable = "neon")]
fn count_at_most(line: &HeadLine, head: u32) -> usize {
    let wanted = vdupq_n_u32(head);
    let mut total = vdupq_n_u32(0);
    for part in 0..4 {
        total = vaddq_u32(total, ones(vcleq_u32(heads(line, part), wanted)));
    }
    vaddvq_u32(total) as usize
}

#[inline]
#[target_feature(enable = "neon")]
fn tags_equal(line: &TagLine, tag: u16) -> u32 {
    static BITS: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    let wanted = vdupq_n_u16(tag);
    // SAFETY: the load takes the array's eight numbers.
    let bits = unsafe { vld1q_u16(BITS.as_ptr()) };
    let (halves, _) = line.as_chunks::<16>();
    let low = vaddvq_u16(vandq_u16(vceqq_u16(tags(&halves[0]), wanted), bits));
    let high = vaddvq_u16(vandq_u16(vceqq_u16(tags(&halves[1]), wanted), bits));
    low as u32 | (high as u32) << 8
}

// SAFETY of every block below: `Neon` runs only inside `run` and `look_up`, whose features were detected.
impl Search for Neon {
    const ISA: Isa = Isa::Neon;

    #[inline(always)]
    fn count_below_after_4(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { count_below_from(line, 1, head) }
    }

    #[inline(always)]
    fn count_below(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { count_below_from(line, 0, head) }
    }

    #[inline(always)]
    fn count_at_most(line: &HeadLine, head: u32) -> usize {
        // SAFETY: see above.
        unsafe { count_at_most(line, head) }
    }

    #[inline(always)]
    fn tags_equal(tags: &TagLine, tag: u16) -> u32 {
        // SAFETY: see above.
        unsafe { tags_equal(tags, tag) }
    }
}
