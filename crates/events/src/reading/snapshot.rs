//! [`Snapshot`]: one state of a store, and every way to read it.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use fulgurite::ReadTxn;

use crate::error::{Error, Result};
use crate::event::{Event, EventType, RecordedEvent};
use crate::ids::{Position, StreamId, Timestamp, TypeId, Version};
use crate::layout::keys;
use crate::layout::stream::{StreamMetadata, StreamRecord, StreamState};
use crate::layout::tables::Tables;
use crate::reading::events::Events;
use crate::reading::filter::Filter;
use crate::reading::lanes::Source;
use crate::reading::locate;
use crate::reading::query::{EventQuery, Resolved};
use crate::reading::types::Types;
use crate::reading::upcasters::Upcasters;

/// One state of a store. Later appends do not change what it reads.
///
/// It is `Send` and `Sync`. Pages of it are not reused while it exists: drop it when it is no longer needed.
#[derive(Clone, Debug)]
pub struct Snapshot {
    txn: ReadTxn,
    tables: Arc<Tables>,
    types: Arc<Types>,
    upcasters: Arc<Upcasters>,
}

/// A stream as [`Snapshot::streams`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamInfo {
    /// Its number.
    pub id: StreamId,
    /// Its name.
    pub name: Vec<u8>,
    /// Whether it can be read and appended to.
    pub state: StreamState,
    /// Events with lower versions are truncated.
    pub first: Version,
    /// The version that its next event gets.
    pub next: Version,
    /// Its limits, and what programs store with it.
    pub metadata: StreamMetadata,
}

/// A stored state of an aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AggregateState {
    /// The version of the last event that is in the state.
    pub version: Version,
    /// The version of the state's schema.
    pub schema: u32,
    /// The state, in the program's encoding.
    pub state: Vec<u8>,
}

impl Snapshot {
    /// Requires: `types` was taken after `txn` began.
    pub(crate) fn new(txn: ReadTxn, tables: Arc<Tables>, types: Arc<Types>, upcasters: Arc<Upcasters>) -> Self {
        Self { txn, tables, types, upcasters }
    }

    /// The transaction of the engine: reads other tables in the same state.
    pub fn txn(&self) -> &ReadTxn {
        &self.txn
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The position that the next event gets: how many events were ever appended.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn head(&self) -> Result<Position> {
        Ok(locate::end_of_log(&self.txn, &self.tables)?.0)
    }

    /// Refuses a position from which the store cannot be followed. The head is allowed.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the position is above the head; errors of the disk; [`Error::Damaged`].
    pub fn check_follows(&self, from: Position) -> Result<()> {
        let head = self.head()?;
        if from > head { Err(Error::after_the_head(from, head)) } else { Ok(()) }
    }

    /// The first position that retention has kept.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn start(&self) -> Result<Position> {
        locate::start_of_log(&self.txn, &self.tables)
    }

