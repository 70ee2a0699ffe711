//! The number of a thread, and the place where a thread repeats an attempt.

use std::cell::Cell;

use super::atomic;
#[cfg(feature = "planted-faults")]
use super::simulation;

/// The number of the calling thread: threads are numbered from 0 in the order of their first calls.
#[inline]
pub fn number_of_thread() -> usize {
    static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    #[cfg(feature = "planted-faults")]
    if let Some(number) = simulation::with(|task| task.number()) {
        return number;
    }
    NUMBER.get().unwrap_or_else(|| {
        // Relaxed: the number orders nothing.
        let number = NEXT.fetch_add(1, atomic::Ordering::Relaxed);
        NUMBER.set(Some(number));
        number
    })
}

/// Called where a thread repeats an attempt that lost a race to another thread. A model checker continues with the
/// other thread here, or it would explore repetitions for ever. Does nothing here.
#[inline(always)]
pub const fn before_retry() {}
