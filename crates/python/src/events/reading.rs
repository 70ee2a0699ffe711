//! Reading: snapshots, and iterators over events. Events are read in batches, each with a new start after the last one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use fulgurite_events::{EventQuery, Events, Position, Snapshot, StreamInfo, StreamState, Version};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrow::{ArrowStream, check_batch_rows, text_of};
use crate::error::{Failure, Result};
use crate::events::arguments;
use crate::events::columns;
use crate::events::exclusive::Exclusive;
use crate::events::recorded::{Event, Recorded, StreamNames};
use crate::merging::running::check_not_merging;
use crate::names;
use crate::process::ProcessBound;

/// Which events an iterator reads.
enum Selection {
    All,
    Stream(Vec<u8>),
    Query(EventQuery),
}

/// Events that were not read yet.
struct Rest {
    /// None when all events are read.
    snapshot: Option<Snapshot>,
    selection: Selection,
    /// The first position, or version of a stream, that is still to come.
    start: u64,
    /// The one after the last.
    stop: u64,
    is_reverse: bool,
    /// An error at the next event. The events before it are returned first.
    failure: Option<Failure>,
    names: StreamNames,
}

impl Rest {
    fn cursor<'s>(&'s self, snapshot: &'s Snapshot) -> fulgurite_events::Result<Events<'s>> {
        let (start, stop) = (self.start, self.stop);
        match (&self.selection, self.is_reverse) {
            (Selection::All, false) => snapshot.read_all(Position(start)),
            (Selection::All, true) => snapshot.read_all_backwards(Position(stop)),
            (Selection::Stream(name), false) => snapshot.read_stream(name, Version(start)),
            (Selection::Stream(name), true) => snapshot.read_stream_backwards(name, Version(stop)),
            (Selection::Query(query), false) => snapshot.read_query(query, Position(start)),
            (Selection::Query(query), true) => snapshot.read_query_backwards(query, Position(stop)),
        }
    }

    /// Reads the next batch: at most `most` events, and no more after so many bytes. Events before one that fails are
    /// a batch; the next call returns the error, and a call after it tries the event again.
    fn read(&mut self, most: usize) -> Result<Vec<Recorded>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut recorded = Vec::new();
        let Some(snapshot) = self.snapshot.take_if(|_| self.start < self.stop) else {
            self.snapshot = None;
            return Ok(recorded);
        };
        let mut names = std::mem::take(&mut self.names);
        let outcome = self.read_into(&snapshot, &mut recorded, &mut names, most);
        self.names = names;
        if let Some(last) = recorded.last() {
            let number = if let Selection::Stream(_) = self.selection { last.version } else { last.position };
            if self.is_reverse { self.stop = number } else { self.start = number + 1 }
        }
        if !matches!(outcome, Ok(true)) {
            self.snapshot = Some(snapshot);
        }
        match outcome {
            Ok(_) => {}
            Err(failure) if recorded.is_empty() => return Err(failure),
            Err(failure) => self.failure = Some(failure),
        }
        Ok(recorded)
    }

    /// Reads events, and returns whether there are no more.
    fn read_into(
        &self,
        snapshot: &Snapshot,
        recorded: &mut Vec<Recorded>,
        names: &mut StreamNames,
        most: usize,
    ) -> Result<bool> {
        let mut bytes = 0;
        let mut cursor = self.cursor(snapshot)?;
        loop {
            if recorded.len() >= most || bytes > BATCH_BYTES_MAX {
                return Ok(false);
            }
            let Some(event) = cursor.next()? else { return Ok(true) };
            let number = if let Selection::Stream(_) = self.selection { event.version.0 } else { event.position.0 };
            if !(self.start..self.stop).contains(&number) {
                return Ok(true);
            }
            let event = names.record(snapshot, &event)?;
            bytes += event.bytes();
            recorded.push(event);
        }
    }
}

/// The events of the first batch; each further one has twice as many, up to the most.
const FIRST_BATCH: usize = 16;
const BATCH_MAX: usize = 1024;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// The most streams of a batch: to find the next streams, each batch reads all blocks of the index.
const STREAMS_MAX: usize = 16_384;

struct State {
    rest: Rest,
    batch: usize,
    events: VecDeque<Recorded>,
}

/// What errors call it.
const ITERATOR: &str = "iterator";

/// An iterator over events.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct EventScan(Arc<Exclusive<State>>);

