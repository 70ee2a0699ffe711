//! Random operations beside a plain model in memory.
//!
//! `EVENTS_SEED=N cargo test -p fulgurite-events --test events model` repeats one seed.

use std::collections::BTreeMap;

use fulgurite::{Database, Durability};
use fulgurite_events::{
    Error, EventData, EventId, EventStore, Expected, Position, RecordedEvent, Retention, StreamState, Version,
};

use crate::support::{Random, all};

/// What an event is, as far as the model knows.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    stream: String,
    version: u64,
    kind: String,
    id: Option<EventId>,
    payload: Vec<u8>,
    tags: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    first: u64,
    next: u64,
    is_deleted: bool,
    is_buried: bool,
}

#[derive(Debug, Default)]
struct Model {
    /// By position. None: removed.
    log: Vec<Option<Known>>,
    streams: BTreeMap<String, Stream>,
}

impl Stream {
    fn last(&self) -> Option<Version> {
        (!self.is_deleted && self.next > 0).then(|| Version(self.next - 1))
    }
}

impl Model {
    fn append(&mut self, name: &str, expected: Expected, events: &[Known]) -> Option<(u64, u64)> {
        let stream = self.streams.get(name).cloned().unwrap_or_default();
        let holds = match expected {
            Expected::Any => true,
            Expected::NoStream => stream.last().is_none(),
            Expected::StreamExists => stream.last().is_some(),
            Expected::Exact(version) => stream.last() == Some(version),
        };
        if stream.is_buried || !holds {
            return None;
        }
        let at = (self.log.len() as u64, stream.next);
        for (index, event) in events.iter().enumerate() {
            self.log.push(Some(Known { version: stream.next + index as u64, ..event.clone() }));
        }
        let next = stream.next + events.len() as u64;
        self.streams.insert(name.into(), Stream { next, is_deleted: false, ..stream });
        Some(at)
    }

    fn of_stream(&self, name: &str) -> Vec<Known> {
        let first = self.streams[name].first;
        let of_stream = |event: &&Known| event.stream == name && event.version >= first;
        self.log.iter().flatten().filter(of_stream).cloned().collect()
    }

    /// Removes what retention removes when it has no limits of its own.
    fn retain(&mut self) {
        for place in &mut self.log {
            let is_gone = place.as_ref().is_some_and(|event| event.version < self.streams[&event.stream].first);
            if is_gone {
                *place = None;
            }
        }
    }
}

fn known(event: &RecordedEvent) -> Known {
    Known {
        stream: String::from_utf8(event.stream.clone()).unwrap(),
        version: event.version.0,
        kind: event.kind.to_string(),
        id: event.id,
        payload: event.payload.clone(),
        tags: event.tags.clone(),
    }
}

struct Run {
    random: Random,
    model: Model,
    store: EventStore,
    path: std::path::PathBuf,
    ids: u64,
}

impl Run {
    fn name(&mut self) -> String {
        format!("stream {}", self.random.below(6))
    }

    fn events(&mut self, stream: &str) -> Vec<Known> {
        let count = if self.random.one_in(20) { 300 } else { 1 + self.random.below(4) };
        let mut events = Vec::new();
        for _ in 0..count {
            self.ids += 1;
            let id = self.random.one_in(2).then(|| u128::from(self.ids).to_le_bytes());
            let length = if self.random.one_in(30) { 20_000 } else { self.random.below(90) };
            let payload = vec![self.ids as u8; length as usize];
            let tags = (0..self.random.below(3)).map(|_| format!("t{}", self.random.below(4))).collect();
            let kind = format!("kind {}", self.random.below(5));
            events.push(Known { stream: stream.into(), version: 0, kind, id, payload, tags });
        }
        events
    }

    fn expected(&mut self, stream: &str) -> Expected {
        let next = self.model.streams.get(stream).map_or(0, |stream| stream.next);
        match self.random.below(6) {
            0 => Expected::NoStream,
            1 => Expected::StreamExists,
            2 => Expected::Exact(Version(self.random.below(next + 2))),
            3 => Expected::Exact(Version(next.saturating_sub(1))),
            _ => Expected::Any,
        }
    }

    fn append(&mut self) {
        let name = self.name();
        let (events, expected) = (self.events(&name), self.expected(&name));
        let tags: Vec<Vec<&str>> = events.iter().map(|event| event.tags.iter().map(String::as_str).collect()).collect();
        let data: Vec<_> = events
            .iter()
            .zip(&tags)
            .map(|(event, tags)| EventData { id: event.id, ..EventData::new(&event.kind, &event.payload).tags(tags) })
            .collect();
        let outcome = self.store.append(&name, expected, &data);
        match (self.model.append(&name, expected, &events), &outcome) {
            (Some((position, version)), Ok(appended)) => {
                assert_eq!((appended.position.0, appended.version.0, appended.repeated), (position, version, false));
                if events.iter().all(|event| event.id.is_some()) {
                    let again = self.store.append(&name, expected, &data).unwrap();
                    assert!(again.repeated && again.position == appended.position, "{again:?}");
                }
            }
            (None, Err(Error::WrongVersion { .. } | Error::Tombstone { .. })) => {}
            (expected, _) => panic!("the model says {expected:?}, the store {outcome:?}"),
        }
    }

