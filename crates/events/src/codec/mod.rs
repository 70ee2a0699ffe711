//! Codecs: how a program's values become payloads, and payloads values again.

mod bytes;
mod contract;
#[cfg(feature = "flatbuffers")]
mod flat;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "prost")]
mod protobuf;

pub use bytes::Bytes;
pub use contract::Codec;
#[cfg(feature = "flatbuffers")]
pub use flat::{FlatBuffer, FlatRoot};
#[cfg(feature = "json")]
pub use json::Json;
#[cfg(feature = "prost")]
pub use protobuf::Protobuf;
