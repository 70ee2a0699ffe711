//! [`Known`]: which keys a growing database may have, in memory. Most facts of a load are new, and are not looked up.
//!
//! Bits of hashes, in parts that double. Facts are covered after they were committed: a key without its bits is in no
//! snapshot that ends before what is covered. Facts that were there when the database was opened, or that another
//! handle has committed, are not covered, nor are those after them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ids::FactId;

/// The keys that a growing database may have.
pub struct Known {
    parts: [OnceLock<Box<[AtomicU64]>>; PARTS],
    /// Facts before this id are covered, from the database's first one on. It is stored after their bits, and loaded
    /// before bits are.
    covered: AtomicU64,
    first: FactId,
}

impl Known {
    /// Nothing is covered yet of a database whose first fact is `first`.
    pub fn new(first: FactId) -> Self {
        Self { parts: [const { OnceLock::new() }; PARTS], covered: AtomicU64::new(first.get()), first }
    }

    /// Whether all facts before `end` are covered.
    pub fn covers(&self, end: FactId) -> bool {
        self.covered.load(Ordering::Acquire) >= end.get()
    }

    /// Whether there may be a fact with a key of this hash, among those that are covered.
    pub fn may_have(&self, hash: u64) -> bool {
        let parts = self.parts.iter().map_while(OnceLock::get);
        parts.into_iter().any(|part| {
            let (word, bits) = place(hash, part.len());
            part[word].load(Ordering::Relaxed) & bits == bits
        })
    }

    /// Adds committed facts from `from` on, with keys of these hashes. Requires: one thread at a time.
    pub fn add(&self, from: FactId, hashes: impl ExactSizeIterator<Item = u64>) {
        if self.covered.load(Ordering::Relaxed) != from.get() {
            return;
        }
        let (mut rank, end) = (from.get() - self.first.get(), from.get() + hashes.len() as u64);
        for hash in hashes {
            let Some(part) = self.part_of(rank) else { return };
            let (word, bits) = place(hash, part.len());
            part[word].fetch_or(bits, Ordering::Relaxed);
            rank += 1;
        }
        // Pairs with the load in `covers`.
        self.covered.store(end, Ordering::Release);
    }

    /// The part for the fact with this rank: the first takes [`PART_FACTS`], each later one as many as all before.
    fn part_of(&self, rank: u64) -> Option<&[AtomicU64]> {
        let number = (rank / PART_FACTS).checked_ilog2().map_or(0, |doublings| doublings as usize + 1);
        let facts = PART_FACTS << number.saturating_sub(1);
        let part = self.parts.get(number)?;
        let words = usize::try_from(facts / FACTS_OF_WORD).ok()?;
        Some(part.get_or_init(|| (0..words).map(|_| AtomicU64::new(0)).collect()))
    }
}

/// The word of a part that has a hash, and the hash's bits in it.
fn place(hash: u64, words: usize) -> (usize, u64) {
    let word = (u128::from(hash) * words as u128) >> 64;
    let bits = (0..5).fold(0, |bits, turn| bits | 1 << (hash >> (6 * turn) & 63));
    (word as usize, bits)
}

/// Facts of the first part.
const PART_FACTS: u64 = 1 << 16;
/// Facts for each word: about thirteen bits for one.
const FACTS_OF_WORD: u64 = 5;
/// After so many parts, 2⁴⁰ facts, nothing is added any more.
const PARTS: usize = 25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PredicateId;
    use crate::layout::hashes::hash;

    #[test]
    fn added_keys_are_known_and_few_others() {
        let known = Known::new(FactId::FIRST);
        let hash = |number: u64| hash(PredicateId::FIRST, &number.to_le_bytes());
        let count = 3 * PART_FACTS;
        for batch in 0..3 {
            let numbers = batch * PART_FACTS..(batch + 1) * PART_FACTS;
            let hashes: Vec<u64> = numbers.map(hash).collect();
            known.add(FactId::FIRST.plus(batch * PART_FACTS), hashes.into_iter());
        }
        assert!(known.covers(FactId::FIRST.plus(count)) && !known.covers(FactId::FIRST.plus(count + 1)));
        assert!((0..count).all(|number| known.may_have(hash(number))));
        let wrong = (count..2 * count).filter(|number| known.may_have(hash(*number))).count();
        assert!(wrong < count as usize / 20, "{wrong} of {count}");
        // Facts of another handle in between: what follows is not covered.
        known.add(FactId::FIRST.plus(count + 1), [hash(count + 1)].into_iter());
        assert!(!known.covers(FactId::FIRST.plus(count + 1)));
    }
}
