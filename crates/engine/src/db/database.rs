//! [`Database`]: the handle, and what it hands out.

use std::path::Path;

use crate::db::checkpoint::Checkpointer;
use crate::db::open::Presence;
use crate::db::worker::Worker;
use crate::error::{Error, Result};
use crate::format::Meta;
use crate::ids::Sequence;
use crate::options::{Options, TableOptions};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex};
use crate::txn::commit::Core;
use crate::txn::read::ReadTxn;
use crate::txn::state::Table;
use crate::txn::write::WriteTxn;

/// An open database: one file of named, ordered tables.
///
/// Clones share it, and it closes when the last clone and the last transaction are gone. [`Database::close`] closes it
/// at once, merges everything into the one file and reports errors, which dropping cannot: dropping only makes sure
/// that what was committed is in the log.
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
}

/// What clones of a [`Database`] share.
#[derive(Debug)]
pub struct Inner {
    pub(crate) core: Arc<Core>,
    pub(crate) options: Options,
    /// Present if the database is open for writing. Lock rank 1½: taken before the log's lock, never with a turn.
    pub(crate) checkpointer: Option<Arc<Mutex<Checkpointer>>>,
    pub(crate) worker: Option<Worker>,
    /// The meta that was found at opening.
    pub(crate) meta: Meta,
    /// Keeps other processes out, or tells them what is being read. Shared with every state.
    pub(crate) presence: Arc<Presence>,
}

impl Inner {
    /// Whether `close` was called.
    pub(crate) fn is_closed(&self) -> bool {
        self.core.closed.load(Ordering::Relaxed)
    }
}

impl Database {
    /// Begins to open a database: set what differs from the defaults, then [`Options::open`].
    pub fn options() -> Options {
        Options::default()
    }

    /// Opens an existing database with the default options.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Opens a database with the default options, creating it if there is none.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().create(true).open(path)
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.inner.core.path
    }

    /// Begins a read transaction: a snapshot of all that is committed now.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn read(&self) -> Result<ReadTxn> {
        Ok(ReadTxn::new(self.inner.core.snapshot()?))
    }

    /// Begins a write transaction, after the one that runs now has ended.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`], [`Error::Closed`].
    pub fn write(&self) -> Result<WriteTxn> {
        let core = &self.inner.core;
        core.writer()?;
        core.relieve()?;
        let turn = core.turns.wait();
        Ok(WriteTxn::new(Arc::clone(core), core.snapshot()?, turn))
    }

    /// Begins a write transaction unless one runs now.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn try_write(&self) -> Result<Option<WriteTxn>> {
        let core = &self.inner.core;
        core.writer()?;
        core.relieve()?;
        let Some(turn) = core.turns.try_take() else { return Ok(None) };
        Ok(Some(WriteTxn::new(Arc::clone(core), core.snapshot()?, turn)))
    }

    /// Runs `change` in a write transaction and commits it, or drops it if `change` fails.
    ///
    /// `change` may be called again where a transaction has to be repeated, so let it have no other effects.
    ///
    /// # Errors
    /// What `change` returns, and as [`WriteTxn::commit`].
    pub fn update<T>(&self, mut change: impl FnMut(&mut WriteTxn) -> Result<T>) -> Result<T> {
        let mut txn = self.write()?;
        let value = change(&mut txn)?;
        txn.commit()?;
        Ok(value)
    }

    /// Creates a table, in a transaction of its own.
    ///
    /// # Errors
    /// As [`WriteTxn::create_table`] and [`WriteTxn::commit`].
    pub fn create_table(&self, name: &str, options: TableOptions) -> Result<Table> {
        self.update(|txn| txn.create_table(name, options.clone()))
    }

    /// The table of that name.
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub fn open_table(&self, name: &str) -> Result<Table> {
        self.read()?.open_table(name)
    }

    /// The table of that name, created if there is none. An existing one must have the same options.
    ///
    /// # Errors
    /// [`Error::TableMismatch`], and as [`Database::create_table`].
    pub fn open_or_create_table(&self, name: &str, options: TableOptions) -> Result<Table> {
        match self.open_table(name) {
            Ok(table) => options.matches(&table.info).map(|()| table),
            Err(Error::TableNotFound { .. }) => match self.create_table(name, options.clone()) {
                // Another thread was faster.
                Err(Error::TableExists { .. }) => self.open_or_create_table(name, options),
                created => created,
            },
            Err(error) => Err(error),
        }
    }

    /// Drops a table, in a transaction of its own.
    ///
    /// # Errors
    /// As [`WriteTxn::drop_table`] and [`WriteTxn::commit`].
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.update(|txn| txn.drop_table(table))
    }

    /// All tables, by name.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn tables(&self) -> Result<Vec<Table>> {
        Ok(self.read()?.tables())
    }

    /// Makes every commit so far durable, whatever level it was committed with. Returns the newest that is.
    ///
    /// # Errors
    /// What the disk reports; a failed sync poisons the database.
    pub fn sync(&self) -> Result<Sequence> {
        self.inner.core.sync()
    }

    /// Merges all commits so far into the trees of the file, and frees the log.
    ///
    /// It runs beside readers and writers, and by itself whenever [`Options::delta_bytes`] are used up.
    ///
    /// # Errors
    /// What the disk reports: then nothing was lost, and the next checkpoint tries again.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpointer()?.lock().run()
    }

    /// Merges all commits into the one file, removes the log and the lock, and ends this handle and all its clones.
    /// Transactions that are open still read; they can no longer commit.
    ///
    /// # Errors
    /// What the disk reports: then the log stays, and the next open recovers from it.
    pub fn close(self) -> Result<()> {
        crate::db::close::close(&self.inner)
    }

    pub(crate) fn checkpointer(&self) -> Result<&Mutex<Checkpointer>> {
        let path = || self.inner.core.path.clone();
        let checkpointer = self.inner.checkpointer.as_deref().ok_or_else(|| Error::ReadOnly { path: path() })?;
        if self.inner.is_closed() { Err(Error::Closed { path: path() }) } else { Ok(checkpointer) }
    }
}
