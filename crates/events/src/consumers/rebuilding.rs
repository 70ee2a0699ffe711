//! Which views are being rebuilt. The threads of a parallel rebuild fill the tables that any other rebuild of the view
//! would fill too, so a parallel rebuild runs alone.

use std::sync::PoisonError;

use crate::error::{Error, Result};
use crate::store::shared::Shared;

/// A rebuild that runs.
pub(super) struct Rebuilding<'s> {
    shared: &'s Shared,
    view: &'s str,
}

impl<'s> Rebuilding<'s> {
    /// Notes a rebuild that can share its new tables with others of its kind.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a parallel rebuild of the view runs.
    pub fn beside_others(shared: &'s Shared, view: &'s str) -> Result<Self> {
        // None above ALONE.
        Self::note(shared, view, |running| running.checked_add(1))
    }

    /// Notes a parallel rebuild.
    ///
    /// # Errors
    /// [`Error::Invalid`] if another rebuild of the view runs.
    pub fn alone(shared: &'s Shared, view: &'s str) -> Result<Self> {
        Self::note(shared, view, |running| (running == 0).then_some(ALONE))
    }

    fn note(shared: &'s Shared, view: &'s str, count: impl FnOnce(usize) -> Option<usize>) -> Result<Self> {
        let mut rebuilds = shared.rebuilds.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = count(rebuilds.get(view).copied().unwrap_or_default()) else {
            let message = format!(
                "cannot rebuild the view `{view}`: another call rebuilds it, and one of the two does so on several \
                 threads; wait until the other call ends"
            );
            return Err(Error::Invalid { message });
        };
        rebuilds.insert(view.to_owned(), count);
        Ok(Self { shared, view })
    }
}

impl Drop for Rebuilding<'_> {
    fn drop(&mut self) {
        let mut rebuilds = self.shared.rebuilds.lock().unwrap_or_else(PoisonError::into_inner);
        match rebuilds.get(self.view).copied() {
            Some(running) if (2..ALONE).contains(&running) => rebuilds.insert(self.view.to_owned(), running - 1),
            _ => rebuilds.remove(self.view),
        };
    }
}

/// The number of rebuilds of a view while a parallel one runs.
const ALONE: usize = usize::MAX;
