//! The entries of a packed leaf with assembled keys.

use std::ops::Range;

use crate::format::cell::{Cell, CellKey, CellValue, Op};
use crate::format::packed::layout::BLOCK_ENTRIES;
use crate::format::packed::view::{self, PackedLeaf};

impl<'p> PackedLeaf<'p> {
    /// The value at a place in this page.
    #[inline]
    pub fn value(self, place: &ValuePlace) -> CellValue<'p> {
        let at = usize::from(place.at);
        view::value(&self.page()[at..at + usize::from(place.length)], place.is_overflow)
    }

    /// The entries of `range`, with whole keys.
    ///
    /// # Panics
    /// Unless `range.start <= range.end <= self.count()`.
    pub fn unpack(self, range: Range<usize>) -> Unpacked<'p> {
        Unpacked::new(self, range)
    }
}

/// Entries of a packed leaf, with whole keys in one buffer.
#[derive(Clone, Debug)]
pub struct Unpacked<'p> {
    page: &'p [u8],
    keys: Vec<u8>,
    entries: Vec<EntryParts>,
}

/// Where an entry's parts are.
#[derive(Clone, Copy, Debug)]
struct EntryParts {
    /// In `keys`.
    key_at: u32,
    key_length: u16,
    /// In the page.
    value_length: u16,
    value_at: u16,
    is_overflow: bool,
}

/// Where a value is in a packed leaf.
#[derive(Clone, Copy, Debug)]
pub struct ValuePlace {
    pub(super) at: u16,
    pub(super) length: u16,
    pub(super) is_overflow: bool,
}

/// Bytes that are copied at once, whether or not all of them are needed: most keys share less, and have a shorter rest.
const PIECE: usize = 16;

impl<'p> Unpacked<'p> {
    /// Requires: `range.start <= range.end <= leaf.count()`.
    pub(super) fn new(leaf: PackedLeaf<'p>, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= leaf.count(), "range of entries out of range");
        let mut unpacked = Self { page: leaf.page(), keys: Vec::new(), entries: Vec::with_capacity(range.len()) };
        if range.is_empty() {
            return unpacked;
        }
        let before = range.start % BLOCK_ENTRIES;
        let mut at = leaf.block_at(range.start / BLOCK_ENTRIES);
        let (mut start, mut end) = (0, 0);
        unpacked.keys.resize(range.len() * KEY_BYTES_EXPECTED + PIECE, 0);
        for _ in 0..before + range.len() {
            let stored = leaf.stored(at);
            let next = end;
            unpacked.make_room(next + stored.shared + stored.rest_length);
            unpacked.share(start, next, stored.shared);
            unpacked.append(next + stored.shared, stored.rest_at, stored.rest_length);
            unpacked.entries.push(EntryParts {
                key_at: next as u32,
                key_length: (stored.shared + stored.rest_length) as u16,
                value_at: stored.value_at as u16,
                value_length: stored.value_length as u16,
                is_overflow: stored.is_overflow,
            });
            (start, end) = (next, next + stored.shared + stored.rest_length);
            at = stored.end();
        }
        unpacked.entries.drain(..before);
        unpacked
    }

    /// How many entries there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The key of an entry.
    ///
    /// # Panics
    /// Unless `index < self.len()`.
    #[inline(always)]
    pub fn key(&self, index: usize) -> &[u8] {
        key(&self.keys, &self.entries[index])
    }

    /// The value of an entry.
    ///
    /// # Panics
    /// Unless `index < self.len()`.
    #[inline(always)]
    pub fn value(&self, index: usize) -> CellValue<'p> {
        let place = &self.entries[index];
        view::value(value(self.page, place), place.is_overflow)
    }

    /// The first entry whose key is at least `key`.
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        self.entries.partition_point(|place| self::key(&self.keys, place) < key)
    }

    /// An entry in the form of tagged leaves.
    ///
    /// # Panics
    /// Unless `index < self.len()`.
    #[inline(always)]
    pub fn cell(&self, index: usize) -> Cell<'_> {
        Cell { op: Op::PutNew, key: CellKey::Inline(self.key(index)), value: self.value(index) }
    }

    /// Keys and values in order, from either end. For a value in an overflow, its reference.
    #[inline(always)]
    pub fn iter(&self) -> UnpackedEntries<'_> {
        UnpackedEntries { page: self.page, keys: &self.keys, entries: self.entries.iter() }
    }

    /// Where the keys are in the buffer of [`Unpacked::into_keys`].
    pub fn key_places(&self) -> impl Iterator<Item = Range<usize>> {
        self.entries.iter().map(|place| place.key_at as usize..place.key_at as usize + usize::from(place.key_length))
    }

    /// Where the values are in the page.
    pub fn value_places(&self) -> impl Iterator<Item = ValuePlace> {
        self.entries.iter().map(|place| ValuePlace {
            at: place.value_at,
            length: place.value_length,
            is_overflow: place.is_overflow,
        })
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = CellValue<'p>> {
        (0..self.len()).map(|index| self.value(index))
    }

    /// All keys, and a few bytes after them.
    pub fn into_keys(self) -> Vec<u8> {
        self.keys
    }

    /// Requires: room for all bytes to copy, and a piece more.
    #[inline(always)]
    fn share(&mut self, from: usize, to: usize, length: usize) {
        if length <= PIECE {
            // Through a value of known length: two instructions instead of a call.
            let piece: [u8; PIECE] = self.keys[from..from + PIECE].try_into().expect("it is a piece long");
            self.keys[to..to + PIECE].copy_from_slice(&piece);
        } else {
            self.keys.copy_within(from..from + length, to);
        }
    }

    /// As [`Unpacked::share`], from the page.
    #[inline(always)]
    fn append(&mut self, to: usize, from: usize, length: usize) {
        let length = if length <= PIECE { PIECE } else { length };
        // The trailer is longer than a piece: a piece of the body's last entry ends within the page.
        if length == PIECE {
            self.keys[to..to + PIECE].copy_from_slice(&self.page[from..from + PIECE]);
        } else {
            self.keys[to..to + length].copy_from_slice(&self.page[from..from + length]);
        }
    }

    #[inline(always)]
    fn make_room(&mut self, end: usize) {
        if end + PIECE > self.keys.len() {
            self.keys.resize((end + PIECE).max(2 * self.keys.len()), 0);
        }
    }
}

/// Keys and values of [`Unpacked`] entries.
#[derive(Clone, Debug)]
pub struct UnpackedEntries<'u> {
    page: &'u [u8],
    keys: &'u [u8],
    entries: std::slice::Iter<'u, EntryParts>,
}

impl<'u> Iterator for UnpackedEntries<'u> {
    type Item = (&'u [u8], &'u [u8]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(|place| (key(self.keys, place), value(self.page, place)))
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl DoubleEndedIterator for UnpackedEntries<'_> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.entries.next_back().map(|place| (key(self.keys, place), value(self.page, place)))
    }
}

#[inline(always)]
fn key<'u>(keys: &'u [u8], place: &EntryParts) -> &'u [u8] {
    &keys[place.key_at as usize..place.key_at as usize + usize::from(place.key_length)]
}

#[inline(always)]
fn value<'u>(page: &'u [u8], place: &EntryParts) -> &'u [u8] {
    &page[usize::from(place.value_at)..usize::from(place.value_at) + usize::from(place.value_length)]
}

/// Length of a usual key: this much room is reserved at once.
const KEY_BYTES_EXPECTED: usize = 16;
