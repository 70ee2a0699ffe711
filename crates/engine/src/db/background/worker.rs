//! The background thread of one open database. It is not started before there is something to do.

use crate::db::background::relief::WorkerRelief;
use crate::db::background::tasks::Signals;
use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::error::Result;
use crate::options::Options;
use crate::sync::{Arc, Instant, LockRank, Mutex};
use crate::txn::commit::core::Core;

/// The worker of one open database. Dropping it stops the thread and waits for it.
#[derive(Debug)]
pub struct Worker {
    signals: Arc<Signals>,
}

impl Worker {
    /// Lets commits of `core` call for checkpoints.
    pub fn start(core: &Arc<Core>, checkpointer: &Arc<Mutex<Checkpointer>>, options: &Options) -> Result<Self> {
        let signals = Arc::new(Signals::default());
        let writer = core.writer()?;
        let wake = WorkerRelief {
            signals: Arc::clone(&signals),
            core: Arc::downgrade(core),
            checkpointer: Arc::downgrade(checkpointer),
            background: options.background,
            checkpoint_interval: options.checkpoint_interval,
            space: Arc::clone(writer.large.space()),
            failed: Mutex::ranked(LockRank::FailedCheckpoint, None),
            began: Instant::now(),
        };
        // A disk may be nearly full already.
        wake.measure(core, &writer.budget);
        let fresh = writer.relief.set(Box::new(wake)).is_ok();
        assert!(fresh, "a database has one worker");
        if checkpointer.lock().has_runs()
            && let Some(relief) = writer.relief.get()
        {
            relief.note_runs();
        }
        Ok(Self { signals })
    }

    /// When the next checkpoint is due because commits are old.
    #[cfg(test)]
    pub fn checkpoint_at(&self) -> Option<Instant> {
        self.signals.requests.lock().checkpoint_at
    }

    /// Has the thread stop, after what it is doing now.
    pub fn stop_soon(&self) {
        self.signals.requests.lock().stop = true;
        self.signals.changed.notify_all();
    }

    /// Stops the thread, after what it is doing now.
    pub fn stop(&self) {
        self.stop_soon();
        let thread = self.signals.requests.lock().thread.take();
        // Closing on the worker's own thread cannot happen: it holds no handle.
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}
