//! What the clones of a [`Database`](crate::Database) share.

use std::fmt;
use std::mem;

use crate::db::background::worker::Worker;
use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::format::Meta;
use crate::io::File;
use crate::monitor::Watchers;
use crate::options::Options;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};
use crate::txn::commit::core::Core;

/// What clones of a [`Database`](crate::Database) share.
#[derive(Debug)]
pub struct Inner {
    pub(crate) core: Arc<Core>,
    pub(crate) options: Options,
    /// Present if the database is open for writing. [`LockRank::Checkpointer`](crate::sync::LockRank::Checkpointer).
    pub(crate) checkpointer: Option<Arc<Mutex<Checkpointer>>>,
    pub(crate) worker: Option<Worker>,
    /// The file, if the database is open for reading only: another may have its name by now.
    pub(crate) read: Option<Arc<dyn File>>,
    /// The meta that was found at opening.
    pub(crate) meta: Meta,
    /// The number of the newest meta that is known here.
    pub(crate) meta_number: Arc<AtomicU64>,
    /// Whether the file is an image.
    pub(crate) is_image: bool,
    /// Held while the database is being closed: other closing threads wait for it, and return the same outcome.
    /// [`LockRank::Closing`](crate::sync::LockRank::Closing).
    pub(crate) closing: Mutex<Option<CloseOutcome>>,
    /// The monitors that follow checkpoints, and may stop them.
    pub(crate) watchers: Watchers,
    /// The monitors of threads that close the database, which may stop all waiting for that.
    pub(crate) closers: Watchers,
    /// Its entry among the databases that this process has open. Dropped last.
    pub(crate) registered: Option<Box<dyn Entry>>,
}

/// The entry of an open database among those of the process. It removes itself when it is dropped.
pub trait Entry: fmt::Debug + Send + Sync {
    /// Notes that this thread drops the last handle.
    fn note_closing(&self);
}

impl Inner {
    /// Whether `close` was called.
    pub(crate) fn is_closed(&self) -> bool {
        self.core.closed.load(Ordering::Relaxed)
    }

    /// Whether opening the path again is to open another file: this one was closed, or it is open for reading, and
    /// the path names another file now. A database that is open for writing says at its next commit that it was moved.
    pub(crate) fn is_outdated(&self) -> bool {
        let is_replaced = |file: &Arc<dyn File>| matches!(file.is_named(&self.core.path), Ok(false));
        self.is_closed() || self.read.as_ref().is_some_and(is_replaced)
    }

    /// Begins the log if a transaction that may write outlives the handles: its commit needs the log, and the
    /// checkpointer, which begins the log, ends with the handles.
    fn begin_log(&self) {
        let (Some(writer), Some(checkpointer)) = (&self.core.writer, &self.checkpointer) else { return };
        // Nothing is committed before there is a log, so all transactions began in the present epoch.
        let is_needed = !writer.log_begun.load(Ordering::Acquire) && !self.core.published.state().epoch.is_left();
        if is_needed && !self.is_closed() {
            // If this fails, the commit fails. The meta is whole even if a thread panicked while it held the lock.
            let _ = checkpointer.lock_after_panic().begin_log();
        }
    }
}

impl Drop for Inner {
    /// What transactions left for the next ones is theirs no more, and would keep the database open.
    fn drop(&mut self) {
        if self.core.stamp.is_inherited() {
            // A child made by `fork` has not the threads that hold what would be waited for. It leaves all as it is.
            mem::forget((Arc::clone(&self.core), self.checkpointer.clone(), self.worker.take()));
            return;
        }
        if let Some(registered) = &self.registered {
            registered.note_closing();
        }
        self.core.published.close_slots();
        self.begin_log();
    }
}

/// The outcome of [`Database::close_with`](crate::Database::close_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says whether the log stays beside the file"]
pub enum CloseOutcome {
    /// All commits are in the file. The log is removed, except segments that
    /// [`Options::keep_log`](crate::Options::keep_log) retains.
    Clean,
    /// The monitor stopped the merge: the remaining commits are durable in the log. A copy of the database must include
    /// the log.
    LogKept,
}
