//! The ends of streams in memory, so that an append to a known stream reads no table.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::ids::{StreamId, Version};
use crate::layout::stream::StreamState;

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub stream: StreamId,
    /// The version that its next event gets.
    pub next: Version,
    /// Whether it can be appended to.
    pub state: StreamState,
    /// Events with lower versions were deleted with the stream: their ids are free.
    pub ids_from: Version,
}

impl Head {
    /// The version of its last event. None if it has none, or is deleted.
    pub fn last(&self) -> Option<Version> {
        match self.state {
            StreamState::Open => self.next.0.checked_sub(1).map(Version),
            StreamState::Deleted | StreamState::Tombstone => None,
        }
    }
}

/// The place of a head in [`Heads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(usize);

/// Heads of streams by name, with the changes of the running transaction, which can be undone.
#[derive(Debug, Default)]
pub struct Heads {
    by_name: HashMap<Name, Slot, SeededXxh3>,
    heads: Vec<Head>,
    /// Heads as they were, and streams that were not known, since [`Heads::begin`].
    undo: Vec<Undo>,
}

#[derive(Debug)]
enum Undo {
    Changed(Slot, Head),
    Created(Name),
}

impl Heads {
    /// Begins a transaction. Forgets all heads if there are very many, and returns whether it did.
    pub fn begin(&mut self) -> bool {
        debug_assert!(self.undo.is_empty(), "a transaction ends before the next one begins");
        let are_many = self.heads.len() > HEADS_MAX;
        if are_many {
            *self = Self::default();
        }
        are_many
    }

    /// The place of a stream's head, if it is known.
    pub fn find(&self, name: &[u8]) -> Option<Slot> {
        self.by_name.get(name).copied()
    }

    /// The head at a place.
    pub fn get(&self, slot: Slot) -> Head {
        self.heads[slot.0]
    }

    /// Adds the head of a stream, as the table has it.
    pub fn add(&mut self, name: &[u8], head: Head) -> Slot {
        let slot = Slot(self.heads.len());
        self.heads.push(head);
        self.by_name.insert(Name::new(name), slot);
        slot
    }

    /// Adds the head of a stream that the transaction creates.
    pub fn create(&mut self, name: &[u8], head: Head) -> Slot {
        self.undo.push(Undo::Created(Name::new(name)));
        self.add(name, head)
    }

    /// Replaces a head.
    pub fn set(&mut self, slot: Slot, head: Head) {
        let before = std::mem::replace(&mut self.heads[slot.0], head);
        self.undo.push(Undo::Changed(slot, before));
    }

    /// Keeps the changes of the transaction.
    pub fn keep(&mut self) {
        self.undo.clear();
    }

    /// Undoes the changes of the transaction.
    pub fn roll_back(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Changed(slot, before) => self.heads[slot.0] = before,
                // Its head stays, and no name leads to it.
                Undo::Created(name) => drop(self.by_name.remove(&name)),
            }
        }
    }
}

/// The name of a stream. A short one is in the table itself, so that a look-up reads no further cache line.
#[derive(Debug)]
enum Name {
    Short { length: u8, bytes: [u8; SHORT_BYTES_MAX] },
    Long(Box<[u8]>),
}

impl Name {
    fn new(name: &[u8]) -> Self {
        match u8::try_from(name.len()) {
            Ok(length) if name.len() <= SHORT_BYTES_MAX => {
                let mut bytes = [0; SHORT_BYTES_MAX];
                bytes[..name.len()].copy_from_slice(name);
                Self::Short { length, bytes }
            }
            _ => Self::Long(name.into()),
        }
    }
}

/// Equality and hash are those of the bytes.
impl Borrow<[u8]> for Name {
    #[inline]
    fn borrow(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(name) => name,
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        let name: &[u8] = self.borrow();
        let other: &[u8] = other.borrow();
        name == other
    }
}

impl Eq for Name {}

impl Hash for Name {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let name: &[u8] = self.borrow();
        name.hash(state);
    }
}

/// Hashes names by XXH3 with a random seed: several times faster than the standard hash, for a look-up at each append.
#[derive(Clone, Debug)]
struct SeededXxh3(u64);

impl Default for SeededXxh3 {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for SeededXxh3 {
    type Hasher = Xxh3;

    fn build_hasher(&self) -> Xxh3 {
        Xxh3(self.0)
    }
}

#[derive(Debug)]
struct Xxh3(u64);

impl Hasher for Xxh3 {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// The length that precedes a slice.
    #[inline]
    fn write_usize(&mut self, length: usize) {
        self.0 ^= length as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// With this length, a name takes 24 bytes.
const SHORT_BYTES_MAX: usize = 22;
/// More heads are not kept: about 100 MB.
const HEADS_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_names_are_found_until_they_are_rolled_back() {
        assert_eq!(size_of::<Name>(), 24);
        let head = |stream| Head {
            stream: StreamId(stream),
            next: Version(1),
            state: StreamState::Open,
            ids_from: Version(0),
        };
        let (name, mut heads) = ([7; 1024], Heads::default());
        let lengths = [1, 21, 22, 23, 255, 256, 1024];
        for length in lengths {
            assert_eq!(heads.find(&name[..length]), None);
            let slot = heads.create(&name[..length], head(length as u64));
            assert_eq!(heads.find(&name[..length]), Some(slot));
        }
        assert!(
            lengths
                .iter()
                .all(|&length| heads.find(&name[..length]).map(|slot| heads.get(slot)) == Some(head(length as u64)))
        );
        heads.roll_back();
        assert!(lengths.iter().all(|&length| heads.find(&name[..length]).is_none()));
    }

    #[test]
    fn very_many_heads_are_forgotten_when_a_transaction_begins() {
        let head = Head { stream: StreamId(7), next: Version(1), state: StreamState::Open, ids_from: Version(0) };
        let mut heads = Heads { heads: vec![head; HEADS_MAX - 1], ..Heads::default() };
        heads.add(b"a", head);
        assert!(!heads.begin() && heads.find(b"a").is_some());
        heads.add(b"b", head);
        assert!(heads.begin() && heads.find(b"a").is_none());
        assert!(!heads.begin());
    }
}
