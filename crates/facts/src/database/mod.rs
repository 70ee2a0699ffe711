//! Databases of typed facts: a store with its schema.

pub mod derivation;
pub mod handle;
pub mod reader;
pub mod validation;
pub mod writing;
