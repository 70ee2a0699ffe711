//! Events, as far as the model knows them.

use fulgurite_events::{EventId, RecordedEvent};

/// What an event is. The model keeps positions and times beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub stream: String,
    pub version: u64,
    pub kind: String,
    pub id: Option<EventId>,
    pub payload: Vec<u8>,
    pub tags: Vec<String>,
}

impl Known {
    pub fn of(event: &RecordedEvent) -> Self {
        Self {
            stream: String::from_utf8(event.stream.clone()).unwrap(),
            version: event.version.0,
            kind: event.kind.to_string(),
            id: event.id,
            payload: event.payload.clone(),
            tags: event.tags.clone(),
        }
    }
}
