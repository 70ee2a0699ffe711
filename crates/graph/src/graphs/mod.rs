//! Graphs: vertices and their edges, versioned or not.

pub mod graph;
pub mod load;
pub mod neighbourhood;
pub mod versioned;
