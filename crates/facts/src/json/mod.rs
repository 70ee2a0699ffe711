//! Facts as JSON: batches to write, and results to print.

mod base64;
pub mod batch;
pub mod parse;
pub mod print;
mod reading_place;
pub mod strict;
