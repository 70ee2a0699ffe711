//! Upcasting: payloads of old schema versions, as the newest.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

type Upcast = dyn Fn(&[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> + Send + Sync;

/// Functions that turn a payload of one schema version into one of the next.
///
/// ```
/// use fulgurite_events::Upcasters;
///
/// let upcasters = Upcasters::new().register("named", 0, |payload| Ok([b"{\"name\":\"", payload, b"\"}"].concat()));
/// let (schema, payload) = upcasters.upcast("named", 0, b"ann")?;
/// assert_eq!((schema, &payload[..]), (1, &b"{\"name\":\"ann\"}"[..]));
/// # Ok::<(), fulgurite_events::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Upcasters(HashMap<String, HashMap<u32, Arc<Upcast>>>);

impl Upcasters {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers the function that turns payloads of a type from schema version `from` into version `from + 1`.
    #[must_use]
    pub fn register<F>(mut self, kind: &str, from: u32, upcast: F) -> Self
    where
        F: Fn(&[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
    {
        self.0.entry(kind.to_owned()).or_default().insert(from, Arc::new(upcast));
        self
    }

    /// Applies the functions of a type one after the other, as long as there is one for the version reached. Returns
    /// that version and its payload, which is not copied if there is no function.
    ///
    /// # Errors
    /// [`Error::Codec`] if a function fails.
    pub fn upcast<'p>(&self, kind: &str, schema: u32, payload: &'p [u8]) -> Result<(u32, Cow<'p, [u8]>)> {
        let (mut schema, mut payload) = (schema, Cow::Borrowed(payload));
        let Some(functions) = self.0.get(kind) else { return Ok((schema, payload)) };
        // The greatest version has no next one.
        while let Some(next) = schema.checked_add(1)
            && let Some(function) = functions.get(&schema)
        {
            payload = Cow::Owned(function(&payload).map_err(|source| Error::Codec { source })?);
            schema = next;
        }
        Ok((schema, payload))
    }
}

impl fmt::Debug for Upcasters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.0.iter().map(|(kind, functions)| (kind, functions.keys()))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_the_greatest_schema_version_is_returned_as_it_is() {
        let again = |_: &[u8]| Ok(b"again".to_vec());
        let upcasters = Upcasters::new().register("x", u32::MAX - 1, again).register("x", u32::MAX, again);
        let (schema, payload) = upcasters.upcast("x", u32::MAX, b"first").unwrap();
        assert_eq!((schema, &payload[..]), (u32::MAX, &b"first"[..]));
        let (schema, payload) = upcasters.upcast("x", u32::MAX - 1, b"first").unwrap();
        assert_eq!((schema, &payload[..]), (u32::MAX, &b"again"[..]));
    }
}
