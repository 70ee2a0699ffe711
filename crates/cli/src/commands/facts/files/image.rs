//! `facts image`: compressed images of a database with its incremental databases, or one SquashFS image of all of them.

use std::io::Write;
use std::path::Path;

use fulgurite::{ImageOptions, Monitor};
use fulgurite_facts::{State, Store};

use super::copy::copy_compact;
use super::stack::{Copied, Opened, copy_all, length_of};
use crate::arguments::facts_files::Image;
use crate::commands::squashfs::{self, Packing, require_power_of_two};
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Writes images. If one fails, nothing is left.
pub fn run(arguments: &Image) -> Result<(), Failure> {
    let Image { from, to, level, block, threads, .. } = arguments;
    require_power_of_two(*block)?;
    refuse_finalising(from)?;
    let packing = Packing { level: *level, block: *block, threads: *threads };
    let Copied { bytes, lacking } = match arguments.squashfs {
        true => {
            let mut lacks = String::new();
            let bytes = squashfs::write(from, to, packing, |target| {
                lacks =
                    copy_all(from, target, &mut |source, target| copy_compact(source, target, to, "copying"))?.lacking;
                Ok(())
            })?;
            Copied { bytes, lacking: lacks }
        }
        false => copy_all(from, to, &mut |source, target| write_image(source, target, arguments))?,
    };
    let _ = writeln!(std::io::stderr(), "{}: {}{lacking}", to.display(), size(bytes));
    Ok(())
}

/// Refuses a database whose completion was stopped: an image cannot be completed where it is.
fn refuse_finalising(from: &Path) -> Result<(), Failure> {
    match Store::state_at(from) {
        Ok(State::Finalising) => Err(Failure::Message(format!(
            "{}: its completion was stopped, and an image cannot be completed; run `fulgurite facts finish` first",
            from.display()
        ))),
        // Errors are those of the copy.
        _ => Ok(()),
    }
}

fn write_image(source: &Opened, target: &Path, arguments: &Image) -> Result<u64, Failure> {
    let Opened::Engine { database, txn } = source else {
        let message = format!(
            "{}: images of LMDB databases are not supported; use --squashfs, or `fulgurite facts backup`",
            arguments.from.display()
        );
        return Err(Failure::Message(message));
    };
    let options = ImageOptions::new().level(arguments.level).threads(arguments.threads);
    let options = options.block_bytes(arguments.block << 10);
    let monitor = Monitor::new();
    let write = || database.write_snapshot_image(txn, target, &options, &monitor);
    let written = Progress::new("compressing").follow(&monitor, write);
    written.map_err(|error| Failure::of_copy(error, &arguments.to))?;
    Ok(length_of(target))
}
