//! What a rollback to a savepoint undoes: savepoints are marks in a list of the changes before each change.
//!
//! The list is kept only once there is a savepoint.

use crate::ids::TableId;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::small_bytes::ChangedKey;

/// A mark to return to; valid until the set is rolled back past it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Spills before it.
    pub spills: u64,
    /// Entries of the undo list before it.
    pub undo_length: usize,
    /// Unique in the process.
    pub number: u64,
    /// The stage that it begins: see [`versions`](crate::txn::writes::versions).
    pub stage: u64,
}

/// One change that can be undone.
#[derive(Debug)]
pub struct Undo {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: ChangedKey,
    /// The change of the key before, if there was one.
    pub before: Option<Pending>,
}

impl Undo {
    /// By what the list is sorted when it is spilled.
    pub fn place(&self) -> (TableId, &[u8]) {
        (self.table, &self.key)
    }

    /// Bytes of memory that it takes, about.
    pub fn weight(&self) -> usize {
        UNDO_BYTES + self.key.len() + self.before.as_ref().map_or(0, Pending::weight)
    }
}

/// Memory that an entry of the list takes beyond its key and value, about.
const UNDO_BYTES: usize = 80;
