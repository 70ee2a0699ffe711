//! Programs that index code: which of them fits a directory, and running it.

pub mod choose;
pub mod languages;
mod run;
mod stamps;
mod watch;
