//! The view over a verified packed leaf.
//!
//! Entries are in blocks. A key is stored as what it has beyond the key before it, the first of a block whole. A
//! search finds one block by the heads of the blocks' first keys, and scans it without assembling any key.
//!
//! Invariant: a [`PackedLeaf`] is a view of a page that `packed/verify.rs` accepted: every entry is inside the body,
//! keys rise, and each entry states exactly how much it shares with the one before. Reads are still checked for
//! bounds.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::Range;

use crate::format::bytes::{common_prefix, equal, get_u16, get_u64, head8};
use crate::format::cell::{CellValue, OverflowRef};
use crate::format::leaf::Found;
use crate::format::packed::layout::{
    BLOCK_ENTRIES, ENTRIES_END, ENTRY_COUNT, FLAGS, HAS_OVERFLOW, HEADS, NIBBLE_MAX, PREFIX_LENGTH, VALUE_LENGTH,
    VALUES_DIFFER,
};
use crate::format::search::prefetch;

/// A verified packed leaf.
#[derive(Clone, Copy, Debug)]
pub struct PackedLeaf<'p> {
    page: &'p [u8],
}

/// One stored entry: where its parts are in the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// Bytes of the key before that the key begins with; 0 for the first of a block.
    pub shared: usize,
    /// What the key has beyond that.
    pub rest_at: usize,
    pub rest_length: usize,
    pub value_at: usize,
    pub value_length: usize,
    /// The value is a reference to an overflow.
    pub is_overflow: bool,
}

impl Stored {
    /// Where the next entry begins.
    #[inline(always)]
    pub fn end(&self) -> usize {
        self.value_at + self.value_length
    }
}

/// Where a key belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPlace {
    /// Of the first entry whose key is not below it.
    pub index: usize,
    /// Where that entry is in the page, if there is one. What it shares with the one before it, it shares with the key.
    pub at: usize,
    /// Whether that entry has the key.
    pub is_found: bool,
}

impl<'p> PackedLeaf<'p> {
    /// A view over a page that `verify_page` or `verify_own_page` accepted as a packed leaf. Over another page it
    /// returns wrong entries, or panics.
    #[inline(always)]
    pub const fn of(page: &'p [u8]) -> Self {
        Self { page }
    }

