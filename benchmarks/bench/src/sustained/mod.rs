//! The suite of sustained writes: what is left of the speed of puts, and of gets beside them, when they go on for longer than any
//! buffer lasts, and what it costs in bytes, space and pauses: `cargo xtask bench sustained`.
//!
//! Reading order: `workload` names what is measured; `content` says what is stored, and put in which order; `task` is one engine
//! and one workload in a process of its own; `ingest`, `idle` and `bounded` do it; `suite` starts the tasks and `bars` judges.

mod arguments;
mod bars;
mod bounded;
mod content;
mod control_group;
mod engine;
mod fulgurite;
mod idle;
mod ingest;
mod observer;
mod reads;
mod self_test;
mod suite;
mod task;
mod workload;
mod written;
mod zipf;

pub use arguments::Sustained;
pub use engine::Sustained as SustainedEngine;
pub use task::{VERB, work};
pub use zipf::Zipf;
