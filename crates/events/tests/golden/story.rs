//! The story of a golden store: operations that leave everything that a store can have, and a model that says what
//! every read returns afterwards.

use std::collections::BTreeMap;
use std::path::Path;

use fulgurite::{Database, Durability};
use fulgurite_events::{EventData, EventStore, Expected, Position, Retention, StreamMetadata, StreamState, Version};

use crate::lines::{self, Known};

/// A stream of the model.
#[derive(Clone, Debug, Default)]
struct Stream {
    state: StreamState,
    first: u64,
    next: u64,
    metadata: StreamMetadata,
    /// Version, schema and bytes of the newest state of an aggregate.
    aggregate: Option<(u64, u32, Vec<u8>)>,
}

/// A store, and what it must hold.
pub struct Story {
    pub store: EventStore,
    start: u64,
    /// By position. None: removed.
    log: Vec<Option<Known>>,
    types: Vec<(String, u32)>,
    streams: BTreeMap<Vec<u8>, Stream>,
    consumers: BTreeMap<String, u64>,
}

impl Story {
    /// Writes a store to a path where there is none.
    pub fn write(path: &Path) -> Self {
        let db = Database::options().create(true).background(false).open(path).unwrap();
        let store = EventStore::options().durability(Durability::Log).open_in(&db).unwrap();
        let mut story = Self {
            store,
            start: 0,
            log: Vec::new(),
            types: Vec::new(),
            streams: BTreeMap::new(),
            consumers: BTreeMap::new(),
        };
        story.append_single_events();
        story.end_and_limit_streams();
        story.retain(5);
        story.append_large_events();
        story.append_to_many_streams();
        story.store_positions_and_states();
        db.checkpoint().unwrap();
        story
    }

    /// What the store must hold, without times of events.
    pub fn lines(&self) -> String {
        let mut lines = lines::ends(self.start, self.log.len() as u64);
        for (position, event) in (0..).zip(&self.log) {
            lines += &event.as_ref().map_or_else(String::new, |event| lines::of_event(position, event) + "\n");
        }
        lines.extend(self.types.iter().map(|(name, schema)| lines::of_type(name, *schema)));
        for (name, stream) in &self.streams {
            let Stream { state, first, next, metadata, aggregate } = stream;
            let kept = |event: &Known| event.stream == *name && event.version >= *first && *state == StreamState::Open;
            let places = (0..).zip(&self.log).filter_map(|(position, event)| {
                event.as_ref().filter(|event| kept(event)).map(|event| (event.version, position))
            });
            lines += &lines::of_stream(name, *state, *first, *next, metadata, &places.collect::<Vec<_>>());
            if let Some((version, schema, bytes)) = aggregate {
                lines += &lines::of_state(name, *version, *schema, bytes);
            }
        }
        lines.extend(self.consumers.iter().map(|(name, position)| lines::of_consumer(name, *position)));
        lines
    }

    /// Appends one event to each of some streams, in one transaction. `bytes` is the length of each payload.
    fn append(&mut self, names: &[Vec<u8>], bytes: usize) {
        let mut events = Vec::new();
        for name in names {
            let position = (self.log.len() + events.len()) as u64;
            let (kind, schema) = [("placed", 0), ("placed", 1), ("paid", 0)][position as usize % 3];
            let stream = self.streams.entry(name.clone()).or_default();
            stream.state = StreamState::Open;
            events.push(Known {
                stream: name.clone(),
                version: stream.next,
                kind: kind.to_owned(),
                schema,
                id: position.is_multiple_of(2).then(|| u128::from(position).to_le_bytes()),
                payload: vec![position as u8; bytes],
                metadata: if position.is_multiple_of(5) { b"by a test".to_vec() } else { Vec::new() },
                tags: (0..position % 3).map(|tag| format!("tag {tag}")).collect(),
            });
            stream.next += 1;
            if !self.types.contains(&(kind.to_owned(), schema)) {
                self.types.push((kind.to_owned(), schema));
            }
        }
        let appended = self.store.transact(|t| {
            for event in &events {
                let tags: Vec<&str> = event.tags.iter().map(String::as_str).collect();
                let data = EventData::new(&event.kind, &event.payload).schema(event.schema).metadata(&event.metadata);
                let data = EventData { id: event.id, ..data.tags(&tags) };
                assert_eq!(t.append(&event.stream, Expected::Any, &[data])?.version, Version(event.version));
            }
            Ok(())
        });
        appended.unwrap();
        self.log.extend(events.into_iter().map(Some));
    }

    /// Every second event has an id. Retention leaves the ids of "gone", and nothing of "removed".
    fn append_single_events(&mut self) {
        for name in [&b"gone"[..], b"removed", b"order 1", b"order 2", b"\xff\x00 bytes", b"buried"].repeat(4) {
            self.append(&[name.to_vec()], 10);
        }
    }

    fn end_and_limit_streams(&mut self) {
        self.store.truncate_before("order 1", Version(3)).unwrap();
        self.stream("order 1").first = 3;
        self.store.delete_stream("order 2", Expected::Exact(Version(3))).unwrap();
        self.stream("order 2").first = 4;
        self.append(&[b"order 2".to_vec()], 0);
        self.store.bury_stream("buried", Expected::Any).unwrap();
        let buried = self.stream("buried");
        (buried.first, buried.state) = (4, StreamState::Tombstone);
        let metadata = StreamMetadata { age_us_max: Some(1 << 60), count_max: Some(1_000), custom: b"custom".to_vec() };
        self.store.set_stream_metadata("limited", metadata.clone()).unwrap();
        self.stream("limited").metadata = metadata;
    }

    /// Keeps the newest events. Each is a chunk of its own so far.
    fn retain(&mut self, count: u64) {
        let report = self.store.apply_retention(&Retention { count_max: Some(count), ..Retention::default() }).unwrap();
        self.start = self.log.len() as u64 - count;
        assert_eq!(report.start, Position(self.start));
        for (position, place) in (0..).zip(&mut self.log) {
            place.take_if(|event| position < self.start || event.version < self.streams[&event.stream].first);
        }
    }

    /// An event that is larger than a chunk, and a transaction whose events are in several chunks.
    fn append_large_events(&mut self) {
        self.append(&[b"large".to_vec()], 20_000);
        self.append(&["large"; 3].map(|name| name.as_bytes().to_vec()), 5_000);
    }

    fn append_to_many_streams(&mut self) {
        let wide = (0..24).map(|number| format!("wide {number}").into_bytes());
        let names: Vec<Vec<u8>> = wide.chain([b"order 1".to_vec()]).collect();
        (0..3).for_each(|_| self.append(&names, 30));
        self.append(&[b"wide 3".to_vec()], 1);
    }

    fn store_positions_and_states(&mut self) {
        for (name, position) in [("reader", 7), ("view#0/2", 30), ("view#1/2", 12)] {
            self.store.set_consumer_position(name, Position(position)).unwrap();
            self.consumers.insert(name.to_owned(), position);
        }
        for (name, version) in [("gone", 3), ("order 1", 5), ("wide 3", 2)] {
            self.store.put_aggregate_state(name, Version(version), 7, name.as_bytes()).unwrap();
            self.stream(name).aggregate = Some((version, 7, name.as_bytes().to_vec()));
        }
    }

    fn stream(&mut self, name: &str) -> &mut Stream {
        self.streams.entry(name.as_bytes().to_vec()).or_default()
    }
}
