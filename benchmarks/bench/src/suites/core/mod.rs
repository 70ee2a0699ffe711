//! The core suite: reads, scans, loads and single puts beside LMDB: `cargo xtask bench core`.
//!
//! Reading order: `workload` names what is measured, and `plan` says on which data; `run` measures it, with the timed
//! loops of `measure::reads` and of `writes`, and with a `worker` process where the setting of a whole process
//! matters; `verify` compares all content. `command` has the options and `bars` the judgement; `self_test` puts LMDB
//! in the place of the measured engine.

mod bars;
mod command;
mod command_line;
#[cfg(test)]
mod fulgurite_tests;
pub mod plan;
pub mod run;
mod self_test;
pub mod verify;
mod worker;
pub mod workload;
pub mod writes;

pub use command::Core;
pub use worker::{VERB, work};
