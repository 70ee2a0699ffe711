//! [`Database`]: the handle, and what it hands out.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::merge_runs::RunsToMerge;
use crate::db::handle::inner::{CloseOutcome, Inner};
use crate::db::storage::create::lock_path;
use crate::error::{Error, Result};
use crate::ids::Sequence;
use crate::io::{Disk, LockHolder};
use crate::merge_functions::check_not_merging;
use crate::monitor::Monitor;
use crate::options::{Isolation, Options, TableOptions};
use crate::sync::{Arc, Instant, Mutex, MutexGuard, sleep, yield_now};
use crate::txn::commit::begin::Reading;
use crate::txn::commit::exclusive::Exclusive;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::read_txn::ReadTxn;
use crate::txn::transaction::write_txn::WriteTxn;

/// An open database: one file of named, ordered tables.
///
/// Clones share one open database. Dropping the last clone and the last transaction closes it: commits are then durable
/// in the log, but not merged into the file, and errors cannot be reported. [`Database::close`] closes it immediately,
/// merges all commits into the file, removes the log and returns errors.
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
}

impl Database {
    /// Returns the default options. Change them as needed, then call [`Options::open`].
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

    /// Opens a database with the default options, and creates it if it does not exist.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().create(true).open(path)
    }

    /// Opens an image with the default options. Everything that can be read of a database can be read of its image.
    ///
    /// # Errors
    /// [`Error::NotAnImage`] if the file is a database; [`Error::Corrupt`] if the image is damaged or truncated;
    /// otherwise as [`Options::open`].
    pub fn open_image(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().image(true).open(path)
    }

    /// Whether the file is an image. An image can only be read.
    pub fn is_image(&self) -> bool {
        self.inner.is_image
    }

    /// The path of the database file.
    pub fn path(&self) -> &Path {
        &self.inner.core.path
    }

    /// The disk on which the files are: see [`Options::disk`].
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.inner.options.disk
    }

    /// Returns the other handle that has the file open for writing, in this process or another; `None` if there is
    /// none. A handle that is opened read-only beside a writer shows the newest checkpoint of that writer, and none of
    /// its later commits.
    ///
    /// The number of another process is known if that process has opened the file by the same name.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn other_writer(&self) -> Result<Option<LockHolder>> {
        // Beside a handle that writes, there is no other writer.
        let Some(file) = &self.inner.read else { return Ok(None) };
        match file.locks().writer().map_err(|error| Error::io("look for a writer of", self.path(), error))? {
            // If the lock file of this name is missing, unreadable or not locked, the number is unknown.
            Some(LockHolder::OtherProcess(None)) => match self.disk().writer_of(&lock_path(self.path())) {
                Ok(Some(known @ LockHolder::OtherProcess(_))) => Ok(Some(known)),
                _ => Ok(Some(LockHolder::OtherProcess(None))),
            },
            writer => Ok(writer),
        }
    }

    /// Whether both are handles of one open database. Stores on the engine use it to share their state in memory.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use fulgurite::Database;
    ///
    /// let db = Database::create(directory.path().join("a.ful"))?;
    /// assert!(db.is_same(&db.clone()));
    /// assert!(!db.is_same(&Database::create(directory.path().join("b.ful"))?));
    /// # Ok(()) }
    /// ```
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Begins a read transaction: a snapshot of everything committed so far.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn read(&self) -> Result<ReadTxn> {
        Reading::begin(&self.inner.core).map(ReadTxn::new)
    }

    /// Begins a read transaction that sees only durable commits. Newer commits, which a power cut could lose, are not
    /// visible in it, even if other transactions see them.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn read_durable(&self) -> Result<ReadTxn> {
        Ok(ReadTxn::new(Reading::of(self.inner.core.durable_snapshot()?)))
    }

    /// Begins a write transaction with the isolation level of [`Options::isolation`]. Any number of write transactions
    /// can run concurrently.
    ///
    /// The call waits only while an exclusive transaction is running ([`Database::begin_exclusive`]), or for memory
    /// when commits are faster than the disk.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`], [`Error::Closed`].
    pub fn write(&self) -> Result<WriteTxn> {
        self.write_with(self.inner.core.writer()?.isolation)
    }

    /// As [`Database::write`], with another isolation level.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn write_with(&self, isolation: Isolation) -> Result<WriteTxn> {
        check_not_merging()?;
        let core = &self.inner.core;
        let writer = core.writer()?;
        core.relieve()?;
        core.wait_while_exclusive(writer);
        WriteTxn::new(core, isolation)
    }

    /// As [`Database::write`], but returns `None` instead of waiting for an exclusive transaction.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn try_write(&self) -> Result<Option<WriteTxn>> {
        self.write_within(None, Duration::ZERO)
    }

    /// As [`Database::write`], or as [`Database::write_with`] if there is an `isolation`, but waits at most `timeout`
    /// for an exclusive transaction or a bulk load. Returns `None` if it has not ended by then.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn write_within(&self, isolation: Option<Isolation>, timeout: Duration) -> Result<Option<WriteTxn>> {
        check_not_merging()?;
        let core = &self.inner.core;
        let writer = core.writer()?;
        core.relieve()?;
        if !core.wait_while_exclusive_for(writer, timeout) {
            return Ok(None);
        }
        WriteTxn::new(core, isolation.unwrap_or(writer.isolation)).map(Some)
    }

    /// Begins an exclusive write transaction: no other transaction commits until it ends, so it never conflicts. Use it
    /// for long jobs that would otherwise conflict repeatedly. Waits at most `timeout` for the previous exclusive
    /// transaction, and returns `None` if it has not ended by then.
    ///
    /// Other write transactions, bulk loads, changes of stores in the database, and [`Database::close`] wait until it
    /// ends. Do not call them on the thread that is to end it: that thread would wait for itself for ever. The engine
    /// cannot detect this, because any thread can end a transaction. [`Database::try_write`] does not wait.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn begin_exclusive(&self, timeout: Duration) -> Result<Option<WriteTxn>> {
        check_not_merging()?;
        let core = &self.inner.core;
        // A deadline beyond the clock's range counts as none.
        let deadline = Instant::now().checked_add(timeout);
        core.writer()?;
        core.relieve()?;
        let exclusive = Exclusive::wait(core, deadline)?;
        exclusive.map(|exclusive| WriteTxn::new_exclusive(core, exclusive)).transpose()
    }

    /// Runs `change` in a write transaction and commits the transaction. If `change` returns an error, nothing is
    /// committed.
    ///
    /// If the commit conflicts with another transaction, `change` is called again in a new transaction, after a pause
    /// that grows with each attempt. So `change` should have no effects outside the transaction. After
    /// [`UPDATE_ATTEMPTS`] attempts the conflict is returned as an error.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let hits = db.create_table("hits", Default::default())?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| {
    ///             db.update(|txn| {
    ///                 let before = txn.get(&hits, b"home")?.map_or(0, |value| value[0]);
    ///                 txn.put(&hits, b"home", &[before + 1])
    ///             })
    ///         });
    ///     }
    /// });
    /// assert_eq!(db.read()?.get(&hits, b"home")?.as_deref(), Some(&[4][..]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Errors of `change`, and as [`WriteTxn::commit`].
    pub fn update<T>(&self, mut change: impl FnMut(&mut WriteTxn) -> Result<T>) -> Result<T> {
        let mut attempt = 0;
        loop {
            let mut txn = self.write()?;
            let outcome = change(&mut txn).and_then(|value| txn.commit().map(|_| value));
            attempt += 1;
            match outcome {
                Err(error) if error.is_retryable() && attempt < UPDATE_ATTEMPTS => pause(attempt),
                outcome => return outcome,
            }
        }
    }

    /// Creates a table in a separate transaction.
    ///
    /// # Errors
    /// As [`WriteTxn::create_table`] and [`WriteTxn::commit`].
    pub fn create_table(&self, name: &str, options: TableOptions) -> Result<Table> {
        self.update(|txn| txn.create_table(name, options.clone()))
    }

    /// Returns the table with this name.
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub fn open_table(&self, name: &str) -> Result<Table> {
        self.read()?.open_table(name)
    }

    /// Returns the table with this name, and creates it if it does not exist. An existing table must have the same
    /// options.
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

    /// Drops a table in a separate transaction.
    ///
    /// # Errors
    /// As [`WriteTxn::drop_table`] and [`WriteTxn::commit`].
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.update(|txn| txn.drop_table(table))
    }

    /// Renames a table in a separate transaction. Returns a handle with the new name.
    ///
    /// # Errors
    /// As [`WriteTxn::rename_table`] and [`WriteTxn::commit`].
    pub fn rename_table(&self, table: &Table, name: &str) -> Result<Table> {
        self.update(|txn| txn.rename_table(table, name))
    }

    /// Returns all tables, sorted by name.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn tables(&self) -> Result<Vec<Table>> {
        Ok(self.read()?.tables())
    }

    /// Makes all commits so far durable, at every durability level. Returns the sequence of the newest durable commit.
    ///
    /// # Errors
    /// Errors of the disk. A failed sync poisons the database.
    pub fn sync(&self) -> Result<Sequence> {
        check_not_merging()?;
        self.inner.core.sync()
    }

    /// Merges all commits so far into the file, and frees the log.
    ///
    /// Scattered changes of a large table are written as runs above its tree, and merged into the tree later: one
    /// second after the last commit if there is a background thread, or immediately by [`Database::compact`].
    /// [`TableStats::runs`](crate::TableStats::runs) counts them.
    ///
    /// A checkpoint runs concurrently with readers and writers. One starts automatically when commits have used
    /// [`Options::delta_bytes`] of memory.
    ///
    /// # Errors
    /// Errors of the disk: nothing is lost, and the next checkpoint tries again. [`Error::Stopped`] if another thread
    /// closes the database with a deadline, or [discards](Self::discard) it.
    pub fn checkpoint(&self) -> Result<()> {
        self.run_checkpoint(&mut self.checkpointer()?.lock())
    }

    /// As [`Database::checkpoint`], with a monitor that receives progress and can stop it, also while it waits for
    /// another checkpoint or a bulk load.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the monitor stopped it, and as [`Database::checkpoint`].
    pub fn checkpoint_with(&self, monitor: &Monitor) -> Result<()> {
        let mut checkpointer = self.lock_checkpointer(monitor)?;
        let _watching = self.inner.watchers.add(monitor);
        self.run_checkpoint(&mut checkpointer)
    }

    fn run_checkpoint(&self, checkpointer: &mut Checkpointer) -> Result<()> {
        checkpointer.run()?;
        // With a thread in the background that does it, and more.
        if self.inner.options.background { Ok(()) } else { checkpointer.merge_all_runs(RunsToMerge::Owed) }
    }

    /// Merges all commits into the file, removes the log and the lock, and closes this handle and all its clones.
    ///
    /// Open transactions can still read, but no longer commit. Until the last of them has ended, opening the database
    /// again fails with [`Error::Locked`]. The call waits for an exclusive transaction to end.
    ///
    /// # Errors
    /// Errors of the disk: the log is kept, and the next open recovers from it, once the last clone and the last
    /// transaction are dropped. [`Error::Stopped`] if another thread that closes the database with a deadline, or
    /// discards it, stopped the merge: the log is kept. [`Error::Closed`] if an earlier close failed, or the database
    /// was discarded.
    pub fn close(self) -> Result<()> {
        match crate::db::handle::close::close(&self.inner, &Monitor::new())? {
            CloseOutcome::Clean => Ok(()),
            CloseOutcome::LogKept => Err(Error::Stopped { path: self.path().to_path_buf() }),
        }
    }

    /// As [`Database::close`] if this process has no other handle of the database. Otherwise it only drops this handle.
    /// For a database that was opened and turns out to be another one than expected.
    ///
    /// # Errors
    /// As [`Database::close`].
    #[doc(hidden)]
    pub fn close_unless_shared(self) -> Result<()> {
        let Some(inner) = Arc::into_inner(self.inner) else { return Ok(()) };
        // Other threads that open the database wait until it is closed.
        if let Some(registered) = &inner.registered {
            registered.note_closing();
        }
        crate::db::handle::close::close(&inner, &Monitor::new()).map(drop)
    }

    /// As [`Database::close`], but the monitor can stop the merge. Commits that are not merged by then remain durable
    /// in the log, and the next open merges them. Running checkpoints and compactions stop too.
    ///
    /// ```
    /// use std::time::Duration;
    /// use fulgurite::{CloseOutcome, Database, Monitor};
    ///
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("events.ful");
    /// let db = Database::create(&path)?;
    /// match db.close_with(&Monitor::with_timeout(Duration::from_millis(200)))? {
    ///     CloseOutcome::Clean => println!("all is in one file"),
    ///     CloseOutcome::LogKept => println!("the next opening will take a moment longer"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Stopped`] if an exclusive transaction or a bulk load did not end in time. The database is closed in
    /// this case too, all commits are durable, and it can be opened again once the last clone and the last transaction
    /// are dropped. Otherwise as [`Database::close`].
    pub fn close_with(self, monitor: &Monitor) -> Result<CloseOutcome> {
        crate::db::handle::close::close(&self.inner, monitor)
    }

    /// Closes this handle and all its clones without merging, writing or syncing anything: for a database whose files
    /// the program removes next.
    ///
    /// The files stay as they are, as after the death of the process. Opening the database again recovers what its log
    /// has; commits that were not written there are lost. Open transactions can still read, but no longer commit.
    /// Another thread that closes the database gets [`Error::Stopped`] or [`Error::Closed`], or leaves the log. A
    /// running checkpoint is stopped. A running bulk load is waited for, and so is the commit of a transaction that was
    /// larger than [`Options::write_set_bytes`]. Does nothing if the database is closed.
    ///
    /// A commit that another thread has begun writes nothing to the log once this has returned. It succeeds, or fails
    /// with [`Error::Closed`]. If it waits to be durable, it may fail with [`Error::Indeterminate`]. Another thread may
    /// still be in a sync, or in a write of a large value, that it began before.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let cache = directory.path().join("cache");
    /// # std::fs::create_dir(&cache).expect("a directory");
    /// use fulgurite::Database;
    ///
    /// let db = Database::create(cache.join("pages.ful"))?;
    /// let pages = db.create_table("pages", Default::default())?;
    /// db.update(|txn| txn.put(&pages, b"/", b"<html>"))?;
    /// // The cache is out of date.
    /// db.discard()?;
    /// std::fs::remove_dir_all(&cache).expect("it is there");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] in a merge function, [`Error::Forked`], and errors of the disk about the lock file. Except
    /// for the first two, the database is closed nonetheless.
    pub fn discard(self) -> Result<()> {
        crate::db::handle::close::discard(&self.inner)
    }

    pub(crate) fn checkpointer(&self) -> Result<&Mutex<Checkpointer>> {
        let path = || self.inner.core.path.clone();
        let checkpointer = self.inner.checkpointer.as_deref().ok_or_else(|| Error::ReadOnly { path: path() })?;
        self.inner.core.check_process()?;
        check_not_merging()?;
        if self.inner.is_closed() { Err(Error::Closed { path: path() }) } else { Ok(checkpointer) }
    }

    /// Waits for the checkpointer until `monitor` stops the wait.
    ///
    /// # Errors
    /// [`Error::Stopped`], and as [`Database::checkpoint`].
    pub(crate) fn lock_checkpointer(&self, monitor: &Monitor) -> Result<MutexGuard<'_, Checkpointer>> {
        let checkpointer = self.checkpointer()?;
        loop {
            if let Some(locked) = checkpointer.try_lock() {
                return Ok(locked);
            }
            if monitor.is_stopped() {
                return Err(Error::Stopped { path: self.path().to_path_buf() });
            }
            sleep(BETWEEN_TRIES);
        }
    }
}

/// Lets others go first: longer with each attempt, and by chance, so that two that are in step get out of it.
fn pause(attempt: u32) {
    if attempt <= YIELDS {
        return yield_now();
    }
    let most = PAUSE_MIN * 2_u32.pow((attempt - YIELDS - 1).min(PAUSE_DOUBLINGS));
    let chance = RandomState::new().hash_one(attempt) % 1000;
    sleep(most.mul_f64(0.5 + chance as f64 / 2000.0));
}

/// A thread with a monitor tries so often to lock the checkpointer: the background thread leaves it to others for a
/// millisecond between two merges of runs.
const BETWEEN_TRIES: Duration = Duration::from_micros(500);

/// Attempts of [`Database::update`] before it returns the conflict.
pub const UPDATE_ATTEMPTS: u32 = 64;

/// Attempts after which others go first, but no time need pass.
const YIELDS: u32 = 2;

/// The first pause, at most.
const PAUSE_MIN: Duration = Duration::from_micros(20);

/// The last pauses are longer by so many powers of two: ten milliseconds.
const PAUSE_DOUBLINGS: u32 = 9;
