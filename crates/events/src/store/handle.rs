//! [`EventStore`]: the handle.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use fulgurite::{Database, Isolation, UPDATE_ATTEMPTS};

use crate::error::{Error, Result};
use crate::event::{Appended, EventData, Expected};
use crate::ids::{Position, Version};
use crate::layout::stream::StreamMetadata;
use crate::layout::tables::Tables;
use crate::reading::snapshot::Snapshot;
use crate::reading::upcasters::Upcasters;
use crate::store::append::AppendCondition;
use crate::store::options::StoreOptions;
use crate::store::shared::Shared;
use crate::store::transaction::{Committed, Transaction};

/// A store of events in a database. Clones, and other handles of the same store in this process, share its state.
///
/// It is `Send` and `Sync`: any number of threads append and read. Changes of the store wait for an exclusive
/// transaction of the database, so do not make them on the thread that is to end it: see
/// [`Database::begin_exclusive`].
#[derive(Clone, Debug)]
pub struct EventStore {
    pub(crate) shared: Arc<Shared>,
    upcasters: Arc<Upcasters>,
}

impl StoreOptions {
    /// Opens the store of a database, and creates it if the database has none and is open for writing.
    ///
    /// # Errors
    /// [`Error::NotEvents`](crate::Error::NotEvents) if it has none and is open read-only;
    /// [`Error::OtherOptions`](crate::Error::OtherOptions) if this process has it open with another durability, window
    /// or number of states; errors of the disk.
    pub fn open_in(self, db: &Database) -> Result<EventStore> {
        EventStore::open_with(db, self)
    }

    /// Opens the store of a database, and does not create one.
    ///
    /// # Errors
    /// [`Error::NotEvents`](crate::Error::NotEvents) if the database has none; otherwise as [`StoreOptions::open_in`].
    pub fn open_existing_in(self, db: &Database) -> Result<EventStore> {
        if Tables::open(&db.read()?, &self.name)?.is_none() {
            return Err(Error::NotEvents { name: self.name });
        }
        EventStore::open_with(db, self)
    }

    /// Opens the database at a path with the engine's default options, creates it if it does not exist, and opens the
    /// store in it.
    ///
    /// # Errors
    /// As [`StoreOptions::open_in`], and those of opening a database.
    pub fn create(self, path: impl AsRef<Path>) -> Result<EventStore> {
        self.open_in(&Database::create(path)?)
    }
}

impl EventStore {
    /// The default options.
    pub fn options() -> StoreOptions {
        StoreOptions::default()
    }

    /// Opens the store `events` of a database with the default options: see [`StoreOptions::open_in`].
    ///
    /// # Errors
    /// As [`StoreOptions::open_in`].
    pub fn open_in(db: &Database) -> Result<Self> {
        Self::options().open_in(db)
    }

