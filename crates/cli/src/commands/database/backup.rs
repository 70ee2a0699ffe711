//! `backup`: copies a database to a new file.

use std::io::Write;

use fulgurite::Monitor;

use crate::arguments::Backup;
use crate::database::{lacking, reading};
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Copies the snapshot, and reports which commit the copy holds.
pub fn run(arguments: &Backup) -> Result<(), Failure> {
    #[cfg(feature = "facts")]
    super::increments::refuse(&arguments.file.path, "fulgurite facts backup")?;
    let copy = &arguments.copy;
    reading(&arguments.file.path, |db, txn| {
        let (monitor, lacking) = (Monitor::new(), lacking(db));
        let written = Progress::new("copying").follow(&monitor, || db.backup_snapshot_to(txn, copy, &monitor));
        written.map_err(|error| Failure::of_copy(error, copy))?;
        let length = std::fs::metadata(copy).map_or(0, |metadata| metadata.len());
        let (path, commit) = (copy.display(), txn.sequence().0);
        let _ = writeln!(std::io::stderr(), "{path}: {}, up to commit {commit}{lacking}", size(length));
        Ok(())
    })
}
