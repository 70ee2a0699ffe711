//! Chunks: the values of the log. A chunk holds neighbouring events, and its key is the position of the first. They are
//! of one transaction, unless the chunk is below the start of the log: there retention joins chunks that keep only ids.
//!
//! ```text
//! chunk   0  time, u64    8  number of events, u32    12  0, u32    16  events
//! event   0  payload bytes, u32    4  type, 24 bits    7  flags    8  stream, u64    16  version, u64
//!        24  id, 16 bytes, if FLAG_ID
//!            metadata bytes, u32, and tag bytes, u32, if FLAG_MORE
//!            payload, metadata, tags (length as u16, then bytes), zeros up to a multiple of 8
//! ```
//!
//! Integers are little-endian. Values of the table are aligned to 8 bytes, and so are events and payloads in them.
//! `docs/reference/events.md` specifies the layout.

use crate::event::{Event, EventData, Tags};
use crate::ids::{EventId, Position, StreamId, Timestamp, TypeId, Version};

/// Builds a chunk.
#[derive(Debug, Default)]
pub struct ChunkBuilder {
    bytes: Vec<u8>,
    count: u32,
}

impl ChunkBuilder {
    /// How many events it holds.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether the event can be added to this chunk. One event always fits an empty chunk.
    #[inline]
    pub fn fits(&self, event: &EventData<'_>) -> bool {
        self.count == 0 || self.bytes.len() + event_bytes(event) <= CHUNK_BYTES_MAX
    }

    /// Uses the memory of a buffer for the next events. Requires: the builder has no events.
    pub fn use_buffer(&mut self, mut buffer: Vec<u8>) {
        assert!(self.count == 0, "events would be lost");
        buffer.clear();
        self.bytes = buffer;
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, stream: StreamId, version: Version, kind: TypeId, event: &EventData<'_>) {
        // Many chunks have one event: those are not given room for more.
        match self.count {
            0 => {
                self.bytes.reserve_exact(CHUNK_HEADER_BYTES + event_bytes(event));
                self.bytes.extend_from_slice(&[0; CHUNK_HEADER_BYTES]);
            }
            1 => self.bytes.reserve(CHUNK_BYTES_MAX.saturating_sub(self.bytes.len())),
            _ => {}
        }
        let has_more = !event.metadata.is_empty() || !event.tags.is_empty();
        let flags = (u32::from(event.id.is_some()) * FLAG_ID) | (u32::from(has_more) * FLAG_MORE);
        let out = &mut self.bytes;
        let mut header = [0; EVENT_HEADER_BYTES];
        header[..4].copy_from_slice(&(event.payload.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&(kind.0 | (flags << 24)).to_le_bytes());
        header[8..16].copy_from_slice(&stream.0.to_le_bytes());
        header[16..].copy_from_slice(&version.0.to_le_bytes());
        out.extend_from_slice(&header);
        if let Some(id) = &event.id {
            out.extend_from_slice(id);
        }
        if has_more {
            out.extend_from_slice(&(event.metadata.len() as u32).to_le_bytes());
            out.extend_from_slice(&(tag_bytes(event) as u32).to_le_bytes());
        }
        out.extend_from_slice(event.payload);
        if has_more {
            out.extend_from_slice(event.metadata);
            for tag in event.tags {
                out.extend_from_slice(&(tag.len() as u16).to_le_bytes());
                out.extend_from_slice(tag.as_bytes());
            }
        }
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        self.count += 1;
    }

    /// The chunk as a value of the log, with the time at which its events were appended. The builder is empty then.
    pub fn finish(&mut self, time: Timestamp) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        write_header(&mut bytes, time, self.count);
        self.count = 0;
        bytes
    }

    /// The events so far. Requires: there are some.
    pub fn chunk(&self, first: Position) -> Chunk<'_> {
        let events = self.bytes.get(CHUNK_HEADER_BYTES..).unwrap_or_default();
        Chunk { first, time: Timestamp::default(), count: self.count, events }
    }
}

fn write_header(bytes: &mut [u8], time: Timestamp, count: u32) {
    bytes[..8].copy_from_slice(&time.0.to_le_bytes());
    bytes[8..12].copy_from_slice(&count.to_le_bytes());
}

