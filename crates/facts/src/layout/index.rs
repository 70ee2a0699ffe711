//! The index of a completed database: nodes of bounds. A bound is above all keys of a group of records and not above
//! the next group; bounds of nodes are in nodes of a second level, which are read into memory.

use crate::error::{Error, Result};
use crate::ids::PredicateId;

/// A node: bounds in order, each with a number of 40 bits, the place of its group or the number of its node.
pub struct Node<B> {
    bytes: B,
    count: usize,
}

impl<B: AsRef<[u8]>> Node<B> {
    /// The node of these bytes.
    pub fn new(bytes: B) -> Result<Self> {
        let count = bytes.as_ref().first_chunk().map(|bytes| usize::from(u16::from_le_bytes(*bytes)));
        let count = count.filter(|count| bytes.as_ref().len() >= 2 + count * ENTRY_BYTES);
        Ok(Self { bytes, count: count.ok_or_else(cut)? })
    }

    /// The number of the first bound above `key`. `None` if all are at or below it.
    pub fn above(&self, key: &[u8]) -> Result<Option<u64>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.bound(middle)? > key {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Ok((low < self.count).then(|| self.number(low)))
    }

    /// The last bound.
    pub fn last(&self) -> Result<&[u8]> {
        self.bound(self.count.checked_sub(1).ok_or_else(cut)?)
    }

    fn bound(&self, index: usize) -> Result<&[u8]> {
        let start = if index == 0 { 0 } else { self.end(index - 1) };
        let bounds = &self.bytes.as_ref()[2 + self.count * ENTRY_BYTES..];
        bounds.get(start..self.end(index)).ok_or_else(cut)
    }

    fn end(&self, index: usize) -> usize {
        let at = 2 + index * END_BYTES;
        let bytes = self.bytes.as_ref();
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
    }

    fn number(&self, index: usize) -> u64 {
        let at = 2 + self.count * END_BYTES + index * NUMBER_BYTES;
        let bytes = self.bytes.as_ref();
        u64::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3], bytes[at + 4], 0, 0, 0])
    }
}

/// A node that is being filled.
#[derive(Default)]
pub struct NodeBuilder {
    ends: Vec<u32>,
    numbers: Vec<u64>,
    bounds: Vec<u8>,
}

impl NodeBuilder {
    /// Adds a bound. Requires: it is above those before; `number` has 40 bits.
    pub fn push(&mut self, bound: &[u8], number: u64) -> Result<()> {
        self.bounds.extend_from_slice(bound);
        self.ends.push(u32::try_from(self.bounds.len()).map_err(|_| Error::TooLarge)?);
        self.numbers.push(number);
        Ok(())
    }

    /// Whether it ends here.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= NODE_BOUNDS || self.bounds.len() >= NODE_BOUND_BYTES
    }

    /// Whether it has no bound.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of the node. The builder is empty afterwards.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = (self.ends.len() as u16).to_le_bytes().to_vec();
        self.ends.drain(..).for_each(|end| bytes.extend_from_slice(&end.to_le_bytes()));
        self.numbers.drain(..).for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()[..NUMBER_BYTES]));
        bytes.append(&mut self.bounds);
        bytes
    }
}

/// The bound of a group whose last key is `last`, before one that begins with `next`: the shortest that is above the
/// one and at most the other. Without `next`, the group is the predicate's last.
pub fn bound(predicate: PredicateId, last: &[u8], next: Option<&[u8]>, out: &mut Vec<u8>) {
    out.clear();
    match next {
        Some(next) => {
            let shared = last.iter().zip(next).take_while(|(a, b)| a == b).count();
            out.extend_from_slice(&predicate.get().to_be_bytes());
            out.extend_from_slice(&next[..shared + 1]);
        }
        // No schema has as many predicates as there are numbers, so there is a next one.
        None => out.extend_from_slice(&predicate.get().saturating_add(1).to_be_bytes()),
    }
}

fn cut() -> Error {
    Error::Damaged { what: "a node of the index is cut off" }
}

/// Where a bound ends.
const END_BYTES: usize = 4;
const NUMBER_BYTES: usize = 5;
const ENTRY_BYTES: usize = END_BYTES + NUMBER_BYTES;
/// Bounds of a node.
const NODE_BOUNDS: usize = 64;
/// A node ends after a bound that brings it to this.
const NODE_BOUND_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_finds_the_first_bound_above_a_key() {
        let mut builder = NodeBuilder::default();
        for (bound, number) in [("b", 1), ("bb", 1 << 39), ("d", 3)] {
            builder.push(bound.as_bytes(), number).expect("it fits");
        }
        let bytes = builder.finish();
        let node = Node::new(&bytes).expect("a node");
        let above = |key: &str| node.above(key.as_bytes()).expect("sound");
        assert_eq!(["", "a", "b", "c", "d"].map(above), [Some(1), Some(1), Some(1 << 39), Some(3), None]);
        assert_eq!(node.last().expect("sound"), b"d");
        assert!(builder.is_empty());
        for cut in 0..bytes.len() {
            let _ = Node::new(&bytes[..cut]).map(|node| (node.above(b"c").is_ok(), node.last().is_ok()));
        }
        assert!(Node::new(&bytes[..10]).is_err());
    }

    #[test]
    fn bound_is_above_one_group_and_not_above_the_next() {
        let mut out = Vec::new();
        bound(PredicateId::FIRST, b"abcdef", Some(b"abd123"), &mut out);
        assert_eq!(out[8..], *b"abd");
        bound(PredicateId::FIRST, b"ab", Some(b"abc"), &mut out);
        assert_eq!(out[8..], *b"abc");
        bound(PredicateId::FIRST, b"ab", None, &mut out);
        assert_eq!(out, 1025_u64.to_be_bytes());
    }
}
