//! Suites of tables: each workload is a row of a table of someone else's report, done by every engine, with the
//! claims of the report beside the figures: `cargo xtask bench geaflow`, `lightning` and `ycsb`.
//!
//! Reading order: `definition` says what a suite and a workload are made of, and `workloads` has the suites;
//! `content` is what is stored, and `script` draws the operations; `perform` does a workload with one engine, and
//! `meter` takes the figures; `task` is one engine and one workload, `process` does it in a process of its own, and
//! `run` does the rounds and gathers the rows, which `ranking` compares; `command` has the options and the judgement.

mod command;
mod content;
mod definition;
mod engine;
mod lengths;
mod meter;
mod perform;
mod process;
mod ranking;
mod run;
mod script;
mod self_test;
mod task;
mod workloads;

pub use perform::crashes::VERB as WRITER;
pub use process::{VERB, work, write};
pub use workloads::{GEAFLOW, LIGHTNING, YCSB};
