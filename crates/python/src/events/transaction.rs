//! Transactions of event stores, while a function of Python has them.

use std::sync::Arc;

use fulgurite_events::{Appended, Position, StreamMetadata, Version};
use pyo3::prelude::*;

use crate::error::Result;
use crate::events::arguments;
use crate::keys::bytes_of;
use crate::lent::Lent;
use crate::names;
use crate::source::Source;

/// Position and version of the first event, the number of events, and whether an earlier append had written them.
pub type AppendedTuple = (u64, u64, u64, bool);

/// An append as a tuple.
pub fn tuple_of(appended: &Appended) -> AppendedTuple {
    (appended.position.0, appended.version.0, appended.count, appended.repeated)
}

/// A transaction of an event store.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct EventTransaction(Arc<Lent>);

impl EventTransaction {
    /// A transaction that is lent to a function.
    pub fn new(lent: Arc<Lent>) -> Self {
        Self(lent)
    }
}

#[pymethods]
impl EventTransaction {
    /// The tables of the same transaction.
    fn source(&self) -> Source {
        Source::lent(Arc::clone(&self.0))
    }

    /// Appends events to a stream.
    fn append(
        &self,
        stream: &Bound<'_, PyAny>,
        events: &Bound<'_, PyAny>,
        expected: &Bound<'_, PyAny>,
    ) -> Result<AppendedTuple> {
        let (name, expected) = (names::bytes_of(stream)?, arguments::expected(expected)?);
        let events = arguments::new_events(events)?;
        let appended = arguments::with_events(&events, |events| {
            self.0.with_events(|transaction| transaction.append(&name, expected, events))
        })?;
        Ok(tuple_of(&appended))
    }

    /// Fails if an event after a position matches a query.
    #[pyo3(signature = (unless, after=None))]
    fn require(&self, unless: &Bound<'_, PyAny>, after: Option<u64>) -> Result<()> {
        let condition = arguments::condition(unless, after)?;
        self.0.with_events(|transaction| transaction.require(&condition))
    }

    /// Hides the events of a stream before a version.
    fn truncate_before(&self, stream: &Bound<'_, PyAny>, version: u64) -> Result<()> {
        let name = names::bytes_of(stream)?;
        self.0.with_events(|transaction| transaction.truncate_before(&name, Version(version)))
    }

    /// Deletes a stream; with `forever`, so that nothing can be appended to it again.
    fn delete_stream(&self, stream: &Bound<'_, PyAny>, expected: &Bound<'_, PyAny>, forever: bool) -> Result<()> {
        let (name, expected) = (names::bytes_of(stream)?, arguments::expected(expected)?);
        self.0.with_events(|transaction| match forever {
            false => transaction.delete_stream(&name, expected),
            true => transaction.bury_stream(&name, expected),
        })
    }

    /// Sets the limits of a stream and what the program stores with it.
    fn set_stream_metadata(
        &self,
        stream: &Bound<'_, PyAny>,
        age_us_max: Option<u64>,
        count_max: Option<u64>,
        custom: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let (name, custom) = (names::bytes_of(stream)?, bytes_of(custom)?);
        let metadata = StreamMetadata { age_us_max, count_max, custom };
        self.0.with_events(|transaction| transaction.set_stream_metadata(&name, metadata))
    }

    /// Stores the state of an aggregate.
    fn put_aggregate_state(
        &self,
        stream: &Bound<'_, PyAny>,
        version: u64,
        state: &Bound<'_, PyAny>,
        schema: u32,
    ) -> Result<()> {
        let (name, state) = (names::bytes_of(stream)?, bytes_of(state)?);
        let version = Version(version);
        self.0.with_events(|transaction| transaction.put_aggregate_state(&name, version, schema, &state))
    }

    /// Stores the position of a consumer.
    fn set_consumer_position(&self, consumer: &str, position: u64) -> Result<()> {
        self.0.with_events(|transaction| transaction.set_consumer_position(consumer, Position(position)))
    }
}
