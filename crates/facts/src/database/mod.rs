//! Databases of typed facts: a store with its schema.

pub mod handle;
pub mod reader;
pub mod writing;
