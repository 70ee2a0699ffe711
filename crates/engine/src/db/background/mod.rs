//! The thread that checkpoints, merges runs and writes the log behind, and how commits wake it and wait for it.

pub mod pace;
pub mod relief;
pub mod tasks;
pub mod worker;
