//! Numbers in keys: as short as they are, and in the order of the numbers.
//!
//! The first byte is the tag (five bits) and a length (three bits), then come the payload's bytes, the most significant first.
//! What the length says depends on the tag: see [`Shape`]. No encoding is the beginning of another.

use super::{Tag, TermId};

/// How payloads of a tag are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Without zeros in front: lengths 0 to 7.
    Count,
    /// As integers around a zero: from it on without zeros in front, lengths 1 to 7; below it whole, as length 0.
    Signed,
    /// All seven bytes.
    Whole,
}

/// By tag, to spare the path of scans a chain of comparisons.
const SHAPES: [Shape; 32] = {
    let mut shapes = [Shape::Whole; 32];
    let counts =
        [Tag::DEFAULT_GRAPH, Tag::IRI, Tag::LABELLED_BLANK, Tag::TRIPLE, Tag::LITERAL, Tag::BOOLEAN, Tag::YEAR];
    let mut index = 0;
    while index < counts.len() {
        shapes[counts[index].0 as usize] = Shape::Count;
        index += 1;
    }
    let mut tag = Tag::INTEGER_FIRST.0;
    while tag <= Tag::INTEGER_LAST.0 {
        shapes[tag as usize] = Shape::Signed;
        tag += 1;
    }
    shapes
};

/// Several numbers as one key: at most four.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdKey {
    bytes: [u8; 32],
    length: u8,
}

impl IdKey {
    /// The key of these numbers.
    #[cfg(test)]
    pub fn of(ids: &[TermId]) -> Self {
        let mut key = Self::default();
        ids.iter().for_each(|&id| key.push(id));
        key
    }

    /// Requires: fewer than four numbers so far.
    #[inline]
    pub fn push(&mut self, id: TermId) {
        let start = self.length as usize;
        let (tag, payload) = (id.tag().0, id.payload());
        let (code, payload, length) = match SHAPES[tag as usize] {
            Shape::Count => {
                let length = bytes_of(payload);
                (length, payload, length)
            }
            Shape::Signed if payload >= SIGNED_ZERO => {
                let length = bytes_of(payload - SIGNED_ZERO).max(1);
                (length, payload - SIGNED_ZERO, length)
            }
            Shape::Signed => (0, payload, 7),
            Shape::Whole => (7, payload, 7),
        };
        self.bytes[start] = tag << 3 | code as u8;
        let bytes = payload.to_be_bytes();
        self.bytes[start + 1..start + 1 + length].copy_from_slice(&bytes[8 - length..]);
        self.length += 1 + length as u8;
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }
}

/// Takes a number off the front of `bytes`. `None` if there is none that was written here.
#[inline]
pub fn take_id(bytes: &mut &[u8]) -> Option<TermId> {
    let (&first, rest) = bytes.split_first()?;
    let (tag, code) = (Tag(first >> 3), (first & 7) as usize);
    let shape = SHAPES[tag.0 as usize];
    let length = if shape == Shape::Signed && code == 0 { 7 } else { code };
    let (payload, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    let mut whole = [0; 8];
    whole[8 - length..].copy_from_slice(payload);
    let mut payload = u64::from_be_bytes(whole);
    let is_written_so = match shape {
        Shape::Count => bytes_of(payload) == length,
        Shape::Signed if code == 0 => payload < SIGNED_ZERO,
        Shape::Signed => {
            let is_short = bytes_of(payload).max(1) == length && payload < SIGNED_ZERO;
            payload += SIGNED_ZERO;
            is_short
        }
        Shape::Whole => code == 7,
    };
    (is_written_so && tag.0 <= Tag::LAST.0).then(|| TermId::new(tag, payload))
}

impl AsRef<[u8]> for IdKey {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl TermId {
    /// The number of exactly these bytes.
    pub(crate) fn from_key(mut bytes: &[u8]) -> Option<Self> {
        let id = take_id(&mut bytes)?;
        bytes.is_empty().then_some(id)
    }

    /// Takes a number off the front of `bytes`. `None` if there is none that was written here.
    #[inline]
    pub(crate) fn take(bytes: &mut &[u8]) -> Option<Self> {
        take_id(bytes)
    }

    /// The number by itself.
    pub(crate) fn key(self) -> IdKey {
        let mut key = IdKey::default();
        key.push(self);
        key
    }
}

#[inline]
fn bytes_of(payload: u64) -> usize {
    (64 - payload.leading_zeros() as usize).div_ceil(8)
}

/// The least key above all that begin with `prefix`; `None` if there is none.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// The payload of the integer 0.
const SIGNED_ZERO: u64 = 1 << 55;
