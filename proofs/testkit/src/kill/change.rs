//! What the commits of the writing threads change: each follows from the run's seed, the thread and its number.

use std::collections::BTreeMap;

use crate::random::Random;
use crate::random::mix;

/// What one commit changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Slots of its thread: what they hold now, or that they are empty.
    pub slots: BTreeMap<u64, Option<Vec<u8>>>,
    /// Counters that all threads share, and by how much they rise.
    pub counters: BTreeMap<u64, u64>,
    /// Whether the thread's table comes or goes.
    pub table: Option<bool>,
}

impl Change {
    /// Of the commit of this number, which is at least 1.
    pub fn of(seed: u64, thread: u64, number: u64) -> Self {
        let mut random = Random::for_part(seed, &[thread, number]);
        let mut slots = BTreeMap::new();
        for _ in 0..1 + random.below(6) {
            let slot = random.below(SLOTS);
            let content = (!random.chance(1, 6)).then(|| content(length(&mut random), thread, number, slot));
            slots.insert(slot, content);
        }
        let mut counters = BTreeMap::new();
        if random.coin() {
            for _ in 0..1 + random.below(2) {
                counters.insert(random.below(COUNTERS), 1 + random.below(9));
            }
        }
        let table = match number % TABLE_PERIOD {
            0 => Some(true),
            TABLE_GOES if number > TABLE_PERIOD => Some(false),
            _ => None,
        };
        Self { slots, counters, table }
    }
}

/// The number of the last commit up to this one that brought the thread's table, if it is there after it.
pub(super) fn table_since(number: u64) -> Option<u64> {
    let since = number - number % TABLE_PERIOD;
    (since > 0 && number - since < TABLE_GOES).then_some(since)
}

/// Most values are small. Some have pages of their own, and some extents.
fn length(random: &mut Random) -> usize {
    match random.below(400) {
        0 => 64 * 1024 + random.index(100_000),
        1..=4 => 4_000 + random.index(40_000),
        _ => random.index(300),
    }
}

/// Who wrote it, and bytes that follow from that.
fn content(length: usize, thread: u64, number: u64, slot: u64) -> Vec<u8> {
    let mut bytes = [thread, number, slot].map(u64::to_le_bytes).concat();
    let mut word = mix(mix(mix(thread) ^ number) ^ slot);
    while bytes.len() < length {
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Slots of each thread.
pub(super) const SLOTS: u64 = 24;
/// Counters that all threads share.
pub(super) const COUNTERS: u64 = 8;
/// The thread's table comes with each so manieth commit, and goes some commits after.
const TABLE_PERIOD: u64 = 150;
const TABLE_GOES: u64 = 70;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_commit_always_changes_the_same_and_another_one_something_else() {
        assert_eq!(Change::of(1, 2, 3), Change::of(1, 2, 3));
        for (seed, thread, number) in [(2, 2, 3), (1, 3, 3), (1, 2, 4)] {
            assert_ne!(Change::of(1, 2, 3), Change::of(seed, thread, number));
        }
        let changes: Vec<Change> = (1..2000).map(|number| Change::of(1, 2, number)).collect();
        let lengths = || changes.iter().flat_map(|change| change.slots.values().flatten().map(Vec::len));
        assert!(lengths().any(|length| length > 64 * 1024) && lengths().any(|length| length < 100));
        assert!(changes.iter().any(|change| change.counters.is_empty()));
    }

    #[test]
    fn the_table_is_there_from_the_commit_that_brings_it_to_that_which_takes_it_away() {
        let mut there = None;
        for number in 1..1000 {
            match Change::of(1, 2, number).table {
                Some(true) => there = Some(number),
                Some(false) => there = None,
                None => {}
            }
            assert_eq!(table_since(number), there, "{number}");
        }
    }
}
