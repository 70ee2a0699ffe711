//! The store of the processes that are killed, and what their threads append.

use std::path::Path;

use fulgurite::{Database, Durability};
use fulgurite_events::{EventData, EventStore, Expected, Version};

pub fn open(path: &Path) -> EventStore {
    // A small delta, so that processes are killed during checkpoints too.
    let db = Database::options().create(true).delta_bytes(64 << 10).open(path).unwrap();
    EventStore::options().durability(Durability::Log).open_in(&db).unwrap()
}

fn stream(writer: u64) -> String {
    format!("writer {writer}")
}

/// The number of the next event of a writer, which has a stream of its own and counts from 0.
pub fn next_number(store: &EventStore, writer: u64) -> u64 {
    let info = store.snapshot().unwrap().stream(stream(writer)).unwrap();
    info.map_or(0, |info| info.next.0)
}

/// Appends the next events of a writer, and returns the number after them.
pub fn append_next(store: &EventStore, writer: u64, number: u64) -> u64 {
    let end = number + 1 + number % 4;
    let payloads: Vec<_> = (number..end).map(|number| [writer, number].map(u64::to_le_bytes).concat()).collect();
    let events: Vec<_> = payloads.iter().map(|payload| EventData::new("x", payload)).collect();
    let appended = store.append(stream(writer), Expected::Any, &events).unwrap();
    assert_eq!(appended.version, Version(number));
    end
}

/// The writer and the number of an event.
pub fn parse(bytes: &[u8]) -> (u64, u64) {
    let (one, other) = bytes.split_first_chunk::<8>().unwrap();
    (u64::from_le_bytes(*one), u64::from_le_bytes(other.try_into().unwrap()))
}

/// How many processes are killed.
pub fn kills() -> u64 {
    std::env::var("EVENTS_KILLS").map_or(200, |kills| kills.parse().unwrap())
}

/// Threads that append.
pub const WRITERS: u64 = 3;
