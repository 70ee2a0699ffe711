//! Payloads in JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::contract::Codec;
use crate::error::{Error, Result};

/// Payloads in JSON, by serde.
///
/// ```
/// use fulgurite_events::{Codec, Json};
///
/// let codec = Json::<Vec<u32>>::new();
/// let mut payload = Vec::new();
/// codec.encode(&vec![3, 4], &mut payload)?;
/// assert_eq!((&payload[..], codec.decode(&payload)?), (&b"[3,4]"[..], vec![3, 4]));
/// # Ok::<(), fulgurite_events::Error>(())
/// ```
pub struct Json<T>(PhantomData<fn() -> T>);

impl<T> Json<T> {
    /// The codec of a type.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Json<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Json<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Json")
    }
}

impl<T: Serialize + DeserializeOwned> Codec for Json<T> {
    type Value = T;
    type View<'p> = T;

    fn encode(&self, value: &T, payload: &mut Vec<u8>) -> Result<()> {
        serde_json::to_writer(payload, value).map_err(|error| Error::Codec { source: error.into() })
    }

    fn decode(&self, payload: &[u8]) -> Result<T> {
        serde_json::from_slice(payload).map_err(|error| Error::Codec { source: error.into() })
    }
}
