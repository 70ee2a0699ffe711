//! Does a workload with one engine, as its kind wants it, and takes the figures that all of them have. All answers are checked: each get by
//! the first and last bytes of its value, each scan by its keys or values, and in the end every record, whole.

use crate::clock::Sample;
use crate::error::{Error, Result};
use crate::space::bytes_below;
use crate::sustained::SustainedEngine;
use crate::tables::content::Content;
use crate::tables::definition::Kind;
use crate::tables::meter::memory_bytes;
use crate::tables::row::Figures;
use crate::tables::task::Task;
use crate::tables::{bulk, cache, crashes, graph, open_loop, ranges, scaling, stability, steps};

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

/// Rate and processor time.
pub fn note_cost(figures: &mut Figures, sample: &Sample) {
    figures.set("ops_per_s", sample.operations_per_second());
    figures.set("cpu_ns_per_op", sample.cpu_ns_per_operation());
    figures.set("wall_ns", sample.wall_ns);
}

/// Memory of the process as it is.
pub fn note_memory(figures: &mut Figures) {
    let (private, mapped) = memory_bytes();
    figures.set("private_bytes", private as f64);
    figures.set("mapped_bytes", mapped as f64);
}

/// Bytes given to the system by bytes of keys and values that were put, where the engine tells and something was put.
pub fn note_written(figures: &mut Figures, before_and_after: Option<(u64, u64)>, put_bytes: u64) {
    if let (Some((before, after)), 1..) = (before_and_after, put_bytes) {
        figures.set("written_per_user_byte", (after - before) as f64 / put_bytes as f64);
    }
}

/// Space of the closed store.
pub fn note_size(figures: &mut Figures, task: &Task, content: &Content) -> Result<()> {
    let size = bytes_below(&task.directory)? as f64;
    figures.set("size_bytes", size);
    figures.set("size_per_raw_byte", size / content.raw_bytes() as f64);
    Ok(())
}
