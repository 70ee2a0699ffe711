//! The bytes in the tables: chunks of events, keys, parts and records of streams, and the tables themselves.

pub mod chunk;
pub mod keys;
pub mod parts;
pub mod stream;
pub mod tables;
