//! A block: facts of one predicate that are adjacent in the order of keys, of a completed database.
//!
//! Bytes of a block come from a file: [`Block::new`] checks its header and length, and each access checks the rest, so
//! that damage is an error and never a panic.

use std::cmp::Ordering;

use fulgurite::Value;

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::{Fact, Part};

/// A block as it is stored.
#[derive(Clone)]
pub struct Block<'t> {
    bytes: Value<'t>,
    count: usize,
    wide: bool,
    /// Where keys and values begin.
    data: usize,
    first_id: u64,
    predicate: PredicateId,
}

/// Where a fact's key and value are in its block.
struct Bounds {
    key: usize,
    value: usize,
    end: usize,
}

impl<'t> Block<'t> {
    /// Reads the header.
    pub fn new(bytes: Value<'t>) -> Result<Self> {
        let header = bytes.first_chunk::<HEADER_BYTES>().ok_or(SHORT)?;
        let [count_low, count_high, wide, _, _, _, _, _, ..] = *header;
        let (first_id, predicate) = (number(header, 8), number(header, 16));
        let predicate = PredicateId::new(predicate).ok_or(Error::Damaged { what: "a block has the predicate 0" })?;
        let (count, wide) = (usize::from(u16::from_le_bytes([count_low, count_high])), wide != 0);
        let data = HEADER_BYTES + count * (ID_BYTES + 2 * end_bytes(wide));
        if count == 0 || data > bytes.len() || first_id == 0 {
            return Err(SHORT);
        }
        Ok(Self { bytes, count, wide, data, first_id, predicate })
    }

    /// The number of facts: at least one.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The predicate of its facts.
    pub fn predicate(&self) -> PredicateId {
        self.predicate
    }

    /// The fact at `index`. Requires: `index < self.count()`.
    pub fn fact(&self, index: usize) -> Result<Fact<'t>> {
        let id = self.id(index)?;
        let Bounds { key, value, end } = self.bounds(index)?;
        let key = Part::new(self.bytes.clone(), key, value);
        Ok(Fact::new(id, self.predicate, key, Part::new(self.bytes.clone(), value, end)))
    }

    /// The id of the fact at `index`. Requires: `index < self.count()`.
    pub fn id(&self, index: usize) -> Result<FactId> {
        debug_assert!(index < self.count, "the fact is in the block");
        let offset = u64::from(u32_at(&self.bytes, HEADER_BYTES + index * ID_BYTES));
        let id = self.first_id.checked_add(offset).and_then(FactId::new);
        id.ok_or(Error::Damaged { what: "an id in a block is too large" })
    }

    /// The key of the fact at `index`. Requires: `index < self.count()`.
    pub fn key(&self, index: usize) -> Result<&[u8]> {
        let Bounds { key, value, .. } = self.bounds(index)?;
        Ok(&self.bytes[key..value])
    }

    /// The index of `key`, or that of the first greater key.
    pub fn search(&self, key: &[u8]) -> Result<std::result::Result<usize, usize>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = (low + high) / 2;
            match self.key(middle)?.cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(Ok(middle)),
                Ordering::Greater => high = middle,
            }
        }
        Ok(Err(low))
    }

    fn bounds(&self, index: usize) -> Result<Bounds> {
        debug_assert!(index < self.count, "the fact is in the block");
        let key = if index == 0 { 0 } else { self.end(2 * index - 1) };
        let (value, end) = (self.end(2 * index), self.end(2 * index + 1));
        if key > value || value > end || end > self.bytes.len() - self.data {
            return Err(Error::Damaged { what: "a fact reaches beyond its block" });
        }
        Ok(Bounds { key: self.data + key, value: self.data + value, end: self.data + end })
    }

    /// The end with this number: those of the first fact's key and value, then those of the second's.
    fn end(&self, number: usize) -> usize {
        let ends = HEADER_BYTES + self.count * ID_BYTES;
        if self.wide {
            u32_at(&self.bytes, ends + 4 * number) as usize
        } else {
            let at = ends + 2 * number;
            usize::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]))
        }
    }
}

/// Facts that become a block.
#[derive(Default)]
pub struct BlockBuilder {
    ids: Vec<u64>,
    ends: Vec<usize>,
    data: Vec<u8>,
}

impl BlockBuilder {
    /// Whether a fact of this size can be added. An empty block takes any.
    pub fn has_room(&self, id: FactId, fact_bytes: usize) -> bool {
        let Some(first) = self.ids.first() else { return true };
        let bytes = HEADER_BYTES + (self.ids.len() + 1) * (ID_BYTES + 2 * end_bytes(false)) + self.data.len();
        self.ids.len() < FACTS_MAX
            && bytes + fact_bytes <= BLOCK_BYTES
            // So that the difference of any two ids of the block has 32 bits.
            && first.abs_diff(id.get()) <= u64::from(u32::MAX / 2)
    }

