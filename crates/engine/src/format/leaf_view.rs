//! A leaf of either form, for callers that need only what both forms offer.

use std::cmp::Ordering;

use crate::format::cell::LongKeys;
use crate::format::leaf::Leaf;
use crate::format::packed::PackedLeaf;
use crate::format::search::Search;

/// A verified leaf.
#[derive(Clone, Copy, Debug)]
pub enum LeafView<'p> {
    /// With hash tags.
    Tagged(Leaf<'p>),
    /// With keys that are stored by their differences.
    Packed(PackedLeaf<'p>),
}

impl<'p> LeafView<'p> {
    /// The leaf, if it has tags.
    #[inline(always)]
    pub fn tagged(self) -> Option<Leaf<'p>> {
        match self {
            Self::Tagged(leaf) => Some(leaf),
            Self::Packed(_) => None,
        }
    }

    /// Number of entries, at least 1.
    #[inline(always)]
    pub fn count(self) -> usize {
        match self {
            Self::Tagged(leaf) => leaf.count(),
            Self::Packed(leaf) => leaf.count(),
        }
    }

    /// Length of its entries, of [`PageSize::body_bytes`](crate::format::PageSize::body_bytes).
    pub fn bytes_used(self) -> usize {
        match self {
            Self::Tagged(leaf) => leaf.bytes_used(),
            Self::Packed(leaf) => leaf.bytes_used(),
        }
    }

    /// Sum of the entries' [`Op::net`](crate::format::Op::net).
    #[inline(always)]
    pub fn net_count(self) -> i64 {
        match self {
            Self::Tagged(leaf) => leaf.net_count(),
            Self::Packed(leaf) => leaf.count() as i64,
        }
    }

    /// Net count of the entries before one.
    pub fn net_before(self, index: usize) -> i64 {
        match self {
            Self::Tagged(leaf) if !leaf.all_new() => leaf.cells(0..index).map(|cell| i64::from(cell.op.net())).sum(),
            _ => index as i64,
        }
    }

    /// Whether some key or value is in an overflow.
    #[inline(always)]
    pub fn has_overflow(self) -> bool {
        match self {
            Self::Tagged(leaf) => leaf.has_overflow(),
            Self::Packed(leaf) => leaf.has_overflow(),
        }
    }

    /// The first entry whose key is at least `key`; [`LeafView::count`] if there is none.
    ///
    /// # Errors
    /// Those of `long_keys`.
    #[inline(always)]
    pub fn lower_bound<S: Search, L: LongKeys>(self, key: &[u8], long_keys: &L) -> Result<usize, L::Error> {
        match self {
            Self::Tagged(leaf) => leaf.lower_bound::<S, L>(key, long_keys),
            Self::Packed(leaf) => Ok(leaf.lower_bound(key)),
        }
    }

    /// The first entry whose key is above `key`; [`LeafView::count`] if there is none.
    ///
    /// # Errors
    /// Those of `long_keys`.
    #[inline(always)]
    pub fn upper_bound<S: Search, L: LongKeys>(self, key: &[u8], long_keys: &L) -> Result<usize, L::Error> {
        match self {
            Self::Tagged(leaf) => {
                let index = leaf.lower_bound::<S, L>(key, long_keys)?;
                let equal = index < leaf.count() && leaf.compare(index, key, long_keys)?.is_eq();
                Ok(index + usize::from(equal))
            }
            Self::Packed(leaf) => Ok(leaf.upper_bound(key)),
        }
    }

    /// How the key of an entry compares to `key`.
    ///
    /// # Errors
    /// Those of `long_keys`.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn compare<L: LongKeys>(self, index: usize, key: &[u8], long_keys: &L) -> Result<Ordering, L::Error> {
        match self {
            Self::Tagged(leaf) => leaf.compare(index, key, long_keys),
            Self::Packed(leaf) => Ok(leaf.compare(index, key)),
        }
    }
}