/// The size of an event in a chunk in bytes, at most.
fn event_bytes(event: &EventData<'_>) -> usize {
    let parts = event.payload.len() + event.metadata.len() + tag_bytes(event);
    (EVENT_HEADER_BYTES + 16 + 8 + parts).next_multiple_of(ALIGN)
}

fn tag_bytes(event: &EventData<'_>) -> usize {
    event.tags.iter().map(|tag| 2 + tag.len()).sum()
}

/// A chunk that is read.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'c> {
    /// The position of its first event.
    pub first: Position,
    /// When its first event was appended, and all others unless the chunk was joined from several.
    pub time: Timestamp,
    /// How many events it has, removed ones included.
    pub count: u32,
    events: &'c [u8],
}

impl<'c> Chunk<'c> {
    /// The chunk of an entry of the log. None if the bytes are no chunk.
    #[inline]
    pub fn parse(key: &[u8], value: &'c [u8]) -> Option<Self> {
        let first = Position(u64::from_be_bytes(key.try_into().ok()?));
        let (header, events) = value.split_first_chunk::<CHUNK_HEADER_BYTES>()?;
        let time = Timestamp(u64::from_le_bytes(*header.first_chunk()?));
        let count = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        first.0.checked_add(u64::from(count)).filter(|_| count > 0)?;
        Some(Self { first, time, count, events })
    }

    /// The position after its last event.
    #[inline]
    pub fn end(&self) -> Position {
        Position(self.first.0 + u64::from(self.count))
    }

    /// Its events in order, without those that were removed.
    #[inline(always)]
    pub fn events(&self) -> ChunkEvents<'c> {
        ChunkEvents { all: self.slots() }
    }

    /// Its events in order.
    #[inline(always)]
    pub fn slots(&self) -> ChunkSlots<'c> {
        ChunkSlots { position: self.first.0, time: self.time, left: self.count, rest: self.events, at: 0 }
    }

    /// The event at an offset that [`ChunkSlots::offset`] returned.
    #[inline]
    pub fn event_at(&self, index: u32, offset: usize) -> Option<Event<'c>> {
        let (position, rest) = (self.first.0 + u64::from(index), self.events.get(offset..)?);
        let mut slots = ChunkSlots { position, time: self.time, left: 1, rest, at: offset };
        slots.next()?.event()
    }

    /// Removes events or parts of them, and returns the new value of the log. `kept` decides how much of each event
    /// stays; it is called for removed events too. Returns None if nothing changes.
    pub fn without(&self, kept: impl FnMut(&Event<'c>) -> Kept) -> Option<Vec<u8>> {
        self.reduced(kept).and_then(|(value, is_changed)| is_changed.then_some(value))
    }

    /// As [`Chunk::without`], also if nothing changes; the flag is true if something does. Returns None if the chunk is
    /// damaged.
    pub fn reduced(&self, mut kept: impl FnMut(&Event<'c>) -> Kept) -> Option<(Vec<u8>, bool)> {
        let mut bytes = vec![0; CHUNK_HEADER_BYTES];
        let (mut changed, mut begun) = (false, 0);
        let mut slots = self.slots();
        while let Some(slot) = slots.next() {
            let end = slots.offset();
            let event = slot.remains();
            let wanted = kept(&event);
            let id = event.id.filter(|_| wanted >= Kept::Id);
            if wanted == Kept::Whole || slot.is_removed && id == event.id {
                bytes.extend_from_slice(&self.events[begun..end]);
            } else {
                let flags = FLAG_REMOVED | (u32::from(id.is_some()) * FLAG_ID);
                let mut header = [0; EVENT_HEADER_BYTES];
                header[4..8].copy_from_slice(&(event.kind.0 | (flags << 24)).to_le_bytes());
                header[8..16].copy_from_slice(&event.stream.0.to_le_bytes());
                header[16..].copy_from_slice(&event.version.0.to_le_bytes());
                bytes.extend_from_slice(&header);
                bytes.extend_from_slice(id.map_or(&[], |id| &id[..]));
                changed = true;
            }
            begun = end;
        }
        write_header(&mut bytes, self.time, self.count);
        slots.is_whole().then_some((bytes, changed))
    }

    /// Whether it has an id that stays if so much of each event is kept. Removed events count too.
    pub fn keeps_ids(&self, mut kept: impl FnMut(&Event<'c>) -> Kept) -> bool {
        self.slots().map(Slot::remains).any(|event| event.id.is_some() && kept(&event) >= Kept::Id)
    }

    /// The length of its value in the log.
    pub fn bytes(&self) -> usize {
        CHUNK_HEADER_BYTES + self.events.len()
    }
}

/// Adds the events of the next chunk to a value of the log, which keeps its time. Returns false, and adds nothing, if a
/// chunk would be too long. Requires: both values are from [`Chunk::reduced`], and the second chunk begins where the
/// first ends.
pub fn join(value: &mut Vec<u8>, next: &[u8]) -> bool {
    let is_short = value.len() + next.len() - CHUNK_HEADER_BYTES <= CHUNK_BYTES_MAX;
    if is_short {
        let [(time, count), (_, added)] = [&value[..], next].map(|value| {
            let chunk = Chunk::parse(&[0; 8], value).expect("values of `Chunk::reduced` are chunks");
            (chunk.time, chunk.count)
        });
        value.extend_from_slice(&next[CHUNK_HEADER_BYTES..]);
        write_header(value, time, count + added);
    }
    is_short
}

/// What [`Chunk::without`] leaves of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// Its position, stream, version and type.
    Place,
    /// These, and its id, by which a repeated append is recognised.
    Id,
    /// All of it.
    Whole,
}

/// An event of a chunk, or the empty place of a removed one.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'c> {
    event: Event<'c>,
    is_removed: bool,
}

