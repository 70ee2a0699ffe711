//! How an engine does the workloads of tables, one file for each kind.
//!
//! Reading order: `task` chooses the file for a workload; `steps` does operations one after the other, and the other
//! files build on it or have loops of their own; `figures` are what all of them note.

mod bulk;
mod cache;
pub mod crashes;
mod figures;
mod graph;
mod open_loop;
mod ranges;
mod scaling;
mod stability;
mod steps;
mod task;

pub use task::perform;
