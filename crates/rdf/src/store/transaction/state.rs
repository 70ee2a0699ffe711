//! The state of a transaction that its views share.

use std::collections::HashSet;
use std::sync::Arc;

use fulgurite::{Read, WriteTxn};

use super::additions::Additions;
use crate::dictionary;
use crate::dictionary::seeded_hash::SeededHash;
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::model::pattern::IdQuad;
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
    pub(super) checked: HashSet<TermId, SeededHash>,
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

    /// Checks that each id of a quad is of a term. Returns whether one of the terms is not written yet.
    pub(super) fn check_terms(&mut self, shared: &Shared, quad: &IdQuad) -> Result<bool> {
        let mut has_unwritten = false;
        for id in [quad.subject, quad.predicate, quad.object, quad.graph] {
            if id == TermId::DEFAULT_GRAPH || self.checked.contains(&id) {
                continue;
            }
            if self.additions.terms.is_unwritten(id) {
                has_unwritten = true;
                continue;
            }
            if !self.has_term(shared, id)? {
                let bits = id.to_bits();
                let message =
                    format!("no term that the transaction sees has the number {bits:#x}; intern the term first");
                return Err(Error::Invalid { message });
            }
            if self.checked.len() == CHECKED_TERMS_MAX {
                self.checked.clear();
            }
            self.checked.insert(id);
        }
        Ok(has_unwritten)
    }

    fn has_term(&mut self, shared: &Shared, id: TermId) -> Result<bool> {
        if !id.tag().is_of_dictionary() {
            return Ok(id.inline_term().is_some());
        }
        let tables = shared.tables();
        let txn = self.writable()?;
        dictionary::guard(txn, &tables, id)?;
        Ok(txn.contains_key(&tables.terms, id.key().as_bytes())?)
    }
}

/// Beyond this, numbers that were checked are forgotten.
const CHECKED_TERMS_MAX: usize = 1 << 14;
