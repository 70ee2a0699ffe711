//! The operators of a query on ids: each produces rows from the rows of its inputs.

pub mod aggregate;
pub mod group;
pub mod operator;
pub mod optional;
pub mod patterns;
pub mod sort;
pub mod sources;
