//! Gets by more and more threads, and from more and more records.

use crate::data::random::Random;
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::harness::row::Figures;
use crate::suites::tables::content::Content;
use crate::suites::tables::definition::{Grouping, Mixture, Order, Scaling, Steps};
use crate::suites::tables::meter::{Latencies, timer_ns};
use crate::suites::tables::perform::bulk::load_all;
use crate::suites::tables::perform::figures::{finish, note_cost};
use crate::suites::tables::perform::steps::{Part, count, side_by_side, timed};
use crate::suites::tables::script::draw;
use crate::suites::tables::task::Task;

/// Loads the records once, in the order of their keys, and lets each number of threads do the gets. What all
/// workloads have is of the first number.
pub fn run<E: SustainedEngine>(task: &Task, scaling: &Scaling) -> Result<Figures> {
    let definition = &task.definition;
    let mut content = Content::loaded(definition.shape, definition.lengths, scaling.loaded);
    let store = E::open(&task.directory, task.settings())?;
    load_all(&store, &content)?;
    E::settle(&store)?;
    let mut figures = Figures::default();
    for (position, &threads) in scaling.threads.iter().enumerate() {
        let steps = Steps {
            loaded: scaling.loaded,
            count: scaling.count,
            threads,
            mixture: Mixture::GETS,
            order: Order::Uniform,
            grouping: Grouping::Each,
        };
        let scripts = draw(&mut content, &steps, &mut Random::new(task.seed, threads as u64));
        let parts = Part::all(&content, scripts, steps.grouping);
        let (_, sample) = side_by_side(&parts, |part| part.play(&store, || {}))?;
        let sample = count(&parts, sample);
        if position == 0 {
            note_cost(&mut figures, &sample);
            Latencies::joined(timed(&store, &parts)?.0).note(&mut figures);
        }
        if scaling.threads.len() > 1 {
            let name = format!("M gets/s by {threads} thread{}", if threads == 1 { "" } else { "s" });
            figures.set(&name, sample.operations_per_second() / 1e6);
        }
    }
    figures.set("timer_ns", timer_ns());
    finish(store, &content, task, figures)
}
