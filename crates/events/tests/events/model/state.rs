//! The model: what a store must contain, in plain collections.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_events::{Expected, Retention, Version};

use super::known::Known;
use super::wanted::{Unless, Wanted};

/// What a stream is.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub first: u64,
    pub next: u64,
    pub is_deleted: bool,
    pub is_buried: bool,
    pub age_us_max: Option<u64>,
    pub count_max: Option<u64>,
    /// The version and the bytes of the stored state of the aggregate.
    pub state: Option<(u64, Vec<u8>)>,
}

/// Why an append must be refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    Condition { position: u64 },
    Tombstone,
    WrongVersion,
}

/// What a view has of each stream: events, the sum of their positions, and bytes of payloads.
pub type Totals = BTreeMap<String, [u64; 3]>;

/// What a store must contain.
#[derive(Debug, Default)]
pub struct Model {
    /// By position. None: removed.
    pub log: Vec<Option<Known>>,
    /// When the events were appended, by position. Those of removed events stay.
    pub times: Vec<u64>,
    /// The first position that the limits of the log have kept.
    pub start: u64,
    pub streams: BTreeMap<String, Stream>,
    /// Positions of consumers, those of views included.
    pub consumers: BTreeMap<String, u64>,
    pub views: BTreeMap<&'static str, Totals>,
    /// First positions of chunks, also of those that retention has removed.
    pub chunks: BTreeSet<u64>,
}

/// What a transaction that is not committed returns to.
pub struct Before {
    events: usize,
    streams: BTreeMap<String, Stream>,
}

impl Stream {
    fn last(&self) -> Option<Version> {
        (!self.is_deleted && self.next > 0).then(|| Version(self.next - 1))
    }

    pub fn is_as(&self, expected: Expected) -> bool {
        match expected {
            Expected::Any => true,
            Expected::NoStream => self.last().is_none(),
            Expected::StreamExists => self.last().is_some(),
            Expected::Exact(version) => self.last() == Some(version),
        }
    }

    /// Whether retention removes an event of the stream because of the stream, if it is `now`.
    fn drops(&self, version: u64, time: u64, now: u64) -> bool {
        let by_count = self.count_max.map_or(0, |most| self.next.saturating_sub(most));
        let since = self.age_us_max.map_or(0, |age| now.saturating_sub(age));
        version < self.first.max(by_count) || time < since
    }
}

impl Model {
    pub fn head(&self) -> u64 {
        self.log.len() as u64
    }

    /// Position and version of the first event.
    pub fn append(
        &mut self,
        name: &str,
        expected: Expected,
        unless: Option<&Unless>,
        events: &[Known],
    ) -> Result<(u64, u64), Refused> {
        if let Some(position) = unless.and_then(|unless| self.first_match(unless)) {
            return Err(Refused::Condition { position });
        }
        let stream = self.streams.get(name).cloned().unwrap_or_default();
        if stream.is_buried {
            return Err(Refused::Tombstone);
        }
        if !stream.is_as(expected) {
            return Err(Refused::WrongVersion);
        }
        let at = (self.head(), stream.next);
        for (event, version) in events.iter().zip(stream.next..) {
            self.log.push(Some(Known { version, ..event.clone() }));
        }
        let next = stream.next + events.len() as u64;
        self.streams.insert(name.into(), Stream { next, is_deleted: false, ..stream });
        Ok(at)
    }

    fn first_match(&self, unless: &Unless) -> Option<u64> {
        let from = unless.after.map_or(0, |after| after + 1);
        let mut events = self.events();
        let first = events.find(|(position, event)| *position >= from && unless.wanted.matches(event));
        first.map(|(position, _)| position)
    }

    /// The events that a query matches, at positions from `from` on and before `to`.
    pub fn matching(&self, wanted: &Wanted, from: u64, to: u64) -> Vec<(u64, Known)> {
        let events = self.events().filter(|(position, event)| (from..to).contains(position) && wanted.matches(event));
        events.map(|(position, event)| (position, event.clone())).collect()
    }

    /// All events that are not removed.
    pub fn events(&self) -> impl Iterator<Item = (u64, &Known)> {
        (0..).zip(&self.log).filter_map(|(position, event)| Some((position, event.as_ref()?)))
    }

    pub fn of_stream(&self, name: &str) -> Vec<Known> {
        let first = self.streams[name].first;
        let of_stream = |event: &&Known| event.stream == name && event.version >= first;
        self.log.iter().flatten().filter(of_stream).cloned().collect()
    }

    pub fn before(&self) -> Before {
        Before { events: self.log.len(), streams: self.streams.clone() }
    }

    pub fn return_to(&mut self, before: Before) {
        self.log.truncate(before.events);
        self.streams = before.streams;
    }

    /// The first position that retention keeps of a log with these chunks, each with its first position and its bytes,
    /// if it is `now`.
    pub fn kept_from(&self, chunks: &[(u64, u64)], retention: &Retention, now: u64) -> u64 {
        let mut wanted = 0;
        if let Some(age) = retention.age_max {
            let since = now.saturating_sub(age.as_micros() as u64);
            let young = chunks.iter().find(|(first, _)| self.times[*first as usize] >= since);
            wanted = young.map_or(self.head(), |(first, _)| *first);
        }
        if let Some(count) = retention.count_max {
            wanted = wanted.max(self.head().saturating_sub(count));
        }
        if let Some(most) = retention.bytes_max {
            let mut bytes: u64 = 0;
            // The first chunk that does not fit is too much, and so is everything before it.
            let too_much = chunks.iter().rev().find(|(_, length)| {
                bytes += *length;
                bytes > most
            });
            wanted = wanted.max(too_much.map_or(0, |(first, _)| self.end_of_chunk(*first)));
        }
        // Whole chunks are removed, and never the newest one.
        let begun = chunks.iter().rev().find(|(first, _)| *first <= wanted).map_or(wanted, |(first, _)| *first);
        let newest = chunks.last().map_or(0, |(first, _)| *first);
        begun.min(newest).max(self.start)
    }

    fn end_of_chunk(&self, first: u64) -> u64 {
        self.chunks.range(first + 1..).next().copied().unwrap_or(self.head())
    }

    /// Removes what retention removes. The clock was between `begun` and `ended`: of an event whose age is a limit just
    /// then, the store says whether it is there.
    pub fn remove(&mut self, begun: u64, ended: u64, is_there: impl Fn(u64) -> bool) {
        for position in 0..self.log.len() {
            let Some(event) = &self.log[position] else { continue };
            let (stream, time) = (&self.streams[&event.stream], self.times[position]);
            let is_below = (position as u64) < self.start;
            let [early, late] = [begun, ended].map(|now| is_below || stream.drops(event.version, time, now));
            let is_removed = if early == late { early } else { !is_there(position as u64) };
            if is_removed {
                self.log[position] = None;
            }
        }
    }

    /// Folds the events of some streams into a view, from a position on. Returns how many.
    pub fn fold(&mut self, view: &'static str, from: u64, is_folded: impl Fn(&str) -> bool) -> u64 {
        let (totals, mut events) = (self.views.entry(view).or_default(), 0);
        for (position, event) in (from..).zip(&self.log[from as usize..]) {
            let Some(event) = event.as_ref().filter(|event| is_folded(&event.stream)) else { continue };
            let total = totals.entry(event.stream.clone()).or_default();
            *total = [total[0] + 1, total[1] + position, total[2] + event.payload.len() as u64];
            events += 1;
        }
        events
    }
}
