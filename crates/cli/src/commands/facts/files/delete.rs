//! `facts delete`: removes a database with its log and its incremental databases.

use std::path::Path;

use fulgurite::{Database, Error};
use fulgurite_code::{
    IndexLock, increments, is_damaged, is_damaged_database, is_index, output_files, unfinished_files,
};
use fulgurite_facts::{Backend, FactDatabase};

use crate::arguments::facts_files::Delete;
use crate::commands::facts::database::explain_code;
use crate::commands::scratch::{files_beside, is_scratch};
use crate::database::explain;
use crate::failure::Failure;

/// Removes it, unless it is another kind of file, or another process writes to it. Of a copy or of a first run of
/// indexers that was cut off or failed, removes what is there without the database.
pub fn run(arguments: &Delete) -> Result<(), Failure> {
    let path = &arguments.path;
    let is_cut_off = has_remains_only(path);
    if !is_cut_off {
        check(path)?;
    }
    // One that is too damaged to say what it holds may be an index, with increments beside it.
    let is_index = is_cut_off || is_index(path) || is_damaged_database(path);
    let _lock = is_index.then(|| IndexLock::take(path)).transpose().map_err(explain_code)?;
    if is_cut_off && !has_remains_only(path) {
        let path = path.display();
        return Err(Failure::Message(format!("{path}: another process has just written it; nothing was deleted")));
    }
    let unfinished = files_beside(path, is_scratch);
    let mut files = if is_index { increments(path) } else { Vec::new() };
    files.iter().try_for_each(|increment| match is_damaged(increment) {
        true => refuse_locked(increment),
        false => check(increment),
    })?;
    // Those that are left belong together at all times.
    files.reverse();
    if !is_cut_off {
        files.push(path.clone());
    }
    for file in &files {
        std::fs::remove_file(file).map_err(|error| Failure::file(file, "cannot be removed", &error))?;
        let is_of_file = |rest: &[u8]| is_log(rest) || (file != path && is_lock(rest));
        files_beside(file, is_of_file).iter().for_each(|beside| drop(std::fs::remove_file(beside)));
    }
    for directory in &unfinished {
        std::fs::remove_dir_all(directory).map_err(|error| Failure::file(directory, "cannot be removed", &error))?;
    }
    if is_index {
        let left = [unfinished_files(path), output_files(path)].concat();
        left.iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
    // Last, and once: another process may lock this name from then on.
    files_beside(path, is_lock).iter().for_each(|lock| drop(std::fs::remove_file(lock)));
    Ok(())
}

/// Whether there is no database, but what a copy to this name has left that was cut off, or that is not complete yet,
/// or what indexers have left.
fn has_remains_only(path: &Path) -> bool {
    let has_remains = || {
        let left = [files_beside(path, is_scratch), increments(path), unfinished_files(path), output_files(path)];
        left.iter().any(|files| !files.is_empty())
    };
    !path.exists() && files_beside(path, is_log).is_empty() && has_remains()
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
        // Without the advice to mount it.
        Err(error @ Error::NotADatabase { is_squashfs: true, .. }) => {
            let message = format!("{}: a SquashFS image, which is a single file; remove it with `rm`", path.display());
            return Err(Failure::from(error).reworded(message));
        }
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

/// Whether what follows the name of a database makes it that of a lock of it.
fn is_lock(rest: &[u8]) -> bool {
    rest == b"-lock" || rest == b"-index-lock"
}

/// As [`is_lock`], of a part of its log.
fn is_log(rest: &[u8]) -> bool {
    rest.starts_with(b"-log.")
}
