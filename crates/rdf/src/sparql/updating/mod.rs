//! How an update is executed.

pub mod changes;
pub mod execution;
mod load_file;
mod new_nodes;
mod removal;
pub mod report;
pub mod targets;
