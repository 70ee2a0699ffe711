//! Payloads as they are.

use crate::codec::contract::Codec;
use crate::error::Result;

/// Payloads as they are: nothing is copied at read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bytes;

impl Codec for Bytes {
    type Value = [u8];
    type View<'p> = &'p [u8];

    fn encode(&self, value: &[u8], payload: &mut Vec<u8>) -> Result<()> {
        payload.extend_from_slice(value);
        Ok(())
    }

    fn decode<'p>(&self, payload: &'p [u8]) -> Result<&'p [u8]> {
        Ok(payload)
    }
}
