//! What bulk loads of all graphs share: how they begin, and the memory in which they sort.

use std::time::Duration;

use fulgurite::{BulkLoad, Database, Error, Result};

/// The memory in which a bulk load sorts a table.
pub const SORT_BYTES: usize = 64 << 20;

/// Begins a load when other transactions have ended, for which it waits at most as long as `patience`.
///
/// # Errors
/// [`Error::Invalid`] if others write for longer; as [`Database::begin_bulk_load`].
pub fn begin<'l>(db: &Database, patience: Duration) -> Result<BulkLoad<'l>> {
    db.begin_bulk_load(patience)?.ok_or_else(|| {
        let message = format!("other transactions have written for {patience:?}; load when they have ended");
        Error::Invalid { message }
    })
}
