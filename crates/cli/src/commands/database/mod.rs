//! Verbs on a whole database.

pub mod backup;
pub mod changes;
pub mod check;
pub mod compact;
pub mod image;
pub mod restore;
pub mod stats;
pub mod tables;
