//! Indexers: choosing those that fit a directory, and running them.

pub mod choose;
mod earlier;
pub mod indexed;
pub mod languages;
mod roots;
mod run;
mod sources;
mod stamps;
mod watch;
