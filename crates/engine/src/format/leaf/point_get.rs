//! Point gets in a leaf with tags: by the heads of keys to a block, by tags to a cell.
//!
//! SAFETY comments here name what verification proved of the page: see `view`.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use crate::format::bytes::{array_at, head4, slice_at, u16_at};
use crate::format::cell::{CELL_HEADER_BYTES, Cell, CellKey, OVERFLOW_BIT, Op};
use crate::format::leaf::found::Found;
use crate::format::leaf::layout::{
    BLOCK_BYTES, BLOCK_SLOTS, BLOCKS_OFFSET, SLOT_OFFSET_BITS, SLOT_OFFSET_MASK, blocks_offset,
};
use crate::format::leaf::view::{Leaf, value_start};
use crate::format::page::INLINE_KEY_BYTES_MAX;
use crate::format::search::{BLOCKS_AT_ONCE, Search, prefetch};

/// A cell that may hold the key of a point get: its tag agrees.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'p> {
    leaf: Leaf<'p>,
    /// A used slot of `leaf`: operation and offset.
    slot: usize,
}

impl<'p> Leaf<'p> {
    /// The value stored for this key, if the first look decides: the fast path of a point get.
    ///
    /// Requires: `hash` is the identity's hash of `key`. Everything here waits for the page to arrive from memory,
    /// and waiting instructions keep the processor from starting the next get. So there is no loop, and nothing but
    /// what nearly all gets need.
    ///
    /// The key must not be longer than [`INLINE_KEY_BYTES_MAX`].
    #[inline(always)]
    pub fn value_of<S: Search>(self, key: &[u8], hash: u64) -> Found<'p> {
        let block_count = self.block_count();
        // Where keys tie across blocks, a key may be in any of several. A branch from one block to the next would be
        // mispredicted: so one look takes all of them. Whether leaves have ties is mostly the same for a whole table.
        // SAFETY: a page is longer than a cache line.
        if block_count > BLOCKS_AT_ONCE || !S::has_tied_hints(unsafe { array_at(self.page, 0) }) {
            return self.value_by_hint::<S>(key, hash, block_count);
        }
        // SAFETY: a page is longer than a line of header and hints, and the blocks of one look.
        let blocks = unsafe { array_at(self.page, const { blocks_offset(BLOCKS_AT_ONCE) }) };
        match S::slot_of(blocks, block_count, (hash >> 48) as u16) {
            0 => Found::ABSENT,
            slot => self.value_in::<S>(slot, key),
        }
    }

    /// [`Leaf::value_of`] where keys seldom tie, as a shortcut that led to the leaf proves: looks only at the hints
    /// that lead to a block, and at that block. `None` if the next block may have the key too.
    ///
    /// The key must not be longer than [`INLINE_KEY_BYTES_MAX`].
    #[inline(always)]
    pub fn value_by_one_look<S: Search>(self, key: &[u8], hash: u64) -> Option<Found<'p>> {
        let block_count = self.block_count();
        let head = S::head4(key, self.prefix_length() as u16);
        let block = self.blocks_below::<S>(head);
        if block >= block_count {
            return Some(Found::ABSENT);
        }
        match self.value_in_block::<S>(block, key, hash) {
            None if self.hint(block) == head => None,
            found => Some(found.unwrap_or(Found::ABSENT)),
        }
    }

    /// [`Leaf::value_of`], given the hints: looks into the one block to which they lead.
    #[inline(always)]
    fn value_by_hint<S: Search>(self, key: &[u8], hash: u64, block_count: usize) -> Found<'p> {
        let head = S::head4(key, self.prefix_length() as u16);
        let mut block = self.blocks_below::<S>(head);
        while block < block_count {
            if let Some(found) = self.value_in_block::<S>(block, key, hash) {
                return found;
            }
            if self.hint(block) != head {
                break;
            }
            // It ends with the key's head: the next block may have it too.
            block += 1;
        }
        Found::ABSENT
    }

    /// What a block has for the key, if it has its tag.
    ///
    /// Requires: `block < block_count`.
    #[inline(always)]
    fn value_in_block<S: Search>(self, block: usize, key: &[u8], hash: u64) -> Option<Found<'p>> {
        let block_at = self.header_u16(BLOCKS_OFFSET) + BLOCK_BYTES * block;
        // SAFETY: verification proved that `block_count` blocks of 64 bytes lie inside the page from `BLOCKS_OFFSET`.
        let tags = unsafe { array_at(self.page, block_at) };
        let place = S::first_tag(tags, (hash >> 48) as u16)?;
        // SAFETY: as above; the place of a tag is below 32, and a slot takes as many bytes as a tag.
        let slot = unsafe { u16_at(self.page, block_at + BLOCK_SLOTS + place) };
        // Unused places of the last block have tag and slot 0.
        Some(if slot == 0 { Found::UNCLEAR } else { self.value_in::<S>(slot, key) })
    }

    /// The value of the cell to which a slot in use leads, if its key is `key`.
    #[inline(always)]
    fn value_in<S: Search>(self, slot: usize, key: &[u8]) -> Found<'p> {
        let candidate = Candidate { leaf: self, slot };
        if candidate.has_key::<S>(key) { candidate.inline_value(key.len()) } else { Found::UNCLEAR }
    }

    /// The entry with this key.
    ///
    /// Requires: `hash` is the identity's hash of `key`. A key longer than [`INLINE_KEY_BYTES_MAX`] is found by hash
    /// and stored part only: compare the whole key once with what the cell's reference leads to. Should that differ,
    /// two long keys share a hash, and [`Leaf::lower_bound`] decides.
    #[inline(always)]
    pub fn find<S: Search>(self, key: &[u8], hash: u64) -> Option<Cell<'p>> {
        if key.len() > INLINE_KEY_BYTES_MAX {
            return self.find_long(key, hash);
        }
        let mut matches = TagMatches::new::<S>(self, key, hash);
        while let Some(candidate) = matches.next::<S>() {
            let cell = candidate.verified::<S>(key);
            if cell.is_some() {
                return cell;
            }
        }
        None
    }

    /// The first entry whose tag is that of `key`, and prefetches its cell: the first half of a [`Leaf::find`] that is
    /// one of many in progress. `None` means that the key is absent.
    #[inline(always)]
    pub fn candidate<S: Search>(self, key: &[u8], hash: u64) -> Option<Candidate<'p>> {
        let candidate = TagMatches::new::<S>(self, key, hash).next::<S>()?;
        prefetch(self.page, candidate.offset());
        prefetch(self.page, candidate.offset() + 64);
        Some(candidate)
    }

    /// The second half: as [`Leaf::find`], given what [`Leaf::candidate`] returned for the same leaf, key and hash.
    #[inline(always)]
    pub fn confirm<S: Search>(self, candidate: Candidate<'p>, key: &[u8], hash: u64) -> Option<Cell<'p>> {
        if key.len() <= INLINE_KEY_BYTES_MAX {
            let cell = candidate.verified::<S>(key);
            if cell.is_some() {
                return cell;
            }
        }
        self.find::<S>(key, hash)
    }

    #[cold]
    #[inline(never)]
    fn find_long(self, key: &[u8], hash: u64) -> Option<Cell<'p>> {
        let (key_part, _) = key.split_at_checked(INLINE_KEY_BYTES_MAX)?;
        (0..self.count()).map(|index| self.cell(index)).find(|cell| match cell.key {
            CellKey::Inline(_) => false,
            CellKey::Overflow { prefix, hash: stored, at } => {
                stored == hash && at.length as usize == key.len() && prefix == key_part
            }
        })
    }
}

