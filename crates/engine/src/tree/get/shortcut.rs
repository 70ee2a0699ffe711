//! A table in memory that leads from the first bits of a key to its leaf, past all branches.
//!
//! Invariants: (1) A shortcut belongs to one tree, which is immutable: [`Base`](super::Base) holds both. (2) It never
//! leads to a leaf other than the one to which the branches lead. Where it cannot decide, it leads to
//! [`PageRef::NOWHERE`].
//! (3) It only names pages. Gets look them up as the pages that branches name: verified, and of the right kind.
//!
//! The keys from the lowest separator to the highest are cut into *intervals* of equal width, a power of two. Each
//! has a [`Line`]: the separators in it, and the leaves that these divide. Where keys are spread evenly, as hashes
//! and rising numbers are, a line has room for the separators of nearly all intervals. Elsewhere no shortcut is kept.

use crate::format::{EIGHT_HEADS, Search, head8};
use crate::ids::{ExtentId, PageRef};

/// See the module.
#[derive(Debug)]
pub(in crate::tree) struct Shortcut {
    lines: Box<[Line]>,
    /// The first number of the first interval.
    low: u64,
    /// Bits of a number that are below those of its interval.
    width_bits: u32,
    /// The bits above.
    line_bits: u32,
    /// The common prefix of all separators. The eight bytes of a key after it are the number that selects the key's
    /// interval.
    prefix: Box<[u8]>,
}

/// An interval: one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(in crate::tree) struct Line {
    /// Below the first number of each leaf but the first, rising; the rest are the largest number.
    bounds: [i32; EIGHT_HEADS],
    /// The leaves.
    leaves: [LeafCode; EIGHT_HEADS],
}

/// Where a leaf is, in half as many bits as a [`PageRef`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree) struct LeafCode(i32);

/// A cut of an interval: the leaf that begins at a number within it.
pub(in crate::tree) struct Cut {
    /// The upper half of the number's distance from the interval's first number. Not zero.
    pub head: u32,
    /// The leaf.
    pub leaf: LeafCode,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Shortcut {
    /// Leaves that a line has room for.
    pub const LINE_LEAVES_MAX: usize = EIGHT_HEADS;

    /// Requires: `1 <= width_bits <= 63`, and each line has an interval of numbers.
    pub fn new(lines: Box<[Line]>, low: u64, width_bits: u32, prefix: Box<[u8]>) -> Self {
        assert!((1..64).contains(&width_bits), "numbers have bits for both");
        assert!(
            lines.len() as u64 <= ((u64::MAX - low) >> width_bits) + 1,
            "numbers below the first wrap past all lines"
        );
        Self { lines, low, width_bits, line_bits: 64 - width_bits, prefix }
    }

    /// The leaf to which `key` belongs; [nowhere](PageRef::is_nowhere) if the branches have to decide.
    #[inline(always)]
    pub fn leaf_of<S: Search>(&self, key: &[u8]) -> PageRef {
        let number = match key.first_chunk() {
            Some(start) if self.prefix.is_empty() => u64::from_be_bytes(*start),
            _ => match self.number_behind_prefix(key) {
                Some(number) => number,
                None => return PageRef::NOWHERE,
            },
        };
        let above = number.wrapping_sub(self.low);
        let Some(line) = self.lines.get(above.wrapping_shr(self.width_bits) as usize) else { return PageRef::NOWHERE };
        let head = (above.wrapping_shl(self.line_bits) >> 32) as u32;
        line.leaves[S::signed_below(&line.bounds, signed(head)) % EIGHT_HEADS].page()
    }

    /// Number of lines.
    #[cfg(test)]
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// A function of its own leaves registers to keys without a prefix.
    #[inline(never)]
    fn number_behind_prefix(&self, key: &[u8]) -> Option<u64> {
        key.starts_with(&self.prefix).then(|| head8(key, self.prefix.len()))
    }
}

impl Line {
    /// The interval that begins within `first`, and is cut by these, which rise; one that leads nowhere if they are
    /// too many.
    pub fn new(first: LeafCode, cuts: &[Cut]) -> Self {
        let mut line = Self { bounds: [i32::MAX; EIGHT_HEADS], leaves: [LeafCode::NOWHERE; EIGHT_HEADS] };
        if cuts.len() >= EIGHT_HEADS {
            return line;
        }
        line.leaves[0] = first;
        for (index, cut) in cuts.iter().enumerate() {
            line.bounds[index] = signed(cut.head - 1);
            line.leaves[index + 1] = cut.leaf;
        }
        line
    }
}

impl LeafCode {
    /// The code of [`PageRef::NOWHERE`].
    pub const NOWHERE: Self = Self(-1);
    /// Extents with several nodes have no more slots.
    const SLOT_BITS: u32 = 7;

    /// None if the numbers are too large.
    pub fn new(at: PageRef) -> Option<Self> {
        let fits = at.slot >> Self::SLOT_BITS == 0 && at.extent.0 >> (31 - Self::SLOT_BITS) == 0;
        fits.then_some(Self((at.extent.0 << Self::SLOT_BITS | at.slot) as i32))
    }

    #[inline(always)]
    fn page(self) -> PageRef {
        // The shift keeps the sign: so nowhere remains nowhere, without a comparison.
        let extent = ExtentId((self.0 >> Self::SLOT_BITS) as u32);
        PageRef { extent, slot: self.0 as u32 & ((1 << Self::SLOT_BITS) - 1) }
    }
}

/// A number in the order in which all vectors compare: signed.
#[inline(always)]
fn signed(head: u32) -> i32 {
    (head ^ 1 << 31) as i32
}
