//! Builder of leaves: stages entries in order, knows their exact size, and cuts pages off the front.
//!
//! Invariant: the staged cells are laid out as they will be in a page that begins with the first of them. Cells begin
//! at a multiple of 64 bytes in every page, so that a cut copies them as one piece.

use std::ops::Range;

use crate::format::bytes::{common_prefix, get_u16, head4, put};
use crate::format::cell::{
    CELL_HEADER_BYTES, Cell, CellKey, CellValue, LENGTH_MASK, LONG_KEY_BYTES, OVERFLOW_BIT, Op, OverflowRef, ValueAlign,
};
use crate::format::leaf::layout::{
    BLOCK_BYTES, BLOCK_COUNT, BLOCK_ENTRIES, BLOCK_SLOTS, BLOCKS_OFFSET, CELLS_OFFSET, ENTRY_COUNT, FLAGS,
    HAS_OTHER_OPS, HAS_OVERFLOW, HINTS, NET_COUNT, PREFIX_LENGTH, SLOT_OFFSET_BITS, VALUE_ALIGN, blocks_offset,
    cells_offset,
};
use crate::format::leaf::plain::PlainEntries;
use crate::format::leaf::summary::LeafSummary;
use crate::format::page::{INLINE_KEY_BYTES_MAX, PageKind, PageSize};

/// One staged entry.
#[derive(Clone, Copy, Debug)]
struct Staged {
    /// Of its cell in the staging area.
    offset: u32,
    tag: u16,
    op: Op,
    /// [`HAS_OVERFLOW`] and [`HAS_OTHER_OPS`] as they apply to this entry.
    flags: u8,
}

/// Builder of leaves. Entries may be staged past one page, so that the last two pages can share evenly.
#[derive(Debug)]
pub struct LeafBuilder {
    page_size: PageSize,
    align: ValueAlign,
    entries: Vec<Staged>,
    cells: Vec<u8>,
}

impl LeafBuilder {
    /// An empty builder for pages of this size, with values aligned so.
    pub fn new(page_size: PageSize, align: ValueAlign) -> Self {
        Self { page_size, align, entries: Vec::new(), cells: Vec::with_capacity(2 * page_size.bytes()) }
    }

    /// Whether an entry of these lengths is stored without overflow of its value. `key_length` is the whole key's.
    pub fn value_is_inline(page_size: PageSize, align: ValueAlign, key_length: usize, value_length: usize) -> bool {
        let stored_key = if key_length > INLINE_KEY_BYTES_MAX { LONG_KEY_BYTES } else { key_length };
        let cell = (CELL_HEADER_BYTES + stored_key + align.bytes() - 1).saturating_add(value_length);
        cell <= page_size.inline_cell_bytes_max()
    }

    /// Size of the pages built.
    #[cfg(test)]
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// Number of staged entries.
    #[inline]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is staged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether all that is staged and one more entry of these stored lengths fit one page.
    #[inline]
    pub fn fits(&self, key_stored_length: usize, value_stored_length: usize) -> bool {
        let value_at = (self.cells.len() + CELL_HEADER_BYTES + key_stored_length).next_multiple_of(self.align.bytes());
        cells_offset(self.entries.len() + 1) + value_at + value_stored_length <= self.page_size.body_bytes()
    }

    /// Stages an entry. `hash` is the identity's hash of the whole key.
    ///
    /// # Panics
    /// If a key part or value is longer than a cell may hold: see [`LeafBuilder::value_is_inline`]; if a delete has a
    /// value; if the hash of a long key is not its checksum. That keys rise is checked in debug builds.
    #[inline]
    pub fn push(&mut self, op: Op, key: CellKey<'_>, value: CellValue<'_>, hash: u64) {
        let offset = self.cells.len();
        let align = self.align.bytes();
        let stored = CELL_HEADER_BYTES + key.stored_length() + align - 1 + value.stored_length();
        assert!(stored <= self.page_size.inline_cell_bytes_max(), "the cell is too large for a page");
        debug_assert!(self.rises(&key), "keys must rise");
        let mut flags = if op == Op::PutNew { 0 } else { HAS_OTHER_OPS };
        let mut value_field = value.stored_length() as u16;
        assert!(!op.is_delete() || value_field == 0, "a delete has no value");
        match key {
            CellKey::Inline(bytes) => {
                assert!(bytes.len() <= INLINE_KEY_BYTES_MAX, "a key this long needs an overflow");
                if matches!(value, CellValue::Overflow(_)) {
                    value_field |= OVERFLOW_BIT;
                    flags |= HAS_OVERFLOW;
                }
                self.cells.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
                self.cells.extend_from_slice(&value_field.to_le_bytes());
                self.cells.extend_from_slice(bytes);
            }
            CellKey::Overflow { prefix, hash: stored_hash, at } => {
                assert!(prefix.len() == INLINE_KEY_BYTES_MAX, "a long key is stored by its first 1,024 bytes");
                assert!(stored_hash == at.checksum, "the hash of a long key is its checksum");
                if matches!(value, CellValue::Overflow(_)) {
                    value_field |= OVERFLOW_BIT;
                }
                flags |= HAS_OVERFLOW;
                self.cells.extend_from_slice(&(LONG_KEY_BYTES as u16 | OVERFLOW_BIT).to_le_bytes());
                self.cells.extend_from_slice(&value_field.to_le_bytes());
                self.cells.extend_from_slice(prefix);
                self.cells.extend_from_slice(&stored_hash.to_le_bytes());
                self.cells.extend_from_slice(&at.to_bytes());
            }
        }
        if align > 1 {
            self.cells.resize(self.cells.len().next_multiple_of(align), 0);
        }
        match value {
            CellValue::Inline(bytes) => self.cells.extend_from_slice(bytes),
            CellValue::Overflow(at) => self.cells.extend_from_slice(&at.to_bytes()),
        }
        self.entries.push(Staged { offset: offset as u32, tag: (hash >> 48) as u16, op, flags });
    }

