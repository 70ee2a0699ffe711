//! Databases and transactions, as one class: each method says which of them has it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fulgurite::{Database, Durability, ImageOptions, Isolation, Options, Read};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrow::{self, ArrowStream};
use crate::bounds::Bounds;
use crate::change_feed::{self, ChangeFeed, SLICE};
use crate::error::{Failure, Result};
use crate::kinds::{Kind, OpenDatabase, Reading, Writing, reading};
use crate::lent::Lent;
use crate::scans::{Rest, Scan, What, snapshot_of};
use crate::tables::{self, Table};
use crate::values::Value;
use crate::{loads, merging};

/// A database, a read transaction or a write transaction.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Source {
    kind: Kind,
}

impl Source {
    /// A transaction that is lent to a function.
    pub fn lent(lent: Arc<Lent>) -> Self {
        Self { kind: Kind::Lent(lent) }
    }

    /// A database that another object has open.
    pub fn of_database(open: Arc<OpenDatabase>) -> Self {
        Self { kind: Kind::Database(open) }
    }

    /// The open database.
    ///
    /// # Errors
    /// If this is a transaction.
    pub fn open_database(&self) -> Result<Arc<OpenDatabase>> {
        match &self.kind {
            Kind::Database(open) => Ok(Arc::clone(open)),
            _ => Err(Failure::invalid("this is a transaction, not a database")),
        }
    }
}

/// The options of an opening, and how long it waits for a database that is locked.
///
/// # Errors
/// If a value is not valid.
pub fn options(given: &Bound<'_, PyDict>) -> Result<(Options, Duration)> {
    let (mut options, mut wait) = (Database::options(), Duration::ZERO);
    for (name, value) in given {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        if name == "wait_for_lock" {
            wait = seconds(value.extract()?)?;
        } else {
            options = with_option(options, &name, &value).map_err(|failure| named(failure, &name, &value))?;
        }
    }
    Ok((options, wait))
}

fn with_option(options: Options, name: &str, value: &Bound<'_, PyAny>) -> Result<Options> {
    Ok(match name {
        "create" => options.create(value.extract()?),
        "read_only" => options.read_only(value.extract()?),
        "image" => options.image(value.extract()?),
        "map" => options.map(value.extract()?),
        "huge_pages" => options.huge_pages(value.extract()?),
        "background" => options.background(value.extract()?),
        "durability" => options.durability(durability(value.extract()?)?),
        "isolation" => options.isolation(isolation(value.extract()?)?),
        "page_size_bytes" => options.page_size_bytes(value.extract()?),
        "cache_bytes" => options.cache_bytes(value.extract()?),
        "delta_bytes" => options.delta_bytes(value.extract()?),
        "write_set_bytes" => options.write_set_bytes(value.extract()?),
        "max_size_bytes" => options.max_size_bytes(value.extract()?),
        "keep_log_bytes" => options.keep_log(value.extract()?),
        "checkpoint_interval" => {
            let interval = Duration::try_from_secs_f64(value.extract()?);
            let refused = || Failure::invalid(format!("{name} must be a number of seconds, 0 or more, not {value}"));
            options.checkpoint_interval(interval.map_err(|_| refused())?)
        }
        "merge_functions" => merging::functions::register(options, value)?,
        _ => return Err(Failure::invalid(format!("there is no option {name}"))),
    })
}

/// The error of a number that an option cannot have, with the name of the option.
fn named(failure: Failure, name: &str, value: &Bound<'_, PyAny>) -> Failure {
    match failure {
        Failure::Python(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Failure::invalid(format!("{name} is {value}, which is negative or too large"))
        }
        failure => failure,
    }
}

/// The durability with this name.
///
/// # Errors
/// If there is none.
pub fn durability(name: &str) -> Result<Durability> {
    match name {
        "memory" => Ok(Durability::Memory),
        "log" => Ok(Durability::Log),
        "disk" => Ok(Durability::Disk),
        _ => Err(Failure::invalid(format!("durability is memory, log or disk, not {name}"))),
    }
}

