//! Reads and puts where the data is three times the memory that the process may have.
//!
//! One process loads the data and sees to it that nothing of it stays in memory; another, in a control group with a
//! bound, gets and puts, and holds nothing itself that grows with the data; a third, without a bound, compares
//! everything.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fulgurite_rivals::{Snapshot, WritingStore};

use crate::data::random::Random;
use crate::data::shape::Shape;
use crate::data::values::{Ends, Values};
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::measure::clock::{BATCH, Charge, Latencies, Sample, Stopwatch};
use crate::measure::page_cache::evict_below;
use crate::measure::reads::{judge, mismatch};
use crate::suites::sustained::content::{Content, VALUE_BYTES};
use crate::suites::sustained::perform::control_group;
use crate::suites::sustained::perform::ingest::settings;
use crate::suites::sustained::task::{Finding, Task};
use crate::suites::sustained::workload::{Measure, Pattern};

/// Data by memory.
const DATA_BY_MEMORY: u64 = 3;

/// Of the memory, engines with caches of their own may take so much for them: the rest is for their files in the
/// system's.
const CACHE_SHARE: u64 = 3;

/// In the mixture every so many steps one puts.
const PUT_EVERY: usize = 20;

const KEY_BYTES: usize = 32;

/// Memory for a process that reads a base of so many records.
pub fn limit_bytes(base: usize) -> u64 {
    (base * (KEY_BYTES + VALUE_BYTES)) as u64 / DATA_BY_MEMORY
}

/// What caches may hold where memory has that bound.
pub fn cache_bytes(limit_bytes: u64) -> u64 {
    limit_bytes / CACHE_SHARE
}

fn content(task: &Task) -> Content {
    Content::new(Pattern::Uniform, task.size.base, 0, task.seed)
}

/// Loads the data; nothing of its files stays in memory.
pub fn load<E: SustainedEngine>(task: &Task) -> Result<Vec<Finding>> {
    let content = content(task);
    let store = E::open(&task.directory, settings(task.cache_bytes))?;
    store.load_sorted(content.base_keys().records(content.values()))?;
    E::settle(&store)?;
    store.close()?;
    // A page that stays in memory would be there for a process that may not have it.
    evict_below(&task.directory)?;
    Ok(Vec::new())
}

/// Gets, then gets and puts, for a span each, after as long to fill the caches.
pub fn measure<E: SustainedEngine>(task: &Task) -> Result<Vec<Finding>> {
    if let Some(group) = &task.group {
        control_group::enter(group)?;
    }
    let store = E::open(&task.directory, settings(task.cache_bytes))?;
    let span = Duration::from_millis(task.size.span_ms as u64);
    let mut steps = Steps::new(task.size.base, task.seed);
    gets(&store, &mut Steps::new(task.size.base, !task.seed), span)?;
    let get = gets(&store, &mut Steps::new(task.size.base, !task.seed ^ 1), span)?;
    let mix = mixture(&store, &mut steps, span)?;
    store.close()?;
    evict_below(&task.directory)?;
    let made = Finding::Steps(mix.operations);
    Ok(vec![Finding::Time(Measure::BoundedGet, get), Finding::Time(Measure::BoundedMix, mix), made])
}

/// Makes the same steps in mind, and compares everything with what comes of them.
pub fn verify<E: SustainedEngine>(task: &Task) -> Result<Vec<Finding>> {
    let store = E::open(&task.directory, settings(task.cache_bytes))?;
    compare(&store, task)?;
    store.close()?;
    Ok(Vec::new())
}

fn compare<S: WritingStore>(store: &S, task: &Task) -> Result<()> {
    let mut steps = Steps::new(task.size.base, task.seed);
    for _ in 0..task.steps {
        steps.next();
    }
    let version_of = |id: u32| ((id as usize) < task.size.base).then(|| steps.version(id));
    content(task).verify_where(store, task.workload.name(), version_of)
}

/// What the mixture does, step by step: the same for all engines, for as long as each lasts.
struct Steps {
    random: Random,
    base: usize,
    puts: HashMap<u32, u32>,
    made: u32,
}

enum Step {
    Get { id: u32, version: u32 },
    Put { id: u32, version: u32 },
}

impl Steps {
    fn new(base: usize, seed: u64) -> Self {
        Self { random: Random::new(seed, 4), base, puts: HashMap::new(), made: 0 }
    }

    fn version(&self, id: u32) -> u32 {
        self.puts.get(&id).copied().unwrap_or(0)
    }

    fn next_id(&mut self) -> u32 {
        self.random.below(self.base) as u32
    }

    fn next(&mut self) -> Step {
        let is_put = self.random.below(PUT_EVERY) == 0;
        let id = self.next_id();
        if is_put {
            self.made += 1;
            self.puts.insert(id, self.made);
            return Step::Put { id, version: self.made };
        }
        Step::Get { id, version: self.version(id) }
    }
}

