//! One run: a store and its model, and which operation comes next.

use std::path::{Path, PathBuf};

use fulgurite::{Database, Durability};
use fulgurite_events::{EventStore, Expected, Timestamp, Version};
use fulgurite_testkit::drawn_seed;

use super::known::Known;
use super::state::Model;
use super::wanted::{KINDS, STREAMS, TAGS};
use crate::support::Random;

/// A store and its model.
pub struct Run {
    pub random: Random,
    pub model: Model,
    pub store: EventStore,
    path: PathBuf,
    ids: u64,
}

impl Run {
    fn begin(path: PathBuf, seed: u64) -> Self {
        Self { random: Random::new(seed), model: Model::default(), store: open(&path), path, ids: 0 }
    }

    /// Does a random operation.
    fn operate(&mut self) {
        match self.random.below(32) {
            0..=8 => self.append(),
            9..=11 => self.append_if(),
            12..=14 => self.transact(),
            15 => self.append_wide_ones(),
            16..=17 => self.change_stream(),
            18 => self.limit_stream(),
            19 => self.set_position(),
            20..=21 => self.run_view(),
            22..=23 => self.run_member(),
            24 => self.renew_view(),
            25 => self.reopen(),
            26 => self.store.database().checkpoint().unwrap(),
            27..=28 => self.retain(),
            29 => self.query(),
            30 => match self.random.below(3) {
                0 => self.query(),
                1 => self.put_state(),
                _ => self.find_time(),
            },
            _ => self.check(),
        }
    }

    pub fn name(&mut self) -> String {
        format!("stream {}", self.random.below(STREAMS))
    }

    pub fn events(&mut self, stream: &str) -> Vec<Known> {
        let count = if self.random.one_in(20) { 300 } else { 1 + self.random.below(4) };
        let mut events = Vec::new();
        for _ in 0..count {
            self.ids += 1;
            let id = self.random.one_in(2).then(|| u128::from(self.ids).to_le_bytes());
            let length = if self.random.one_in(30) { 20_000 } else { self.random.below(90) };
            let payload = vec![self.ids as u8; length as usize];
            let tags = (0..self.random.below(3)).map(|_| format!("t{}", self.random.below(TAGS))).collect();
            let kind = format!("kind {}", self.random.below(KINDS));
            events.push(Known { stream: stream.into(), version: 0, kind, id, payload, tags });
        }
        events
    }

    pub fn expected(&mut self, stream: &str) -> Expected {
        let next = self.model.streams.get(stream).map_or(0, |stream| stream.next);
        match self.random.below(6) {
            0 => Expected::NoStream,
            1 => Expected::StreamExists,
            2 => Expected::Exact(Version(self.random.below(next + 2))),
            3 => Expected::Exact(Version(next.saturating_sub(1))),
            _ => Expected::Any,
        }
    }

    /// The age of a random event, in microseconds.
    pub fn age_us(&mut self) -> u64 {
        let position = self.random.below(self.model.head().max(1)) as usize;
        let time = self.model.times.get(position);
        time.map_or(0, |time| Timestamp::now().0.saturating_sub(*time))
    }

    /// Opens the store again. Rebuilds its indexes before, now and then.
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
        if self.random.one_in(3) {
            EventStore::options().rebuild_indexes(&open_database(&path)).unwrap();
        }
        self.store = open(&path);
    }
}

fn open_database(path: &Path) -> Database {
    Database::options().create(true).delta_bytes(64 << 10).open(path).unwrap()
}

fn open(path: &Path) -> EventStore {
    let db = open_database(path);
    EventStore::options().durability(Durability::Log).open_in(&db).unwrap()
}

/// Prints how to repeat a run that panics.
struct Repetition {
    seed: u64,
    operations: u64,
}

impl Drop for Repetition {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, operations } = self;
            println!("operation {operations} of seed {seed} failed; repeat it, and no operation after it:");
            println!("EVENTS_OPERATIONS={operations} cargo xtask events model --seeds 1 --seed {seed}");
        }
    }
}

fn run(seed: u64) {
    println!("EVENTS_SEED={seed}");
    let operations = std::env::var("EVENTS_OPERATIONS").map_or(OPERATIONS, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::begin(directory.path().join("a.ful"), seed);
    let mut repetition = Repetition { seed, operations: 0 };
    for operation in 1..=operations {
        repetition.operations = operation;
        run.operate();
    }
    run.check();
}

#[test]
fn random_operations_have_the_results_of_the_model() {
    let number = |name: &str| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let seed = number("EVENTS_SEED");
    // A seed alone is to be repeated.
    let seeds = number("EVENTS_SEEDS").unwrap_or(if seed.is_some() { 1 } else { SEEDS });
    let first = seed.unwrap_or_else(drawn_seed);
    (first..first.saturating_add(seeds)).for_each(run);
}

/// Seeds of a run that says nothing else.
const SEEDS: u64 = 12;

/// Operations of a seed.
const OPERATIONS: u64 = 180;
