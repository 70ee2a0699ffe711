//! The entries of one packed leaf, from either end, each readable on its own.
//!
//! Keys are assembled a block at a time. All returned keys of a block share its buffer.

use std::ops::Range;

use crate::error::Result;
use crate::format::{CellValue, LeafView, PackedLeaf, Unpacked, ValuePlace};
use crate::pager::{LeafPage, Pages, Value};

use super::entry::Entry;

/// The remaining entries of a packed leaf.
#[derive(Debug)]
pub(in crate::tree) struct PackedEntries {
    /// The indices of the remaining entries.
    pub indices: Range<usize>,
    block: Option<Block>,
}

/// The keys of consecutive entries.
#[derive(Debug)]
struct Block {
    indices: Range<usize>,
    keys: Value<'static>,
    /// For each entry, where its key is in `keys`, and its value in the page.
    places: Vec<(Range<usize>, ValuePlace)>,
}

impl PackedEntries {
    /// Requires: `indices` end at most at the leaf's count.
    pub fn new(indices: Range<usize>) -> Self {
        Self { indices, block: None }
    }

    /// An entry. Requires: `leaf` is the one it was made for, and is packed; `index` is below its count.
    ///
    /// # Errors
    /// Those of reading a large value.
    pub fn entry<'p>(
        &mut self,
        pages: &'p Pages,
        leaf: &LeafPage<'p>,
        packed: PackedLeaf<'_>,
        index: usize,
    ) -> Result<Entry<'p>> {
        let is_at_hand = |block: &Block| block.indices.contains(&index);
        let block = match self.block.take().filter(is_at_hand) {
            Some(block) => block,
            None => Block::unpack(packed, packed.block_of(index)),
        };
        let block = self.block.insert(block);
        let (key, value) = &block.places[index - block.indices.start];
        let value = match packed.value(value) {
            CellValue::Inline(value) => leaf.value(value),
            CellValue::Overflow(at) => pages.value(&at)?,
        };
        Ok(Entry { key: block.keys.part(key.clone()), value })
    }
}

impl Block {
    fn unpack(leaf: PackedLeaf<'_>, indices: Range<usize>) -> Self {
        let entries = leaf.unpack(indices.clone());
        let places = entries.key_places().zip(entries.value_places()).collect();
        Self { indices, keys: Value::from(entries.into_keys()), places }
    }
}

/// The packed leaf of a page that has one.
#[inline(always)]
pub(in crate::tree) fn packed<'l>(leaf: &'l LeafPage<'_>) -> Option<PackedLeaf<'l>> {
    match leaf.leaf() {
        LeafView::Packed(packed) => Some(packed),
        LeafView::Tagged(_) => None,
    }
}

/// The entries of a leaf that is mapped, if it is packed and has no overflow, with all keys assembled at once.
pub(in crate::tree) fn unpacked<'p>(leaf: &LeafPage<'p>, indices: Range<usize>) -> Option<Unpacked<'p>> {
    match leaf.mapped()? {
        LeafView::Packed(packed) if !packed.has_overflow() => Some(packed.unpack(indices)),
        _ => None,
    }
}
