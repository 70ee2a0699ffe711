//! Locks, atomics and what else threads wait by, for the whole engine, from one place so that a model checker can take std's:
//! `crates/loom-models` compiles the engine's concurrent files with a `sync` of its own.
//!
//! A poisoned mutex means that a thread panicked while it held one: the guarded value may be half changed, so
//! [`Mutex::lock`] panics in turn rather than serve it.

use std::cell::Cell;

pub use std::hint::spin_loop;
pub use std::sync::atomic;
pub use std::sync::{Arc, OnceLock};
pub use std::thread::yield_now;
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

/// The number of the calling thread: they are numbered from 0 as they come here first.
#[inline]
pub fn number_of_thread() -> usize {
    static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
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
