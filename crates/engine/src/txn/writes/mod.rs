//! The private changes of one write transaction, before its commit.
//!
//! Changes are in memory ([`write_set`]) until they exceed its budget. Then they are spilled to free space of the data
//! file ([`spilled`]) as layers of sorted runs.

pub mod join_layers;
pub mod memory_walk;
pub mod pending;
pub mod run_walk;
pub mod schema;
pub mod small_bytes;
pub mod spill_source;
pub mod spill_walk;
pub mod spilled;
pub mod table_writes;
pub mod undo;
pub mod versions;
pub mod write_set;
