//! The SPARQL Protocol and the Graph Store Protocol: a file for each kind of request.

pub mod dataset;
pub mod description;
pub mod document;
pub mod failures;
pub mod graphs;
pub mod iris;
pub mod namespaces;
pub mod negotiation;
pub mod paths;
pub mod query;
pub mod service;
pub mod sparql_request;
pub mod update;
