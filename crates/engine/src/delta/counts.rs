//! How much was inserted into a delta, counted by any number of threads.
//!
//! The numbers are exact for a thread that is ordered after the inserts, and informative for others. Others may see
//! too many keys, by some blocks at most, but not fewer than they are ordered after: see [`Counts::entries`].
//! Elsewhere all is Relaxed.
//!
//! Once there are many records, threads count in lanes, and take numbers for the index in blocks. Numbers of a block
//! that is not used up stay unused: a generation of the index then gets fewer records than it could hold.
//!
//! Capacity: an insert takes 16 bytes or more of an arena that reaches 32 GiB, so 32 bits count all inserts, and the
//! numbers of the blocks.

use crate::delta::lanes::Lanes;
use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU64, Ordering};

/// See the module. It has a cache line to itself: until there are lanes each insert writes it, and fields beside it
/// would be read by each get.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Counts {
    /// Numbers for the index that were given out, to records or to lanes. Each record that it was given had one: so
    /// keys need no count of their own, which would cost an insert 5 ns.
    ordinals: AtomicU64,
    /// Those of them that went to records which had one before. Noted after the number was taken.
    doubles: AtomicU64,
    /// Those of them that will not be used.
    lost: AtomicU64,
    /// What threads without a lane count.
    shared: Tally,
    lanes: Lanes<Lane>,
}

/// What is counted apart.
#[derive(Default)]
struct Tally {
    /// Inserts of keys that were there.
    versions: AtomicU64,
    last_sequence: AtomicU64,
}

#[derive(Default)]
struct Lane {
    /// The next number of the lane's block, in the upper half, and where the block ends.
    block: AtomicU64,
    tally: Tally,
}

/// From this number on there are lanes. (Under a model checker or an interpreter, there are few.)
const LANES_FROM: u64 = if cfg!(any(model_checked, miri)) { 4 } else { 4096 };
/// Numbers that a lane takes at a time.
const BLOCK: u64 = if cfg!(any(model_checked, miri)) { 2 } else { 64 };

impl Tally {
    fn note(&self, at: Sequence) {
        // Most often a commit inserts more than once, or another has noted a later one: a load is cheaper.
        if self.last_sequence.load(Ordering::Relaxed) < at.0 {
            self.last_sequence.fetch_max(at.0, Ordering::Relaxed);
        }
    }
}

impl Lane {
    /// The next number of the block, or the first of a new one.
    #[inline]
    fn take(&self, counts: &Counts) -> u64 {
        let mut block = self.block.load(Ordering::Relaxed);
        loop {
            let (next, end) = halves(block);
            if next == end {
                return self.take_block(counts, block);
            }
            match self.block.compare_exchange(block, both(next + 1, end), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(theirs) => block = theirs,
            }
        }
    }

    /// The first number of a new block, whose others the lane gets, if what is used up is still `block`.
    #[cold]
    fn take_block(&self, counts: &Counts, block: u64) -> u64 {
        let first = counts.ordinals.fetch_add(BLOCK, Ordering::Relaxed);
        assert!(first + BLOCK <= u64::from(u32::MAX), "a delta has outgrown the numbers that its lanes hold");
        // No number comes twice: a block that is as it was has not changed meanwhile.
        let left = both(first + 1, first + BLOCK);
        // Release, both: a thread that subtracts the numbers in the block, or its lost ones, has them among the
        // numbers: see `entries`.
        if self.block.compare_exchange(block, left, Ordering::Release, Ordering::Relaxed).is_err() {
            counts.lost.fetch_add(BLOCK - 1, Ordering::Release);
        }
        first
    }

    fn unused(&self) -> u64 {
        // Acquire pairs with the Release in `take_block`. What `take` stores in between is exchanged, and passes that
        // on.
        let (next, end) = halves(self.block.load(Ordering::Acquire));
        end - next
    }
}

impl Counts {
    /// Counts an insert of a key at this sequence, and numbers it for the index: no two have the same number.
    pub(super) fn add_key(&self, at: Sequence) -> usize {
        // Right before the other count: so it waits for no store.
        self.tally().note(at);
        self.take_ordinal()
    }

    /// Counts an insert of a version at this sequence.
    pub(super) fn add_version(&self, at: Sequence) {
        let tally = self.tally();
        tally.note(at);
        tally.versions.fetch_add(1, Ordering::Relaxed);
    }

    /// Numbers a key for the index that is counted elsewhere.
    pub(super) fn add_double(&self) -> usize {
        let ordinal = self.take_ordinal();
        // Release: a thread that subtracts it knows the number, and that no block has it any more: see `entries`.
        self.doubles.fetch_add(1, Ordering::Release);
        ordinal
    }

    /// The number that the next key of this thread is likely to get.
    #[inline]
    pub(super) fn next_ordinal(&self) -> usize {
        let next = match self.lanes.of_thread() {
            Some(lane) => halves(lane.block.load(Ordering::Relaxed)).0,
            None => self.ordinals.load(Ordering::Relaxed),
        };
        next as usize
    }

    /// Distinct keys. While others insert, perhaps more, but none is missing that the calling thread knows of.
    pub(super) fn entries(&self) -> usize {
        // What is subtracted must be among the numbers, each once, or keys would be missing. So each Acquire pairs
        // with a Release that comes after the number was taken, the count of all numbers comes last, and that of the
        // doubles before the blocks: a block that is seen as it was before would have the number of a double once
        // more.
        let doubles = self.doubles.load(Ordering::Acquire);
        let others = doubles + self.unused() + self.lost.load(Ordering::Acquire);
        self.ordinals.load(Ordering::Relaxed).saturating_sub(others) as usize
    }

    /// Numbers in the blocks of lanes.
    fn unused(&self) -> u64 {
        self.lanes.all().map(Lane::unused).sum()
    }

