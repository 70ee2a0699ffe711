//! Vector primitives of page search, and their choice at run time.
//!
//! Invariant: an implementation of [`Search`] that needs more than the target's baseline is named only by the functions `run`
//! and `look_up` of its file, which enable its features and are called only after [`Isa::is_supported`] said yes. So its
//! methods may use those features, and are safe to call. Everybody else receives an implementation as a type parameter,
//! through [`with_search`] or [`look_up`]. The checksum of pages goes by the same choice.
#![allow(unsafe_code)] // Entering functions that need target features, after detecting them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

use std::fmt;

use crate::error::{Error, Result};
use crate::format::{bytes, filter};
use crate::sync::atomic::{AtomicU8, Ordering};

#[cfg(not(target_arch = "x86_64"))]
use portable::Portable as Baseline;
#[cfg(target_arch = "x86_64")]
use sse2::Sse2 as Baseline;

/// Sixteen u32 heads, little-endian: one cache line.
pub type HeadLine = [u8; 64];
/// The lines of hints of a branch, whether or not it has so many.
pub type HintLines = [u8; 256];
/// Sixteen u16 tags, little-endian: half a block.
pub type TagLine = [u8; 32];

/// The first blocks of a leaf, whether or not it has so many.
pub type BlockLines = [u8; 64 * BLOCKS_AT_ONCE];
/// Heads in half a cache line.
pub const EIGHT_HEADS: usize = 8;
/// Blocks that [`Search::slot_of`] takes in: all that a leaf has if its records take a hundred bytes or more.
pub const BLOCKS_AT_ONCE: usize = 9;

/// What page search asks of a processor. Inlined whole into the caller, which must run inside [`with_search`] or [`look_up`].
pub trait Search: Copy + 'static {
    /// Which one this is.
    const ISA: Isa;

    /// The four bytes of `key` after its first `skip`, zero-padded, as a big-endian number: the key's head.
    ///
    /// Requires: the key is shorter than 64 KiB.
    #[inline(always)]
    fn head4(key: &[u8], skip: u16) -> u32 {
        bytes::head4(key, usize::from(skip))
    }

    /// As [`Search::head4`], but eight bytes.
    #[inline(always)]
    fn head8(key: &[u8], skip: u16) -> u64 {
        bytes::head8(key, usize::from(skip))
    }

    /// How many heads after the first four are below `head`. Requires: these rise.
    fn count_below_after_4(line: &HeadLine, head: u32) -> usize;

    /// How many heads are below `head`. Requires: they rise.
    fn count_below(line: &HeadLine, head: u32) -> usize;

    /// How many heads are at most `head`. Requires: they rise.
    fn count_at_most(line: &HeadLine, head: u32) -> usize;

    /// How many of the first `hint_count` hints are below `head`. Requires: they rise, and those after them in their line are
    /// not below `head`.
    #[inline(always)]
    fn hints_below(hints: &HintLines, hint_count: usize, head: u32) -> usize {
        let (lines, _) = hints.as_chunks::<64>();
        // The last hints of the lines tell which one to count in: that is less than to count in all of them.
        let is_past = |line: usize| usize::from(bytes::get_u32(&lines[line], 60) < head);
        let mut line = 0;
        if hint_count > 16 {
            line += is_past(0);
            if hint_count > 32 {
                line += is_past(1);
                if hint_count > 48 {
                    line += is_past(2);
                }
            }
        }
        16 * line + Self::count_below(&lines[line], head)
    }

    /// A bit for each tag that equals `tag`, the first tag's lowest.
    fn tags_equal(tags: &TagLine, tag: u16) -> u32;

    /// The place in bytes of the first tag that equals `tag`, if one does.
    #[inline(always)]
    fn first_tag(tags: &TagLine, tag: u16) -> Option<usize> {
        match Self::tags_equal(tags, tag) {
            0 => None,
            equal => Some(2 * equal.trailing_zeros() as usize),
        }
    }

    /// How many of some signed numbers are below `bound`. Requires: they rise.
    #[inline(always)]
    fn signed_below(numbers: &[i32; EIGHT_HEADS], bound: i32) -> usize {
        numbers.iter().map(|&number| usize::from(number < bound)).sum()
    }

    /// Whether two neighbours of the first [`BLOCKS_AT_ONCE`] hints in a leaf's first cache line are equal, the largest number
    /// left aside. Of a leaf with fewer blocks, the hints after the last are that number.
    #[inline(always)]
    fn has_tied_hints(line: &HeadLine) -> bool {
        let (hints, _) = line.as_chunks::<4>();
        let mut tied = false;
        for (index, hint) in hints.iter().enumerate().take(4 + BLOCKS_AT_ONCE).skip(5) {
            tied |= *hint == hints[index - 1] && u32::from_le_bytes(*hint) != u32::MAX;
        }
        tied
    }

    /// How many numbers of a line are below `head`, and whether any of them is the same.
    #[inline(always)]
    fn long_heads_below(line: &[u64; 8], head: u64) -> (usize, bool) {
        let below = line.iter().map(|&other| usize::from(other < head)).sum();
        (below, line.iter().fold(false, |same, &other| same | (other == head)))
    }

    /// Whether a line of a filter has all bits that a key sets whose mixed hash is this: see `filter_line_passes`.
    #[inline(always)]
    fn has_filter_bits(line: &HeadLine, mixed: u64) -> bool {
        filter::has_bits(line, mixed)
    }

    /// The largest slot that has this tag in the first `block_count` blocks, 0 if none has it: of several slots any would do,
    /// but it must be one that is there.
    #[inline(always)]
    fn slot_of(blocks: &BlockLines, block_count: usize, tag: u16) -> usize {
        let mut best = [0u16; 16];
        let (blocks, _) = blocks.as_chunks::<64>();
        for (index, block) in blocks.iter().enumerate() {
            let is_block = if index < block_count { u16::MAX } else { 0 };
            let (words, _) = block.as_chunks::<2>();
            for (lane, best) in best.iter_mut().enumerate() {
                let is_tag = if u16::from_le_bytes(words[lane]) == tag { u16::MAX } else { 0 };
                *best = (*best).max(u16::from_le_bytes(words[16 + lane]) & is_tag & is_block);
            }
        }
        best.into_iter().fold(0, u16::max) as usize
    }

    /// Whether two slices of one length are equal.
    #[inline(always)]
    fn equal(left: &[u8], right: &[u8]) -> bool {
        bytes::equal(left, right)
    }

    /// Whether two slices of one length are equal. Requires: they have at most 64 bytes.
    #[inline(always)]
    fn equal_short(left: &[u8], right: &[u8]) -> bool {
        bytes::equal(left, right)
    }

    /// Whether `left <= right`.
    #[inline(always)]
    fn at_most(left: &[u8], right: &[u8]) -> bool {
        bytes::at_most(left, right)
    }
}

