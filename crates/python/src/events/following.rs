//! Followers in this process and of another one, and the server for them.
//!
//! A follower waits in slices, without the interpreter's lock, and handles signals of the system between them. Its
//! mutex is held during a slice, so what a thread may ask meanwhile is in atomics beside it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(unix)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[cfg(unix)]
use fulgurite_events::Upcasters;
use fulgurite_events::{Position, Signal};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Failure, Result};
use crate::events::arguments;
use crate::events::exclusive::Exclusive;
use crate::events::recorded::{Event, Recorded, StreamNames};
use crate::events::store::EventStore;
use crate::kinds::OpenDatabase;
#[cfg(unix)]
use crate::process::ProcessBound;

/// How long a follower waits at once. New events and the end of the slice wake it.
pub const SLICE: Duration = Duration::from_millis(50);

/// Why a follower in the process that appends does not acknowledge.
const IN_THIS_PROCESS: &str =
    "only a follower of events.connect with a consumer can acknowledge; here, use EventStore.set_consumer_position";

/// What delivers events.
enum Feed {
    Local {
        follower: Box<fulgurite_events::Follower>,
        open: Arc<OpenDatabase>,
        names: StreamNames,
    },
    #[cfg(unix)]
    Remote(Box<Remote>),
}

impl Feed {
    /// Waits at most `wait` for events, and adds them to the queue. Returns a signal, if there is one.
    fn poll(&mut self, wait: Duration, queue: &mut VecDeque<Recorded>) -> Result<Option<Signal>> {
        match self {
            Self::Local { follower, open, names } => {
                open.get()?;
                let delivered = follower.poll(wait, |snapshot, event| {
                    queue.push_back(names.record(snapshot, event)?);
                    Ok(())
                })?;
                Ok(delivered.signal)
            }
            #[cfg(unix)]
            Self::Remote(remote) => remote.poll(wait, queue),
        }
    }

    /// How many positions were skipped, also by calls that failed.
    fn missed(&self) -> u64 {
        match self {
            Self::Local { follower, .. } => follower.missed(),
            #[cfg(unix)]
            Self::Remote(remote) => remote.follower.missed(),
        }
    }

    /// Says that all events before a position are processed.
    fn acknowledge(&mut self, position: u64) -> Result<()> {
        match self {
            Self::Local { .. } => {
                let _ = position;
                Err(Failure::invalid(IN_THIS_PROCESS))
            }
            #[cfg(unix)]
            Self::Remote(remote) => Ok(remote.follower.acknowledge(Position(position))?),
        }
    }

    fn position(&self) -> u64 {
        match self {
            Self::Local { follower, .. } => follower.position().0,
            #[cfg(unix)]
            Self::Remote(remote) => remote.position(),
        }
    }
}

/// A follower of another process, with what has arrived and was not passed on.
#[cfg(unix)]
struct Remote {
    follower: fulgurite_events::RemoteFollower,
    upcasters: Upcasters,
    /// Events as they are in the log. If the upcaster of the first one fails, the next call begins with it.
    arrived: VecDeque<Recorded>,
    /// What has arrived behind them.
    signal: Option<Signal>,
    /// An error behind them.
    failure: Option<fulgurite_events::Error>,
}

#[cfg(unix)]
impl Remote {
    fn poll(&mut self, wait: Duration, queue: &mut VecDeque<Recorded>) -> Result<Option<Signal>> {
        if self.arrived.is_empty() {
            let polled = self.follower.poll(wait, |remote| {
                let payload = remote.event.payload.to_vec();
                self.arrived.push_back(Recorded::new(&remote.event, remote.stream.into(), remote.kind, payload));
                Ok(())
            });
            match polled {
                Ok(signal) => self.signal = signal.or(self.signal),
                Err(failure) => self.failure = Some(failure),
            }
        }
        while let Some(event) = self.arrived.front_mut() {
            event.upcast(&self.upcasters)?;
            queue.extend(self.arrived.pop_front());
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        Ok(self.signal.take())
    }

    fn position(&self) -> u64 {
        self.arrived.front().map_or(self.follower.position().0, |event| event.position)
    }
}

struct State {
    feed: Feed,
    queue: VecDeque<Recorded>,
    /// What the feed has said at the end of the queue.
    signal: Option<Signal>,
    /// An error behind the queue.
    failure: Option<Failure>,
}

/// What a call has taken.
struct Taken {
    events: Vec<Recorded>,
    /// Whether the feed has moved: it may have more events, also if none was taken.
    moved: bool,
}

/// A follower.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Follower {
    /// None after closing.
    state: Exclusive<Option<State>>,
    position: AtomicU64,
    missed: AtomicU64,
    has_caught_up: AtomicBool,
    behind: AtomicU64,
    is_closed: AtomicBool,
}

