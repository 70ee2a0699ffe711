//! `facts delete`: removes a database with its log and its incremental databases.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fulgurite::{Database, Error};
use fulgurite_code::{IndexLock, increments, is_damaged, is_damaged_database, is_index};
use fulgurite_facts::{Backend, FactDatabase};

use crate::arguments::facts_files::Delete;
use crate::commands::facts::database::explain_code;
use crate::database::explain;
use crate::failure::Failure;

/// Removes it, unless it is another kind of file, or another process writes to it.
pub fn run(arguments: &Delete) -> Result<(), Failure> {
    let path = &arguments.path;
    check(path)?;
    // One that is too damaged to say what it holds may be an index, with increments beside it.
    let is_index = is_index(path) || is_damaged_database(path);
    let _lock = is_index.then(|| IndexLock::take(path)).transpose().map_err(explain_code)?;
    let mut files = if is_index { increments(path) } else { Vec::new() };
    files.iter().try_for_each(|increment| match is_damaged(increment) {
        true => refuse_locked(increment),
        false => check(increment),
    })?;
    // Those that are left belong together at all times.
    files.reverse();
    files.push(path.clone());
    for file in files {
        std::fs::remove_file(&file).map_err(|error| Failure::file(&file, "cannot be removed", &error))?;
        for beside in beside(&file) {
            let _ = std::fs::remove_file(beside);
        }
    }
    Ok(())
}

/// Refuses what is not a database of facts, and what another process writes to. LMDB does not say that. A database that
/// is too damaged to say what it holds is not refused: `--yes` says that it is meant.
fn check(path: &Path) -> Result<(), Failure> {
    if is_damaged_database(path) {
        return refuse_locked(path);
    }
    if Backend::of(path) == Backend::Lmdb {
        return match FactDatabase::schema_at(path) {
            Ok(_) | Err(fulgurite_facts::Error::NoSchema { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        };
    }
    let opened = match Database::options().open(path) {
        Err(Error::IsAnImage { .. }) => Database::options().read_only(true).open(path),
        opened => opened,
    };
    let database = match opened {
        Err(error) if error.is_corruption() && is_index(path) => return Ok(()),
        opened => opened.map_err(|error| explain(error, false))?,
    };
    let is_facts = database.read().and_then(|txn| txn.open_table("facts.meta")).is_ok();
    database.close()?;
    match is_facts {
        true => Ok(()),
        false => Err(Failure::Message(format!("{}: not a database of facts; it is not deleted", path.display()))),
    }
}

/// Refuses a damaged database that another process writes to.
fn refuse_locked(path: &Path) -> Result<(), Failure> {
    match Database::options().open(path) {
        Err(error @ Error::Locked { .. }) => Err(explain(error, false)),
        // Nothing need be written to what is deleted.
        Ok(database) => database.discard().map_err(Failure::from),
        Err(_) => Ok(()),
    }
}

/// The log and the locks of a database: files with its name and `-log`, `-lock` or `-index-lock` behind it.
fn beside(path: &Path) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let directory = if directory == Path::new("") { Path::new(".") } else { directory };
    let is_beside = |other: &OsStr| {
        let rest = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        rest.is_some_and(|rest| rest == b"-lock" || rest == b"-index-lock" || rest.starts_with(b"-log."))
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| is_beside(&entry.file_name())).map(|entry| entry.path()).collect()
}
