//! What a descent compares and follows: the first bytes of branches and of keys, references to children.

use crate::format::branch::layout::CHILD_OVERFLOW;
use crate::format::bytes::head8;
use crate::format::page::PageKind;
use crate::ids::{ExtentId, PageRef};

/// A reference to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The child.
    pub page: PageRef,
    /// Whether some key or value below it lives in an overflow.
    pub has_overflow: bool,
}

impl Child {
    pub(super) fn to_bits(self) -> u64 {
        let flags = if self.has_overflow { CHILD_OVERFLOW } else { 0 };
        self.page.extent.0 as u64 | (self.page.slot as u64) << 32 | flags
    }

    #[inline(always)]
    pub(super) fn from_bits(bits: u64) -> Self {
        let page = PageRef { extent: ExtentId(bits as u32), slot: (bits >> 32) as u32 & (PageRef::SLOTS_MAX - 1) };
        Self { page, has_overflow: bits & CHILD_OVERFLOW != 0 }
    }
}

/// The first bytes of a branch of some level, kind and level, as one number: a descent counts it down.
#[derive(Clone, Copy, Debug)]
pub struct BranchStart(u16);

impl BranchStart {
    /// The start of a branch of this level. [`BranchStart::is_branch`] is false for level 0, which leaves have.
    #[inline(always)]
    pub fn of_level(level: u8) -> Self {
        Self(u16::from_le_bytes([PageKind::Branch as u8, level]))
    }

    /// The number.
    #[inline(always)]
    pub(super) fn number(self) -> u16 {
        self.0
    }

    /// Whether branches can have this level.
    #[inline(always)]
    pub fn is_branch(self) -> bool {
        self.0 > u8::MAX.into()
    }

    /// Whether the children of this level are leaves.
    #[inline(always)]
    pub fn is_lowest(self) -> bool {
        self.0 == Self::of_level(1).0
    }

    /// The start of a branch one level below.
    ///
    /// Requires: `self.is_branch()`.
    #[inline(always)]
    pub fn below(self) -> Self {
        debug_assert!(self.is_branch(), "there is no level below leaves");
        Self(self.0 - (1 << 8))
    }
}

/// The first eight bytes of a key as a little-endian number, with zeros past its end.
#[inline(always)]
pub fn key_start(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(start) => u64::from_le_bytes(*start),
        None => head8(key, 0).swap_bytes(),
    }
}
