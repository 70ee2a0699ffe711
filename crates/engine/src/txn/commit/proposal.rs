//! What a transaction asks to commit, and what must not have changed since its snapshot.

use crate::delta::Approach;
use crate::txn::reads::read_set::Reads;
use crate::txn::snapshot::state::Snapshot;
use crate::txn::writes::schema::Schema;
use crate::txn::writes::write_set::WriteSet;

/// What a transaction wants to commit.
pub struct Proposal<'t> {
    /// What it saw.
    pub snapshot: &'t Snapshot,
    /// Its changes.
    pub set: &'t WriteSet,
    /// The tables that it created, dropped and renamed.
    pub schema: &'t Schema,
    /// What must not have changed since the snapshot.
    pub checks: Checks<'t>,
    /// Whether no other transaction may commit.
    pub is_exclusive: bool,
    /// An approach to the set's only key.
    pub begun: Option<&'t Approach>,
}

/// What must not have changed since a transaction's snapshot.
pub enum Checks<'t> {
    /// Nothing: it read nothing, or no other transaction could commit.
    Nothing,
    /// What it read.
    Reads(&'t Reads),
    /// What it overwrites, and what it guarded.
    Writes(Option<&'t Reads>),
}
