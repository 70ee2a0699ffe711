//! `facts backup` and `facts restore`: copies of a database with its incremental databases.

use std::io::Write;
use std::path::Path;

use fulgurite::Monitor;
use fulgurite_facts::Store;

use super::stack::{Opened, copy_all, length_of};
use crate::arguments::facts_files::Copy;
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Copies. A backup can be an image: restoring makes a database of it.
pub fn run(arguments: &Copy, doing: &'static str) -> Result<(), Failure> {
    let Copy { from, to } = arguments;
    let copied = copy_all(from, to, &mut |source, target| copy_compact(source, target, to, doing))?;
    let _ = writeln!(std::io::stderr(), "{}: {}{}", to.display(), size(copied.bytes), copied.lacking);
    Ok(())
}

/// Copies one database to a new file, without free space. Messages name `to`, which the complete copy is named.
///
/// # Errors
/// Errors of the engine, and of LMDB.
pub fn copy_compact(source: &Opened, target: &Path, to: &Path, doing: &'static str) -> Result<u64, Failure> {
    match source {
        Opened::Engine { database, txn } => {
            let monitor = Monitor::new();
            let copied = || database.backup_snapshot_to(txn, target, &monitor);
            let copied = Progress::new(doing).follow(&monitor, copied);
            copied.map_err(|error| Failure::of_copy(error, to))?;
        }
        Opened::Lmdb(path) => Store::back_up_file(path, target)?,
    }
    Ok(length_of(target))
}
