//! The operators of a query on ids: each makes rows of those of its inputs.

pub mod aggregate;
pub mod group;
pub mod operator;
pub mod optional;
pub mod patterns;
pub mod sort;
pub mod sources;