    /// Opens the database at a path, creates it if it does not exist, and opens the store `events` in it.
    ///
    /// # Errors
    /// As [`StoreOptions::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().create(path)
    }

    pub(crate) fn open_with(db: &Database, options: StoreOptions) -> Result<Self> {
        Ok(Self { shared: Shared::open(db, &options)?, upcasters: options.upcasters })
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.shared.db
    }

    /// The name of the store.
    pub fn name(&self) -> &str {
        &self.shared.tables.name
    }

    /// A snapshot of everything appended so far.
    ///
    /// # Errors
    /// Those of the engine, such as that the database is closed.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let txn = self.shared.db.read()?;
        Ok(self.snapshot_of(txn))
    }

    /// A snapshot of what is durable: no power cut loses an event that it shows.
    ///
    /// # Errors
    /// As [`EventStore::snapshot`].
    pub fn durable_snapshot(&self) -> Result<Snapshot> {
        let txn = self.shared.db.read_durable()?;
        Ok(self.snapshot_of(txn))
    }

    fn snapshot_of(&self, txn: fulgurite::ReadTxn) -> Snapshot {
        // The types are taken after the transaction began.
        Snapshot::new(txn, Arc::clone(&self.shared.tables), self.shared.types(), Arc::clone(&self.upcasters))
    }

    /// Appends events to a stream, if its version is as expected: see [`Transaction::append`]. All of them or none are
    /// appended. When it returns, they have the store's durability.
    ///
    /// ```
    /// # use fulgurite_events::{Error, EventData, EventStore, Expected, Version};
    /// # fn main() -> fulgurite_events::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// let store = EventStore::create(directory.path().join("shop.ful"))?;
    /// store.append("order-7", Expected::NoStream, &[EventData::new("placed", b"3 apples")])?;
    /// store.append("order-7", Expected::Exact(Version(0)), &[EventData::new("paid", b"2.40")])?;
    /// let late = store.append("order-7", Expected::Exact(Version(0)), &[EventData::new("cancelled", b"")]);
    /// assert!(matches!(late, Err(Error::WrongVersion { actual: Some(Version(1)), .. })));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::append`], and those of a commit.
    pub fn append(&self, stream: impl AsRef<[u8]>, expected: Expected, events: &[EventData<'_>]) -> Result<Appended> {
        let stream = stream.as_ref();
        self.run(Isolation::Snapshot, &mut |transaction| transaction.append(stream, expected, events))
    }

    /// As [`EventStore::append`], but fails if an event after the condition's position matches its query: the caller
    /// decided without having read it. A repeated append with ids is returned as such before the condition is checked,
    /// so it can be tried again when the outcome of the first try is unknown.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`](crate::Error::ConditionFailed), and as [`EventStore::append`].
    pub fn append_if(
        &self,
        condition: &AppendCondition,
        stream: impl AsRef<[u8]>,
        events: &[EventData<'_>],
    ) -> Result<Appended> {
        let stream = stream.as_ref();
        self.run(Isolation::Snapshot, &mut |transaction| {
            transaction.append_if(condition, stream, Expected::Any, events)
        })
    }

    /// Calls `change` in a transaction, and commits it: appends to any streams, and changes of the program's own tables
    /// in the same database, all or nothing. If `change` returns an error, nothing is committed.
    ///
    /// Other appends wait until it ends, so `change` should be short. If another transaction has changed what it read
    /// of the program's tables, `change` is called again, so it should have no effects outside the transaction.
    ///
    /// If `change` calls another store while that store's `transact` calls this one, both wait for ever.
    ///
    /// ```
    /// # use fulgurite_events::{EventData, EventStore, Expected};
    /// # fn main() -> fulgurite_events::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// let store = EventStore::create(directory.path().join("bank.ful"))?;
    /// let requests = store.database().create_table("requests", Default::default())?;
    /// store.transact(|t| {
    ///     t.append("account-1", Expected::Any, &[EventData::new("withdrawn", b"5")])?;
    ///     t.append("account-2", Expected::Any, &[EventData::new("paid in", b"5")])?;
    ///     Ok(t.put(&requests, "request-9", "done")?)
    /// })?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Errors of `change`, and of a commit.
    pub fn transact<T>(&self, mut change: impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        self.run(Isolation::Serializable, &mut change)
    }

    /// Whether this thread is in [`EventStore::transact`] of this store. Calls that commit by themselves, such as
    /// [`EventStore::apply_retention`], are not part of that transaction.
    pub fn is_in_transaction(&self) -> bool {
        self.shared.is_nested()
    }

    pub(crate) fn run<T>(
        &self,
        isolation: Isolation,
        change: &mut dyn FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.attempt(isolation, change) {
                Ok((value, committed)) => {
                    Transaction::await_durability(&self.shared, committed)?;
                    return Ok(value);
                }
                Err(error) if error.is_retryable() && attempt < UPDATE_ATTEMPTS => thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
    }

    /// One attempt of [`EventStore::run`]. The fold that precedes the transaction may conflict too.
    fn attempt<T>(
        &self,
        isolation: Isolation,
        change: &mut dyn FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<(T, Committed)> {
        let mut transaction = Transaction::begin(&self.shared, isolation)?;
        let value = change(&mut transaction)?;
        Ok((value, transaction.commit()?))
    }

    /// See [`Transaction::truncate_before`].
    ///
    /// # Errors
    /// As there, and those of a commit.
    pub fn truncate_before(&self, stream: impl AsRef<[u8]>, version: Version) -> Result<()> {
        self.run(Isolation::Snapshot, &mut |transaction| transaction.truncate_before(stream.as_ref(), version))
    }

    /// See [`Transaction::delete_stream`].
    ///
    /// # Errors
    /// As there, and those of a commit.
    pub fn delete_stream(&self, stream: impl AsRef<[u8]>, expected: Expected) -> Result<()> {
        self.run(Isolation::Snapshot, &mut |transaction| transaction.delete_stream(stream.as_ref(), expected))
    }

    /// See [`Transaction::bury_stream`].
    ///
    /// # Errors
    /// As there, and those of a commit.
    pub fn bury_stream(&self, stream: impl AsRef<[u8]>, expected: Expected) -> Result<()> {
        self.run(Isolation::Snapshot, &mut |transaction| transaction.bury_stream(stream.as_ref(), expected))
    }

    /// See [`Transaction::set_stream_metadata`].
    ///
    /// # Errors
    /// As there, and those of a commit.
    pub fn set_stream_metadata(&self, stream: impl AsRef<[u8]>, metadata: StreamMetadata) -> Result<()> {
        self.run(Isolation::Snapshot, &mut |transaction| {
            transaction.set_stream_metadata(stream.as_ref(), metadata.clone())
        })
    }

    /// See [`Transaction::put_aggregate_state`].
    ///
    /// # Errors
    /// As there, and those of a commit.
    pub fn put_aggregate_state(
        &self,
        stream: impl AsRef<[u8]>,
        version: Version,
        schema: u32,
        state: &[u8],
    ) -> Result<()> {
        self.run(Isolation::Snapshot, &mut |transaction| {
            transaction.put_aggregate_state(stream.as_ref(), version, schema, state)
        })
    }

    /// See [`Transaction::set_consumer_position`]. A view stores its position by itself.
    ///
    /// # Errors
    /// As there, and those of a commit.
    pub fn set_consumer_position(&self, consumer: &str, position: Position) -> Result<()> {
        self.run(Isolation::Snapshot, &mut |transaction| transaction.set_consumer_position(consumer, position))
    }
}
