//! The store of the processes that are killed, and what their threads append.

use std::ops::Range;
use std::path::Path;

use fulgurite::{Database, Durability, Table};
use fulgurite_events::{EventData, EventStore, Expected, Snapshot, StreamMetadata, Version};

/// Files whose names begin with this wait for the disk at each append.
pub const DISK: &str = "disk";

pub fn open(path: &Path) -> EventStore {
    // A small delta, so that processes are killed during checkpoints too.
    let db = Database::options().create(true).delta_bytes(64 << 10).open(path).unwrap();
    let is_on_disk = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(DISK));
    let durability = if is_on_disk { Durability::Disk } else { Durability::Log };
    EventStore::options().durability(durability).open_in(&db).unwrap()
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

/// As [`append_next`], in one transaction with the number in the table of mirrors.
pub fn append_mirrored(store: &EventStore, mirrors: &Table, writer: u64, number: u64) -> u64 {
    let end = number + 1;
    let payload = [writer, number].map(u64::to_le_bytes).concat();
    let appended = store.transact(|t| {
        t.put(mirrors, writer.to_be_bytes(), end.to_le_bytes())?;
        t.append(stream(writer), Expected::Any, &[EventData::new("x", &payload)])
    });
    assert_eq!(appended.unwrap().version, Version(number));
    end
}

/// Gives the stream of a writer a limit, which retention applies.
pub fn limit(store: &EventStore, writer: u64) {
    let metadata = StreamMetadata { count_max: Some(LIMITED_KEPT), ..StreamMetadata::default() };
    store.set_stream_metadata(stream(writer), metadata).unwrap();
}

/// Appends an event of each of many further writers in one transaction, so that the index of streams gets a block.
pub fn append_wide(store: &EventStore) {
    let number = next_number(store, WIDE_WRITERS.start);
    let appended = store.transact(|t| {
        for writer in WIDE_WRITERS {
            let payload = [writer, number].map(u64::to_le_bytes).concat();
            let appended = t.append(stream(writer), Expected::Any, &[EventData::new("x", &payload)])?;
            assert_eq!(appended.version, Version(number));
        }
        Ok(())
    });
    appended.unwrap();
}

/// The version after the last event of a writer that the index of streams has. Fails unless the versions from `first`
/// on are there.
pub fn count(snapshot: &Snapshot, writer: u64, first: u64) -> u64 {
    let mut events = snapshot.read_stream(stream(writer), Version(0)).unwrap();
    let mut next = first;
    while let Some(event) = events.next().unwrap() {
        assert_eq!((event.version, parse(event.payload)), (Version(next), (writer, next)));
        next += 1;
    }
    next
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
/// The writer whose events retention removes, and how many of them it keeps.
pub const LIMITED: u64 = 50;
pub const LIMITED_KEPT: u64 = 5;
/// Writers whose events are appended together.
const WIDE_WRITERS: Range<u64> = 100..120;
