//! The objects that Java holds, by handle.

use std::sync::{Arc, Mutex, MutexGuard};

use fulgurite::{Database, ReadTxn, Savepoint, Table, WriteTxn};
use fulgurite_graph::Checkpoints;
use fulgurite_handles::{Opened, Opening, Registry};
use fulgurite_rdf::{Joined, Snapshot, Store};
use jni::sys::jlong;

use crate::callbacks::{JavaStorage, check_not_merging, is_merging, refused};
use crate::error::{Failure, Result};
use crate::packed_changes::PackedChanges;
use crate::quads::objects::{Load, OpenQuery, Recorded, Rows, RunningQuery, Statements};

/// A write transaction and its savepoints.
pub struct Writing {
    /// The transaction.
    pub txn: WriteTxn,
    /// The savepoints that Java has, by their number.
    pub savepoints: Vec<Savepoint>,
}

/// A store of a Java object.
pub struct OpenedStore {
    /// The store.
    pub store: Store,
    /// The opening that the object is part of.
    pub opening: Opening,
}

/// What a handle stands for.
pub enum Object {
    /// An open database.
    Database(Opened),
    /// A table.
    Table(Table),
    /// A read transaction.
    Read(ReadTxn),
    /// A write transaction. Its calls run one after the other.
    Write(Box<Mutex<Writing>>),
    /// An open RDF store.
    Store(OpenedStore),
    /// A snapshot of an RDF store.
    Snapshot(Snapshot),
    /// A write transaction of an RDF store.
    Recorded(Box<Mutex<Recorded>>),
    /// An iterator of quads.
    Quads(Box<Mutex<Rows>>),
    /// A join of patterns.
    Join(Box<Mutex<Joined>>),
    /// Statements of a snapshot that are read in batches.
    Statements(Box<Mutex<Statements>>),
    /// A bulk load.
    Load(Load),
    /// A query, which is cancelled when it is closed.
    Query(OpenQuery),
    /// Checkpoints of a database. Its calls run one after the other.
    Checkpoints(Box<Mutex<Checkpoints<JavaStorage>>>),
    /// A change feed.
    Changes(Box<Mutex<PackedChanges>>),
}

impl Object {
    /// The name of its Java class.
    fn class(&self) -> &'static str {
        match self {
            Self::Database(_) => "Database",
            Self::Table(_) => "Table",
            Self::Read(_) => "ReadTransaction",
            Self::Write(_) => "WriteTransaction",
            Self::Store(_) => "store",
            Self::Snapshot(_) => "snapshot",
            Self::Recorded(_) => "transaction of a store",
            Self::Quads(_) => "iterator of quads",
            Self::Join(_) => "join",
            Self::Statements(_) => "iterator of statements",
            Self::Load(_) => "load",
            Self::Query(_) => "query",
            Self::Checkpoints(_) => "Checkpoints",
            Self::Changes(_) => "ChangeFeed",
        }
    }

    fn is_not(&self, expected: &str) -> Failure {
        Failure::Invalid(format!("a handle of a {} was used as a {expected}", self.class()))
    }

    /// The database, or the one that an RDF store is in, for a backup or a compaction of the store.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object.
    pub fn database(&self) -> Result<&Database> {
        match self {
            Self::Database(opened) => Ok(&opened.database),
            Self::Store(opened) => Ok(opened.store.database()),
            _ => Err(self.is_not("Database")),
        }
    }

    /// The table.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object.
    pub fn table(&self) -> Result<&Table> {
        if let Self::Table(table) = self { Ok(table) } else { Err(self.is_not("Table")) }
    }

    /// The read transaction.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object.
    pub fn read(&self) -> Result<&ReadTxn> {
        if let Self::Read(txn) = self { Ok(txn) } else { Err(self.is_not("ReadTransaction")) }
    }

    /// The write transaction.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object, or a call of it has panicked.
    pub fn write(&self) -> Result<MutexGuard<'_, Writing>> {
        let Self::Write(writing) = self else { return Err(self.is_not("WriteTransaction")) };
        lock(writing)
    }

    /// The RDF store and its opening.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object.
    pub fn opened_store(&self) -> Result<&OpenedStore> {
        if let Self::Store(opened) = self { Ok(opened) } else { Err(self.is_not("store")) }
    }

    /// The RDF store.
    ///
    /// # Errors
    /// As [`Object::opened_store`].
    pub fn store(&self) -> Result<&Store> {
        Ok(&self.opened_store()?.store)
    }

    /// The snapshot of an RDF store.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object.
    pub fn snapshot(&self) -> Result<&Snapshot> {
        if let Self::Snapshot(snapshot) = self { Ok(snapshot) } else { Err(self.is_not("snapshot")) }
    }

    /// The write transaction of an RDF store.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object, or a call of it has panicked.
    pub fn recorded(&self) -> Result<MutexGuard<'_, Recorded>> {
        let Self::Recorded(recorded) = self else { return Err(self.is_not("transaction of a store")) };
        lock(recorded)
    }

    /// The bulk load.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object.
    pub fn load(&self) -> Result<&Load> {
        if let Self::Load(load) = self { Ok(load) } else { Err(self.is_not("load")) }
    }

    /// The query.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object.
    pub fn query(&self) -> Result<&Arc<RunningQuery>> {
        if let Self::Query(query) = self { Ok(&query.running) } else { Err(self.is_not("query")) }
    }

    /// The iterator of quads.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object, or a call of it has panicked.
    pub fn quads(&self) -> Result<MutexGuard<'_, Rows>> {
        let Self::Quads(quads) = self else { return Err(self.is_not("iterator of quads")) };
        lock(quads)
    }

    /// The join of patterns.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object, or a call of it has panicked.
    pub fn join(&self) -> Result<MutexGuard<'_, Joined>> {
        let Self::Join(join) = self else { return Err(self.is_not("join")) };
        lock(join)
    }

    /// The statements of a snapshot.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object, or a call of it has panicked.
    pub fn statements(&self) -> Result<MutexGuard<'_, Statements>> {
        let Self::Statements(statements) = self else { return Err(self.is_not("iterator of statements")) };
        lock(statements)
    }

    /// The checkpoints.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object, or a call of it has panicked.
    pub fn checkpoints(&self) -> Result<MutexGuard<'_, Checkpoints<JavaStorage>>> {
        let Self::Checkpoints(checkpoints) = self else { return Err(self.is_not("Checkpoints")) };
        lock(checkpoints)
    }

    /// The change feed.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it is another object, or a call of it has panicked.
    pub fn changes(&self) -> Result<MutexGuard<'_, PackedChanges>> {
        let Self::Changes(changes) = self else { return Err(self.is_not("ChangeFeed")) };
        lock(changes)
    }
}

