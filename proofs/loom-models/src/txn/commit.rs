//! Commits; the log is a stand-in.

#[path = "../../../../crates/engine/src/txn/commit/begin.rs"]
pub mod begin;
#[path = "../../../../crates/engine/src/txn/commit/check.rs"]
pub mod check;
#[path = "../../../../crates/engine/src/txn/commit/core.rs"]
pub mod core;
#[path = "../../../../crates/engine/src/txn/commit/exclusive.rs"]
pub mod exclusive;
#[path = "../../../../crates/engine/src/txn/commit/footprints.rs"]
pub mod footprints;
#[path = "../../../../crates/engine/src/txn/commit/in_place.rs"]
pub mod in_place;
#[path = "../../../../crates/engine/src/txn/commit/merges.rs"]
pub mod merges;
#[path = "../../../../crates/engine/src/txn/commit/proposal.rs"]
pub mod proposal;
#[path = "../../../../crates/engine/src/txn/commit/rotation.rs"]
pub mod rotation;
#[path = "../../../../crates/engine/src/txn/commit/steps.rs"]
pub mod steps;

pub use crate::surroundings::{journal, spilled_proposal};
