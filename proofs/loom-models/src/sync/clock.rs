//! Time of a model: it advances only when a model advances it, or when a wait ends.

use std::cell::Cell;
use std::ops::Add;
use std::time::Duration;

/// A moment of the model's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// The present.
    pub fn now() -> Self {
        Self(NOW.get())
    }

    /// How long ago that was.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// The time from `earlier` until this one.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// That much later; `None` beyond the range of the time.
    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

/// Lets time pass, for all threads of the model.
pub fn advance(time: Duration) {
    NOW.set(NOW.get() + time);
}

/// Resets the time.
pub fn reset() {
    NOW.set(Duration::ZERO);
}

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}
