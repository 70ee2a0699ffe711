//! [`Server`]: serves the events of a store to followers in other processes, over a Unix socket.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::consumers::follower::Delivered;
use crate::consumers::stop::Stop;
use crate::consumers::wire::{self, Kind};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::ids::{Position, StreamId, TypeId};
use crate::reading::snapshot::Snapshot;
use crate::store::handle::EventStore;

/// Open connections, by a number of their own.
type Connections = HashMap<u64, UnixStream>;

/// Serves events until it is dropped. Each follower has a thread, which waits for events as a
/// [`Follower`](crate::Follower) does.
///
/// Every process that may open the socket's file can read all events.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    /// The socket's file.
    file: FileId,
    /// The listening socket, which the thread that accepts has too. None once it was shut down.
    listener: Option<UnixListener>,
    stop: Stop,
    connections: Arc<Mutex<Connections>>,
    accepting: Option<JoinHandle<()>>,
}

impl EventStore {
    /// Serves the events of this store at a Unix socket. [`RemoteFollower`](crate::RemoteFollower) follows them in
    /// another process. The file of the socket is created, and removed when the server is dropped.
    ///
    /// Beside it stays an empty file whose name ends in `.lock`, so that of two processes that begin to serve at once
    /// one gets an error.
    ///
    /// # Errors
    /// [`Error::Socket`] if the socket cannot be created, the path has a file that is not a socket, or another process
    /// serves at it.
    pub fn serve(&self, socket: impl AsRef<Path>) -> Result<Server> {
        let path = socket.as_ref().to_path_buf();
        let failed = |source| Error::Socket { path: path.clone(), source };
        let (listener, file) = bind(&path).map_err(failed)?;
        let handle = listener.try_clone().map_err(failed)?;
        let (stop, connections) = (Stop::new(self), Arc::<Mutex<Connections>>::default());
        let accepting = thread::Builder::new().spawn({
            let (store, stop, connections) = (self.clone(), stop.clone(), Arc::clone(&connections));
            move || accept(&store, &stop, &connections, &listener)
        });
        let accepting = Some(accepting.map_err(failed)?);
        Ok(Server { path, file, listener: Some(handle), stop, connections, accepting })
    }
}