impl Follower {
    fn new(feed: Feed) -> Self {
        Self {
            position: AtomicU64::new(feed.position()),
            state: Exclusive::new(Some(State { feed, queue: VecDeque::new(), signal: None, failure: None })),
            missed: AtomicU64::new(0),
            has_caught_up: AtomicBool::new(false),
            behind: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Takes at most `most` events, and waits at most `wait` for the first.
    fn take(&self, wait: Duration, most: usize) -> Result<Taken> {
        self.state.with("follower", |state| {
            if self.is_closed.load(Ordering::SeqCst) {
                *state = None;
            }
            self.take_from(state.as_mut().ok_or_else(|| Failure::closed("follower"))?, wait, most)
        })
    }

    fn take_from(&self, state: &mut State, wait: Duration, most: usize) -> Result<Taken> {
        let State { feed, queue, signal, failure } = state;
        let before = feed.position();
        if queue.is_empty() {
            if let Some(failure) = failure.take() {
                return Err(failure);
            }
            let polled = feed.poll(wait, queue);
            self.missed.store(feed.missed(), Ordering::Relaxed);
            match polled {
                Ok(new) => *signal = new.or(*signal),
                Err(new) if queue.is_empty() => return Err(new),
                Err(new) => *failure = Some(new),
            }
        }
        let events: Vec<Recorded> = queue.drain(..most.min(queue.len())).collect();
        if queue.is_empty() {
            if let Some(signal) = signal.take() {
                self.has_caught_up.store(signal == Signal::CaughtUp, Ordering::Relaxed);
                let behind = if let Signal::FellBehind { events } = signal { events } else { 0 };
                self.behind.store(behind, Ordering::Relaxed);
            }
            self.position.store(feed.position(), Ordering::SeqCst);
        } else if let Some(last) = events.last() {
            self.position.store(last.position + 1, Ordering::SeqCst);
        }
        Ok(Taken { events, moved: feed.position() != before })
    }

    /// As [`Follower::take`], and handles signals of the system while it waits. `None` waits for ever.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>, most: usize) -> Result<Vec<Recorded>> {
        let deadline = arguments::wait(timeout)?.and_then(|wait| Instant::now().checked_add(wait));
        loop {
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
            let had_caught_up = self.has_caught_up.load(Ordering::Relaxed);
            let taken = py.detach(|| self.take(left.min(SLICE), most))?;
            if !taken.events.is_empty() {
                return Ok(taken.events);
            }
            py.check_signals()?;
            // A call that has only learned that there are no events was one without waiting. One that has only passed
            // events of other members of the group, or removed ones, continues behind them.
            if left.is_zero() && !taken.moved && had_caught_up == self.has_caught_up.load(Ordering::Relaxed) {
                return Ok(taken.events);
            }
        }
    }
}

#[pymethods]
impl Follower {
    /// The next event, or None after the time.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> Result<Option<Event>> {
        Ok(self.wait(py, timeout, 1)?.pop().map(Event))
    }

    /// The next events, at most `most`, which is 1 or more; none after the time.
    #[pyo3(signature = (timeout=None, most=10_000))]
    fn poll(&self, py: Python<'_>, timeout: Option<f64>, most: usize) -> Result<Vec<Event>> {
        if most == 0 {
            return Err(Failure::invalid("limit must be 1 or more, not 0"));
        }
        Ok(self.wait(py, timeout, most)?.into_iter().map(Event).collect())
    }

    /// The position after the last event that was returned.
    #[getter]
    fn position(&self) -> u64 {
        self.position.load(Ordering::SeqCst)
    }

    /// How many positions were skipped because retention had removed their events.
    #[getter]
    fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Whether all events that there are were returned.
    #[getter]
    fn has_caught_up(&self) -> bool {
        self.has_caught_up.load(Ordering::Relaxed)
    }

    /// How many events were waiting when it fell behind. 0 if it has caught up since, or has never fallen behind.
    #[getter]
    fn behind(&self) -> u64 {
        self.behind.load(Ordering::Relaxed)
    }

    /// Says that all events that were returned are processed.
    fn acknowledge(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            self.state.with("follower", |state| {
                let state = state.as_mut().filter(|_| !self.is_closed.load(Ordering::SeqCst));
                let state = state.ok_or_else(|| Failure::closed("follower"))?;
                state.feed.acknowledge(self.position.load(Ordering::SeqCst))
            })
        })
    }

    /// Ends the follower. A thread that waits for it gets `ClosedError` soon.
    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // A thread that waits drops the rest.
        if let Some(mut state) = self.state.try_lock() {
            *state = None;
        }
    }
}

