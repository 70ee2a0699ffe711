//! Loads of many records at once.

use fulgurite_rivals::WritingStore;

use crate::data::queries::Packed;
use crate::data::random::Random;
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::harness::row::Figures;
use crate::measure::clock::{Charge, Stopwatch};
use crate::suites::tables::content::{Content, HASHED_BYTES};
use crate::suites::tables::definition::{Grouping, Mixture, Order, Steps};
use crate::suites::tables::meter::{Latencies, memory_bytes};
use crate::suites::tables::perform::figures::{finish, note_cost, note_written};
use crate::suites::tables::perform::steps::{Part, count, timed};
use crate::suites::tables::script::draw;
use crate::suites::tables::task::Task;

/// So many records in the order of their keys, by the engine's own way, until they are durable and settled.
pub fn load<E: SustainedEngine>(task: &Task, records: usize) -> Result<Figures> {
    let content = Content::loaded(task.definition.shape, task.definition.lengths, records);
    let (order, keys) = ordered(&content);
    let store = E::open(&task.directory, task.settings())?;
    let mut figures = Figures::default();
    let written_before = E::written_bytes(&store);
    let watch = Stopwatch::start(Charge::Process);
    store.load_sorted((0..).zip(&order).map(|(position, &id)| (keys.get(position), content.value(id, 1))))?;
    note_cost(&mut figures, &watch.pause(records as u64));
    note_written(&mut figures, written_before.zip(E::written_bytes(&store)), content.raw_bytes());
    drop((order, keys));
    finish(store, &content, task, figures)
}

/// So many records, each got once, and the memory that this takes beyond what the process had before.
pub fn memory_per_key<E: SustainedEngine>(task: &Task, records: usize) -> Result<Figures> {
    let mut content = Content::loaded(task.definition.shape, task.definition.lengths, records);
    let steps = Steps {
        loaded: records,
        count: records,
        threads: 1,
        mixture: Mixture::GETS,
        order: Order::Rising,
        grouping: Grouping::Each,
    };
    let script = draw(&mut content, &steps, &mut Random::new(task.seed, 0)).remove(0);
    let parts = [Part::new(&content, script, Grouping::Each)];
    let (private_before, mapped_before) = memory_bytes();
    let store = E::open(&task.directory, task.settings())?;
    load_all(&store, &content)?;
    E::settle(&store)?;
    let (latencies, sample, _) = timed(&store, &parts)?;
    let (private, mapped) = memory_bytes();
    let mut figures = Figures::default();
    note_cost(&mut figures, &count(&parts, sample));
    Latencies::joined(latencies).note(&mut figures);
    let (private, mapped) = (private.saturating_sub(private_before), mapped.saturating_sub(mapped_before));
    figures.set("bytes of private memory per key", private as f64 / records as f64);
    figures.set("bytes of private and mapped memory per key", (private + mapped) as f64 / records as f64);
    finish(store, &content, task, figures)
}

/// Loads all records in their first version, in the order of their keys.
pub fn load_all<S: WritingStore>(store: &S, content: &Content) -> Result<()> {
    let (order, keys) = ordered(content);
    Ok(store.load_sorted((0..).zip(&order).map(|(position, &id)| (keys.get(position), content.value(id, 1))))?)
}

/// The records in the order of their keys, and these.
fn ordered(content: &Content) -> (Vec<u32>, Packed) {
    let order = content.order();
    let mut keys = Packed::with_capacity(order.len());
    let mut key = Vec::with_capacity(HASHED_BYTES);
    for &id in &order {
        key.clear();
        content.write_key(id, &mut key);
        keys.push(&key);
    }
    (order, keys)
}
