//! Stores of quads: what the suite asks of one, Fulgurite's, Oxigraph's, the program in Java that asks RDF4J's, and
//! stores with planted faults.

pub mod engine;
pub mod fulgurite;
pub mod java;
#[cfg(feature = "oxigraph")]
pub mod oxigraph;
pub mod planted;
