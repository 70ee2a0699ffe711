//! Locks and waiting as the system has them.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::TryLockError;
use std::thread::JoinHandle;
use std::time::Duration;

pub use std::hint::spin_loop;
pub use std::thread::{sleep, yield_now};
pub use std::time::Instant;

use super::rank::{Held, LockRank, Rank};

/// A mutual exclusion lock; see the module for what poisoning does.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    inner: std::sync::Mutex<T>,
    rank: Rank,
}

/// Guard of a [`Mutex`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    inner: std::sync::MutexGuard<'a, T>,
    /// Dropped last: the lock is released before.
    held: Held,
}

impl<T> Mutex<T> {
    /// Wraps `value`, in a lock whose rank is not checked.
    pub const fn new(value: T) -> Self {
        Self { inner: std::sync::Mutex::new(value), rank: Rank::NONE }
    }

    /// Wraps `value`, in a lock that a thread takes only if all locks that it holds have lower ranks.
    pub const fn ranked(rank: LockRank, value: T) -> Self {
        Self { inner: std::sync::Mutex::new(value), rank: Rank::of(rank) }
    }

    /// Waits for the lock.
    ///
    /// # Panics
    /// If a thread panicked while it held this lock; but not while this thread unwinds itself: a second panic, in a
    /// destructor, would end the process.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = self.rank.hold();
        let inner = self.inner.lock().unwrap_or_else(|poisoned| {
            assert!(std::thread::panicking(), "a thread panicked while it held an engine lock");
            poisoned.into_inner()
        });
        MutexGuard { inner, held }
    }

    /// Takes the lock, unless a thread has it.
    ///
    /// # Panics
    /// As [`Mutex::lock`].
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let held = self.rank.hold();
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Poisoned(poisoned)) => {
                assert!(std::thread::panicking(), "a thread panicked while it held an engine lock");
                poisoned.into_inner()
            }
        };
        Some(MutexGuard { inner, held })
    }

    /// The value, which nobody else can reach now.
    ///
    /// # Panics
    /// If a thread panicked while it held this lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut().expect("a thread panicked while it held an engine lock")
    }

    /// Waits for the lock, whether or not a thread panicked while it held it. For values that are whole at every
    /// moment.
    pub fn lock_after_panic(&self) -> MutexGuard<'_, T> {
        let held = self.rank.hold();
        MutexGuard { inner: self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner), held }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    /// Releases the lock, waits for a wake-up, and takes the lock again. May wake for no reason.
    ///
    /// # Panics
    /// If a thread panicked while it held the lock.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { inner, held } = guard;
        MutexGuard { inner: self.0.wait(inner).expect("no thread panics while it holds an engine lock"), held }
    }

    /// As [`Condvar::wait`], for at most `timeout`.
    ///
    /// # Panics
    /// If a thread panicked while it held the lock.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        let MutexGuard { inner, held } = guard;
        let waited = self.0.wait_timeout(inner, timeout);
        MutexGuard { inner: waited.expect("no thread panics while it holds an engine lock").0, held }
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A thread that can be waited for.
pub type Thread = JoinHandle<()>;

/// Starts a thread.
///
/// # Errors
/// The system's.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    std::thread::Builder::new().name(name.into()).spawn(work)
}
