//! Changes of streams: truncation, deletion, limits.

use fulgurite_events::{Error, StreamMetadata, Version};

use super::run::Run;
use super::state::Stream;

impl Run {
    pub fn change_stream(&mut self) {
        let name = self.name();
        let expected = self.expected(&name);
        let stream = self.model.streams.get(&name).cloned();
        let (is_open, stream) = (self.is_open(&name), stream.unwrap_or_default());
        if self.random.one_in(2) {
            let version = self.random.below(stream.next + 2);
            let outcome = self.store.truncate_before(&name, Version(version));
            assert_eq!(outcome.is_ok(), is_open && version <= stream.next, "{outcome:?}");
            if outcome.is_ok() {
                let first = stream.first.max(version);
                self.model.streams.insert(name, Stream { first, ..stream });
            }
            return;
        }
        let buries = self.random.one_in(8);
        let outcome = match buries {
            true => self.store.bury_stream(&name, expected),
            false => self.store.delete_stream(&name, expected),
        };
        assert_eq!(outcome.is_ok(), is_open && stream.is_as(expected), "{outcome:?}");
        if outcome.is_ok() {
            let ended = Stream { first: stream.next, is_deleted: true, is_buried: buries, state: None, ..stream };
            self.model.streams.insert(name, ended);
        }
    }

    /// Stores a state of an aggregate. The newest one stays.
    pub fn put_state(&mut self) {
        let name = self.name();
        let stream = self.model.streams.get(&name).cloned().unwrap_or_default();
        let version = self.random.below(stream.next + 2);
        let state = vec![version as u8; self.random.below(50) as usize];
        let outcome = self.store.put_aggregate_state(&name, Version(version), 7, &state);
        assert_eq!(outcome.is_ok(), self.is_open(&name) && version < stream.next, "{outcome:?}");
        if outcome.is_ok() && stream.state.as_ref().is_none_or(|(newest, _)| version >= *newest) {
            self.model.streams.insert(name, Stream { state: Some((version, state)), ..stream });
        }
    }

    fn is_open(&self, name: &str) -> bool {
        self.model.streams.get(name).is_some_and(|stream| !stream.is_deleted)
    }

    /// Gives a stream limits of age and number, or removes them. Creates the stream if there is none.
    pub fn limit_stream(&mut self) {
        let name = self.name();
        let count_max = self.random.one_in(2).then(|| self.random.below(20));
        let age_us_max = match self.random.below(3) {
            0 => Some(self.age_us()),
            1 => Some(HOUR_US),
            _ => None,
        };
        let metadata = StreamMetadata { age_us_max, count_max, custom: b"kept".to_vec() };
        let outcome = self.store.set_stream_metadata(&name, metadata);
        if self.model.streams.get(&name).is_some_and(|stream| stream.is_buried) {
            assert!(matches!(outcome, Err(Error::Tombstone { .. })), "{outcome:?}");
            return;
        }
        outcome.unwrap();
        let stream = self.model.streams.entry(name).or_default();
        (stream.age_us_max, stream.count_max) = (age_us_max, count_max);
    }
}

/// Longer than a run.
const HOUR_US: u64 = 3_600_000_000;
