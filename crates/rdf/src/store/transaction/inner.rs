//! What a [`Transaction`](super::Transaction) and its views share: the state, behind a lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fulgurite::WriteTxn;

use super::state::State;
use crate::error::{Error, Result};
use crate::model::pattern::IdQuad;
use crate::quads::changes;
use crate::quads::shared::Shared;
use crate::quads::view::View;
use crate::tables::{StatementKinds, Tables};

/// Which quads are read, and how.
#[derive(Clone, Copy)]
pub struct QuadReads {
    pub statements: StatementKinds,
    /// Whether the commit checks what was read, if the isolation level asks for that.
    pub are_checked: bool,
}

impl QuadReads {
    /// Checked reads of all quads.
    pub const ALL: Self = Self { statements: StatementKinds::All, are_checked: true };
}

/// What a transaction and its views share.
pub struct Inner {
    state: Mutex<State>,
    pub shared: Arc<Shared>,
}

impl Inner {
    pub fn new(state: State, shared: Arc<Shared>) -> Self {
        Self { state: Mutex::new(state), shared }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables that there always are: for terms, graphs and namespaces, and to know which indexes there are.
    pub fn tables(&self) -> Arc<Tables> {
        self.shared.tables()
    }

    /// Reads anything but quads.
    pub fn read<T>(&self, read: impl FnOnce(View<'_, WriteTxn>) -> Result<T>) -> Result<T> {
        let mut state = self.lock();
        state.settle(&self.shared)?;
        let reads = state.txn.as_ref().ok_or(Error::TransactionEnded)?;
        read(View { reads, tables: &self.tables(), shared: &self.shared })
    }

    /// Reads quads.
    pub fn read_quads<T>(&self, quads: QuadReads, read: impl FnOnce(View<'_, WriteTxn>) -> Result<T>) -> Result<T> {
        let mut state = self.lock();
        state.settle(&self.shared)?;
        let tables = state.tables_seen(&self.shared)?.of(quads.statements);
        let txn = state.txn.as_mut().ok_or(Error::TransactionEnded)?;
        let read = |reads: &WriteTxn| read(View { reads, tables: &tables, shared: &self.shared });
        if quads.are_checked { read(txn) } else { txn.unchecked(read) }
    }

    /// Runs a change that may be incomplete if it fails.
    pub fn write<T>(&self, write: impl FnOnce(&mut WriteTxn) -> Result<T>) -> Result<T> {
        let mut state = self.lock();
        state.settle(&self.shared)?;
        let outcome = write(state.writable()?);
        state.is_broken = outcome.is_err();
        outcome
    }

    /// As [`Inner::write`], for quads. It depends on the absence of tables of inferred quads if there are none.
    pub fn write_quads<T>(&self, write: impl FnOnce(&mut WriteTxn, &Tables) -> Result<T>) -> Result<T> {
        let tables = self.tables_to_change()?;
        self.write(|txn| write(txn, &tables))
    }

    /// All tables of quads.
    pub fn tables_seen(&self) -> Result<Arc<Tables>> {
        self.lock().tables_seen(&self.shared)
    }

    /// All tables of quads. If there are none of inferred quads, the transaction conflicts from then on with one that
    /// makes them.
    pub fn tables_to_change(&self) -> Result<Arc<Tables>> {
        self.lock().tables_to_change(&self.shared)
    }

    /// Takes an explicit quad away. Returns whether it was there.
    pub fn remove(&self, quad: &IdQuad) -> Result<bool> {
        self.write_quads(|txn, tables| changes::remove_explicit(txn, tables, self.shared.path(), quad))
    }

    /// Runs a change of one step, which is not made when it fails.
    pub fn write_one_step<T>(&self, write: impl FnOnce(&mut WriteTxn) -> fulgurite::Result<T>) -> Result<T> {
        Ok(write(self.lock().writable()?)?)
    }
}