#[pymethods]
impl EventScan {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Result<Option<Event>> {
        let event = py.detach(|| {
            self.0.with(ITERATOR, |State { rest, batch, events }| {
                if events.is_empty() {
                    events.extend(rest.read(*batch)?);
                    *batch = (2 * *batch).min(BATCH_MAX);
                }
                Ok(events.pop_front())
            })
        })?;
        Ok(event.map(Event))
    }

    /// The events that are left, as record batches.
    #[pyo3(signature = (batch_rows=65536))]
    fn arrow(&self, batch_rows: usize) -> Result<ArrowStream> {
        check_batch_rows(batch_rows)?;
        let state = Arc::clone(&self.0);
        let next = move || {
            let batch = state.with(ITERATOR, |State { rest, events, .. }| {
                let mut batch: Vec<Recorded> = std::mem::take(events).into();
                while batch.len() < batch_rows && (batch.is_empty() || rest.failure.is_none()) {
                    let more = match rest.read(batch_rows - batch.len()) {
                        Ok(more) => more,
                        Err(failure) if batch.is_empty() => return Err(failure),
                        Err(failure) => {
                            rest.failure = Some(failure);
                            break;
                        }
                    };
                    if more.is_empty() {
                        break;
                    }
                    batch.extend(more);
                }
                Ok(batch)
            });
            let batch = batch.map_err(|failure| text_of(&failure))?;
            if batch.is_empty() { Ok(None) } else { columns::columns(&batch).map(Some) }
        };
        Ok(ArrowStream::new(columns::fields(), Box::new(next)))
    }
}

/// Streams that were not read yet, and some that were.
struct RestOfStreams {
    /// None when all streams are read.
    snapshot: Option<Snapshot>,
    prefix: Vec<u8>,
    /// The name of the last stream that was read.
    after: Vec<u8>,
    batch: usize,
    infos: VecDeque<StreamInfo>,
}

impl RestOfStreams {
    fn next(&mut self) -> Result<Option<StreamInfo>> {
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| self.infos.is_empty()) {
            let infos = snapshot.streams_after(&self.prefix, &self.after)?.take(self.batch);
            self.infos = infos.collect::<fulgurite_events::Result<_>>()?;
            if self.infos.len() < self.batch {
                self.snapshot = None;
            }
            self.batch = (2 * self.batch).min(STREAMS_MAX);
            if let Some(last) = self.infos.back() {
                self.after.clone_from(&last.name);
            }
        }
        Ok(self.infos.pop_front())
    }
}

/// An iterator over streams.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct StreamScan(Exclusive<RestOfStreams>);

#[pymethods]
impl StreamScan {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyTuple>>> {
        let info = py.detach(|| self.0.with(ITERATOR, RestOfStreams::next))?;
        Ok(info.map(|info| tuple_of(py, &info)).transpose()?)
    }
}

/// One state of a store.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct EventSnapshot(ProcessBound<Mutex<Option<Snapshot>>>);

impl EventSnapshot {
    /// A snapshot.
    pub fn new(snapshot: Snapshot) -> Self {
        Self(ProcessBound::new(Mutex::new(Some(snapshot))))
    }

    fn get(&self) -> Result<Snapshot> {
        check_not_merging()?;
        let snapshot = self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        snapshot.clone().ok_or_else(|| Failure::closed("snapshot"))
    }

    fn scan(&self, selection: Selection, start: u64, stop: Option<u64>, is_reverse: bool) -> Result<EventScan> {
        let (snapshot, stop) = (self.get()?, stop.unwrap_or(u64::MAX));
        let (snapshot, failure, names) = (Some(snapshot), None, StreamNames::default());
        let rest = Rest { snapshot, selection, start, stop, is_reverse, failure, names };
        Ok(EventScan(Arc::new(Exclusive::new(State { rest, batch: FIRST_BATCH, events: VecDeque::new() }))))
    }
}

