//! Verbs on the entries of a table.

pub mod count;
pub mod del;
pub mod export;
pub mod get;
pub mod import;
pub mod put;
pub mod scan;
