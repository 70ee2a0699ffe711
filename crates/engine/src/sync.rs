//! Locks, atomics and what else threads wait by, for the whole engine, from one place so that a model checker can take std's:
//! `proofs/loom-models` compiles the engine's concurrent files with a `sync` of its own.
//!
//! Built for the test kit, threads can be those of a simulation (`simulation`), and wait by its scheduler.
//!
//! A poisoned mutex means that a thread panicked while it held one: the guarded value may be half changed, so
//! [`Mutex::lock`] panics in turn rather than serve it.

use std::cell::Cell;

#[cfg(not(feature = "planted-faults"))]
mod plain;
mod rank;
#[cfg(feature = "planted-faults")]
mod simulated;
#[cfg(feature = "planted-faults")]
pub mod simulation;

#[cfg(not(feature = "planted-faults"))]
pub use plain::{Condvar, Instant, Mutex, MutexGuard, Thread, sleep, spawn, spin_loop, yield_now};
pub use rank::{LockRank, outside_locks};
#[cfg(feature = "planted-faults")]
pub use simulated::{Condvar, Instant, Mutex, MutexGuard, sleep, spin_loop, yield_now};
#[cfg(feature = "planted-faults")]
pub use simulation::{Thread, spawn};
pub use std::sync::atomic;
pub use std::sync::{Arc, OnceLock};

/// A place whose owner sees to it himself that no two threads are there at once.
#[derive(Debug, Default)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Lends the value to who will change it.
    #[inline(always)]
    pub fn with_mut<R>(&self, act: impl FnOnce(*mut T) -> R) -> R {
        act(self.0.get())
    }
}

/// Fills `bytes` with random numbers, which are those of the simulation in one.
///
/// # Errors
/// The system has none.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    #[cfg(feature = "planted-faults")]
    {
        let drawn = simulation::with(|task| {
            for part in bytes.chunks_mut(8) {
                part.copy_from_slice(&task.random().to_le_bytes()[..part.len()]);
            }
        });
        if drawn.is_some() {
            return Ok(());
        }
    }
    getrandom::fill(bytes)
}

/// The number of the calling thread: they are numbered from 0 as they come here first.
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

/// Stands where a thread tries again what lost a race to another. A model checker goes on with the other here, or it would try
/// for ever what the first comes to see meanwhile; nothing here.
#[inline(always)]
pub const fn before_retry() {}

/// Tells a model checker what becomes of raw memory, which it cannot see. Here these do nothing.
pub mod memory {
    use std::ptr::NonNull;

    /// The allocator gave `bytes` bytes from `start` on.
    #[inline(always)]
    pub const fn allocated(_start: NonNull<u8>, _bytes: usize) {}

    /// Whoever called gets `bytes` bytes from `start` on for himself, and will write them before anybody else knows of them.
    #[inline(always)]
    pub const fn handed_out(_start: NonNull<u8>, _bytes: usize) {}

    /// What was written at `address` is about to be read.
    #[inline(always)]
    pub const fn looked_at(_address: NonNull<u8>) {}
}
