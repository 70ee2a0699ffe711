//! How an engine does the workloads of the suite of sustained writes.
//!
//! Reading order: `task` chooses the file for a workload; `ingest` makes puts, with `observer` beside them and
//! `reads` after them; `idle` watches databases that no one uses; `bounded` runs in a `control_group` that limits its
//! memory.

pub mod bounded;
pub mod control_group;
mod idle;
mod ingest;
mod observer;
mod reads;
mod task;

pub use task::perform;
