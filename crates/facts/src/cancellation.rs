//! [`CancellationToken`]: ends a query from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
