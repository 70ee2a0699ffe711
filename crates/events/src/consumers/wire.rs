//! Frames between a process that serves its store and followers in other processes, over a Unix socket.
//!
//! ```text
//! frame   0  kind, u8    1  bytes of the body, u32    5  body
//! type    0  number, u32    4  schema version, u32    8  name
//! stream  0  number, u64    8  name
//! event   0  position, u64    8  version, u64    16  stream, u64    24  time, u64    32  type, u32
//!        36  1 if it has an id, u32    40  id, 16 bytes    56  bytes of payload, metadata and tags, u32 each
//!        68  0, u32    72  payload, metadata, tags
//! signal  0  0: caught up; 1: fell behind    1  events that are waiting, u64
//! missed  0  positions that retention had removed, u64    8  the next position that can have an event, u64
//! refused 0  the position that the next event gets, u64; the connection ends
//! forget  no body: names are given again
//! taken   no body: another connection has the name of the consumer; the connection ends
//! ```
//!
//! A follower sends a [`Hello`](crate::consumers::hello::Hello), and nothing after it. A named consumer then sends
//! positions as u64, without frames. It has processed all events before a position that it sends.
//!
//! Integers are little-endian. A type or a stream is named before its first event, and before its first event after
//! `forget`. Both sides are of one version.

use std::io::{self, Read, Write};

use crate::consumers::signal::Signal;
use crate::event::{Event, Tags};
use crate::ids::{EventId, Position, StreamId, Timestamp, TypeId, Version};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Names a type.
    Type = 1,
    /// Names a stream.
    Stream = 2,
    /// An event.
    Event = 3,
    /// A signal.
    Signal = 4,
    /// Positions are skipped: their events were removed, or are not asked for.
    Missed = 5,
    /// The position wanted is above that of the next event.
    Refused = 6,
    /// The names of types and streams are given again, so that neither side keeps more and more of them.
    Forget = 7,
    /// Another connection has the name of the consumer.
    Taken = 8,
}

/// The body of a frame. It begins at an address that is a multiple of 8, and so does the payload of an event in it.
#[derive(Debug, Default)]
pub struct Body {
    bytes: Vec<u8>,
    begin: usize,
}

impl Body {
    /// The bytes.
    pub fn get(&self) -> &[u8] {
        self.bytes.get(self.begin..).unwrap_or_default()
    }

    /// Aligns the bytes. Those of most allocators are aligned already, but none has to align single bytes.
    fn align(&mut self) {
        // Shifting them needs no other place then.
        self.bytes.reserve(ALIGNMENT);
        self.shift(self.bytes.as_ptr().addr().wrapping_neg() % ALIGNMENT);
    }

    /// Moves the bytes to `begin`.
    fn shift(&mut self, begin: usize) {
        let length = self.bytes.len();
        self.begin = begin;
        if begin > 0 {
            self.bytes.resize(length + begin, 0);
            self.bytes.copy_within(..length, begin);
        }
    }
}

/// Writes a frame whose body is these parts.
///
/// # Errors
/// Those of the socket.
pub fn write_frame(out: &mut impl Write, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let length = u32::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    out.write_all(&[kind as u8])?;
    out.write_all(&length.to_le_bytes())?;
    parts.iter().try_for_each(|part| out.write_all(part))
}

/// Reads a frame into `body`.
///
/// # Errors
/// Those of the socket; an unknown kind or a body that is too long.
pub fn read_frame(from: &mut impl Read, body: &mut Body) -> io::Result<Kind> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let kind = match head[0] {
        1 => Kind::Type,
        2 => Kind::Stream,
        3 => Kind::Event,
        4 => Kind::Signal,
        5 => Kind::Missed,
        6 => Kind::Refused,
        7 => Kind::Forget,
        8 => Kind::Taken,
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    body.bytes.clear();
    // Memory grows with what arrives, not with what a length claims.
    if from.take(u64::from(length)).read_to_end(&mut body.bytes)? < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    body.align();
    Ok(kind)
}

/// Writes an event.
///
/// # Errors
/// Those of the socket.
pub fn write_event(out: &mut impl Write, event: &Event<'_>) -> io::Result<()> {
    let mut head = [0; EVENT_HEAD_BYTES];
    for (at, number) in [event.position.0, event.version.0, event.stream.0, event.time.0].into_iter().enumerate() {
        head[at * 8..at * 8 + 8].copy_from_slice(&number.to_le_bytes());
    }
    head[32..36].copy_from_slice(&event.kind.0.to_le_bytes());
    head[36..40].copy_from_slice(&u32::from(event.id.is_some()).to_le_bytes());
    head[40..56].copy_from_slice(event.id.unwrap_or(&[0; 16]));
    for (at, part) in [event.payload, event.metadata, event.tags.0].into_iter().enumerate() {
        head[56 + at * 4..60 + at * 4].copy_from_slice(&(part.len() as u32).to_le_bytes());
    }
    write_frame(out, Kind::Event, &[&head, event.payload, event.metadata, event.tags.0])
}

/// The event of a frame. None if it is malformed.
pub fn parse_event(body: &[u8]) -> Option<Event<'_>> {
    let (head, rest) = body.split_first_chunk::<EVENT_HEAD_BYTES>()?;
    let long = |at: usize| head[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let word = |at: usize| head[at..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let id: &EventId = head[40..].first_chunk()?;
    let (payload, rest) = rest.split_at_checked(word(56)? as usize)?;
    let (metadata, rest) = rest.split_at_checked(word(60)? as usize)?;
    let tags = rest.get(..word(64)? as usize)?;
    Some(Event {
        position: Position(long(0)?),
        version: Version(long(8)?),
        stream: StreamId(long(16)?),
        time: Timestamp(long(24)?),
        kind: TypeId(word(32)?),
        id: (word(36)? == 1).then_some(id),
        payload,
        metadata,
        tags: Tags(tags),
    })
}

/// Writes a signal.
///
/// # Errors
/// Those of the socket.
pub fn write_signal(out: &mut impl Write, signal: Signal) -> io::Result<()> {
    let (kind, events) = match signal {
        Signal::CaughtUp => (0, 0),
        Signal::FellBehind { events } => (1, events),
    };
    write_frame(out, Kind::Signal, &[&[kind], &u64::to_le_bytes(events)])
}

/// The signal of a frame. None if it is malformed.
pub fn parse_signal(body: &[u8]) -> Option<Signal> {
    let (&kind, events) = body.split_first()?;
    match kind {
        0 => Some(Signal::CaughtUp),
        1 => Some(Signal::FellBehind { events: u64::from_le_bytes(events.try_into().ok()?) }),
        _ => None,
    }
}

const EVENT_HEAD_BYTES: usize = 72;
/// Payloads are aligned to it, as in the log.
const ALIGNMENT: usize = 8;
const _: () = assert!(EVENT_HEAD_BYTES.is_multiple_of(ALIGNMENT));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_the_same_wherever_it_begins() {
        let mut body = Body::default();
        for begin in [0, 3, 7, 1] {
            body.bytes.clear();
            body.bytes.extend(b"ten bytes.");
            body.shift(begin);
            assert_eq!(body.get(), b"ten bytes.", "from {begin} on");
            body.bytes.clear();
            body.bytes.extend(b"others");
            body.align();
            assert_eq!((body.get(), body.get().as_ptr().addr() % ALIGNMENT), (&b"others"[..], 0));
        }
    }
}
