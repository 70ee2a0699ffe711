//! The delta against a model of itself, and readers beside writers.

mod changed;
mod concurrent;
mod inserts;
mod late;
mod limits;
mod model;
mod writers;

use super::table_delta::Trail;
use super::{Change, Delta, Position};
use crate::format::{OverflowRef, ValueAlign};
use crate::ids::{ExtentId, Sequence};
use std::collections::BTreeMap;
use std::ops::Bound;
use xxhash_rust::xxh3::xxh3_64;

/// A change that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
enum Owned {
    Put(Vec<u8>),
    Large(OverflowRef),
    Delete,
}

impl Owned {
    fn of(change: Change<'_>) -> Self {
        match change {
            Change::Put(value) => Self::Put(value.to_vec()),
            Change::PutLarge(large) => Self::Large(large),
            Change::Delete => Self::Delete,
        }
    }

    fn borrow(&self) -> Change<'_> {
        match self {
            Self::Put(value) => Change::Put(value),
            Self::Large(large) => Change::PutLarge(*large),
            Self::Delete => Change::Delete,
        }
    }
}

/// A seeded generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

type KeyAndChange = (Vec<u8>, Owned);

/// Every version of every key, in the order of keys, then of sequences.
#[derive(Default)]
struct Model(BTreeMap<Vec<u8>, BTreeMap<u64, Owned>>);

impl Model {
    fn insert(&mut self, key: &[u8], at: u64, change: Owned) {
        self.0.entry(key.to_vec()).or_default().insert(at, change);
    }

    fn get(&self, key: &[u8], at: u64) -> Option<Owned> {
        visible(self.0.get(key)?, at)
    }

    /// The sequence of the newest version of `key`.
    fn newest(&self, key: &[u8]) -> Option<u64> {
        self.0.get(key)?.keys().next_back().copied()
    }

    /// The first key of a range that has a version later than `since` and not later than `at`.
    fn first_changed(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, since: u64, at: u64) -> Option<&[u8]> {
        let mut range = self.0.range::<[u8], _>((low, high));
        range
            .find(|(_, versions)| since < at && versions.range(since + 1..=at).next().is_some())
            .map(|(key, _)| &key[..])
    }

    fn range(
        &self,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        at: u64,
    ) -> impl DoubleEndedIterator<Item = KeyAndChange> + use<'_> {
        let range = self.0.range::<[u8], _>((low, high));
        range.filter_map(move |(key, versions)| Some((key.clone(), visible(versions, at)?)))
    }
}

fn visible(versions: &BTreeMap<u64, Owned>, at: u64) -> Option<Owned> {
    versions.range(..=at).next_back().map(|(_, change)| change.clone())
}

fn insert(delta: &Delta, key: &[u8], at: u64, change: &Owned) {
    delta.insert(key, xxh3_64(key), Sequence(at), change.borrow());
}

fn get(delta: &Delta, key: &[u8], at: u64) -> Option<Owned> {
    delta.get(key, xxh3_64(key), Sequence(at)).map(Owned::of)
}

fn entry(delta: &Delta, position: &Position) -> Option<KeyAndChange> {
    delta.entry(position).map(|(key, change)| (key.to_vec(), Owned::of(change)))
}

/// Whether a walk up from `position` meets what `expected` says, for `steps` entries.
fn check_up(delta: &Delta, mut position: Position, expected: impl Iterator<Item = KeyAndChange>, steps: usize) {
    let mut expected = expected.take(steps);
    for _ in 0..steps {
        let wanted = expected.next();
        assert_eq!(entry(delta, &position), wanted);
        if wanted.is_none() {
            return;
        }
        delta.next(&mut position);
    }
}

/// Whether a walk down from `position` meets what `expected` says, for `steps` entries.
fn check_down(delta: &Delta, mut position: Position, expected: impl Iterator<Item = KeyAndChange>, steps: usize) {
    let mut expected = expected.take(steps);
    for _ in 0..steps {
        let wanted = expected.next();
        assert_eq!(entry(delta, &position), wanted);
        if wanted.is_none() {
            return;
        }
        delta.previous(&mut position);
    }
}

/// Shapes of keys: each makes another part of the tree work.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Few bytes of a small alphabet: the empty key, prefixes of each other, zero bytes at ends.
    Short,
    /// Eight random bytes.
    Hashed,
    /// Rising numbers with gaps.
    Ascending,
    /// Falling numbers.
    Descending,
    /// Long shared prefixes of several namespaces, and heads that tie.
    Iri,
    /// Many equal bytes, and now and then a key that needs a block of its own.
    Long,
}

const SHAPES: [Shape; 6] = [Shape::Short, Shape::Hashed, Shape::Ascending, Shape::Descending, Shape::Iri, Shape::Long];

fn key_of(shape: Shape, random: &mut Random, number: u64) -> Vec<u8> {
    match shape {
        Shape::Short => (0..random.below(6)).map(|_| b"\0ab\xff"[random.below(4) as usize]).collect(),
        Shape::Hashed => (random.below(4000).wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes().to_vec(),
        Shape::Ascending => format!("user:{:012}", number - random.below(3).min(number)).into_bytes(),
        Shape::Descending => format!("{:08}", 10_000_000 - number).into_bytes(),
        Shape::Iri => {
            let spaces = ["http://example.org/resource/", "http://example.org/property/", "urn:x:"];
            let middles = ["", "same-eight-bytes-here/", "same-eight-bytes-there/"];
            let (space, middle) = (spaces[random.below(3) as usize], middles[random.below(3) as usize]);
            format!("{space}{middle}{}", random.below(2000)).into_bytes()
        }
        Shape::Long => {
            let length = if random.below(50) == 0 { 40_000 } else { random.below(300) };
            let mut key = vec![b'k'; length as usize];
            key.extend_from_slice(&random.below(500).to_be_bytes());
            key
        }
    }
}

/// A change of any kind, most often a short value.
fn change_of(random: &mut Random) -> Owned {
    match random.below(40) {
        0 => Owned::Put(Vec::new()),
        1 => Owned::Put(vec![7; 33_000]),
        2 | 3 => {
            let checksum = random.next();
            Owned::Large(OverflowRef { extent: ExtentId(random.next() as u32), slot: 5, length: 1 << 20, checksum })
        }
        4..12 => Owned::Delete,
        _ => Owned::Put(random.next().to_le_bytes()[..random.below(9) as usize].to_vec()),
    }
}
