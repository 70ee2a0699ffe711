//! [`RemoteFollower`]: follows a store that another process serves.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::consumers::signal::Signal;
use crate::consumers::wire::{self, Kind};
use crate::error::{Error, Result};
use crate::event::{Event, EventType};
use crate::ids::{Position, StreamId, TypeId};

/// Follows a store that another process serves ([`EventStore::serve`](crate::EventStore::serve)). It sees every event
/// from a position on once, in the order of positions, without gaps, as a [`Follower`](crate::Follower) in that process
/// does. It does not poll: the other process sends the events.
///
/// Payloads are bytes of a buffer: their addresses need not be multiples of 8.
#[derive(Debug)]
pub struct RemoteFollower {
    path: PathBuf,
    from: BufReader<UnixStream>,
    types: HashMap<TypeId, EventType>,
    streams: HashMap<StreamId, Vec<u8>>,
    next: Position,
    missed: u64,
    body: Vec<u8>,
}

/// An event of another process, with the names of its stream and type.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RemoteEvent<'e> {
    /// The event.
    pub event: Event<'e>,
    /// The name of its stream.
    pub stream: &'e [u8],
    /// Its type.
    pub kind: &'e EventType,
}

impl RemoteFollower {
    /// Connects to the socket of a store, and follows it from a position on.
    ///
    /// # Errors
    /// [`Error::Socket`] if no process serves at the socket.
    pub fn connect(socket: impl AsRef<Path>, from: Position) -> Result<Self> {
        let path = socket.as_ref().to_path_buf();
        let connect = || -> io::Result<UnixStream> {
            let mut stream = UnixStream::connect(&path)?;
            stream.write_all(wire::HELLO)?;
            stream.write_all(&from.0.to_le_bytes())?;
            Ok(stream)
        };
        let stream = connect().map_err(|source| Error::Socket { path: path.clone(), source })?;
        let from_socket = BufReader::with_capacity(BUFFER_BYTES, stream);
        Ok(Self {
            path,
            from: from_socket,
            types: HashMap::new(),
            streams: HashMap::new(),
            next: from,
            missed: 0,
            body: Vec::new(),
        })
    }

    /// The position after the last event that was delivered. Connect there again after an error.
    pub fn position(&self) -> Position {
        self.next
    }

    /// How many positions were skipped since it connected, because retention had removed their events before they were
    /// sent.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Passes the events that have arrived to `each`. If there are none, it waits at most `wait` for some. If more and
    /// more arrive, it returns after `wait` too. Returns a signal if one has come; events after it are passed by the
    /// next call.
    ///
    /// # Errors
    /// Those of `each`: the event counts as delivered. [`Error::Socket`] if the other process has ended, no longer
    /// serves, or stops in the middle of an event for a minute. [`Error::Invalid`] if the store has no event yet at the
    /// position before the one to follow from.
    pub fn poll(
        &mut self,
        wait: Duration,
        mut each: impl FnMut(&RemoteEvent<'_>) -> Result<()>,
    ) -> Result<Option<Signal>> {
        let deadline = Instant::now().checked_add(wait);
        if !self.await_bytes(wait).map_err(|source| self.failed(source))? {
            return Ok(None);
        }
        loop {
            let kind = wire::read_frame(&mut self.from, &mut self.body).map_err(|source| self.failed(source))?;
            match kind {
                Kind::Type | Kind::Stream => self.name(kind).ok_or_else(|| self.malformed())?,
                Kind::Signal => return wire::parse_signal(&self.body).map(Some).ok_or_else(|| self.malformed()),
                Kind::Missed => {
                    let [missed, next] = self.numbers().ok_or_else(|| self.malformed())?;
                    self.missed += missed;
                    self.next = Position(next);
                }
                Kind::Refused => {
                    let [head] = self.numbers().ok_or_else(|| self.malformed())?;
                    return Err(Error::after_the_head(self.next, Position(head)));
                }
                Kind::Event => {
                    let event = wire::parse_event(&self.body).ok_or_else(|| self.malformed())?;
                    let names = self.streams.get(&event.stream).zip(self.types.get(&event.kind));
                    let (stream, kind) = names.ok_or_else(|| self.malformed())?;
                    self.next = Position(event.position.0 + 1);
                    each(&RemoteEvent { event, stream, kind })?;
                }
            }
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if is_late || self.from.buffer().is_empty() {
                return Ok(None);
            }
        }
    }

    /// Waits for the first byte of a frame. The rest is on its way then.
    fn await_bytes(&mut self, wait: Duration) -> io::Result<bool> {
        if !self.from.buffer().is_empty() {
            return Ok(true);
        }
        self.from.get_ref().set_read_timeout(Some(wait.max(WAIT_MIN)))?;
        let found = match self.from.fill_buf() {
            Ok([]) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        };
        self.from.get_ref().set_read_timeout(Some(FRAME_WAIT))?;
        found
    }

    fn name(&mut self, kind: Kind) -> Option<()> {
        if kind == Kind::Type {
            let (id, rest) = self.body.split_first_chunk::<4>()?;
            let (schema, name) = rest.split_first_chunk::<4>()?;
            let kind = EventType { name: std::str::from_utf8(name).ok()?.into(), schema: u32::from_le_bytes(*schema) };
            self.types.insert(TypeId(u32::from_le_bytes(*id)), kind);
        } else {
            let (id, name) = self.body.split_first_chunk::<8>()?;
            self.streams.insert(StreamId(u64::from_le_bytes(*id)), name.to_vec());
        }
        Some(())
    }

    /// The numbers of a frame that has no more than them.
    fn numbers<const N: usize>(&self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        let (words, rest) = self.body.as_chunks::<8>();
        if words.len() != N || !rest.is_empty() {
            return None;
        }
        numbers.iter_mut().zip(words).for_each(|(number, word)| *number = u64::from_le_bytes(*word));
        Some(numbers)
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Socket { path: self.path.clone(), source }
    }

    fn malformed(&self) -> Error {
        self.failed(ErrorKind::InvalidData.into())
    }
}

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 << 10;
/// A time of zero would mean no limit.
const WAIT_MIN: Duration = Duration::from_micros(1);
/// How long the rest of a frame may take to continue.
const FRAME_WAIT: Duration = Duration::from_secs(60);
