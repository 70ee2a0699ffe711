//! What a write transaction did to one key last, while that is in memory.

use crate::format::LargeValue;
use crate::txn::writes::small_bytes::PutValue;

/// What a transaction did to a key last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The key has this value now.
    Put(PutValue),
    /// The key has this value, which is in an extent of its own.
    PutLarge(Box<LargeValue>),
    /// The key is deleted.
    Delete,
    /// The key's value, whatever that is when the transaction commits, is merged with this operand.
    Merge(Vec<u8>),
}

// An entry of a write set takes little more than a cache line.
const _: () = assert!(size_of::<Pending>() == size_of::<PutValue>());

impl Pending {
    /// A put of a value, whose address is aligned as the allocator does it if `is_aligned`.
    #[inline]
    pub fn put(value: &[u8], is_aligned: bool) -> Self {
        Self::Put(if is_aligned { Box::<[u8]>::from(value).into() } else { value.into() })
    }

    /// The value of a put, to be changed in place.
    ///
    /// # Panics
    /// If it is no put of a value in memory.
    #[inline]
    pub fn value_mut(&mut self) -> &mut [u8] {
        let Self::Put(value) = self else { panic!("only a put in memory has a value that can be changed") };
        value.bytes_mut()
    }

    /// Bytes of memory that the value takes.
    pub fn weight(&self) -> usize {
        match self {
            Self::Put(value) => value.len(),
            Self::Merge(operand) => operand.len(),
            Self::PutLarge(_) | Self::Delete => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_values_are_in_the_entry_unless_they_must_be_aligned() {
        for is_aligned in [false, true] {
            let pending = Pending::put(&[7; 8], is_aligned);
            let Pending::Put(value) = &pending else { panic!("it is a put") };
            let entry = (&raw const pending).addr();
            let is_inside = (entry..entry + size_of::<Pending>()).contains(&value.as_ptr().addr());
            assert_eq!((&value[..], is_inside), (&[7; 8][..], !is_aligned));
        }
    }
}
