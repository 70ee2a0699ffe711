//! What a codec is.

use crate::error::Result;
use crate::event::{Event, RecordedEvent};

/// How values of a program become payloads, and payloads values. [`Codec::payload`] encodes an event to append;
/// [`Event::decode`] decodes one that is read, folded into a view or followed.
///
/// ```
/// use fulgurite_events::{Bytes, Codec};
///
/// let payload = Bytes.payload(b"3 apples")?;
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

    /// The encoding of a value, as the payload of an event or as a value of a view.
    ///
    /// # Errors
    /// As [`Codec::encode`].
    fn payload(&self, value: &Self::Value) -> Result<Vec<u8>> {
        let mut payload = Vec::new();
        self.encode(value, &mut payload)?;
        Ok(payload)
    }
}

impl<'e> Event<'e> {
    /// The value of its payload, which is as it was appended: [`Snapshot::record`](crate::Snapshot::record) returns a
    /// payload of the newest schema version.
    ///
    /// # Errors
    /// [`Error::Codec`](crate::Error::Codec) if the payload is malformed.
    pub fn decode<C: Codec>(&self, codec: &C) -> Result<C::View<'e>> {
        codec.decode(self.payload)
    }
}

impl RecordedEvent {
    /// The value of its payload.
    ///
    /// # Errors
    /// [`Error::Codec`](crate::Error::Codec) if the payload is malformed.
    pub fn decode<C: Codec>(&self, codec: &C) -> Result<C::View<'_>> {
        codec.decode(&self.payload)
    }
}
