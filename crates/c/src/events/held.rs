//! What handles of event stores and their cursors stand for, and copies of events that their callers read.
//!
//! Cursors and followers copy events in batches, and return them from there: so one call returns many of them, and all
//! stay valid until the next one.
#![allow(unsafe_code)] // Addresses of tags, which threads pass on with their batch.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::Arc;

use fulgurite::Table;
#[cfg(unix)]
use fulgurite_events::RemoteEvent;
use fulgurite_events::{
    Event, EventId, EventQuery, EventStore, EventType, Events, Position, Snapshot, StreamId, Version,
};

use crate::arguments::fulgurite_slice;
use crate::code::Result;

/// An event that was read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_event {
    /// Its position in the log of all events: 0, 1, 2, ... in the order of commits.
    pub position: u64,
    /// Its version in its stream: 0, 1, 2, ...
    pub version: u64,
    /// When it was appended, in microseconds since 1970. Never less than that of the event before.
    pub time_us: u64,
    /// The name of its stream.
    pub stream: fulgurite_slice,
    /// The name of its type.
    pub kind: fulgurite_slice,
    /// What happened. It begins at an address that is a multiple of 8.
    pub payload: fulgurite_slice,
    /// The metadata.
    pub metadata: fulgurite_slice,
    /// The 16 bytes of its id. NULL if it has none.
    pub id: *const u8,
    /// The version of the schema of its type.
    pub schema: u32,
    /// Its tags, in the order in which they were given. NULL if it has none.
    pub tags: *const fulgurite_slice,
    /// The number of tags.
    pub tag_count: usize,
}

/// An open event store.
pub struct OpenEventStore {
    /// The store.
    pub store: EventStore,
    /// Its table of positions of consumers, which `docs/reference/events.md` specifies: a transaction of the program
    /// changes it together with tables of the program.
    pub consumers: Table,
}

/// Where the bytes of a copied event are: the first word, and how many bytes.
type Place = (usize, usize);

/// A copied event.
struct Copied {
    position: u64,
    version: u64,
    time_us: u64,
    stream: Arc<[u8]>,
    kind: EventType,
    id: Option<EventId>,
    payload: Place,
    metadata: Place,
    /// Where its tags are in [`Batch::tags`]: the first, and how many.
    tags: (usize, usize),
}

/// The tags of a batch, as they are returned: bytes of [`Batch::words`].
#[derive(Default)]
struct TagSlices(Vec<fulgurite_slice>);

// SAFETY: the addresses are those of bytes that the same batch owns, so the thread that has the batch may use them.
unsafe impl Send for TagSlices {}

/// Copied events. Each is returned once.
#[derive(Default)]
pub(super) struct Batch {
    /// The bytes of the events. Each part begins with a word, for its alignment.
    words: Vec<u64>,
    events: Vec<Copied>,
    /// The tags of all events, one after the other.
    tags: Vec<Place>,
    /// The same, made when the batch is complete: until then its bytes may move.
    tag_slices: TagSlices,
    /// How many were returned.
    returned: usize,
}

impl Batch {
    /// Forgets the events, which were returned.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.words.shrink_to(BATCH_BYTES / 8);
        self.events.clear();
        self.tags.clear();
        self.tag_slices.0.clear();
        self.returned = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether all events were returned.
    pub(super) fn is_spent(&self) -> bool {
        self.returned == self.events.len()
    }

    /// The position of the first event that was not returned.
    pub(super) fn next_position(&self) -> Option<u64> {
        self.events.get(self.returned).map(|event| event.position)
    }

    /// Whether it has so many events or bytes that the next event waits for the next batch.
    pub(super) fn is_full(&self, most: usize) -> bool {
        self.events.len() >= most || self.words.len() > BATCH_BYTES / 8
    }

