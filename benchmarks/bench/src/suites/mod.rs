//! The suites, each with its workloads, options and bars. `main` registers them; a suite imports no other.

pub mod core;
pub mod facts;
pub mod graph;
pub mod limits;
pub mod quads;
pub mod storagebench;
pub mod sustained;
pub mod tables;
pub mod writers;
