//! `facts backup` and `facts restore`: copies of a database with its incremental databases.

use std::io::Write;
use std::path::{Path, PathBuf};

use fulgurite::Monitor;

use crate::arguments::facts_files::Copy;
use crate::database::reading;
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Copies. A backup can be an image: restoring makes a database of it. If a copy fails, those before it are removed.
pub fn run(arguments: &Copy, doing: &'static str) -> Result<(), Failure> {
    let sources = [vec![arguments.from.clone()], fulgurite_code::increments(&arguments.from)].concat();
    let target = |number: usize| match number {
        0 => arguments.to.clone(),
        number => fulgurite_code::increment_path(&arguments.to, number),
    };
    let targets: Vec<PathBuf> = (0..sources.len()).map(target).collect();
    if let Some(existing) = targets.iter().find(|target| target.exists()) {
        return Err(Failure::Message(format!("{}: exists; choose another file", existing.display())));
    }
    let mut bytes = 0;
    // The database itself comes last: what was cut off before is no database.
    for (number, (source, target)) in sources.iter().zip(&targets).enumerate().rev() {
        match copy(source, target, doing) {
            Ok(length) => bytes += length,
            Err(failure) => {
                targets[number + 1..].iter().for_each(|copied| drop(std::fs::remove_file(copied)));
                return Err(failure);
            }
        }
    }
    let _ = writeln!(std::io::stderr(), "{}: {}", arguments.to.display(), size(bytes));
    Ok(())
}

fn copy(source: &Path, target: &Path, doing: &'static str) -> Result<u64, Failure> {
    reading(source, |database, txn| {
        if txn.open_table("facts.meta").is_err() {
            let message = format!("{}: not a database of facts; copy it with `fulgurite backup`", source.display());
            return Err(Failure::Message(message));
        }
        let monitor = Monitor::new();
        Progress::new(doing).follow(&monitor, || database.backup_snapshot_to(txn, target, &monitor))?;
        Ok(())
    })?;
    Ok(std::fs::metadata(target).map_or(0, |metadata| metadata.len()))
}
