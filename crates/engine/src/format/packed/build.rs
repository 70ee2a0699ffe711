//! Builder of packed leaves: stages entries in order, knows their exact size, and cuts pages off the front.
//!
//! Invariant: `packed_end` of a staged entry is where it ends in a page that begins with the first of them.

use crate::format::bytes::{common_prefix, head8, put};
use crate::format::cell::{Cell, CellKey, CellValue, Op};
use crate::format::leaf::LeafSummary;
use crate::format::packed::layout::{
    BLOCK_ENTRIES, ENTRIES_END, ENTRIES_OFFSET, ENTRY_COUNT, FLAGS, HAS_OVERFLOW, HEADS, LENGTHS_BYTES_MAX, NIBBLE_MAX,
    PREFIX_LENGTH, VALUE_LENGTH, VALUES_DIFFER, entries_offset,
};
use crate::format::packed::view;
use crate::format::page::{INLINE_KEY_BYTES_MAX, PageKind, PageSize};

/// One staged entry: where key and value end in the staging area, and what the entry takes.
#[derive(Clone, Copy, Debug)]
struct Staged {
    key_end: u32,
    value_end: u32,
    /// The key's bytes that are those of the one before.
    shared: u16,
    /// Without its value's length.
    packed_end: u32,
    /// Bytes of the lengths of all values so far.
    value_lengths_end: u32,
    /// The value is a reference to an overflow.
    is_overflow: bool,
}

/// Builder of packed leaves. Entries may be staged past one page, so that the last two pages can share evenly.
#[derive(Debug)]
pub struct PackedBuilder {
    page_size: PageSize,
    entries: Vec<Staged>,
    keys: Vec<u8>,
    values: Vec<u8>,
    /// The entries up to this one have values of one length.
    same_length_until: usize,
}

impl PackedBuilder {
    /// An empty builder for pages of this size.
    pub fn new(page_size: PageSize) -> Self {
        Self { page_size, entries: Vec::new(), keys: Vec::new(), values: Vec::new(), same_length_until: 0 }
    }

