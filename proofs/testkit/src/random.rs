//! A small seeded source of randomness, the same on every platform and in every version: a printed seed repeats a
//! failure.

use std::hash::{BuildHasher, RandomState};

/// A seed for a run that was given none: another one each time, and short enough to be typed again.
pub fn drawn_seed() -> u64 {
    // The standard library seeds its hash maps from the system; it offers no other way to the system's random
    // numbers.
    RandomState::new().hash_one(0) >> 32
}

/// A stream of pseudo-random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// The stream of this seed for one part of a run: streams of different parts have nothing to do with each other.
    pub fn for_part(seed: u64, part: &[u64]) -> Self {
        Self::new(part.iter().fold(seed, |seed, part| mix(seed ^ mix(*part))))
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        // The high half of the product: uniform except for one part in 2^64 / bound.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An index of a collection of `count` items.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// True in `parts` of `whole` cases.
    ///
    /// # Panics
    /// If `whole` is 0.
    pub fn chance(&mut self, parts: u64, whole: u64) -> bool {
        self.below(whole) < parts
    }

    /// True in one of two cases.
    pub fn coin(&mut self) -> bool {
        self.next_u64() >> 63 != 0
    }

    /// Puts the items in any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

/// Spreads a number over all 64 bits (the finisher of splitmix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut random = Random::new(42);
        let numbers = [random.next_u64(), random.next_u64(), random.below(1000), random.below(1000)];
        assert_eq!(numbers, [17_630_415_256_238_047_317, 8_971_565_426_155_258_802, 67, 676]);
    }

    #[test]
    fn a_seed_that_is_drawn_is_another_one_each_time() {
        let seeds: std::collections::BTreeSet<u64> = (0..10).map(|_| drawn_seed()).collect();
        assert!(seeds.len() > 8 && seeds.iter().all(|seed| *seed <= u64::from(u32::MAX)), "{seeds:?}");
    }

    #[test]
    fn a_coin_falls_on_both_sides_and_a_shuffle_loses_nothing() {
        let mut random = Random::new(3);
        let heads = (0..1000).filter(|_| random.coin()).count();
        assert!((430..570).contains(&heads), "{heads} of 1000");
        let mut items: Vec<u32> = (0..50).collect();
        random.shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..50));
    }

    #[test]
    fn numbers_below_a_bound_are_spread_evenly() {
        let mut random = Random::new(1);
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            counts[random.index(10)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