    fn push(&mut self, event: &Event<'_>, stream: Arc<[u8]>, kind: &EventType) {
        let (payload, metadata) = (self.place(event.payload), self.place(event.metadata));
        let first_tag = self.tags.len();
        for tag in event.tags {
            let place = self.place(tag);
            self.tags.push(place);
        }
        let tags = (first_tag, self.tags.len() - first_tag);
        self.events.push(Copied {
            position: event.position.0,
            version: event.version.0,
            time_us: event.time.0,
            stream,
            kind: kind.clone(),
            id: event.id.copied(),
            payload,
            metadata,
            tags,
        });
    }

    fn place(&mut self, bytes: &[u8]) -> Place {
        let place = (self.words.len(), bytes.len());
        let (whole, rest) = bytes.as_chunks::<8>();
        self.words.extend(whole.iter().map(|word| u64::from_ne_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.words.push(u64::from_ne_bytes(last));
        }
        place
    }

    fn slice(&self, (word, length): Place) -> fulgurite_slice {
        match self.words.get(word..) {
            Some(words) if length > 0 => fulgurite_slice { data: words.as_ptr().cast(), length },
            _ => fulgurite_slice::of(&[]),
        }
    }

    /// The tags at these places, as an array of C.
    fn tag_array(&self, (first, count): (usize, usize)) -> *const fulgurite_slice {
        match self.tag_slices.0.get(first..) {
            Some(slices) if count > 0 => slices.as_ptr(),
            _ => std::ptr::null(),
        }
    }

    /// Returns the next events, and how many: at most one for each place. No event is added after the first call.
    pub(super) fn take(&mut self, places: &mut [MaybeUninit<fulgurite_event>]) -> usize {
        if self.tag_slices.0.is_empty() {
            self.tag_slices.0 = self.tags.iter().map(|tag| self.slice(*tag)).collect();
        }
        let rest = self.events.get(self.returned..).unwrap_or_default();
        let taken = rest.len().min(places.len());
        for (place, event) in places.iter_mut().zip(rest) {
            place.write(fulgurite_event {
                position: event.position,
                version: event.version,
                time_us: event.time_us,
                stream: fulgurite_slice::of(&event.stream),
                kind: fulgurite_slice::of(event.kind.name.as_bytes()),
                payload: self.slice(event.payload),
                metadata: self.slice(event.metadata),
                id: event.id.as_ref().map_or(std::ptr::null(), |id| id.as_ptr()),
                schema: event.kind.schema,
                tags: self.tag_array(event.tags),
                tag_count: event.tags.1,
            });
        }
        self.returned += taken;
        taken
    }
}

/// Names of streams that were looked up.
#[derive(Default)]
pub(super) struct StreamNames(HashMap<StreamId, Arc<[u8]>>);

impl StreamNames {
    /// Copies an event of a snapshot into a batch.
    ///
    /// # Errors
    /// Damage; those of the disk.
    pub(super) fn copy(
        &mut self,
        snapshot: &Snapshot,
        event: &Event<'_>,
        batch: &mut Batch,
    ) -> fulgurite_events::Result<()> {
        let name = match self.0.get(&event.stream) {
            Some(name) => Arc::clone(name),
            None => self.keep(event.stream, snapshot.stream_name(event.stream)?.into()),
        };
        batch.push(event, name, snapshot.event_type(event.kind)?);
        Ok(())
    }

    /// Copies an event of another process into a batch.
    #[cfg(unix)]
    pub(super) fn copy_remote(&mut self, remote: &RemoteEvent<'_>, batch: &mut Batch) {
        let name = match self.0.get(&remote.event.stream) {
            Some(name) => Arc::clone(name),
            None => self.keep(remote.event.stream, remote.stream.into()),
        };
        batch.push(&remote.event, name, remote.kind);
    }

