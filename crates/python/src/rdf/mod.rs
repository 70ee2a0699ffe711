//! RDF stores: loads, queries and updates.

pub mod interrupts;
pub mod rows;
pub mod store;
