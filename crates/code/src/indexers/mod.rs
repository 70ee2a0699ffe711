//! Programs that index code: which of them fits a directory, and running it.

pub mod choose;
mod earlier;
pub mod indexed;
pub mod languages;
mod roots;
mod run;
mod sources;
mod stamps;
mod watch;
