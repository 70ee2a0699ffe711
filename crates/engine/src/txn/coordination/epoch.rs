//! Epochs: the time from one rotation of the deltas to the next, with a count of the transactions that began in it
//! and may write.

use crate::sync::atomic::{AtomicUsize, Ordering};

/// The time between two rotations, and how many transactions that may write began in it.
#[derive(Debug, Default)]
pub struct Epoch {
    /// Epochs are numbered without gaps.
    pub number: u64,
    writers: AtomicUsize,
}

impl Epoch {
    /// The next epoch.
    pub fn next(&self) -> Self {
        Self { number: self.number + 1, writers: AtomicUsize::new(0) }
    }

    /// A transaction that may write has begun.
    #[inline]
    pub fn enter(&self) {
        // Relaxed: a transaction that is not counted in time may find the history evicted, and gets a retryable error.
        self.writers.fetch_add(1, Ordering::Relaxed);
    }

    /// It has ended.
    #[inline]
    pub fn leave(&self) {
        // Relaxed: a count that is too high retains a delta longer; too low is as in `enter`.
        self.writers.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many have not ended or are in a slot.
    #[cfg(test)]
    pub fn writers(&self) -> usize {
        self.writers.load(Ordering::Relaxed)
    }

    /// Whether all of them have ended.
    pub fn is_left(&self) -> bool {
        self.writers.load(Ordering::Relaxed) == 0
    }
}
