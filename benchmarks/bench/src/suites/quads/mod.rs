//! Stores of quads: Fulgurite's beside RDF4J's LmdbStore and NativeStore, and Oxigraph, on made-up universities of any
//! size (`cargo xtask bench rdf4j`).
//!
//! Reading order: `data` makes the statements and the questions; `measure` names what is measured; `engines` has what
//! a store can do, and the stores; `task` is one engine and one measurement, `perform` takes its figures, and
//! `process` does it in a process of its own, or starts Java; `run` does the rounds and compares every `answer`.
//! `command` has the options and `bars` the judgement.

mod answer;
mod bars;
mod command;
mod data;
mod engines;
mod entries;
mod measure;
mod perform;
mod process;
mod run;
mod self_test;
mod task;

pub use command::Rdf4j;
pub use process::{VERB, work};
