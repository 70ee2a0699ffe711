//! What a source of entries is: a database, a read transaction or a write transaction.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError, Weak};
use std::thread::{self, ThreadId, sleep};
use std::time::{Duration, Instant};

use fulgurite::{Database, ReadTxn, Savepoint, Table, WriteTxn};
use fulgurite_handles::{HeldValue, Opening};
use pyo3::Python;

use crate::error::{Failure, Result};
use crate::lent::{Changer, Lent};
use crate::merging::running::check_not_merging;
use crate::process::ProcessBound;

/// An open database.
pub struct OpenDatabase {
    /// The engine's handle; none after closing, so that nothing here keeps the database open.
    database: ProcessBound<Mutex<Option<Database>>>,
    /// The opening that the object is part of.
    opening: Opening,
    /// The newest exclusive transaction, open or not.
    exclusive: ProcessBound<Mutex<Option<Begun>>>,
    loading: Arc<Loading>,
}

/// A transaction, and the thread that has begun it.
type Begun = (ThreadId, Weak<Writing>);

impl OpenDatabase {
    /// Opens a database, which counts as one more object of its opening. While the database is locked, opening it is
    /// tried again, at most for the time `wait`. `open` itself does not wait: between its calls, signals of the system
    /// are handled, and other threads can open the database. `open` returns the database, and what it has opened in the
    /// database. If that is an error, the database is closed, unless another object has it open.
    ///
    /// # Errors
    /// Those of `open`, and of handlers of signals.
    pub fn open<T: Send>(
        py: Python<'_>,
        path: &Path,
        wait: Duration,
        mut open: impl FnMut() -> Result<(Database, Result<T>)> + Send,
    ) -> Result<(Self, T)> {
        let deadline = Instant::now().checked_add(wait);
        loop {
            let opened = py.detach(|| Self::opened(path, &mut open));
            let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() || !matches!(&opened, Err(Failure::Kind("LOCKED", _))) {
                return opened;
            }
            py.check_signals()?;
            py.detach(|| sleep(left.min(LOCK_PAUSE)));
        }
    }

    fn opened<T>(path: &Path, open: impl FnOnce() -> Result<(Database, Result<T>)>) -> Result<(Self, T)> {
        check_not_merging()?;
        let opening = Opening::of(path);
        let mut objects = opening.lock();
        let (database, outcome) = open()?;
        let other = match outcome {
            Ok(other) => other,
            Err(failure) => {
                // Dropping it would leave its lock file; the first error says more than another one.
                if *objects == 0 {
                    let _ = database.close();
                }
                return Err(failure);
            }
        };
        *objects += 1;
        drop(objects);
        let database = ProcessBound::new(Mutex::new(Some(database)));
        Ok((Self { database, opening, exclusive: ProcessBound::default(), loading: Arc::default() }, other))
    }

    /// Closes the database, unless another object has it open. Does nothing the second time. Aborts an exclusive
    /// transaction of this thread: closing would wait for its end.
    ///
    /// # Errors
    /// Those of the engine. Also if this thread is in a sorted bulk load: closing would wait for ever.
    pub fn close(&self) -> Result<()> {
        check_not_merging()?;
        self.loading.check()?;
        if let Some(writing) = self.exclusive_of_this_thread()? {
            drop(writing.take()?);
        }
        let Some(database) = self.taken()? else { return Ok(()) };
        Ok(self.opening.close(database)?)
    }

