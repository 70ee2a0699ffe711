//! Locks and atomics for the whole engine, from one place so that a model checker can take std's.
//!
//! A poisoned mutex means that a thread panicked while it held one: the guarded value may be half changed, so
//! [`Mutex::lock`] panics in turn rather than serve it.

pub use std::sync::Arc;
pub use std::sync::atomic;

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

    /// Waits for the lock, whether or not a thread panicked while it held it. For values that are whole at every moment.
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
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: std::time::Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, timeout).expect("no thread panics while it holds an engine lock").0
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
