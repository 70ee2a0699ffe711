//! Appends the events: each to the stream of its aircraft, many in one transaction.

use fulgurite_events::{EventData, EventStore, Expected};

use crate::error::Result;
use crate::flights::data::FlightEvent;

/// Appends the events in their order.
///
/// # Errors
/// Those of the store.
pub fn append(store: &EventStore, events: &[FlightEvent]) -> Result<()> {
    for batch in events.chunks(BATCH) {
        store.transact(|transaction| {
            for FlightEvent { kind, aircraft, flight } in batch {
                transaction.append(aircraft, Expected::Any, &[EventData::new(kind, &flight.to_bytes())])?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The events of a transaction.
const BATCH: usize = 10_000;
