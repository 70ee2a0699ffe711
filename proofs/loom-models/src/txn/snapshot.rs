//! One state of the database; large values are a stand-in.

#[path = "../../../../crates/engine/src/txn/snapshot/history.rs"]
pub mod history;
#[path = "../../../../crates/engine/src/txn/snapshot/pins.rs"]
pub mod pins;
#[path = "../../../../crates/engine/src/txn/snapshot/published.rs"]
pub mod published;
#[path = "../../../../crates/engine/src/txn/snapshot/state.rs"]
pub mod state;
#[path = "../../../../crates/engine/src/txn/snapshot/table.rs"]
pub mod table;

pub use crate::surroundings::large;
