//! How a thread that follows is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::handle::EventStore;
use crate::store::shared::Shared;

/// Stops threads that follow a store: [`EventStore::follow_view`]. Clones stop the same threads.
#[derive(Clone, Debug)]
pub struct Stop {
    is_set: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl Stop {
    /// Not stopped yet.
    pub fn new(store: &EventStore) -> Self {
        Self { is_set: Arc::default(), shared: Arc::clone(&store.shared) }
    }

    /// Stops the threads, and wakes those that wait for events.
    pub fn stop(&self) {
        // SeqCst: a thread that reads it later than the bell wakes it sees it.
        self.is_set.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Wakes the threads that wait for events, without stopping them.
    pub(super) fn wake(&self) {
        self.shared.bell.wake();
    }

    /// Whether [`Stop::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }
}
