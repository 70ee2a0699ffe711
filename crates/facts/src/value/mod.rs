//! Types, values, and their encodings as bytes.

pub mod bytes;
pub mod codec;
pub mod conversion;
pub mod error;
pub mod nat;
pub mod references;
pub mod types;
pub mod values;