/// Locks an object. Within a merge function the thread may have locked it already, so this is refused.
fn lock<T>(object: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    check_not_merging()?;
    object.lock().map_err(|_| broken())
}

/// The error of an object in which a call has panicked.
pub fn broken() -> Failure {
    Failure::Invalid("an earlier call of this object failed with an internal error; close the object".into())
}

/// The objects of this process.
pub struct Objects(Registry<Object>);

/// The registry of this process.
pub static REGISTRY: Objects = Objects(Registry::new());

impl Objects {
    /// Adds an object, and returns its handle.
    pub fn add(&self, object: Object) -> jlong {
        self.0.add(object).cast_signed()
    }

    /// Calls `run` with the object of a handle, which is not closed meanwhile. Within a merge function this does not
    /// wait: an object that another thread is closing counts as closed.
    ///
    /// # Errors
    /// [`Failure::Closed`], and the errors of `run`.
    pub fn with<R>(&self, handle: jlong, run: impl FnOnce(&Object) -> Result<R>) -> Result<R> {
        let handle = handle.cast_unsigned();
        let result = if is_merging() { self.0.try_with(handle, run) } else { self.0.with(handle, run) };
        result.ok_or(Failure::Closed)?
    }

    /// Checks that this thread can close the object of a handle. Merge functions can close only objects that read,
    /// which they may have begun, and that no call uses.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if it cannot.
    pub fn check_closable(&self, handle: jlong) -> Result<()> {
        if !is_merging() {
            return Ok(());
        }
        let only_reads = |object: &Object| {
            matches!(
                object,
                Object::Read(_) | Object::Snapshot(_) | Object::Quads(_) | Object::Join(_) | Object::Statements(_)
            )
        };
        match self.0.is_unused_and(handle.cast_unsigned(), only_reads) {
            Some(false) => Err(refused()),
            Some(true) | None => Ok(()),
        }
    }

    /// Takes the object of a handle out to close it. Returns `None` if it is closed already.
    ///
    /// # Errors
    /// As [`Objects::check_closable`].
    pub fn take_to_close(&self, handle: jlong) -> Result<Option<Object>> {
        self.check_closable(handle)?;
        Ok(self.take(handle))
    }

    /// Takes the object of a handle out, after running calls with it have returned. `None` if it is closed already.
    ///
    /// Requires: [`Objects::check_closable`] has passed, or Java does not know the handle.
    pub fn take(&self, handle: jlong) -> Option<Object> {
        self.0.take(handle.cast_unsigned())
    }

    /// The database of a handle, for calls that may take long: closing the database does not wait for them here.
    ///
    /// # Errors
    /// As [`Objects::with`] and [`Object::database`].
    pub fn database(&self, handle: jlong) -> Result<Database> {
        self.with(handle, |object| object.database().cloned())
    }

    /// The table of a handle.
    ///
    /// # Errors
    /// As [`Objects::with`] and [`Object::table`].
    pub fn table(&self, handle: jlong) -> Result<Table> {
        self.with(handle, |object| object.table().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_another_or_closed_object_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ful");
        let database = Database::create(&path).unwrap();
        let opened = || Object::Database(Opened { database: database.clone(), opening: Opening::of(&path) });
        let first = REGISTRY.add(opened());
        assert!(REGISTRY.with(first, |object| object.database().map(|_| ())).is_ok());
        assert!(matches!(REGISTRY.with(first, |object| object.table().map(|_| ())), Err(Failure::Invalid(_))));
        assert!(REGISTRY.take(first).is_some());
        assert!(REGISTRY.take(first).is_none());
        for closed in [first, 0, -1, jlong::MAX, jlong::MIN, first ^ 1 << 40] {
            assert!(matches!(REGISTRY.with(closed, |_| Ok(())), Err(Failure::Closed)), "{closed}");
        }
    }
}
