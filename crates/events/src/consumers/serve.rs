//! [`Server`]: serves the events of a store to followers in other processes, over a Unix socket.

use std::collections::{HashMap, HashSet};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
    stop: Stop,
    connections: Arc<Mutex<Connections>>,
    accepting: Option<JoinHandle<()>>,
}

impl EventStore {
    /// Serves the events of this store at a Unix socket. [`RemoteFollower`](crate::RemoteFollower) follows them in
    /// another process. The file of the socket is created, and removed when the server is dropped.
    ///
    /// # Errors
    /// [`Error::Socket`] if the socket cannot be created, or another process serves at it.
    pub fn serve(&self, socket: impl AsRef<Path>) -> Result<Server> {
        let path = socket.as_ref().to_path_buf();
        let failed = |source| Error::Socket { path: path.clone(), source };
        if path.exists() {
            // A socket that nobody serves is left by a process that was killed.
            match UnixStream::connect(&path) {
                Ok(_) => return Err(failed(ErrorKind::AddrInUse.into())),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(&path).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let (stop, connections) = (Stop::new(self), Arc::<Mutex<Connections>>::default());
        let accepting = thread::spawn({
            let (store, stop, connections) = (self.clone(), stop.clone(), Arc::clone(&connections));
            move || accept(&store, &stop, &connections, &listener)
        });
        Ok(Server { path, stop, connections, accepting: Some(accepting) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.stop();
        // Wakes the thread that accepts.
        let _ = UnixStream::connect(&self.path);
        shut_down(&self.connections);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
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
        let Ok(handle) = connection.try_clone() else { continue };
        number += 1;
        connections.lock().unwrap_or_else(PoisonError::into_inner).insert(number, handle);
        let (store, stop, connections) = (store.clone(), stop.clone(), Arc::clone(connections));
        followers.retain(|follower: &JoinHandle<()>| !follower.is_finished());
        followers.push(thread::spawn(move || {
            // A follower that goes away ends its thread: nobody else wants to know.
            let _ = send(&store, &stop, connection);
            connections.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        }));
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
    let mut hello = [0; 16];
    connection.read_exact(&mut hello).map_err(Error::program)?;
    let (magic, from) = hello.split_at(wire::HELLO.len());
    let Ok(from) = <[u8; 8]>::try_from(from) else { return Ok(()) };
    if magic != wire::HELLO {
        return Ok(());
    }
    let mut out = Sender { out: BufWriter::new(connection), types: HashSet::new(), streams: HashSet::new() };
    let mut follower = store.follow(Position(u64::from_le_bytes(from)));
    while !stop.is_stopped() {
        let delivered = follower.poll(WAIT, |snapshot, event| out.send(snapshot, event))?;
        if let Some(signal) = delivered.signal {
            wire::write_signal(&mut out.out, signal).map_err(Error::program)?;
        }
        out.out.flush().map_err(Error::program)?;
    }
    Ok(())
}

/// A connection, and what was named on it.
struct Sender {
    out: BufWriter<UnixStream>,
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
/// The pause after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(10);