    fn taken(&self) -> Result<Option<Database>> {
        Ok(self.database.get()?.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    /// The database.
    ///
    /// # Errors
    /// If this object is closed.
    pub fn get(&self) -> Result<Database> {
        check_not_merging()?;
        let database = self.database.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        database.clone().ok_or_else(|| Failure::closed("database"))
    }

    /// The database, for calls that wait for bulk loads.
    ///
    /// # Errors
    /// As [`OpenDatabase::get`]. Also if this thread is in a sorted bulk load: the call would wait for ever.
    pub fn get_after_loads(&self) -> Result<Database> {
        self.loading.check()?;
        self.get()
    }

    /// The database, for changes, which wait for bulk loads and for an exclusive transaction.
    ///
    /// # Errors
    /// As [`OpenDatabase::get_after_loads`]. Also if this thread has an exclusive transaction open.
    pub fn get_to_write(&self) -> Result<Database> {
        match self.exclusive_of_this_thread()? {
            Some(_) => Err(Failure::nested()),
            None => self.get_after_loads(),
        }
    }

    /// Runs a sorted bulk load. Meanwhile, calls of this thread that would wait for it fail.
    ///
    /// # Errors
    /// In a child made by `fork`.
    pub fn while_loading<R>(&self, load: impl FnOnce() -> R) -> Result<R> {
        let _noted = self.loading.note()?;
        Ok(load())
    }

    /// Notes that this thread has begun an exclusive transaction.
    ///
    /// # Errors
    /// In a child made by `fork`.
    pub fn note_exclusive(&self, writing: &Arc<Writing>) -> Result<()> {
        let mut exclusive = self.exclusive.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        *exclusive = Some((thread::current().id(), Arc::downgrade(writing)));
        Ok(())
    }

    /// The open exclusive transaction that this thread has begun.
    fn exclusive_of_this_thread(&self) -> Result<Option<Arc<Writing>>> {
        let exclusive = self.exclusive.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        let own = exclusive.as_ref().filter(|(holder, _)| *holder == thread::current().id());
        Ok(own.and_then(|(_, writing)| writing.upgrade()).filter(|writing| writing.is_open()))
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        // Commits stay in the log; errors have no place to go.
        let Ok(Some(database)) = self.taken() else { return };
        self.opening.leave();
        // Ending the threads of the database can take long; other threads of Python run meanwhile. Without an
        // interpreter there is nobody to wait.
        let mut database = Some(database);
        Python::try_attach(|py| py.detach(|| drop(database.take())));
    }
}

/// The threads that are in a sorted bulk load of a database.
#[derive(Default)]
struct Loading(ProcessBound<Mutex<Vec<ThreadId>>>);

/// Notes, while it lives, that its thread is in a load.
struct Noted<'l>(&'l Loading);

impl Loading {
    fn threads(&self) -> Result<MutexGuard<'_, Vec<ThreadId>>> {
        Ok(self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self) -> Result<Noted<'_>> {
        self.threads()?.push(thread::current().id());
        Ok(Noted(self))
    }

    /// Fails if this thread is in a load.
    fn check(&self) -> Result<()> {
        let is_loading = self.threads()?.contains(&thread::current().id());
        if is_loading { Err(Failure::loading()) } else { Ok(()) }
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        let ended = thread::current().id();
        if let Ok(mut threads) = self.0.threads() {
            threads.retain(|thread| *thread != ended);
        }
    }
}

/// The interval at which a waiting opening tries whether the database is still locked.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A read transaction.
pub struct Reading {
    txn: ProcessBound<RwLock<Option<Arc<ReadTxn>>>>,
    /// Its values, which end with it. None after the end.
    values: ProcessBound<Mutex<Option<Vec<Weak<Lease>>>>>,
}

/// A value of a read transaction, until the transaction ends. Readers of the value have references of their own.
pub struct Lease(ProcessBound<Mutex<Option<Arc<HeldValue>>>>);

impl Lease {
    /// The value.
    ///
    /// # Errors
    /// If its transaction has ended.
    pub fn get(&self) -> Result<Arc<HeldValue>> {
        let value = self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner).clone();
        value.ok_or_else(|| Failure::closed("transaction"))
    }

    fn end(&self) {
        let Ok(value) = self.0.get() else { return };
        let value = value.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(value);
    }
}

impl Reading {
    /// A running transaction.
    pub fn new(txn: ReadTxn) -> Self {
        Self::of(Arc::new(txn))
    }

