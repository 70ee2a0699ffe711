//! Facts as JSON: batches to write, and results to print.

pub mod batch;
pub mod parse;
pub mod print;