    /// The page's bytes.
    #[inline(always)]
    pub fn page(self) -> &'p [u8] {
        self.page
    }

    /// Number of entries, at least 1.
    #[inline(always)]
    pub fn count(self) -> usize {
        get_u16(self.page, ENTRY_COUNT) as usize
    }

    /// Bytes that its entries take, of [`PageSize::body_bytes`](crate::format::PageSize::body_bytes).
    pub fn bytes_used(self) -> usize {
        get_u16(self.page, ENTRIES_END) as usize
    }

    /// Whether some value lives in an overflow.
    #[inline(always)]
    pub fn has_overflow(self) -> bool {
        self.page[FLAGS] & HAS_OVERFLOW != 0
    }

    /// The value of `key`, if it has one.
    #[inline]
    pub fn find(self, key: &[u8]) -> Option<CellValue<'p>> {
        let place = self.place_of(key);
        place.is_found.then(|| self.stored_value(&self.stored(place.at)))
    }

    /// The value of `key` for a point get, if it is in the page.
    #[inline]
    pub fn value_of(self, key: &[u8]) -> Found<'p> {
        match self.find(key) {
            None => Found::ABSENT,
            Some(CellValue::Inline(value)) => Found::value(value),
            Some(CellValue::Overflow(_)) => Found::UNCLEAR,
        }
    }

    /// The first entry whose key is at least `key`; [`PackedLeaf::count`] if there is none.
    #[inline]
    pub fn lower_bound(self, key: &[u8]) -> usize {
        self.place_of(key).index
    }

    /// The first entry whose key is above `key`; [`PackedLeaf::count`] if there is none.
    #[inline]
    pub fn upper_bound(self, key: &[u8]) -> usize {
        let place = self.place_of(key);
        place.index + usize::from(place.is_found)
    }

    /// How the key of an entry compares to `key`.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn compare(self, index: usize, key: &[u8]) -> Ordering {
        let mut own = Vec::new();
        self.key(index, &mut own);
        own.as_slice().cmp(key)
    }

    /// Writes the key of an entry into `key`, and returns its value.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn key(self, index: usize, key: &mut Vec<u8>) -> CellValue<'p> {
        assert!(index < self.count(), "entry index out of range");
        let mut stored = self.first_of(index / BLOCK_ENTRIES);
        key.clear();
        key.extend_from_slice(self.rest(&stored));
        for _ in 0..index % BLOCK_ENTRIES {
            stored = self.stored(stored.end());
            key.truncate(stored.shared);
            key.extend_from_slice(self.rest(&stored));
        }
        self.stored_value(&stored)
    }

    /// The entries of the block that has this entry.
    pub fn block_of(self, index: usize) -> Range<usize> {
        let from = index / BLOCK_ENTRIES * BLOCK_ENTRIES;
        from..(from + BLOCK_ENTRIES).min(self.count())
    }

    /// The entry at a place in the page.
    #[inline(always)]
    pub(super) fn stored(self, at: usize) -> Stored {
        self.stored_with(at, self.value_length())
    }

    /// What the header says of the lengths of values.
    #[inline(always)]
    fn value_length(self) -> usize {
        get_u16(self.page, VALUE_LENGTH) as usize
    }

    /// As [`PackedLeaf::stored`], given what the header says of the lengths of values.
    #[inline(always)]
    fn stored_with(self, at: usize, fixed: usize) -> Stored {
        match self.short_parts(at, fixed) {
            Some((shared, rest_length)) => {
                let (rest_at, value_at) = (at + 1, at + 1 + rest_length);
                Stored { shared, rest_at, rest_length, value_at, value_length: fixed, is_overflow: false }
            }
            None => self.stored_at_length(at, fixed),
        }
    }

    /// For an entry whose lengths are all in its first byte: how much it shares, and the length of its rest, which
    /// follows that byte.
    #[inline(always)]
    fn short_parts(self, at: usize, fixed: usize) -> Option<(usize, usize)> {
        let first = self.page[at] as usize;
        let (shared, rest_length) = (first >> 4, first & NIBBLE_MAX);
        let is_short = shared != NIBBLE_MAX && rest_length != NIBBLE_MAX && fixed != VALUES_DIFFER;
        is_short.then_some((shared, rest_length))
    }

    /// As [`PackedLeaf::stored`], where lengths take more than the first byte.
    fn stored_at_length(self, at: usize, fixed: usize) -> Stored {
        let first = self.page[at] as usize;
        let (mut shared, mut rest_length, mut at) = (first >> 4, first & NIBBLE_MAX, at + 1);
        if shared == NIBBLE_MAX {
            let more = self.length_at(&mut at);
            shared += more;
        }
        if rest_length == NIBBLE_MAX {
            let more = self.length_at(&mut at);
            rest_length += more;
        }
        let field = if fixed == VALUES_DIFFER { self.length_at(&mut at) } else { fixed << 1 };
        let (value_length, is_overflow) = (field >> 1, field & 1 != 0);
        Stored { shared, rest_at: at, rest_length, value_at: at + rest_length, value_length, is_overflow }
    }

    /// The first entry of a block.
    #[inline(always)]
    pub(super) fn first_of(self, block: usize) -> Stored {
        self.stored(self.block_at(block))
    }

    /// What an entry's key has beyond the one before.
    #[inline(always)]
    pub(super) fn rest(self, stored: &Stored) -> &'p [u8] {
        &self.page[stored.rest_at..stored.rest_at + stored.rest_length]
    }

    #[inline(always)]
    fn stored_value(self, stored: &Stored) -> CellValue<'p> {
        value(&self.page[stored.value_at..stored.end()], stored.is_overflow)
    }

    #[inline(always)]
    pub(super) fn block_at(self, block: usize) -> usize {
        get_u16(self.page, HEADS + 8 * self.block_count() + 2 * block) as usize
    }

    #[inline(always)]
    fn block_count(self) -> usize {
        self.count().div_ceil(BLOCK_ENTRIES)
    }

    /// A length of one byte or two.
    #[inline(always)]
    fn length_at(self, at: &mut usize) -> usize {
        let (low, high) = (self.page[*at] as usize, self.page[*at + 1] as usize);
        *at += 1 + (low >> 7);
        if low < 0x80 { low } else { low & 0x7F | high << 7 }
    }

    /// A key longer than any packed key is placed by its first bytes.
    #[inline]
    pub(super) fn place_of(self, key: &[u8]) -> KeyPlace {
        match self.blocks_up_to(key) {
            None => KeyPlace { index: self.count(), at: 0, is_found: false },
            Some(0) => KeyPlace { index: 0, at: self.block_at(0), is_found: false },
            Some(blocks) => self.place_in(blocks - 1, key),
        }
    }

    /// How many blocks begin with keys that are at most `key`; `None` if the prefix of all keys is below it.
    #[inline]
    fn blocks_up_to(self, key: &[u8]) -> Option<usize> {
        let prefix_length = get_u16(self.page, PREFIX_LENGTH) as usize;
        let first = self.first_of(0);
        let prefix = &self.page[first.rest_at..first.rest_at + prefix_length];
        let Some(start) = key.get(..prefix_length) else {
            // It ends within the prefix of all keys.
            return if prefix < key { None } else { Some(0) };
        };
        if !equal(start, prefix) {
            return if prefix < start { None } else { Some(0) };
        }
        let head = head8(key, prefix_length);
        let (heads, _) = self.page[HEADS..HEADS + 8 * self.block_count()].as_chunks::<8>();
        let (mut from, mut size) = (0, heads.len());
        while size > 1 {
            let half = size / 2;
            from = select_unpredictable(u64::from_le_bytes(heads[from + half - 1]) < head, from + half, from);
            size -= half;
        }
        from += usize::from(u64::from_le_bytes(heads[from]) < head);
        // Where heads tie, whole keys are compared.
        let mut tied = 0;
        while from + tied < heads.len() && u64::from_le_bytes(heads[from + tied]) == head {
            tied += 1;
        }
        while tied > 0 {
            let half = tied / 2;
            let up_to = self.rest(&self.first_of(from + half)) <= key;
            from = if up_to { from + half + 1 } else { from };
            tied = if up_to { tied - half - 1 } else { half };
        }
        Some(from)
    }

    /// The place of a key in a block, which begins with a key that is at most it; or at the block's end.
    #[inline]
    fn place_in(self, block: usize, key: &[u8]) -> KeyPlace {
        let entries = self.block_of(block * BLOCK_ENTRIES);
        let (mut at, fixed) = (self.block_at(block), self.value_length());
        prefetch(self.page, at + 64);
        // The bytes that the key has in common with the entry before, which is below the key; and the key's bytes
        // after those.
        let (mut common, mut wanted) = (0, head8(key, 0));
        for index in entries.clone() {
            let (shared, rest_at, rest_length, end) = match self.short_parts(at, fixed) {
                Some((shared, rest_length)) => (shared, at + 1, rest_length, at + 1 + rest_length + fixed),
                None => {
                    let stored = self.stored_at_length(at, fixed);
                    (stored.shared, stored.rest_at, stored.rest_length, stored.end())
                }
            };
            if shared > common {
                // It differs from the key where the entry before did.
                at = end;
                continue;
            }
            if shared < common {
                // It differs from the entry before where that one did not differ from the key.
                return KeyPlace { index, at, is_found: false };
            }
            if index > entries.start {
                // Mostly the first byte decides. There is one: only the first key of all can be empty. The key has
                // one too, or the entry before would not have been below it.
                let (first, wanted) = (self.page[rest_at], (wanted >> 56) as u8);
                if first > wanted {
                    return KeyPlace { index, at, is_found: false };
                }
                if first < wanted {
                    at = end;
                    continue;
                }
            }
            let left = key.len() - common;
            let difference = (self.word(rest_at) ^ wanted).leading_zeros() as usize / 8;
            let mut same = difference.min(rest_length).min(left);
            if difference == 8 {
                same = common_prefix(&self.page[rest_at..rest_at + rest_length], &key[common..]);
            }
            if same == left {
                return KeyPlace { index, at, is_found: same == rest_length };
            }
            if same < rest_length && self.page[rest_at + same] > key[common + same] {
                return KeyPlace { index, at, is_found: false };
            }
            at = end;
            if same > 0 {
                common += same;
                wanted = head8(key, common);
            }
        }
        KeyPlace { index: entries.end, at, is_found: false }
    }

    /// Eight bytes of the page as a number, the first the most significant.
    #[inline(always)]
    fn word(self, at: usize) -> u64 {
        get_u64(self.page, at).swap_bytes()
    }
}

/// A value as it is stored.
#[inline(always)]
pub(super) fn value(stored: &[u8], is_overflow: bool) -> CellValue<'_> {
    if is_overflow { CellValue::Overflow(reference(stored)) } else { CellValue::Inline(stored) }
}

#[cold]
fn reference(stored: &[u8]) -> OverflowRef {
    let mut bytes = [0; OverflowRef::BYTES];
    bytes.copy_from_slice(stored);
    OverflowRef::from_bytes(&bytes)
}
