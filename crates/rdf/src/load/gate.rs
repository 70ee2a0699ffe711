//! Who may read and write while a bulk load runs.
//!
//! A load is known here from before its mark is written until after the mark is gone. Meanwhile no transaction commits, snapshots are those
//! of before, and no second load begins. What is in `meta` is for the next process: see [`super::mark`].

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use fulgurite::ReadTxn;

use crate::error::{Error, Result};
use crate::tables::Tables;

/// What a load leaves for others to read.
#[derive(Clone)]
pub struct Before {
    pub read: Arc<ReadTxn>,
    pub tables: Arc<Tables>,
}

/// The load of a store, if one runs. Commits hold it shared, so that none is under way when a load begins.
#[derive(Default)]
pub struct Gate {
    running: RwLock<Option<Before>>,
}

/// Lets a transaction commit; no load begins meanwhile.
pub struct Pass<'g> {
    _shared: RwLockReadGuard<'g, Option<Before>>,
}

/// A load that runs. Dropped, it does no more, unless it is [unsettled](Running::unsettle): then the store stays closed to writers, and
/// readers see what was before, until it is opened again.
pub struct Running<'g> {
    gate: &'g Gate,
    pub before: Before,
    is_settled: bool,
}

impl Gate {
    /// # Errors
    /// [`Error::LoadRunning`].
    pub fn pass(&self, path: &Path) -> Result<Pass<'_>> {
        let shared = self.running.read().unwrap_or_else(PoisonError::into_inner);
        if shared.is_some() {
            Err(Error::LoadRunning { path: path.to_path_buf() })
        } else {
            Ok(Pass { _shared: shared })
        }
    }

    /// What is to be read while a load runs.
    pub fn before(&self) -> Option<Before> {
        self.running.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins a load, when the commits that are under way have ended. `before` is taken when no other can begin.
    ///
    /// # Errors
    /// [`Error::LoadRunning`]; those of `before`.
    pub fn begin(&self, path: &Path, before: impl FnOnce() -> Result<Before>) -> Result<Running<'_>> {
        let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return Err(Error::LoadRunning { path: path.to_path_buf() });
        }
        let before = running.insert(before()?).clone();
        Ok(Running { gate: self, before, is_settled: true })
    }
}

impl Running<'_> {
    /// Tables are filled from now on, and what others would read is half done.
    pub fn unsettle(&mut self) {
        self.is_settled = false;
    }

    /// The tables are as they were, or whole.
    pub fn settle(&mut self) {
        self.is_settled = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            return;
        }
        *self.gate.running.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
