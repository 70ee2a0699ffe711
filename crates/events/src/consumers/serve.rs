//! [`Server`]: serves the events of a store to followers in other processes, over a Unix socket.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::consumers::follower::Delivered;
use crate::consumers::hello::{AT_END, Hello};
use crate::consumers::named::{Claim, store_acknowledged};
use crate::consumers::stop::Stop;
use crate::consumers::wire::{self, Kind};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::ids::{Position, StreamId, TypeId};
use crate::reading::snapshot::Snapshot;
use crate::store::handle::EventStore;
use crate::store::shared::is_read_only;

/// Open connections, by a number of their own.
type Connections = HashMap<u64, UnixStream>;

/// Serves events until it is dropped. Each follower has a thread, which waits for events as a
/// [`Follower`](crate::Follower) does. For a named consumer, a second thread stores the acknowledged positions.
///
/// Dropping it waits at most two seconds for a position that is being stored. If it is dropped in a function of
/// [`EventStore::transact`], that position is stored when the transaction has ended.
///
/// Every process that may open the socket's file can read all events, and raise the positions of consumers.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    /// The socket's file.
    file: FileId,
    /// The listening socket, which the thread that accepts has too. None once it was shut down.
    listener: Option<UnixListener>,
    ending: Ending,
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
        let failed = |source| Error::Socket { path: path.clone(), source, is_server: true };
        let (listener, file) = bind(&path).map_err(failed)?;
        let handle = listener.try_clone().map_err(failed)?;
        let ending = Ending { stop: Stop::new(self), is_finishing: Arc::default() };
        let connections = Arc::<Mutex<Connections>>::default();
        let accepting = thread::Builder::new().spawn({
            let (store, ending, connections) = (self.clone(), ending.clone(), Arc::clone(&connections));
            move || accept(&store, &ending, &connections, &listener)
        });
        let accepting = Some(accepting.map_err(failed)?);
        Ok(Server { path, file, listener: Some(handle), ending, connections, accepting })
    }
}

impl Server {
    /// How many followers are connected.
    pub fn followers(&self) -> usize {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Sends all events that there are to the followers that were accepted, then ends. Ends after `wait` if a follower
    /// does not read so fast. It closes further connections. Dropping a server ends it at once: followers may lack the
    /// last events.
    pub fn finish(self, wait: Duration) {
        let deadline = Instant::now().checked_add(wait);
        // While it is locked, no follower is accepted: each is counted below, or is refused.
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        // SeqCst: a thread that reads it later than the bell wakes it sees it.
        self.ending.is_finishing.store(true, Ordering::SeqCst);
        drop(connections);
        self.ending.stop.wake();
        while self.followers() > 0 && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            thread::sleep(RETRY);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.stop.stop();
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
            // Not for ever: a thread that stores a position may wait for a transaction that this thread runs.
            let deadline = Instant::now() + DROP_WAIT;
            while !accepting.is_finished() && Instant::now() < deadline {
                thread::sleep(LOOK);
            }
            if accepting.is_finished() {
                let _ = accepting.join();
            }
        }
    }
}

