//! The entries of a database that facts are added to: one of each fact by key, and one by id.

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};

/// The key of a fact in the table by key, or the prefix of several.
pub fn key_entry(predicate: PredicateId, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + key.len());
    bytes.extend_from_slice(&predicate.get().to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

/// The id in the value of an entry by key. The fact's value follows it, from byte [`KEYED_BYTES`] on.
pub fn keyed_id(value: &[u8]) -> Result<FactId> {
    let id = value.first_chunk().and_then(|bytes| FactId::new(u64::from_be_bytes(*bytes)));
    id.ok_or_else(|| Error::Damaged { what: "an entry by key has no id" })
}

/// What an entry by id holds of its fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)] // On disk: never renumber, only append.
pub enum Held {
    /// All: the key, and that the value is empty.
    Fact = 0,
    /// The key. The value is in the entry by key.
    Key = 1,
    /// A prefix of the key. The rest and the value are in the entry by key.
    Prefix = 2,
}

/// An entry by id.
pub struct Entity<'b> {
    /// The fact's predicate.
    pub predicate: PredicateId,
    /// What `key` is.
    pub held: Held,
    /// The key or a prefix of it, which begins at [`ENTITY_BYTES`].
    pub key: &'b [u8],
}

impl<'b> Entity<'b> {
    /// Reads the value of an entry by id.
    pub fn read(bytes: &'b [u8]) -> Result<Self> {
        let damaged = || Error::Damaged { what: "an entry by id is malformed" };
        let Some((header, key)) = bytes.split_first_chunk::<ENTITY_BYTES>() else { return Err(damaged()) };
        let [predicate @ .., held] = header;
        let Some(predicate) = PredicateId::new(u64::from_be_bytes(*predicate)) else { return Err(damaged()) };
        let held = match held {
            0 => Held::Fact,
            1 => Held::Key,
            2 => Held::Prefix,
            _ => return Err(damaged()),
        };
        Ok(Self { predicate, held, key })
    }

    /// Appends the value of the entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.predicate.get().to_be_bytes());
        out.push(self.held as u8);
        out.extend_from_slice(self.key);
    }
}

/// Bytes before a fact's value in an entry by key.
pub const KEYED_BYTES: usize = 8;
/// Bytes before a key in an entry by id.
pub const ENTITY_BYTES: usize = 9;
/// Longer keys are stored once: their entry by id has a prefix that leads to the entry by key.
pub const KEY_COPIED_BYTES_MAX: usize = 256;
