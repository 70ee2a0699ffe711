//! Keys as LMDB stores them: at most 511 bytes. A longer key is its first [`HEAD_BYTES`] and a hash of all of it. Its
//! value then leads to all keys with the hash, so that keys differ whatever their hashes.

use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::tables::Side;

/// The stored form of a key.
#[allow(clippy::large_enum_variant, reason = "it is on the stack, and short keys are not copied")]
pub enum Stored<'k> {
    /// The key itself.
    Short(&'k [u8]),
    /// The beginning of the key, and its hash.
    Long([u8; KEY_BYTES_MAX]),
}

impl<'k> Stored<'k> {
    /// The form of `key`.
    pub fn of(key: &'k [u8]) -> Self {
        // A stored key of the greatest length is always one of a longer key.
        if key.len() < KEY_BYTES_MAX {
            return Self::Short(key);
        }
        let mut stored = [0; KEY_BYTES_MAX];
        stored[..HEAD_BYTES].copy_from_slice(&key[..HEAD_BYTES]);
        stored[HEAD_BYTES..].copy_from_slice(&xxh3_128(key).to_be_bytes());
        Self::Long(stored)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(key) => key,
            Self::Long(stored) => stored,
        }
    }

    /// Whether it is a beginning and a hash.
    pub fn is_long(&self) -> bool {
        matches!(self, Self::Long(_))
    }
}

/// The beginning of the stored forms of all keys that begin with `prefix`.
pub fn stored_prefix(prefix: &[u8]) -> &[u8] {
    &prefix[..prefix.len().min(HEAD_BYTES)]
}

/// The key of an entry that is not a fact.
pub fn side_key(side: Side, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + key.len());
    bytes.push(side as u8);
    bytes.extend_from_slice(key);
    bytes
}

/// The value of an entry with a long key: the key's length, the key and the value.
pub fn long_value(key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
    let length = u32::try_from(key.len()).map_err(|_| Error::TooLarge)?;
    Ok([&length.to_be_bytes()[..], key, value].concat())
}

/// The key and the value in the value of an entry with a long key.
pub fn read_long_value(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let read = || {
        let (length, rest) = bytes.split_first_chunk()?;
        rest.split_at_checked(u32::from_be_bytes(*length) as usize)
    };
    read().ok_or_else(|| Error::Damaged { what: "an entry with a long key is cut off" })
}

/// A fact, as its entry by id has it: predicate, length of the key, key and value.
pub struct Entity<'b> {
    /// Its predicate.
    pub predicate: PredicateId,
    /// Where its value begins. The key begins at [`ENTITY_BYTES`].
    pub value: usize,
    /// Its key.
    pub key: &'b [u8],
}

impl<'b> Entity<'b> {
    /// Reads the value of an entry by id.
    pub fn read(bytes: &'b [u8]) -> Result<Self> {
        let damaged = || Error::Damaged { what: "an entry by id is malformed" };
        let (predicate, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let predicate = PredicateId::new(u64::from_be_bytes(*predicate)).ok_or_else(damaged)?;
        let length = u32::from_be_bytes(*length) as usize;
        let key = rest.get(..length).ok_or_else(damaged)?;
        Ok(Self { predicate, value: ENTITY_BYTES + length, key })
    }

    /// Writes the value of an entry by id.
    pub fn write(predicate: PredicateId, key: &[u8], value: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let length = u32::try_from(key.len()).map_err(|_| Error::TooLarge)?;
        out.clear();
        out.extend_from_slice(&predicate.get().to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(key);
        out.extend_from_slice(value);
        Ok(())
    }
}

/// The ids in the value of an entry by key.
pub fn ids(value: &[u8]) -> impl Iterator<Item = Result<FactId>> + '_ {
    let damaged = || Error::Damaged { what: "an entry by key has no id" };
    value.chunks(8).map(move |bytes| {
        let number = bytes.try_into().map(u64::from_be_bytes).map_err(|_| damaged())?;
        FactId::new(number).ok_or_else(damaged)
    })
}

/// The longest key of LMDB.
pub const KEY_BYTES_MAX: usize = 511;
/// As much of a longer key is stored before its hash.
const HEAD_BYTES: usize = KEY_BYTES_MAX - 16;
/// Bytes before a key in an entry by id.
pub const ENTITY_BYTES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_have_stored_forms_with_their_beginning() {
        let long = vec![7; 2000];
        let other = [&long[..], b"x"].concat();
        assert_eq!(Stored::of(&long[..510]).bytes(), &long[..510]);
        assert!(Stored::of(&long[..511]).is_long());
        assert_ne!(Stored::of(&long).bytes(), Stored::of(&other).bytes());
        for length in [1, 495, 496, 511, 2000] {
            assert!(Stored::of(&other).bytes().starts_with(stored_prefix(&long[..length])));
        }
    }

    #[test]
    fn entries_are_read_as_they_were_written_and_cut_ones_are_errors() {
        let mut bytes = Vec::new();
        Entity::write(PredicateId::FIRST, b"key", b"value", &mut bytes).expect("it fits");
        let entity = Entity::read(&bytes).expect("an entity");
        assert_eq!((entity.key, &bytes[entity.value..]), (&b"key"[..], &b"value"[..]));
        assert!((0..ENTITY_BYTES + 3).all(|end| Entity::read(&bytes[..end]).is_err()));
        let long = long_value(b"key", b"value").expect("it fits");
        assert_eq!(read_long_value(&long).expect("both"), (&b"key"[..], &b"value"[..]));
        assert!(read_long_value(&long[..6]).is_err());
        assert!(ids(&[0; 7]).all(|id| id.is_err()) && ids(&[0; 8]).all(|id| id.is_err()));
    }
}
