//! The engine's `txn`, as far as it is explored; its log and its large values are stand-ins.
#![allow(dead_code, reason = "the models use a part of it")]

#[path = "../../../crates/engine/src/txn/budget.rs"]
pub mod budget;
#[path = "../../../crates/engine/src/txn/changed_key.rs"]
pub mod changed_key;
#[path = "../../../crates/engine/src/txn/changes.rs"]
pub mod changes;
#[path = "../../../crates/engine/src/txn/check.rs"]
pub mod check;
#[path = "../../../crates/engine/src/txn/commit.rs"]
pub mod commit;
#[path = "../../../crates/engine/src/txn/core.rs"]
pub mod core;
#[path = "../../../crates/engine/src/txn/exclusive.rs"]
pub mod exclusive;
#[path = "../../../crates/engine/src/txn/footprints.rs"]
pub mod footprints;
#[path = "../../../crates/engine/src/txn/group_sync.rs"]
pub mod group_sync;
#[path = "../../../crates/engine/src/txn/history.rs"]
pub mod history;
#[path = "../../../crates/engine/src/txn/in_place.rs"]
pub mod in_place;
#[path = "../../../crates/engine/src/txn/merges.rs"]
pub mod merges;
#[path = "../../../crates/engine/src/txn/prefix.rs"]
#[allow(clippy::reversed_empty_ranges, reason = "no thread looks again and again before it goes to sleep here")]
pub mod prefix;
#[path = "../../../crates/engine/src/txn/read_set.rs"]
pub mod read_set;
#[path = "../../../crates/engine/src/txn/schema.rs"]
pub mod schema;
#[path = "../../../crates/engine/src/txn/slots.rs"]
pub mod slots;
#[path = "../../../crates/engine/src/txn/state.rs"]
pub mod state;
#[path = "../../../crates/engine/src/txn/turn.rs"]
pub mod turn;
#[path = "../../../crates/engine/src/txn/write_set.rs"]
pub mod write_set;

pub use crate::surroundings::{journal, large, layers, read, spilled, take_in, versions};
