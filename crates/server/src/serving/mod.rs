//! The RDF server: the routes from paths to the protocols.

pub mod graph_routes;
#[cfg(test)]
mod planted;
pub mod routes;
pub mod server;