/// Work that wants to run with the best [`Search`] there is.
pub trait WithSearch {
    /// What it returns.
    type Output;

    /// Does the work. Implement it `#[inline(always)]`, and what it calls too: code that stays outside is compiled
    /// without the processor's features.
    fn run<S: Search>(self) -> Self::Output;
}

/// A search for one key. As [`WithSearch`], but its inputs and its output travel in registers: a point get is so short that
/// what is passed through memory shows.
///
/// `P` says what holds the pages, `T` which of their trees; each is a word or two.
pub trait Lookup<P, T> {
    /// What it finds: two words at most.
    type Output;

    /// Looks for `key`, with the same care for inlining as [`WithSearch::run`].
    fn run<S: Search>(pages: P, tree: T, key: &[u8]) -> Self::Output;
}

/// A set of instructions that page search can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Isa {
    /// Any processor. On x86-64, where all have them, with the vectors of SSE2.
    Portable = 1,
    /// x86-64 with AVX2, BMI, LZCNT, MOVBE and POPCNT.
    Avx2 = 2,
    /// x86-64 with AVX-512 F, BW, VL and DQ, and all that AVX2 comes with.
    Avx512 = 3,
    /// aarch64.
    Neon = 4,
}

impl Isa {
    /// Best first.
    const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// The name that `FULGURITE_SEARCH` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// Whether this machine has it.
    pub fn is_supported(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => has_avx512(),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            _ => false,
        }
    }

    #[inline(always)]
    fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Portable),
            2 => Some(Self::Avx2),
            3 => Some(Self::Avx512),
            4 => Some(Self::Neon),
            _ => None,
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
}

/// What this machine supports, best first.
pub fn supported() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_supported())
}

/// Name of the variable that forces a choice.
const VARIABLE: &str = "FULGURITE_SEARCH";
/// The choice's number, 0 before it is made. Relaxed: every thread that chooses, chooses the same.
static SELECTED: AtomicU8 = AtomicU8::new(0);

/// The instruction set in use: what `FULGURITE_SEARCH` asks for, else the best that is supported. Settled at the first call.
///
/// # Errors
/// If the variable names none, or one that this machine lacks.
pub fn selected() -> Result<Isa> {
    if let Some(isa) = Isa::from_number(SELECTED.load(Ordering::Relaxed)) {
        return Ok(isa);
    }
    let isa = match std::env::var_os(VARIABLE) {
        None => supported().next().unwrap_or(Isa::Portable),
        Some(name) => forced(&name.to_string_lossy())?,
    };
    SELECTED.store(isa as u8, Ordering::Relaxed);
    Ok(isa)
}

