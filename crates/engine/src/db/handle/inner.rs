//! What the clones of a [`Database`](crate::Database) share.

use std::mem;

use crate::db::background::worker::Worker;
use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::format::Meta;
use crate::io::File;
use crate::monitor::Watchers;
use crate::options::Options;
use crate::sync::atomic::Ordering;
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
    /// Whether the file is an image.
    pub(crate) is_image: bool,
    /// Held while the database is being closed: other closing threads wait for it, and return the same outcome.
    /// [`LockRank::Closing`](crate::sync::LockRank::Closing).
    pub(crate) closing: Mutex<Option<CloseOutcome>>,
    /// The monitors that follow checkpoints, and may stop them.
    pub(crate) watchers: Watchers,
    /// The monitors of threads that close the database, which may stop all waiting for that.
    pub(crate) closers: Watchers,
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
}

impl Drop for Inner {
    /// What transactions left for the next ones is theirs no more, and would keep the database open.
    fn drop(&mut self) {
        if self.core.stamp.is_inherited() {
            // A child made by `fork` has not the threads that hold what would be waited for. It leaves all as it is.
            mem::forget((Arc::clone(&self.core), self.checkpointer.clone(), self.worker.take()));
            return;
        }
        self.core.published.close_slots();
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
