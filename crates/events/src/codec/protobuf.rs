//! Payloads in Protocol Buffers.

use std::fmt;
use std::marker::PhantomData;

use prost::Message;

use crate::codec::contract::Codec;
use crate::error::{Error, Result};

/// Payloads in Protocol Buffers, by prost. Decoding copies.
pub struct Protobuf<M>(PhantomData<fn() -> M>);

impl<M> Protobuf<M> {
    /// The codec of a message.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<M> Default for Protobuf<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> fmt::Debug for Protobuf<M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Protobuf")
    }
}

impl<M: Message + Default> Codec for Protobuf<M> {
    type Value = M;
    type View<'p> = M;

    fn encode(&self, value: &M, payload: &mut Vec<u8>) -> Result<()> {
        value.encode(payload).map_err(|error| Error::Codec { source: error.into() })
    }

    fn decode(&self, payload: &[u8]) -> Result<M> {
        M::decode(payload).map_err(|error| Error::Codec { source: error.into() })
    }
}
