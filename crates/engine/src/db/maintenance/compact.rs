//! Compaction: the file becomes as small as it gets, while others read and write.

use crate::db::handle::database::Database;
use crate::error::Result;
use crate::monitor::Monitor;

impl Database {
    /// Removes unused space from the file, concurrently with readers and writers. Returns the bytes by which it shrank.
    /// A few pages stay free for the next checkpoint; a file without unused space may grow by these.
    ///
    /// It merges all runs into their trees, fills leaves that are not full, and moves pages from the end of the file to
    /// free pages before them. If large values do not fit into the free pages, the file may grow to twice its size
    /// before it shrinks; if the disk is too full for that, the file is left as it is. Pages of open snapshots stay
    /// until the snapshots end. Commits wait if they use up [`Options::delta_bytes`](crate::Options::delta_bytes)
    /// meanwhile. The database has a log afterwards, until it is closed.
    ///
    /// # Errors
    /// Errors of the disk; nothing is lost. [`Error::Stopped`](crate::Error::Stopped) if another thread closes the
    /// database with a deadline.
    pub fn compact(&self) -> Result<u64> {
        self.checkpointer()?.lock().compact()
    }

    /// As [`Database::compact`], with a monitor that receives progress and can stop it, also while it waits for a
    /// checkpoint or a bulk load. The file then keeps the size reached so far.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped) if the monitor stopped it, and as [`Database::compact`].
    pub fn compact_with(&self, monitor: &Monitor) -> Result<u64> {
        let mut checkpointer = self.lock_checkpointer(monitor)?;
        let _watching = self.inner.watchers.add(monitor);
        checkpointer.compact()
    }
}
