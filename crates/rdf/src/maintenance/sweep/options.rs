//! Options and reports of sweeps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The progress of a running sweep.
type Progress = Arc<dyn Fn(&SweepProgress) + Send + Sync>;

/// Options of [`Store::sweep`](crate::Store::sweep).
#[derive(Clone, Default)]
pub struct SweepOptions {
    pub(crate) progress: Option<Progress>,
    pub(crate) wait: Option<Duration>,
}

impl SweepOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a function that is called with the progress from time to time, on the thread of the sweep. It must not
    /// write to the store or close it: both may wait for the sweep.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(&SweepProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Sets how long to wait for a running load or exclusive transaction. Default: ten minutes. After that the sweep
    /// returns [`Error::WriterBusy`](crate::Error::WriterBusy); terms that it has removed by then stay removed.
    #[must_use]
    pub fn wait(mut self, timeout: Duration) -> Self {
        self.wait = Some(timeout);
        self
    }
}

impl fmt::Debug for SweepOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SweepOptions").field("wait", &self.wait).finish_non_exhaustive()
    }
}

/// The progress of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepProgress {
    /// The current step: `reading quads`, `removing terms`, `reading namespaces`, in this order.
    pub stage: &'static str,
    /// Quads, terms or namespaces that were looked at in this stage.
    pub done: u64,
    /// How many there are to be looked at, about.
    pub total: u64,
    /// Terms that were taken away so far.
    pub removed: u64,
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepReport {
    /// Terms of the dictionary that were looked at.
    pub terms: u64,
    /// Terms that were taken away.
    pub removed: u64,
    /// Terms that no quad had when the sweep began, and that were not taken away when it came to them: others used them
    /// by then, or were changing quads of them again and again. Terms that came new while it ran are among them.
    pub kept: u64,
    /// Namespaces of IRIs that were taken away.
    pub namespaces_removed: u64,
    /// How long it took.
    pub elapsed: Duration,
}