    fn keep(&mut self, stream: StreamId, name: Arc<[u8]>) -> Arc<[u8]> {
        if self.0.len() >= NAMES_MAX {
            self.0.clear();
        }
        self.0.insert(stream, Arc::clone(&name));
        name
    }
}

/// Which events a cursor reads.
pub enum Selection {
    /// All events of the log.
    All,
    /// Those of a stream.
    Stream(Vec<u8>),
    /// Those that match a query.
    Query(EventQuery),
}

/// A cursor over events of a snapshot.
pub struct OpenEventCursor {
    snapshot: Snapshot,
    selection: Selection,
    is_backwards: bool,
    /// The first position, or version of the stream, that is still to come.
    start: u64,
    /// The one after the last.
    stop: u64,
    has_ended: bool,
    names: StreamNames,
    batch: Batch,
    /// How many events the next batch has at most.
    batch_events: usize,
}

impl OpenEventCursor {
    /// A cursor over the events from a position or version on, or backwards over those before it.
    ///
    /// # Errors
    /// If there is no such stream; those of the disk.
    pub fn new(snapshot: Snapshot, selection: Selection, from: u64, is_backwards: bool) -> Result<Self> {
        if let Selection::Stream(name) = &selection {
            snapshot.read_stream(name, Version(from)).map(drop)?;
        }
        let (start, stop) = if is_backwards { (0, from) } else { (from, u64::MAX) };
        let (names, batch) = (StreamNames::default(), Batch::default());
        let batch_events = BATCH_FIRST;
        Ok(Self { snapshot, selection, is_backwards, start, stop, has_ended: false, names, batch, batch_events })
    }

    /// Returns the next events, and how many: none after the last one. Those of the call before are no longer valid.
    ///
    /// # Errors
    /// Damage; those of the disk. Events before it are returned first.
    pub fn read(&mut self, places: &mut [MaybeUninit<fulgurite_event>]) -> Result<usize> {
        if self.batch.is_spent() {
            self.batch.clear();
            let read = if self.has_ended || self.start >= self.stop { Ok(true) } else { self.fill() };
            if let Some(last) = self.batch.events.last() {
                let number = if let Selection::Stream(_) = self.selection { last.version } else { last.position };
                if self.is_backwards { self.stop = number } else { self.start = number + 1 }
            }
            match read {
                Ok(has_ended) => self.has_ended = has_ended,
                Err(error) if self.batch.is_empty() => return Err(error.into()),
                // The next batch begins with the event that failed, and fails again.
                Err(_) => {}
            }
            self.batch_events = (2 * self.batch_events).min(BATCH_MAX);
        }
        Ok(self.batch.take(places))
    }

    /// Copies the next batch. Returns whether there are no further events.
    fn fill(&mut self) -> fulgurite_events::Result<bool> {
        let mut events = cursor(&self.snapshot, &self.selection, self.start, self.stop, self.is_backwards)?;
        while !self.batch.is_full(self.batch_events) {
            let Some(event) = events.next()? else { return Ok(true) };
            self.names.copy(&self.snapshot, &event, &mut self.batch)?;
        }
        Ok(false)
    }
}

/// A cursor of the store over the events that are still to come.
fn cursor<'s>(
    snapshot: &'s Snapshot,
    selection: &Selection,
    start: u64,
    stop: u64,
    is_backwards: bool,
) -> fulgurite_events::Result<Events<'s>> {
    match (selection, is_backwards) {
        (Selection::All, false) => snapshot.read_all(Position(start)),
        (Selection::All, true) => snapshot.read_all_backwards(Position(stop)),
        (Selection::Stream(name), false) => snapshot.read_stream(name, Version(start)),
        (Selection::Stream(name), true) => snapshot.read_stream_backwards(name, Version(stop)),
        (Selection::Query(query), false) => snapshot.read_query(query, Position(start)),
        (Selection::Query(query), true) => snapshot.read_query_backwards(query, Position(stop)),
    }
}

/// The events of the first batch of a cursor. Each further one has twice as many, up to the most.
const BATCH_FIRST: usize = 16;
pub(super) const BATCH_MAX: usize = 1024;
/// A batch with more bytes gets no further event.
const BATCH_BYTES: usize = 4 << 20;
/// The names that are kept.
const NAMES_MAX: usize = 10_000;
