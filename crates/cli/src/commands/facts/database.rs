//! Opening and closing databases of facts.

use std::path::{Path, PathBuf};

use fulgurite::Database;
use fulgurite_code::{index_files, open_index};
use fulgurite_facts::{FactDatabase, Store, StoreOptions};

use crate::arguments::WriteArguments;
use crate::arguments::facts_database::DatabaseArgument;
use crate::database::{explain, to_write};
use crate::failure::Failure;

/// Opens a database for reading, with the incremental databases of an index of code, calls `work` with it, and closes
/// it.
///
/// # Errors
/// If it cannot be opened; the errors of `work`.
pub fn reading(
    argument: &DatabaseArgument,
    work: impl FnOnce(&FactDatabase) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let database = open(&argument.path, &argument.base)?;
    let outcome = work(&database);
    // Nothing was changed, so an error of closing loses nothing.
    let _ = database.close();
    outcome
}

/// Opens a database for reading, on those below it, the lowest first.
///
/// # Errors
/// If it cannot be opened.
pub fn open(path: &Path, below: &[PathBuf]) -> Result<FactDatabase, Failure> {
    refuse_directory(path)?;
    match below.is_empty() {
        // Of an index of code, with what has changed since it was written whole.
        true => open_index(path).map_err(explain_code),
        false => FactDatabase::open_with(stacked(read_only(), below)?, path).map_err(explain_facts),
    }
}

/// Opens each database of a stack for reading on those below it, the lowest first, and calls `work` with it.
///
/// # Errors
/// If one of them cannot be opened; the errors of `work`.
pub fn reading_each(
    argument: &DatabaseArgument,
    mut work: impl FnMut(&FactDatabase) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let files = match argument.base.is_empty() {
        true => index_files(&argument.path).map_err(explain_code)?,
        false => [&argument.base[..], std::slice::from_ref(&argument.path)].concat(),
    };
    for (below, file) in files.iter().enumerate() {
        let options = stacked(read_only(), &files[..below])?;
        work(&FactDatabase::open_with(options, file).map_err(explain_facts)?)?;
    }
    Ok(())
}

/// Opens a database for writing, calls `work` with it, and closes it.
///
/// # Errors
/// If it cannot be opened or closed; the errors of `work`.
pub fn changing<T>(
    argument: &DatabaseArgument,
    writing: WriteArguments,
    work: impl FnOnce(&FactDatabase) -> Result<T, Failure>,
) -> Result<T, Failure> {
    refuse_directory(&argument.path)?;
    let options = stacked(Store::options().engine(to_write(writing)), &argument.base)?;
    let database = FactDatabase::open_with(options, &argument.path).map_err(explain_facts)?;
    let outcome = work(&database);
    let closed = database.close();
    let value = outcome?;
    closed?;
    Ok(value)
}

/// Options for a database on others, which are opened for reading, the lowest first.
///
/// # Errors
/// If one of them cannot be opened.
pub fn stacked(options: StoreOptions, bases: &[PathBuf]) -> Result<StoreOptions, Failure> {
    let mut below: Option<Store> = None;
    for path in bases {
        let options = match &below {
            Some(base) => read_only().base(base),
            None => read_only(),
        };
        below = Some(options.open(path).map_err(explain_facts)?);
    }
    Ok(match &below {
        Some(base) => options.base(base),
        None => options,
    })
}

fn read_only() -> StoreOptions {
    Store::options().engine(Database::options().read_only(true))
}

/// # Errors
/// If the path is that of a directory, such as the indexed one.
pub fn refuse_directory(path: &Path) -> Result<(), Failure> {
    match path.is_dir() {
        true => Err(Failure::Message(format!(
            "{}: it is a directory; name the database file, such as code.ful in it",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Adds to an error what a user of the command line can do.
pub fn explain_facts(error: fulgurite_facts::Error) -> Failure {
    let error = match error {
        fulgurite_facts::Error::Engine(error) => error,
        error @ fulgurite_facts::Error::LmdbNotBuilt { .. } => {
            let how = "`cargo install --path crates/cli --features lmdb` in a clone of the repository";
            return Failure::Message(format!("{error}: {how}"));
        }
        error => return error.into(),
    };
    match *error {
        fulgurite::Error::DatabaseNotFound { path } => Failure::Message(format!(
            "{}: no such database; check the path, or create it with `fulgurite facts create` (an index of code with \
             `fulgurite facts index`)",
            path.display()
        )),
        error => explain(error, false),
    }
}

/// As [`explain_facts`], of an index of code.
pub fn explain_code(error: fulgurite_code::Error) -> Failure {
    match error {
        fulgurite_code::Error::Facts(error) => explain_facts(error),
        error @ fulgurite_code::Error::DamagedIndex { .. } => Failure::damaged(error.to_string()),
        error => error.into(),
    }
}

/// As [`explain_code`], for the verbs that read nothing but indexes.
pub fn explain_index(error: fulgurite_code::Error) -> Failure {
    if let fulgurite_code::Error::Facts(fulgurite_facts::Error::Engine(engine)) = &error
        && let fulgurite::Error::DatabaseNotFound { path } = &**engine
    {
        let path = path.display();
        return Failure::Message(format!(
            "{path}: no such index; check the path, or make it with `fulgurite facts index --database {path}`"
        ));
    }
    explain_code(error)
}