/// Keys and values made on the way: a few nanoseconds beside a read of the disk.
struct Records {
    values: Values,
    key: Vec<u8>,
}

impl Records {
    fn new() -> Self {
        Self { values: Values::new(VALUE_BYTES), key: Vec::with_capacity(KEY_BYTES) }
    }

    fn record(&mut self, id: u32, version: u32) -> (&[u8], &[u8]) {
        self.key.clear();
        Shape::Hashed.write_key(id, KEY_BYTES, &mut self.key);
        (&self.key, self.values.get_version(id, version))
    }
}

fn wrongness(value: Option<&[u8]>, expected: &[u8]) -> u64 {
    let expected = Ends::of(expected).expect("values are at least LENGTH_MIN long");
    value.map_or(1, |value| mismatch(value, expected, VALUE_BYTES))
}

fn gets<S: WritingStore>(store: &S, steps: &mut Steps, span: Duration) -> Result<Sample> {
    let mut records = Records::new();
    let mut wrong = 0;
    let sample = for_a_while(span, || {
        let snapshot = store.snapshot()?;
        for _ in 0..BATCH {
            let (key, expected) = records.record(steps.next_id(), 0);
            wrong |= snapshot.get(key, |value| wrongness(value, expected))?;
        }
        Ok(())
    })?;
    judge("bounded_get", wrong)?;
    Ok(sample)
}

/// Each step is a transaction of its own.
fn mixture<S: WritingStore>(store: &S, steps: &mut Steps, span: Duration) -> Result<Sample> {
    let mut records = Records::new();
    let mut wrong = 0;
    let sample = for_a_while(span, || {
        for _ in 0..BATCH {
            match steps.next() {
                Step::Put { id, version } => {
                    let (key, value) = records.record(id, version);
                    store.put(key, value)?;
                }
                Step::Get { id, version } => {
                    let (key, expected) = records.record(id, version);
                    wrong |= store.get(key, |value| wrongness(value, expected))?;
                }
            }
        }
        Ok(())
    })?;
    judge("bounded_mix", wrong)?;
    Ok(sample)
}

/// Repeats a batch until the span is over.
fn for_a_while(span: Duration, mut batch: impl FnMut() -> Result<()>) -> Result<Sample> {
    let mut latencies = Latencies::with_capacity(0);
    let mut operations = 0;
    let started = Instant::now();
    let watch = Stopwatch::start(Charge::Process);
    while started.elapsed() < span {
        batch()?;
        operations += BATCH as u64;
        latencies.lap(BATCH as u64);
    }
    Ok(watch.stop(operations, latencies))
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::WritingEngine;

    use super::*;
    use crate::engines::planted::writing::{INVENTED_RECORD, LOST_PUT, NO_FAULT, Planted, WRONG_GET};
    use crate::suites::sustained::task::tests::small;
    use crate::suites::sustained::workload::Workload;

    /// What the three processes do, with one store, without a bound. Few records, so that the mixture meets each.
    fn done_by<E: SustainedEngine>() -> Result<()> {
        let directory = tempfile::tempdir().unwrap();
        let mut task = small(Workload::Bounded, directory.path());
        let store = <E as WritingEngine>::open(&task.directory, settings(task.cache_bytes))?;
        let content = content(&task);
        store.load_sorted(content.base_keys().records(content.values()))?;
        gets(&store, &mut Steps::new(task.size.base, 1), Duration::from_millis(5))?;
        let mut steps = Steps::new(task.size.base, task.seed);
        // Until there are enough puts for a fault, and gets of what they put, however busy the machine is.
        while steps.made < 500 {
            task.steps += mixture(&store, &mut steps, Duration::from_millis(5))?.operations;
        }
        compare(&store, &task)
    }

    #[test]
    fn a_right_engine_passes_and_every_planted_fault_is_found() {
        done_by::<Planted<NO_FAULT>>().unwrap();
        done_by::<crate::engines::fulgurite::Fulgurite>().unwrap();
        assert!(done_by::<Planted<LOST_PUT>>().is_err());
        assert!(done_by::<Planted<WRONG_GET>>().is_err());
        assert!(done_by::<Planted<INVENTED_RECORD>>().is_err());
    }

    #[test]
    fn loading_measuring_and_comparing_follow_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let mut task = small(Workload::Bounded, directory.path());
        load::<fulgurite_rivals::Lmdb>(&task).unwrap();
        let findings = measure::<fulgurite_rivals::Lmdb>(&task).unwrap();
        let [Finding::Time(..), Finding::Time(..), Finding::Steps(steps)] = findings[..] else {
            panic!("{findings:?}")
        };
        task.steps = steps;
        verify::<fulgurite_rivals::Lmdb>(&task).unwrap();
        task.steps += 1000;
        assert!(verify::<fulgurite_rivals::Lmdb>(&task).is_err());
    }
}
