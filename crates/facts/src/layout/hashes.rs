//! Hashes: where the record of each fact is, by the hash of its key. A table with open addressing: a fact's slot is the
//! first free one from that of its hash on, and after the last comes the first.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::Result;
use crate::ids::PredicateId;
use crate::layout::places::{NO_PLACE, Place};

/// The hash by which a key is found.
pub fn hash(predicate: PredicateId, key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, predicate.get())
}

/// How many slots there are for so many facts.
pub fn slots(facts: u64) -> u64 {
    facts + facts / 4 + 1
}

/// The slot where the search for a hash begins.
pub fn first_slot(hash: u64, slots: u64) -> u64 {
    ((u128::from(hash) * u128::from(slots)) >> 64) as u64
}

/// A slot's content.
pub fn slot(hash: u64, place: Place) -> Result<u64> {
    Ok(tag(hash) | place.number()?)
}

/// The place in a slot, if there is one.
pub fn place(slot: u64) -> Option<Place> {
    let number = slot & NO_PLACE;
    (number != NO_PLACE).then(|| Place::of(number))
}

/// Whether a slot may be that of a key with this hash.
pub fn may_be(slot: u64, hash: u64) -> bool {
    slot & !NO_PLACE == tag(hash)
}

/// The low bits of a hash, above a place: the high ones say where the search begins.
fn tag(hash: u64) -> u64 {
    hash << 40
}

/// A slot without a fact.
pub const FREE: u64 = u64::MAX;
/// Slots of an entry: 64 KiB.
pub const ENTRY_SLOTS: usize = 1 << 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_has_its_place_and_the_tag_of_its_hash() {
        let hash = hash(PredicateId::FIRST, b"key");
        let at = Place { piece: 12_345, at: 678 };
        let slot = slot(hash, at).expect("it fits");
        assert_eq!(place(slot), Some(at));
        assert!(may_be(slot, hash) && !may_be(slot, hash ^ 1));
        assert_eq!(place(FREE), None);
        assert_eq!((first_slot(0, 10), first_slot(u64::MAX, 10)), (0, 9));
    }
}
