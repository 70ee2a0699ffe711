//! Load that goes on: operations begin when they are due, at four fifths of the rate that the engine reaches without
//! a pause.
//!
//! The loop is open: an operation is late if the one before it was slow, and that is part of its latency, which
//! counts from when it was due. So nothing is omitted because the harness had to wait (G. Tene's "coordinated
//! omission").

use std::time::{Duration, Instant};

use fulgurite_rivals::WritingStore;

use crate::data::random::Random;
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::harness::row::Figures;
use crate::measure::clock::{Charge, Stopwatch};
use crate::suites::tables::content::{Content, fill};
use crate::suites::tables::definition::Steps;
use crate::suites::tables::meter::{Latencies, memory_bytes, timer_ns};
use crate::suites::tables::perform::figures::{finish, note_cost};
use crate::suites::tables::perform::steps::{Part, count, side_by_side, warm_up};
use crate::suites::tables::script::draw;
use crate::suites::tables::task::Task;

/// Of the rate without a pause.
const LOAD: f64 = 0.8;

/// The operations are divided into so many parts; the rate without a pause is that of as many operations as one part
/// has.
const PARTS: usize = 10;

/// The operations, at the rate that a part of them has found.
pub fn run<E: SustainedEngine>(task: &Task, steps: &Steps) -> Result<Figures> {
    let definition = &task.definition;
    let mut content = Content::loaded(definition.shape, definition.lengths, steps.loaded);
    let store = E::open(&task.directory, task.settings())?;
    fill(&store, &content, steps.loaded)?;
    E::settle(&store)?;
    warm_up(&store, &content, steps.loaded)?;
    let mut random = Random::new(task.seed, 0);
    let first = Steps { count: steps.count / PARTS, ..*steps };
    let peak = {
        let scripts = draw(&mut content, &first, &mut random);
        let parts = Part::all(&content, scripts, steps.grouping);
        let (_, sample) = side_by_side(&parts, |part| part.play(&store, || {}))?;
        count(&parts, sample).operations_per_second()
    };
    let script = draw(&mut content, steps, &mut random).remove(0);
    let part = Part::new(&content, script, steps.grouping);
    let mut figures = Figures::default();
    figures.set("k ops/s without a pause", peak / 1e3);
    let watch = Stopwatch::start(Charge::Process);
    let parts = play(&store, &part, Duration::from_secs_f64(1.0 / (LOAD * peak)))?;
    note_cost(&mut figures, &watch.pause(part.operations()));
    for (part, which) in [(parts.first(), "first"), (parts.last(), "last")] {
        if let Some((latencies, private)) = part {
            figures.set(&format!("µs p99 of the {which} tenth"), latencies.percentile_ns(0.99) / 1e3);
            figures.set(&format!("MiB private after the {which} tenth"), *private as f64 / f64::from(1 << 20));
        }
    }
    Latencies::joined(parts.into_iter().map(|(latencies, _)| latencies)).note(&mut figures);
    figures.set("timer_ns", timer_ns());
    finish(store, &content, task, figures)
}

/// Does each step when it is due, or as soon as may be; the latencies of each tenth, and the private memory after it.
fn play<S: WritingStore>(store: &S, part: &Part<'_>, interval: Duration) -> Result<Vec<(Latencies, u64)>> {
    let steps = part.operations() as usize;
    let share = steps.div_ceil(PARTS).max(1);
    let mut found = Vec::with_capacity(PARTS);
    let start = Instant::now();
    for first in (0..steps).step_by(share) {
        let mut latencies = Latencies::start();
        for index in first..(first + share).min(steps) {
            let due = start + interval.mul_f64(index as f64);
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            part.step(store, index)?;
            latencies.lap_since(due);
        }
        found.push((latencies, memory_bytes().0));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Lmdb, WritingEngine};

    use super::*;
    use crate::data::shape::Shape;
    use crate::suites::tables::definition::{Grouping, Mixture, Order};
    use crate::suites::tables::lengths::Lengths;
    use crate::suites::tables::task::tests::small;
    use crate::suites::tables::workloads::YCSB;

    /// A hundred gets, one each so many microseconds.
    fn played(interval_us: u64) -> (Duration, Vec<(Latencies, u64)>) {
        let directory = tempfile::tempdir().unwrap();
        let settings = small(&YCSB.definitions[0], directory.path()).settings();
        let store = <Lmdb as WritingEngine>::open(directory.path(), settings).unwrap();
        let mut content = Content::loaded(Shape::Hashed, Lengths::Fixed(100), 50);
        fill(&store, &content, 50).unwrap();
        let steps = Steps {
            loaded: 50,
            count: 100,
            threads: 1,
            mixture: Mixture::GETS,
            order: Order::Uniform,
            grouping: Grouping::Each,
        };
        let script = draw(&mut content, &steps, &mut Random::new(1, 1)).remove(0);
        let part = Part::new(&content, script, steps.grouping);
        let started = Instant::now();
        let parts = play(&store, &part, Duration::from_micros(interval_us)).unwrap();
        (started.elapsed(), parts)
    }

    #[test]
    fn operations_wait_until_they_are_due_and_latencies_count_from_then() {
        let (elapsed, parts) = played(500);
        assert!(elapsed >= Duration::from_micros(99 * 500), "{elapsed:?}");
        assert_eq!(parts.len(), PARTS);
        assert!(parts.iter().all(|(latencies, private)| latencies.count() == 10 && *private > 0));
        // Nothing is due later than the first: each is late by all that came before it.
        let (elapsed, parts) = played(0);
        let last = parts.last().unwrap().0.percentile_ns(1.0);
        assert!(last > 0.5 * elapsed.as_nanos() as f64 && last > parts[0].0.percentile_ns(0.5));
    }
}
