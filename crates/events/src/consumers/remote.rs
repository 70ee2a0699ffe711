//! [`RemoteFollower`]: follows a store that another process serves.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fulgurite::Stamp;

use crate::consumers::hello::{AT_END, Hello};
use crate::consumers::signal::Signal;
use crate::consumers::wire::{self, Body, Kind};
use crate::error::{Error, Result};
use crate::event::{Event, EventType, RecordedEvent};
use crate::ids::{Position, StreamId, TypeId};
use crate::layout::keys::CONSUMER_BYTES_MAX;
use crate::reading::partition::Partition;
use crate::reading::query::EventQuery;

/// Follows a store that another process serves ([`EventStore::serve`](crate::EventStore::serve)). It sees every event
/// from a position on once, in the order of positions, without gaps, as a [`Follower`](crate::Follower) in that process
/// does. It does not poll: the other process sends the events.
///
/// Payloads begin at addresses that are multiples of 8, as those that are read from the log.
///
/// A child made by `fork` cannot use it ([`fulgurite::Error::Forked`]): both processes would read from one connection.
/// Dropping it ends the connection, also if a child has inherited it. If the process ends without dropping it, the
/// connection lasts, and the name of a consumer is taken, until such a child ends too.
#[derive(Debug)]
pub struct RemoteFollower {
    /// The process that has connected. None if the system does not show forks.
    process: Option<Stamp>,
    path: PathBuf,
    from: BufReader<UnixStream>,
    types: HashMap<TypeId, EventType>,
    streams: HashMap<StreamId, Vec<u8>>,
    next: Position,
    missed: u64,
    /// The frame that was read last.
    body: Body,
    /// Whether that is an event that is not delivered yet.
    is_undelivered: bool,
    /// The position that a named consumer has acknowledged. None without a name.
    acknowledged: Option<Position>,
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

impl RemoteEvent<'_> {
    /// A copy of the event. Its payload is as it was appended: upcasters of the store are not called.
    pub fn record(&self) -> RecordedEvent {
        self.event.to_recorded(self.stream, self.kind)
    }
}

impl RemoteFollower {
    /// Connects to the socket of a store, and follows it from a position on.
    ///
    /// # Errors
    /// [`Error::Socket`] if no process serves at the socket.
    pub fn connect(socket: impl AsRef<Path>, from: Position) -> Result<Self> {
        Self::connect_with(socket, from, Partition::ALL, &EventQuery::new())
    }

    /// As [`RemoteFollower::connect`], but the other process sends only events of a member's streams that match a
    /// query.
    ///
    /// # Errors
    /// As [`RemoteFollower::connect`]. [`Error::Invalid`] if the names in the query have more than 64 KiB, or no event
    /// can have the position.
    pub fn connect_with(
        socket: impl AsRef<Path>,
        from: Position,
        partition: Partition,
        query: &EventQuery,
    ) -> Result<Self> {
        if from == AT_END {
            return Err(Error::Invalid { message: NO_POSITION.into() });
        }
        Self::ask(socket.as_ref(), Hello { from, partition, query: query.clone(), consumer: None })
    }

