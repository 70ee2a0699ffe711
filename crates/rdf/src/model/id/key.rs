//! Numbers in keys: as short as they are, and in the order of the numbers.
//!
//! The first byte is the tag (five bits) and a length (three bits), then come the payload's bytes, the most significant
//! first. What the length says depends on the tag: see [`Shape`]. No encoding is the beginning of another.

use fulgurite::KeySuffix;

use crate::model::id::short_text::{PAYLOAD_BITS, PAYLOAD_MAX};
use crate::model::id::term_id::{Tag, TermId};

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
        // All eight bytes that a number can have. The next number overwrites those that this one does not need.
        let word = u64::from(tag << 3 | code as u8) << PAYLOAD_BITS | payload << (PAYLOAD_BITS - 8 * length as u32);
        let place = self.bytes[start..].first_chunk_mut().expect("a number has room for eight bytes");
        *place = word.to_be_bytes();
        self.length += 1 + length as u8;
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }

    /// The least key above all that begin with this one; `None` if there is none.
    pub fn end(mut self) -> Option<Self> {
        let last = self.as_bytes().iter().rposition(|&byte| byte != u8::MAX)?;
        self.bytes[last] += 1;
        self.length = last as u8 + 1;
        Some(self)
    }
}

/// What the first byte of a number says of the rest.
#[derive(Clone, Copy)]
struct Form {
    /// Bytes of the payload.
    length: u8,
    /// The number less the payload as it is written.
    base: u64,
    /// The least payload that is written in so many bytes.
    least: u64,
    /// The greatest less the least.
    span: u64,
}

/// Of every first byte. What is never written has no payload that would do.
const FORMS: [Form; 256] = {
    let mut forms = [Form { length: 0, base: 0, least: u64::MAX, span: 0 }; 256];
    let mut byte = 0;
    while byte <= (Tag::LAST.0 as usize) << 3 | 7 {
        let (tag, code) = ((byte >> 3) as u64, (byte & 7) as u32);
        let base = tag << PAYLOAD_BITS;
        // The least and the greatest number of so many bytes without zeros in front.
        let (least, greatest) = (if code == 0 { 0 } else { 1 << (8 * (code - 1)) }, (1 << (8 * code)) - 1);
        let form = match SHAPES[tag as usize] {
            Shape::Count => Some((code, base, least, greatest)),
            Shape::Signed if code == 0 => Some((7, base, 0, SIGNED_ZERO - 1)),
            Shape::Signed if code == 1 => Some((1, base + SIGNED_ZERO, 0, greatest)),
            Shape::Signed if code == 7 => Some((7, base + SIGNED_ZERO, least, SIGNED_ZERO - 1)),
            Shape::Signed => Some((code, base + SIGNED_ZERO, least, greatest)),
            Shape::Whole if code == 7 => Some((7, base, 0, PAYLOAD_MAX)),
            Shape::Whole => None,
        };
        if let Some((length, base, least, greatest)) = form {
            forms[byte] = Form { length: length as u8, base, least, span: greatest - least };
        }
        byte += 1;
    }
    forms
};

/// Takes the keys of a range apart, one after the other, into `COUNT` numbers, three or four: each from the number on
/// in which it differs from the key before it.
///
/// Scans spend their time here: each number is found in eight bytes that are read at once.
#[derive(Debug)]
pub struct KeyReader<const COUNT: usize> {
    ids: [TermId; 4],
    /// Eight bytes of the key from each number on.
    words: [u64; 4],
    /// Where in the key each number begins; the one after the last is the length of the key.
    starts: [usize; 5],
}

impl<const COUNT: usize> KeyReader<COUNT> {
    /// The first key has to be given whole.
    pub fn new() -> Self {
        const { assert!(COUNT == 3 || COUNT == 4) };
        // No key has so many bytes that it goes on from these.
        let starts = [0, usize::MAX, usize::MAX, usize::MAX, usize::MAX];
        Self { ids: [TermId::DEFAULT_GRAPH; 4], words: [0; 4], starts }
    }

