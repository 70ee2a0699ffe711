//! Verbs on a whole database.

pub mod backup;
pub mod changes;
pub mod check;
pub mod compact;
pub mod image;
#[cfg(feature = "facts")]
mod increments;
pub mod restore;
pub mod stats;
pub mod tables;
