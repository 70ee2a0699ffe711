//! What a completed database has besides blocks: the index of blocks, and the places of facts.

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::block::FACTS_MAX;

/// Where a fact is: a block, and its index in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the block.
    pub block: u64,
    /// The fact's index in it.
    pub index: usize,
}

impl Place {
    /// As it is stored.
    ///
    /// # Errors
    /// If the block's number has more than 34 bits.
    pub fn encode(self) -> Result<[u8; PLACE_BYTES]> {
        let number = self.block * FACTS_MAX as u64 + self.index as u64;
        let [a, b, c, d, e, 0, 0, 0] = number.to_le_bytes() else { return Err(Error::TooLarge) };
        Ok([a, b, c, d, e])
    }

    /// The place at `index` of a chunk of places.
    pub fn read(chunk: &[u8], index: usize) -> Result<Self> {
        let missing = Error::Damaged { what: "a fact has no place" };
        let Some(&[a, b, c, d, e]) = chunk.get(index * PLACE_BYTES..(index + 1) * PLACE_BYTES) else {
            return Err(missing);
        };
        let number = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        Ok(Self { block: number / FACTS_MAX as u64, index: (number % FACTS_MAX as u64) as usize })
    }
}

/// The key of a block.
pub fn block_key(block: u64) -> [u8; 8] {
    block.to_be_bytes()
}

/// The number of the chunk of places that has this fact, and the fact's index in it; `first` is the database's first
/// fact.
pub fn chunk_of(id: FactId, first: FactId) -> (u64, usize) {
    let rank = id.get() - first.get();
    (rank / CHUNK_PLACES as u64, (rank % CHUNK_PLACES as u64) as usize)
}

/// The key in the index of the block whose last key is `last` and that is before one that begins with `next`: the
/// shortest that is above the one and at most the other. Without `next`, the block is the predicate's last.
pub fn bound(predicate: PredicateId, last: &[u8], next: Option<&[u8]>, out: &mut Vec<u8>) {
    out.clear();
    match next {
        Some(next) => {
            let shared = last.iter().zip(next).take_while(|(a, b)| a == b).count();
            out.extend_from_slice(&predicate.get().to_be_bytes());
            out.extend_from_slice(&next[..shared + 1]);
        }
        // There is no predicate 2⁶⁴ − 1: its bound would have nine bytes.
        None => out.extend_from_slice(&(predicate.get().saturating_add(1)).to_be_bytes()),
    }
}

/// A fact's place.
pub const PLACE_BYTES: usize = 5;
/// Places of an entry: twelve entries fill a page of 16 KiB.
pub const CHUNK_PLACES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_read_as_it_was_written() {
        let place = Place { block: (1 << 34) - 1, index: 63 };
        let chunk =
            [place.encode().expect("it fits"), Place { block: 7, index: 1 }.encode().expect("it fits")].concat();
        assert_eq!(Place::read(&chunk, 0).expect("a place"), place);
        assert_eq!(Place::read(&chunk, 1).expect("a place"), Place { block: 7, index: 1 });
        assert!(Place::read(&chunk, 2).is_err());
        assert!(Place { block: 1 << 34, index: 0 }.encode().is_err());
    }

    #[test]
    fn bound_is_above_one_block_and_not_above_the_next() {
        let mut out = Vec::new();
        bound(PredicateId::FIRST, b"abcdef", Some(b"abd123"), &mut out);
        assert_eq!(out[8..], *b"abd");
        bound(PredicateId::FIRST, b"ab", Some(b"abc"), &mut out);
        assert_eq!(out[8..], *b"abc");
        bound(PredicateId::FIRST, b"ab", None, &mut out);
        assert_eq!(out, 1025_u64.to_be_bytes());
    }
}
