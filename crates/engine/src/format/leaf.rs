//! The leaf "TAGGED": layout, and the view over a verified page.
//!
//! Invariant: a [`Leaf`] stands for a page that `leaf_verify` accepted, so that every offset in it is in bounds and every
//! length ends before the trailer. SAFETY comments here name what `leaf_verify` proved. Its bytes never change while
//! the view lives: pages are written once.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::mem::offset_of;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice::from_raw_parts;

use crate::format::bytes::{array_at, head4, head4_of_part, slice_at, u16_at, u32_at, u64_at};
use crate::format::cell::{CELL_HEADER_BYTES, Cell, CellKey, CellValue, LENGTH_MASK, LongKeys, OVERFLOW_BIT, Op};
use crate::format::hash::Identity;
use crate::format::leaf_cells::{Cells, InlineCells};
use crate::format::overflow::{INLINE_KEY_BYTES_MAX, OverflowRef};
use crate::format::page::{Offence, PageKind, verify_page};
use crate::format::search::{BLOCKS_AT_ONCE, Search, prefetch};
use crate::ids::{Birth, PageRef};

/// The header as stored, for its offsets only: it is never read as a whole.
#[repr(C)]
struct Header {
    kind: u8,
    flags: u8,
    entry_count: u16,
    prefix_length: u16,
    block_count: u16,
    blocks_offset: u16,
    cells_offset: u16,
    net_count: i16,
    value_align_log2: u8,
    reserved: u8,
}

pub(super) const FLAGS: usize = offset_of!(Header, flags);
pub(super) const ENTRY_COUNT: usize = offset_of!(Header, entry_count);
pub(super) const PREFIX_LENGTH: usize = offset_of!(Header, prefix_length);
pub(super) const BLOCK_COUNT: usize = offset_of!(Header, block_count);
pub(super) const BLOCKS_OFFSET: usize = offset_of!(Header, blocks_offset);
pub(super) const CELLS_OFFSET: usize = offset_of!(Header, cells_offset);
pub(super) const NET_COUNT: usize = offset_of!(Header, net_count);
pub(super) const VALUE_ALIGN: usize = offset_of!(Header, value_align_log2);
pub(super) const RESERVED: usize = offset_of!(Header, reserved);
/// Hints begin here, a u32 for each block.
pub(super) const HINTS: usize = 16;

const _: () = assert!(size_of::<Header>() == HINTS && offset_of!(Header, kind) == 0 && FLAGS == 1);
const _: () = assert!(ENTRY_COUNT == 2 && PREFIX_LENGTH == 4 && BLOCK_COUNT == 6 && BLOCKS_OFFSET == 8);
const _: () = assert!(CELLS_OFFSET == 10 && NET_COUNT == 12 && VALUE_ALIGN == 14 && RESERVED == 15);

/// Flag: some key or value is an overflow.
pub(super) const HAS_OVERFLOW: u8 = 1;
/// Flag: some operation is not [`Op::PutNew`].
pub(super) const HAS_OTHER_OPS: u8 = 2;

/// Entries of a block.
pub(super) const BLOCK_ENTRIES: usize = 16;
/// A block: 16 tags, 16 slots, one cache line.
pub(super) const BLOCK_BYTES: usize = 64;
/// Where the slots of a block begin.
pub(super) const BLOCK_SLOTS: usize = 32;
/// The part of a slot that is the cell's offset; the two bits above are its operation.
pub(super) const SLOT_OFFSET_MASK: usize = (1 << SLOT_OFFSET_BITS) - 1;
/// Width of the offset in a slot.
pub(super) const SLOT_OFFSET_BITS: usize = 14;

// A leaf of no more blocks than one look takes in has its hints in the first line, and its blocks after that.
const _: () = assert!(blocks_offset(1) == BLOCK_BYTES && blocks_offset(BLOCKS_AT_ONCE) == BLOCK_BYTES);

/// Where the blocks of a leaf begin: the first cache line after the hints.
pub(super) const fn blocks_offset(block_count: usize) -> usize {
    (HINTS + 4 * block_count).next_multiple_of(BLOCK_BYTES)
}

