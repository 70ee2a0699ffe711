//! The act about code: an index of a crate of this repository, and questions about it.

mod indexer;
mod questions;

pub mod act;