/// Follows a store from a position on.
#[pyfunction]
pub fn follow(
    py: Python<'_>,
    store: &EventStore,
    start: u64,
    batch_events: u64,
    behind_max: u64,
    partition: Option<(u32, u32)>,
    query: Option<&Bound<'_, PyAny>>,
) -> Result<Follower> {
    let (partition, query, found) = (arguments::partition(partition)?, arguments::query_or_all(query)?, store.get()?);
    let follower = py.detach(|| found.follow(Position(start)))?.partition(partition).query(query);
    let follower = Box::new(follower.batch_events(batch_events).behind_max(behind_max));
    Ok(Follower::new(Feed::Local { follower, open: store.open(), names: StreamNames::default() }))
}

/// Serves the events of a store at a Unix socket.
#[cfg(unix)]
#[pyfunction]
pub fn serve(py: Python<'_>, store: &EventStore, socket: PathBuf) -> Result<Server> {
    let store = store.get()?;
    let server = py.detach(|| store.serve(socket))?;
    Ok(Server { server: ProcessBound::new(Mutex::new(Some(server))) })
}

/// Serves the events of a store at a Unix socket.
#[cfg(not(unix))]
#[pyfunction]
pub fn serve(store: &EventStore, socket: PathBuf) -> Result<Server> {
    store.get()?;
    Err(no_sockets(&socket))
}

/// Follows a store that another process serves: from a position on, or as a named consumer. Functions of `upcasters`
/// are called as those of a store are.
#[cfg(unix)]
#[pyfunction]
pub fn connect(
    py: Python<'_>,
    socket: PathBuf,
    start: u64,
    upcasters: Option<&Bound<'_, PyDict>>,
    partition: Option<(u32, u32)>,
    query: Option<&Bound<'_, PyAny>>,
    consumer: Option<String>,
) -> Result<Follower> {
    if consumer.is_some() && start > 0 {
        return Err(Failure::invalid("a consumer begins at its stored position; give no start"));
    }
    let upcasters = upcasters.map(arguments::upcasters).transpose()?.unwrap_or_default();
    let (partition, query) = (arguments::partition(partition)?, arguments::query_or_all(query)?);
    let connect = || match &consumer {
        Some(name) => fulgurite_events::RemoteFollower::connect_consumer_with(socket, name, partition, &query),
        None => fulgurite_events::RemoteFollower::connect_with(socket, Position(start), partition, &query),
    };
    let follower = py.detach(connect)?;
    let (arrived, signal, failure) = (VecDeque::new(), None, None);
    Ok(Follower::new(Feed::Remote(Box::new(Remote { follower, upcasters, arrived, signal, failure }))))
}

/// Follows a store that another process serves.
#[cfg(not(unix))]
#[pyfunction]
pub fn connect(
    socket: PathBuf,
    start: u64,
    upcasters: Option<&Bound<'_, PyDict>>,
    partition: Option<(u32, u32)>,
    query: Option<&Bound<'_, PyAny>>,
    consumer: Option<String>,
) -> Result<Follower> {
    let _ = (start, upcasters, partition, query, consumer);
    Err(no_sockets(&socket))
}

#[cfg(not(unix))]
fn no_sockets(socket: &std::path::Path) -> Failure {
    let text = format!(
        "{}: followers in other processes need Unix sockets, which are not available on Windows",
        socket.display()
    );
    Failure::Kind("SOCKET", text)
}

/// Serves the events of a store.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Server {
    /// None after closing. A child made by `fork` must not remove the socket of its parent.
    #[cfg(unix)]
    server: ProcessBound<Mutex<Option<fulgurite_events::Server>>>,
}

#[cfg(unix)]
#[pymethods]
impl Server {
    /// How many followers are connected.
    #[getter]
    fn followers(&self) -> Result<usize> {
        let server = self.server.get()?.lock().map_err(|_| Failure::broken())?;
        Ok(server.as_ref().ok_or_else(|| Failure::closed("server"))?.followers())
    }

    /// Ends the server. Does nothing the second time.
    fn close(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            let server = self.server.get()?.lock().map_err(|_| Failure::broken())?.take();
            drop(server);
            Ok(())
        })
    }
}

#[cfg(not(unix))]
#[pymethods]
impl Server {
    /// How many followers are connected.
    #[getter]
    fn followers(&self) -> usize {
        0
    }

    /// Ends the server.
    fn close(&self) {}
}
