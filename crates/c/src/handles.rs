//! The objects that C holds, by handle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fulgurite::{Changes, Commit, Database, ReadTxn, Savepoint, Table, Value, WriteTxn};
use fulgurite_handles::{HeldCursor, Opened, Registry};

use crate::code::{Failure, Result};
use crate::events::feeds::{OpenFollower, OpenServer};
use crate::events::held::{OpenEventCursor, OpenEventStore};

/// An open database. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_database {
    /// Do not use it.
    pub id: u64,
}

/// A table. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_table {
    /// Do not use it.
    pub id: u64,
}

/// A read or write transaction. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_txn {
    /// Do not use it.
    pub id: u64,
}

/// A cursor over the entries of a table. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_cursor {
    /// Do not use it.
    pub id: u64,
}

/// A change feed. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_changes {
    /// Do not use it.
    pub id: u64,
}

/// An open event store. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_event_store {
    /// Do not use it.
    pub id: u64,
}

/// A cursor over events. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_event_cursor {
    /// Do not use it.
    pub id: u64,
}

/// A follower of an event store. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_follower {
    /// Do not use it.
    pub id: u64,
}

/// A server for followers in other processes. 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_event_server {
    /// Do not use it.
    pub id: u64,
}

/// A read transaction.
pub struct Reading {
    /// The transaction.
    pub txn: Arc<ReadTxn>,
    /// Values that are not in the mapped file, kept until the transaction ends or the caller releases them.
    pub kept: Mutex<Vec<Value<'static>>>,
}

/// A write transaction. Its calls run one after the other.
pub struct Writing {
    /// The transaction. Only the cursors below keep it too.
    txn: Arc<WriteTxn>,
    /// The engine's cursors of open cursors, which a change of the transaction drops.
    pub cursors: Vec<Option<HeldCursor<WriteTxn>>>,
    /// Places in `cursors` of closed cursors.
    pub free_cursors: Vec<usize>,
    /// Values that are not in the mapped file, kept until the transaction changes or ends.
    pub kept: Vec<Value<'static>>,
    /// The savepoints of the caller, by their number.
    pub savepoints: Vec<Savepoint>,
}

impl Writing {
    /// A new transaction.
    pub fn new(txn: WriteTxn) -> Self {
        let txn = Arc::new(txn);
        Self { txn, cursors: Vec::new(), free_cursors: Vec::new(), kept: Vec::new(), savepoints: Vec::new() }
    }

    /// The transaction, to read.
    pub fn txn(&self) -> &Arc<WriteTxn> {
        &self.txn
    }

    /// The transaction, to change. Bytes that it has returned are not valid after it.
    pub fn txn_to_change(&mut self) -> &mut WriteTxn {
        self.kept.clear();
        self.txn_to_mark()
    }

    /// The transaction, for a savepoint. Bytes that it has returned stay valid.
    pub fn txn_to_mark(&mut self) -> &mut WriteTxn {
        self.cursors.iter_mut().for_each(|cursor| *cursor = None);
        Arc::get_mut(&mut self.txn).expect("only the cursors, which were dropped, keep it too")
    }

    /// The transaction, to end it.
    pub fn into_txn(mut self) -> WriteTxn {
        self.cursors.clear();
        Arc::into_inner(self.txn).expect("only the cursors, which were dropped, keep it too")
    }
}

/// Where a cursor is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorPlace {
    /// Before the first entry.
    BeforeFirst,
    /// At the entry with this key.
    At(Vec<u8>),
    /// After the last entry.
    AfterLast,
}

/// A cursor of either kind of transaction.
pub struct OpenCursor {
    /// The source of its entries.
    pub source: CursorSource,
    /// Keys and values that it has returned and that are not in the mapped file, kept until it moves.
    pub kept: Vec<Value<'static>>,
}

/// Where a cursor gets its entries.
pub enum CursorSource {
    /// A snapshot, which the cursor keeps.
    Snapshot(Box<HeldCursor<ReadTxn>>),
    /// A write transaction, by its handle.
    Write {
        /// The transaction.
        txn: u64,
        /// The table.
        table: Table,
        /// The place in [`Writing::cursors`].
        slot: usize,
        /// Where it is, to find it again after a change.
        place: CursorPlace,
    },
}

/// A change feed.
pub struct OpenChanges {
    /// The commits that follow.
    pub changes: Changes,
    /// The current commit, whose bytes the caller may have.
    pub commit: Option<Commit>,
}

/// What a handle stands for.
pub enum Object {
    /// An open database.
    Database(Opened),
    /// A table.
    Table(Table),
    /// A read transaction.
    Read(Reading),
    /// A write transaction.
    Write(Box<Mutex<Writing>>),
    /// A cursor.
    Cursor(Box<Mutex<OpenCursor>>),
    /// A change feed.
    Changes(Box<Mutex<OpenChanges>>),
    /// An event store.
    EventStore(Box<OpenEventStore>),
    /// A cursor over events.
    EventCursor(Box<Mutex<OpenEventCursor>>),
    /// A follower of an event store.
    Follower(Box<Mutex<OpenFollower>>),
    /// A server for followers in other processes.
    Server(Box<OpenServer>),
}

