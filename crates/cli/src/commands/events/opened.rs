//! Opening and closing databases with event stores.

use fulgurite::{Database, Error, Options};
use fulgurite_events::{EventStore, Position, Snapshot};

use crate::arguments::WriteArguments;
use crate::arguments::events::StoreArgument;
use crate::database::{close_created, explain, reading_as, refuse_store, to_read, to_write};
use crate::failure::Failure;

/// Opens a store for reading, calls `work` with a snapshot, and closes the database.
///
/// # Errors
/// If it cannot be opened; the errors of `work`.
pub fn reading_store(
    argument: &StoreArgument,
    work: impl FnOnce(&Database, &Snapshot) -> Result<(), Failure>,
) -> Result<(), Failure> {
    reading_store_as(to_read(false), argument, work)
}

/// As [`reading_store`], with options.
///
/// # Errors
/// As [`reading_store`].
pub fn reading_store_as(
    options: Options,
    argument: &StoreArgument,
    work: impl FnOnce(&Database, &Snapshot) -> Result<(), Failure>,
) -> Result<(), Failure> {
    reading_as(options, &argument.file.path, |db, _| {
        let opened = EventStore::options().name(&argument.store).open_in(db);
        let store = opened.map_err(|error| located(argument, error))?;
        work(db, &store.snapshot()?)
    })
}

/// Adds to an error of a verb that reads where the store is, and what its user can do.
pub fn located(argument: &StoreArgument, error: fulgurite_events::Error) -> Failure {
    let path = argument.file.path.display();
    match error {
        fulgurite_events::Error::NotEvents { name } => Failure::Message(format!(
            "{path}: the database has no event store `{name}`; check --store; if another process has just created the \
             store, wait for the next checkpoint of that process"
        )),
        fulgurite_events::Error::StreamNotFound { .. } => {
            Failure::Message(format!("{path}: {error}; `fulgurite events streams` lists the streams"))
        }
        error => error.into(),
    }
}

/// Refuses a position above that of the next event. It may be one of another store.
///
/// # Errors
/// If it is.
pub fn refuse_beyond(position: u64, head: Position) -> Result<(), Failure> {
    if position <= head.0 {
        return Ok(());
    }
    let message = format!("position {position} is beyond the end of the log; give a position up to {head}");
    Err(Failure::Message(message))
}

/// Opens a store for writing, calls `work` with it, and closes the database. `create` is the verb's option, if it has
/// one. A database that was created is removed again if `work` fails and there are no events in it.
///
/// # Errors
/// If it cannot be opened or closed; the errors of `work`.
pub fn changing_store<T>(
    argument: &StoreArgument,
    create: Option<bool>,
    writing: WriteArguments,
    work: impl FnOnce(&EventStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (path, name) = (&argument.file.path, &argument.store);
    let (may_create, create) = (create.is_some(), create.unwrap_or(false));
    let fresh = create && !path.exists();
    let db = to_write(writing).create(create).open(path).map_err(|error| explain(error, may_create))?;
    let opened = has_store(&db, name).and_then(|has_store| match has_store {
        false if !create => {
            let remedy = if may_create { ", or create it with --create" } else { "" };
            let path = path.display();
            let message = format!("{path}: the database has no event store `{name}`; check --store{remedy}");
            Err(Failure::Message(message))
        }
        // A store of quads or facts is the whole of its file.
        false => refuse_store(&db),
        true => Ok(()),
    });
    let mut is_empty = false;
    let outcome = opened.and_then(|()| {
        let store = EventStore::options().name(name).open_in(&db)?;
        work(&store).inspect_err(|_| {
            let head = store.snapshot().and_then(|snapshot| snapshot.head());
            is_empty = head.is_ok_and(|head| head == Position::START);
        })
    });
    let closed = close_created(db, fresh && is_empty);
    let value = outcome?;
    closed?;
    Ok(value)
}

/// Whether the database has an event store of this name.
///
/// # Errors
/// What the engine reports.
pub fn has_store(db: &Database, name: &str) -> Result<bool, Failure> {
    match db.open_table(&format!("{name}.meta")) {
        Ok(_) => Ok(true),
        Err(Error::TableNotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Why `--socket` and `--serve` are refused.
#[cfg(not(unix))]
pub const NO_SOCKETS: &str = "followers in other processes need Unix sockets, which are not available on Windows";
