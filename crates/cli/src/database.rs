//! Opening and closing databases and tables the way that every command does it.

use std::io::Write;
use std::path::Path;

use fulgurite::io::LockHolder;
use fulgurite::{Database, Error, Options, ReadTxn, Table, TableOptions};
use fulgurite_keys::Type;

use crate::arguments::{CreateArguments, WriteArguments};
use crate::failure::Failure;
use crate::notation::Notation;

/// Opens a database or an image for reading, does `work` with a snapshot of it, and closes it.
///
/// # Errors
/// If it cannot be opened, and what `work` fails with.
pub fn reading(path: &Path, work: impl FnOnce(&Database, &ReadTxn) -> Result<(), Failure>) -> Result<(), Failure> {
    reading_as(to_read(false), path, work)
}

/// As [`reading`], of an image.
///
/// # Errors
/// As [`reading`], and if the file is not an image.
pub fn reading_image(
    path: &Path,
    work: impl FnOnce(&Database, &ReadTxn) -> Result<(), Failure>,
) -> Result<(), Failure> {
    reading_as(Database::options().image(true), path, work)
}

/// As [`reading`], with options.
///
/// # Errors
/// As [`reading`].
pub fn reading_as(
    options: Options,
    path: &Path,
    work: impl FnOnce(&Database, &ReadTxn) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let db = options.open(path).map_err(|error| explain(error, false))?;
    let txn = db.read()?;
    let outcome = work(&db, &txn);
    drop(txn);
    // Nothing was changed, so there is nothing that closing could fail to keep.
    let _ = db.close();
    outcome
}

/// What a copy of the database lacks, if another process has the database open for writing: the end of the message
/// about the copy.
pub fn lacking(db: &Database) -> String {
    absence(db).map_or_else(String::new, |absence| format!("; {absence}"))
}

/// Prints what a copy lacks, as [`lacking`] says it, where no message about the copy is printed.
pub fn warn_of_lacking(db: &Database) {
    if let Some(absence) = absence(db) {
        let _ = writeln!(std::io::stderr(), "{}: {absence}", db.path().display());
    }
}

fn absence(db: &Database) -> Option<String> {
    let Ok(Some(LockHolder::OtherProcess(pid))) = db.other_writer() else { return None };
    let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    Some(format!(
        "another process{pid} has the database open for writing: its commits since its last checkpoint are not in the \
         copy"
    ))
}

/// Opens a database that exists for writing, does `work` with it, and closes it.
///
/// # Errors
/// If it cannot be opened or closed, and what `work` fails with.
pub fn changing<T>(
    path: &Path,
    writing: WriteArguments,
    work: impl FnOnce(&Database) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let db = to_write(writing).open(path).map_err(|error| explain_writing(error, false, writing))?;
    let outcome = work(&db);
    let closed = db.close();
    let value = outcome?;
    closed?;
    Ok(value)
}

/// As [`changing`], of a database whose tables belong to nobody but its users.
///
/// # Errors
/// As [`changing`], and if the database is a store of quads.
pub fn changing_tables<T>(
    path: &Path,
    writing: WriteArguments,
    work: impl FnOnce(&Database) -> Result<T, Failure>,
) -> Result<T, Failure> {
    changing(path, writing, |db| {
        refuse_store(db)?;
        work(db)
    })
}

/// As [`changing_tables`]; if `create` says so and there is no database it is created, and removed again if `work`
/// fails.
///
/// # Errors
/// As [`changing_tables`].
pub fn creating<T>(
    path: &Path,
    create: &CreateArguments,
    writing: WriteArguments,
    work: impl FnOnce(&Database) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let fresh = create.create && !path.exists();
    let db = to_write(writing).create(create.create).open(path);
    let db = db.map_err(|error| explain_writing(error, true, writing))?;
    let outcome = refuse_store(&db).and_then(|()| work(&db));
    let is_useless = fresh && outcome.is_err() && db.tables().is_ok_and(|tables| tables.is_empty());
    let closed = close_created(db, is_useless);
    let value = outcome?;
    closed?;
    Ok(value)
}