/// How the threads of a server learn that they are to end.
#[derive(Clone, Debug)]
struct Ending {
    /// At once.
    stop: Stop,
    /// When they have sent all events.
    is_finishing: Arc<AtomicBool>,
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
    // A path that is too long leaves no lock.
    SocketAddr::from_pathname(path)?;
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

fn accept(store: &EventStore, ending: &Ending, connections: &Arc<Mutex<Connections>>, listener: &UnixListener) {
    let (mut followers, mut number) = (Vec::new(), 0);
    for connection in listener.incoming() {
        if ending.stop.is_stopped() {
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
        let mut open = connections.lock().unwrap_or_else(PoisonError::into_inner);
        if ending.is_finishing.load(Ordering::SeqCst) {
            continue;
        }
        open.insert(number, handle);
        drop(open);
        let spawned = thread::Builder::new().spawn({
            let (store, ending, connections) = (store.clone(), ending.clone(), Arc::clone(connections));
            move || {
                // A follower that goes away ends its thread: nobody else wants to know.
                let _ = send(&store, &ending, connection);
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
fn send(store: &EventStore, ending: &Ending, mut connection: UnixStream) -> Result<()> {
    connection.set_write_timeout(Some(WRITE_WAIT)).map_err(Error::program)?;
    let mut limited = Limited { connection: &connection, deadline: Instant::now() + HELLO_WAIT };
    let hello = Hello::read(&mut limited).map_err(Error::program)?;
    if let Some(consumer) = hello.consumer.clone() {
        return send_to_consumer(store, ending, connection, hello, &consumer);
    }
    connection.set_read_timeout(Some(LOOK)).map_err(Error::program)?;
    send_events(store, ending, &mut connection, hello, has_gone)
}

/// Sends events to a named consumer from its stored position on, and stores the positions that it acknowledges.
fn send_to_consumer(
    store: &EventStore,
    ending: &Ending,
    mut connection: UnixStream,
    hello: Hello,
    consumer: &str,
) -> Result<()> {
    // A position that cannot be stored would let the consumer receive the same events again and again.
    if is_read_only(&store.shared.db) {
        return Ok(());
    }
    let Some(_claim) = claim(store, ending, consumer) else {
        // The name may be free as soon as a process serves again.
        if ending.stop.is_stopped() {
            return Ok(());
        }
        return wire::write_frame(&mut connection, Kind::Taken, &[]).map_err(Error::program);
    };
    let from = store.snapshot()?.consumer_position(consumer)?;
    connection.set_read_timeout(None).map_err(Error::program)?;
    let mut acknowledged = connection.try_clone().map_err(Error::program)?;
    let is_gone = AtomicBool::new(false);
    thread::scope(|scope| {
        // A second thread reads. With one thread, the server and the consumer could each wait for the other one to
        // read.
        let reading = thread::Builder::new().spawn_scoped(scope, || {
            if store_acknowledged(store, consumer, &mut acknowledged, from).is_err() {
                let _ = acknowledged.shutdown(Shutdown::Both);
            }
            // SeqCst: a thread that reads it later than the bell wakes it sees it.
            is_gone.store(true, Ordering::SeqCst);
            ending.stop.wake();
        });
        reading.map_err(Error::program)?;
        let hello = Hello { from, ..hello };
        let sent = send_events(store, ending, &mut connection, hello, |_| is_gone.load(Ordering::SeqCst));
        // A consumer that has received all events may still acknowledge the last ones, until it closes the connection.
        let _ = connection.shutdown(if sent.is_ok() { Shutdown::Write } else { Shutdown::Both });
        sent
    })
}

/// Claims the name of a consumer. Waits for a connection that is ending, such as that of a process that was killed.
fn claim<'s>(store: &'s EventStore, ending: &Ending, consumer: &'s str) -> Option<Claim<'s>> {
    let deadline = Instant::now() + CLAIM_WAIT;
    loop {
        let claim = Claim::new(&store.shared, consumer);
        if claim.is_some() || Instant::now() >= deadline || ending.stop.is_stopped() {
            return claim;
        }
        thread::sleep(RETRY);
    }
}

/// Sends events until the server ends or the follower has gone. It asks `has_gone` when there is nothing to send.
fn send_events(
    store: &EventStore,
    ending: &Ending,
    connection: &mut UnixStream,
    hello: Hello,
    has_gone: impl Fn(&mut UnixStream) -> bool,
) -> Result<()> {
    let is_at_end = hello.from == AT_END;
    let from = if is_at_end { store.shared.bell.position() } else { hello.from.0 };
    if is_at_end || hello.consumer.is_some() {
        write_missed(connection, 0, from)?;
    }
    if from > store.shared.bell.position() {
        let head = store.snapshot()?.head()?.0;
        if from > head {
            return wire::write_frame(connection, Kind::Refused, &[&head.to_le_bytes()]).map_err(Error::program);
        }
    }
    let mut out = Sender::default();
    let mut follower = store.follow(Position(from))?.partition(hello.partition).query(hello.query).sends();
    // The position that the other side knows.
    let mut known = Position(from);
    while !ending.stop.is_stopped() {
        // Read before the poll, so that the poll finds what was appended before it was set.
        let is_finishing = ending.is_finishing.load(Ordering::SeqCst);
        let before = follower.position();
        // The snapshot ends with the poll, so that a slow follower does not keep pages of the file from reuse.
        let wait = if is_finishing { Duration::ZERO } else { WAIT };
        let delivered = follower.poll_while(wait, |snapshot, event| {
            out.send(snapshot, event)?;
            known = Position(event.position.0 + 1);
            Ok(out.out.len() < BATCH_BYTES)
        })?;
        if delivered.missed > 0 {
            write_missed(connection, delivered.missed, before.0 + delivered.missed)?;
        }
        connection.write_all(&out.out).map_err(Error::program)?;
        if follower.position() > known {
            known = follower.position();
            write_missed(connection, 0, known.0)?;
        }
        if let Some(signal) = delivered.signal {
            wire::write_signal(connection, signal).map_err(Error::program)?;
        }
        let is_idle = delivered == Delivered::default() && follower.position() == before;
        if is_idle && (is_finishing || has_gone(connection)) {
            return Ok(());
        }
        out.out.clear();
        out.out.shrink_to(BATCH_BYTES);
    }
    Ok(())
}

fn write_missed(connection: &mut UnixStream, missed: u64, next: u64) -> Result<()> {
    let parts = [&missed.to_le_bytes()[..], &next.to_le_bytes()];
    wire::write_frame(connection, Kind::Missed, &parts).map_err(Error::program)
}

/// Reads a connection until a time.
struct Limited<'c> {
    connection: &'c UnixStream,
    deadline: Instant,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.connection.set_read_timeout(Some(left))?;
        self.connection.read(buffer)
    }
}

/// Whether a follower without a name has closed the connection. It sends nothing after the hello.
fn has_gone(connection: &mut UnixStream) -> bool {
    // An end is an error too. A connection that sends more is not a follower.
    match connection.read_exact(&mut [0]) {
        Ok(()) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted),
    }
}

/// Frames that are sent next, and what was named on the connection since the last [`Kind::Forget`].
#[derive(Default)]
struct Sender {
    out: Vec<u8>,
    types: HashSet<TypeId>,
    streams: HashSet<StreamId>,
    /// About how many bytes the other side needs for the names.
    named_bytes: usize,
}

impl Sender {
    fn send(&mut self, snapshot: &Snapshot, event: &Event<'_>) -> Result<()> {
        if self.named_bytes > NAMED_BYTES_MAX {
            self.types.clear();
            self.streams.clear();
            self.named_bytes = 0;
            wire::write_frame(&mut self.out, Kind::Forget, &[]).map_err(Error::program)?;
        }
        if self.types.insert(event.kind) {
            let kind = snapshot.event_type(event.kind)?;
            self.named_bytes += kind.name.len() + NAME_BYTES;
            let parts = [&event.kind.0.to_le_bytes()[..], &kind.schema.to_le_bytes(), kind.name.as_bytes()];
            wire::write_frame(&mut self.out, Kind::Type, &parts).map_err(Error::program)?;
        }
        if self.streams.insert(event.stream) {
            let name = snapshot.stream_name(event.stream)?;
            self.named_bytes += name.len() + NAME_BYTES;
            let parts = [&event.stream.0.to_le_bytes()[..], &name];
            wire::write_frame(&mut self.out, Kind::Stream, &parts).map_err(Error::program)?;
        }
        wire::write_event(&mut self.out, event).map_err(Error::program)
    }
}

/// How long a thread waits for events at once. It is woken when some come, and when the server is dropped.
const WAIT: Duration = Duration::from_secs(1);
/// How long a follower may take to send its whole hello.
const HELLO_WAIT: Duration = Duration::from_secs(10);
/// How long a follower may read nothing while events wait for it.
const WRITE_WAIT: Duration = Duration::from_secs(30);
/// How long a consumer waits for an older connection of its name to end.
const CLAIM_WAIT: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 2000 });
/// How long dropping a server waits for its threads.
const DROP_WAIT: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 2000 });
/// How long it takes to look whether a follower has gone.
const LOOK: Duration = Duration::from_millis(1);
/// About how many bytes are copied from a snapshot at once: one event more at most.
const BATCH_BYTES: usize = 1 << 20;
/// After about so many bytes of names, all of them are forgotten and given again.
const NAMED_BYTES_MAX: usize = 1 << 20;
/// What a name takes beside its bytes.
const NAME_BYTES: usize = 64;
/// More followers are not accepted.
const FOLLOWERS_MAX: usize = 256;
/// The pause after a connection could not be accepted, and between looks whether all events were sent.
const RETRY: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use fulgurite::Database;

    use super::*;
    use crate::consumers::remote::RemoteFollower;
    use crate::event::{EventData, Expected};
    use crate::reading::partition::Partition;
    use crate::reading::query::EventQuery;

    #[test]
    fn a_server_that_finishes_accepts_no_further_follower() {
        let directory = tempfile::tempdir().unwrap();
        let store = EventStore::create(directory.path().join("a.ful")).unwrap();
        store.append("a", Expected::Any, &[EventData::new("x", b"")]).unwrap();
        let socket = directory.path().join("a.sock");
        let server = store.serve(&socket).unwrap();
        server.ending.is_finishing.store(true, Ordering::SeqCst);
        let late = RemoteFollower::connect(&socket, Position(0));
        let refused = late.and_then(|mut late| late.poll(Duration::from_secs(20), |_| Ok(())));
        assert!(matches!(refused, Err(Error::Socket { .. })), "{refused:?}");
    }

    #[test]
    fn a_second_connection_of_a_consumer_is_refused_while_the_first_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let store = EventStore::create(directory.path().join("a.ful")).unwrap();
        let socket = directory.path().join("a.sock");
        let _server = store.serve(&socket).unwrap();
        let connect = |partition| RemoteFollower::connect_consumer_with(&socket, "c", partition, &EventQuery::new());
        let _first = connect(Partition::ALL).unwrap();
        let refused = connect(Partition::ALL).unwrap_err();
        assert!(matches!(&refused, Error::Invalid { message } if message.contains("has the name")), "{refused}");
        connect(Partition::new(0, 2).unwrap()).unwrap();
    }

    /// It waited for a thread that waited for the transaction.
    #[test]
    fn a_server_that_is_dropped_in_a_transaction_does_not_wait_for_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let store = EventStore::create(directory.path().join("a.ful")).unwrap();
        store.append("a", Expected::Any, &[EventData::new("x", b"")]).unwrap();
        let socket = directory.path().join("a.sock");
        let mut server = Some(store.serve(&socket).unwrap());
        let mut consumer = RemoteFollower::connect_consumer(&socket, "c").unwrap();
        while consumer.position() < Position(1) {
            consumer.poll(Duration::from_secs(20), |_| Ok(())).unwrap();
        }
        let (sender, ended) = mpsc::channel();
        let writer = store.clone();
        thread::spawn(move || {
            let outcome = writer.transact(|_| {
                consumer.acknowledge(Position(1))?;
                drop(server.take());
                Ok(())
            });
            sender.send(outcome).unwrap();
        });
        ended.recv_timeout(Duration::from_secs(20)).expect("the transaction ends").unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while store.snapshot().unwrap().consumer_position("c").unwrap() < Position(1) {
            assert!(Instant::now() < deadline, "the position is not stored after the transaction");
            thread::sleep(LOOK);
        }
    }

    #[test]
    fn a_store_that_cannot_be_changed_refuses_consumers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ful");
        let store = EventStore::create(&path).unwrap();
        let db = store.database().clone();
        drop(store);
        db.close().unwrap();
        let db = Database::options().read_only(true).open(&path).unwrap();
        let socket = directory.path().join("a.sock");
        let _server = EventStore::open_in(&db).unwrap().serve(&socket).unwrap();
        let refused = RemoteFollower::connect_consumer(&socket, "c").unwrap_err();
        assert!(matches!(refused, Error::Socket { .. }), "{refused}");
    }

    /// The limit applied to each read: a byte now and then kept the place of a follower.
    #[test]
    fn a_hello_is_not_read_after_its_deadline_though_more_of_it_arrives() {
        let (mut follower, connection) = UnixStream::pair().unwrap();
        follower.write_all(b"fulgev04").unwrap();
        let mut limited = Limited { connection: &connection, deadline: Instant::now() };
        assert_eq!(Hello::read(&mut limited).unwrap_err().kind(), ErrorKind::TimedOut);
        limited.deadline += HELLO_WAIT;
        assert_eq!(limited.read(&mut [0; 8]).unwrap(), 8);
    }
}
