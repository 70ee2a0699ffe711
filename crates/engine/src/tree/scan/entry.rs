//! An entry of a tree, as scans return it.

use crate::pager::Value;

/// An entry, readable on its own.
#[derive(Clone, Debug)]
pub struct Entry<'p> {
    /// The whole key.
    pub key: Value<'p>,
    /// The value; empty for a delete.
    pub value: Value<'p>,
}

impl<'p> From<(&'p [u8], &'p [u8])> for Entry<'p> {
    #[inline(always)]
    fn from((key, value): (&'p [u8], &'p [u8])) -> Self {
        Self { key: Value::from(key), value: Value::from(value) }
    }
}