/// Closes a database, and removes one that was created in vain.
///
/// # Errors
/// What closing fails with. Nothing is removed then.
pub fn close_created(db: Database, is_useless: bool) -> fulgurite::Result<()> {
    // The file itself: the path that was given may be a link to it, which was there before.
    let file = db.path().to_owned();
    db.close()?;
    // Closed first: a file that is removed while it is open leaves its log behind.
    if is_useless {
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// Refuses to change the tables of a store of quads: what its indexes and its dictionary say of each other would no
/// longer hold.
///
/// A store is known by what its table `meta` says, as `rdf` knows it, also in a program without `rdf`. All tables of
/// the database are then the store's, those that it has yet to create too.
///
/// # Errors
/// If the database is a store; what the engine reports.
pub fn refuse_store(db: &Database) -> Result<(), Failure> {
    let txn = db.read()?;
    if txn.open_table("facts.meta").is_ok() {
        return Err(Failure::Message(format!(
            "{}: this is a database of facts, whose tables must be changed together; change it with `fulgurite facts \
             write`, or choose another file",
            db.path().display()
        )));
    }
    let meta = match txn.open_table("meta") {
        Err(Error::TableNotFound { .. }) => return Ok(()),
        opened => opened?,
    };
    match txn.get(&meta, b"format")?.as_deref() {
        Some(format) if format.starts_with(b"fulgurite-rdf ") => Err(Failure::Message(format!(
            "{}: this is an RDF store, whose tables must be changed together; change it with `fulgurite rdf load` or \
             `fulgurite rdf update`, or choose another file",
            db.path().display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses to change a table of an event store. Other tables of the database can be changed: programs keep views beside
/// the events.
///
/// # Errors
/// If the table is one of an event store; what the engine reports.
pub fn refuse_table_of_events(txn: &ReadTxn, name: &str) -> Result<(), Failure> {
    let Some((store, part)) = name.rsplit_once('.') else { return Ok(()) };
    let meta = match txn.open_table(&format!("{store}.meta")) {
        Err(Error::TableNotFound { .. }) => return Ok(()),
        opened => opened?,
    };
    // An interrupted `events reindex` leaves indexes of this name.
    let part = part.strip_suffix("~rebuild").unwrap_or(part);
    // The version of the layout is a byte.
    if !PARTS_OF_EVENTS.contains(&part) || txn.get(&meta, b"layout")?.is_none_or(|layout| layout.len() != 1) {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "table `{name}` is of the event store `{store}`, whose tables must be changed together; change it with \
         `fulgurite events append`, or choose another table"
    )))
}

/// What follows the name of an event store in the names of its tables.
const PARTS_OF_EVENTS: &[&str] =
    &["log", "names", "streams", "index", "types", "by_type", "by_tag", "consumers", "snapshots", "meta"];

/// The options for opening a database for reading; if damage is skipped, also one that was cut off.
pub fn to_read(skip_damaged: bool) -> Options {
    Database::options().read_only(true).salvage(skip_damaged)
}

/// The options for opening a database for writing.
pub fn to_write(writing: WriteArguments) -> Options {
    Database::options()
        .keep_log(u64::from(writing.keep_log) << 20)
        .checkpoint_interval(writing.checkpoint)
        .wait_for_lock(writing.wait.wait.unwrap_or_default())
}

/// Adds to an error what a user of the command line can do.
pub fn explain(error: Error, may_create: bool) -> Failure {
    match error {
        Error::DatabaseNotFound { path } => {
            let create = if may_create { ", or create it with --create" } else { "" };
            Failure::Message(format!("{}: no such database; check the path{create}", path.display()))
        }
        Error::IsAnImage { path } => Failure::Message(format!(
            "{}: is an image, which can only be read; make a database of it with `fulgurite restore` and change that",
            path.display()
        )),
        Error::NotAnImage { path } => Failure::Message(format!(
            "{}: is a database, but not an image; copy it with `fulgurite backup`",
            path.display()
        )),
        Error::NotADatabase { path, .. } if std::fs::metadata(&path).is_ok_and(|found| found.len() == 0) => {
            let remedy = if may_create { "remove it, and create the database with --create" } else { "check the path" };
            Failure::damaged(format!("{}: an empty file, not a Fulgurite database; {remedy}", path.display()))
        }
        error => error.into(),
    }
}

/// As [`explain`], for an error of opening for writing. For a verb that cannot wait, the time to wait is zero.
pub fn explain_writing(error: Error, may_create: bool, writing: WriteArguments) -> Failure {
    let Error::Locked { path, pid, is_here: false } = &error else { return explain(error, may_create) };
    let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    let (waited, wait) = match writing.wait.wait {
        None => (String::new(), "wait for it with --wait SECONDS"),
        Some(time) if time.is_zero() => (String::new(), "only read"),
        Some(time) => (format!(", also after {} s", time.as_secs_f64()), "wait longer"),
    };
    let message = format!(
        "{}: another process has this database open for writing{pid}{waited}; close it there, or {wait}",
        path.display()
    );
    Failure::from(error).reworded(message)
}

/// The table of that name.
///
/// # Errors
/// If there is none; the message names those that there are.
pub fn table(txn: &ReadTxn, name: &str) -> Result<Table, Failure> {
    match txn.open_table(name) {
        Err(Error::TableNotFound { .. }) => {
            let tables = txn.tables();
            let names: Vec<&str> = tables.iter().take(TABLES_LISTED).map(Table::name).collect();
            let there_are = match names.len() {
                0 => "there are none".to_owned(),
                named => format!("there are: {}{}", names.join(", "), if named < tables.len() { ", …" } else { "" }),
            };
            Err(Failure::Message(format!("no table `{name}` ({there_are})")))
        }
        found => Ok(found?),
    }
}

/// The table of that name to write to, and whether it is new.
///
/// # Errors
/// If there is none and it is not to be created, or there is one of another kind.
pub fn table_to_write(
    db: &Database,
    name: &str,
    create: &CreateArguments,
    key: Option<&Notation>,
    value: Option<&Notation>,
) -> Result<(Table, bool), Failure> {
    let txn = db.read()?;
    refuse_table_of_events(&txn, name)?;
    match txn.open_table(name) {
        Ok(table) if create.multimap && !table.is_multimap() => {
            Err(Failure::Message(format!("table `{name}` exists and is not a multimap; omit --multimap")))
        }
        Ok(table) if !merges_as_asked(&table, create) => {
            let has = match (table.merge_operator(), table.merge_function()) {
                (Some(operator), _) => format!("its merge operator is `{operator}`"),
                (None, Some(function)) => format!("its merge function is `{function}`"),
                (None, None) => "its merge operator is none".to_owned(),
            };
            let option = if create.merge_function.is_some() { "--merge-function" } else { "--merge" };
            Err(Failure::Message(format!("table `{name}` exists and {has}; omit {option}")))
        }
        Ok(table) => Ok((table, false)),
        Err(Error::TableNotFound { .. }) if create.create => {
            let recorded = |notation: Option<&Notation>| match notation {
                Some(Notation::Typed(kind)) => kind.to_string(),
                // A multimap is nothing for plain bytes: programs open it by its types.
                Some(Notation::Hex) if create.multimap => Type::Bytes.to_string(),
                _ if create.multimap => Type::String.to_string(),
                _ => String::new(),
            };
            let options = TableOptions::new().key_type(recorded(key)).value_type(recorded(value));
            let options = if create.multimap { options.multimap() } else { options };
            let options = match (create.merge, &create.merge_function) {
                (Some(merge), _) => options.merge(merge.into()),
                (None, Some(function)) => options.merge_function(function),
                (None, None) => options,
            };
            Ok((db.create_table(name, options)?, true))
        }
        Err(Error::TableNotFound { .. }) => match table(&txn, name) {
            Err(failure) => Err(Failure::Message(format!("{failure}; check the name, or create it with --create"))),
            Ok(table) => Ok((table, false)),
        },
        Err(error) => Err(error.into()),
    }
}

/// Whether a table that exists merges as the arguments ask, if they ask for anything.
fn merges_as_asked(table: &Table, create: &CreateArguments) -> bool {
    create.merge.is_none_or(|merge| table.merge_operator() == Some(merge.into()))
        && create.merge_function.as_deref().is_none_or(|function| table.merge_function() == Some(function))
}

/// So many tables a message names.
const TABLES_LISTED: usize = 8;
