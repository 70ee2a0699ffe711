//! Event stores: opening, appending, transactions, retention.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fulgurite::Database;
use fulgurite_events::{Error, Expected, Retention, StoreOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Failure, Result};
use crate::events::arguments;
use crate::events::reading::EventSnapshot;
use crate::events::transaction::{AppendedTuple, EventTransaction, tuple_of};
use crate::kinds::OpenDatabase;
use crate::lent::Lent;
use crate::merging::running::check_not_merging;
use crate::names;
use crate::process::ProcessBound;
use crate::source::{Source, durability, options};

/// An event store.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct EventStore {
    /// None after closing. Dropped before the database.
    store: ProcessBound<Mutex<Option<fulgurite_events::EventStore>>>,
    open: Arc<OpenDatabase>,
    /// Whether closing the store closes the database.
    owns_database: bool,
}

impl EventStore {
    fn new(store: fulgurite_events::EventStore, open: Arc<OpenDatabase>, owns_database: bool) -> Self {
        Self { store: ProcessBound::new(Mutex::new(Some(store))), open, owns_database }
    }

    /// The store.
    ///
    /// # Errors
    /// If it or its database is closed.
    pub fn get(&self) -> Result<fulgurite_events::EventStore> {
        let store = self.store.get()?.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let store = store.ok_or_else(|| Failure::closed("store"))?;
        self.open.get()?;
        Ok(store)
    }

    /// The store, for calls that commit by themselves.
    ///
    /// # Errors
    /// As [`EventStore::get`]. Also within a transaction of the store, to which the call would not belong.
    pub fn get_outside(&self) -> Result<fulgurite_events::EventStore> {
        let store = self.get()?;
        if store.is_in_transaction() { Err(Error::Nested.into()) } else { Ok(store) }
    }

    /// The open database, for objects that end with it.
    pub fn open(&self) -> Arc<OpenDatabase> {
        Arc::clone(&self.open)
    }
}

/// The options of a store, and whether the word is one of its options.
fn set_option(options: StoreOptions, name: &str, value: &Bound<'_, PyAny>) -> Result<StoreOptions> {
    Ok(match name {
        "name" => options.name(value.extract::<String>()?),
        "durability" => options.durability(durability(value.extract()?)?),
        "id_window" => options.id_window(value.extract()?),
        "states_kept" => options.states_kept(value.extract()?),
        "upcasters" => options.upcasters(arguments::upcasters(value.cast::<PyDict>().map_err(PyErr::from)?)?),
        _ => return Err(Failure::invalid(format!("there is no option {name}"))),
    })
}

fn store_options(given: &Bound<'_, PyDict>) -> Result<StoreOptions> {
    let mut options = StoreOptions::default();
    for (name, value) in given {
        if !value.is_none() {
            options = set_option(options, name.extract()?, &value)?;
        }
    }
    Ok(options)
}

/// Opens the store of a database at a path. `given` has options of the store, `engine` those of the database.
/// `must_exist` says that the store is not created.
#[pyfunction]
#[pyo3(signature = (path, given, engine, must_exist=false))]
pub fn open_events(
    py: Python<'_>,
    path: PathBuf,
    given: &Bound<'_, PyDict>,
    engine: &Bound<'_, PyDict>,
    must_exist: bool,
) -> Result<EventStore> {
    let (given, (engine, wait)) = (store_options(given)?, options(engine)?);
    let (open, store) = OpenDatabase::open(py, &path, wait, || {
        let database = engine.clone().open(&path)?;
        let given = given.clone();
        let store = match must_exist {
            true => given.open_existing_in(&database).map_err(|error| missing(&database, error)),
            false => given.open_in(&database).map_err(Failure::from),
        };
        Ok((database, store))
    })?;
    Ok(EventStore::new(store, Arc::new(open), true))
}

/// The error of a store that does not exist, with its file.
fn missing(database: &Database, error: Error) -> Failure {
    match error {
        Error::NotEvents { name } => {
            let (path, remedy) = (database.path().display(), "check the name, or omit create=False");
            let text = format!("{path}: the database has no event store `{name}`; {remedy}");
            Failure::Kind("NOT_A_DATABASE", text)
        }
        error => error.into(),
    }
}