    /// Whether a packed leaf can hold an entry: other entries are stored in tagged leaves.
    #[inline]
    pub fn can_hold(page_size: PageSize, op: Op, key: &CellKey<'_>, value: &CellValue<'_>) -> bool {
        let (CellKey::Inline(key), Op::PutNew) = (key, op) else { return false };
        key.len() <= INLINE_KEY_BYTES_MAX
            && entries_offset(1) + LENGTHS_BYTES_MAX + key.len() + value.stored_length() <= page_size.body_bytes()
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

    /// Whether all that is staged and one more entry fit one page.
    #[inline]
    pub fn fits(&self, key: &[u8], value: &CellValue<'_>) -> bool {
        let count = self.entries.len();
        // In the worst case values had no stored lengths so far, and all get one now.
        let lengths = self.value_lengths_end(count) + length_bytes(value_field(value));
        let value_lengths = if self.keeps_one_length(value) { 0 } else { lengths };
        let shared =
            if count.is_multiple_of(BLOCK_ENTRIES) { 0 } else { common_prefix(self.key_bytes(count - 1), key) };
        let entry = entry_bytes(shared, key.len() - shared) + value.stored_length();
        entries_offset(count + 1) + self.packed_end(count) + entry + value_lengths <= self.page_size.body_bytes()
    }

    /// Stages an entry. That keys rise is checked in debug builds.
    ///
    /// # Panics
    /// If the key is longer than a leaf may hold: see [`PackedBuilder::can_hold`].
    #[inline]
    pub fn push(&mut self, key: &[u8], value: &CellValue<'_>) {
        assert!(key.len() <= INLINE_KEY_BYTES_MAX, "a key this long needs an overflow");
        let count = self.entries.len();
        debug_assert!(count == 0 || self.key_bytes(count - 1) < key, "keys must rise");
        if self.same_length_until == count && self.keeps_one_length(value) {
            self.same_length_until += 1;
        }
        let shared =
            if count.is_multiple_of(BLOCK_ENTRIES) { 0 } else { common_prefix(self.key_bytes(count - 1), key) };
        let packed_end = self.packed_end(count) + entry_bytes(shared, key.len() - shared) + value.stored_length();
        let value_lengths_end = self.value_lengths_end(count) + length_bytes(value_field(value));
        self.keys.extend_from_slice(key);
        match value {
            CellValue::Inline(value) => self.values.extend_from_slice(value),
            CellValue::Overflow(at) => self.values.extend_from_slice(&at.to_bytes()),
        }
        self.entries.push(Staged {
            key_end: self.keys.len() as u32,
            value_end: self.values.len() as u32,
            shared: shared as u16,
            packed_end: packed_end as u32,
            value_lengths_end: value_lengths_end as u32,
            is_overflow: matches!(value, CellValue::Overflow(_)),
        });
    }

    /// Bytes that a page of the first `count` staged entries takes, of [`PageSize::body_bytes`].
    ///
    /// # Panics
    /// Unless `count <= self.count()`.
    pub fn bytes_of(&self, count: usize) -> usize {
        assert!(count <= self.entries.len(), "more entries than are staged");
        let value_lengths = if count <= self.same_length_until { 0 } else { self.value_lengths_end(count) };
        entries_offset(count) + self.packed_end(count) + value_lengths
    }

    /// Bytes that a page of all staged entries takes.
    #[inline]
    pub fn bytes_used(&self) -> usize {
        self.bytes_of(self.entries.len())
    }

    /// The cut that divides the staged entries about evenly between two pages; `None` if no cut makes both parts fit.
    ///
    /// It is between blocks, so that the blocks after it keep their form: entries at other places of their blocks
    /// may be several times as long.
    pub fn split_point(&self) -> Option<usize> {
        let body = self.page_size.body_bytes();
        let blocks = self.entries.len().div_ceil(BLOCK_ENTRIES);
        let half = self.bytes_used() / 2;
        let (mut low, mut high) = (1, blocks);
        while low < high {
            let middle = low.midpoint(high);
            if self.bytes_of(middle * BLOCK_ENTRIES) < half { low = middle + 1 } else { high = middle }
        }
        let fits = |cut: &usize| self.bytes_of(*cut) <= body && self.bytes_from(*cut) <= body;
        [low, low - 1]
            .map(|block| block * BLOCK_ENTRIES)
            .into_iter()
            .filter(|&cut| (1..self.count()).contains(&cut))
            .find(fits)
    }

    /// An upper bound for the bytes of a page of the staged entries from `first` on, which begins a block.
    fn bytes_from(&self, first: usize) -> usize {
        let count = self.entries.len();
        let entries = self.packed_end(count) - self.packed_end(first);
        entries_offset(count - first) + entries + self.value_lengths_end(count) - self.value_lengths_end(first)
    }

    /// The key of a staged entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn key(&self, index: usize) -> CellKey<'_> {
        CellKey::Inline(self.key_bytes(index))
    }

