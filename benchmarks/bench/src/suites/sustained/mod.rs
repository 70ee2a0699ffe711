//! The suite of sustained writes: how fast puts, and gets beside them, still are when they last longer than any
//! buffer, and what they cost in bytes, space and pauses: `cargo xtask bench sustained`.
//!
//! Reading order: `workload` names what is measured; `content` says what is stored, and in which order it is put;
//! `task` is one engine and one workload, `perform` does it, and `process` does it in a process of its own; `run`
//! starts the tasks and `bars` judges; `command` has the options.

mod bars;
mod command;
mod content;
mod engine;
mod perform;
mod process;
mod run;
mod self_test;
mod task;
mod workload;

pub use command::Sustained;
pub use process::{VERB, work};
