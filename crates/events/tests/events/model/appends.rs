//! Appends: with expected versions, on conditions, and several in a transaction.

use fulgurite_events::{Appended, Error, EventData, Expected, Position};

use super::known::Known;
use super::run::Run;
use super::state::Refused;
use super::wanted::{STREAMS, Unless, Wanted};
use crate::many_streams::blocks;

type Outcome = fulgurite_events::Result<Appended>;

/// One append of a transaction.
struct Step {
    name: String,
    expected: Expected,
    unless: Option<Unless>,
    events: Vec<Known>,
}

impl Run {
    pub fn append(&mut self) {
        let name = self.name();
        let (events, expected) = (self.events(&name), self.expected(&name));
        let store = self.store.clone();
        self.append_by(&name, expected, None, &events, |data| store.append(&name, expected, data));
    }

    pub fn append_if(&mut self) {
        let name = self.name();
        let (events, unless) = (self.events(&name), self.unless());
        let (store, condition) = (self.store.clone(), unless.to_condition());
        let append = |data: &[EventData<'_>]| store.append_if(&condition, &name, data);
        self.append_by(&name, Expected::Any, Some(&unless), &events, append);
    }

    /// Appends by a call, and once more if the store recognises the events by their ids.
    fn append_by(
        &mut self,
        name: &str,
        expected: Expected,
        unless: Option<&Unless>,
        events: &[Known],
        append: impl Fn(&[EventData<'_>]) -> Outcome,
    ) {
        let outcome = with_data(events, &append);
        compare(&outcome, &self.model.append(name, expected, unless, events));
        self.note_times();
        if let Ok(appended) = outcome
            && events.iter().all(|event| event.id.is_some())
        {
            let again = with_data(events, &append).unwrap();
            assert!(again.repeated && again.position == appended.position, "{again:?}");
        }
    }

    /// Appends to several streams, and gives up at a refusal, at the end, or not at all.
    pub fn transact(&mut self) {
        let steps: Vec<Step> = (0..1 + self.random.below(3)).map(|_| self.step()).collect();
        let (gives_up, goes_on) = (self.random.one_in(4), self.random.one_in(2));
        let mut outcomes: Vec<Outcome> = Vec::new();
        let outcome = self.store.transact(|t| {
            outcomes.clear();
            for step in &steps {
                let appended = with_data(&step.events, |data| match &step.unless {
                    Some(unless) => t.append_if(&unless.to_condition(), &step.name, step.expected, data),
                    None => t.append(&step.name, step.expected, data),
                });
                let is_refused = appended.is_err();
                outcomes.push(appended);
                if is_refused && !goes_on {
                    return Err(Error::program("refused"));
                }
            }
            if gives_up { Err(Error::program("given up")) } else { Ok(()) }
        });
        let before = self.model.before();
        let (mut tried, mut is_committed) = (0, !gives_up);
        for step in &steps {
            let expected = self.model.append(&step.name, step.expected, step.unless.as_ref(), &step.events);
            compare(&outcomes[tried], &expected);
            tried += 1;
            if expected.is_err() && !goes_on {
                is_committed = false;
                break;
            }
        }
        assert_eq!((outcomes.len(), outcome.is_ok()), (tried, is_committed), "{outcome:?}");
        if !is_committed {
            self.model.return_to(before);
        }
        self.note_times();
    }

    /// Wide transactions: one, or so many that the blocks of the index are folded on the way.
    pub fn append_wide_ones(&mut self) {
        let times = if self.random.one_in(8) { BLOCKS_MAX + 6 } else { 1 };
        (0..times).for_each(|_| self.append_wide());
        let blocks = blocks(&self.store);
        assert!((1..=BLOCKS_MAX).contains(&blocks), "{blocks} blocks");
    }

    /// Appends to so many streams in one transaction that the index of streams gets a block.
    fn append_wide(&mut self) {
        let mut steps = Vec::new();
        for number in 0..WIDE_STREAMS {
            let name = format!("{} {number}", if number < STREAMS { "stream" } else { "wide" });
            if self.model.streams.get(&name).is_some_and(|stream| stream.is_buried) {
                continue;
            }
            let mut events = self.events(&name);
            events.truncate(1);
            steps.push((name, events));
        }
        let append_all = self.store.transact(|t| {
            let append =
                |(name, events): &(String, Vec<Known>)| with_data(events, |data| t.append(name, Expected::Any, data));
            Ok(steps.iter().map(append).collect::<Vec<Outcome>>())
        });
        for ((name, events), outcome) in steps.iter().zip(append_all.unwrap()) {
            compare(&outcome, &self.model.append(name, Expected::Any, None, events));
        }
        self.note_times();
    }

    fn step(&mut self) -> Step {
        let name = self.name();
        let unless = if self.random.one_in(3) { Some(self.unless()) } else { None };
        // Most steps succeed, so that transactions have several.
        let expected = if self.random.one_in(3) { self.expected(&name) } else { Expected::Any };
        let events = self.events(&name);
        Step { name, expected, unless, events }
    }

    /// A condition. About half of them hold, because the caller has read everything.
    fn unless(&mut self) -> Unless {
        let head = self.model.head();
        let after = match self.random.below(4) {
            0 => None,
            1 => Some(self.random.below(head + 2)),
            _ => head.checked_sub(1),
        };
        Unless { wanted: Wanted::random(&mut self.random), after }
    }

    /// Notes when the newest events were appended.
    fn note_times(&mut self) {
        let snapshot = self.store.snapshot().unwrap();
        let mut events = snapshot.read_all(Position(self.model.times.len() as u64)).unwrap();
        while let Some(event) = events.next().unwrap() {
            assert_eq!(event.position.0, self.model.times.len() as u64);
            let before = self.model.times.last().copied().unwrap_or_default();
            assert!(event.time.0 >= before, "the time of {} is before that of an earlier event", event.position);
            self.model.times.push(event.time.0);
        }
        assert_eq!(self.model.times.len(), self.model.log.len());
    }
}

/// Calls `append` with the events as the store takes them.
fn with_data<T>(events: &[Known], append: impl FnOnce(&[EventData<'_>]) -> T) -> T {
    let tags: Vec<Vec<&str>> = events.iter().map(|event| event.tags.iter().map(String::as_str).collect()).collect();
    let data: Vec<_> = events
        .iter()
        .zip(&tags)
        .map(|(event, tags)| EventData { id: event.id, ..EventData::new(&event.kind, &event.payload).tags(tags) })
        .collect();
    append(&data)
}

fn compare(outcome: &Outcome, expected: &Result<(u64, u64), Refused>) {
    match (outcome, expected) {
        (Ok(appended), Ok((position, version))) => {
            assert_eq!((appended.position.0, appended.version.0, appended.repeated), (*position, *version, false));
        }
        (Err(Error::ConditionFailed { position }), Err(Refused::Condition { position: known })) => {
            assert_eq!(position.0, *known);
        }
        (Err(Error::Tombstone { .. }), Err(Refused::Tombstone))
        | (Err(Error::WrongVersion { .. }), Err(Refused::WrongVersion)) => {}
        _ => panic!("the model says {expected:?}, the store {outcome:?}"),
    }
}

/// Blocks before they are folded.
const BLOCKS_MAX: usize = 64;
/// Streams of a wide transaction.
const WIDE_STREAMS: u64 = 24;
