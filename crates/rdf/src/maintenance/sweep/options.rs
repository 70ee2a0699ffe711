//! Options and reports of sweeps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The progress of a running sweep.
type Progress = Arc<dyn Fn(&SweepProgress) + Send + Sync>;

/// How to sweep.
#[derive(Clone, Default)]
pub struct SweepOptions {
    pub(crate) progress: Option<Progress>,
    pub(crate) wait: Option<Duration>,
}

impl SweepOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Is called with what was done so far, now and then, on the thread that sweeps. It must not write to the store,
    /// nor close it: both may wait for the sweep.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(&SweepProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// How long to wait for the end of a load or of an exclusive transaction, where nobody else may commit. Default:
    /// ten minutes. Then the sweep ends with [`Error::WriterBusy`](crate::Error::WriterBusy); what it has taken away by
    /// then is gone.
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

/// How far a sweep is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepProgress {
    /// What it is doing, in words: `reading quads`, `removing terms`, `reading namespaces`, in this order.
    pub stage: &'static str,
    /// Quads, terms or namespaces that were looked at in this stage.
    pub done: u64,
    /// How many there are to be looked at, about.
    pub total: u64,
    /// Terms that were taken away so far.
    pub removed: u64,
}

/// What a sweep did.
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