impl<'p> Candidate<'p> {
    #[inline(always)]
    fn offset(self) -> usize {
        self.slot & SLOT_OFFSET_MASK
    }

    /// The cell if its key is `key`. Requires: `key` is not long.
    #[inline(always)]
    fn verified<S: Search>(self, key: &[u8]) -> Option<Cell<'p>> {
        if !self.has_key::<S>(key) {
            return None;
        }
        let (page, offset) = (self.leaf.page, self.offset());
        // SAFETY: the cell holds a key of this length, and verification proved that it ends inside the body.
        let stored = unsafe { slice_at(page, offset + CELL_HEADER_BYTES, key.len()) };
        let op = Op::from_bits(self.slot >> SLOT_OFFSET_BITS);
        Some(Cell { op, key: CellKey::Inline(stored), value: self.leaf.value_at(offset, key.len()) })
    }

    /// Whether the cell's key is `key`. Requires: `key` is not long.
    #[inline(always)]
    fn has_key<S: Search>(self, key: &[u8]) -> bool {
        let (page, offset) = (self.leaf.page, self.offset());
        prefetch(page, offset + 64);
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let key_field = unsafe { u16_at(page, offset) };
        // A long key's field has its top bit set, so that it equals no inline length.
        // SAFETY: verification proved that a cell's key ends inside the body.
        key_field == key.len() && S::equal(unsafe { slice_at(page, offset + CELL_HEADER_BYTES, key_field) }, key)
    }

    /// The cell's value. Requires: its key is inline, and has this length.
    #[inline(always)]
    fn inline_value(self, key_length: usize) -> Found<'p> {
        let (page, offset) = (self.leaf.page, self.offset());
        if Op::from_bits(self.slot >> SLOT_OFFSET_BITS).is_delete() {
            return Found::ABSENT;
        }
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let field = unsafe { u16_at(page, offset + 2) };
        if field & OVERFLOW_BIT as usize != 0 {
            return Found::UNCLEAR;
        }
        let start = match self.leaf.below_align() {
            0 => offset + CELL_HEADER_BYTES + key_length,
            below_align => value_start(offset, key_length, below_align),
        };
        // SAFETY: verification proved that a cell's value ends inside the body.
        Found::value(unsafe { slice_at(page, start, field) })
    }
}

