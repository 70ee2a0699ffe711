//! Edges: their keys, and how they are read.

pub mod edge;
pub mod iter;
pub mod layout;
pub mod query;
pub mod table;
