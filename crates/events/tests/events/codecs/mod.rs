//! Payloads by codecs, through a store.

#[cfg(feature = "flatbuffers")]
mod order;
mod values;
