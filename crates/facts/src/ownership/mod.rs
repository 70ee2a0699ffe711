//! Ownership of facts: units, sets of owners, and slices. Nothing here reads a file.

pub mod compute;
pub mod meanings;
pub mod owners;
pub mod reduction;
pub mod sets;
pub mod slice;
pub mod stored;