/// Opens the store of an open database.
#[pyfunction]
pub fn open_events_in(py: Python<'_>, database: &Source, given: &Bound<'_, PyDict>) -> Result<EventStore> {
    let (given, open) = (store_options(given)?, database.open_database()?);
    let database = open.get()?;
    let store = py.detach(|| given.open_in(&database))?;
    Ok(EventStore::new(store, open, false))
}

#[pymethods]
impl EventStore {
    /// The name.
    #[getter]
    fn name(&self) -> Result<String> {
        Ok(self.get()?.name().to_owned())
    }

    /// The open database, for its tables.
    fn source(&self) -> Source {
        Source::of_database(Arc::clone(&self.open))
    }

    /// A snapshot of everything that was appended, or of what is durable.
    fn snapshot(&self, py: Python<'_>, durable: bool) -> Result<EventSnapshot> {
        let store = self.get()?;
        let snapshot = py.detach(|| if durable { store.durable_snapshot() } else { store.snapshot() })?;
        Ok(EventSnapshot::new(snapshot))
    }

    /// Appends events to a stream, unless an event after a position matches a query.
    #[pyo3(signature = (stream, events, expected, unless=None, after=None))]
    fn append(
        &self,
        py: Python<'_>,
        stream: &Bound<'_, PyAny>,
        events: &Bound<'_, PyAny>,
        expected: &Bound<'_, PyAny>,
        unless: Option<&Bound<'_, PyAny>>,
        after: Option<u64>,
    ) -> Result<AppendedTuple> {
        let (name, expected) = (names::bytes_of(stream)?, arguments::expected(expected)?);
        let condition = unless.map(|unless| arguments::condition(unless, after)).transpose()?;
        let events = arguments::new_events(events)?;
        let store = self.get()?;
        let appended = py.detach(|| {
            arguments::with_events(&events, |events| match (condition, expected) {
                (None, _) => store.append(&name, expected, events),
                (Some(condition), Expected::Any) => store.append_if(&condition, &name, events),
                (Some(condition), _) => {
                    store.transact(|transaction| transaction.append_if(&condition, &name, expected, events))
                }
            })
        })?;
        Ok(tuple_of(&appended))
    }

    /// Calls a function with a transaction, and commits it. Returns what the function returned.
    fn transact(&self, py: Python<'_>, change: Py<PyAny>) -> Result<Py<PyAny>> {
        let store = self.get()?;
        Ok(py.detach(|| {
            store.transact(|transaction| {
                // Objects of an attempt do not refer to the transaction of the next one.
                let lent = Lent::new();
                lent.during_events(transaction, || {
                    Python::attach(|py| {
                        let lent = EventTransaction::new(Arc::clone(&lent));
                        change.call1(py, (lent,)).map_err(|error| raised(py, error))
                    })
                })
            })
        })?)
    }

    /// Removes events from the log. Returns the first position that is kept, and the numbers of chunks that were
    /// removed and rewritten.
    fn apply_retention(
        &self,
        py: Python<'_>,
        age_us_max: Option<u64>,
        count_max: Option<u64>,
        bytes_max: Option<u64>,
    ) -> Result<(u64, u64, u64)> {
        let store = self.get_outside()?;
        let retention = Retention { age_max: age_us_max.map(Duration::from_micros), count_max, bytes_max };
        let report = py.detach(|| store.apply_retention(&retention))?;
        Ok((report.start.0, report.chunks_removed, report.chunks_rewritten))
    }

    /// Closes the store, and the database if the store has opened it. Does nothing the second time.
    fn close(&self, py: Python<'_>) -> Result<()> {
        check_not_merging()?;
        let store = self.store.get()?.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| {
            drop(store);
            if self.owns_database { self.open.close() } else { Ok(()) }
        })
    }
}

/// An exception of a function that has a transaction. A conflict repeats the transaction.
pub fn raised(py: Python<'_>, error: PyErr) -> Error {
    let kind = error.value(py).getattr("kind").and_then(|kind| kind.extract::<String>());
    match kind.as_deref() {
        Ok("CONFLICT" | "TRANSACTION_TOO_OLD") => fulgurite::Error::TransactionTooOld.into(),
        _ => Error::program(error),
    }
}
