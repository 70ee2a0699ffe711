//! Locks and waiting as the system has them.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

pub use std::hint::spin_loop;
pub use std::thread::{sleep, yield_now};
pub use std::time::Instant;

/// A mutual exclusion lock; see the module for what poisoning does.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

/// Guard of a [`Mutex`].
pub type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    ///
    /// # Panics
    /// If a thread panicked while it held this lock; but not while this thread unwinds itself: a second panic, in a
    /// destructor, would end the process.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(|poisoned| {
            assert!(std::thread::panicking(), "a thread panicked while it held an engine lock");
            poisoned.into_inner()
        })
    }

    /// The value, which nobody else can reach now.
    ///
    /// # Panics
    /// If a thread panicked while it held this lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().expect("a thread panicked while it held an engine lock")
    }

    /// Waits for the lock, whether or not a thread panicked while it held it. For values that are whole at every
    /// moment.
    pub fn lock_after_panic(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
        self.0.wait(guard).expect("no thread panics while it holds an engine lock")
    }

    /// As [`Condvar::wait`], for at most `timeout`.
    ///
    /// # Panics
    /// If a thread panicked while it held the lock.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, timeout).expect("no thread panics while it holds an engine lock").0
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
