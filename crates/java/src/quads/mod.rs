//! The native methods of `org.fulgurite.internal.NativeQuads`: RDF stores.
//!
//! Quads cross as term ids of 64 bits, four for each quad: subject, predicate, object, graph. The graph is 0 for the
//! default graph. Terms cross as bytes (`terms`), many in a call.

mod changes;
mod load_state;
mod loads;
mod observed;
mod pattern;
mod reads;
mod recorded;
mod rows;
mod stores;
mod terms;

pub use load_state::Load;
pub use recorded::Recorded;
pub use rows::Rows;
