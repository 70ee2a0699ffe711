//! What is read and noted; reading itself is a stand-in.

#[path = "../../../../crates/engine/src/txn/reads/bounds.rs"]
pub mod bounds;
#[path = "../../../../crates/engine/src/txn/reads/read_set.rs"]
pub mod read_set;

pub use crate::surroundings::{layers, range};