/// The instruction set of this name, if this machine has it.
pub(super) fn forced(name: &str) -> Result<Isa> {
    let isa = Isa::ALL.into_iter().find(|isa| isa.name() == name);
    if let Some(isa) = isa.filter(|isa| isa.is_supported()) {
        return Ok(isa);
    }
    let fault = if isa.is_some() { "is not supported by this machine" } else { "names no instruction set" };
    let names: Vec<_> = supported().map(Isa::name).collect();
    let message = format!("{VARIABLE}={name} {fault}; unset it, or set it to one of: {}", names.join(", "));
    Err(Error::Invalid { message })
}

/// Runs `work` with the instruction set in use; portably if `FULGURITE_SEARCH` is wrong, which [`selected`] reports.
#[inline(always)]
pub fn with_search<W: WithSearch>(work: W) -> W::Output {
    let isa = Isa::from_number(SELECTED.load(Ordering::Relaxed)).unwrap_or_else(select_now);
    // SAFETY: `selected` stores only what is supported, and `select_now` returns nothing else.
    unsafe { enter(isa, work) }
}

/// Runs a lookup as [`with_search`] runs work. The choice is made where it is called: a call between would save registers that
/// the search saves again.
#[inline(always)]
pub fn look_up<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    let selected = SELECTED.load(Ordering::Relaxed);
    #[cfg(target_arch = "x86_64")]
    if selected == Isa::Avx512 as u8 {
        // SAFETY: `selected` stores only what is supported.
        return unsafe { avx512::look_up::<L, P, T>(pages, tree, key) };
    }
    #[cfg(target_arch = "x86_64")]
    if selected == Isa::Avx2 as u8 {
        // SAFETY: `selected` stores only what is supported.
        return unsafe { avx2::look_up::<L, P, T>(pages, tree, key) };
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    if selected == Isa::Neon as u8 {
        // SAFETY: `selected` stores only what is supported.
        return unsafe { neon::look_up::<L, P, T>(pages, tree, key) };
    }
    if selected == Isa::Portable as u8 {
        return look_up_with_baseline::<L, P, T>(pages, tree, key);
    }
    look_up_first::<L, P, T>(pages, tree, key)
}

/// The first lookup of a process, before any opening has chosen.
#[cold]
#[inline(never)]
fn look_up_first<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    match select_now() {
        Isa::Portable => look_up_with_baseline::<L, P, T>(pages, tree, key),
        _ => look_up::<L, P, T>(pages, tree, key),
    }
}

/// Apart, as the searches with other instructions are.
#[inline(never)]
fn look_up_with_baseline<L: Lookup<P, T>, P, T>(pages: P, tree: T, key: &[u8]) -> L::Output {
    L::run::<Baseline>(pages, tree, key)
}

#[cold]
fn select_now() -> Isa {
    selected().unwrap_or(Isa::Portable)
}

/// Runs `work` with plain loops, which no vectors are part of. For tests, where nothing else would run them.
#[cfg(test)]
pub fn with_loops<W: WithSearch>(work: W) -> W::Output {
    work.run::<portable::Portable>()
}

/// Runs `work` with a given instruction set; `None` if this machine lacks it. For tests and comparisons.
#[cfg(test)]
pub fn with_isa<W: WithSearch>(isa: Isa, work: W) -> Option<W::Output> {
    // SAFETY: called only if `isa` is supported.
    isa.is_supported().then(|| unsafe { enter(isa, work) })
}

/// # Safety
/// `isa` is supported by this machine.
#[inline(always)]
unsafe fn enter<W: WithSearch>(isa: Isa, work: W) -> W::Output {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: AVX-512 and its companions are supported by this function's contract.
        Isa::Avx512 => unsafe { avx512::run(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: AVX2 and its companions are supported by this function's contract.
        Isa::Avx2 => unsafe { avx2::run(work) },
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        // SAFETY: NEON is supported by this function's contract.
        Isa::Neon => unsafe { neon::run(work) },
        _ => work.run::<Baseline>(),
    }
}

/// Asks for the cache line of `bytes[at]`; outside of `bytes`, does nothing of use and no harm.
#[inline(always)]
pub fn prefetch(bytes: &[u8], at: usize) {
    let address = bytes.as_ptr().wrapping_add(at);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: `prfm` never faults, and changes neither memory, stack nor flags.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}