fn isolation(name: &str) -> Result<Isolation> {
    match name {
        "serializable" => Ok(Isolation::Serializable),
        "snapshot" => Ok(Isolation::Snapshot),
        _ => Err(Failure::invalid(format!("isolation is serializable or snapshot, not {name}"))),
    }
}

/// A number of seconds.
///
/// # Errors
/// If it is negative or no number.
pub fn seconds(given: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(given)
        .map_err(|_| Failure::invalid(format!("the timeout must be a number of seconds, 0 or more, not {given}")))
}

/// The value of a key, copied.
fn copied(kind: &Kind, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
    reading!(kind, txn => Ok(txn.get(&table.table, key)?.map(|value| value.to_vec())))
}

impl Source {
    /// The value of a key. It is copied, because what ends with the snapshot must not be waited for with the
    /// interpreter's lock held.
    fn found<'py>(&self, py: Python<'py>, table: &Table, key: &[u8]) -> Result<Option<Bound<'py, PyAny>>> {
        let value = self.kind.released(py, || copied(&self.kind, table, key))?;
        value.map(|value| table.values.decode(py, &value)).transpose()
    }
}

/// Opens a database.
#[pyfunction]
#[pyo3(signature = (path, **given))]
pub fn open(py: Python<'_>, path: PathBuf, given: Option<&Bound<'_, PyDict>>) -> Result<Source> {
    let (options, wait) = given.map_or_else(|| Ok((Database::options(), Duration::ZERO)), options)?;
    let (open, ()) = OpenDatabase::open(py, &path, wait, || Ok((options.clone().open(&path)?, Ok(()))))?;
    Ok(Source { kind: Kind::Database(Arc::new(open)) })
}

/// What every source has: reads.
#[pymethods]
impl Source {
    /// The tables, sorted by name.
    fn tables(&self, py: Python<'_>) -> Result<Vec<Table>> {
        let tables = self.kind.released(py, || match &self.kind {
            Kind::Database(open) => Ok(open.get()?.tables()?),
            Kind::Read(reading) => Ok(reading.get()?.tables()),
            Kind::Write(writing) => writing.with(|changes| Ok(changes.txn.tables())),
            Kind::Lent(lent) => lent.with(|changer| Ok(changer.tables())),
        });
        Ok(tables?.into_iter().map(Table::new).collect())
    }

    /// The table with this name.
    fn open_table(&self, py: Python<'_>, name: &str) -> Result<Table> {
        let table = self.kind.released(py, || match &self.kind {
            Kind::Database(open) => Ok(open.get()?.open_table(name)?),
            Kind::Read(reading) => Ok(reading.get()?.open_table(name)?),
            Kind::Write(writing) => writing.with(|changes| Ok(changes.txn.open_table(name)?)),
            Kind::Lent(lent) => lent.with(|changer| Ok(changer.open_table(name)?)),
        });
        Ok(Table::new(table?))
    }

    /// The sequence of the newest commit that it sees.
    fn sequence(&self, py: Python<'_>) -> Result<u64> {
        self.kind.released(py, || match &self.kind {
            Kind::Database(open) => Ok(open.get()?.read()?.sequence().0),
            Kind::Read(reading) => Ok(reading.get()?.sequence().0),
            Kind::Write(writing) => writing.with(|changes| Ok(changes.txn.sequence().0)),
            Kind::Lent(lent) => lent.with(|changer| Ok(changer.sequence().0)),
        })
    }

