//! All files of a database, copied together: the database itself, and the incremental databases of an index.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fulgurite::{Database, ReadTxn};
use fulgurite_code::{Error, INCREMENTS_MAX, IndexLock, increment_path, index_files, is_index};
use fulgurite_facts::Backend;

use crate::commands::facts::database::explain_code;
use crate::commands::scratch::{Scratch, place, sync_directory_of};
use crate::database::{explain, lacking};
use crate::failure::Failure;

/// A database that is copied as it was when it was opened.
pub enum Opened {
    /// A file of the engine, and the snapshot that is copied.
    Engine { database: Database, txn: ReadTxn },
    /// A file of LMDB.
    Lmdb(PathBuf),
}

/// What [`copy_all`] has written.
pub struct Copied {
    /// The sum of the bytes of all files.
    pub bytes: u64,
    /// The end of the message about the copy: see [`lacking`].
    pub lacking: String,
}

/// Copies each file of the database at `from` by `copy`, which returns how many bytes it has written. The copies get
/// their names when all are complete; if one fails, nothing is left.
///
/// # Errors
/// If there is a file at `to`, or beside it where an increment would be; if one cannot be opened; if another process
/// copies to this name; the errors of `copy`.
pub fn copy_all(
    from: &Path,
    to: &Path,
    copy: &mut dyn FnMut(&Opened, &Path) -> Result<u64, Failure>,
) -> Result<Copied, Failure> {
    // An update of the index between two copies would leave a stack that does not fit together.
    let _lock = if is_index(from) { lock(from)? } else { None };
    let sources = match is_index(from) {
        true => index_files(from).map_err(explain_code)?,
        false => vec![from.to_owned()],
    };
    // Increments of another index with this name would become a part of the copy.
    let increments = (1..=INCREMENTS_MAX.max(sources.len())).map(|number| increment_path(to, number));
    let targets: Vec<PathBuf> = std::iter::once(to.to_owned()).chain(increments).collect();
    if let Some(existing) = targets.iter().find(|target| target.exists()) {
        return Err(Failure::Message(exists(existing, to)));
    }
    let opened = sources.iter().map(|source| Opened::at(source)).collect::<Result<Vec<_>, _>>()?;
    let lacking = opened.iter().map(Opened::lacking).find(|lacking| !lacking.is_empty()).unwrap_or_default();
    let scratch = Scratch::beside(to)?;
    let (mut bytes, mut copies) = (0, Vec::new());
    for (number, source) in opened.iter().enumerate() {
        let file = scratch.path().join(number.to_string());
        bytes += copy(source, &file)?;
        copies.push(file);
    }
    let remove_from = |first: usize| {
        targets[first..copies.len()].iter().for_each(|placed| drop(std::fs::remove_file(placed)));
    };
    // The database itself comes last, when the names of the others are on the disk: without it, they are no database.
    for (number, (file, target)) in copies.iter().zip(&targets).enumerate().rev() {
        let synced = if number == 0 { sync_directory_of(to) } else { Ok(()) };
        synced.and_then(|()| place(file, target)).inspect_err(|_| remove_from(number + 1))?;
    }
    sync_directory_of(to).inspect_err(|_| remove_from(0))?;
    Ok(Copied { bytes, lacking })
}

/// The message that there is a file where a copy is to be written. An increment without its database may be what a copy
/// that was cut off has left.
fn exists(existing: &Path, to: &Path) -> String {
    let (existing_name, to_name) = (existing.display(), to.display());
    match existing != to && !to.exists() && is_index(existing) {
        true => format!(
            "{existing_name}: exists without {to_name}; choose another file, or remove it with `fulgurite facts delete \
             {to_name} --yes`"
        ),
        false => format!("{existing_name}: a file is there already; choose another name, or move it away"),
    }
}

/// How long a file is that was written.
pub fn length_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
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

impl Opened {
    fn at(path: &Path) -> Result<Self, Failure> {
        if Backend::of(path) == Backend::Lmdb {
            return Ok(Self::Lmdb(path.to_owned()));
        }
        let database = Database::options().read_only(true).open(path).map_err(|error| explain(error, false))?;
        let txn = database.read()?;
        if txn.open_table("facts.meta").is_err() {
            let message =
                format!("{}: not a database of facts; use `fulgurite backup`, `image` or `restore`", path.display());
            return Err(Failure::Message(message));
        }
        Ok(Self::Engine { database, txn })
    }

    /// See [`lacking`]. In LMDB, readers see all commits.
    fn lacking(&self) -> String {
        match self {
            Self::Engine { database, .. } => lacking(database),
            Self::Lmdb(_) => String::new(),
        }
    }
}
