//! `image`: writes a compressed image of a database.

use std::io::Write;

use fulgurite::{ImageOptions, Monitor};

use crate::arguments::Image;
use crate::database::reading;
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Compresses the snapshot, and reports which commit the image holds.
pub fn run(arguments: &Image) -> Result<(), Failure> {
    #[cfg(feature = "facts")]
    super::increments::refuse(&arguments.file.path, "fulgurite facts image")?;
    let image = &arguments.image;
    let options = ImageOptions::new().level(arguments.level).threads(arguments.threads);
    let options = options.block_bytes(arguments.block << 10);
    reading(&arguments.file.path, |db, txn| {
        let monitor = Monitor::new();
        let write = || db.write_snapshot_image(txn, image, &options, &monitor);
        Progress::new("compressing").follow(&monitor, write)?;
        let length = std::fs::metadata(image).map_or(0, |metadata| metadata.len());
        let (path, commit) = (image.display(), txn.sequence().0);
        let _ = writeln!(std::io::stderr(), "{path}: {}, up to commit {commit}", size(length));
        Ok(())
    })
}
