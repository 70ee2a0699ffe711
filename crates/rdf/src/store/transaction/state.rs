//! The state of a transaction that its views share.

use std::collections::HashSet;
use std::sync::Arc;

use fulgurite::WriteTxn;

use super::additions::Additions;
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::quads::inferred::guard;
use crate::quads::tables::Tables;
use crate::store::shared::Shared;

/// See the module.
pub(super) struct State {
    /// None when the transaction has ended.
    pub(super) txn: Option<WriteTxn>,
    /// Those that the transaction sees, of which it may make some. None until quads are read or changed: to look is a
    /// read, with which who makes tables of inferred quads is in conflict, and so is a load.
    pub(super) tables: Option<Arc<Tables>>,
    /// Whether it is in conflict with who makes tables of inferred quads.
    pub(super) guards_tables: bool,
    /// What is added and in no table yet, and terms that were looked up lately.
    pub(super) additions: Additions,
    /// Numbers that stand for terms, of those that were inserted lately.
    pub(super) checked: HashSet<TermId>,
    /// Whether the namespaces that are known are good for what it writes.
    pub(super) has_refreshed_namespaces: bool,
    /// Whether a change may be half made.
    pub(super) is_broken: bool,
    /// Why, if nobody was told.
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
