//! Who owns facts: units, sets of owners, and slices. Nothing here reads a file.

pub mod compute;
pub mod owners;
pub mod sets;
pub mod slice;
