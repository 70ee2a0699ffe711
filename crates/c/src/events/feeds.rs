//! What handles of followers, and of servers for followers in other processes, stand for.

use std::mem::MaybeUninit;
use std::path::Path;
use std::time::{Duration, Instant};

use fulgurite::Stamp;
use fulgurite_events::{Error, EventQuery, EventStore, Follower, Position};
#[cfg(unix)]
use fulgurite_events::{Partition, RemoteFollower, Server};

#[cfg(not(unix))]
use crate::code::Code;
use crate::code::{Failure, Result};
use crate::events::held::{BATCH_MAX, Batch, StreamNames, fulgurite_event};

/// What delivers the events of a follower.
enum Feed {
    /// A store of this process.
    Local(Box<Follower>),
    /// Another process.
    #[cfg(unix)]
    Remote(Box<Remote>),
}

/// The connection to another process.
#[cfg(unix)]
struct Remote {
    follower: RemoteFollower,
    /// The process that has connected. A child made by `fork` would take events from it. None if the system does not
    /// show forks.
    process: Option<Stamp>,
}

impl Feed {
    fn position(&self) -> u64 {
        match self {
            Self::Local(follower) => follower.position().0,
            #[cfg(unix)]
            Self::Remote(remote) => remote.follower.position().0,
        }
    }

    fn missed(&self) -> u64 {
        match self {
            Self::Local(follower) => follower.missed(),
            #[cfg(unix)]
            Self::Remote(remote) => remote.follower.missed(),
        }
    }

    /// Fails if the database was closed, or this process is a child of the one that began to follow.
    fn check(&self) -> Result<()> {
        match self {
            // Nothing rings then.
            Self::Local(follower) => Ok(follower.store().database().read().map(drop)?),
            #[cfg(unix)]
            Self::Remote(remote) => check_process(remote.process),
        }
    }
}

/// A follower of a store.
pub struct OpenFollower {
    feed: Feed,
    names: StreamNames,
    batch: Batch,
    /// An error behind the events of the batch.
    failure: Option<Error>,
}

impl OpenFollower {
    /// A follower of a store of this process, from a position on, of the events that match a query.
    ///
    /// # Errors
    /// If the position is above that of the next event; those of the disk.
    pub fn of_store(store: &EventStore, query: EventQuery, from: u64) -> Result<Self> {
        let follower = store.follow(Position(from))?.query(query);
        Ok(Self::new(Feed::Local(Box::new(follower))))
    }

    /// A follower of the store that a process serves at a socket. The greatest number stands for the position of the
    /// next event.
    ///
    /// # Errors
    /// If no process serves there, or the query is too long.
    #[cfg(unix)]
    pub fn of_socket(socket: &Path, query: &EventQuery, from: u64) -> Result<Self> {
        // Events that are appended before the second connection follow that position.
        let from = match from {
            u64::MAX => RemoteFollower::connect_at_end(socket)?.position(),
            _ => Position(from),
        };
        Ok(Self::of_remote(RemoteFollower::connect_with(socket, from, Partition::ALL, query)?))
    }

    /// As [`OpenFollower::of_socket`], from the position on that the store has for a consumer.
    ///
    /// # Errors
    /// As [`OpenFollower::of_socket`]; if the name is not valid, or another connection has it.
    #[cfg(unix)]
    pub fn of_consumer(socket: &Path, consumer: &str, query: &EventQuery) -> Result<Self> {
        Ok(Self::of_remote(RemoteFollower::connect_consumer_with(socket, consumer, Partition::ALL, query)?))
    }

    #[cfg(unix)]
    fn of_remote(follower: RemoteFollower) -> Self {
        Self::new(Feed::Remote(Box::new(Remote { follower, process: Stamp::new().ok() })))
    }

