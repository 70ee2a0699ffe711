//! The figures that all workloads have (rate, processor time, memory, bytes written and space), and how a workload
//! ends.

use std::path::Path;

use fulgurite_rivals::WritingStore;

use crate::error::Result;
use crate::harness::row::Figures;
use crate::measure::clock::Sample;
use crate::measure::space::bytes_below;
use crate::suites::tables::content::{Content, verify};
use crate::suites::tables::meter::memory_bytes;
use crate::suites::tables::task::Task;

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

/// Bytes given to the system, divided by the bytes of keys and values that were put, if the engine counts and
/// something was put.
pub fn note_written(figures: &mut Figures, before_and_after: Option<(u64, u64)>, put_bytes: u64) {
    if let (Some((before, after)), 1..) = (before_and_after, put_bytes) {
        figures.set("written_per_user_byte", (after - before) as f64 / put_bytes as f64);
    }
}

/// Space of the closed store in `directory`, also divided by `raw_bytes`, the bytes of all keys and values.
pub fn note_size(figures: &mut Figures, directory: &Path, raw_bytes: u64) -> Result<()> {
    let size = bytes_below(directory)? as f64;
    figures.set("size_bytes", size);
    figures.set("size_per_raw_byte", size / raw_bytes as f64);
    Ok(())
}

/// Ends a workload: notes memory, compares everything that is stored, closes the store, and notes its space.
///
/// # Errors
/// What the engine answered; [`Error::Wrong`](crate::error::Error::Wrong) if the store has other records.
pub fn finish<S: WritingStore>(store: S, content: &Content, task: &Task, mut figures: Figures) -> Result<Figures> {
    note_memory(&mut figures);
    verify(&store, content, task.definition.name)?;
    store.close()?;
    note_size(&mut figures, &task.directory, content.raw_bytes())?;
    Ok(figures)
}