    /// Appends to several streams, and gives up at the end sometimes.
    fn transact(&mut self) {
        let names = [self.name(), self.name()];
        let events = names.clone().map(|name| self.events(&name));
        let gives_up = self.random.one_in(3);
        let outcome = self.store.transact(|t| {
            for (name, events) in names.iter().zip(&events) {
                let data: Vec<_> = events.iter().map(|event| EventData::new(&event.kind, &event.payload)).collect();
                t.append(name, Expected::Any, &data)?;
            }
            if gives_up { Err(Error::program("given up")) } else { Ok(()) }
        });
        let is_buried = |name: &String| self.model.streams.get(name).is_some_and(|stream| stream.is_buried);
        assert_eq!(outcome.is_ok(), !gives_up && !names.iter().any(is_buried), "{outcome:?}");
        if outcome.is_ok() {
            for (name, events) in names.iter().zip(events) {
                let plain: Vec<_> =
                    events.into_iter().map(|event| Known { id: None, tags: Vec::new(), ..event }).collect();
                self.model.append(name, Expected::Any, &plain).unwrap();
            }
        }
    }

    fn change_stream(&mut self) {
        let name = self.name();
        let expected = self.expected(&name);
        let is_open = self.model.streams.get(&name).is_some_and(|stream| !stream.is_deleted);
        if self.random.one_in(2) {
            let next = self.model.streams.get(&name).map_or(0, |stream| stream.next);
            let version = self.random.below(next + 2);
            let outcome = self.store.truncate_before(&name, Version(version));
            assert_eq!(outcome.is_ok(), is_open && version <= next, "{outcome:?}");
            if outcome.is_ok() {
                let stream = self.model.streams.get_mut(&name).unwrap();
                stream.first = stream.first.max(version);
            }
            return;
        }
        let buries = self.random.one_in(8);
        let outcome = match buries {
            true => self.store.bury_stream(&name, expected),
            false => self.store.delete_stream(&name, expected),
        };
        let last = self.model.streams.get(&name).and_then(Stream::last);
        let holds = match expected {
            Expected::Any => true,
            Expected::NoStream => last.is_none(),
            Expected::StreamExists => last.is_some(),
            Expected::Exact(version) => last == Some(version),
        };
        assert_eq!(outcome.is_ok(), is_open && holds, "{outcome:?}");
        if outcome.is_ok() {
            let stream = self.model.streams.get_mut(&name).unwrap();
            *stream = Stream { first: stream.next, next: stream.next, is_deleted: true, is_buried: buries };
        }
    }

    fn reopen(&mut self) {
        let path = self.path.clone();
        let db = self.store.database().clone();
        let elsewhere = tempfile::tempdir().unwrap();
        self.store = EventStore::create(elsewhere.path().join("other.ful")).unwrap();
        if self.random.one_in(2) {
            db.close().unwrap()
        } else {
            drop(db)
        }
        self.store = open(&path);
    }

    fn check(&mut self) {
        let snapshot = self.store.snapshot().unwrap();
        assert_eq!(snapshot.head().unwrap().0, self.model.log.len() as u64);
        let events = all(&snapshot);
        let expected: Vec<_> =
            (0..).zip(&self.model.log).filter_map(|(at, event)| Some((at, event.clone()?))).collect();
        let found: Vec<_> = events.iter().map(|event| (event.position.0, known(event))).collect();
        assert_eq!(found, expected);
        let mut backwards = snapshot.read_all_backwards(Position(u64::MAX)).unwrap();
        let mut backwards = backwards.take_recorded(&snapshot, usize::MAX).unwrap();
        backwards.reverse();
        assert_eq!(backwards, events);
        for (name, stream) in &self.model.streams {
            let info = snapshot.stream(name).unwrap().unwrap();
            assert_eq!((info.next.0, info.first.0), (stream.next, stream.first), "{name}");
            assert_eq!(info.state == StreamState::Open, !stream.is_deleted);
            if stream.is_deleted {
                assert!(matches!(snapshot.read_stream(name, Version(0)), Err(Error::StreamNotFound { .. })));
                continue;
            }
            let from = Version(self.random.below(stream.next + 1));
            let mut events = snapshot.read_stream(name, from).unwrap();
            let found: Vec<_> = events.take_recorded(&snapshot, usize::MAX).unwrap().iter().map(known).collect();
            let mut expected = self.model.of_stream(name);
            expected.retain(|event| event.version >= from.0);
            assert_eq!(found, expected, "{name} from {from}");
            let mut before = snapshot.read_stream_backwards(name, from).unwrap();
            let found: Vec<_> = before.take_recorded(&snapshot, usize::MAX).unwrap().iter().map(known).collect();
            let mut expected = self.model.of_stream(name);
            expected.retain(|event| event.version < from.0);
            expected.reverse();
            assert_eq!(found, expected, "{name} before {from}");
        }
    }
}

fn open(path: &std::path::Path) -> EventStore {
    let db = Database::options().create(true).delta_bytes(64 << 10).open(path).unwrap();
    EventStore::options().durability(Durability::Log).open_in(&db).unwrap()
}

fn run(seed: u64) {
    println!("EVENTS_SEED={seed}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let (store, random) = (open(&path), Random::new(seed));
    let mut run = Run { random, model: Model::default(), store, path, ids: 0 };
    for _ in 0..150 {
        match run.random.below(20) {
            0..=10 => run.append(),
            11..=13 => run.transact(),
            14..=15 => run.change_stream(),
            16 => run.reopen(),
            17 => run.store.database().checkpoint().unwrap(),
            18 => {
                run.store.apply_retention(&Retention::default()).unwrap();
                run.model.retain();
            }
            _ => run.check(),
        }
    }
    run.check();
}

#[test]
fn random_operations_have_the_results_of_the_model() {
    match std::env::var("EVENTS_SEED") {
        Ok(seed) => run(seed.parse().unwrap()),
        Err(_) => (1..=12).for_each(run),
    }
}