    /// The numbers of a key; without a fourth the default graph in its place. `None` if it is not made of so many: then
    /// the next one has to be whole again.
    #[inline(always)]
    pub fn read(&mut self, key: &KeySuffix<'_>) -> Option<[TermId; 4]> {
        // Each place has its own copy of what follows, so that no number is looked for by its place.
        let shared = key.shared();
        if shared < self.starts[1] {
            let mut is_sound = self.change::<0>(key);
            is_sound &= self.follow::<1>(key)?;
            is_sound &= self.follow::<2>(key)?;
            return self.read_last(key, is_sound);
        }
        if shared < self.starts[2] {
            let mut is_sound = self.change::<1>(key);
            is_sound &= self.follow::<2>(key)?;
            return self.read_last(key, is_sound);
        }
        if COUNT == 3 || shared < self.starts[3] {
            let is_sound = self.change::<2>(key);
            return self.read_last(key, is_sound);
        }
        let is_sound = self.change::<3>(key);
        (is_sound && self.starts[4] == key.key_len()).then_some(self.ids)
    }

    /// The fourth number, if there is one, after a third that was decoded again.
    #[inline(always)]
    fn read_last(&mut self, key: &KeySuffix<'_>, mut is_sound: bool) -> Option<[TermId; 4]> {
        if COUNT == 4 {
            is_sound &= self.follow::<3>(key)?;
        }
        (is_sound && self.starts[COUNT] == key.key_len()).then_some(self.ids)
    }

    /// Reads a number that begins with bytes of the key before. Returns whether it can be one.
    #[inline(always)]
    fn change<const PLACE: usize>(&mut self, key: &KeySuffix<'_>) -> bool {
        let at = self.starts[PLACE];
        // What the number's bytes have in common with those of the key before: not all eight, or the key is made of
        // something else.
        let kept = 8 * (key.shared() - at) as u32;
        let new = u64::MAX.wrapping_shr(kept);
        let word = self.words[PLACE] & !new | key.word(0).wrapping_shr(kept) & new;
        self.set::<PLACE>(at, word) && kept < u64::BITS
    }

    /// Reads a number after one that was decoded again. Returns whether it can be one; `None` if the one before cannot.
    #[inline(always)]
    fn follow<const PLACE: usize>(&mut self, key: &KeySuffix<'_>) -> Option<bool> {
        let at = self.starts[PLACE];
        let word = key.word(at.checked_sub(key.shared())?);
        Some(self.set::<PLACE>(at, word))
    }

    /// Sets the number that these eight bytes begin with. Returns whether it can be one.
    #[inline(always)]
    fn set<const PLACE: usize>(&mut self, at: usize, word: u64) -> bool {
        let first = (word >> PAYLOAD_BITS) as u8;
        let length = payload_bytes(first);
        let form = &FORMS[usize::from(first)];
        let payload = (word & PAYLOAD_MAX) >> (PAYLOAD_BITS - 8 * length);
        self.ids[PLACE] = TermId(form.base.wrapping_add(payload));
        self.words[PLACE] = word;
        self.starts[PLACE + 1] = at + 1 + length as usize;
        payload.wrapping_sub(form.least) <= form.span
    }
}

/// How many bytes follow the first one. Where the next number begins depends on it, and with that all that is read
/// next: so it is not waited for from the table of forms, as long as the first byte has it.
#[inline(always)]
fn payload_bytes(first: u8) -> u32 {
    match u32::from(first & 7) {
        0 => payload_bytes_without_code(first),
        code => code,
    }
}

/// A branch, and no choice between two values that are both waited for.
#[cold]
#[inline(never)]
fn payload_bytes_without_code(first: u8) -> u32 {
    u32::from(FORMS[usize::from(first)].length)
}

/// Takes a number off the front of `bytes`. `None` if there is none that was written here.
#[inline]
pub fn take_id(bytes: &mut &[u8]) -> Option<TermId> {
    let (&first, rest) = bytes.split_first()?;
    let form = &FORMS[first as usize];
    let length = form.length as usize;
    let (payload, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    let mut whole = [0; 8];
    whole[8 - length..].copy_from_slice(payload);
    let payload = u64::from_be_bytes(whole);
    (payload.wrapping_sub(form.least) <= form.span).then(|| TermId(form.base + payload))
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

/// The payload of the integer 0.
const SIGNED_ZERO: u64 = 1 << 55;
