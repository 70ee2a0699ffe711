//! What the tests share.

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use fulgurite::{Database, Durability};
use fulgurite_events::{EventData, EventStore, RecordedEvent, Snapshot};
use tempfile::TempDir;

/// An empty store, and the directory that it is in.
pub fn store() -> (TempDir, EventStore) {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::create(directory.path().join("a.ful")).unwrap();
    let store = EventStore::options().durability(Durability::Log).open_in(&db).unwrap();
    (directory, store)
}

/// An event whose type and payload are this text.
pub fn event(text: &str) -> EventData<'_> {
    EventData::new(text, text.as_bytes())
}

/// Everything in the log.
pub fn all(snapshot: &Snapshot) -> Vec<RecordedEvent> {
    let mut events = snapshot.read_all(fulgurite_events::Position::START).unwrap();
    events.take_recorded(snapshot, usize::MAX).unwrap()
}

/// The payloads of a stream.
pub fn texts(snapshot: &Snapshot, stream: &str) -> Vec<String> {
    let mut events = snapshot.read_stream(stream, fulgurite_events::Version(0)).unwrap();
    let events = events.take_recorded(snapshot, usize::MAX).unwrap();
    events.into_iter().map(|event| String::from_utf8(event.payload).unwrap()).collect()
}

/// A thread that panics, and another one that waits until it has ended.
pub struct Panic {
    sender: Mutex<Option<Sender<()>>>,
    ended: Mutex<Receiver<()>>,
}

impl Panic {
    pub fn new() -> Self {
        let (sender, ended) = mpsc::channel();
        Self { sender: Mutex::new(Some(sender)), ended: Mutex::new(ended) }
    }

    /// Panics without a message.
    pub fn panic(&self) -> ! {
        HELD.set(self.sender.lock().unwrap().take());
        std::panic::resume_unwind(Box::new("on purpose"))
    }

    /// Waits until the other thread has ended.
    pub fn await_end(&self) {
        let ended = self.ended.lock().unwrap().recv_timeout(Duration::from_secs(60));
        assert_eq!(ended, Err(mpsc::RecvTimeoutError::Disconnected));
    }
}

thread_local! {
    /// Is dropped when the thread ends.
    static HELD: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
}

/// Random numbers from a seed (xorshift64*).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
