//! How followers of this process learn of new events: without polling.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The position after the newest event that followers may see, and threads that wait for a higher one.
#[derive(Debug, Default)]
pub struct Bell {
    position: AtomicU64,
    waiting: AtomicUsize,
    /// Guards nothing: a thread that holds it is not between its look at the position and its sleep. No lock is taken
    /// while it is held.
    asleep: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// The position after the newest event that followers may see.
    pub fn position(&self) -> u64 {
        self.position.load(Ordering::SeqCst)
    }

    /// Raises the position, and wakes all waiting threads.
    pub fn ring(&self, position: u64) {
        self.position.fetch_max(position, Ordering::SeqCst);
        // SeqCst: a thread that is counted here too late sees the new position.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.rung.notify_all();
        }
    }

    /// Wakes all waiting threads, so that they look whether they are to stop.
    pub fn wake(&self) {
        drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.rung.notify_all();
    }

    /// Waits at most `timeout` for a position above `after`, or until the bell rings or [`Bell::wake`] is called.
    /// Returns whether the position is above `after`.
    pub fn wait(&self, after: u64, timeout: Duration) -> bool {
        for _ in 0..SPINS {
            if self.position() > after {
                return true;
            }
            std::hint::spin_loop();
        }
        let deadline = Instant::now().checked_add(timeout);
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        if self.position() <= after {
            let left = deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(Instant::now()));
            asleep = self.rung.wait_timeout(asleep, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(asleep);
        self.position() > after
    }
}

/// Looks at the position before a thread sleeps: some microseconds, because waking a thread takes longer.
const SPINS: u32 = 500;
