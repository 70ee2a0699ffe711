//! What the workloads draw: keys, values, changes and levels.

use fulgurite::{Durability, Result};

use super::session::Change;
use super::side_by_side::Draft;
use crate::random::Random;

/// As [`any_change`].
pub(super) fn any_draft(
    draft: &mut Draft,
    random: &mut Random,
    name: &str,
    keys: u64,
    lengths: std::ops::Range<usize>,
) -> Result<()> {
    let key = key(random.below(keys));
    if random.chance(1, 5) { draft.delete(name, &key) } else { draft.put(name, &key, &value(random, lengths)) }
}

/// Mostly puts, sometimes deletes, of one of `keys` keys.
pub(super) fn any_change(
    change: &mut Change,
    random: &mut Random,
    name: &str,
    keys: u64,
    lengths: std::ops::Range<usize>,
) -> Result<()> {
    let key = key(random.below(keys));
    if random.chance(1, 5) { change.delete(name, &key) } else { change.put(name, &key, &value(random, lengths)) }
}

/// Any of the levels.
pub(super) fn any_level(random: &mut Random) -> Durability {
    LEVELS[random.index(LEVELS.len())]
}

/// The key of a number, in the order of the numbers.
pub(super) fn key(number: u64) -> Vec<u8> {
    format!("key-{number:06}").into_bytes()
}

/// A key of 1 to 5 KiB; some of them are equal in what a leaf holds of them.
pub(super) fn long_key(number: u64) -> Vec<u8> {
    let mut key = vec![b'k'; 1_000 + 400 * (number % 11) as usize];
    key.extend_from_slice(&number.to_be_bytes());
    if number.is_multiple_of(3) {
        key[5] = number as u8;
    }
    key
}

/// A value of a random length; no two are equal.
pub(super) fn value(random: &mut Random, lengths: std::ops::Range<usize>) -> Vec<u8> {
    let length = lengths.start + random.index(lengths.len());
    let mut stamp = random.next_u64();
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&stamp.to_le_bytes());
        stamp = stamp.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    }
    bytes.truncate(length);
    bytes
}

/// All levels.
pub(super) const LEVELS: [Durability; 3] = [Durability::Memory, Durability::Log, Durability::Disk];