/// Where the cells of a leaf with so many entries begin.
pub(super) const fn cells_offset(entry_count: usize) -> usize {
    let blocks = entry_count.div_ceil(BLOCK_ENTRIES);
    blocks_offset(blocks) + BLOCK_BYTES * blocks
}

/// A verified leaf.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'p> {
    page: &'p [u8],
}

/// What the `value_of` of a leaf of either kind found: a value, that there is none, or that it takes a longer look.
///
/// An enumeration of the three would be returned through memory; this is two registers.
#[derive(Clone, Copy, Debug)]
pub struct Found<'p>(Option<&'p [u8]>);

impl<'p> Found<'p> {
    /// The key has no value.
    pub const ABSENT: Self = Self(None);
    /// It takes a longer look: [`Leaf::find`].
    // SAFETY: a slice of no bytes may be at any address but 0.
    pub const UNCLEAR: Self = Self(Some(unsafe { from_raw_parts(Self::NO_PAGE.as_ptr(), 0) }));
    /// Where no page is, and so no value.
    const NO_PAGE: NonNull<u8> = NonNull::dangling();

    /// The key has this value.
    #[inline(always)]
    pub(super) const fn value(value: &'p [u8]) -> Self {
        Self(Some(value))
    }

    /// The value if there is one; `None` if it takes a longer look.
    #[inline(always)]
    pub fn settled(self) -> Option<Option<&'p [u8]>> {
        match self.0 {
            Some(value) if std::ptr::eq(value.as_ptr(), Self::NO_PAGE.as_ptr()) => None,
            found => Some(found),
        }
    }
}

/// A cell that may hold the key of a point get: its tag agrees.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'p> {
    leaf: Leaf<'p>,
    /// A used slot of `leaf`: operation and offset.
    slot: usize,
}

impl<'p> Leaf<'p> {
    /// A view over a page.
    ///
    /// # Safety
    /// `verify_page` or `verify_own_page` accepted `page` as a leaf, and its bytes do not change during `'p`.
    #[inline(always)]
    pub const unsafe fn new_unchecked(page: &'p [u8]) -> Self {
        Self { page }
    }

    /// Verifies a page, and returns the view over it.
    ///
    /// # Errors
    /// The first offence found; a page of another kind is one too.
    pub fn verify(page: &'p [u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<Self, Offence> {
        match verify_page(page, identity, at, birth)? {
            // SAFETY: just verified, and the shared borrow keeps its bytes as they are.
            PageKind::Leaf => Ok(unsafe { Self::new_unchecked(page) }),
            _ => Err(Offence::new(0, "not a leaf")),
        }
    }

