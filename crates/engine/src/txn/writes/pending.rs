//! What a write transaction did to one key last, while that is in memory.

use crate::format::LargeValue;

/// What a transaction did to a key last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The key has this value now.
    Put(Box<[u8]>),
    /// The key has this value, which is in an extent of its own.
    PutLarge(Box<LargeValue>),
    /// The key is deleted.
    Delete,
    /// The key's value, whatever that is when the transaction commits, is merged with this operand.
    Merge(Vec<u8>),
}

impl Pending {
    /// Bytes of memory that the value takes.
    pub fn weight(&self) -> usize {
        match self {
            Self::Put(value) => value.len(),
            Self::Merge(operand) => operand.len(),
            Self::PutLarge(_) | Self::Delete => 0,
        }
    }
}
