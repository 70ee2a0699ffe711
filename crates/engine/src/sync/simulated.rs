//! Locks and waiting as the system has them, and for threads of a simulation as its scheduler has them: see
//! `simulation`.

use std::ops::{Add, Deref, DerefMut};
use std::ptr;
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

use super::OnceLock;
use super::rank::{Held, LockRank, Rank};
use super::simulation::with;

/// A mutual exclusion lock; see the module for what poisoning does.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    inner: std::sync::Mutex<T>,
    rank: Rank,
}

/// Guard of a [`Mutex`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    /// None only while it is dropped.
    guard: Option<std::sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
    _held: Held,
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
        let guard = self.take().unwrap_or_else(|poisoned| {
            assert!(std::thread::panicking(), "a thread panicked while it held an engine lock");
            poisoned.into_inner()
        });
        self.guard(guard, held)
    }

    /// Takes the lock, unless a thread has it.
    ///
    /// # Panics
    /// As [`Mutex::lock`].
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let held = self.rank.hold();
        with(|task| task.step());
        let guard = match self.inner.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Poisoned(poisoned)) => {
                assert!(std::thread::panicking(), "a thread panicked while it held an engine lock");
                poisoned.into_inner()
            }
        };
        Some(self.guard(guard, held))
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
        self.guard(self.take().unwrap_or_else(PoisonError::into_inner), held)
    }

    fn take(&self) -> std::sync::LockResult<std::sync::MutexGuard<'_, T>> {
        let taken = with(|task| {
            task.step();
            loop {
                match self.inner.try_lock() {
                    Ok(guard) => return Ok(guard),
                    Err(TryLockError::Poisoned(poisoned)) => return Err(poisoned),
                    Err(TryLockError::WouldBlock) => task.wait(self.place(), None),
                }
            }
        });
        taken.unwrap_or_else(|| self.inner.lock())
    }

    fn guard<'a>(&'a self, guard: std::sync::MutexGuard<'a, T>, held: Held) -> MutexGuard<'a, T> {
        MutexGuard { guard: Some(guard), mutex: self, _held: held }
    }

    fn place(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

impl<'a, T> MutexGuard<'a, T> {
    /// Gives the lock back, and nobody comes in between before the next step.
    fn release(mut self) -> &'a Mutex<T> {
        drop(self.guard.take());
        with(|task| task.wake(self.mutex.place()));
        self.mutex
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        let Some(guard) = self.guard.take() else { return };
        drop(guard);
        with(|task| {
            task.wake(self.mutex.place());
            if !std::thread::panicking() {
                task.step();
            }
        });
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("it is locked until it is dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("it is locked until it is dropped")
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar {
    inner: std::sync::Condvar,
    /// Of no size, a condition variable might have the address of another.
    _place: u8,
}

impl Condvar {
    /// Releases the lock, waits for a wake-up, and takes the lock again. May wake for no reason.
    ///
    /// # Panics
    /// If a thread panicked while it held the lock.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        match self.wait_in_simulation(guard, None) {
            Ok(guard) => guard,
            Err((guard, mutex)) => {
                let waited = self.inner.wait(guard).expect("no thread panics while it holds an engine lock");
                mutex.guard(waited, mutex.rank.hold())
            }
        }
    }

    /// As [`Condvar::wait`], for at most `timeout`.
    ///
    /// # Panics
    /// If a thread panicked while it held the lock.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        match self.wait_in_simulation(guard, Some(timeout)) {
            Ok(guard) => guard,
            Err((guard, mutex)) => {
                let waited = self.inner.wait_timeout(guard, timeout);
                let waited = waited.expect("no thread panics while it holds an engine lock").0;
                mutex.guard(waited, mutex.rank.hold())
            }
        }
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.inner.notify_all();
        with(|task| task.wake(self.place()));
    }

    /// The lock again, or its parts if the thread is in no simulation.
    fn wait_in_simulation<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> Result<MutexGuard<'a, T>, (std::sync::MutexGuard<'a, T>, &'a Mutex<T>)> {
        if with(|_| ()).is_none() {
            let mutex = guard.mutex;
            let inner = guard.guard.take().expect("it is locked until it is dropped");
            return Err((inner, mutex));
        }
        let mutex = guard.release();
        with(|task| task.wait(self.place(), timeout.map(|timeout| task.now() + timeout)));
        Ok(mutex.lock())
    }

    fn place(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// A moment, which in a simulation is one of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(std::time::Instant);

impl Instant {
    /// The present moment.
    pub fn now() -> Self {
        static BEGAN: OnceLock<std::time::Instant> = OnceLock::new();
        let simulated = with(|task| task.now());
        Self(simulated.map_or_else(std::time::Instant::now, |now| *BEGAN.get_or_init(std::time::Instant::now) + now))
    }

    /// The time since then.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// The time since another moment; none if that is later.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The moment so much later, if it can be told.
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

/// Sleeps for so long.
pub fn sleep(duration: Duration) {
    // No thread is woken there.
    let slept = with(|task| task.wait(0, Some(task.now() + duration)));
    if slept.is_none() {
        std::thread::sleep(duration);
    }
}

/// Lets others go first.
pub fn yield_now() {
    if with(|task| task.stand_aside()).is_none() {
        std::thread::yield_now();
    }
}

/// Waits a moment for another thread.
#[inline]
pub fn spin_loop() {
    if with(|task| task.stand_aside()).is_none() {
        std::hint::spin_loop();
    }
}
