//! Compaction: the file becomes as small as it gets, while others read and write.

use crate::db::handle::database::Database;
use crate::error::Result;
use crate::monitor::Monitor;

impl Database {
    /// Makes the file as small as possible, beside readers and writers. Returns by how many bytes it shrank.
    ///
    /// It merges all runs into their trees, fills leaves that are not full, and moves the last pages to free places
    /// before them. If large values do not fit into what is free, the file may grow by all that it holds before it
    /// shrinks; where the disk is too full for that, it is left as it is. What open snapshots read stays until they
    /// end. Commits wait when more is committed meanwhile than deltas may hold.
    ///
    /// # Errors
    /// What the disk reports; nothing is lost then. [`Error::Stopped`](crate::Error::Stopped)(crate::Error::Stopped)
    /// if another thread closes the database with a deadline.
    pub fn compact(&self) -> Result<u64> {
        self.compact_with(&Monitor::new())
    }

    /// As [`Database::compact`], followed by a monitor, which may end it before its time: the file is then as small
    /// as it came to be.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped)(crate::Error::Stopped) if it did, and as [`Database::compact`].
    pub fn compact_with(&self, monitor: &Monitor) -> Result<u64> {
        let mut checkpointer = self.checkpointer()?.lock();
        let _watching = self.inner.watchers.add(monitor);
        checkpointer.compact()
    }
}
