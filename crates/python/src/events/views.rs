//! Views: functions of Python that fold events into tables, each event exactly once.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fulgurite::WriteTxn;
use fulgurite_events::{Error, Event as StoredEvent, Position, View, ViewContext, ViewProgress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Failure, Result};
use crate::events::arguments;
use crate::events::following::SLICE;
use crate::events::recorded::{Event, StreamNames};
use crate::events::store::{EventStore, raised};
use crate::lent::Lent;
use crate::source::Source;
use crate::tables;

/// A view as a tuple: name, tables with their options, the events of a transaction, and the member of a group.
type ViewTuple = (String, Vec<TableTuple>, u64, Option<(u32, u32)>);

/// A table as a tuple: name, types of keys and values, counted, packed, merge operator, merge function.
type TableTuple = (String, String, String, bool, bool, Option<String>, Option<String>);

fn view_of((name, tables, batch_events, partition): ViewTuple) -> Result<View> {
    let mut view = View::new(name).batch_events(batch_events).partition(arguments::partition(partition)?);
    for (name, key, value, counted, packed, merge, function) in tables {
        let merge = (merge.as_deref(), function.as_deref());
        view = view.table(name, tables::options(&key, &value, counted, packed, merge)?);
    }
    Ok(view)
}

fn names_of((_, tables, _, _): &ViewTuple) -> Vec<String> {
    tables.iter().map(|table| table.0.clone()).collect()
}

/// Progress as a tuple: events, position, missed.
type ProgressTuple = (u64, u64, u64);

fn tuple_of(progress: &ViewProgress) -> ProgressTuple {
    (progress.events, progress.position.0, progress.missed)
}

/// A function of Python that folds events.
struct Fold {
    function: Py<PyAny>,
    /// The names of the view's tables. While it is rebuilt, its tables have others.
    tables: Vec<String>,
    lent: Arc<Lent>,
    /// The transaction for the function, made at the first event: the names of the tables are known then.
    transaction: RefCell<Option<Py<PyAny>>>,
    names: RefCell<StreamNames>,
}

impl Fold {
    fn new(function: Py<PyAny>, tables: Vec<String>) -> Self {
        let lent = Lent::new();
        Self { function, tables, lent, transaction: RefCell::default(), names: RefCell::default() }
    }

    /// Folds an event.
    fn fold(&self, txn: &mut WriteTxn, context: &ViewContext<'_>, event: &StoredEvent<'_>) -> Result<(), Error> {
        let recorded = self.names.borrow_mut().record(context.snapshot(), event)?;
        self.lent.during(txn, || {
            Python::attach(|py| {
                let transaction = self.transaction(py, context).map_err(Error::program)?;
                let folded = self.function.call1(py, (transaction, Event(recorded)));
                folded.map(drop).map_err(|error| raised(py, error))
            })
        })
    }

    fn transaction(&self, py: Python<'_>, context: &ViewContext<'_>) -> PyResult<Py<PyAny>> {
        if let Some(transaction) = &*self.transaction.borrow() {
            return Ok(transaction.clone_ref(py));
        }
        let tables = PyDict::new(py);
        for (index, name) in self.tables.iter().enumerate() {
            tables.set_item(name, context.table(index).name())?;
        }
        let source = Source::lent(Arc::clone(&self.lent));
        let made = py.import("fulgurite._views")?.getattr("ViewTransaction")?.call1((source, tables))?.unbind();
        *self.transaction.borrow_mut() = Some(made.clone_ref(py));
        Ok(made)
    }
}

/// Folds all events that there are.
#[pyfunction]
pub fn run_view(py: Python<'_>, store: &EventStore, view: ViewTuple, function: Py<PyAny>) -> Result<ProgressTuple> {
    let (store, tables) = (store.get_outside()?, names_of(&view));
    let view = view_of(view)?;
    let progress = py.detach(|| {
        let fold = Fold::new(function, tables);
        store.run_view(&view, |txn, context, event| fold.fold(txn, context, event))
    })?;
    Ok(tuple_of(&progress))
}

/// Folds all events again into other tables, and exchanges the tables.
#[pyfunction]
pub fn rebuild_view(py: Python<'_>, store: &EventStore, view: ViewTuple, function: Py<PyAny>) -> Result<ProgressTuple> {
    let (store, tables) = (store.get_outside()?, names_of(&view));
    let view = view_of(view)?;
    let progress = py.detach(|| {
        let fold = Fold::new(function, tables);
        store.rebuild_view(&view, |txn, context, event| fold.fold(txn, context, event))
    })?;
    Ok(tuple_of(&progress))
}

/// Drops the tables and the position of a view.
#[pyfunction]
pub fn drop_view(py: Python<'_>, store: &EventStore, view: ViewTuple) -> Result<()> {
    let (store, view) = (store.get_outside()?, view_of(view)?);
    Ok(py.detach(|| store.drop_view(&view))?)
}

/// Waits until there is an event at a position, or the time is over. Returns whether there is one. Signals of the
/// system are handled meanwhile.
#[pyfunction]
pub fn wait_for_event(py: Python<'_>, store: &EventStore, position: u64, timeout: Option<f64>) -> Result<bool> {
    let deadline = arguments::wait(timeout)?.and_then(|wait| Instant::now().checked_add(wait));
    loop {
        let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
        if store.wait_once(py, position, left.min(SLICE))? {
            return Ok(true);
        }
        py.check_signals()?;
        if left.is_zero() {
            return Ok(false);
        }
    }
}

impl EventStore {
    fn wait_once(&self, py: Python<'_>, position: u64, wait: Duration) -> Result<bool> {
        let store = self.get()?;
        py.detach(|| {
            let mut follower = store.follow(Position(position))?.batch_events(1);
            // The first call of a follower at the end only says that it is there.
            for _ in 0..2 {
                let delivered = follower.poll(wait, |_, _| Ok(()))?;
                if delivered.events > 0 || follower.position().0 > position {
                    return Ok::<_, Failure>(true);
                }
            }
            Ok(false)
        })
    }
}
