//! Entries that are staged for the next leaves of a tree, in either form of leaf.

use crate::format::{Cell, CellKey, CellValue, LeafBuilder, LeafSummary, Op, PackedBuilder, PageSize, ValueAlign};

/// A builder of leaves of one form.
#[derive(Debug)]
pub(in crate::tree) enum Staging {
    Tagged(LeafBuilder),
    Packed(PackedBuilder),
}

/// Calls a method that both builders have.
macro_rules! either {
    ($staging:expr, $builder:ident => $call:expr) => {
        match $staging {
            Staging::Tagged($builder) => $call,
            Staging::Packed($builder) => $call,
        }
    };
}

impl Staging {
    pub fn tagged(page_size: PageSize, align: ValueAlign) -> Self {
        Self::Tagged(LeafBuilder::new(page_size, align))
    }

    pub fn packed(page_size: PageSize) -> Self {
        Self::Packed(PackedBuilder::new(page_size))
    }

    #[inline(always)]
    pub fn is_packed(&self) -> bool {
        matches!(self, Self::Packed(_))
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        either!(self, builder => builder.is_empty())
    }

    #[inline(always)]
    pub fn count(&self) -> usize {
        either!(self, builder => builder.count())
    }

    /// Length of a page of all staged entries.
    pub fn bytes_used(&self) -> usize {
        either!(self, builder => builder.bytes_used())
    }

    /// The cut that divides the staged entries most evenly between two pages; `otherwise` if there is none.
    pub fn split_point(&self, otherwise: usize) -> usize {
        match self {
            Self::Tagged(builder) => builder.split_point(),
            Self::Packed(builder) => builder.split_point().unwrap_or(otherwise),
        }
    }

    pub fn key(&self, index: usize) -> CellKey<'_> {
        either!(self, builder => builder.key(index))
    }

    pub fn cell(&self, index: usize) -> Cell<'_> {
        either!(self, builder => builder.cell(index))
    }

    /// Writes the first entries as the body of a leaf, and forgets them.
    pub fn finish_first(&mut self, count: usize, page: &mut [u8]) -> LeafSummary {
        either!(self, builder => builder.finish_first(count, page))
    }

    pub fn clear(&mut self) {
        either!(self, builder => builder.clear());
    }

    /// Whether all staged entries and one more fit one page. Requires: this form of leaf can hold the entry.
    #[inline(always)]
    pub fn fits(&self, key: &CellKey<'_>, value: &CellValue<'_>) -> bool {
        match self {
            Self::Tagged(builder) => builder.fits(key.stored_length(), value.stored_length()),
            Self::Packed(builder) => builder.fits(key.part(), value),
        }
    }

    /// Stages an entry. `hash` is that of its key; packed leaves need none.
    #[inline(always)]
    pub fn push(&mut self, op: Op, key: CellKey<'_>, value: CellValue<'_>, hash: u64) {
        match self {
            Self::Tagged(builder) => builder.push(op, key, value, hash),
            Self::Packed(builder) => builder.push(key.part(), &value),
        }
    }
}
