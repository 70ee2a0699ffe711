//! Locks, and what is waited for with them.
//!
//! A lock that a planted fault leaves out neither keeps others away nor orders anything; the value it guards is there. That loom
//! has others come between nevertheless, all takers of locks do something to the same atomic then.

use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::faults;
use crate::sync::{LockRank, clock};

/// As the engine's. A thread of a model that panics ends the exploration, so that nothing is ever poisoned.
#[derive(Debug)]
pub struct Mutex<T> {
    lock: loom::sync::Mutex<()>,
    /// Exchanged by threads that take the lock, or should; only where a fault is planted.
    taken: Option<loom::sync::atomic::AtomicUsize>,
    /// Taken only by a thread that has the lock, except with planted faults.
    value: std::sync::Mutex<T>,
}

/// As the engine's.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// Given back before the lock is. None where another thread uses the value, because the lock is left out.
    value: Option<std::sync::MutexGuard<'a, T>>,
    /// None where the lock is left out.
    lock: Option<loom::sync::MutexGuard<'a, ()>>,
}

impl<T> Mutex<T> {
    /// Wraps `value`.
    pub fn new(value: T) -> Self {
        let taken = faults::is_planted().then(|| loom::sync::atomic::AtomicUsize::new(0));
        Self { lock: loom::sync::Mutex::new(()), taken, value: std::sync::Mutex::new(value) }
    }

    /// As [`Mutex::new`]: loom itself finds locks that are taken in different orders.
    pub fn ranked(_: LockRank, value: T) -> Self {
        Self::new(value)
    }

    /// Waits for the lock.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let left_out = faults::at(Location::caller()).is_some();
        let lock = (!left_out).then(|| self.lock.lock().expect("loom's locks are not poisoned"));
        if let Some(taken) = &self.taken {
            taken.fetch_add(1, Ordering::Relaxed);
        }
        self.with(lock)
    }

    /// As [`Mutex::lock`].
    #[track_caller]
    pub fn lock_after_panic(&self) -> MutexGuard<'_, T> {
        self.lock()
    }

    /// The value, which nobody else can reach now.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut().expect("no thread has panicked")
    }

    fn with<'a>(&'a self, lock: Option<loom::sync::MutexGuard<'a, ()>>) -> MutexGuard<'a, T> {
        // Where the lock is left out, the value may be in use; it is then not to be had.
        MutexGuard { mutex: self, value: self.value.try_lock().ok(), lock }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect(USED)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(USED)
    }
}

/// As the engine's.
#[derive(Debug, Default)]
pub struct Condvar {
    waiters: loom::sync::Condvar,
    /// How often all waiters were woken. Not an operation of the model: it only says whether time passes.
    wakes: std::sync::atomic::AtomicU64,
}

impl Condvar {
    /// Releases the lock, waits for a wake-up, and takes the lock again.
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        guard.value = None;
        let lock = guard.lock.take().expect("no planted fault leaves out a lock with which somebody waits");
        let mutex = guard.mutex;
        mutex.with(Some(self.waiters.wait(lock).expect("loom's locks are not poisoned")))
    }

    /// As [`Condvar::wait`], for at most `timeout`: for as long as other threads do what they do before this one goes on, and
    /// that may be nothing. Time passes only if nobody woke this thread.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        let (mutex, wakes) = (guard.mutex, self.wakes.load(Ordering::Relaxed));
        drop(guard);
        let guard = mutex.with(Some(mutex.lock.lock().expect("loom's locks are not poisoned")));
        if self.wakes.load(Ordering::Relaxed) == wakes {
            clock::advance(timeout);
        }
        guard
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        if faults::at(Location::caller()).is_none() {
            self.wakes.fetch_add(1, Ordering::Relaxed);
            self.waiters.notify_all();
        }
    }
}

/// What a thread meets that comes in where a lock is left out.
const USED: &str = "no other thread uses what a lock guards";
