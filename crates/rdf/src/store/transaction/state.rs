//! The state of a transaction that its views share.

use std::collections::HashSet;
use std::sync::Arc;

use fulgurite::WriteTxn;

use super::additions::Additions;
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::quads::inferred::guard;
use crate::quads::shared::Shared;
use crate::tables::Tables;

/// See the module.
pub(super) struct State {
    /// `None` when the transaction has ended.
    pub(super) txn: Option<WriteTxn>,
    /// The tables that the transaction sees, and those that it has made. `None` until quads are read or changed:
    /// looking for the tables is a read, which conflicts with a load and with a transaction that makes tables of
    /// inferred quads.
    pub(super) tables: Option<Arc<Tables>>,
    /// Whether it conflicts with a transaction that makes tables of inferred quads.
    pub(super) guards_tables: bool,
    /// Additions that are in no table yet, and recently used terms.
    pub(super) additions: Additions,
    /// Recently inserted numbers that are known to represent terms.
    pub(super) checked: HashSet<TermId>,
    /// Whether the known namespaces are recent enough for writing.
    pub(super) has_refreshed_namespaces: bool,
    /// Whether a change may be incomplete.
    pub(super) is_broken: bool,
    /// The error that broke it, if no call has returned it.
    pub(super) failure: Option<Error>,
}

impl State {
    pub(super) fn tables_seen(&mut self, shared: &Shared) -> Result<Arc<Tables>> {
        if let Some(tables) = &self.tables {
            return Ok(Arc::clone(tables));
        }
        let txn = self.txn.as_ref().ok_or(Error::TransactionEnded)?;
        let tables = shared.tables_as_seen(txn, |name| txn.open_table(name))?;
        self.tables = Some(Arc::clone(&tables));
        Ok(tables)
    }

    /// See [`Inner::tables_to_change`].
    pub(super) fn tables_to_change(&mut self, shared: &Shared) -> Result<Arc<Tables>> {
        let tables = self.tables_seen(shared)?;
        if tables.inferred.is_none() && !self.guards_tables {
            guard(self.writable()?, &tables)?;
            self.guards_tables = true;
        }
        Ok(tables)
    }

    pub(super) fn writable(&mut self) -> Result<&mut WriteTxn> {
        let txn = self.txn.as_mut().ok_or(Error::TransactionEnded)?;
        if self.is_broken { Err(self.failure.take().unwrap_or(Error::TransactionBroken)) } else { Ok(txn) }
    }
}
