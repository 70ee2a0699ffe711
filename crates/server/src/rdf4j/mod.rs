//! RDF4J's HTTP protocol: the store as a repository of an RDF4J server.
//!
//! `docs/reference/rdf4j-protocol.md` lists the paths and what differs from RDF4J's own server.

pub mod answer;
pub mod binary;
pub mod failures;
pub mod pattern;
pub mod queries;
pub mod repositories;
pub mod repository;
pub mod routes;
pub mod statements;
pub mod tables;
pub mod terms;
pub mod transactions;
mod unpacked;
pub mod upload;
