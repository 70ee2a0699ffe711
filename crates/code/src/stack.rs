//! The files of an index: the database, and the incremental ones stacked on it.
//!
//! (1) `code.ful.1` is stacked on `code.ful`, `code.ful.2` on `code.ful.1`, and so on without gaps. (2) Each of them is
//! complete: it is written under another name, and renamed when it is. (3) One process at a time writes them.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use fulgurite::Database;
use fulgurite_facts::{FactDatabase, Store, StoreOptions};

use crate::error::{Error, Result};

/// The incremental database with this number, from 1 on, of the index at `path`.
#[must_use]
pub fn increment_path(path: &Path, number: usize) -> PathBuf {
    with_suffix(path, &format!(".{number}"))
}

/// The incremental databases of the index at `path`, the lowest first.
#[must_use]
pub fn increments(path: &Path) -> Vec<PathBuf> {
    (1..).map(|number| increment_path(path, number)).take_while(|path| path.is_file()).collect()
}

/// Opens an index for reading, with all of its incremental databases.
///
/// # Errors
/// If one of the files cannot be opened, or does not belong to the others.
pub fn open_index(path: &Path) -> Result<FactDatabase> {
    let mut files = increments(path);
    files.insert(0, path.to_owned());
    let (top, below) = files.split_last().expect("the database itself is one");
    Ok(FactDatabase::open_with(stacked_on(read_only(), below)?, top)?)
}

/// Options for a database on those, the lowest first.
pub(crate) fn stacked_on(options: StoreOptions, below: &[PathBuf]) -> Result<StoreOptions> {
    let mut base: Option<Store> = None;
    for path in below {
        base = Some(on(read_only(), base.as_ref()).open(path)?);
    }
    Ok(on(options, base.as_ref()))
}

fn on(options: StoreOptions, base: Option<&Store>) -> StoreOptions {
    match base {
        Some(base) => options.base(base),
        None => options,
    }
}

fn read_only() -> StoreOptions {
    Store::options().engine(Database::options().read_only(true))
}

/// Locks the index at `path` against other updates until the file is closed. The file stays: another process may wait
/// for it by its name.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let lock = with_suffix(path, "-index-lock");
    let file = File::create(&lock).map_err(Error::file(&lock, "be written"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = "another process is indexing; try again when it has ended";
            Err(Error::file(path, "be indexed")(io::Error::new(ErrorKind::WouldBlock, message)))
        }
        Err(TryLockError::Error(error)) => Err(Error::file(&lock, "be locked")(error)),
    }
}

/// A database that is being written, under another name than its own.
pub(crate) struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// The one that will be at `path`. Removes what a killed process has left of an earlier one. Requires: the index
    /// is locked.
    pub fn at(path: &Path) -> Result<Self> {
        let unfinished = Self { path: with_suffix(path, "-unfinished") };
        unfinished.remove();
        Ok(unfinished)
    }

    /// Where it is now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name. Requires: it is closed.
    pub fn finish(self, path: &Path) -> Result<()> {
        std::fs::rename(&self.path, path).map_err(Error::file(path, "be written"))
    }

    fn remove(&self) {
        // What is not removed is reported when the database is created.
        let _ = std::fs::remove_file(&self.path);
        let Some((directory, name)) = self.path.parent().zip(self.path.file_name()) else { return };
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        let mut prefix: OsString = name.to_owned();
        prefix.push("-");
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// What failed leaves nothing.
impl Drop for Unfinished {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the incremental databases, the highest first: those that are left belong together at all times.
pub(crate) fn remove_increments(path: &Path) -> Result<()> {
    for increment in increments(path).iter().rev() {
        match std::fs::remove_file(increment) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::file(increment, "be removed")(error));
            }
            _ => {}
        }
        let _ = std::fs::remove_file(with_suffix(increment, "-lock"));
    }
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
