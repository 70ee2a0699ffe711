//! The native methods of `org.fulgurite.internal.NativeQuads`: RDF stores.
//!
//! Quads cross as term ids of 64 bits, four for each quad: subject, predicate, object, graph. The graph is 0 for the
//! default graph. Terms cross as bytes (`objects::terms`), many in a call.

mod changes;
mod joins;
mod loads;
pub mod objects;
mod queries;
mod reads;
mod statements;
mod stores;

pub use reads::{AskedQuads, first_quads};