    /// Inserts.
    pub(super) fn versions(&self) -> usize {
        let later: u64 = self.tallies().map(|tally| tally.versions.load(Ordering::Relaxed)).sum();
        self.entries() + later as usize
    }

    /// The latest sequence of any insert.
    pub(super) fn last_sequence(&self) -> Sequence {
        let last = self.tallies().map(|tally| tally.last_sequence.load(Ordering::Relaxed)).max();
        Sequence(last.unwrap_or_default())
    }

    #[inline]
    fn take_ordinal(&self) -> usize {
        if let Some(lane) = self.lanes.of_thread() {
            return lane.take(self) as usize;
        }
        let ordinal = self.ordinals.fetch_add(1, Ordering::Relaxed);
        if ordinal >= LANES_FROM {
            self.lanes.open();
        }
        ordinal as usize
    }

    /// Where the calling thread counts.
    #[inline]
    fn tally(&self) -> &Tally {
        self.lanes.of_thread().map_or(&self.shared, |lane| &lane.tally)
    }

    fn tallies(&self) -> impl Iterator<Item = &Tally> {
        [&self.shared].into_iter().chain(self.lanes.all().map(|lane| &lane.tally))
    }
}

/// The upper and the lower half.
fn halves(both: u64) -> (u64, u64) {
    (both >> 32, both & u64::from(u32::MAX))
}

fn both(upper: u64, lower: u64) -> u64 {
    upper << 32 | lower
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::thread;

    const THREADS: u64 = 4;
    const ROUNDS: u64 = if cfg!(miri) { 20 } else { 100_000 };

    #[test]
    fn no_thread_takes_anothers_number_and_all_are_counted() {
        let counts = Counts::default();
        let one = || {
            let ordinals = [counts.add_key(Sequence(1)), counts.add_double()];
            counts.add_version(Sequence(1));
            ordinals
        };
        let count = || (0..ROUNDS).flat_map(|_| one()).collect::<Vec<_>>();
        let ordinals: Vec<usize> = thread::scope(|scope| {
            // As many as meet in lanes, too.
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it has not panicked")).collect()
        });
        let total = (ROUNDS * THREADS) as usize;
        assert_eq!(ordinals.iter().collect::<HashSet<_>>().len(), 2 * total);
        assert_eq!((counts.entries(), counts.versions()), (total, 2 * total));
        let given_out = counts.ordinals.load(Ordering::Relaxed) as usize;
        assert!(ordinals.iter().all(|&ordinal| ordinal < given_out));
        assert_eq!(given_out, 2 * total + counts.unused() as usize + counts.lost.load(Ordering::Relaxed) as usize);
    }

    #[test]
    fn numbers_have_no_gaps_until_there_are_lanes_and_then_come_in_blocks() {
        let counts = Counts::default();
        (0..=LANES_FROM as usize).for_each(|expected| {
            assert_eq!(counts.next_ordinal(), expected);
            assert_eq!(counts.add_key(Sequence(1)), expected);
        });
        let first = LANES_FROM as usize + 1;
        let ours: Vec<usize> = (0..BLOCK + 1).map(|_| counts.add_key(Sequence(1))).collect();
        assert!(ours.iter().copied().eq(first..first + BLOCK as usize + 1), "nobody else took a block");
        assert_eq!(counts.next_ordinal(), first + BLOCK as usize + 1);
        assert_eq!((counts.entries(), counts.unused()), (first + BLOCK as usize + 1, BLOCK - 1));
    }

    #[test]
    fn a_block_that_another_thread_of_the_lane_was_faster_than_is_lost_but_for_its_first_number() {
        let (counts, lane) = (Counts::default(), Lane::default());
        let before = lane.block.load(Ordering::Relaxed);
        let theirs = lane.take(&counts);
        let ours = lane.take_block(&counts, before);
        assert_eq!((theirs, ours, lane.take(&counts)), (0, BLOCK, 1));
        assert_eq!(counts.lost.load(Ordering::Relaxed), BLOCK - 1);
    }

    #[test]
    fn no_key_is_missing_while_others_take_numbers() {
        let (counts, added) = (Counts::default(), AtomicU64::new(0));
        let write = || {
            for round in 0..ROUNDS {
                counts.add_double();
                if round % 4 == 0 {
                    counts.add_key(Sequence(1));
                    added.fetch_add(1, Ordering::Release);
                }
            }
        };
        thread::scope(|scope| {
            let writers: Vec<_> = (0..THREADS).map(|_| scope.spawn(write)).collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                let known = added.load(Ordering::Acquire) as usize;
                let entries = counts.entries();
                assert!(entries >= known, "{entries} of {known} keys");
            }
        });
        assert_eq!(counts.entries() as u64, added.load(Ordering::Relaxed));
    }

    #[test]
    #[should_panic(expected = "outgrown the numbers")]
    fn a_block_that_its_lane_could_not_hold_is_refused() {
        let (counts, lane) = (Counts::default(), Lane::default());
        counts.ordinals.store(u64::from(u32::MAX) + 1 - BLOCK, Ordering::Relaxed);
        lane.take(&counts);
    }

    #[test]
    fn the_last_sequence_never_falls() {
        let (counts, next) = (Counts::default(), AtomicU64::new(1));
        let note = || {
            for _ in 0..ROUNDS {
                let at = Sequence(next.fetch_add(1, Ordering::Relaxed));
                counts.add_version(at);
                // Another thread may be about to store what it compared before.
                for _ in 0..4 {
                    assert!(counts.last_sequence() >= at);
                    std::hint::spin_loop();
                }
            }
        };
        thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(note))));
        assert_eq!(counts.last_sequence(), Sequence(ROUNDS * THREADS));
    }
}