impl Server {
    /// How many followers are connected.
    pub fn followers(&self) -> usize {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.stop();
        // While it listens, no other process takes the socket for an abandoned one and replaces it.
        if FileId::of(&self.path).is_ok_and(|file| file == self.file) {
            // Wakes the thread that accepts, where the shutdown of a listener does not.
            let _ = UnixStream::connect(&self.path);
            let _ = std::fs::remove_file(&self.path);
        }
        if let Some(listener) = self.listener.take() {
            let _ = UnixStream::from(OwnedFd::from(listener)).shutdown(Shutdown::Both);
        }
        shut_down(&self.connections);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// Identifies a file, also if another file gets its name later.
#[derive(Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::symlink_metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// Listens at a path. Replaces a socket that a killed process left, and no other file.
fn bind(path: &Path) -> io::Result<(UnixListener, FileId)> {
    let is_socket = || match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => Ok(true),
        Ok(_) => Err(io::Error::new(ErrorKind::AlreadyExists, "a file that is not a socket is there")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    is_socket()?;
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let lock = File::options().create(true).truncate(false).write(true).open(lock)?;
    lock.lock()?;
    if is_socket()? {
        match UnixStream::connect(path) {
            Ok(_) => return Err(io::Error::new(ErrorKind::AddrInUse, "a process listens there already")),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(error) => return Err(error),
        }
    }
    let listener = UnixListener::bind(path)?;
    Ok((listener, FileId::of(path)?))
}

fn accept(store: &EventStore, stop: &Stop, connections: &Arc<Mutex<Connections>>, listener: &UnixListener) {
    let (mut followers, mut number) = (Vec::new(), 0);
    for connection in listener.incoming() {
        if stop.is_stopped() {
            break;
        }
        let Ok(connection) = connection else {
            // Such as too many open files: they may be closed meanwhile.
            thread::sleep(RETRY);
            continue;
        };
        followers.retain(|follower: &JoinHandle<()>| !follower.is_finished());
        if followers.len() >= FOLLOWERS_MAX {
            // Dropping the connection ends it.
            continue;
        }
        let Ok(handle) = connection.try_clone() else { continue };
        number += 1;
        connections.lock().unwrap_or_else(PoisonError::into_inner).insert(number, handle);
        let spawned = thread::Builder::new().spawn({
            let (store, stop, connections) = (store.clone(), stop.clone(), Arc::clone(connections));
            move || {
                // A follower that goes away ends its thread: nobody else wants to know.
                let _ = send(&store, &stop, connection);
                connections.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            }
        });
        match spawned {
            Ok(follower) => followers.push(follower),
            // The system has no further thread.
            Err(_) => drop(connections.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)),
        }
    }
    shut_down(connections);
    for follower in followers {
        let _ = follower.join();
    }
}

/// Ends all connections: threads that read or write them get errors.
fn shut_down(connections: &Mutex<Connections>) {
    for connection in connections.lock().unwrap_or_else(PoisonError::into_inner).values() {
        let _ = connection.shutdown(Shutdown::Both);
    }
}

/// Sends events to one follower.
fn send(store: &EventStore, stop: &Stop, mut connection: UnixStream) -> Result<()> {
    connection.set_read_timeout(Some(HELLO_WAIT)).map_err(Error::program)?;
    connection.set_write_timeout(Some(WRITE_WAIT)).map_err(Error::program)?;
    let mut hello = [0; 16];
    connection.read_exact(&mut hello).map_err(Error::program)?;
    let (magic, from) = hello.split_at(wire::HELLO.len());
    let Ok(from) = <[u8; 8]>::try_from(from).map(u64::from_le_bytes) else { return Ok(()) };
    if magic != wire::HELLO {
        return Ok(());
    }
    if from > store.shared.bell.position() {
        let head = store.snapshot()?.head()?.0;
        if from > head {
            return wire::write_frame(&mut connection, Kind::Refused, &[&head.to_le_bytes()]).map_err(Error::program);
        }
    }
    connection.set_read_timeout(Some(LOOK)).map_err(Error::program)?;
    let mut out = Sender { out: Vec::new(), types: HashSet::new(), streams: HashSet::new() };
    let mut follower = store.follow(Position(from))?.sends();
    while !stop.is_stopped() {
        let before = follower.position();
        // The snapshot ends with the call, so that a slow follower does not keep pages of the file from reuse.
        let delivered = follower.poll_while(WAIT, |snapshot, event| {
            out.send(snapshot, event)?;
            Ok(out.out.len() < BATCH_BYTES)
        })?;
        if delivered.missed > 0 {
            let next = before.0 + delivered.missed;
            let parts = [&delivered.missed.to_le_bytes()[..], &next.to_le_bytes()];
            wire::write_frame(&mut connection, Kind::Missed, &parts).map_err(Error::program)?;
        }
        connection.write_all(&out.out).map_err(Error::program)?;
        if let Some(signal) = delivered.signal {
            wire::write_signal(&mut connection, signal).map_err(Error::program)?;
        }
        if delivered == Delivered::default() && has_gone(&mut connection) {
            return Ok(());
        }
        out.out.clear();
        out.out.shrink_to(BATCH_BYTES);
    }
    Ok(())
}

/// Whether the other side has closed the connection. It sends nothing after the hello.
fn has_gone(connection: &mut UnixStream) -> bool {
    // An end is an error too. A connection that sends more is not a follower.
    match connection.read_exact(&mut [0]) {
        Ok(()) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted),
    }
}

/// Frames that are sent next, and what was named on the connection.
struct Sender {
    out: Vec<u8>,
    types: HashSet<TypeId>,
    streams: HashSet<StreamId>,
}

impl Sender {
    fn send(&mut self, snapshot: &Snapshot, event: &Event<'_>) -> Result<()> {
        if self.types.insert(event.kind) {
            let kind = snapshot.event_type(event.kind)?;
            let parts = [&event.kind.0.to_le_bytes()[..], &kind.schema.to_le_bytes(), kind.name.as_bytes()];
            wire::write_frame(&mut self.out, Kind::Type, &parts).map_err(Error::program)?;
        }
        if self.streams.insert(event.stream) {
            let name = snapshot.stream_name(event.stream)?;
            let parts = [&event.stream.0.to_le_bytes()[..], &name];
            wire::write_frame(&mut self.out, Kind::Stream, &parts).map_err(Error::program)?;
        }
        wire::write_event(&mut self.out, event).map_err(Error::program)
    }
}

/// How long a thread waits for events at once. It is woken when some come, and when the server is dropped.
const WAIT: Duration = Duration::from_secs(1);
/// How long a follower may take to send its hello.
const HELLO_WAIT: Duration = Duration::from_secs(10);
/// How long a follower may read nothing while events wait for it.
const WRITE_WAIT: Duration = Duration::from_secs(30);
/// How long it takes to look whether a follower has gone.
const LOOK: Duration = Duration::from_millis(1);
/// About how many bytes are copied from a snapshot at once: one event more at most.
const BATCH_BYTES: usize = 1 << 20;
/// More followers are not accepted.
const FOLLOWERS_MAX: usize = 256;
/// The pause after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(10);