    /// The page's bytes.
    pub fn page(self) -> &'p [u8] {
        self.page
    }

    /// Number of entries, at least 1.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.header_u16(ENTRY_COUNT)
    }

    /// Sum of the entries' [`Op::net`].
    #[inline(always)]
    pub fn net_count(self) -> i64 {
        self.header_u16(NET_COUNT) as u16 as i16 as i64
    }

    /// Whether some key or value lives in an overflow.
    #[inline(always)]
    pub fn has_overflow(self) -> bool {
        self.flags() & HAS_OVERFLOW != 0
    }

    /// Whether every entry is [`Op::PutNew`], as in a base tree.
    #[inline(always)]
    pub fn all_new(self) -> bool {
        self.flags() & HAS_OTHER_OPS == 0
    }

    /// The value stored for this key, where the first look settles it: the short way of a point get.
    ///
    /// Requires: `hash` is the identity's hash of `key`. Everything here waits for the page to arrive from memory, and what
    /// waits keeps the processor from going on to the next get: so there is no loop, and nothing but what nearly all gets
    /// need.
    ///
    /// The key must not be longer than [`INLINE_KEY_BYTES_MAX`].
    #[inline(always)]
    pub fn value_of<S: Search>(self, key: &[u8], hash: u64) -> Found<'p> {
        let block_count = self.block_count();
        // Where keys tie across blocks, a key may be in any of several. To go from one to the next would be guessed wrongly:
        // all of them together are one look. Whether a leaf has ties is mostly the same for a whole table.
        // SAFETY: a page is longer than a cache line.
        if block_count > BLOCKS_AT_ONCE || !S::has_tied_hints(unsafe { array_at(self.page, 0) }) {
            return self.value_by_hint::<S>(key, hash, block_count);
        }
        // SAFETY: a page is longer than a line of header and hints, and the blocks that one look takes in.
        let blocks = unsafe { array_at(self.page, const { blocks_offset(BLOCKS_AT_ONCE) }) };
        match S::slot_of(blocks, block_count, (hash >> 48) as u16) {
            0 => Found::ABSENT,
            slot => self.value_in::<S>(slot, key),
        }
    }

    /// [`Leaf::value_of`] where keys seldom tie, as a shortcut that led to the leaf proves: looks at no hints but those that lead
    /// to a block, and at that one block. None if the next block may have the key too.
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

    /// What a block has of the key, if it has its tag.
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
    /// Requires: `hash` is the identity's hash of `key`. A key longer than [`INLINE_KEY_BYTES_MAX`] is found by hash and
    /// stored part only: compare the whole key once with what the cell's reference leads to. Should that differ, two long
    /// keys share a hash, and [`Leaf::lower_bound`] decides.
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
    /// one of many in flight. `None` means that the key is absent.
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

    /// The first entry whose key is at least `key`; [`Leaf::count`] if there is none.
    ///
    /// # Errors
    /// Those of `long_keys`.
    #[inline(always)]
    pub fn lower_bound<S: Search, L: LongKeys>(self, key: &[u8], long_keys: &L) -> Result<usize, L::Error> {
        let count = self.count();
        let block_count = self.block_count();
        let prefix_length = self.prefix_length();
        let head = head4_of_part(key, prefix_length);
        let mut block = self.blocks_below::<S>(head);
        // Hints order only keys that share the page's prefix. Any entry can tell: take one that is needed anyway.
        let witness = self.key_part((block * BLOCK_ENTRIES).min(count - 1));
        // SAFETY: every key's part begins with the prefix, whose length verification proved.
        let prefix = unsafe { slice_at(witness, 0, prefix_length) };
        let Some(key_start) = key.get(..prefix_length) else { return Ok(outside(prefix, key, count)) };
        if !S::equal(prefix, key_start) {
            return Ok(outside(prefix, key, count));
        }
        let mut tied = 0;
        while block + tied < block_count && self.hint(block + tied) == head {
            tied += 1;
        }
        while tied > 0 {
            let middle = block + tied / 2;
            let last = (middle * BLOCK_ENTRIES + BLOCK_ENTRIES).min(count) - 1;
            let below = self.entry_below::<S, L>(last, prefix_length, key, long_keys)?;
            block = select_unpredictable(below, middle + 1, block);
            tied = select_unpredictable(below, tied - tied / 2 - 1, tied / 2);
        }
        let mut from = (block * BLOCK_ENTRIES).min(count);
        let mut size = BLOCK_ENTRIES.min(count - from);
        for index in from..from + size {
            prefetch(self.page, self.cell_offset(index));
        }
        while size > 0 {
            let middle = from + size / 2;
            let below = self.entry_below::<S, L>(middle, prefix_length, key, long_keys)?;
            from = select_unpredictable(below, middle + 1, from);
            size = select_unpredictable(below, size - size / 2 - 1, size / 2);
        }
        Ok(from)
    }

    /// How the key of an entry compares to `key`.
    ///
    /// # Errors
    /// Those of `long_keys`.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn compare<L: LongKeys>(self, index: usize, key: &[u8], long_keys: &L) -> Result<Ordering, L::Error> {
        self.key(index).compare(key, long_keys)
    }

    /// An entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    #[inline(always)]
    pub fn cell(self, index: usize) -> Cell<'p> {
        assert!(index < self.count(), "entry index out of range");
        self.cell_at(self.slot(index), self.below_align())
    }

    /// The key of an entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    #[inline(always)]
    pub fn key(self, index: usize) -> CellKey<'p> {
        assert!(index < self.count(), "entry index out of range");
        self.key_at(self.slot(index) & SLOT_OFFSET_MASK)
    }

    /// Entries in order, from either end.
    ///
    /// # Panics
    /// Unless `range.start <= range.end <= self.count()`.
    #[inline(always)]
    pub fn cells(self, range: Range<usize>) -> Cells<'p> {
        assert!(range.start <= range.end && range.end <= self.count(), "range of entries out of range");
        Cells::new(self, range)
    }

    /// Keys and values in order, from either end, if the leaf holds them all: none lives in an overflow.
    ///
    /// # Panics
    /// Unless `range.start <= range.end <= self.count()`.
    #[inline(always)]
    pub fn inline_cells(self, range: Range<usize>) -> Option<InlineCells<'p>> {
        assert!(range.start <= range.end && range.end <= self.count(), "range of entries out of range");
        (!self.has_overflow()).then(|| InlineCells::new(self, range))
    }

    #[inline(always)]
    fn flags(self) -> u8 {
        // SAFETY: a page is longer than its header.
        unsafe { array_at::<1>(self.page, FLAGS)[0] }
    }

    #[inline(always)]
    pub(super) fn header_u16(self, at: usize) -> usize {
        // SAFETY: `at` is a field of the header, and a page is longer than its header.
        unsafe { u16_at(self.page, at) }
    }

    #[inline(always)]
    fn block_count(self) -> usize {
        self.header_u16(BLOCK_COUNT)
    }

    #[inline(always)]
    pub(super) fn prefix_length(self) -> usize {
        self.header_u16(PREFIX_LENGTH)
    }

    #[inline(always)]
    fn hint(self, block: usize) -> u32 {
        // SAFETY: callers pass `block < block_count`, and verification placed the hints before the blocks.
        unsafe { u32_at(self.page, HINTS + 4 * block) }
    }

    /// How many blocks end below the keys with this head.
    ///
    /// Hints are read in whole cache lines. The first line begins with the header, the last ends with the largest number,
    /// which is below nothing.
    #[inline(always)]
    pub(super) fn blocks_below<S: Search>(self, head: u32) -> usize {
        // SAFETY: a page is longer than a cache line.
        let mut below = S::count_below_after_4(unsafe { array_at(self.page, 0) }, head);
        let mut at = BLOCK_BYTES;
        while at < self.header_u16(BLOCKS_OFFSET) {
            // SAFETY: verification proved that the blocks begin inside the page, and `blocks_offset` is a multiple of 64.
            below += S::count_below(unsafe { array_at(self.page, at) }, head);
            at += BLOCK_BYTES;
        }
        below
    }

    #[cold]
    #[inline(never)]
    fn find_long(self, key: &[u8], hash: u64) -> Option<Cell<'p>> {
        let (key_part, _) = key.split_at_checked(INLINE_KEY_BYTES_MAX)?;
        self.cells(0..self.count()).find(|cell| match cell.key {
            CellKey::Inline(_) => false,
            CellKey::Overflow { prefix, hash: stored, at } => {
                stored == hash && at.length as usize == key.len() && prefix == key_part
            }
        })
    }

    /// The slot of an entry. Requires: `index < count`.
    #[inline(always)]
    pub(super) fn slot(self, index: usize) -> usize {
        let block = self.header_u16(BLOCKS_OFFSET) + BLOCK_BYTES * (index / BLOCK_ENTRIES);
        // SAFETY: verification proved blocks for all entries inside the page; callers pass `index < count`.
        unsafe { u16_at(self.page, block + BLOCK_SLOTS + 2 * (index % BLOCK_ENTRIES)) }
    }

    #[inline(always)]
    pub(super) fn cell_offset(self, index: usize) -> usize {
        self.slot(index) & SLOT_OFFSET_MASK
    }

    #[inline(always)]
    pub(super) fn cell_at(self, slot: usize, below_align: usize) -> Cell<'p> {
        match self.inline_cell_at(slot, below_align) {
            Some((op, key, value)) => Cell { op, key: CellKey::Inline(key), value: CellValue::Inline(value) },
            None => self.overflow_cell_at(slot),
        }
    }

    /// Bytes that its entries take, of [`PageSize::body_bytes`](crate::format::PageSize::body_bytes).
    pub fn bytes_used(self) -> usize {
        let offset = self.slot(self.count() - 1) & SLOT_OFFSET_MASK;
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let fields = unsafe { u32_at(self.page, offset) };
        let length = |field: u32| (field as u16 & LENGTH_MASK) as usize;
        // Cells lie in the order of their keys, one behind the other.
        value_start(offset, length(fields), self.below_align()) + length(fields >> 16)
    }

    #[inline(always)]
    fn inline_cell_at(self, slot: usize, below_align: usize) -> Option<(Op, &'p [u8], &'p [u8])> {
        let offset = slot & SLOT_OFFSET_MASK;
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let fields = unsafe { u32_at(self.page, offset) };
        if fields & (OVERFLOW_BIT as u32 | (OVERFLOW_BIT as u32) << 16) != 0 {
            return None;
        }
        // SAFETY: just seen that nothing of the cell is in an overflow.
        let (key, value) = unsafe { self.key_and_value_at(offset, below_align) };
        Some((Op::from_bits(slot >> SLOT_OFFSET_BITS), key, value))
    }

    /// Key and value of a cell that holds both.
    ///
    /// # Safety
    /// A used slot of this page leads to `offset`, and neither overflow bit is set there.
    #[inline(always)]
    pub(super) unsafe fn key_and_value_at(self, offset: usize, below_align: usize) -> (&'p [u8], &'p [u8]) {
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let fields = unsafe { u32_at(self.page, offset) };
        let (key_length, value_length) = ((fields & 0xFFFF) as usize, (fields >> 16) as usize);
        // SAFETY: verification proved that a cell's key ends inside the body.
        let key = unsafe { slice_at(self.page, offset + CELL_HEADER_BYTES, key_length) };
        // SAFETY: verification proved that a cell's value ends inside the body.
        let value = unsafe { slice_at(self.page, value_start(offset, key_length, below_align), value_length) };
        (key, value)
    }

    /// The slot at a place within the blocks.
    ///
    /// # Safety
    /// `at` is where a block of this page has a used slot.
    #[inline(always)]
    pub(super) unsafe fn slot_at(self, at: usize) -> usize {
        // SAFETY: verification proved that all blocks lie inside the page.
        unsafe { u16_at(self.page, at) }
    }

    #[cold]
    #[inline(never)]
    fn overflow_cell_at(self, slot: usize) -> Cell<'p> {
        let offset = slot & SLOT_OFFSET_MASK;
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let key_length = unsafe { u16_at(self.page, offset) } & LENGTH_MASK as usize;
        let op = Op::from_bits(slot >> SLOT_OFFSET_BITS);
        Cell { op, key: self.key_at(offset), value: self.value_at(offset, key_length) }
    }

    #[inline(always)]
    fn key_at(self, offset: usize) -> CellKey<'p> {
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let key_field = unsafe { u16_at(self.page, offset) };
        if key_field & OVERFLOW_BIT as usize != 0 {
            // SAFETY: the field says that a long key follows it.
            return unsafe { long_key_at(self.page, offset + CELL_HEADER_BYTES) };
        }
        // SAFETY: verification proved that a cell's key ends inside the body.
        CellKey::Inline(unsafe { slice_at(self.page, offset + CELL_HEADER_BYTES, key_field) })
    }

    #[inline(always)]
    fn value_at(self, offset: usize, stored_key_length: usize) -> CellValue<'p> {
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let field = unsafe { u16_at(self.page, offset + 2) };
        let start = value_start(offset, stored_key_length, self.below_align());
        if field & OVERFLOW_BIT as usize != 0 {
            // SAFETY: the field says that a reference is there.
            return unsafe { long_value_at(self.page, start) };
        }
        // SAFETY: verification proved that a cell's value ends inside the body.
        CellValue::Inline(unsafe { slice_at(self.page, start, field) })
    }

    /// One less than the alignment of values.
    #[inline(always)]
    pub(super) fn below_align(self) -> usize {
        // SAFETY: a page is longer than its header.
        let align_log2 = unsafe { array_at::<1>(self.page, VALUE_ALIGN)[0] };
        (1 << (align_log2 & 7)) - 1
    }

    /// The part of an entry's key that orders it. Requires: `index < count`.
    #[inline(always)]
    fn key_part(self, index: usize) -> &'p [u8] {
        let offset = self.cell_offset(index);
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let field = unsafe { u16_at(self.page, offset) };
        let length =
            if field & OVERFLOW_BIT as usize != 0 { INLINE_KEY_BYTES_MAX } else { field & LENGTH_MASK as usize };
        // SAFETY: verification proved that a cell's key ends inside the body.
        unsafe { slice_at(self.page, offset + CELL_HEADER_BYTES, length) }
    }

    /// Whether an entry's key is below `key`. Requires: `index < count`, and `key` begins with the page's prefix.
    #[inline(always)]
    fn entry_below<S: Search, L: LongKeys>(
        self,
        index: usize,
        prefix_length: usize,
        key: &[u8],
        long_keys: &L,
    ) -> Result<bool, L::Error> {
        let offset = self.cell_offset(index);
        // SAFETY: verification proved that a used slot leads to a cell inside the body.
        let field = unsafe { u16_at(self.page, offset) };
        if field & OVERFLOW_BIT as usize != 0 {
            return long_entry_below(self, index, key, long_keys);
        }
        let rest_at = offset + CELL_HEADER_BYTES + prefix_length;
        // SAFETY: verification proved that a cell's key ends inside the body, and is no shorter than the prefix.
        let stored_rest = unsafe { slice_at(self.page, rest_at, field - prefix_length) };
        // SAFETY: the caller knows that `key` is no shorter than the prefix.
        let key_rest = unsafe { slice_at(key, prefix_length, key.len() - prefix_length) };
        // `stored < key` if and only if not `key <= stored`.
        Ok(!S::at_most(key_rest, stored_rest))
    }
}

