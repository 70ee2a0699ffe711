//! Chooses the file that does a kind of workload.
//!
//! All answers are checked: each get by the first and last bytes of its value, each scan by its keys or values, and
//! finally every record, whole.

use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::suites::tables::definition::Kind;
use crate::suites::tables::meter::memory_bytes;
use crate::suites::tables::perform::{bulk, cache, crashes, graph, open_loop, ranges, scaling, stability, steps};
use crate::suites::tables::task::Task;

/// Does a task in this process.
///
/// # Errors
/// What the engine answered; [`Error::Wrong`] if an answer was not right.
pub fn perform<E: SustainedEngine>(task: &Task) -> Result<Figures> {
    let (private_before, _) = memory_bytes();
    let mut figures = match task.kind() {
        Kind::Steps(steps) => steps::run::<E>(task, &steps)?,
        Kind::Checkpoint(records) => stability::checkpoint::<E>(task, records)?,
        Kind::Cycles(cycles, records) => stability::cycles::<E>(task, cycles, records)?,
        Kind::Growth(batches, records) => stability::growth::<E>(task, batches, records)?,
        Kind::Memory(cycles, operations) => stability::memory::<E>(task, cycles, operations)?,
        Kind::Ranges(ranges) => ranges::run::<E>(task, &ranges)?,
        Kind::BulkLoad(records) => bulk::load::<E>(task, records)?,
        Kind::MemoryPerKey(records) => bulk::memory_per_key::<E>(task, records)?,
        Kind::Scaling(scaling) => scaling::run::<E>(task, &scaling)?,
        Kind::Graph(part, nodes) => graph::run::<E>(task, part, nodes)?,
        Kind::Cache(records) => cache::run::<E>(task, records)?,
        Kind::OpenLoop(steps) => open_loop::run::<E>(task, &steps)?,
        Kind::Recovery(records) => crashes::recovery::<E>(task, records)?,
        Kind::Kills(kills, records) => crashes::kills::<E>(task, kills, records)?,
        Kind::NotYet => return Err(Error::Usage(format!("{} cannot be measured yet", task.definition.name))),
    };
    if let Some(private) = figures.get("private_bytes") {
        figures.set("private_bytes", (private - private_before as f64).max(0.0));
    }
    Ok(figures)
}
