//! Payloads as FlatBuffers.

use std::fmt;
use std::marker::PhantomData;

use flatbuffers::{Follow, Verifiable};

use crate::codec::contract::Codec;
use crate::error::{Error, Result};

/// Names a generated root table for every lifetime.
///
/// ```text
/// struct Items;
/// impl FlatRoot for Items {
///     type Table<'p> = inventory::Item<'p>;
/// }
/// let codec = FlatBuffer::<Items>::new();
/// ```
pub trait FlatRoot {
    /// The generated table.
    type Table<'p>: Follow<'p> + Verifiable + 'p;
}

/// Payloads that are finished FlatBuffers. They are verified and read in place: payloads of events begin at addresses
/// that are multiples of 8. Generated code without verification can read the same bytes, and
/// [`FlatTable`](crate::FlatTable) changes them in place.
pub struct FlatBuffer<F>(PhantomData<fn() -> F>);

impl<F> FlatBuffer<F> {
    /// The codec of a root table.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<F> Default for FlatBuffer<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F> fmt::Debug for FlatBuffer<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("FlatBuffer")
    }
}

impl<F: FlatRoot> Codec for FlatBuffer<F> {
    /// A finished buffer: `FlatBufferBuilder::finished_data`.
    type Value = [u8];
    type View<'p> = <F::Table<'p> as Follow<'p>>::Inner;

    fn encode(&self, value: &[u8], payload: &mut Vec<u8>) -> Result<()> {
        payload.extend_from_slice(value);
        Ok(())
    }

    fn decode<'p>(&self, payload: &'p [u8]) -> Result<Self::View<'p>> {
        flatbuffers::root::<F::Table<'p>>(payload).map_err(|error| Error::Codec { source: error.into() })
    }
}