    /// The value of a key, or None.
    fn get<'py>(&self, py: Python<'py>, table: &Table, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        self.found(py, table, &table.keys.encode(key)?)
    }

    /// As get, but returns `missing` if the key has no value: None may be a value.
    fn get_or<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        key: &Bound<'py, PyAny>,
        missing: Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        Ok(self.found(py, table, &table.keys.encode(key)?)?.unwrap_or(missing))
    }

    /// The stored bytes of a key's value, or None.
    fn view(&self, py: Python<'_>, table: &Table, key: &Bound<'_, PyAny>) -> Result<Option<Value>> {
        let key = table.keys.encode(key)?;
        match &self.kind {
            Kind::Read(reading) => Ok(py.detach(|| reading.lease(&table.table, &key))?.map(Value::leased)),
            kind => Ok(kind.released(py, || copied(kind, table, &key))?.map(Value::owned)),
        }
    }

    /// Whether a key has a value.
    fn contains(&self, py: Python<'_>, table: &Table, key: &Bound<'_, PyAny>) -> Result<bool> {
        let key = table.keys.encode(key)?;
        self.kind.released(py, || reading!(&self.kind, txn => Ok(txn.contains_key(&table.table, &key)?)))
    }

    /// The values of many keys, in their order; None for a key without a value.
    fn get_many<'py>(&self, py: Python<'py>, table: &Table, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>> {
        let keys = keys.try_iter()?.map(|key| table.keys.encode(&key?)).collect::<Result<Vec<_>>>()?;
        let values = self.kind.released(py, || {
            reading!(&self.kind, txn => {
                let mut values = Vec::with_capacity(keys.len());
                let copied = |value: Option<fulgurite::Value<'_>>| value.map(|value| value.to_vec());
                txn.get_many_with(&table.table, &keys, |value| values.push(copied(value)))?;
                Ok::<_, Failure>(values)
            })
        })?;
        let objects = values.iter().map(|value| match value {
            Some(value) => table.values.decode(py, value),
            None => Ok(py.None().into_bound(py)),
        });
        Ok(PyList::new(py, objects.collect::<Result<Vec<_>>>()?)?)
    }

    /// The number of entries.
    #[pyo3(signature = (table, start=None, stop=None, prefix=None))]
    fn count(
        &self,
        py: Python<'_>,
        table: &Table,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
    ) -> Result<u64> {
        let bounds = Bounds::new(table, start, stop, prefix)?;
        self.kind.released(py, || reading!(&self.kind, txn => Ok(txn.count(&table.table, bounds.as_slices())?)))
    }

    /// An iterator: `what` is 0 for items, 1 for keys, 2 for values.
    #[pyo3(signature = (table, start=None, stop=None, prefix=None, reverse=false, what=0))]
    fn scan(
        &self,
        table: Py<Table>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        what: u8,
    ) -> Result<Scan> {
        let bounds = Bounds::new(table.get(), start, stop, prefix)?;
        let what = match what {
            0 => What::Items,
            1 => What::Keys,
            _ => What::Values,
        };
        Scan::new(&self.kind, table, Rest::new(bounds, reverse), what)
    }

    /// A stream of record batches.
    #[pyo3(signature = (table, start=None, stop=None, prefix=None, reverse=false, batch_rows=65536))]
    fn arrow(
        &self,
        table: &Table,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        batch_rows: usize,
    ) -> Result<ArrowStream> {
        arrow::check_batch_rows(batch_rows)?;
        let bounds = Bounds::new(table, start, stop, prefix)?;
        let kind = snapshot_of(&self.kind)?;
        // The stream keeps the snapshot itself, so that it may outlive the transaction.
        let kind = match kind {
            Kind::Read(reading) => Kind::Read(Arc::new(Reading::of(reading.get()?))),
            other => other,
        };
        let mut rest = Rest::new(bounds, reverse);
        let columns = [("key", &table.keys), ("value", &table.values)];
        let columns: Vec<_> = columns.into_iter().map(|(name, column)| arrow::Field::of(name, column)).collect();
        let (engine, fields) = (table.table.clone(), columns.clone());
        let next = move || {
            let entries = rest.read(&kind, &engine, batch_rows).map_err(|failure| arrow::text_of(&failure))?;
            if entries.is_empty() {
                return Ok(None);
            }
            let (keys, values): (Vec<_>, Vec<_>) =
                entries.into_iter().map(|(key, value)| (Some(key), Some(value))).unzip();
            let parts = [keys, values].into_iter().zip(&fields);
            Ok(Some(parts.map(|(cells, field)| field.array(&cells)).collect::<Result<Vec<_>, String>>()?))
        };
        Ok(ArrowStream::new(columns, Box::new(next)))
    }

    /// Begins a read transaction.
    #[pyo3(signature = (durable=false))]
    fn read(&self, py: Python<'_>, durable: bool) -> Result<Self> {
        let database = self.kind.database()?;
        let txn = py.detach(|| if durable { database.read_durable() } else { database.read() })?;
        Ok(Self { kind: Kind::Read(Arc::new(Reading::new(txn))) })
    }

    /// Begins a write transaction.
    #[pyo3(signature = (isolation=None))]
    fn write(&self, py: Python<'_>, isolation: Option<&str>) -> Result<Self> {
        let open = self.open_database()?;
        let database = open.get_to_write()?;
        let isolation = isolation.map(self::isolation).transpose()?;
        let txn = py.detach(|| match isolation {
            Some(isolation) => database.write_with(isolation),
            None => database.write(),
        })?;
        Ok(Self { kind: Kind::Write(Arc::new(Writing::new(txn, &open))) })
    }

    /// Begins an exclusive write transaction. None if another one has not ended in time. Signals of the system are
    /// handled meanwhile.
    fn exclusive(&self, py: Python<'_>, timeout: f64) -> Result<Option<Self>> {
        let open = self.open_database()?;
        let deadline = Instant::now().checked_add(seconds(timeout)?);
        loop {
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
            // Not kept over slices: another thread may close the database meanwhile.
            let database = open.get_after_loads()?;
            let begun = py.detach(move || database.begin_exclusive(left.min(SLICE)))?;
            if let Some(txn) = begun {
                let writing = Arc::new(Writing::new(txn, &open));
                open.note_exclusive(&writing)?;
                return Ok(Some(Self { kind: Kind::Write(writing) }));
            }
            if left.is_zero() {
                return Ok(None);
            }
            py.check_signals()?;
        }
    }

    /// Creates a table.
    #[pyo3(signature = (name, key, value, counted, packed, merge=None, merge_function=None))]
    #[expect(clippy::too_many_arguments, reason = "the parameters of a method of Python")]
    fn create_table(
        &self,
        py: Python<'_>,
        name: &str,
        key: &str,
        value: &str,
        counted: bool,
        packed: bool,
        merge: Option<&str>,
        merge_function: Option<&str>,
    ) -> Result<Table> {
        let options = tables::options(key, value, counted, packed, (merge, merge_function))?;
        let created = py.detach(|| self.kind.change(|txn| txn.engine()?.create_table(name, options.clone())))?;
        Ok(Table::new(created))
    }

    /// Opens a table, or creates it. Only for databases.
    #[pyo3(signature = (name, key, value, counted, packed, merge=None, merge_function=None))]
    #[expect(clippy::too_many_arguments, reason = "the parameters of a method of Python")]
    fn open_or_create_table(
        &self,
        py: Python<'_>,
        name: &str,
        key: &str,
        value: &str,
        counted: bool,
        packed: bool,
        merge: Option<&str>,
        merge_function: Option<&str>,
    ) -> Result<Table> {
        let options = tables::options(key, value, counted, packed, (merge, merge_function))?;
        let database = self.kind.database()?;
        // Opening an existing table does not wait.
        if py.detach(|| database.open_table(name)).is_err() {
            drop(self.kind.database_to_write()?);
        }
        Ok(Table::new(py.detach(|| database.open_or_create_table(name, options))?))
    }

    /// Removes a table.
    fn drop_table(&self, py: Python<'_>, table: &Table) -> Result<()> {
        py.detach(|| self.kind.change(|txn| txn.engine()?.drop_table(&table.table)))
    }

    /// Renames a table.
    fn rename_table(&self, py: Python<'_>, table: &Table, name: &str) -> Result<Table> {
        Ok(Table::new(py.detach(|| self.kind.change(|txn| txn.engine()?.rename_table(&table.table, name)))?))
    }

    /// Stores a value.
    fn put(&self, py: Python<'_>, table: &Table, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
        let (key, value) = (table.keys.encode(key)?, table.values.encode(value)?);
        self.kind.released(py, || self.kind.change(|txn| txn.put(&table.table, &key, &value)))
    }

    /// Stores a value if the key has none. Returns whether the value was stored.
    fn insert(&self, py: Python<'_>, table: &Table, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
        let (key, value) = (table.keys.encode(key)?, table.values.encode(value)?);
        self.kind.released(py, || self.kind.change(|txn| txn.insert(&table.table, &key, &value)))
    }

    /// Merges an operand into a value.
    fn merge(&self, py: Python<'_>, table: &Table, key: &Bound<'_, PyAny>, operand: &Bound<'_, PyAny>) -> Result<()> {
        let (key, operand) = (table.keys.encode(key)?, table.values.encode(operand)?);
        self.kind.released(py, || self.kind.change(|txn| txn.merge(&table.table, &key, &operand)))
    }

    /// Stores the pairs of an iterable.
    fn put_many(&self, py: Python<'_>, table: &Table, pairs: &Bound<'_, PyAny>) -> Result<()> {
        let entries = pairs.try_iter()?.map(|item| loads::entry_of(table, &item?)).collect::<Result<Vec<_>>>()?;
        py.detach(|| {
            self.kind.change(|txn| txn.put_many(&table.table, entries.iter().map(|(key, value)| (key, value))))
        })
    }

    /// Removes a key. Returns whether it had a value.
    fn delete(&self, py: Python<'_>, table: &Table, key: &Bound<'_, PyAny>) -> Result<bool> {
        let key = table.keys.encode(key)?;
        self.kind.released(py, || self.kind.change(|txn| txn.delete(&table.table, &key)))
    }

    /// Removes a key. Returns its value, or `missing` if it has none: None may be a value.
    fn remove<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        key: &Bound<'py, PyAny>,
        missing: Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        let key = table.keys.encode(key)?;
        let removed = py.detach(|| {
            self.kind.change(|txn| {
                let Some(value) = txn.remove(&table.table, &key)? else { return Ok(Ok(None)) };
                // A value that cannot be returned is not removed.
                if let Err(failure) = table.values.check(&value) {
                    txn.put(&table.table, &key, &value)?;
                    return Ok(Err(failure));
                }
                Ok(Ok(Some(value)))
            })
        })??;
        removed.map_or(Ok(missing), |value| table.values.decode(py, &value))
    }

    /// Removes the first or last entry. Returns it, or None.
    fn pop<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        last: bool,
    ) -> Result<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let popped = py.detach(|| {
            self.kind.change(|txn| {
                let Some((key, value)) = txn.pop(&table.table, last)? else { return Ok(Ok(None)) };
                // An entry that cannot be returned is not removed.
                if let Err(failure) = table.keys.check(&key).and_then(|()| table.values.check(&value)) {
                    txn.put(&table.table, &key, &value)?;
                    return Ok(Err(failure));
                }
                Ok(Ok(Some((key, value))))
            })
        })??;
        let Some((key, value)) = popped else { return Ok(None) };
        Ok(Some((table.keys.decode(py, &key)?, table.values.decode(py, &value)?)))
    }

    /// Removes entries. Returns their number.
    #[pyo3(signature = (table, start=None, stop=None, prefix=None))]
    fn delete_range(
        &self,
        py: Python<'_>,
        table: &Table,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
    ) -> Result<u64> {
        let bounds = Bounds::new(table, start, stop, prefix)?;
        self.kind.released(py, || self.kind.change(|txn| txn.delete_range(&table.table, bounds.as_slices())))
    }

    /// Makes a savepoint, and returns its number.
    fn savepoint(&self, py: Python<'_>) -> Result<usize> {
        let Kind::Write(writing) = &self.kind else { return Err(Failure::read_only()) };
        py.detach(|| {
            writing.with(|changes| {
                changes.savepoints.push(changes.txn.savepoint());
                Ok(changes.savepoints.len() - 1)
            })
        })
    }

    /// Undoes the changes after a savepoint, which can be used again.
    fn rollback_to(&self, py: Python<'_>, number: usize) -> Result<()> {
        let Kind::Write(writing) = &self.kind else { return Err(Failure::read_only()) };
        py.detach(|| {
            writing.with(|changes| {
                let savepoint = changes.savepoints.get(number).copied();
                let savepoint = savepoint.ok_or_else(|| Failure::invalid(format!("there is no savepoint {number}")))?;
                changes.txn.rollback_to(savepoint)?;
                changes.savepoints.truncate(number + 1);
                Ok(())
            })
        })
    }

    /// Commits a write transaction, and returns the sequence of the commit.
    #[pyo3(signature = (durability=None))]
    fn commit(&self, py: Python<'_>, durability: Option<&str>) -> Result<u64> {
        let Kind::Write(writing) = &self.kind else { return Err(Failure::read_only()) };
        let durability = durability.map(self::durability).transpose()?;
        py.detach(|| {
            let txn = writing.take_to_commit()?.ok_or_else(|| Failure::closed("transaction"))?;
            Ok(match durability {
                Some(durability) => txn.commit_with(durability)?.0,
                None => txn.commit()?.0,
            })
        })
    }

    /// Ends a transaction or closes a database. Does nothing the second time.
    fn end(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| match &self.kind {
            Kind::Database(open) => open.close(),
            Kind::Read(reading) => reading.end(),
            Kind::Write(writing) => writing.abort(),
            Kind::Lent(_) => Err(Failure::invalid("this transaction ends when the function returns")),
        })
    }

    /// Makes all commits durable, and returns the sequence of the newest one.
    fn sync(&self, py: Python<'_>) -> Result<u64> {
        let database = self.kind.database()?;
        Ok(py.detach(|| database.sync())?.0)
    }

    /// Merges all commits into the file.
    fn checkpoint(&self, py: Python<'_>) -> Result<()> {
        let database = self.kind.database_after_loads()?;
        Ok(py.detach(|| database.checkpoint())?)
    }

    /// Removes unused space from the file, and returns by how many bytes it shrank.
    fn compact(&self, py: Python<'_>) -> Result<u64> {
        let database = self.kind.database_after_loads()?;
        Ok(py.detach(|| database.compact())?)
    }

    /// Copies the newest committed state to a new file.
    fn backup(&self, py: Python<'_>, path: PathBuf) -> Result<()> {
        let database = self.kind.database()?;
        Ok(py.detach(|| database.backup_to(path))?)
    }

    /// Copies the newest committed state to a new compressed file.
    #[pyo3(signature = (path, level=None))]
    fn write_image(&self, py: Python<'_>, path: PathBuf, level: Option<i32>) -> Result<()> {
        let database = self.kind.database()?;
        let options = level.map_or_else(ImageOptions::new, |level| ImageOptions::new().level(level));
        Ok(py.detach(|| database.write_image(path, &options))?)
    }

    /// Checks every page of the newest checkpoint, and returns the texts of damages.
    fn check(&self, py: Python<'_>) -> Result<Vec<String>> {
        let database = self.kind.database()?;
        let report = py.detach(|| database.check())?;
        Ok(report.damages.iter().map(ToString::to_string).collect())
    }

    /// Sizes and numbers.
    fn stats<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let database = self.kind.database()?;
        let stats = py.detach(|| database.stats())?;
        let figures = [
            ("file_bytes", stats.file_bytes),
            ("log_bytes", stats.log_bytes),
            ("free_bytes", stats.free_bytes),
            ("pinned_bytes", stats.pinned_bytes),
            ("delta_bytes", stats.delta_bytes),
            ("sequence", stats.sequence),
            ("durable_sequence", stats.durable_sequence),
            ("tables", stats.tables.len() as u64),
        ];
        let made = PyDict::new(py);
        figures.into_iter().try_for_each(|(name, figure)| made.set_item(name, figure))?;
        Ok(made)
    }

    /// The commits after the one with this sequence.
    fn changes(&self, py: Python<'_>, after: u64) -> Result<ChangeFeed> {
        let open = self.open_database()?;
        py.detach(|| ChangeFeed::open(open, after))
    }

    /// Waits for a durable commit after the one with this sequence. Returns the newest.
    fn wait_durable(&self, py: Python<'_>, after: u64, timeout: f64) -> Result<u64> {
        change_feed::wait_durable(py, &*self.open_database()?, after, seconds(timeout)?)
    }

    /// Loads the pairs of an iterable. Returns the numbers of inserted and replaced keys.
    fn bulk_load(
        &self,
        py: Python<'_>,
        table: &Table,
        pairs: &Bound<'_, PyAny>,
        is_sorted: bool,
    ) -> Result<(u64, u64)> {
        loads::load(py, &*self.open_database()?, table, pairs, is_sorted)
    }
}