    /// Stages entries of a page as they are stored there: as many of `range` as fit one page with all staged entries.
    /// Returns how many were staged; also stops before an entry that is larger than any cell may be.
    ///
    /// # Panics
    /// If values are to be aligned, or the range reaches past the entries. That keys rise is checked in debug builds.
    pub fn push_plain(&mut self, from: &PlainEntries<'_>, range: Range<usize>) -> usize {
        assert!(self.align == ValueAlign::One, "aligned values need a new layout");
        let first = from.start(range.start);
        let room = |count: usize, end: usize| {
            cells_offset(self.entries.len() + count) + self.cells.len() + (end - first) <= self.page_size.body_bytes()
        };
        let (mut taken, mut beyond) = (0, range.len() + 1);
        if room(range.len(), from.start(range.end)) {
            taken = range.len();
        }
        while taken + 1 < beyond && taken < range.len() {
            let middle = taken.midpoint(beyond);
            if room(middle, from.start(range.start + middle)) { taken = middle } else { beyond = middle }
        }
        let base = self.cells.len();
        let mut start = first;
        for index in range.start..range.start + taken {
            let end = from.start(index + 1);
            if end - start > self.page_size.inline_cell_bytes_max() {
                taken = index - range.start;
                break;
            }
            let offset = (base + start - first) as u32;
            self.entries.push(Staged { offset, tag: from.tag(index), op: Op::PutNew, flags: 0 });
            start = end;
        }
        self.cells.extend_from_slice(from.cells(first, start));
        debug_assert!(self.all_rise(self.entries.len() - taken), "keys must rise");
        taken
    }

    /// Bytes that a page of the first `count` staged entries takes, of [`PageSize::body_bytes`].
    ///
    /// # Panics
    /// Unless `count <= self.count()`.
    pub fn bytes_of(&self, count: usize) -> usize {
        assert!(count <= self.entries.len(), "more entries than are staged");
        cells_offset(count) + self.cells_end(count)
    }

    /// Bytes that a page of all staged entries takes.
    #[inline]
    pub fn bytes_used(&self) -> usize {
        cells_offset(self.entries.len()) + self.cells.len()
    }

