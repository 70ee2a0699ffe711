//! Suites of tables: each workload is a row of a table of somebody else's report, done by every engine in a process of its own, with
//! what the report claims beside what is measured.
//!
//! Reading order: `definition` says what a workload is made of; `geaflow` and `ycsb` are the suites, one file of workloads each; `script`
//! draws what is done, `perform` does it with one engine and takes the figures with `meter`; `task` is that in a process of its own, and
//! `suite` runs the rounds and gathers the `row`s.

pub mod definition;
mod engine;
mod geaflow;
mod meter;
mod perform;
pub mod row;
mod script;
mod self_test;
mod stability;
mod suite;
mod task;
mod ycsb;

pub use geaflow::Geaflow;
pub use task::{VERB, work};
pub use ycsb::Ycsb;