impl Object {
    fn name(&self) -> &'static str {
        match self {
            Self::Database(_) => "database",
            Self::Table(_) => "table",
            Self::Read(_) => "read transaction",
            Self::Write(_) => "write transaction",
            Self::Cursor(_) => "cursor",
            Self::Changes(_) => "change feed",
            Self::EventStore(_) => "store of events",
            Self::EventCursor(_) => "cursor over events",
            Self::Follower(_) => "follower",
            Self::Server(_) => "server of events",
        }
    }

    /// The failure of a call for another kind of object.
    pub fn is_not(&self, expected: &str) -> Failure {
        Failure::invalid(format!("a handle of a {} was used as a {expected}", self.name()))
    }

    /// The write transaction, locked.
    ///
    /// # Errors
    /// If it is another object, or a call of it has panicked.
    pub fn write(&self) -> Result<MutexGuard<'_, Writing>> {
        match self {
            Self::Write(writing) => writing.lock().map_err(|_| Failure::broken()),
            Self::Read(_) => Err(Failure::new(
                crate::code::Code::FULGURITE_READ_ONLY,
                "the transaction only reads; begin a write transaction",
            )),
            other => Err(other.is_not("transaction")),
        }
    }
}

/// The objects of this process.
pub static OBJECTS: Registry<Object> = Registry::new();

/// Adds an object, and returns its handle.
pub fn add(object: Object) -> u64 {
    OBJECTS.add(object)
}

/// Calls `run` with an object, which is not closed meanwhile.
///
/// # Errors
/// If the handle is closed, and the errors of `run`.
pub fn with<R>(handle: u64, name: &str, run: impl FnOnce(&Object) -> Result<R>) -> Result<R> {
    OBJECTS.with(handle, run).ok_or_else(|| Failure::closed(name))?
}

/// Closes an object, also one whose call has panicked.
///
/// # Errors
/// If the handle is closed or of another object.
pub fn close(handle: u64, name: &str, is: impl FnOnce(&Object) -> bool) -> Result<()> {
    with(handle, name, |object| if is(object) { Ok(()) } else { Err(object.is_not(name)) })?;
    OBJECTS.take(handle).map(drop).ok_or_else(|| Failure::closed(name))
}

/// The database of a handle. Closing the database does not wait for calls with the result.
///
/// # Errors
/// If the handle is closed or of another object.
pub fn database(handle: fulgurite_database) -> Result<Database> {
    with(handle.id, "database", |object| match object {
        Object::Database(opened) => Ok(opened.database.clone()),
        other => Err(other.is_not("database")),
    })
}

/// Calls `run` with a table.
///
/// # Errors
/// If the handle is closed or of another object, and the errors of `run`.
fn with_table<R>(handle: fulgurite_table, run: impl FnOnce(&Table) -> Result<R>) -> Result<R> {
    with(handle.id, "table", |object| match object {
        Object::Table(table) => run(table),
        other => Err(other.is_not("table")),
    })
}

/// Calls `run` with a transaction and a table, which are not closed meanwhile.
///
/// The order of locks is: the slot of the transaction, the slot of the table, then the mutex of a write transaction,
/// which `run` locks. With another order, three threads can wait for each other: the holder of the mutex for a close of
/// the table, the close for a call with the table, and this call for the mutex.
///
/// # Errors
/// If a handle is closed or of another object, and the errors of `run`.
pub fn with_both<R>(
    txn: fulgurite_txn,
    table: fulgurite_table,
    run: impl FnOnce(&Object, &Table) -> Result<R>,
) -> Result<R> {
    if Registry::<Object>::is_same_slot(txn.id, table.id) {
        // One of the two is wrong. Locking the slot twice could wait for a close that waits for the first lock.
        return with(table.id, "table", |object| {
            Err(object.is_not(if matches!(object, Object::Table(_)) { "transaction" } else { "table" }))
        });
    }
    with(txn.id, "transaction", |txn| with_table(table, |table| run(txn, table)))
}

/// The table of a handle.
///
/// # Errors
/// If the handle is closed or of another object.
pub fn table(handle: fulgurite_table) -> Result<Table> {
    with_table(handle, |table| Ok(table.clone()))
}

/// Calls `run` with a write transaction.
///
/// # Errors
/// If the handle is closed or of another object, and the errors of `run`.
pub fn with_writing<R>(handle: fulgurite_txn, run: impl FnOnce(&mut Writing) -> Result<R>) -> Result<R> {
    with(handle.id, "transaction", |object| run(&mut *object.write()?))
}

/// Keeps a value if it is not in the mapped file, and returns where its bytes are.
pub fn keep(kept: &mut Vec<Value<'static>>, value: Value<'_>) -> crate::arguments::fulgurite_slice {
    let bytes = crate::arguments::fulgurite_slice::of(&value);
    if !value.is_borrowed() {
        // Of a value that is not borrowed this copies nothing, so its bytes stay where they are.
        kept.push(value.into_owned());
    }
    bytes
}

/// A lock, also after a panic: what it guards is whole at all times.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
