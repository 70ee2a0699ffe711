//! The changes of a transaction; what is spilled is a stand-in.

#[path = "../../../../crates/engine/src/txn/writes/pending.rs"]
pub mod pending;
#[path = "../../../../crates/engine/src/txn/writes/schema.rs"]
pub mod schema;
#[path = "../../../../crates/engine/src/txn/writes/small_bytes.rs"]
pub mod small_bytes;
#[path = "../../../../crates/engine/src/txn/writes/spill_source.rs"]
pub mod spill_source;
#[path = "../../../../crates/engine/src/txn/writes/table_writes.rs"]
pub mod table_writes;
#[path = "../../../../crates/engine/src/txn/writes/undo.rs"]
pub mod undo;
#[path = "../../../../crates/engine/src/txn/writes/write_set.rs"]
pub mod write_set;

pub use crate::surroundings::{spilled, versions};