    /// A running transaction that shares its snapshot with another one, and ends by itself.
    pub fn of(txn: Arc<ReadTxn>) -> Self {
        let (txn, values) = (RwLock::new(Some(txn)), Mutex::new(Some(Vec::new())));
        Self { txn: ProcessBound::new(txn), values: ProcessBound::new(values) }
    }

    /// The transaction.
    ///
    /// # Errors
    /// If it has ended.
    pub fn get(&self) -> Result<Arc<ReadTxn>> {
        check_not_merging()?;
        let txn = self.txn.get()?.read().unwrap_or_else(PoisonError::into_inner);
        txn.clone().ok_or_else(|| Failure::closed("transaction"))
    }

    /// The value of a key, if it has one.
    ///
    /// # Errors
    /// If it has ended; those of the engine.
    pub fn lease(&self, table: &Table, key: &[u8]) -> Result<Option<Arc<Lease>>> {
        let Some(value) = HeldValue::get(&self.get()?, table, key)? else { return Ok(None) };
        let lease = Arc::new(Lease(ProcessBound::new(Mutex::new(Some(Arc::new(value))))));
        let mut values = self.values.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        let values = values.as_mut().ok_or_else(|| Failure::closed("transaction"))?;
        if values.len() == values.capacity() {
            values.retain(|lease| lease.strong_count() > 0);
            // Half of the places are free then, so that calls rarely look at all values.
            values.reserve(values.len());
        }
        values.push(Arc::downgrade(&lease));
        Ok(Some(lease))
    }

    /// Ends it. Its snapshot remains while views of its values are in use. Does nothing in a child made by `fork`.
    ///
    /// # Errors
    /// In a merge function.
    pub fn end(&self) -> Result<()> {
        check_not_merging()?;
        let (Ok(txn), Ok(values)) = (self.txn.get(), self.values.get()) else { return Ok(()) };
        txn.write().unwrap_or_else(PoisonError::into_inner).take();
        let values = values.lock().unwrap_or_else(PoisonError::into_inner).take();
        values.iter().flatten().filter_map(Weak::upgrade).for_each(|lease| lease.end());
        Ok(())
    }
}

/// A write transaction and its savepoints.
pub struct Changes {
    /// The transaction.
    pub txn: WriteTxn,
    /// The savepoints, by their number.
    pub savepoints: Vec<Savepoint>,
}

/// A write transaction.
pub struct Writing {
    changes: ProcessBound<Mutex<Option<Changes>>>,
    /// The loads of its database, for which its commit waits.
    loading: Arc<Loading>,
}

impl Writing {
    /// A running transaction of a database.
    pub fn new(txn: WriteTxn, open: &OpenDatabase) -> Self {
        let changes = ProcessBound::new(Mutex::new(Some(Changes { txn, savepoints: Vec::new() })));
        Self { changes, loading: Arc::clone(&open.loading) }
    }

