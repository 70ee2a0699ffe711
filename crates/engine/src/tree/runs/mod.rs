//! Runs above a tree, and the stack of a table's runs.

mod build;
mod check;
mod cuts;
mod layers_below;
mod merge;
mod prefetch;
mod run;
mod stack;

pub use build::{Until, build_run};
pub use cuts::cuts;
pub use layers_below::LayersBelow;
pub use merge::RunMerge;
pub use prefetch::prefetch_seeks;
pub use run::{Run, RunValue};
pub use stack::{RUNS_MAX, Stack, StackRange};
