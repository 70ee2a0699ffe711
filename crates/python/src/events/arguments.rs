//! Arguments of calls of event stores.

use std::time::Duration;

use fulgurite_events::{
    AppendCondition, EventData, EventId, EventQuery, Expected, Partition, Position, QueryItem, Timestamp, Upcasters,
    Version,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};

use crate::error::{Failure, Result};
use crate::keys::bytes_of;
use crate::names;

/// An event to append. It owns its parts: the interpreter may change other objects while it is appended.
pub struct NewEvent {
    kind: String,
    payload: Vec<u8>,
    id: Option<EventId>,
    schema: u32,
    metadata: Vec<u8>,
    tags: Vec<String>,
}

/// The events of an iterable of tuples, which the package makes.
///
/// # Errors
/// Those of the iterable; `TypeError` and `InvalidError` for parts of other types.
pub fn new_events(given: &Bound<'_, PyAny>) -> Result<Vec<NewEvent>> {
    given.try_iter()?.map(|event| new_event(event?.cast::<PyTuple>().map_err(PyErr::from)?)).collect()
}

fn new_event(parts: &Bound<'_, PyTuple>) -> Result<NewEvent> {
    let id = parts.get_item(2)?;
    let id = if id.is_none() { None } else { Some(event_id(&bytes_of(&id)?)?) };
    Ok(NewEvent {
        kind: parts.get_item(0)?.extract()?,
        payload: bytes_of(&parts.get_item(1)?)?,
        id,
        schema: parts.get_item(3)?.extract()?,
        metadata: bytes_of(&parts.get_item(4)?)?,
        tags: parts.get_item(5)?.extract()?,
    })
}

fn event_id(bytes: &[u8]) -> Result<EventId> {
    bytes.try_into().map_err(|_| Failure::invalid(format!("an id has 16 bytes, not {}; use a uuid.UUID", bytes.len())))
}

/// Calls `run` with the events as the store takes them.
pub fn with_events<R>(events: &[NewEvent], run: impl FnOnce(&[EventData<'_>]) -> R) -> R {
    let tags: Vec<Vec<&str>> = events.iter().map(|event| event.tags.iter().map(String::as_str).collect()).collect();
    let data: Vec<_> = (events.iter().zip(&tags))
        .map(|(event, tags)| EventData {
            kind: &event.kind,
            schema: event.schema,
            id: event.id,
            payload: &event.payload,
            metadata: &event.metadata,
            tags,
        })
        .collect();
    run(&data)
}

/// The version that a stream must have: a number, or a word.
///
/// # Errors
/// For other objects.
pub fn expected(given: &Bound<'_, PyAny>) -> Result<Expected> {
    if given.is_instance_of::<PyBool>() {
        let text = format!("expected is a version, \"any\", \"no stream\" or \"stream exists\", not {}", given.repr()?);
        return Err(PyTypeError::new_err(text).into());
    }
    if let Ok(version) = given.extract::<u64>() {
        return Ok(Expected::Exact(Version(version)));
    }
    match given.extract::<&str>() {
        Ok("any") => Ok(Expected::Any),
        Ok("no stream") => Ok(Expected::NoStream),
        Ok("stream exists") => Ok(Expected::StreamExists),
        _ => {
            let shown = given.repr()?;
            let text = format!("expected is a version, \"any\", \"no stream\" or \"stream exists\", not {shown}");
            Err(Failure::invalid(text))
        }
    }
}

/// A query: tuples of types, tags and streams.
///
/// # Errors
/// For other objects.
pub fn query(items: &Bound<'_, PyAny>) -> Result<EventQuery> {
    let mut query = EventQuery::new();
    for item in items.try_iter()? {
        let (kinds, tags, streams): (Vec<String>, Vec<String>, Vec<Bound<'_, PyAny>>) = item?.extract()?;
        let item = kinds.into_iter().fold(QueryItem::new(), QueryItem::kind);
        let mut item = tags.into_iter().fold(item, QueryItem::tag);
        for stream in streams {
            item = item.stream(names::bytes_of(&stream)?);
        }
        query = query.or(item);
    }
    Ok(query)
}

/// As [`query`]; without an object, a query that every event matches.
///
/// # Errors
/// As [`query`].
pub fn query_or_all(items: Option<&Bound<'_, PyAny>>) -> Result<EventQuery> {
    items.map_or_else(|| Ok(EventQuery::new()), query)
}

/// The condition of an append.
///
/// # Errors
/// As [`query`].
pub fn condition(unless: &Bound<'_, PyAny>, after: Option<u64>) -> Result<AppendCondition> {
    Ok(AppendCondition { query: query(unless)?, after: after.map(Position) })
}

/// A member of a group: its index and the number of members.
///
/// # Errors
/// If there is no such member.
pub fn partition(given: Option<(u32, u32)>) -> Result<Partition> {
    let Some((index, count)) = given else { return Ok(Partition::ALL) };
    Partition::new(index, count).ok_or_else(|| {
        if count == 0 {
            return Failure::invalid("a group has 1 member or more, not 0");
        }
        Failure::invalid(format!("a group of {count} has the members 0 to {}, not {index}", i64::from(count) - 1))
    })
}

/// The functions that turn payloads of one schema version into the next, by type and version.
///
/// # Errors
/// For other objects.
pub fn upcasters(given: &Bound<'_, PyDict>) -> Result<Upcasters> {
    let mut upcasters = Upcasters::new();
    for (key, function) in given {
        let (kind, from): (String, u32) = key.extract()?;
        let function = function.unbind();
        upcasters = upcasters.register(&kind, from, move |payload| {
            let upcast = Python::attach(|py| bytes_of(&function.bind(py).call1((payload,))?).map_err(PyErr::from));
            upcast.map_err(Into::into)
        });
    }
    Ok(upcasters)
}

/// A time in microseconds since 1970.
pub fn timestamp(microseconds: u64) -> Timestamp {
    Timestamp(microseconds)
}

/// How long a call may wait: none for ever.
///
/// # Errors
/// If the number of seconds is negative.
pub fn wait(seconds: Option<f64>) -> Result<Option<Duration>> {
    seconds.map(crate::source::seconds).transpose()
}