    /// The first position whose event was appended at `time` or later; the head if there is none.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn position_at(&self, time: Timestamp) -> Result<Position> {
        locate::position_at(&self.txn, &self.tables, time)
    }

    /// All events from a position on.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn read_all(&self, from: Position) -> Result<Events<'_>> {
        self.log(from, Position(u64::MAX))
    }

    /// All events before a position, the newest first.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn read_all_backwards(&self, before: Position) -> Result<Events<'_>> {
        Ok(self.log(Position::START, before)?.backwards())
    }

    fn log(&self, from: Position, to: Position) -> Result<Events<'_>> {
        let source = Source::log(&self.txn, &self.tables, from, to)?;
        let filter = Filter { positions: from.0..to.0, stream: None, query: None };
        Ok(Events::new(&self.txn, &self.tables, source, filter))
    }

    /// The events of a stream from a version on.
    ///
    /// # Errors
    /// [`Error::StreamNotFound`] if there is no such stream, or it is deleted; errors of the disk; [`Error::Damaged`].
    pub fn read_stream(&self, stream: impl AsRef<[u8]>, from: Version) -> Result<Events<'_>> {
        self.stream_between(stream.as_ref(), from, Version(u64::MAX))
    }

    /// The events of a stream before a version, the newest first.
    ///
    /// # Errors
    /// As [`Snapshot::read_stream`].
    pub fn read_stream_backwards(&self, stream: impl AsRef<[u8]>, before: Version) -> Result<Events<'_>> {
        Ok(self.stream_between(stream.as_ref(), Version(0), before)?.backwards())
    }

    fn stream_between(&self, name: &[u8], from: Version, to: Version) -> Result<Events<'_>> {
        let (stream, record) = self.open_stream(name)?;
        let from = from.max(record.first);
        let source = Source::stream(&self.txn, &self.tables, stream, from, to)?;
        let filter = Filter { positions: 0..u64::MAX, stream: Some((stream, from.0..to.0)), query: None };
        Ok(Events::new(&self.txn, &self.tables, source, filter))
    }

    fn open_stream(&self, name: &[u8]) -> Result<(StreamId, StreamRecord)> {
        let not_found = || Error::StreamNotFound { stream: name.to_vec() };
        let stream = locate::stream_of(&self.txn, &self.tables, name)?.ok_or_else(not_found)?;
        let record = locate::record_of(&self.txn, &self.tables, stream)?;
        if record.state == StreamState::Open { Ok((stream, record)) } else { Err(not_found()) }
    }

    /// The events that match a query, from a position on. It reads only chunks that an index of types, tags or streams
    /// names.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn read_query(&self, query: &EventQuery, from: Position) -> Result<Events<'_>> {
        self.query_between(query, from, Position(u64::MAX))
    }

    /// The events that match a query before a position, the newest first.
    ///
    /// # Errors
    /// As [`Snapshot::read_query`].
    pub fn read_query_backwards(&self, query: &EventQuery, before: Position) -> Result<Events<'_>> {
        Ok(self.query_between(query, Position::START, before)?.backwards())
    }

    fn query_between(&self, query: &EventQuery, from: Position, to: Position) -> Result<Events<'_>> {
        let query = self.resolve(query)?;
        let source = Source::query(&self.txn, &self.tables, &query, from, to)?;
        let filter = Filter { positions: from.0..to.0, stream: None, query: Some(query) };
        Ok(Events::new(&self.txn, &self.tables, source, filter))
    }

    /// A query with the numbers of the types and streams that there are.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub(crate) fn resolve(&self, query: &EventQuery) -> Result<Resolved> {
        Resolved::new(query, &self.types, |name: &[u8]| locate::stream_of(&self.txn, &self.tables, name))
    }

    /// The name and the schema version of a type.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is no type with this number.
    pub fn event_type(&self, kind: TypeId) -> Result<&EventType> {
        self.types.get(kind).ok_or_else(|| self.tables.damaged(&self.tables.types, "a type is missing"))
    }

    /// The number of a type, for comparisons in [`Snapshot::scan`].
    pub fn type_id(&self, kind: &str, schema: u32) -> Option<TypeId> {
        self.types.find(kind, schema)
    }

    /// All types, in the order of their numbers. Some may be newer than the snapshot.
    pub fn event_types(&self) -> &[EventType] {
        self.types.all()
    }

    /// The name of a stream.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn stream_name(&self, stream: StreamId) -> Result<Vec<u8>> {
        Ok(locate::record_of(&self.txn, &self.tables, stream)?.name)
    }

    /// The number of a stream, also of a deleted one.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn stream_id(&self, stream: impl AsRef<[u8]>) -> Result<Option<StreamId>> {
        locate::stream_of(&self.txn, &self.tables, stream.as_ref())
    }

    /// Returns the state of a stream, also of a deleted one, or `None` if it never existed.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn stream(&self, stream: impl AsRef<[u8]>) -> Result<Option<StreamInfo>> {
        let Some(id) = self.stream_id(stream)? else { return Ok(None) };
        let next = locate::next_version(&self.txn, &self.tables, id)?;
        self.stream_info(id, next).map(Some)
    }

    fn stream_info(&self, id: StreamId, next: Version) -> Result<StreamInfo> {
        let StreamRecord { name, first, state, metadata } = locate::record_of(&self.txn, &self.tables, id)?;
        Ok(StreamInfo { id, name, state, first, next, metadata })
    }

    /// The streams whose names begin with `prefix`, in the order of names, deleted ones included.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn streams(&self, prefix: impl AsRef<[u8]>) -> Result<impl Iterator<Item = Result<StreamInfo>> + '_> {
        self.streams_after(prefix.as_ref(), b"")
    }

    /// As [`Snapshot::streams`], but only streams whose names are above `after`: a list can be continued behind its
    /// last name.
    ///
    /// # Errors
    /// As [`Snapshot::streams`].
    pub fn streams_after<'s>(
        &'s self,
        prefix: &[u8],
        after: &[u8],
    ) -> Result<impl Iterator<Item = Result<StreamInfo>> + use<'s>> {
        use fulgurite::Read;
        let (txn, tables, prefix) = (&self.txn, &*self.tables, prefix.to_vec());
        let low = if after < &prefix[..] { Bound::Included(&prefix[..]) } else { Bound::Excluded(after) };
        let names = txn.range(&tables.names, (low, Bound::Unbounded))?;
        // Once for all streams, and not if there are none.
        let mut in_blocks = None;
        let is_wanted = move |entry: &fulgurite::Result<(fulgurite::Value<'_>, fulgurite::Value<'_>)>| match entry {
            Ok((name, _)) => name.starts_with(&prefix),
            Err(_) => true,
        };
        Ok(names.take_while(is_wanted).map(move |entry| {
            let id = locate::parse_stream(tables, &entry?.1)?;
            if in_blocks.is_none() {
                in_blocks = Some(locate::block_ends(txn, tables)?);
            }
            let end = in_blocks.as_ref().and_then(|ends| ends.get(&id)).copied().unwrap_or_default();
            self.stream_info(id, locate::entries_end(txn, tables, id)?.max(end))
        }))
    }

    /// A copy of an event, with the names of its stream and its type, and its payload upcast.
    ///
    /// # Errors
    /// As [`Snapshot::upcast`].
    pub fn record(&self, event: &Event<'_>) -> Result<RecordedEvent> {
        let (kind, payload) = self.upcast(event)?;
        let event = Event { payload: &payload, ..*event };
        Ok(event.to_recorded(&self.stream_name(event.stream)?, &kind))
    }

    /// The type and the payload of an event after the store's [`Upcasters`].
    ///
    /// # Errors
    /// [`Error::Codec`] if an upcaster fails; [`Error::Damaged`].
    pub fn upcast<'e>(&self, event: &Event<'e>) -> Result<(EventType, Cow<'e, [u8]>)> {
        let kind = self.event_type(event.kind)?;
        let (schema, payload) = self.upcasters.upcast(&kind.name, kind.schema, event.payload)?;
        Ok((EventType { name: Arc::clone(&kind.name), schema }, payload))
    }

    /// The newest stored state of an aggregate at `version` or before it: a fold continues with the event after it.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn aggregate_state(&self, stream: impl AsRef<[u8]>, version: Version) -> Result<Option<AggregateState>> {
        use fulgurite::Read;
        let Some(id) = self.stream_id(stream)? else { return Ok(None) };
        let bounds = keys::stream_part(id, Version(0))..=keys::stream_part(id, version);
        let Some(entry) = self.txn.range(&self.tables.snapshots, bounds)?.next_back() else { return Ok(None) };
        let (key, value) = entry?;
        let parsed = keys::parse_stream_part(&key).zip(value.split_first_chunk::<4>());
        let ((_, version), (schema, state)) =
            parsed.ok_or_else(|| self.tables.damaged(&self.tables.snapshots, "a state is malformed"))?;
        Ok(Some(AggregateState { version, schema: u32::from_le_bytes(*schema), state: state.to_vec() }))
    }

    /// The position of a consumer: the first that it has not processed. The start of the log if it stored none.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn consumer_position(&self, consumer: &str) -> Result<Position> {
        let Some(value) = self.txn.get(&self.tables.consumers, consumer)? else { return Ok(Position::START) };
        parse_position(&self.tables, &value)
    }

    /// The consumers and their positions, in the order of names.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn consumers(&self) -> Result<Vec<(String, Position)>> {
        use fulgurite::Read;
        let entries = self.txn.range(&self.tables.consumers, ..)?;
        let parse = |entry: fulgurite::Result<(fulgurite::Value<'_>, fulgurite::Value<'_>)>| {
            let (key, value) = entry?;
            Ok((String::from_utf8_lossy(&key).into_owned(), parse_position(&self.tables, &value)?))
        };
        entries.map(parse).collect()
    }
}

impl Events<'_> {
    /// Copies at most `most` further events, with the names of their streams and types.
    ///
    /// # Errors
    /// As [`Events::next`].
    pub fn take_recorded(&mut self, snapshot: &Snapshot, most: usize) -> Result<Vec<RecordedEvent>> {
        let mut recorded = Vec::new();
        while recorded.len() < most
            && let Some(event) = self.next()?
        {
            recorded.push(snapshot.record(&event)?);
        }
        Ok(recorded)
    }
}

/// The position that a consumer stored.
///
/// # Errors
/// [`Error::Damaged`].
pub fn parse_position(tables: &Tables, value: &[u8]) -> Result<Position> {
    let bytes = value.try_into().map_err(|_| tables.damaged(&tables.consumers, "a position is malformed"))?;
    Ok(Position(u64::from_be_bytes(bytes)))
}
