//! What a codec is.

use crate::error::Result;

/// How values of a program become payloads, and payloads values.
///
/// ```
/// use fulgurite_events::{Bytes, Codec};
///
/// let mut payload = Vec::new();
/// Bytes.encode(b"3 apples", &mut payload)?;
/// assert_eq!(Bytes.decode(&payload)?, b"3 apples");
/// # Ok::<(), fulgurite_events::Error>(())
/// ```
pub trait Codec {
    /// What is encoded.
    type Value: ?Sized;
    /// What a payload is decoded as. It may borrow from the payload.
    type View<'p>;

    /// Adds the encoding of a value to `payload`.
    ///
    /// # Errors
    /// [`Error::Codec`](crate::Error::Codec).
    fn encode(&self, value: &Self::Value, payload: &mut Vec<u8>) -> Result<()>;

    /// The value of a payload.
    ///
    /// # Errors
    /// [`Error::Codec`](crate::Error::Codec) if the payload is malformed.
    fn decode<'p>(&self, payload: &'p [u8]) -> Result<Self::View<'p>>;
}
