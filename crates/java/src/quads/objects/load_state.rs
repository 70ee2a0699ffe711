//! The state of a bulk load, which other threads read while it runs.

use std::sync::{Arc, Mutex};

use fulgurite_rdf::{CancellationToken, LoadProgress};

/// A load that is about to run, runs, or has run.
#[derive(Clone, Default)]
pub struct Load {
    /// Its progress; `None` before the first stage.
    pub progress: Arc<Mutex<Option<LoadProgress>>>,
    /// Cancels it.
    pub token: CancellationToken,
}
