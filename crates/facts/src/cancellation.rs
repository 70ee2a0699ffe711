//! [`CancellationToken`]: ends a query from another thread. [`Deadline`]: when work on a text has to end.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Ends queries from another thread. Clones are of the same token, which may be for several queries.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<AtomicBool>);

impl CancellationToken {
    /// A token that has not been cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the queries that have this token: they return [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn cancel(&self) {
        // Relaxed: it publishes nothing else.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// When reading, checking and planning a text has to end: at a time, or if it is cancelled.
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    pub until: Option<Instant>,
    pub cancellation: CancellationToken,
    /// Since the last look at the clock.
    ticks: Cell<u32>,
}

/// How many steps are taken between looks at the clock.
const TICKS_PER_CLOCK: u32 = 256;

impl Deadline {
    pub fn new(until: Option<Instant>, cancellation: CancellationToken) -> Self {
        Self { until, cancellation, ticks: Cell::new(0) }
    }

    /// Whether the work has to end now.
    pub fn is_reached(&self) -> bool {
        self.cancellation.is_cancelled() || self.is_late()
    }

    /// Whether its time is up.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Counts a small step, and looks at the clock from time to time. `true`: the work has to end.
    pub fn tick(&self) -> bool {
        let ticks = self.ticks.get() + 1;
        self.ticks.set(if ticks < TICKS_PER_CLOCK { ticks } else { 0 });
        ticks >= TICKS_PER_CLOCK && self.is_reached()
    }
}
