//! Events that were read.

#[cfg(unix)]
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

#[cfg(unix)]
use fulgurite_events::Upcasters;
use fulgurite_events::{Event as StoredEvent, EventId, EventType, Snapshot, StreamId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::Result;
use crate::names;

/// A copy of an event, with the names of its stream and its type.
#[derive(Debug)]
pub struct Recorded {
    /// Its position in the log.
    pub position: u64,
    /// Its version in its stream.
    pub version: u64,
    /// The name of its stream.
    pub stream: Arc<[u8]>,
    /// The name of its type.
    pub kind: Arc<str>,
    /// The schema version of its type.
    pub schema: u32,
    /// When it was appended, in microseconds since 1970.
    pub time: u64,
    /// Its id.
    pub id: Option<EventId>,
    /// What happened, upcast.
    pub payload: Vec<u8>,
    /// Its metadata.
    pub metadata: Vec<u8>,
    /// Its tags.
    pub tags: Vec<String>,
}

impl Recorded {
    /// A copy of an event whose names are known.
    pub fn new(event: &StoredEvent<'_>, stream: Arc<[u8]>, kind: &EventType, payload: Vec<u8>) -> Self {
        Self {
            position: event.position.0,
            version: event.version.0,
            stream,
            kind: Arc::clone(&kind.name),
            schema: kind.schema,
            time: event.time.0,
            id: event.id.copied(),
            payload,
            metadata: event.metadata.to_vec(),
            tags: event.tags.map(|tag| String::from_utf8_lossy(tag).into_owned()).collect(),
        }
    }

    /// Replaces what happened by what upcasters make of it.
    ///
    /// # Errors
    /// Those of upcasters. The event is unchanged then.
    #[cfg(unix)]
    pub fn upcast(&mut self, upcasters: &Upcasters) -> fulgurite_events::Result<()> {
        if let (schema, Cow::Owned(payload)) = upcasters.upcast(&self.kind, self.schema, &self.payload)? {
            (self.schema, self.payload) = (schema, payload);
        }
        Ok(())
    }

    /// About how many bytes it has.
    pub fn bytes(&self) -> usize {
        self.payload.len() + self.metadata.len() + size_of::<Self>()
    }
}

/// Names of streams that were looked up.
#[derive(Debug, Default)]
pub struct StreamNames(HashMap<StreamId, Arc<[u8]>>);

impl StreamNames {
    /// Copies an event of a snapshot.
    ///
    /// # Errors
    /// Those of the store and of upcasters.
    pub fn record(&mut self, snapshot: &Snapshot, event: &StoredEvent<'_>) -> fulgurite_events::Result<Recorded> {
        let stream = match self.0.get(&event.stream) {
            Some(name) => Arc::clone(name),
            None => {
                let name: Arc<[u8]> = snapshot.stream_name(event.stream)?.into();
                if self.0.len() >= NAMES_MAX {
                    self.0.clear();
                }
                self.0.insert(event.stream, Arc::clone(&name));
                name
            }
        };
        let (kind, payload) = snapshot.upcast(event)?;
        Ok(Recorded::new(event, stream, &kind, payload.into_owned()))
    }
}

/// The names that are kept.
const NAMES_MAX: usize = 10_000;

/// An event that was read.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Event(pub Recorded);

#[pymethods]
impl Event {
    /// The position in the log.
    #[getter]
    fn position(&self) -> u64 {
        self.0.position
    }

    /// The version in the stream.
    #[getter]
    fn version(&self) -> u64 {
        self.0.version
    }

    /// The name of the stream.
    #[getter]
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        names::text_of(py, &self.0.stream)
    }

    /// The name of the type.
    #[getter]
    fn r#type(&self) -> &str {
        &self.0.kind
    }

    /// The version of the type's schema.
    #[getter]
    fn schema(&self) -> u32 {
        self.0.schema
    }

    /// When it was appended, in microseconds since 1970.
    #[getter]
    fn time_us(&self) -> u64 {
        self.0.time
    }

    /// When it was appended, as a datetime in UTC.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("fulgurite._event_parts")?.call_method1("time_of", (self.0.time,))
    }

    /// The id that the program gave it, or None.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(id) = &self.0.id else { return Ok(None) };
        py.import("fulgurite._event_parts")?.call_method1("id_of", (PyBytes::new(py, id),)).map(Some)
    }

    /// What happened, in the program's encoding.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.payload)
    }

    /// What belongs to the event but not to what happened.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.metadata)
    }

    /// What queries may ask for.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.tags)
    }

    /// The data, decoded from JSON.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.data(py),))
    }

    fn __repr__(&self, py: Python<'_>) -> Result<String> {
        let Recorded { position, version, kind, .. } = &self.0;
        let stream = names::text_of(py, &self.0.stream)?.repr()?;
        Ok(format!("<fulgurite.events.Event {position}: {kind:?} as version {version} of {stream}>"))
    }
}