/// The entries of a leaf that may hold a key: those in the blocks that its head allows, with its tag.
struct TagMatches<'p> {
    leaf: Leaf<'p>,
    head: u32,
    tag: u16,
    block_count: usize,
    /// Where the blocks begin.
    blocks: usize,
    /// The block being looked at.
    block: usize,
    /// Its places that are still to be returned.
    mask: u32,
}

impl<'p> TagMatches<'p> {
    #[inline(always)]
    fn new<S: Search>(leaf: Leaf<'p>, key: &[u8], hash: u64) -> Self {
        let block_count = leaf.block_count();
        let head = head4(key, leaf.prefix_length());
        let block = leaf.blocks_below::<S>(head);
        let tag = (hash >> 48) as u16;
        let mut matches = Self { leaf, head, tag, block_count, blocks: leaf.header_u16(BLOCKS_OFFSET), block, mask: 0 };
        if block < block_count {
            matches.mask = matches.places::<S>();
        }
        matches
    }

    /// Places of the current block with the wanted tag. Requires: `block < block_count`.
    #[inline(always)]
    fn places<S: Search>(&self) -> u32 {
        // SAFETY: verification proved that `block_count` blocks of 64 bytes lie inside the page from `blocks`.
        S::tags_equal(unsafe { array_at(self.leaf.page, self.blocks + BLOCK_BYTES * self.block) }, self.tag)
    }

    #[inline(always)]
    fn next<S: Search>(&mut self) -> Option<Candidate<'p>> {
        if self.block >= self.block_count {
            return None;
        }
        loop {
            while self.mask != 0 {
                let at = self.blocks + BLOCK_BYTES * self.block + BLOCK_SLOTS;
                // SAFETY: as in `places`; a mask has 16 bits.
                let slot = unsafe { u16_at(self.leaf.page, at + 2 * self.mask.trailing_zeros() as usize) };
                self.mask &= self.mask - 1;
                // Unused places of the last block have tag and slot 0: a key's tag may well be 0 too.
                if slot != 0 {
                    return Some(Candidate { leaf: self.leaf, slot });
                }
            }
            if self.leaf.hint(self.block) != self.head {
                return None;
            }
            self.block += 1;
            if self.block >= self.block_count {
                return None;
            }
            self.mask = self.places::<S>();
        }
    }
}
