//! How much was inserted into a delta, counted by any number of threads.
//!
//! The numbers are exact for whoever is ordered after the inserts, and informative for others: hence all is Relaxed.
//!
//! Capacity: an insert takes 16 bytes or more of an arena that reaches 32 GiB, so 32 bits count all inserts.

use crate::ids::Sequence;
use crate::sync::atomic::{AtomicU64, Ordering};

/// See the module. It has a cache line to itself: each insert writes it, and what would lie beside it is read by each get.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Counts {
    /// Records that the index was given, in the upper half, and inserts, in the lower. One number for both: an exchange more
    /// would cost an insert 5 ns.
    indexed_and_versions: AtomicU64,
    /// Those of the former that it was given before.
    doubles: AtomicU64,
    last_sequence: AtomicU64,
}

const ONE_VERSION: u64 = 1;
const ONE_INDEXED: u64 = 1 << 32;

impl Counts {
    /// Counts an insert of a key, and numbers it for the index.
    pub(super) fn add_key(&self) -> usize {
        let before = self.indexed_and_versions.fetch_add(ONE_INDEXED | ONE_VERSION, Ordering::Relaxed);
        indexed(before)
    }

    /// Counts an insert of a version.
    pub(super) fn add_version(&self) {
        self.indexed_and_versions.fetch_add(ONE_VERSION, Ordering::Relaxed);
    }

    /// Numbers a key for the index that is counted elsewhere.
    pub(super) fn add_double(&self) -> usize {
        self.doubles.fetch_add(1, Ordering::Relaxed);
        indexed(self.indexed_and_versions.fetch_add(ONE_INDEXED, Ordering::Relaxed))
    }

    /// Notes an insert at this sequence.
    pub(super) fn note(&self, at: Sequence) {
        // Most often a commit inserts more than once, or another has noted a later one: a load is cheaper.
        if self.last_sequence() < at {
            self.last_sequence.fetch_max(at.0, Ordering::Relaxed);
        }
    }

    /// The number that the next key is likely to get.
    pub(super) fn next_ordinal(&self) -> usize {
        indexed(self.indexed_and_versions.load(Ordering::Relaxed))
    }

    /// Distinct keys.
    pub(super) fn entries(&self) -> usize {
        self.next_ordinal().saturating_sub(self.doubles.load(Ordering::Relaxed) as usize)
    }

    /// Inserts.
    pub(super) fn versions(&self) -> usize {
        (self.indexed_and_versions.load(Ordering::Relaxed) as u32) as usize
    }

    /// The latest sequence of any insert.
    pub(super) fn last_sequence(&self) -> Sequence {
        Sequence(self.last_sequence.load(Ordering::Relaxed))
    }
}

fn indexed(counts: u64) -> usize {
    (counts >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const THREADS: u64 = 4;
    const ROUNDS: u64 = if cfg!(miri) { 20 } else { 100_000 };

    #[test]
    fn no_thread_takes_anothers_number_and_all_are_counted() {
        let counts = Counts::default();
        let count = || (0..ROUNDS).flat_map(|_| [counts.add_key(), counts.add_double()]).collect::<Vec<_>>();
        let mut ordinals: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it has not panicked")).collect()
        });
        ordinals.sort_unstable();
        let total = (ROUNDS * THREADS) as usize;
        assert!(ordinals.into_iter().eq(0..2 * total));
        assert_eq!((counts.entries(), counts.versions(), counts.next_ordinal()), (total, total, 2 * total));
        counts.add_version();
        assert_eq!((counts.entries(), counts.versions(), counts.next_ordinal()), (total, total + 1, 2 * total));
    }

    #[test]
    fn the_last_sequence_never_falls() {
        let (counts, next) = (Counts::default(), AtomicU64::new(1));
        let note = || {
            for _ in 0..ROUNDS {
                let at = Sequence(next.fetch_add(1, Ordering::Relaxed));
                counts.note(at);
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
