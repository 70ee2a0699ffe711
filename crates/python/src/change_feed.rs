//! The change feed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fulgurite::{Change, ChangedTable, Changes, Sequence};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::{Failure, Result};
use crate::kinds::OpenDatabase;
use crate::process::ProcessBound;

enum Feed {
    /// It keeps its part of the log.
    Open(Box<Changes>),
    /// All commits were returned.
    Ended,
    Closed,
}

/// A feed of commits.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct ChangeFeed {
    feed: ProcessBound<Mutex<Feed>>,
    open: Arc<OpenDatabase>,
}

impl ChangeFeed {
    /// The commits of a database after the one with this sequence.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn open(open: Arc<OpenDatabase>, after: u64) -> Result<Self> {
        let changes = open.get()?.changes(Sequence(after))?;
        Ok(Self { feed: ProcessBound::new(Mutex::new(Feed::Open(Box::new(changes)))), open })
    }
}

/// A commit: its sequence and its changes.
type Commit<'py> = (u64, Vec<Bound<'py, PyTuple>>);

#[pymethods]
impl ChangeFeed {
    /// The next commit, or None at the end, which releases the log.
    fn next_commit<'py>(&self, py: Python<'py>) -> Result<Option<Commit<'py>>> {
        let commit = py.detach(|| {
            self.open.get()?;
            let mut feed = self.feed.get()?.lock().map_err(|_| Failure::broken())?;
            let commit = match &mut *feed {
                Feed::Open(changes) => changes.next().transpose().map_err(Failure::from)?,
                Feed::Ended => None,
                Feed::Closed => return Err(Failure::closed("change feed")),
            };
            if commit.is_none() {
                *feed = Feed::Ended;
            }
            Ok(commit)
        })?;
        let Some(commit) = commit else { return Ok(None) };
        let changes: Result<Vec<_>> = commit.changes.iter().map(|change| tuple_of(py, change)).collect();
        Ok(Some((commit.sequence.0, changes?)))
    }

    /// Releases the log. Does nothing the second time, and in a child made by `fork`.
    fn close(&self, py: Python<'_>) {
        let Ok(feed) = self.feed.get() else { return };
        py.detach(|| *feed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Feed::Closed);
    }
}

/// A change as `_changes.py` takes it: kind, id and name of the table, key, value, length of the value, and the name
/// that a renamed table had.
fn tuple_of<'py>(py: Python<'py>, change: &Change) -> Result<Bound<'py, PyTuple>> {
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    let tuple = |kind: &str, table: &ChangedTable, key, value, length: u64, before: Option<&str>| {
        (kind, table.id.map(|id| id.0), table.name.as_deref(), key, value, length, before).into_pyobject(py)
    };
    let none = None::<Bound<'py, PyBytes>>;
    Ok(match change {
        Change::Put { table, key, value } => {
            tuple("put", table, Some(bytes(key)), Some(bytes(value)), value.len() as u64, None)
        }
        Change::Superseded { table, key, value_bytes } => {
            tuple("superseded", table, Some(bytes(key)), none, *value_bytes, None)
        }
        Change::Delete { table, key } => tuple("delete", table, Some(bytes(key)), none, 0, None),
        Change::TableCreated { table } => tuple("table created", table, none.clone(), none, 0, None),
        Change::TableDropped { table } => tuple("table dropped", table, none.clone(), none, 0, None),
        Change::TableRenamed { table, before } => tuple("table renamed", table, none.clone(), none, 0, Some(before)),
        Change::BulkLoaded { table } => tuple("bulk loaded", table, none.clone(), none, 0, None),
        other => return Err(Failure::invalid(format!("the Python binding does not support this change: {other:?}"))),
    }?)
}

/// How long a wait lasts before signals of the system are handled.
pub const SLICE: Duration = Duration::from_millis(50);

/// Waits for a durable commit after the one with this sequence. Returns the newest.
///
/// # Errors
/// Those of the engine, and of handlers of signals.
pub fn wait_durable(py: Python<'_>, open: &OpenDatabase, after: u64, timeout: Duration) -> Result<u64> {
    let deadline = Instant::now().checked_add(timeout);
    loop {
        let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
        let durable =
            py.detach(|| open.get()?.wait_durable(Sequence(after), left.min(SLICE)).map_err(Failure::from))?;
        if durable > Sequence(after) || left.is_zero() {
            return Ok(durable.0);
        }
        py.check_signals()?;
    }
}
