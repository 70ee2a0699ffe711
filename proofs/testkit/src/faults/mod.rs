//! I/O errors: every call that a workload makes of the disk fails in turn, once and for good. See
//! `docs/internals/testing.md`.

mod run;
mod workloads;

pub use run::{Report, Share, Trial, repeat, run_all, run_one};
pub use workloads::{Step, Workload};