    /// Connects to the socket of a store as a consumer, and follows it from the position that the store has for this
    /// name: the first event, if it has none. [`RemoteFollower::acknowledge`] raises that position, so that each event
    /// is processed at least once. A name has one connection at a time.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # fn main() -> fulgurite_events::Result<()> {
    /// let mut follower = fulgurite_events::RemoteFollower::connect_consumer("shop.sock", "mailer")?;
    /// loop {
    ///     follower.poll(Duration::from_secs(1), |remote| {
    ///         println!("{}", remote.event.position);
    ///         Ok(())
    ///     })?;
    ///     follower.acknowledge(follower.position())?;
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Socket`] if no process serves at the socket, or it sends no position for a minute; [`Error::Invalid`]
    /// if another connection has the name, or the name is empty or too long.
    pub fn connect_consumer(socket: impl AsRef<Path>, consumer: &str) -> Result<Self> {
        Self::connect_consumer_with(socket, consumer, Partition::ALL, &EventQuery::new())
    }

    /// As [`RemoteFollower::connect_consumer`], but the other process sends only events of a member's streams that
    /// match a query. Each member of a group has a position of its own: see [`Partition::consumer`].
    ///
    /// # Errors
    /// As [`RemoteFollower::connect_consumer`]. [`Error::Invalid`] if the names in the query have more than 64 KiB.
    pub fn connect_consumer_with(
        socket: impl AsRef<Path>,
        consumer: &str,
        partition: Partition,
        query: &EventQuery,
    ) -> Result<Self> {
        let name = partition.consumer(consumer);
        if consumer.is_empty() || name.len() > CONSUMER_BYTES_MAX as usize {
            return Err(Error::Invalid { message: WRONG_NAME.into() });
        }
        let hello = Hello { from: Position::START, partition, query: query.clone(), consumer: Some(name) };
        let mut follower = Self::ask(socket.as_ref(), hello)?;
        follower.await_position()?;
        follower.acknowledged = Some(follower.next);
        let set = follower.from.get_ref().set_write_timeout(Some(FRAME_WAIT));
        set.map_err(|source| follower.failed(source))?;
        Ok(follower)
    }

    /// Connects, and sends the hello.
    fn ask(socket: &Path, hello: Hello) -> Result<Self> {
        let from = hello.from;
        let hello = hello.to_bytes().ok_or_else(|| Error::Invalid { message: TOO_LONG.into() })?;
        let path = socket.to_path_buf();
        let connect = || -> io::Result<UnixStream> {
            let mut stream = UnixStream::connect(&path)?;
            stream.write_all(&hello)?;
            Ok(stream)
        };
        let stream = connect().map_err(|source| Error::Socket { path: path.clone(), source, is_server: false })?;
        let from_socket = BufReader::with_capacity(BUFFER_BYTES, stream);
        Ok(Self {
            process: Stamp::new().ok(),
            path,
            from: from_socket,
            types: HashMap::new(),
            streams: HashMap::new(),
            next: from,
            missed: 0,
            body: Body::default(),
            is_undelivered: false,
            acknowledged: None,
        })
    }

    /// Connects to the socket of a store, and follows the events that are appended after it returns. It waits for the
    /// other process to send the position of the next event.
    ///
    /// # Errors
    /// As [`RemoteFollower::connect`]. [`Error::Socket`] if the other process ends the connection, or sends no position
    /// for a minute.
    pub fn connect_at_end(socket: impl AsRef<Path>) -> Result<Self> {
        let hello = Hello { from: AT_END, partition: Partition::ALL, query: EventQuery::new(), consumer: None };
        let mut follower = Self::ask(socket.as_ref(), hello)?;
        follower.await_position()?;
        Ok(follower)
    }

    /// Waits for the position that the other process has chosen.
    fn await_position(&mut self) -> Result<()> {
        let set = self.from.get_ref().set_read_timeout(Some(FRAME_WAIT));
        set.map_err(|source| self.failed(source))?;
        let kind = wire::read_frame(&mut self.from, &mut self.body);
        let kind = kind.map_err(|source| self.failed(source))?;
        if kind == Kind::Taken {
            return Err(Error::Invalid { message: TAKEN.into() });
        }
        let numbers = self.numbers().filter(|_| kind == Kind::Missed);
        let [_, next] = numbers.ok_or_else(|| self.malformed())?;
        self.next = Position(next);
        Ok(())
    }

    /// Says that all events before a position are processed. The other process stores it: the consumer begins there
    /// when it connects again. A position that is not above those before changes nothing.
    ///
    /// It returns before the position is stored. If one of the processes ends then, the consumer may receive some of
    /// these events again. To process each event exactly once, store [`RemoteFollower::position`] in one transaction
    /// with the results, in a database of this process, and use [`RemoteFollower::connect`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if it has no name ([`RemoteFollower::connect_consumer`]), or the position is above
    /// [`RemoteFollower::position`]. [`Error::Socket`] if the other process has ended.
    pub fn acknowledge(&mut self, position: Position) -> Result<()> {
        self.check_process()?;
        let Some(before) = self.acknowledged else { return Err(Error::Invalid { message: NO_NAME.into() }) };
        if position > self.next {
            let next = self.next;
            let message = format!(
                "cannot acknowledge position {position}: the next event to receive has position {next}; give a \
                 position up to {next}"
            );
            return Err(Error::Invalid { message });
        }
        if position > before {
            let sent = self.from.get_mut().write_all(&position.0.to_le_bytes());
            sent.map_err(|source| self.failed(source))?;
            self.acknowledged = Some(position);
        }
        Ok(())
    }

    /// The position after the last event that was delivered or skipped. Connect there again after an error.
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
    /// If `each` fails, the event counts as not delivered: the next call begins with it.
    ///
    /// # Errors
    /// Those of `each`. [`Error::Socket`] if the other process has ended, no longer serves, or stops in the middle of
    /// an event for a minute. [`Error::Invalid`] if the store has no event yet at the position before the one to follow
    /// from.
    pub fn poll(
        &mut self,
        wait: Duration,
        mut each: impl FnMut(&RemoteEvent<'_>) -> Result<()>,
    ) -> Result<Option<Signal>> {
        self.check_process()?;
        let deadline = Instant::now().checked_add(wait);
        if !self.is_undelivered && !self.await_bytes(wait).map_err(|source| self.failed(source))? {
            return Ok(None);
        }
        loop {
            let kind = match self.is_undelivered {
                true => Kind::Event,
                false => wire::read_frame(&mut self.from, &mut self.body).map_err(|source| self.failed(source))?,
            };
            match kind {
                Kind::Type | Kind::Stream => self.name(kind).ok_or_else(|| self.malformed())?,
                Kind::Forget => {
                    self.types.clear();
                    self.streams.clear();
                }
                Kind::Signal => return wire::parse_signal(self.body.get()).map(Some).ok_or_else(|| self.malformed()),
                Kind::Missed => {
                    let [missed, next] = self.numbers().ok_or_else(|| self.malformed())?;
                    self.missed = self.missed.checked_add(missed).ok_or_else(|| self.malformed())?;
                    self.next = Position(next);
                }
                Kind::Refused => {
                    let [head] = self.numbers().ok_or_else(|| self.malformed())?;
                    return Err(Error::after_the_head(self.next, Position(head)));
                }
                // Only the first frame can be of this kind.
                Kind::Taken => return Err(self.malformed()),
                Kind::Event => {
                    self.is_undelivered = true;
                    let event = wire::parse_event(self.body.get()).ok_or_else(|| self.malformed())?;
                    let next = event.position.0.checked_add(1).ok_or_else(|| self.malformed())?;
                    let names = self.streams.get(&event.stream).zip(self.types.get(&event.kind));
                    let (stream, kind) = names.ok_or_else(|| self.malformed())?;
                    each(&RemoteEvent { event, stream, kind })?;
                    self.next = Position(next);
                    self.is_undelivered = false;
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
            let (id, rest) = self.body.get().split_first_chunk::<4>()?;
            let (schema, name) = rest.split_first_chunk::<4>()?;
            let kind = EventType { name: std::str::from_utf8(name).ok()?.into(), schema: u32::from_le_bytes(*schema) };
            self.types.insert(TypeId(u32::from_le_bytes(*id)), kind);
        } else {
            let (id, name) = self.body.get().split_first_chunk::<8>()?;
            self.streams.insert(StreamId(u64::from_le_bytes(*id)), name.to_vec());
        }
        Some(())
    }

    /// The numbers of a frame that has no more than them.
    fn numbers<const N: usize>(&self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        let (words, rest) = self.body.get().as_chunks::<8>();
        if words.len() != N || !rest.is_empty() {
            return None;
        }
        numbers.iter_mut().zip(words).for_each(|(number, word)| *number = u64::from_le_bytes(*word));
        Some(numbers)
    }

    fn is_inherited(&self) -> bool {
        self.process.is_some_and(|process| process.is_inherited())
    }

    fn check_process(&self) -> Result<()> {
        if self.is_inherited() { Err(fulgurite::Error::Forked.into()) } else { Ok(()) }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Socket { path: self.path.clone(), source, is_server: false }
    }

    fn malformed(&self) -> Error {
        self.failed(ErrorKind::InvalidData.into())
    }
}

impl Drop for RemoteFollower {
    fn drop(&mut self) {
        if !self.is_inherited() {
            // Children may have the socket too. It may have failed before.
            let _ = self.from.get_ref().shutdown(Shutdown::Both);
        }
    }
}

/// See [`QUERY_BYTES_MAX`](crate::consumers::hello::QUERY_BYTES_MAX).
const TOO_LONG: &str =
    "the query has more than 64 KiB of names, which cannot be sent to another process; use a shorter one";
const WRONG_NAME: &str = "the name of a consumer must have 1 to 1,024 bytes, including the suffix of a group member";
const TAKEN: &str =
    "another connection has the name of this consumer; end the process that follows with it, or use another name";
const NO_NAME: &str = "this follower has no consumer name, so it cannot acknowledge; connect it as a consumer";
const NO_POSITION: &str = "no event can have the position 18446744073709551615; for new events, connect at the end";
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 << 10;
/// A time of zero would mean no limit.
const WAIT_MIN: Duration = Duration::from_micros(1);
/// How long the rest of a frame may take to continue.
const FRAME_WAIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventData, Expected};
    use crate::store::handle::EventStore;

    #[test]
    fn a_follower_of_many_streams_keeps_the_names_of_some() {
        let directory = tempfile::tempdir().unwrap();
        let store = EventStore::create(directory.path().join("a.ful")).unwrap();
        let name = |number: u64| format!("{number:01000}");
        let filled = store
            .transact(|t| (0..3000).try_for_each(|number| t.append(name(number), Expected::Any, &[EVENT]).map(drop)));
        filled.unwrap();
        store.append(name(0), Expected::Any, &[EVENT]).unwrap();
        let socket = directory.path().join("a.sock");
        let _server = store.serve(&socket).unwrap();
        let mut follower = RemoteFollower::connect(&socket, Position(0)).unwrap();
        let mut kept = 0;
        while follower.position() < Position(3001) {
            let each = |remote: &RemoteEvent<'_>| {
                assert_eq!(remote.stream, name(remote.event.position.0 % 3000).as_bytes());
                Ok(())
            };
            follower.poll(Duration::from_secs(20), each).unwrap();
            kept = kept.max(follower.streams.len());
        }
        assert!((1..1500).contains(&kept), "{kept} names of 1,000 bytes are kept");
    }

    const EVENT: EventData<'static> =
        EventData { kind: "x", schema: 0, id: None, payload: b"", metadata: b"", tags: &[] };
}
