//! The server of facts about code: Glean's queries as JSON over HTTP.
//!
//! Paths are the names of methods of Glean's service, and fields those of its structures, as `glean.thrift` has them.
//! It only reads.

pub mod answer;
mod databases;
mod failures;
mod fields;
pub mod options;
mod page;
#[cfg(test)]
mod planted;
mod printing;
mod requests;
mod routes;
pub mod server;
pub mod service;
