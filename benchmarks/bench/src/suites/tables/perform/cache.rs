//! A store in the place of a cache: few records are read often, and the engine may cache a tenth of all records.
//!
//! No engine reports whether a get came from its cache. A model of a cache therefore runs beside each engine: it
//! holds a tenth of the records and evicts the least recently used. Gets are divided by whether the model holds their
//! record.

use fulgurite_rivals::WritingStore;

use crate::data::random::Random;
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::harness::row::Figures;
use crate::measure::clock::{Charge, Stopwatch};
use crate::suites::tables::content::{Content, fill};
use crate::suites::tables::definition::{CACHED_PART, Grouping, Mixture, Order, Steps};
use crate::suites::tables::meter::{Latencies, timer_ns};
use crate::suites::tables::perform::figures::{finish, note_cost};
use crate::suites::tables::perform::steps::{Part, warm_up};
use crate::suites::tables::script::{Step, draw};
use crate::suites::tables::task::Task;

/// Nine gets and a put of stored keys, by Zipf's law.
const MIXTURE: Mixture = Mixture { updates: 10, ..Mixture::GETS };

/// As many operations as records.
pub fn run<E: SustainedEngine>(task: &Task, records: usize) -> Result<Figures> {
    let definition = &task.definition;
    let mut content = Content::loaded(definition.shape, definition.lengths, records);
    let store = E::open(&task.directory, task.settings())?;
    fill(&store, &content, records)?;
    E::settle(&store)?;
    let steps = Steps {
        loaded: records,
        count: records,
        threads: 1,
        mixture: MIXTURE,
        order: Order::Zipf,
        grouping: Grouping::Each,
    };
    let script = draw(&mut content, &steps, &mut Random::new(task.seed, 0)).remove(0);
    let classes = classify(&script, records, records.div_ceil(CACHED_PART));
    let part = Part::new(&content, script, Grouping::Each);
    warm_up(&store, &content, records)?;
    let mut figures = Figures::default();
    let watch = Stopwatch::start(Charge::Process);
    let latencies = play(&store, &part, &classes)?;
    note_cost(&mut figures, &watch.pause(records as u64));
    let gets = |class| classes.iter().filter(|&&known| known == class).count() as f64;
    let (hits, misses) = (gets(Class::Hit), gets(Class::Miss));
    figures.set("% of gets of what a cache of a tenth has", 100.0 * hits / (hits + misses));
    for (latencies, what) in latencies.iter().zip(["hits", "misses", "puts"]) {
        figures.set(&format!("µs p99 of {what}"), latencies.percentile_ns(0.99) / 1e3);
    }
    Latencies::joined(latencies).note(&mut figures);
    figures.set("timer_ns", timer_ns());
    finish(store, &content, task, figures)
}

/// What an operation is to the imagined cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// A get of what it has.
    Hit,
    /// A get of what it has not.
    Miss,
    /// A put.
    Put,
}

/// Does all steps, and takes the latencies of each class by itself.
fn play<S: WritingStore>(store: &S, part: &Part<'_>, classes: &[Class]) -> Result<[Latencies; 3]> {
    let mut latencies = [Latencies::start(), Latencies::start(), Latencies::start()];
    for (index, &class) in classes.iter().enumerate() {
        let latencies = &mut latencies[class as usize];
        latencies.restart();
        part.step(store, index)?;
        latencies.lap();
    }
    Ok(latencies)
}

/// What each step is to a cache of so many records, which is empty before.
fn classify(script: &[Step], records: usize, capacity: usize) -> Vec<Class> {
    let mut cache = Recent::new(records, capacity);
    let one = |step: &Step| {
        let was_there = cache.touch(step.id());
        match step {
            Step::Put(..) => Class::Put,
            _ if was_there => Class::Hit,
            _ => Class::Miss,
        }
    };
    script.iter().map(one).collect()
}

/// The records that were used last, in a ring from the newest to the oldest that begins and ends at the place behind
/// all records.
struct Recent {
    newer: Vec<u32>,
    older: Vec<u32>,
    has: Vec<bool>,
    count: usize,
    capacity: usize,
}

impl Recent {
    fn new(records: usize, capacity: usize) -> Self {
        assert!(capacity > 0, "what was used last is there");
        let end = records as u32;
        Self {
            newer: vec![end; records + 1],
            older: vec![end; records + 1],
            has: vec![false; records],
            count: 0,
            capacity,
        }
    }

    /// Uses a record, and says whether it was there.
    fn touch(&mut self, id: u32) -> bool {
        let was_there = self.has[id as usize];
        if was_there {
            self.unlink(id);
        } else if self.count == self.capacity {
            self.unlink(self.newer[self.end()]);
        }
        let newest = self.older[self.end()];
        let end = self.end() as u32;
        (self.newer[id as usize], self.older[id as usize]) = (end, newest);
        self.newer[newest as usize] = id;
        self.older[end as usize] = id;
        self.has[id as usize] = true;
        self.count += 1;
        was_there
    }

    fn end(&self) -> usize {
        self.has.len()
    }

    fn unlink(&mut self, id: u32) {
        let (newer, older) = (self.newer[id as usize], self.older[id as usize]);
        self.older[newer as usize] = older;
        self.newer[older as usize] = newer;
        self.has[id as usize] = false;
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = Recent::new(5, 3);
        let touched: Vec<bool> = [0, 1, 2, 0, 3, 1, 0, 3, 4, 1, 0].map(|id| cache.touch(id)).to_vec();
        let expected = [false, false, false, true, false, false, true, true, false, false, false];
        assert_eq!(touched, expected);
        let mut one = Recent::new(2, 1);
        assert_eq!([0, 0, 1, 1, 0].map(|id| one.touch(id)), [false, true, false, true, false]);
    }

    #[test]
    fn gets_are_told_apart_by_what_the_cache_has() {
        let script = [Step::Get(0, 1), Step::Get(0, 1), Step::Put(1, 2), Step::Get(1, 2), Step::Get(0, 1)];
        assert_eq!(classify(&script, 2, 1), [Class::Miss, Class::Hit, Class::Put, Class::Hit, Class::Miss]);
        let mut records = Content::loaded(
            crate::data::shape::Shape::Hashed,
            crate::suites::tables::lengths::Lengths::Fixed(8),
            10_000,
        );
        let steps = Steps {
            loaded: 10_000,
            count: 50_000,
            threads: 1,
            mixture: MIXTURE,
            order: Order::Zipf,
            grouping: Grouping::Each,
        };
        let script = draw(&mut records, &steps, &mut Random::new(1, 1)).remove(0);
        let classes = classify(&script, 10_000, 1000);
        let share = |class| classes.iter().filter(|&&known| known == class).count() as f64 / 50_000.0;
        assert!((share(Class::Put) - 0.1).abs() < 0.01);
        assert!((0.5..0.8).contains(&share(Class::Hit)), "{}", share(Class::Hit));
    }
}