    /// A staged entry.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn cell(&self, index: usize) -> Cell<'_> {
        Cell { op: Op::PutNew, key: self.key(index), value: self.value(index) }
    }

    /// Writes the first `count` staged entries as the body of a packed leaf, and forgets them.
    ///
    /// # Panics
    /// If `count` is 0 or more than is staged, if they take more than a page, or if `page` is not of the builder's
    /// size.
    pub fn finish_first(&mut self, count: usize, page: &mut [u8]) -> LeafSummary {
        assert!(count > 0, "a leaf has entries");
        assert!(self.bytes_of(count) <= self.page_size.body_bytes(), "the entries take more than a page");
        assert!(page.len() == self.page_size.bytes(), "the page is not of the builder's size");
        let has_overflow = self.entries[..count].iter().any(|entry| entry.is_overflow);
        self.write(count, has_overflow, page);
        self.forget(count);
        LeafSummary { entries: count, net_count: count as i64, has_overflow }
    }

    /// Forgets all that is staged.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.keys.clear();
        self.values.clear();
        self.same_length_until = 0;
    }

    fn write(&self, count: usize, has_overflow: bool, page: &mut [u8]) {
        page.fill(0);
        let one_length = count <= self.same_length_until;
        let prefix = if count == 1 { 0 } else { common_prefix(self.key_bytes(0), self.key_bytes(count - 1)) };
        let blocks = count.div_ceil(BLOCK_ENTRIES);
        let mut at = entries_offset(count);
        for index in 0..count {
            let (key, value) = (self.key_bytes(index), self.value_bytes(index));
            if index.is_multiple_of(BLOCK_ENTRIES) {
                let block = index / BLOCK_ENTRIES;
                put(page, HEADS + 8 * block, head8(key, prefix).to_le_bytes());
                put(page, HEADS + 8 * blocks + 2 * block, (at as u16).to_le_bytes());
            }
            let shared = usize::from(self.entries[index].shared);
            let rest = &key[shared..];
            page[at] = (shared.min(NIBBLE_MAX) << 4 | rest.len().min(NIBBLE_MAX)) as u8;
            at += 1;
            for length in [shared, rest.len()] {
                if let Some(more) = length.checked_sub(NIBBLE_MAX) {
                    put_length(page, &mut at, more);
                }
            }
            if !one_length {
                put_length(page, &mut at, value.len() << 1 | usize::from(self.entries[index].is_overflow));
            }
            page[at..at + rest.len()].copy_from_slice(rest);
            at += rest.len();
            page[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        }
        debug_assert_eq!(at, self.bytes_of(count), "the written length is the computed one");
        let value_length = if one_length { self.value_bytes(0).len() } else { VALUES_DIFFER };
        page[0] = PageKind::Packed as u8;
        page[FLAGS] = if has_overflow { HAS_OVERFLOW } else { 0 };
        put(page, ENTRY_COUNT, (count as u16).to_le_bytes());
        put(page, PREFIX_LENGTH, (prefix as u16).to_le_bytes());
        put(page, VALUE_LENGTH, (value_length as u16).to_le_bytes());
        put(page, ENTRIES_OFFSET, (entries_offset(count) as u16).to_le_bytes());
        put(page, ENTRIES_END, (at as u16).to_le_bytes());
    }

    /// Drops the first `count` entries, and stages the rest again, because blocks begin at other entries.
    fn forget(&mut self, count: usize) {
        if count == self.entries.len() {
            return self.clear();
        }
        let mut rest = Self::new(self.page_size);
        (count..self.entries.len()).for_each(|index| rest.push(self.key_bytes(index), &self.value(index)));
        *self = rest;
    }

    /// Whether all values have one length, and are inline, with this one more.
    #[inline]
    fn keeps_one_length(&self, value: &CellValue<'_>) -> bool {
        let CellValue::Inline(value) = value else { return false };
        let count = self.entries.len();
        count == 0 || (self.same_length_until == count && self.value_bytes(0).len() == value.len())
    }

    #[inline]
    fn key_bytes(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.entries[index - 1].key_end };
        &self.keys[start as usize..self.entries[index].key_end as usize]
    }

    #[inline]
    fn value(&self, index: usize) -> CellValue<'_> {
        view::value(self.value_bytes(index), self.entries[index].is_overflow)
    }

    #[inline]
    fn value_bytes(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.entries[index - 1].value_end };
        &self.values[start as usize..self.entries[index].value_end as usize]
    }

    #[inline]
    fn packed_end(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.entries[last].packed_end as usize)
    }

    #[inline]
    fn value_lengths_end(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.entries[last].value_lengths_end as usize)
    }
}

/// The bytes of an entry without its value and the value's length.
#[inline]
fn entry_bytes(shared: usize, rest: usize) -> usize {
    let more = |length: usize| length.checked_sub(NIBBLE_MAX).map_or(0, length_bytes);
    1 + more(shared) + more(rest) + rest
}

/// The length field before a value where values differ.
#[inline]
fn value_field(value: &CellValue<'_>) -> usize {
    value.stored_length() << 1 | usize::from(matches!(value, CellValue::Overflow(_)))
}

#[inline]
fn length_bytes(length: usize) -> usize {
    1 + usize::from(length >= 0x80)
}

/// Writes a length below 2¹⁵: seven bits, and with the eighth set eight more.
#[inline]
fn put_length(page: &mut [u8], at: &mut usize, length: usize) {
    if length < 0x80 {
        page[*at] = length as u8;
    } else {
        page[*at] = (length & 0x7F | 0x80) as u8;
        page[*at + 1] = (length >> 7) as u8;
    }
    *at += length_bytes(length);
}
