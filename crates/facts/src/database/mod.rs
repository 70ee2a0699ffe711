//! Databases of typed facts: a store with its schema.

pub mod derivation;
mod derived_counts;
pub mod handle;
pub mod reader;
mod recorded;
pub mod validation;
pub mod writing;
