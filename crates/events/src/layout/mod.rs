//! Bytes in the tables: chunks of events, keys, records of streams, and the tables themselves.

pub mod chunk;
pub mod keys;
pub mod stream;
pub mod tables;