#[pymethods]
impl EventSnapshot {
    /// Ends the snapshot. Iterators of it continue. Does nothing in a child made by `fork`.
    fn end(&self, py: Python<'_>) {
        let Ok(snapshot) = self.0.get() else { return };
        let snapshot = snapshot.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(snapshot));
    }

    /// The position that the next event gets.
    fn head(&self, py: Python<'_>) -> Result<u64> {
        let snapshot = self.get()?;
        Ok(py.detach(|| snapshot.head())?.0)
    }

    /// The first position that retention has kept.
    fn start(&self, py: Python<'_>) -> Result<u64> {
        let snapshot = self.get()?;
        Ok(py.detach(|| snapshot.start())?.0)
    }

    /// The position of the first event at a time, in microseconds since 1970, or later.
    fn position_at(&self, py: Python<'_>, time_us: u64) -> Result<u64> {
        let snapshot = self.get()?;
        Ok(py.detach(|| snapshot.position_at(arguments::timestamp(time_us)))?.0)
    }

    /// An iterator over the events that match a query, or over all.
    #[pyo3(signature = (query, start=0, stop=None, reverse=false))]
    fn read(
        &self,
        query: Option<&Bound<'_, PyAny>>,
        start: u64,
        stop: Option<u64>,
        reverse: bool,
    ) -> Result<EventScan> {
        let selection = match query {
            Some(query) => Selection::Query(arguments::query(query)?),
            None => Selection::All,
        };
        self.scan(selection, start, stop, reverse)
    }

    /// An iterator over the events of a stream.
    #[pyo3(signature = (stream, start=0, stop=None, reverse=false))]
    fn read_stream(
        &self,
        py: Python<'_>,
        stream: &Bound<'_, PyAny>,
        start: u64,
        stop: Option<u64>,
        reverse: bool,
    ) -> Result<EventScan> {
        let name = names::bytes_of(stream)?;
        let snapshot = self.get()?;
        // A stream that does not exist is an error here, and not at the first event.
        py.detach(|| snapshot.read_stream(&name, Version(start)).map(drop))?;
        self.scan(Selection::Stream(name), start, stop, reverse)
    }

    /// What is known of a stream, or None.
    fn stream<'py>(&self, py: Python<'py>, stream: &Bound<'_, PyAny>) -> Result<Option<Bound<'py, PyTuple>>> {
        let (snapshot, name) = (self.get()?, names::bytes_of(stream)?);
        let info = py.detach(|| snapshot.stream(&name))?;
        Ok(info.map(|info| tuple_of(py, &info)).transpose()?)
    }

    /// An iterator over the streams whose names begin with a prefix.
    fn streams(&self, prefix: &Bound<'_, PyAny>) -> Result<StreamScan> {
        let (snapshot, prefix) = (Some(self.get()?), names::bytes_of(prefix)?);
        let (after, batch, infos) = (Vec::new(), FIRST_BATCH, VecDeque::new());
        Ok(StreamScan(Exclusive::new(RestOfStreams { snapshot, prefix, after, batch, infos })))
    }

    /// The newest stored state of an aggregate at a version or before it: its version, schema and bytes.
    #[pyo3(signature = (stream, version=None))]
    fn aggregate_state<'py>(
        &self,
        py: Python<'py>,
        stream: &Bound<'_, PyAny>,
        version: Option<u64>,
    ) -> Result<Option<(u64, u32, Bound<'py, PyBytes>)>> {
        let (snapshot, name) = (self.get()?, names::bytes_of(stream)?);
        let version = Version(version.unwrap_or(u64::MAX));
        let state = py.detach(|| snapshot.aggregate_state(&name, version))?;
        Ok(state.map(|state| (state.version.0, state.schema, PyBytes::new(py, &state.state))))
    }

    /// The position of a consumer.
    fn consumer_position(&self, py: Python<'_>, consumer: &str) -> Result<u64> {
        let snapshot = self.get()?;
        Ok(py.detach(|| snapshot.consumer_position(consumer))?.0)
    }

    /// The consumers and their positions.
    fn consumers(&self, py: Python<'_>) -> Result<Vec<(String, u64)>> {
        let snapshot = self.get()?;
        let consumers = py.detach(|| snapshot.consumers())?;
        Ok(consumers.into_iter().map(|(name, position)| (name, position.0)).collect())
    }

    /// The types of events: names and schema versions.
    fn types(&self) -> Result<Vec<(String, u32)>> {
        let snapshot = self.get()?;
        Ok(snapshot.event_types().iter().map(|kind| (kind.name.to_string(), kind.schema)).collect())
    }
}

/// A stream as a tuple.
fn tuple_of<'py>(py: Python<'py>, info: &StreamInfo) -> PyResult<Bound<'py, PyTuple>> {
    let state = match info.state {
        StreamState::Open => "open",
        StreamState::Deleted => "deleted",
        StreamState::Tombstone => "tombstone",
    };
    let metadata = &info.metadata;
    let custom = PyBytes::new(py, &metadata.custom);
    let name = names::text_of(py, &info.name)?;
    (name, state, info.first.0, info.next.0, metadata.age_us_max, metadata.count_max, custom).into_pyobject(py)
}
