//! Stores of quads: Fulgurite's beside RDF4J's LmdbStore and Oxigraph, on made-up universities of any size (`cargo xtask bench rdf4j`).
//!
//! Reading order: `generate` makes the statements, `data` lays a run's files out; `measure` names what is measured and `queries` has the
//! SPARQL; `engine` is what an engine of this program can do, and `fulgurite` and `oxigraph` are two; `perform` takes the figures of one in
//! a process of its own, which `task` starts, or Java in its place (`java`); `suite` runs the rounds and compares every `answer`.

mod answer;
mod arguments;
mod bars;
mod data;
mod engine;
mod fulgurite;
mod generate;
mod java;
mod measure;
#[cfg(feature = "oxigraph")]
mod oxigraph;
mod perform;
mod planted;
mod queries;
mod self_test;
mod suite;
mod task;

pub use arguments::Rdf4j;
pub use task::{VERB, work};
