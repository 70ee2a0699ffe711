//! Consecutive keys, each as its suffix after the bytes that it shares with the one before. Packed leaves store keys
//! so; a caller that decodes keys part by part needs no whole key.

use std::ops::Range;

use crate::format::packed::layout::BLOCK_ENTRIES;
use crate::format::packed::view::{PackedLeaf, Stored};

/// The difference of a key from the key before it.
#[derive(Clone, Copy, Debug)]
pub struct KeySuffix<'b> {
    shared: usize,
    /// Contains the suffix. The bytes after it can be read, but mean nothing.
    bytes: &'b [u8],
    at: usize,
    length: usize,
}

impl<'b> KeySuffix<'b> {
    /// A key that shares nothing with the one before.
    #[inline(always)]
    pub fn whole(key: &'b [u8]) -> Self {
        Self { shared: 0, bytes: key, at: 0, length: key.len() }
    }

    /// A key that begins with `shared` bytes of the one before, followed by a range of `bytes`.
    ///
    /// # Panics
    /// Unless the range is within `bytes`.
    #[inline(always)]
    pub fn within(shared: usize, bytes: &'b [u8], range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= bytes.len(), "range of bytes out of range");
        Self { shared, bytes, at: range.start, length: range.len() }
    }

    /// How many bytes of the key before this key begins with. The two may have more in common.
    #[inline(always)]
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// The bytes after the shared ones.
    #[inline(always)]
    pub fn suffix(&self) -> &'b [u8] {
        &self.bytes[self.at..self.at + self.length]
    }

    /// How many bytes the whole key has.
    #[inline(always)]
    pub fn key_len(&self) -> usize {
        self.shared + self.length
    }

    /// Eight bytes from byte `at` of the suffix on, the most significant first. Bytes after the suffix can have any
    /// value.
    #[inline(always)]
    pub fn word(&self, at: usize) -> u64 {
        let from = self.at + at;
        match self.bytes.get(from..from + 8) {
            Some(word) => u64::from_be_bytes(word.try_into().expect("eight bytes")),
            None => self.last_word(from),
        }
    }

    /// As [`KeySuffix::word`], where fewer than eight bytes are left.
    #[inline(never)]
    fn last_word(&self, from: usize) -> u64 {
        let left = self.bytes.get(from..).unwrap_or_default();
        if let (Some(last), false) = (self.bytes.last_chunk(), left.is_empty()) {
            return u64::from_be_bytes(*last) << (8 * (8 - left.len()));
        }
        left.iter().zip((0..8).rev()).fold(0, |word, (&byte, place)| word | u64::from(byte) << (8 * place))
    }

    /// Turns `key`, the whole key before, into this whole key.
    #[inline]
    pub fn complete(&self, key: &mut Vec<u8>) {
        key.truncate(self.shared);
        key.extend_from_slice(self.suffix());
    }
}

/// Keys of a packed leaf.
#[derive(Clone, Debug)]
pub struct PackedKeys<'p> {
    leaf: PackedLeaf<'p>,
    /// Where the next entry is in the page.
    at: usize,
    left: usize,
}

impl<'p> PackedKeys<'p> {
    /// The keys of `range`. If the first one is stored as a suffix, it is written whole into `first`, and the keys
    /// after it are returned.
    ///
    /// # Panics
    /// Unless `range` ends at most at the leaf's count.
    pub fn new(leaf: PackedLeaf<'p>, range: Range<usize>, first: &mut Vec<u8>) -> Self {
        assert!(range.end <= leaf.count(), "range of entries out of range");
        first.clear();
        if range.is_empty() {
            return Self { leaf, at: 0, left: 0 };
        }
        let at = leaf.block_at(range.start / BLOCK_ENTRIES);
        if range.start.is_multiple_of(BLOCK_ENTRIES) {
            return Self { leaf, at, left: range.len() };
        }
        first.reserve(KEY_BYTES_EXPECTED);
        let mut before = Self { leaf, at, left: range.start % BLOCK_ENTRIES + 1 };
        before.by_ref().for_each(|suffix| suffix.complete(first));
        Self { leaf, at: before.at, left: range.len() - 1 }
    }

    #[inline(always)]
    fn step(&mut self) -> KeySuffix<'p> {
        let Stored { shared, rest_at, rest_length, value_length, .. } = self.leaf.stored(self.at);
        self.at = rest_at + rest_length + value_length;
        KeySuffix { shared, bytes: self.leaf.page(), at: rest_at, length: rest_length }
    }
}

impl<'p> Iterator for PackedKeys<'p> {
    type Item = KeySuffix<'p>;

    #[inline(always)]
    fn next(&mut self) -> Option<KeySuffix<'p>> {
        self.left = self.left.checked_sub(1)?;
        Some(self.step())
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// Of a usual key: room for so much is taken at once.
const KEY_BYTES_EXPECTED: usize = 48;

impl ExactSizeIterator for PackedKeys<'_> {}
