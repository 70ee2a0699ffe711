//! Events: those to append, those that are read, and copies.

use std::sync::Arc;

use crate::ids::{EventId, Position, StreamId, Timestamp, TypeId, Version};

/// An event to append. All its parts are borrowed.
///
/// ```
/// use fulgurite_events::EventData;
///
/// let event = EventData::new("placed", b"{\"order\":7}").id([7; 16]).tags(&["order:7"]);
/// assert_eq!(event.kind, "placed");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventData<'a> {
    /// The name of its type: 1 to 255 bytes.
    pub kind: &'a str,
    /// The version of the type's schema. [`Upcasters`](crate::Upcasters) raise it at read.
    pub schema: u32,
    /// Its id, by which a repeated append is recognised.
    pub id: Option<EventId>,
    /// The content, in the program's encoding.
    pub payload: &'a [u8],
    /// Data about the event that is not part of the content, such as the user.
    pub metadata: &'a [u8],
    /// Labels that queries can select, such as `order:7`. Each has 1 to 65,535 bytes.
    pub tags: &'a [&'a str],
}

impl<'a> EventData<'a> {
    /// An event of a type, with a payload.
    pub fn new(kind: &'a str, payload: &'a [u8]) -> Self {
        Self { kind, payload, ..Self::default() }
    }

    /// Sets the schema version of the type. Default: 0.
    #[must_use]
    pub fn schema(mut self, schema: u32) -> Self {
        self.schema = schema;
        self
    }

    /// Sets the id.
    #[must_use]
    pub fn id(mut self, id: EventId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn metadata(mut self, metadata: &'a [u8]) -> Self {
        self.metadata = metadata;
        self
    }

    /// Sets the tags.
    #[must_use]
    pub fn tags(mut self, tags: &'a [&'a str]) -> Self {
        self.tags = tags;
        self
    }
}

/// An event as it is read. Its bytes are borrowed from the database: nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Event<'e> {
    /// Its position in the log.
    pub position: Position,
    /// Its version in its stream.
    pub version: Version,
    /// Its stream. [`Snapshot::stream_name`](crate::Snapshot::stream_name) returns the name.
    pub stream: StreamId,
    /// Its type. [`Snapshot::event_type`](crate::Snapshot::event_type) returns name and schema version.
    pub kind: TypeId,
    /// When it was appended. Never less than the time of an event before it.
    pub time: Timestamp,
    /// The id that the program gave it.
    pub id: Option<&'e EventId>,
    /// The content. It begins at an address that is a multiple of 8, so that structures can be read in place.
    pub payload: &'e [u8],
    /// The metadata.
    pub metadata: &'e [u8],
    /// The tags.
    pub tags: Tags<'e>,
}

/// The tags of an event, in the order in which they were given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tags<'e>(pub(crate) &'e [u8]);

impl<'e> Iterator for Tags<'e> {
    type Item = &'e [u8];

    fn next(&mut self) -> Option<&'e [u8]> {
        let (length, rest) = self.0.split_first_chunk::<2>()?;
        let (tag, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        self.0 = rest;
        Some(tag)
    }
}

impl Event<'_> {
    /// A copy with the names of its stream and its type.
    pub(crate) fn to_recorded(self, stream: &[u8], kind: &EventType) -> RecordedEvent {
        RecordedEvent {
            position: self.position,
            version: self.version,
            stream: stream.to_vec(),
            kind: Arc::clone(&kind.name),
            schema: kind.schema,
            time: self.time,
            id: self.id.copied(),
            payload: self.payload.to_vec(),
            metadata: self.metadata.to_vec(),
            tags: self.tags.map(|tag| String::from_utf8_lossy(tag).into_owned()).collect(),
        }
    }
}

/// A copy of an event, with names instead of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// Its position in the log.
    pub position: Position,
    /// Its version in its stream.
    pub version: Version,
    /// The name of its stream.
    pub stream: Vec<u8>,
    /// The name of its type.
    pub kind: Arc<str>,
    /// The schema version of its type.
    pub schema: u32,
    /// When it was appended.
    pub time: Timestamp,
    /// The id that the program gave it.
    pub id: Option<EventId>,
    /// The content.
    pub payload: Vec<u8>,
    /// The metadata.
    pub metadata: Vec<u8>,
    /// The tags.
    pub tags: Vec<String>,
}

/// A type of events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventType {
    /// Its name.
    pub name: Arc<str>,
    /// The version of its schema.
    pub schema: u32,
}

/// The version that a stream must have for an append to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any, and the stream need not exist.
    Any,
    /// The stream does not exist, or is deleted.
    NoStream,
    /// The stream exists and is not deleted.
    StreamExists,
    /// The last event of the stream has this version.
    Exact(Version),
}

impl Expected {
    /// Whether a stream whose last event is `actual` is as expected. `None`: it does not exist.
    pub(crate) fn holds(self, actual: Option<Version>) -> bool {
        match self {
            Self::Any => true,
            Self::NoStream => actual.is_none(),
            Self::StreamExists => actual.is_some(),
            Self::Exact(version) => actual == Some(version),
        }
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => out.write_str("any version"),
            Self::NoStream => out.write_str("no stream"),
            Self::StreamExists => out.write_str("an existing stream"),
            Self::Exact(version) => write!(out, "version {version}"),
        }
    }
}

/// The positions of the events of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The position of the first event.
    pub position: Position,
    /// The version of the first event.
    pub version: Version,
    /// How many events there are.
    pub count: u64,
    /// Whether an earlier append had written the same events, and this one wrote nothing.
    pub repeated: bool,
}
