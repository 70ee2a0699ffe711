//! Bulk loads: sorted streams merged straight into the trees of tables, past log and delta.
//!
//! A load is one checkpoint: all of it is there after it, or nothing, of all its tables. No transaction commits
//! beside it.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use crate::db::checkpoint::job::{Job, LoadJob, LoadSource};
use crate::db::handle::database::Database;
use crate::error::{Error, Result};
use crate::format::LeafForm;
use crate::ids::TableId;
use crate::merge_functions::check_not_merging;
use crate::options::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::pager::{PageWriter, Pages};
use crate::sort::{SortOptions, Sorted, Sorter};
use crate::sync::{Arc, Instant, outside_locks};
use crate::tree::{self, Action, Change, Changes, MergeOutcome, Root};
use crate::txn::ReadTxn;
use crate::txn::commit::exclusive::Exclusive;
use crate::txn::snapshot::table::Table;

/// The result of a bulk load for one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// Keys that had no value before.
    pub inserted: u64,
    /// Keys whose value was replaced.
    pub replaced: u64,
}

/// An input that cannot fail.
type Infallible<K, V> = std::result::Result<(K, V), std::convert::Infallible>;

impl Database {
    /// Puts `entries` into a table; their keys must be in strictly ascending order. A load is several times faster than
    /// transactions, uses constant memory, and is atomic. It is durable when this returns.
    ///
    /// Commits of other transactions, checkpoints, compactions and other loads wait until it ends. So the iterator must
    /// not begin a write transaction, load, checkpoint, compact or close the same database: its thread would wait for
    /// itself. It may read, and call [`Database::stats`].
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let squares = db.create_table("squares", Default::default())?;
    /// let loaded = db.bulk_load(&squares, (0u64..1000).map(|n| (n.to_be_bytes(), (n * n).to_le_bytes())))?;
    /// assert_eq!(loaded.inserted, 1000);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfOrder`], [`Error::KeyTooLong`], [`Error::ValueTooLong`], and errors of the disk. Nothing is loaded
    /// in these cases. After [`Error::Indeterminate`] the outcome is unknown until the database is reopened.
    ///
    /// # Panics
    /// If the iterator panics. Nothing is loaded then, and the database can be used as before.
    pub fn bulk_load<K, V>(&self, table: &Table, entries: impl IntoIterator<Item = (K, V)>) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.try_bulk_load(table, entries.into_iter().map(|entry| -> Infallible<K, V> { Ok(entry) }))
    }

    /// As [`Database::bulk_load`], from an iterator of results.
    ///
    /// # Errors
    /// [`Error::Input`] with the input's own error, and as [`Database::bulk_load`].
    pub fn try_bulk_load<K, V, E>(
        &self,
        table: &Table,
        entries: impl IntoIterator<Item = std::result::Result<(K, V), E>>,
    ) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        E: StdError + Send + Sync + 'static,
    {
        let mut load = BulkLoad::begin(self, None)?.expect("without a deadline it is waited for");
        load.sorted(table, entries)?;
        load.commit_one()
    }

    /// Begins a load into several tables, which become visible and durable together. Waits at most `timeout` for the
    /// previous exclusive transaction or load, and returns `None` if it has not ended by then.
    ///
    /// Until the load ends no other transaction commits, as with [`Database::begin_exclusive`]. Readers continue. Use
    /// [`BulkLoad::read`] to read the database meanwhile.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let names = db.create_table("names", Default::default())?;
    /// let numbers = db.create_table("numbers", Default::default())?;
    /// let people = [("ada", 1u32), ("bob", 3), ("eve", 2)];
    /// let mut load = db.begin_bulk_load(Duration::from_secs(10))?.expect("nobody else writes");
    /// load.sorted(&names, people.map(|(name, number)| Ok::<_, Infallible>((name, number.to_be_bytes()))))?;
    /// let by_number = people.map(|(name, number)| Ok::<_, Infallible>((number.to_be_bytes(), name)));
    /// load.unsorted(&numbers, by_number, 1 << 20)?;
    /// let loaded = load.commit()?;
    /// assert_eq!(loaded.iter().map(|table| table.inserted).sum::<u64>(), 6);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Poisoned`], [`Error::Closed`].
    pub fn begin_bulk_load<'l>(&self, timeout: Duration) -> Result<Option<BulkLoad<'l>>> {
        check_not_merging()?;
        self.inner.core.relieve()?;
        // A deadline beyond the clock's range counts as none.
        BulkLoad::begin(self, Instant::now().checked_add(timeout))
    }

    /// Puts `entries`, in any order, into a table. They are sorted in bounded memory, with temporary files next to the
    /// database if needed. If a key occurs more than once, its last value is stored. The load is atomic, and durable
    /// when this returns.
    ///
    /// # Errors
    /// As [`Database::bulk_load`].
    pub fn bulk_load_unsorted<K, V>(
        &self,
        table: &Table,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let entries = entries.into_iter().map(|entry| -> Infallible<K, V> { Ok(entry) });
        self.try_bulk_load_unsorted(table, entries, SORT_MEMORY_BYTES)
    }

    /// As [`Database::bulk_load_unsorted`], from an iterator of results, with a limit in bytes for the memory of the
    /// sort.
    ///
    /// # Errors
    /// [`Error::Input`] with the input's own error, and as [`Database::bulk_load`].
    pub fn try_bulk_load_unsorted<K, V, E>(
        &self,
        table: &Table,
        entries: impl IntoIterator<Item = std::result::Result<(K, V), E>>,
        memory_bytes: usize,
    ) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        E: StdError + Send + Sync + 'static,
    {
        self.inner.core.writer()?;
        // Others go on while it is sorted.
        let sorted = self.sort(table, entries, memory_bytes)?;
        let mut load = BulkLoad::begin(self, None)?.expect("without a deadline it is waited for");
        load.add(table, sorted)?;
        load.commit_one()
    }

    fn sort<K, V, E>(
        &self,
        table: &Table,
        entries: impl IntoIterator<Item = std::result::Result<(K, V), E>>,
        memory_bytes: usize,
    ) -> Result<SortedChanges>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        E: StdError + Send + Sync + 'static,
    {
        let options = SortOptions { memory_bytes };
        let mut sorter = Sorter::new(Arc::clone(&self.inner.options.disk), self.path(), options);
        for entry in entries {
            let (key, value) = entry.map_err(input_error)?;
            check_lengths(table, key.as_ref(), value.as_ref())?;
            sorter.push(key.as_ref(), value.as_ref())?;
        }
        sorter.finish().map(SortedChanges)
    }
}