    /// Adds a fact. Requires: [`has_room`](Self::has_room), and a key above those before.
    pub fn push(&mut self, id: FactId, key: &[u8], value: &[u8]) {
        self.ids.push(id.get());
        self.data.extend_from_slice(key);
        self.ends.push(self.data.len());
        self.data.extend_from_slice(value);
        self.ends.push(self.data.len());
    }

    /// The number of facts.
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// The block of the facts so far, of `predicate`. The builder is empty afterwards. Requires: there is a fact.
    pub fn finish(&mut self, predicate: PredicateId) -> Vec<u8> {
        let first_id = self.ids.iter().copied().min().expect("a block has a fact");
        let wide = self.data.len() > usize::from(u16::MAX);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.ids.len() * 12 + self.data.len());
        bytes.extend_from_slice(&(self.ids.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[u8::from(wide), 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&first_id.to_le_bytes());
        bytes.extend_from_slice(&predicate.get().to_le_bytes());
        for id in &self.ids {
            bytes.extend_from_slice(&((id - first_id) as u32).to_le_bytes());
        }
        for end in &self.ends {
            match wide {
                true => bytes.extend_from_slice(&(*end as u32).to_le_bytes()),
                false => bytes.extend_from_slice(&(*end as u16).to_le_bytes()),
            }
        }
        bytes.extend_from_slice(&self.data);
        self.ids.clear();
        self.ends.clear();
        self.data.clear();
        bytes
    }
}

fn end_bytes(wide: bool) -> usize {
    if wide { 4 } else { 2 }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn number(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let (low, high) = (u32_at(header, at), u32_at(header, at + 4));
    u64::from(low) | u64::from(high) << 32
}

/// The error of a block without a whole header.
const SHORT: Error = Error::Damaged { what: "a block is too short" };

/// Count, width of ends, unused bytes, first id, predicate.
const HEADER_BYTES: usize = 24;
/// Of an id, as what it is above the least id of its block.
const ID_BYTES: usize = 4;
/// Facts of a block: a place has 6 bits for one.
pub const FACTS_MAX: usize = 64;
/// A block ends before it would be longer. Ten blocks fill a page of 16 KiB.
const BLOCK_BYTES: usize = 1590;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> FactId {
        FactId::new(number).expect("not 0")
    }

    #[test]
    fn block_returns_its_facts_and_finds_their_keys() {
        let mut builder = BlockBuilder::default();
        let facts = [(1030, "apple", "red"), (1024, "pear", ""), (1040, "plum", "blue")];
        for (number, key, value) in facts {
            assert!(builder.has_room(id(number), key.len() + value.len()));
            builder.push(id(number), key.as_bytes(), value.as_bytes());
        }
        let block = Block::new(builder.finish(PredicateId::FIRST).into()).expect("a block");
        assert_eq!(block.count(), 3);
        for (index, (number, key, value)) in facts.into_iter().enumerate() {
            let fact = block.fact(index).expect("a fact");
            assert_eq!((fact.id().get(), fact.key(), fact.value()), (number, key.as_bytes(), value.as_bytes()));
            assert_eq!(block.search(key.as_bytes()).expect("sound"), Ok(index));
        }
        assert_eq!(block.search(b"b").expect("sound"), Err(1));
        assert_eq!(block.search(b"z").expect("sound"), Err(3));
        assert_eq!(builder.count(), 0);
    }

    #[test]
    fn long_fact_has_a_block_of_its_own_with_wide_ends() {
        let mut builder = BlockBuilder::default();
        builder.push(id(1024), &vec![7; 1 << 20], b"value");
        assert!(!builder.has_room(id(1025), 1));
        let block = Block::new(builder.finish(PredicateId::FIRST).into()).expect("a block");
        assert_eq!(block.fact(0).expect("a fact").value(), b"value");
        assert_eq!(block.key(0).expect("a key").len(), 1 << 20);
    }

    #[test]
    fn every_byte_of_a_block_can_be_wrong_without_a_panic() {
        let mut builder = BlockBuilder::default();
        builder.push(id(1024), b"a", b"1");
        builder.push(id(1025), b"b", b"2");
        let sound = builder.finish(PredicateId::FIRST);
        let mut errors = 0;
        for at in 0..sound.len() {
            for wrong in [0, 1, 0x7f, 0xff] {
                let mut bytes = sound.clone();
                bytes[at] = wrong;
                errors += usize::from(read_all(bytes).is_err());
            }
            errors += usize::from(read_all(sound[..at].to_vec()).is_err());
        }
        assert!(errors > sound.len(), "{errors}");
        assert!(read_all(sound).is_ok());
    }

    fn read_all(bytes: Vec<u8>) -> Result<()> {
        let block = Block::new(bytes.into())?;
        for index in 0..block.count() {
            block.fact(index)?;
        }
        block.search(b"aa").map(|_| ())
    }
}
