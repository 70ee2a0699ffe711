//! Ranges of keys.

use std::ops::Bound;

use fulgurite::keys::prefix_end;
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::tables::Table;

/// Bounds of stored keys.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The lower bound.
    pub low: Bound<Vec<u8>>,
    /// The upper bound.
    pub high: Bound<Vec<u8>>,
}

impl Bounds {
    /// From `start`, included, to `stop`, excluded; or all keys with a prefix.
    ///
    /// # Errors
    /// If a key has another type than those of the table, or both ways are used.
    pub fn new(
        table: &Table,
        start: Option<&Object<'_>>,
        stop: Option<&Object<'_>>,
        prefix: Option<&Object<'_>>,
    ) -> Result<Self> {
        if let Some(prefix) = prefix {
            if start.is_some() || stop.is_some() {
                return Err(Failure::invalid("use either prefix, or start and stop"));
            }
            let low = table.keys.encode_prefix(prefix)?;
            let high = prefix_end(&low).map_or(Bound::Unbounded, Bound::Excluded);
            return Ok(Self { low: Bound::Included(low), high });
        }
        let encoded = |key: Option<&Object<'_>>| key.map(|key| table.keys.encode(key)).transpose();
        let low = encoded(start)?.map_or(Bound::Unbounded, Bound::Included);
        let high = encoded(stop)?.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(Self { low, high })
    }

    /// The bounds, borrowed.
    pub fn as_slices(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.low.as_ref().map(Vec::as_slice), self.high.as_ref().map(Vec::as_slice))
    }
}

/// An object of Python. [`Bound`] is the other one here.
pub type Object<'py> = pyo3::Bound<'py, PyAny>;
