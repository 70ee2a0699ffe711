//! Codecs: encoding of a program's values as payloads, and decoding.

mod bytes;
mod contract;
#[cfg(feature = "flatbuffers")]
mod flat;
mod flat_table;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "prost")]
mod protobuf;

pub use bytes::Bytes;
pub use contract::Codec;
#[cfg(feature = "flatbuffers")]
pub use flat::{FlatBuffer, FlatRoot};
pub use flat_table::FlatTable;
#[cfg(feature = "json")]
pub use json::Json;
#[cfg(feature = "prost")]
pub use protobuf::Protobuf;
