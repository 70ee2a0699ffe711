//! What threads wait for and share: all of it is the engine's.

#[path = "../../../../crates/engine/src/txn/coordination/budget.rs"]
pub mod budget;
#[path = "../../../../crates/engine/src/txn/coordination/epoch.rs"]
pub mod epoch;
#[path = "../../../../crates/engine/src/txn/coordination/group_sync.rs"]
pub mod group_sync;
#[path = "../../../../crates/engine/src/txn/coordination/slots.rs"]
pub mod slots;
#[path = "../../../../crates/engine/src/txn/coordination/turn.rs"]
pub mod turn;
#[path = "../../../../crates/engine/src/txn/coordination/visible.rs"]
#[allow(clippy::reversed_empty_ranges, reason = "no thread looks again and again before it goes to sleep here")]
pub mod visible;