    /// Sockets are of Unix.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn of_socket(socket: &Path, _: &EventQuery, _: u64) -> Result<Self> {
        Err(no_sockets(socket))
    }

    /// Sockets are of Unix.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn of_consumer(socket: &Path, _: &str, _: &EventQuery) -> Result<Self> {
        Err(no_sockets(socket))
    }

    fn new(feed: Feed) -> Self {
        Self { feed, names: StreamNames::default(), batch: Batch::default(), failure: None }
    }

    /// The position of the next event that it returns.
    pub fn position(&self) -> u64 {
        self.batch.next_position().unwrap_or_else(|| self.feed.position())
    }

    /// How many positions it has skipped because retention had removed their events.
    pub fn missed(&self) -> u64 {
        self.feed.missed()
    }

    /// Says that all events before a position are processed.
    ///
    /// # Errors
    /// If it is no consumer, or has not returned all these events; those of the socket.
    pub fn acknowledge(&mut self, position: u64) -> Result<()> {
        self.feed.check()?;
        let next = self.position();
        match &mut self.feed {
            Feed::Local(_) => {
                let _ = (position, next);
                let message = "only a follower of fulgurite_connect_consumer can acknowledge; to store the position of \
                               a consumer of this process, use fulgurite_set_consumer_position";
                Err(Failure::invalid(message))
            }
            #[cfg(unix)]
            Feed::Remote(_) if position > next => Err(Failure::invalid(format!(
                "cannot acknowledge position {position}: the next event that the follower returns has position {next}; \
                 give a position up to {next}"
            ))),
            #[cfg(unix)]
            Feed::Remote(remote) => Ok(remote.follower.acknowledge(Position(position))?),
        }
    }

    /// Returns the next events, and how many. If there are none, it waits at most for `timeout`. Those of the call
    /// before are no longer valid.
    ///
    /// # Errors
    /// If the database is closed, or the other process has ended; damage; those of the disk. Events before it are
    /// returned first.
    pub fn poll(&mut self, timeout: Duration, places: &mut [MaybeUninit<fulgurite_event>]) -> Result<usize> {
        let deadline = Instant::now().checked_add(timeout);
        while self.batch.is_spent() {
            self.batch.clear();
            self.feed.check()?;
            if let Some(failure) = self.failure.take() {
                return Err(failure.into());
            }
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
            let has_moved = self.fill(left.min(SLICE))?;
            let is_late = deadline.is_some_and(|deadline| deadline.elapsed() > PASSING_MAX);
            if left.is_zero() && (is_late || !has_moved) {
                break;
            }
        }
        Ok(self.batch.take(places))
    }

    /// Copies the next batch, and waits for it if there are no events. Returns whether a further call may have some
    /// without waiting: the first call at the end of the log only notes that it is there, and events that a query does
    /// not ask for are passed.
    fn fill(&mut self, wait: Duration) -> Result<bool> {
        let Self { feed, names, batch, failure } = self;
        let (before, mut is_full) = (feed.position(), false);
        let mut check_room = |batch: &Batch| {
            is_full = batch.is_full(BATCH_MAX);
            // The next call begins with this event.
            if is_full { Err(Error::program("the batch is full")) } else { Ok(()) }
        };
        let polled = match feed {
            Feed::Local(follower) => {
                let polled = follower.poll(wait, |snapshot, event| {
                    check_room(batch)?;
                    names.copy(snapshot, event, batch)
                });
                polled.map(|delivered| delivered.signal)
            }
            #[cfg(unix)]
            Feed::Remote(remote) => remote.follower.poll(wait.max(REMOTE_WAIT_MIN), |event| {
                check_room(batch)?;
                names.copy_remote(event, batch);
                Ok(())
            }),
        };
        match polled {
            Ok(signal) => Ok(signal.is_some() || feed.position() != before),
            Err(error) if !is_full && batch.is_empty() => Err(error.into()),
            Err(error) => {
                *failure = (!is_full).then_some(error);
                Ok(true)
            }
        }
    }
}

/// A server for followers in other processes.
pub struct OpenServer {
    /// None after the end.
    #[cfg(unix)]
    server: Option<Server>,
    /// The process that serves. None if the system does not show forks.
    process: Option<Stamp>,
}

impl OpenServer {
    /// Serves a store at a socket.
    ///
    /// # Errors
    /// If the socket cannot be created, or another process serves there.
    #[cfg(unix)]
    pub fn new(store: &EventStore, socket: &Path) -> Result<Self> {
        let process = Stamp::new().ok();
        Ok(Self { server: Some(store.serve(socket)?), process })
    }

    /// Sockets are of Unix.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn new(_: &EventStore, socket: &Path) -> Result<Self> {
        Err(no_sockets(socket))
    }

    /// Fails in a child made by `fork`: it has no thread of the server, and must not end that of its parent.
    ///
    /// # Errors
    /// If this process is a child of the one that serves.
    pub fn check(&self) -> Result<()> {
        check_process(self.process)
    }

    /// How many followers are connected.
    pub fn followers(&self) -> usize {
        #[cfg(unix)]
        return self.server.as_ref().map_or(0, Server::followers);
        #[cfg(not(unix))]
        0
    }

    /// Ends when all followers have received all events, or after `wait`.
    #[cfg_attr(not(unix), allow(unused_mut, unused_variables))]
    pub fn finish(mut self, wait: Duration) {
        #[cfg(unix)]
        if let Some(server) = self.server.take() {
            server.finish(wait);
        }
    }
}

/// Fails in a child, made by `fork`, of the process that has drawn a stamp.
fn check_process(process: Option<Stamp>) -> Result<()> {
    if process.is_some_and(|process| process.is_inherited()) { Err(fulgurite::Error::Forked.into()) } else { Ok(()) }
}

#[cfg(not(unix))]
fn no_sockets(socket: &Path) -> Failure {
    let message = format!(
        "{}: followers in other processes need Unix sockets, which are not available on Windows",
        socket.display()
    );
    Failure::new(Code::FULGURITE_SOCKET, message)
}

/// How long a follower waits before it looks whether the database is closed.
const SLICE: Duration = Duration::from_secs(1);
/// For so long after the time of a call, a follower passes events that its query does not ask for. Without a limit, a
/// call would not end while other threads append such events.
const PASSING_MAX: Duration = Duration::from_millis(100);
/// In this time a call reads all frames that have arrived. With less, it would read only one.
#[cfg(unix)]
const REMOTE_WAIT_MIN: Duration = Duration::from_millis(1);
