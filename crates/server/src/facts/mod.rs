//! The server of facts about code: Glean's queries as JSON over HTTP.
//!
//! Paths are the methods of Glean's service, and fields those of its structures, with the names of `glean.thrift`.
//! Paths that begin with `/code/` are verbs of the command line for indexes of code. The server is read-only.

pub mod answer;
mod code;
mod databases;
mod failures;
mod fields;
pub mod options;
mod page;
#[cfg(test)]
mod planted;
mod printing;
mod receiving;
mod requests;
mod routes;
pub mod server;
pub mod service;
