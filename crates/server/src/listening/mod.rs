//! The part that all servers share: addresses, connections, and the handling around each request.

pub mod bound;
pub mod connection;
pub mod front;
#[cfg(test)]
pub mod planted;
pub mod request_log;
pub mod write_timeout;
