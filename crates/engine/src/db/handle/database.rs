//! [`Database`]: the handle, and what it hands out.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::merge_runs::RunsToMerge;
use crate::db::handle::inner::{CloseOutcome, Inner};
use crate::error::{Error, Result};
use crate::ids::Sequence;
use crate::merge_functions::check_not_merging;
use crate::monitor::Monitor;
use crate::options::{Isolation, Options, TableOptions};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Instant, Mutex, sleep, yield_now};
use crate::txn::commit::begin::Reading;
use crate::txn::commit::exclusive::Exclusive;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::read_txn::ReadTxn;
use crate::txn::transaction::write_txn::WriteTxn;

/// An open database: one file of named, ordered tables.
///
/// Clones share it, and it closes when the last clone and the last transaction are gone. [`Database::close`] closes it
/// at once, merges everything into the one file and reports errors, which dropping cannot: dropping only makes sure
/// that what was committed is in the log.
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
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
        Reading::begin(&self.inner.core).map(ReadTxn::new)
    }

    /// Begins a read transaction on the newest commits that a power cut would leave: later ones are not seen, even if
    /// they are visible to others.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn read_durable(&self) -> Result<ReadTxn> {
        Ok(ReadTxn::new(Reading::of(self.inner.core.durable_snapshot()?)))
    }

    /// Begins a write transaction, at the isolation of [`Options::isolation`]. Any number may run at once.
    ///
    /// It waits for nothing but the end of an exclusive one, and for memory when commits outrun the disk.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`], [`Error::Closed`].
    pub fn write(&self) -> Result<WriteTxn> {
        self.write_with(self.inner.core.writer()?.isolation)
    }

    /// As [`Database::write`], at another isolation.
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

    /// Begins a write transaction unless that had to wait for the end of an exclusive one.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn try_write(&self) -> Result<Option<WriteTxn>> {
        check_not_merging()?;
        let core = &self.inner.core;
        let isolation = core.writer()?.isolation;
        core.relieve()?;
        if core.exclusive.load(Ordering::Relaxed) {
            return Ok(None);
        }
        WriteTxn::new(core, isolation).map(Some)
    }

    /// Begins a write transaction beside which no other commits: for long jobs that would conflict again and again.
    /// It conflicts with none. Waits until the exclusive one before has ended, for at most `timeout`; `None` if it
    /// has not.
    ///
    /// Others wait for its end before they begin or commit, and so do bulk loads and [`Database::close`]: call none
    /// of these on the same thread meanwhile, it would wait for itself.
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

    /// Runs `change` in a write transaction and commits it, or drops it if `change` fails.
    ///
    /// While others come in between, `change` is called again, in a new transaction each time, with longer and longer
    /// pauses; so let it have no other effects. After [`UPDATE_ATTEMPTS`] times the conflict is returned.
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
    /// What `change` returns, and as [`WriteTxn::commit`].
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

    /// Gives a table another name, in a transaction of its own. Returns a handle that has the new name.
    ///
    /// # Errors
    /// As [`WriteTxn::rename_table`] and [`WriteTxn::commit`].
    pub fn rename_table(&self, table: &Table, name: &str) -> Result<Table> {
        self.update(|txn| txn.rename_table(table, name))
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
        check_not_merging()?;
        self.inner.core.sync()
    }

    /// Brings all commits so far into the file, and frees the log.
    ///
    /// Changes all over a large table become runs above its tree, which are merged into it later: a second after the
    /// last commit if there is a background thread, and at once by [`Database::compact`].
    /// [`TableStats::runs`](crate::TableStats::runs) counts them.
    ///
    /// It runs beside readers and writers, and by itself whenever [`Options::delta_bytes`] are used up.
    ///
    /// # Errors
    /// What the disk reports: then nothing was lost, and the next checkpoint tries again. [`Error::Stopped`] if
    /// another thread closes the database with a deadline.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpoint_with(&Monitor::new())
    }

    /// As [`Database::checkpoint`], followed by a monitor, which may end it before its time.
    ///
    /// # Errors
    /// [`Error::Stopped`] if it did, and as [`Database::checkpoint`].
    pub fn checkpoint_with(&self, monitor: &Monitor) -> Result<()> {
        let mut checkpointer = self.checkpointer()?.lock();
        let _watching = self.inner.watchers.add(monitor);
        checkpointer.run()?;
        // With a thread in the background that does it, and more.
        if self.inner.options.background { Ok(()) } else { checkpointer.merge_all_runs(RunsToMerge::Owed) }
    }

    /// Merges all commits into the one file, removes the log and the lock, and ends this handle and all its clones.
    ///
    /// Transactions that are open still read; they can no longer commit, and until the last of them has ended,
    /// opening the database again fails with [`Error::Locked`]. An exclusive one is waited for.
    ///
    /// # Errors
    /// What the disk reports: then the log stays, and the next open recovers from it. It can be opened when the last
    /// clone and the last transaction are gone. [`Error::Stopped`] if another thread, which closes it with a
    /// deadline, stopped the merging: the log stays. [`Error::Closed`] if it was closed before, and that failed.
    pub fn close(self) -> Result<()> {
        match crate::db::handle::close::close(&self.inner, &Monitor::new())? {
            CloseOutcome::Clean => Ok(()),
            CloseOutcome::LogKept => Err(Error::Stopped { path: self.path().to_path_buf() }),
        }
    }

    /// As [`Database::close`], with a bound on the time: when the monitor stops it, what is not merged yet stays in
    /// the log, durable, and the next opening merges it. Running checkpoints and compactions stop too.
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
    /// [`Error::Stopped`] if an exclusive transaction or a bulk load did not end in time: the database is closed
    /// nevertheless, everything that was committed is durable, and it can be opened when the last clone and the last
    /// transaction are gone. Otherwise as [`Database::close`].
    pub fn close_with(self, monitor: &Monitor) -> Result<CloseOutcome> {
        crate::db::handle::close::close(&self.inner, monitor)
    }

    pub(crate) fn checkpointer(&self) -> Result<&Mutex<Checkpointer>> {
        let path = || self.inner.core.path.clone();
        let checkpointer = self.inner.checkpointer.as_deref().ok_or_else(|| Error::ReadOnly { path: path() })?;
        self.inner.core.check_process()?;
        check_not_merging()?;
        if self.inner.is_closed() { Err(Error::Closed { path: path() }) } else { Ok(checkpointer) }
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

/// How often [`Database::update`] begins a transaction before it gives up.
pub const UPDATE_ATTEMPTS: u32 = 64;

/// Attempts after which others go first, but no time need pass.
const YIELDS: u32 = 2;

/// The first pause, at most.
const PAUSE_MIN: Duration = Duration::from_micros(20);

/// The last pauses are longer by so many powers of two: ten milliseconds.
const PAUSE_DOUBLINGS: u32 = 9;