    /// Whether it has not ended. A transaction that another thread uses has not ended.
    fn is_open(&self) -> bool {
        self.changes.get().is_ok_and(|changes| match changes.try_lock() {
            Ok(changes) => changes.is_some(),
            Err(TryLockError::Poisoned(changes)) => changes.get_ref().is_some(),
            Err(TryLockError::WouldBlock) => true,
        })
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<Changes>>> {
        check_not_merging()?;
        self.changes.get()?.lock().map_err(|_| Failure::broken())
    }

    /// Calls `run` with the transaction.
    ///
    /// # Errors
    /// If it has ended, and the errors of `run`.
    pub fn with<R>(&self, run: impl FnOnce(&mut Changes) -> Result<R>) -> Result<R> {
        run(self.lock()?.as_mut().ok_or_else(|| Failure::closed("transaction"))?)
    }

    /// Takes the transaction out, to commit it.
    ///
    /// # Errors
    /// As [`Writing::take`]. Also if this thread is in a sorted bulk load: the commit would wait for ever.
    pub fn take_to_commit(&self) -> Result<Option<WriteTxn>> {
        self.loading.check()?;
        self.take()
    }

    /// Takes the transaction out, to end it.
    ///
    /// # Errors
    /// If a call of it has panicked; in a child made by `fork`.
    pub fn take(&self) -> Result<Option<WriteTxn>> {
        Ok(self.lock()?.take().map(|changes| changes.txn))
    }

    /// Ends it without a commit. Does nothing in a child made by `fork`.
    ///
    /// # Errors
    /// If a call of it has panicked.
    pub fn abort(&self) -> Result<()> {
        if self.changes.get().is_ok() { self.take().map(drop) } else { Ok(()) }
    }
}

/// A source of entries.
#[derive(Clone)]
pub enum Kind {
    /// A database: each call has a transaction of its own.
    Database(Arc<OpenDatabase>),
    /// A read transaction.
    Read(Arc<Reading>),
    /// A write transaction.
    Write(Arc<Writing>),
    /// A write transaction that belongs to the caller of a function.
    Lent(Arc<Lent>),
}

impl Kind {
    /// The open database.
    ///
    /// # Errors
    /// If this is none, or closed.
    pub fn database(&self) -> Result<Database> {
        match self {
            Self::Database(open) => open.get(),
            _ => Err(Failure::invalid("this is a transaction, not a database")),
        }
    }

    /// The open database, for calls that wait for bulk loads.
    ///
    /// # Errors
    /// As [`Kind::database`] and [`OpenDatabase::get_after_loads`].
    pub fn database_after_loads(&self) -> Result<Database> {
        match self {
            Self::Database(open) => open.get_after_loads(),
            other => other.database(),
        }
    }

    /// The open database, for changes.
    ///
    /// # Errors
    /// As [`Kind::database`] and [`OpenDatabase::get_to_write`].
    pub fn database_to_write(&self) -> Result<Database> {
        match self {
            Self::Database(open) => open.get_to_write(),
            other => other.database(),
        }
    }

    /// Calls `run` with a write transaction, or with one of its own that is committed after it.
    ///
    /// # Errors
    /// Those of `run` and of the commit.
    pub fn change<R>(&self, mut run: impl FnMut(&mut Changer<'_>) -> fulgurite::Result<R>) -> Result<R> {
        match self {
            Self::Database(open) => Ok(open.get_to_write()?.update(|txn| run(&mut Changer::Engine(txn)))?),
            Self::Read(_) => Err(Failure::read_only()),
            Self::Write(writing) => writing.with(|changes| Ok(run(&mut Changer::Engine(&mut changes.txn))?)),
            Self::Lent(lent) => lent.with(|changer| Ok(run(changer)?)),
        }
    }

    /// Calls `run` without the interpreter's lock. A lent transaction keeps the lock: it waits for no other thread, and
    /// functions of views call it several times for each event.
    pub fn released<R: Send>(&self, py: Python<'_>, run: impl FnOnce() -> R + Send) -> R {
        if let Self::Lent(_) = self { run() } else { py.detach(run) }
    }
}

/// Evaluates an expression with the transaction of a source, or with a new snapshot of a database.
macro_rules! reading {
    ($kind:expr, $txn:ident => $body:expr) => {
        match $kind {
            $crate::kinds::Kind::Database(open) => {
                let $txn = &open.get()?.read()?;
                $body
            }
            $crate::kinds::Kind::Read(reading) => {
                let $txn = &*reading.get()?;
                $body
            }
            $crate::kinds::Kind::Write(writing) => writing.with(|changes| {
                let $txn = &changes.txn;
                $body
            }),
            $crate::kinds::Kind::Lent(lent) => lent.with(|changer| {
                let $txn: &fulgurite::WriteTxn = changer;
                $body
            }),
        }
    };
}

pub(crate) use reading;
