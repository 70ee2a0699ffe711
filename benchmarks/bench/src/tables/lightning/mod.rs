//! The suite `lightning`: every table of the report on Lightning DB, each with as many records as a machine of 24 GB of memory holds.
//!
//! Reading order: `workloads` says what is done, `claims` what the report claims of it, `command` is the suite.

mod claims;
mod command;
mod workloads;

pub use command::{Lightning, TABLES};