impl<'c> Slot<'c> {
    /// The event, unless it was removed.
    #[inline(always)]
    pub fn event(self) -> Option<Event<'c>> {
        (!self.is_removed).then_some(self.event)
    }

    /// The event, also if it was removed. A removed event has no payload, metadata or tags; it has its id if retention
    /// kept it.
    #[inline(always)]
    pub fn remains(self) -> Event<'c> {
        self.event
    }
}

/// The events of a chunk in order, also removed ones. Ends early where the bytes are damaged:
/// [`ChunkSlots::is_whole`] returns false then.
#[derive(Clone, Copy, Debug)]
pub struct ChunkSlots<'c> {
    position: u64,
    time: Timestamp,
    left: u32,
    rest: &'c [u8],
    at: usize,
}

impl ChunkSlots<'_> {
    /// Whether all events were read.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.left == 0
    }

    /// Where the next event begins.
    pub fn offset(&self) -> usize {
        self.at
    }
}

impl<'c> Iterator for ChunkSlots<'c> {
    type Item = Slot<'c>;

    #[inline(always)]
    fn next(&mut self) -> Option<Slot<'c>> {
        if self.left == 0 {
            return None;
        }
        let rest = self.rest;
        let header = rest.first_chunk::<EVENT_HEADER_BYTES>()?;
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | (u64::from(word(at + 4)) << 32);
        let (payload_bytes, kind_and_flags) = (word(0) as usize, word(4));
        let flags = kind_and_flags >> 24;
        let (mut at, mut id, mut metadata_bytes, mut tag_bytes) = (EVENT_HEADER_BYTES, None, 0, 0);
        if flags & (FLAG_ID | FLAG_MORE) != 0 {
            if flags & FLAG_ID != 0 {
                let bytes: &EventId = rest.get(at..)?.first_chunk()?;
                id = Some(bytes);
                at += 16;
            }
            if flags & FLAG_MORE != 0 {
                let lengths = rest.get(at..)?.first_chunk::<8>()?;
                metadata_bytes = u32::from_le_bytes([lengths[0], lengths[1], lengths[2], lengths[3]]) as usize;
                tag_bytes = u32::from_le_bytes([lengths[4], lengths[5], lengths[6], lengths[7]]) as usize;
                at += 8;
            }
        }
        let end = (at + payload_bytes + metadata_bytes + tag_bytes).next_multiple_of(ALIGN);
        let (bytes, after) = rest.split_at_checked(end)?;
        let (payload, others) = bytes[at..].split_at(payload_bytes);
        let (metadata, others) = others.split_at(metadata_bytes);
        let event = Event {
            position: Position(self.position),
            version: Version(long(16)),
            stream: StreamId(long(8)),
            kind: TypeId(kind_and_flags & TYPE_MAX),
            time: self.time,
            id,
            payload,
            metadata,
            tags: Tags(&others[..tag_bytes]),
        };
        self.position += 1;
        self.left -= 1;
        self.rest = after;
        self.at += end;
        Some(Slot { event, is_removed: flags & FLAG_REMOVED != 0 })
    }
}

