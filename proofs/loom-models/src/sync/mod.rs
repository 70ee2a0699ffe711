//! What the engine's files find as `crate::sync` here: the same names as in the engine's own `sync`, made of loom's.
//!
//! Whatever may be done in another order by other threads is an operation of loom's. Beyond what loom has: atomics of
//! the size of std's ([`atomic`]); reference counts that order ([`Arc`]); waits that end by themselves
//! ([`Condvar::wait_timeout`]), on a clock that is part of the model ([`Instant`]); and raw memory whose use is
//! checked ([`memory`]).
//!
//! All is for use within one exploration of loom's, which runs its threads one at a time on one thread of the system.

mod arc;
pub mod atomic;
mod cell;
mod clock;
mod lock;
pub mod memory;
mod once;
#[path = "../../../../crates/engine/src/sync/rank.rs"]
#[allow(dead_code, reason = "threads of a model are no threads of the system, by which ranks are checked")]
mod rank;
pub mod shadow;

pub use arc::Arc;
pub use cell::UnsafeCell;
pub use clock::{Instant, advance};
pub use lock::{Condvar, Mutex, MutexGuard};
pub use loom::hint::spin_loop;
pub use loom::thread::yield_now;
pub use loom::thread::yield_now as before_retry;
pub use once::OnceLock;
pub use rank::{LockRank, outside_locks};

loom::thread_local! {
    static NUMBER: usize = shadow::next_thread();
}

/// The number of the calling thread: they are numbered from 0 as they come here first.
pub fn number_of_thread() -> usize {
    NUMBER.with(|number| *number)
}
