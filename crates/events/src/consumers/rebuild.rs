//! Rebuilding a view beside the old one.

use std::thread;

use fulgurite::{UPDATE_ATTEMPTS, WriteTxn};

use crate::consumers::view::{View, ViewContext, ViewProgress};
use crate::error::Result;
use crate::event::Event;
use crate::layout::keys;
use crate::store::handle::EventStore;

impl EventStore {
    /// Folds a view again from the first event, in tables beside its own. Then it exchanges tables and position in one
    /// transaction. Until then the old view can be read, and can continue: the exchange waits until the new view
    /// has folded as many events.
    ///
    /// A rebuild that was interrupted begins again at the first event. Handles of the old tables are invalid
    /// afterwards: open them by name.
    ///
    /// # Errors
    /// As [`EventStore::run_view`]; the old view stays.
    pub fn rebuild_view<F>(&self, view: &View, mut fold: F) -> Result<ViewProgress>
    where
        F: FnMut(&mut WriteTxn, &ViewContext<'_>, &Event<'_>) -> Result<()>,
    {
        let beside = view.beside();
        self.repeat(|txn| self.drop_view_in(txn, &beside).map(|()| true))?;
        let mut progress = ViewProgress::default();
        loop {
            let run = self.run_view(&beside, &mut fold)?;
            progress.events += run.events;
            progress.position = run.position;
            if self.repeat(|txn| self.exchange(txn, view, &beside))? {
                return Ok(progress);
            }
        }
    }

    /// Drops the tables of a view and its position.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn drop_view(&self, view: &View) -> Result<()> {
        self.repeat(|txn| self.drop_view_in(txn, view).map(|()| true)).map(drop)
    }

    fn drop_view_in(&self, txn: &mut WriteTxn, view: &View) -> Result<()> {
        for name in view.table_names() {
            match txn.open_table(name) {
                Ok(table) => txn.drop_table(&table)?,
                Err(fulgurite::Error::TableNotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        txn.delete(&self.shared.tables.consumers, view.consumer())?;
        Ok(())
    }

    /// Puts the new tables in the place of the old ones, unless the old view is further.
    fn exchange(&self, txn: &mut WriteTxn, view: &View, beside: &View) -> Result<bool> {
        let position = self.position_in(txn, &beside.consumer())?;
        if position < self.position_in(txn, &view.consumer())? {
            return Ok(false);
        }
        self.drop_view_in(txn, view)?;
        for (name, new) in view.table_names().zip(beside.table_names()) {
            let table = txn.open_table(new)?;
            txn.rename_table(&table, name)?;
        }
        txn.put(&self.shared.tables.consumers, view.consumer(), keys::number(position.0))?;
        txn.delete(&self.shared.tables.consumers, beside.consumer())?;
        Ok(true)
    }

    /// As [`fulgurite::Database::update`], with the errors of this crate. Commits if `change` returns true.
    fn repeat(&self, mut change: impl FnMut(&mut WriteTxn) -> Result<bool>) -> Result<bool> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut txn = self.shared.db.write()?;
            let outcome = match change(&mut txn) {
                Ok(true) => txn.commit().map(|_| true).map_err(Into::into),
                outcome => outcome,
            };
            match outcome {
                Err(error) if error.is_retryable() && attempt < UPDATE_ATTEMPTS => thread::yield_now(),
                outcome => return outcome,
            }
        }
    }
}
