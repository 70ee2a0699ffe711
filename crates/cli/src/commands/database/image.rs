//! `image`: writes a compressed image of a database, or one of SquashFS.

use std::io::Write;

use fulgurite::{ImageOptions, Monitor};

use crate::arguments::Image;
use crate::commands::squashfs::{self, Packing};
use crate::database::{lacking, reading};
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Compresses the snapshot, and reports which commit the image holds.
pub fn run(arguments: &Image) -> Result<(), Failure> {
    #[cfg(feature = "facts")]
    super::increments::refuse(&arguments.file.path, "fulgurite facts image")?;
    if arguments.squashfs {
        return write_squashfs(arguments);
    }
    let image = &arguments.image;
    let options = ImageOptions::new().level(arguments.level).threads(arguments.threads);
    let options = options.block_bytes(arguments.block << 10);
    reading(&arguments.file.path, |db, txn| {
        let (monitor, lacking) = (Monitor::new(), lacking(db));
        let write = || db.write_snapshot_image(txn, image, &options, &monitor);
        let written = Progress::new("compressing").follow(&monitor, write);
        written.map_err(|error| Failure::of_copy(error, image))?;
        let length = std::fs::metadata(image).map_or(0, |metadata| metadata.len());
        let (path, commit) = (image.display(), txn.sequence().0);
        let _ = writeln!(std::io::stderr(), "{path}: {}, up to commit {commit}{lacking}", size(length));
        Ok(())
    })
}

/// Packs a compact copy of the snapshot.
fn write_squashfs(arguments: &Image) -> Result<(), Failure> {
    let (from, image) = (&arguments.file.path, &arguments.image);
    let packing = Packing { level: arguments.level, block: arguments.block, threads: arguments.threads };
    let (mut commit, mut lacks) = (0, String::new());
    let length = squashfs::write(from, image, packing, |target| {
        reading(from, |db, txn| {
            let monitor = Monitor::new();
            lacks = lacking(db);
            let written = Progress::new("copying").follow(&monitor, || db.backup_snapshot_to(txn, target, &monitor));
            written.map_err(|error| Failure::of_copy(error, image))?;
            commit = txn.sequence().0;
            Ok(())
        })
    })?;
    let _ = writeln!(std::io::stderr(), "{}: {}, up to commit {commit}{lacks}", image.display(), size(length));
    Ok(())
}
