//! Bulk loads from iterables of Python.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

use fulgurite::{Error, Table as EngineTable};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

use crate::error::{Failure, Result};
use crate::keys::type_of;
use crate::kinds::OpenDatabase;
use crate::scans::Entry;
use crate::tables::Table;

/// The iterable has failed. The exception is kept where the load began.
#[derive(Debug)]
struct NoEntry;

impl fmt::Display for NoEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the iterable of the entries failed")
    }
}

impl std::error::Error for NoEntry {}

/// The entries of an iterable. The interpreter's lock is taken for batches of them.
struct Entries<'e> {
    iterator: Py<PyIterator>,
    table: &'e Table,
    batch: VecDeque<Entry>,
    has_ended: bool,
    failure: &'e Mutex<Option<Failure>>,
}

/// The entries of a batch.
const BATCH: usize = 1024;

/// The key and value of an item.
///
/// # Errors
/// If it is not a pair, or of other types than those of the table.
pub fn entry_of(table: &Table, item: &Bound<'_, PyAny>) -> Result<Entry> {
    if !item.is_instance_of::<PyTuple>() {
        let text = format!("an entry must be a pair (key, value), not {}", type_of(item));
        return Err(PyTypeError::new_err(text).into());
    }
    let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
    Ok((table.keys.encode(&key)?, table.values.encode(&value)?))
}

impl Entries<'_> {
    fn read(&mut self) -> Result<()> {
        Python::attach(|py| {
            let mut iterator = self.iterator.bind(py).clone();
            for item in iterator.by_ref().take(BATCH) {
                self.batch.push_back(entry_of(self.table, &item?)?);
            }
            Ok(())
        })
    }
}

impl Iterator for Entries<'_> {
    type Item = std::result::Result<Entry, NoEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.is_empty() && !self.has_ended {
            let read = self.read();
            self.has_ended = self.batch.len() < BATCH;
            if let Err(failure) = read {
                self.has_ended = true;
                self.batch.clear();
                *self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(failure);
                return Some(Err(NoEntry));
            }
        }
        self.batch.pop_front().map(Ok)
    }
}

/// The memory for sorting entries; more of them go to temporary files.
const SORT_MEMORY_BYTES: usize = 256 << 20;

/// Loads the pairs of an iterable into a table. Returns the numbers of inserted and replaced keys.
///
/// # Errors
/// Those of the iterable and of the engine.
pub fn load(
    py: Python<'_>,
    open: &OpenDatabase,
    table: &Table,
    pairs: &Bound<'_, PyAny>,
    is_sorted: bool,
) -> Result<(u64, u64)> {
    let database = open.get_to_write()?;
    let iterator = pairs.try_iter()?.unbind();
    let failure = Mutex::new(None);
    let engine: &EngineTable = &table.table;
    let loaded = py.detach(|| {
        let entries = Entries { iterator, table, batch: VecDeque::new(), has_ended: false, failure: &failure };
        if is_sorted {
            open.while_loading(|| database.try_bulk_load(engine, entries))
        } else {
            Ok(database.try_bulk_load_unsorted(engine, entries, SORT_MEMORY_BYTES))
        }
    })?;
    match (loaded, failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)) {
        (Err(Error::Input { .. }), Some(failure)) => Err(failure),
        (Err(error), _) => Err(error.into()),
        (Ok(summary), _) => Ok((summary.inserted, summary.replaced)),
    }
}