/// The events of a chunk in order, without removed ones.
#[derive(Clone, Copy, Debug)]
pub struct ChunkEvents<'c> {
    all: ChunkSlots<'c>,
}

impl ChunkEvents<'_> {
    /// Whether all events were read.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.all.is_whole()
    }
}

impl<'c> Iterator for ChunkEvents<'c> {
    type Item = Event<'c>;

    #[inline(always)]
    fn next(&mut self) -> Option<Event<'c>> {
        loop {
            if let Some(event) = self.all.next()?.event() {
                return Some(event);
            }
        }
    }
}

/// Bytes before the first event.
pub const CHUNK_HEADER_BYTES: usize = 16;
/// Bytes of an event without id, lengths, payload, metadata and tags.
const EVENT_HEADER_BYTES: usize = 24;
/// Two chunks of this size fill a leaf of 16 KiB, beside their headers.
pub const CHUNK_BYTES_MAX: usize = 8000;
/// Alignment of events and payloads.
const ALIGN: usize = 8;
/// The greatest number of a type.
pub const TYPE_MAX: u32 = (1 << 24) - 1;
// On disk: never renumber, only append.
const FLAG_ID: u32 = 1;
const FLAG_MORE: u32 = 2;
const FLAG_REMOVED: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk() -> Vec<u8> {
        let mut builder = ChunkBuilder::default();
        let tags = ["a", "order:7"];
        let events = [
            EventData::new("x", b"12345"),
            EventData::new("x", b"").id([9; 16]).metadata(b"m").tags(&tags),
            EventData::new("y", &[7; 100]),
        ];
        for (version, event) in events.iter().enumerate() {
            builder.push(StreamId(3), Version(version as u64), TypeId(version as u32), event);
        }
        builder.finish(Timestamp(77))
    }

    #[test]
    fn a_buffer_that_was_used_leaves_nothing_in_the_next_chunk() {
        let mut builder = ChunkBuilder::default();
        builder.use_buffer(vec![0xff; 500]);
        let event = EventData::new("x", b"123");
        builder.push(StreamId(3), Version(0), TypeId(1), &event);
        let reused = builder.finish(Timestamp(77));
        assert!(reused.capacity() >= 500);
        builder.push(StreamId(3), Version(0), TypeId(1), &event);
        assert_eq!(reused, builder.finish(Timestamp(77)));
    }

    #[test]
    fn events_are_read_as_they_were_written() {
        let value = chunk();
        let chunk = Chunk::parse(&5_u64.to_be_bytes(), &value).unwrap();
        assert_eq!((chunk.first, chunk.end(), chunk.time), (Position(5), Position(8), Timestamp(77)));
        let mut events = chunk.events();
        let all: Vec<_> = events.by_ref().collect();
        assert!(events.is_whole());
        assert_eq!(all.iter().map(|event| event.payload.len()).collect::<Vec<_>>(), [5, 0, 100]);
        assert_eq!((all[1].id, all[1].metadata), (Some(&[9; 16]), &b"m"[..]));
        assert_eq!(all[1].tags.collect::<Vec<_>>(), [&b"a"[..], b"order:7"]);
        assert_eq!((all[2].position, all[2].version, all[2].kind), (Position(7), Version(2), TypeId(2)));
    }

    /// Keeps this much of the event with the version, and all other events whole.
    fn only(version: u64, kept: Kept) -> impl FnMut(&Event<'_>) -> Kept {
        move |event| if event.version == Version(version) { kept } else { Kept::Whole }
    }

    #[test]
    fn removed_events_leave_their_places() {
        let value = chunk();
        let value = Chunk::parse(&[0; 8], &value).unwrap().without(only(1, Kept::Place)).unwrap();
        let chunk = Chunk::parse(&[0; 8], &value).unwrap();
        assert_eq!(chunk.events().map(|event| event.position.0).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((chunk.slots().count(), chunk.keeps_ids(|_| Kept::Id)), (3, false));
        for kept in [Kept::Place, Kept::Id, Kept::Whole] {
            assert!(chunk.without(only(1, kept)).is_none(), "it is removed already");
        }
        let husk = chunk.without(|_| Kept::Place).unwrap();
        assert_eq!(Chunk::parse(&[0; 8], &husk).unwrap().events().count(), 0);
    }

    #[test]
    fn removed_events_leave_their_ids_if_these_are_kept() {
        let value = chunk();
        let value = Chunk::parse(&[0; 8], &value).unwrap().without(|_| Kept::Id).unwrap();
        let chunk = Chunk::parse(&[0; 8], &value).unwrap();
        assert_eq!(chunk.events().count(), 0);
        assert!(chunk.keeps_ids(only(1, Kept::Id)) && !chunk.keeps_ids(only(1, Kept::Place)));
        let left: Vec<_> = chunk.slots().map(Slot::remains).collect();
        assert_eq!(left.iter().map(|event| event.id).collect::<Vec<_>>(), [None, Some(&[9; 16]), None]);
        assert!(left.iter().all(|event| event.payload.is_empty() && event.metadata.is_empty()));
        assert_eq!(left.iter().map(|event| event.version.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(chunk.without(|_| Kept::Id).is_none(), "nothing but ids is left");
        let husk = chunk.without(|_| Kept::Place).unwrap();
        assert!(!Chunk::parse(&[0; 8], &husk).unwrap().keeps_ids(|_| Kept::Id));
    }

    #[test]
    fn chunks_that_keep_only_ids_are_joined_until_they_are_full() {
        let value = chunk();
        let reduced = |first: u64| {
            let reduced = Chunk::parse(&first.to_be_bytes(), &value).unwrap().reduced(|_| Kept::Id).unwrap();
            assert!(reduced.1, "payloads are removed");
            reduced.0
        };
        let (mut joined, mut chunks) = (reduced(5), 1);
        while join(&mut joined, &reduced(5 + 3 * chunks)) {
            chunks += 1;
        }
        let events_bytes = reduced(5).len() - CHUNK_HEADER_BYTES;
        assert_eq!(joined.len(), CHUNK_HEADER_BYTES + chunks as usize * events_bytes);
        assert!(joined.len() + events_bytes > CHUNK_BYTES_MAX);
        let chunk = Chunk::parse(&5_u64.to_be_bytes(), &joined).unwrap();
        assert_eq!(chunk.bytes(), joined.len());
        assert_eq!((chunk.time, chunk.end()), (Timestamp(77), Position(5 + 3 * chunks)));
        let left: Vec<_> = chunk.slots().map(Slot::remains).collect();
        assert!(left.iter().zip(5..).all(|(event, position)| event.position == Position(position)));
        assert_eq!(left.iter().filter(|event| event.id.is_some()).count() as u64, chunks);
        assert_eq!(chunk.reduced(|_| Kept::Id), Some((joined.clone(), false)));
    }

    #[test]
    fn damaged_bytes_end_early_and_never_panic() {
        let value = chunk();
        for length in 0..value.len() {
            if let Some(chunk) = Chunk::parse(&[0; 8], &value[..length]) {
                let mut events = chunk.events();
                assert!(events.by_ref().count() < 3 && !events.is_whole());
            }
        }
        for at in 0..value.len() {
            for bit in 0..8 {
                let mut value = value.clone();
                value[at] ^= 1 << bit;
                let Some(chunk) = Chunk::parse(&[0; 8], &value) else { continue };
                chunk.events().for_each(|event| assert!(event.tags.count() <= value.len()));
                chunk.reduced(|_| Kept::Id);
            }
        }
    }
}