/// A load into several tables, from [`Database::begin_bulk_load`]. Nothing is loaded before [`BulkLoad::commit`].
/// Dropping it discards the load.
///
/// While it exists, write transactions, other loads and [`Database::close`] wait. Do not call them on the thread that
/// holds the load: that thread would wait for itself. While [`BulkLoad::commit`] runs, [`Database::checkpoint`] and
/// [`Database::compact`] wait too, so the iterators must not call them either.
pub struct BulkLoad<'l> {
    db: Database,
    tables: Vec<TableId>,
    sources: Vec<Box<dyn LoadSource + 'l>>,
    /// Dropped last: the sources may read what must not change.
    _exclusive: Exclusive,
}

impl<'l> BulkLoad<'l> {
    fn begin(db: &Database, deadline: Option<Instant>) -> Result<Option<Self>> {
        let exclusive = Exclusive::wait(&db.inner.core, deadline)?;
        Ok(exclusive.map(|exclusive| Self {
            db: db.clone(),
            tables: Vec::new(),
            sources: Vec::new(),
            _exclusive: exclusive,
        }))
    }

    /// Begins a read transaction on the state before the load, which remains the newest state until the load is
    /// committed.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub fn read(&self) -> Result<ReadTxn> {
        self.db.read()
    }

    /// Adds a table and its entries; their keys must be in strictly ascending order. [`BulkLoad::commit`] consumes the
    /// iterators, in the order in which the tables were added.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the table was already added; [`Error::TableNotFound`]. [`BulkLoad::commit`] returns errors
    /// of the input and keys that are out of order.
    pub fn sorted<K, V, E, I>(&mut self, table: &Table, entries: I) -> Result<()>
    where
        K: AsRef<[u8]> + 'l,
        V: AsRef<[u8]> + 'l,
        E: StdError + Send + Sync + 'static,
        I: IntoIterator<Item = std::result::Result<(K, V), E>>,
        I::IntoIter: 'l,
    {
        let of = table.clone();
        let mut entries = entries.into_iter();
        let entries = std::iter::from_fn(move || outside_locks(|| entries.next()));
        let checked = entries.map(move |entry| {
            let (key, value) = entry.map_err(input_error)?;
            check_lengths(&of, key.as_ref(), value.as_ref())?;
            Ok((key, value))
        });
        self.add(table, tree::Sorted::new(checked))
    }

    /// Adds a table and its entries, in any order. They are sorted before this returns, in at most `memory_bytes` of
    /// memory, with temporary files next to the database if needed. If a key occurs more than once, its last value is
    /// stored.
    ///
    /// # Errors
    /// As [`BulkLoad::sorted`]; [`Error::Input`] with the error of the input; errors of the disk.
    pub fn unsorted<K, V, E>(
        &mut self,
        table: &Table,
        entries: impl IntoIterator<Item = std::result::Result<(K, V), E>>,
        memory_bytes: usize,
    ) -> Result<()>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        E: StdError + Send + Sync + 'static,
    {
        let sorted = self.db.sort(table, entries, memory_bytes)?;
        self.add(table, sorted)
    }

    /// Loads all tables. When this returns, the load is durable and visible to new transactions. Returns a summary for
    /// each table, in the order in which they were added.
    ///
    /// # Errors
    /// As [`Database::try_bulk_load`]. Nothing is loaded into any table, unless the error is [`Error::Indeterminate`].
    ///
    /// # Panics
    /// If an iterator panics. Nothing is loaded then, and the database can be used as before.
    pub fn commit(mut self) -> Result<Vec<LoadSummary>> {
        let sources = self.sources.iter_mut().map(|source| &mut **source as &mut dyn LoadSource).collect();
        let job = Job::Load(LoadJob::new(&self.tables, sources));
        let outcome = self.db.checkpointer()?.lock().run_with(job);
        if let Some(panic) = self.sources.iter_mut().find_map(|source| source.take_panic()) {
            resume_unwind(panic);
        }
        outcome?;
        let summary = |outcome: MergeOutcome| LoadSummary { inserted: outcome.inserted, replaced: outcome.replaced };
        Ok(self.sources.iter().map(|source| summary(source.outcome())).collect())
    }

    fn commit_one(self) -> Result<LoadSummary> {
        self.commit().map(|of_tables| of_tables[0])
    }

    fn add(&mut self, table: &Table, changes: impl Changes + 'l) -> Result<()> {
        let id = table.info.id;
        self.db.inner.core.check_process()?;
        self.db.inner.core.published.state().view(table)?;
        if self.tables.contains(&id) {
            return Err(Error::Invalid {
                message: format!("the load has table `{}` already; give all its entries at once", table.name()),
            });
        }
        self.tables.push(id);
        let (form, outcome) = (table.info.form(), MergeOutcome::default());
        self.sources.push(Box::new(Load { changes, form, outcome, panic: None }));
        Ok(())
    }
}

