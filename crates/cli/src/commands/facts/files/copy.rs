//! `facts backup` and `facts restore`: copies of a database with its incremental databases.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use fulgurite::{Database, Monitor, ReadTxn};
use fulgurite_code::{Error, INCREMENTS_MAX, IndexLock, increment_path, index_files, is_index};
use fulgurite_facts::{Backend, Store};

use crate::arguments::facts_files::Copy;
use crate::commands::facts::database::explain_code;
use crate::database::explain;
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Copies. A backup can be an image: restoring makes a database of it. If a copy fails, those before it are removed.
pub fn run(arguments: &Copy, doing: &'static str) -> Result<(), Failure> {
    let (from, to) = (&arguments.from, &arguments.to);
    // An update of the index between two copies would leave a stack that does not fit together.
    let _lock = if is_index(from) { lock(from)? } else { None };
    let sources = match is_index(from) {
        true => index_files(from).map_err(explain_code)?,
        false => vec![from.clone()],
    };
    // Increments of another index with this name would become a part of the copy.
    let increments = (1..=INCREMENTS_MAX.max(sources.len())).map(|number| increment_path(to, number));
    let targets: Vec<PathBuf> = std::iter::once(to.clone()).chain(increments).collect();
    if let Some(existing) = targets.iter().find(|target| target.exists()) {
        return Err(Failure::Message(format!("{}: exists; choose another file", existing.display())));
    }
    let opened = sources.iter().map(|source| Opened::at(source)).collect::<Result<Vec<_>, _>>()?;
    let mut bytes = 0;
    // The database itself comes last: what was cut off before is no database.
    for (number, (source, target)) in opened.iter().zip(&targets).enumerate().rev() {
        match source.copy(target, doing) {
            Ok(length) => bytes += length,
            Err(failure) => {
                targets[number + 1..].iter().for_each(|copied| drop(std::fs::remove_file(copied)));
                return Err(failure);
            }
        }
    }
    let _ = writeln!(std::io::stderr(), "{}: {}", to.display(), size(bytes));
    Ok(())
}

/// Locks an index, unless its directory cannot be written to: nothing is indexed there.
fn lock(from: &Path) -> Result<Option<IndexLock>, Failure> {
    match IndexLock::take(from) {
        Err(Error::File { source, .. })
            if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
        {
            Ok(None)
        }
        taken => taken.map(Some).map_err(explain_code),
    }
}

/// A database that is copied as it was when it was opened.
enum Opened {
    Engine(Database, ReadTxn),
    /// A file of LMDB: it is never one of an index, so it is alone.
    Lmdb(PathBuf),
}

impl Opened {
    fn at(path: &Path) -> Result<Self, Failure> {
        if Backend::of(path) == Backend::Lmdb {
            return Ok(Self::Lmdb(path.to_owned()));
        }
        let database = Database::options().read_only(true).open(path).map_err(|error| explain(error, false))?;
        let txn = database.read()?;
        if txn.open_table("facts.meta").is_err() {
            let message = format!("{}: not a database of facts; copy it with `fulgurite backup`", path.display());
            return Err(Failure::Message(message));
        }
        Ok(Self::Engine(database, txn))
    }

    fn copy(&self, target: &Path, doing: &'static str) -> Result<u64, Failure> {
        match self {
            Self::Engine(database, txn) => {
                let monitor = Monitor::new();
                let copied = || database.backup_snapshot_to(txn, target, &monitor);
                Progress::new(doing).follow(&monitor, copied)?;
            }
            Self::Lmdb(path) => Store::back_up_file(path, target)?,
        }
        Ok(std::fs::metadata(target).map_or(0, |metadata| metadata.len()))
    }
}
