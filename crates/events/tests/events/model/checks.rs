//! What is read, beside what the model has.

use fulgurite_events::{Error, Events, Position, Snapshot, StreamState, Timestamp, Version};

use super::known::Known;
use super::run::Run;
use super::wanted::Wanted;
use crate::support::all;

impl Run {
    /// Reads a query from a position on, and backwards from there.
    pub fn query(&mut self) {
        let wanted = Wanted::random(&mut self.random);
        let at = self.random.below(self.model.head() + 2);
        let (query, snapshot) = (wanted.to_query(), self.store.snapshot().unwrap());
        let found = places(&snapshot, snapshot.read_query(&query, Position(at)).unwrap());
        assert_eq!(found, self.model.matching(&wanted, at, u64::MAX), "{wanted:?} from {at}");
        let mut found = places(&snapshot, snapshot.read_query_backwards(&query, Position(at)).unwrap());
        found.reverse();
        assert_eq!(found, self.model.matching(&wanted, 0, at), "{wanted:?} before {at}");
    }

    /// Finds the position of a time: that of an event, or a microsecond beside it.
    pub fn find_time(&mut self) {
        let newest = self.model.times.last().copied().unwrap_or_default();
        let at = self.random.below(self.model.head() + 1) as usize;
        let time = self.model.times.get(at).copied().unwrap_or(newest) + self.random.below(2);
        // All events of a chunk have one time.
        let chunks = self.chunks();
        let found = chunks.iter().find(|(first, _)| self.model.times[*first as usize] >= time);
        let expected = found.map_or(self.model.head(), |(first, _)| *first);
        assert_eq!(self.store.snapshot().unwrap().position_at(Timestamp(time)).unwrap().0, expected, "at {time}");
    }

    /// Reads everything.
    pub fn check(&mut self) {
        let snapshot = self.store.snapshot().unwrap();
        assert_eq!(snapshot.head().unwrap().0, self.model.head());
        assert_eq!(snapshot.start().unwrap().0, self.model.start);
        let events = all(&snapshot);
        let found: Vec<_> = events.iter().map(|event| (event.position.0, Known::of(event))).collect();
        let expected: Vec<_> = self.model.events().map(|(position, event)| (position, event.clone())).collect();
        assert_eq!(found, expected);
        for event in &events {
            assert_eq!(event.time.0, self.model.times[event.position.0 as usize], "position {}", event.position);
        }
        let mut backwards = snapshot.read_all_backwards(Position(u64::MAX)).unwrap();
        let mut backwards = backwards.take_recorded(&snapshot, usize::MAX).unwrap();
        backwards.reverse();
        assert_eq!(backwards, events);
        let report = snapshot.check().unwrap();
        assert!(report.is_sound(), "{:?}", report.defects);
        let counted = (report.events, report.streams);
        assert_eq!(counted, (events.len() as u64, self.model.streams.len() as u64));
        self.check_streams(&snapshot);
        self.check_consumers(&snapshot);
    }

    fn check_streams(&mut self, snapshot: &Snapshot) {
        for (name, stream) in &self.model.streams {
            let info = snapshot.stream(name).unwrap().unwrap();
            assert_eq!((info.next.0, info.first.0), (stream.next, stream.first), "{name}");
            let limits = (info.metadata.age_us_max, info.metadata.count_max);
            assert_eq!(limits, (stream.age_us_max, stream.count_max), "{name}");
            let at = self.random.below(stream.next + 1);
            let state = snapshot.aggregate_state(name, Version(at)).unwrap();
            let state = state.map(|state| (state.version.0, state.schema, state.state));
            let expected = stream.state.clone().filter(|(version, _)| *version <= at);
            assert_eq!(state, expected.map(|(version, state)| (version, 7, state)), "the state of {name} at {at}");
            assert_eq!(info.state == StreamState::Open, !stream.is_deleted);
            assert_eq!(info.state == StreamState::Tombstone, stream.is_buried);
            if stream.is_deleted {
                assert!(matches!(snapshot.read_stream(name, Version(0)), Err(Error::StreamNotFound { .. })));
                continue;
            }
            let from = Version(self.random.below(stream.next + 1));
            let (mut expected_before, expected): (Vec<_>, Vec<_>) =
                self.model.of_stream(name).into_iter().partition(|event| event.version < from.0);
            let found = known(snapshot, snapshot.read_stream(name, from).unwrap());
            assert_eq!(found, expected, "{name} from {from}");
            let found = known(snapshot, snapshot.read_stream_backwards(name, from).unwrap());
            expected_before.reverse();
            assert_eq!(found, expected_before, "{name} before {from}");
        }
    }
}

fn places(snapshot: &Snapshot, mut events: Events<'_>) -> Vec<(u64, Known)> {
    let events = events.take_recorded(snapshot, usize::MAX).unwrap();
    events.iter().map(|event| (event.position.0, Known::of(event))).collect()
}

fn known(snapshot: &Snapshot, events: Events<'_>) -> Vec<Known> {
    places(snapshot, events).into_iter().map(|(_, event)| event).collect()
}
