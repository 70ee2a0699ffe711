//! The server: its connections, and the routes from paths to the protocols.

pub mod connection;
pub mod graph_routes;
#[cfg(test)]
mod planted;
pub mod request_log;
pub mod routes;
pub mod server;
pub mod write_timeout;