/// The lower bound of a key that does not begin with the page's prefix: before all entries, or after.
#[cold]
#[inline(never)]
fn outside(prefix: &[u8], key: &[u8], count: usize) -> usize {
    if prefix < key { count } else { 0 }
}

/// Where the value of the cell at `offset` begins.
#[inline(always)]
fn value_start(offset: usize, stored_key_length: usize, below_align: usize) -> usize {
    (offset + CELL_HEADER_BYTES + stored_key_length + below_align) & !below_align
}

#[cold]
#[inline(never)]
fn long_entry_below<L: LongKeys>(leaf: Leaf<'_>, index: usize, key: &[u8], long_keys: &L) -> Result<bool, L::Error> {
    Ok(leaf.compare(index, key, long_keys)?.is_lt())
}

/// The long key stored at `at`.
///
/// # Safety
/// Verification found a long key there.
#[cold]
#[inline(never)]
pub(super) unsafe fn long_key_at(page: &[u8], at: usize) -> CellKey<'_> {
    // SAFETY: verification proved that a long key takes 1,056 bytes inside the body.
    let prefix = unsafe { slice_at(page, at, INLINE_KEY_BYTES_MAX) };
    // SAFETY: as above.
    let hash = unsafe { u64_at(page, at + INLINE_KEY_BYTES_MAX) };
    // SAFETY: as above.
    let reference = unsafe { array_at(page, at + INLINE_KEY_BYTES_MAX + 8) };
    CellKey::Overflow { prefix, hash, at: OverflowRef::from_bytes(reference) }
}

/// The reference stored at `at`.
///
/// # Safety
/// Verification found an overflow value there.
#[cold]
#[inline(never)]
unsafe fn long_value_at<'p>(page: &'p [u8], at: usize) -> CellValue<'p> {
    // SAFETY: verification proved that a reference takes 24 bytes inside the body.
    CellValue::Overflow(OverflowRef::from_bytes(unsafe { array_at(page, at) }))
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
        Found(Some(unsafe { slice_at(page, start, field) }))
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
