//! Below every server: its address, its connections, and what surrounds each request.

pub mod bound;
pub mod connection;
pub mod front;
#[cfg(test)]
pub mod planted;
pub mod request_log;
pub mod write_timeout;
