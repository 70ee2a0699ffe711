//! Iterators over entries. Entries are read in batches, each with a new start after the last key.

use std::collections::VecDeque;
use std::ops;
use std::sync::{Arc, Mutex};

use fulgurite::{Read, Table as EngineTable};
use pyo3::prelude::*;

use crate::bounds::Bounds;
use crate::error::{Failure, Result};
use crate::kinds::{Kind, Reading, reading};
use crate::lent::Loan;
use crate::merging::running::check_not_merging;
use crate::process::ProcessBound;
use crate::tables::Table;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Entries that were not read yet.
#[derive(Debug)]
pub struct Rest {
    bounds: Bounds,
    is_reverse: bool,
    batch: usize,
    has_ended: bool,
}

impl Rest {
    /// All entries within bounds.
    pub fn new(bounds: Bounds, is_reverse: bool) -> Self {
        Self { bounds, is_reverse, batch: FIRST_BATCH, has_ended: false }
    }

    /// Reads the next batch: at most `most` entries, and no more after so many bytes.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn read(&mut self, kind: &Kind, table: &EngineTable, most: usize) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        if self.has_ended {
            // An ended transaction is an error, also after the last entry.
            reading!(kind, _txn => Ok(()))?;
            return Ok(entries);
        }
        let (is_reverse, bounds) = (self.is_reverse, &self.bounds);
        let has_ended = reading!(kind, txn => {
            let mut range = txn.range(table, bounds.as_slices())?;
            let mut bytes = 0;
            loop {
                if entries.len() >= most || bytes > BATCH_BYTES_MAX {
                    break Ok(false);
                }
                let next = if is_reverse { range.next_back() } else { range.next() };
                let Some(entry) = next else { break Ok(true) };
                let (key, value) = entry?;
                bytes += key.len() + value.len();
                entries.push((key.to_vec(), value.to_vec()));
            }
        })?;
        self.has_ended = has_ended;
        if let Some((key, _)) = entries.last() {
            let end = if is_reverse { &mut self.bounds.high } else { &mut self.bounds.low };
            *end = ops::Bound::Excluded(key.clone());
        }
        Ok(entries)
    }
}

/// The entries of the first batch; each further one has twice as many, up to the most.
const FIRST_BATCH: usize = 16;
const BATCH_MAX: usize = 1024;
const BATCH_BYTES_MAX: usize = 4 << 20;

/// What an iterator returns.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// Pairs of keys and values.
    Items,
    /// Keys.
    Keys,
    /// Values.
    Values,
}

struct State {
    rest: Rest,
    entries: VecDeque<Entry>,
}

/// An iterator over entries.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Scan {
    kind: Kind,
    table: Py<Table>,
    what: What,
    /// The loan of a lent transaction, with which the iterator ends.
    loan: Option<Loan>,
    /// Whether it has a snapshot of its own, which it releases when all entries are read.
    owns_snapshot: bool,
    state: ProcessBound<Mutex<State>>,
}

impl Scan {
    /// An iterator. One over a database has a snapshot.
    ///
    /// # Errors
    /// If the source is closed.
    pub fn new(kind: &Kind, table: Py<Table>, rest: Rest, what: What) -> Result<Self> {
        let state = ProcessBound::new(Mutex::new(State { rest, entries: VecDeque::new() }));
        let loan = if let Kind::Lent(lent) = kind { Some(lent.loan()?) } else { None };
        let owns_snapshot = matches!(kind, Kind::Database(_));
        Ok(Self { kind: snapshot_of(kind)?, table, what, loan, owns_snapshot, state })
    }
}

/// A source that shows one state.
///
/// # Errors
/// If the source is closed.
pub fn snapshot_of(kind: &Kind) -> Result<Kind> {
    Ok(match kind {
        Kind::Database(open) => Kind::Read(Arc::new(Reading::new(open.get()?.read()?))),
        other => other.clone(),
    })
}

#[pymethods]
impl Scan {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let table = self.table.get();
        let entry = py.detach(|| -> Result<Option<Entry>> {
            let mut state = self.state.get()?.lock().map_err(|_| Failure::broken())?;
            let State { rest, entries } = &mut *state;
            if let (Kind::Lent(lent), Some(loan)) = (&self.kind, self.loan) {
                lent.check(loan)?;
            }
            if self.owns_snapshot && rest.has_ended {
                check_not_merging()?;
            } else if entries.is_empty() {
                let batch = rest.batch;
                entries.extend(rest.read(&self.kind, &table.table, batch)?);
                rest.batch = (2 * batch).min(BATCH_MAX);
                if let (true, true, Kind::Read(reading)) = (self.owns_snapshot, rest.has_ended, &self.kind) {
                    reading.end()?;
                }
            } else if let Kind::Read(reading) = &self.kind {
                reading.get()?;
            } else if let Kind::Write(writing) = &self.kind {
                writing.with(|_| Ok(()))?;
            }
            Ok(entries.pop_front())
        })?;
        let Some((key, value)) = entry else { return Ok(None) };
        Ok(Some(match self.what {
            What::Keys => table.keys.decode(py, &key)?,
            What::Values => table.values.decode(py, &value)?,
            What::Items => {
                (table.keys.decode(py, &key)?, table.values.decode(py, &value)?).into_pyobject(py)?.into_any()
            }
        }))
    }
}
