//! The buffer that keys are encoded into.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The capacity in bytes without the heap. Integers, ids, dates, short words and most tuples of them fit.
const INLINE_BYTES: usize = 64;

/// The bytes of an encoded key. Up to 64 bytes are in the buffer itself, longer keys on the heap.
///
/// It can be cleared and reused; the heap allocation is kept. Buffers compare as their bytes do.
///
/// Invariant: `spilled` is empty while the bytes are inline, and holds all of them once they are not.
#[derive(Clone)]
pub struct KeyBuffer {
    inline: [u8; INLINE_BYTES],
    inline_length: usize,
    spilled: Vec<u8>,
}

impl KeyBuffer {
    /// An empty buffer. Allocates nothing.
    pub const fn new() -> Self {
        Self { inline: [0; INLINE_BYTES], inline_length: 0, spilled: Vec::new() }
    }

    /// Appends `bytes`.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let end = self.inline_length + bytes.len();
        if self.spilled.is_empty() && end <= INLINE_BYTES {
            self.inline[self.inline_length..end].copy_from_slice(bytes);
            self.inline_length = end;
        } else {
            self.spill(bytes);
        }
    }

    /// Removes all bytes and keeps the allocation.
    #[inline]
    pub fn clear(&mut self) {
        self.inline_length = 0;
        self.spilled.clear();
    }

    /// The bytes so far.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        if self.spilled.is_empty() { &self.inline[..self.inline_length] } else { &self.spilled }
    }

    /// The bytes as a vector; copies them only if they are inline.
    pub fn into_vec(self) -> Vec<u8> {
        if self.spilled.is_empty() { self.inline[..self.inline_length].to_vec() } else { self.spilled }
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self, bytes: &[u8]) {
        if self.spilled.is_empty() {
            self.spilled.reserve(self.inline_length + bytes.len());
            self.spilled.extend_from_slice(&self.inline[..self.inline_length]);
            self.inline_length = 0;
        }
        self.spilled.extend_from_slice(bytes);
    }
}

impl Default for KeyBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for KeyBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for KeyBuffer {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for KeyBuffer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_slice(), out)
    }
}

impl PartialEq for KeyBuffer {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for KeyBuffer {}

impl PartialOrd for KeyBuffer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyBuffer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for KeyBuffer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_the_same_across_the_move_to_the_heap() {
        for first in [0, 1, 63, 64, 65] {
            for second in [0, 1, 63, 64, 65] {
                let mut buffer = KeyBuffer::new();
                for _ in 0..2 {
                    buffer.clear();
                    buffer.push(&vec![1; first]);
                    buffer.push(&vec![2; second]);
                    buffer.push(&[3]);
                    let expected = [vec![1; first], vec![2; second], vec![3]].concat();
                    assert_eq!(buffer.as_slice(), expected);
                    assert_eq!(buffer.clone().into_vec(), expected);
                }
            }
        }
    }
}
