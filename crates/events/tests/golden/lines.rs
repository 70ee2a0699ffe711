//! What a store holds, as lines. The time of an event is at the end of its line, because no model knows it.

use std::fmt::Write as _;

use fulgurite_events::{EventStore, Position, StreamMetadata, StreamState, Version};

/// An event, as the model and the store say it.
#[derive(Clone, Debug)]
pub struct Known {
    pub stream: Vec<u8>,
    pub version: u64,
    pub kind: String,
    pub schema: u32,
    pub id: Option<[u8; 16]>,
    pub payload: Vec<u8>,
    pub metadata: Vec<u8>,
    pub tags: Vec<String>,
}

/// Reads everything that a store holds.
pub fn of_store(store: &EventStore) -> String {
    let snapshot = store.snapshot().unwrap();
    let mut lines = ends(snapshot.start().unwrap().0, snapshot.head().unwrap().0);
    let mut events = snapshot.read_all(Position::START).unwrap();
    for event in events.take_recorded(&snapshot, usize::MAX).unwrap() {
        let known = Known {
            stream: event.stream,
            version: event.version.0,
            kind: event.kind.to_string(),
            schema: event.schema,
            id: event.id,
            payload: event.payload,
            metadata: event.metadata,
            tags: event.tags,
        };
        writeln!(lines, "{}{TIME}{}", of_event(event.position.0, &known), event.time).unwrap();
    }
    for kind in snapshot.event_types() {
        lines += &of_type(&kind.name, kind.schema);
    }
    for info in snapshot.streams("").unwrap() {
        let info = info.unwrap();
        let mut versions = Vec::new();
        if info.state == StreamState::Open {
            let mut events = snapshot.read_stream(&info.name, Version(0)).unwrap();
            while let Some(event) = events.next().unwrap() {
                versions.push((event.version.0, event.position.0));
            }
        }
        lines += &of_stream(&info.name, info.state, info.first.0, info.next.0, &info.metadata, &versions);
        if let Some(state) = snapshot.aggregate_state(&info.name, Version(u64::MAX)).unwrap() {
            lines += &of_state(&info.name, state.version.0, state.schema, &state.state);
        }
    }
    for (consumer, position) in snapshot.consumers().unwrap() {
        lines += &of_consumer(&consumer, position.0);
    }
    lines
}

/// The same lines without times.
pub fn without_times(lines: &str) -> String {
    lines.lines().map(|line| format!("{}\n", line.split(TIME).next().unwrap())).collect()
}

pub fn ends(start: u64, head: u64) -> String {
    format!("start {start}\nhead {head}\n")
}

pub fn of_event(position: u64, event: &Known) -> String {
    let Known { stream, version, kind, schema, id, payload, metadata, tags } = event;
    let (stream, payload, metadata) = (hex(stream), hex(payload), hex(metadata));
    let id = id.map_or_else(|| "none".to_owned(), |id| hex(&id));
    format!(
        "event {position} stream {stream} version {version} type {kind} schema {schema} id {id} payload {payload} \
         metadata {metadata} tags {tags:?}"
    )
}

pub fn of_type(name: &str, schema: u32) -> String {
    format!("type {name} schema {schema}\n")
}

/// `versions`: those that are read from the stream, with their positions.
pub fn of_stream(
    name: &[u8],
    state: StreamState,
    first: u64,
    next: u64,
    metadata: &StreamMetadata,
    versions: &[(u64, u64)],
) -> String {
    let StreamMetadata { age_us_max, count_max, custom } = metadata;
    format!(
        "stream {} {state:?} first {first} next {next} age {age_us_max:?} count {count_max:?} custom {} events \
         {versions:?}\n",
        hex(name),
        hex(custom)
    )
}

pub fn of_state(stream: &[u8], version: u64, schema: u32, state: &[u8]) -> String {
    format!("state {} version {version} schema {schema} {}\n", hex(stream), hex(state))
}

pub fn of_consumer(name: &str, position: u64) -> String {
    format!("consumer {name} {position}\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// What precedes the time of an event.
const TIME: &str = " time ";