    /// Most of the first staged entries that fit one page: the cut for full pages.
    pub fn fill_point(&self) -> usize {
        let (mut low, mut high) = (0, self.entries.len());
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.bytes_of(middle) <= self.page_size.body_bytes() {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// The cut that shares the staged entries most evenly between two pages: the cut for the last two.
    ///
    /// Requires: they take less than one and a half page, or the rest may not fit the second page.
    pub fn split_point(&self) -> usize {
        // A cell's share of tags, slots and hints, 4.25 bytes, in quarters.
        let weight = |count: usize| 4 * self.cells_end(count) + 17 * count;
        let half = weight(self.entries.len()) / 2;
        let (mut low, mut high) = (0, self.entries.len());
        while low < high {
            let middle = (low + high) / 2;
            if weight(middle) < half {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let nearer = if low > 0 && half - weight(low - 1) < weight(low) - half { low - 1 } else { low };
        nearer.min(self.fill_point()).max(1)
    }

    /// The key of a staged entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn key(&self, index: usize) -> CellKey<'_> {
        self.cell(index).key
    }

    /// A staged entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn cell(&self, index: usize) -> Cell<'_> {
        let staged = self.entries[index];
        let start = staged.offset as usize;
        let key_field = get_u16(&self.cells, start);
        let value_field = get_u16(&self.cells, start + 2);
        let key_at = start + CELL_HEADER_BYTES;
        let key_end = key_at + (key_field & LENGTH_MASK) as usize;
        let value_at = key_end.next_multiple_of(self.align.bytes());
        let key = &self.cells[key_at..key_end];
        let value = &self.cells[value_at..value_at + (value_field & LENGTH_MASK) as usize];
        let key = if key_field & OVERFLOW_BIT == 0 { CellKey::Inline(key) } else { long_key(key) };
        let value = if value_field & OVERFLOW_BIT == 0 {
            CellValue::Inline(value)
        } else {
            CellValue::Overflow(reference(value))
        };
        Cell { op: staged.op, key, value }
    }

    /// Writes the first `count` staged entries as the body of a leaf, and forgets them.
    ///
    /// # Panics
    /// If `count` is 0 or more than is staged, if they take more than a page, or if `page` is not of the builder's
    /// size.
    pub fn finish_first(&mut self, count: usize, page: &mut [u8]) -> LeafSummary {
        assert!(count > 0, "a leaf has entries");
        assert!(self.bytes_of(count) <= self.page_size.body_bytes(), "the entries take more than a page");
        assert!(page.len() == self.page_size.bytes(), "the page is not of the builder's size");
        let summary = self.write(count, page);
        self.forget(count);
        summary
    }

    /// [`LeafBuilder::finish_first`] of all staged entries.
    ///
    /// # Panics
    /// As it does.
    #[cfg(test)]
    pub fn finish(&mut self, page: &mut [u8]) -> LeafSummary {
        self.finish_first(self.entries.len(), page)
    }

    /// Forgets all that is staged.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.cells.clear();
    }

    fn write(&self, count: usize, page: &mut [u8]) -> LeafSummary {
        let block_count = count.div_ceil(BLOCK_ENTRIES);
        let blocks = blocks_offset(block_count);
        let cells = cells_offset(count);
        let cells_bytes = self.cells_end(count);
        page[..cells].fill(0);
        page[HINTS..blocks].fill(0xFF);
        page[cells..cells + cells_bytes].copy_from_slice(&self.cells[..cells_bytes]);
        page[cells + cells_bytes..].fill(0);
        let last = self.key(count - 1).part();
        let prefix = if count == 1 { 0 } else { common_prefix(self.key(0).part(), last) };
        let mut net = 0i16;
        let mut flags = 0;
        for (block, entries) in self.entries[..count].chunks(BLOCK_ENTRIES).enumerate() {
            let at = blocks + BLOCK_BYTES * block;
            let line = &mut page[at..at + BLOCK_BYTES];
            for (place, entry) in entries.iter().enumerate() {
                let slot = (cells + entry.offset as usize) as u16 | (entry.op as u16) << SLOT_OFFSET_BITS;
                put(line, 2 * place, entry.tag.to_le_bytes());
                put(line, BLOCK_SLOTS + 2 * place, slot.to_le_bytes());
                net += entry.op.net();
                flags |= entry.flags;
            }
            let last = self.key(block * BLOCK_ENTRIES + entries.len() - 1).part();
            put(page, HINTS + 4 * block, head4(last, prefix).to_le_bytes());
        }
        page[0] = PageKind::Leaf as u8;
        page[FLAGS] = flags;
        put(page, ENTRY_COUNT, (count as u16).to_le_bytes());
        put(page, PREFIX_LENGTH, (prefix as u16).to_le_bytes());
        put(page, BLOCK_COUNT, (block_count as u16).to_le_bytes());
        put(page, BLOCKS_OFFSET, (blocks as u16).to_le_bytes());
        put(page, CELLS_OFFSET, (cells as u16).to_le_bytes());
        put(page, NET_COUNT, net.to_le_bytes());
        page[VALUE_ALIGN] = self.align as u8;
        LeafSummary { entries: count, net_count: net as i64, has_overflow: flags & HAS_OVERFLOW != 0 }
    }

    /// Drops the first `count` entries, and lays out the rest again where alignment requires it.
    fn forget(&mut self, count: usize) {
        let cut = self.cells_end(count);
        if cut == self.cells.len() {
            self.clear();
            return;
        }
        if cut.is_multiple_of(self.align.bytes()) {
            self.cells.drain(..cut);
            self.entries.drain(..count);
            for entry in &mut self.entries {
                entry.offset -= cut as u32;
            }
            return;
        }
        let mut rest = Self::new(self.page_size, self.align);
        for index in count..self.entries.len() {
            let cell = self.cell(index);
            rest.push(cell.op, cell.key, cell.value, (self.entries[index].tag as u64) << 48);
        }
        *self = rest;
    }

    /// Where the cells of the first `count` entries end.
    #[inline]
    fn cells_end(&self, count: usize) -> usize {
        self.entries.get(count).map_or(self.cells.len(), |next| next.offset as usize)
    }

    /// Whether each staged key from `first` on is above the one before.
    fn all_rise(&self, first: usize) -> bool {
        (first.max(1)..self.entries.len()).all(|index| self.key(index - 1).part() < self.key(index).part())
    }

    fn rises(&self, key: &CellKey<'_>) -> bool {
        let Some(last) = self.entries.len().checked_sub(1) else { return true };
        let last = self.key(last).part();
        last < key.part() || (key.is_overflow() && last == key.part())
    }
}

/// Takes a staged long key apart.
fn long_key(stored: &[u8]) -> CellKey<'_> {
    let (prefix, rest) = stored.split_at(INLINE_KEY_BYTES_MAX);
    let at = reference(&rest[8..]);
    CellKey::Overflow { prefix, hash: at.checksum, at }
}

fn reference(stored: &[u8]) -> OverflowRef {
    let mut bytes = [0; OverflowRef::BYTES];
    bytes.copy_from_slice(stored);
    OverflowRef::from_bytes(&bytes)
}