impl fmt::Debug for BulkLoad<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BulkLoad").field("tables", &self.tables).finish_non_exhaustive()
    }
}

/// What goes into one table.
struct Load<C> {
    changes: C,
    form: LeafForm,
    outcome: MergeOutcome,
    panic: Option<Box<dyn Any + Send>>,
}

impl<C: Changes> LoadSource for Load<C> {
    fn merge(&mut self, pages: &Pages, root: Option<&Root>, writer: &mut PageWriter<'_>) -> Result<Option<Root>> {
        let Self { changes, form, .. } = self;
        let merge = AssertUnwindSafe(|| tree::merge(pages, root, changes, writer, *form, &mut || Ok(())));
        // The iterator is the program's. A panic must not poison the lock of the checkpointer, which is held here. What
        // was placed is released, as after an error.
        match catch_unwind(merge) {
            Ok(outcome) => self.outcome = outcome?,
            Err(panic) => {
                self.panic = Some(panic);
                return Err(Error::Input { source: "the iterator panicked".into() });
            }
        }
        Ok(self.outcome.root)
    }

    fn outcome(&self) -> MergeOutcome {
        self.outcome
    }

    fn take_panic(&mut self) -> Option<Box<dyn Any + Send>> {
        self.panic.take()
    }
}

/// Changes from an external sort.
struct SortedChanges(Sorted);

impl Changes for SortedChanges {
    #[inline]
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        Ok(self.0.peek()?.map(|(key, value)| Change { key, hash: None, action: Action::Put(value) }))
    }

    #[inline]
    fn advance(&mut self) {
        self.0.advance();
    }
}

fn input_error(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::Input { source: Box::new(error) }
}

fn check_lengths(table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { length_bytes: key.len() as u64, limit_bytes: KEY_BYTES_MAX as u64 });
    }
    if value.len() > VALUE_BYTES_MAX {
        return Err(Error::ValueTooLong { length_bytes: value.len() as u64, limit_bytes: VALUE_BYTES_MAX as u64 });
    }
    table.info.check_width(value.len())
}

/// Memory for sorting, unless another bound is given.
const SORT_MEMORY_BYTES: usize = 256 << 20;
