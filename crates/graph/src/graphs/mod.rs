//! Graphs: vertices and their edges, versioned or not.

pub mod graph;
pub mod neighbourhood;
pub mod versioned;
