//! Records: the facts of a completed database, in the order of predicates and keys, in pieces of one predicate each.
//!
//! Bytes of a piece come from a file: each access checks what it reads, so that damage is an error and never a panic.

use fulgurite::Value;

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::{Fact, Part};

/// A piece of records.
#[derive(Clone)]
pub struct Piece<'t> {
    bytes: Value<'t>,
    predicate: PredicateId,
}

/// Where a record's parts are in its piece.
#[derive(Clone, Copy)]
pub struct Record {
    /// What its fact's id is above the database's first.
    pub rank: u64,
    key: usize,
    value: usize,
    /// Where the next record begins.
    pub end: usize,
}

impl<'t> Piece<'t> {
    /// The piece of these bytes.
    pub fn new(bytes: Value<'t>) -> Result<Self> {
        let predicate = bytes.first_chunk().and_then(|bytes| PredicateId::new(u64::from_le_bytes(*bytes)));
        let predicate = predicate.ok_or_else(|| Error::Damaged { what: "a piece of facts has no predicate" })?;
        Ok(Self { bytes, predicate })
    }

    /// The predicate of its facts.
    pub fn predicate(&self) -> PredicateId {
        self.predicate
    }

    /// The record at `at`. `None` at the end of the piece.
    #[inline]
    pub fn record(&self, at: usize) -> Result<Option<Record>> {
        let bytes: &[u8] = &self.bytes;
        if at == bytes.len() {
            return Ok(None);
        }
        let (key_bytes, at) = read_length(bytes, at)?;
        let (value_bytes, at) = read_length(bytes, at)?;
        let key = at + RANK_BYTES;
        let (value, end) = (key + key_bytes, key + key_bytes + value_bytes);
        if end > bytes.len() {
            return Err(cut());
        }
        let [a, b, c, d, e] = bytes[at..key] else { return Err(cut()) };
        let rank = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        Ok(Some(Record { rank, key, value, end }))
    }

    /// The key of a record of this piece.
    #[inline]
    pub fn key(&self, record: Record) -> &[u8] {
        &self.bytes[record.key..record.value]
    }

    /// The value of a record of this piece.
    #[inline]
    pub fn value(&self, record: Record) -> &[u8] {
        &self.bytes[record.value..record.end]
    }

    /// The fact of a record of this piece; `first` is the database's first.
    #[inline]
    pub fn fact(&self, record: Record, first: FactId) -> Fact<'t> {
        let key = Part::new(self.bytes.clone(), record.key, record.value);
        let value = Part::new(self.bytes.clone(), record.value, record.end);
        Fact::new(first.plus(record.rank), self.predicate, key, value)
    }
}

/// A piece that is being filled.
#[derive(Default)]
pub struct PieceBuilder {
    bytes: Vec<u8>,
}

impl PieceBuilder {
    /// Whether it has no record.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether a record of this size fits. An empty piece takes any.
    pub fn has_room(&self, key: &[u8], value: &[u8]) -> bool {
        self.bytes.is_empty() || self.bytes.len() + RECORD_OVERHEAD_MAX + key.len() + value.len() <= PIECE_BYTES
    }

    /// Adds a record, and returns where it begins. Requires: it fits; `rank` has 40 bits.
    pub fn push(&mut self, predicate: PredicateId, rank: u64, key: &[u8], value: &[u8]) -> usize {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&predicate.get().to_le_bytes());
        }
        let at = self.bytes.len();
        write_length(key.len(), &mut self.bytes);
        write_length(value.len(), &mut self.bytes);
        self.bytes.extend_from_slice(&rank.to_le_bytes()[..RANK_BYTES]);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        at
    }

    /// The bytes of the piece. The builder is empty afterwards.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

/// A length, seven bits in each byte, the lowest first; the high bit says that more follow.
#[inline]
fn read_length(bytes: &[u8], at: usize) -> Result<(usize, usize)> {
    match bytes.get(at) {
        Some(byte) if *byte < 0x80 => Ok((usize::from(*byte), at + 1)),
        _ => read_long_length(bytes, at),
    }
}

#[cold]
fn read_long_length(bytes: &[u8], at: usize) -> Result<(usize, usize)> {
    let mut length = 0;
    for (index, byte) in bytes.get(at..).unwrap_or_default().iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Ok((length, at + index + 1));
        }
    }
    Err(cut())
}

fn write_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn cut() -> Error {
    Error::Damaged { what: "a fact reaches beyond its piece" }
}

/// Bytes before the first record: the predicate.
pub const PIECE_HEADER_BYTES: usize = 8;
/// A fact's rank in its record.
const RANK_BYTES: usize = 5;
/// A length has at most 35 bits: values of the engine have 32.
const LENGTH_BYTES_MAX: usize = 5;
/// Bytes of a record besides key and value, at most.
const RECORD_OVERHEAD_MAX: usize = 2 * LENGTH_BYTES_MAX + RANK_BYTES;
/// A piece ends before it would be longer, unless it is one record: whole pages of the engine.
pub const PIECE_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    type Plain = (u64, Vec<u8>, Vec<u8>);

    fn read_all(bytes: Vec<u8>) -> Result<Vec<Plain>> {
        let piece = Piece::new(bytes.into())?;
        let (mut at, mut facts) = (PIECE_HEADER_BYTES, Vec::new());
        while let Some(record) = piece.record(at)? {
            let fact = piece.fact(record, FactId::FIRST);
            facts.push((fact.id().get(), fact.key().to_vec(), fact.value().to_vec()));
            at = record.end;
        }
        Ok(facts)
    }

    #[test]
    fn piece_returns_its_records() {
        let mut builder = PieceBuilder::default();
        assert_eq!(builder.push(PredicateId::FIRST, 6, b"apple", b"red"), PIECE_HEADER_BYTES);
        builder.push(PredicateId::FIRST, 0, b"", b"");
        builder.push(PredicateId::FIRST, (1 << 40) - 1, &[7; 300], &[8; 20_000]);
        assert!(builder.has_room(&[0; 45_000], b"") && !builder.has_room(&[0; 46_000], b""));
        let facts = read_all(builder.finish()).expect("sound");
        assert_eq!(facts[0], (1030, b"apple".to_vec(), b"red".to_vec()));
        assert_eq!(facts[1], (1024, Vec::new(), Vec::new()));
        assert_eq!(facts[2], ((1 << 40) + 1023, vec![7; 300], vec![8; 20_000]));
        assert!(builder.is_empty() && builder.has_room(&[0; 1 << 20], b""));
    }

    #[test]
    fn every_byte_of_a_piece_can_be_wrong_without_a_panic() {
        let mut builder = PieceBuilder::default();
        builder.push(PredicateId::FIRST, 1, b"a", b"1");
        builder.push(PredicateId::FIRST, 2, &[1; 200], b"2");
        let sound = builder.finish();
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
}
