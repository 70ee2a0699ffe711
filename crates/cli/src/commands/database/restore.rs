//! `restore`: makes a database of an image.

use std::io::Write;

use fulgurite::Monitor;

use crate::arguments::Restore;
use crate::database::reading_image;
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Copies what the image holds to a new database.
pub fn run(arguments: &Restore) -> Result<(), Failure> {
    let file = &arguments.file;
    reading_image(&arguments.image, |db, txn| {
        let monitor = Monitor::new();
        let written = Progress::new("restoring").follow(&monitor, || db.backup_snapshot_to(txn, file, &monitor));
        written.map_err(|error| Failure::of_copy(error, file))?;
        let length = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
        let (path, commit) = (file.display(), txn.sequence().0);
        let _ = writeln!(std::io::stderr(), "{path}: {}, up to commit {commit}", size(length));
        Ok(())
    })
}
