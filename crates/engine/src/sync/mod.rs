//! Locks, atomics and everything else by which threads wait, for the whole engine. They are in one place so that a
//! model checker can replace std's: `proofs/loom-models` compiles the engine's concurrent files with its own `sync`.
//!
//! In builds for the test kit, threads can be those of a simulation (`simulation`), whose scheduler decides which one
//! runs.
//!
//! A mutex is poisoned if a thread panicked while it held it: the guarded value may be half changed, so [`Mutex::lock`]
//! panics too.

mod cell;
pub mod memory;
#[cfg(not(feature = "planted-faults"))]
mod plain;
mod random;
mod rank;
#[cfg(feature = "planted-faults")]
mod simulated;
#[cfg(feature = "planted-faults")]
pub mod simulation;
mod threads;

pub use cell::UnsafeCell;
#[cfg(not(feature = "planted-faults"))]
pub use plain::{Condvar, Instant, Mutex, MutexGuard, Thread, sleep, spawn, spin_loop, yield_now};
pub use random::fill_random;
pub use rank::{LockRank, outside_locks};
#[cfg(feature = "planted-faults")]
pub use simulated::{Condvar, Instant, Mutex, MutexGuard, sleep, spin_loop, yield_now};
#[cfg(feature = "planted-faults")]
pub use simulation::{Thread, spawn};
pub use std::sync::atomic;
pub use std::sync::{Arc, OnceLock};
pub use threads::{before_retry, number_of_thread};
