//! Bytes in a write set: a key, or a value. Few bytes have no memory of their own, and two short keys are compared
//! without following a pointer.
//!
//! Invariants: (1) The bytes that a short one does not use are zeros. (2) They are ordered as slices, as [`Borrow`]
//! requires. (3) Bytes that come in a box stay there, at an address that is aligned as the allocator does it.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Deref;

/// The key of a change: a hash of 32 bytes, and a key of several numbers, is short.
pub type ChangedKey = SmallBytes<38>;

/// The value of a change: as many bytes as fit where the other changes need room.
pub type PutValue = SmallBytes<30>;

/// Bytes; up to `SHORT` of them are here. See the module.
#[derive(Clone)]
pub struct SmallBytes<const SHORT: usize>(Form<SHORT>);

#[derive(Clone)]
enum Form<const SHORT: usize> {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<[u8]>),
}

impl<const SHORT: usize> SmallBytes<SHORT> {
    /// These bytes, if they are short.
    #[inline]
    pub fn short(from: &[u8]) -> Option<Self> {
        const { assert!(SHORT >= FIRST && SHORT <= u8::MAX as usize) };
        let length = u8::try_from(from.len()).ok().filter(|&length| usize::from(length) <= SHORT)?;
        let mut bytes = [0; SHORT];
        bytes[..from.len()].copy_from_slice(from);
        Some(Self(Form::Short { length, bytes }))
    }

    /// The bytes, to be changed in place. Requires: they are a value. A key that changes is in the wrong place.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Form::Short { length, bytes } => &mut bytes[..usize::from(*length)],
            Form::Long(bytes) => bytes,
        }
    }
}

impl<const SHORT: usize> From<&[u8]> for SmallBytes<SHORT> {
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        Self::short(bytes).unwrap_or_else(|| Self(Form::Long(bytes.into())))
    }
}

impl<const SHORT: usize> From<Box<[u8]>> for SmallBytes<SHORT> {
    #[inline]
    fn from(bytes: Box<[u8]>) -> Self {
        Self(Form::Long(bytes))
    }
}

impl<const SHORT: usize> Deref for SmallBytes<SHORT> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Form::Short { length, bytes } => &bytes[..usize::from(*length)],
            Form::Long(bytes) => bytes,
        }
    }
}

impl<const SHORT: usize> Borrow<[u8]> for SmallBytes<SHORT> {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self
    }
}

/// The first bytes as a number that is ordered as they are.
#[inline(always)]
fn first<const SHORT: usize>(bytes: &[u8; SHORT]) -> u128 {
    u128::from_be_bytes(*bytes.first_chunk::<FIRST>().expect("it has more"))
}

impl<const SHORT: usize> Ord for SmallBytes<SHORT> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Short { length, bytes }, Form::Short { length: other_length, bytes: other }) => {
                let order = first(bytes).cmp(&first(other)).then_with(|| bytes[FIRST..].cmp(&other[FIRST..]));
                // If one ends where the other continues with zeros, the length decides.
                order.then(length.cmp(other_length))
            }
            _ => (**self).cmp(&**other),
        }
    }
}

impl<const SHORT: usize> PartialOrd for SmallBytes<SHORT> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const SHORT: usize> PartialEq for SmallBytes<SHORT> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<const SHORT: usize> Eq for SmallBytes<SHORT> {}

impl<const SHORT: usize> std::fmt::Debug for SmallBytes<SHORT> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(out)
    }
}

/// Bytes that are compared as one number.
const FIRST: usize = 16;

const _: () = assert!(size_of::<ChangedKey>() == 40 && size_of::<PutValue>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_are_ordered_as_their_bytes() {
        let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
        for length in [1, 7, 8, 15, 16, 17, 21, 31, 37, 38, 39, 64] {
            for byte in [0, 1, 0x7F, 0x80, 0xFF] {
                for place in [0, length / 2, length - 1] {
                    let mut key = vec![0x42; length];
                    key[place] = byte;
                    keys.push(key.clone());
                    key.push(0);
                    keys.push(key);
                }
            }
        }
        for key in &keys {
            let changed = ChangedKey::from(&key[..]);
            assert_eq!(&*changed, &key[..]);
            assert_eq!(ChangedKey::short(key).is_some(), key.len() <= 38);
            for other in &keys {
                let order = changed.cmp(&ChangedKey::from(&other[..]));
                assert_eq!(order, key.cmp(other), "{key:?} and {other:?}");
                let boxed = ChangedKey::from(other.clone().into_boxed_slice());
                assert_eq!(changed.cmp(&boxed), order, "{key:?} and a box with {other:?}");
            }
        }
    }

    #[test]
    fn bytes_that_change_are_ordered_as_the_new_ones() {
        for length in [0, 1, 16, 30, 31, 64] {
            let mut changed = PutValue::from(&vec![1; length][..]);
            changed.bytes_mut().fill(9);
            assert_eq!(&*changed, &vec![9; length][..]);
            assert_eq!(changed, PutValue::from(&vec![9; length][..]), "what is not used are zeros");
        }
    }

    #[test]
    fn bytes_in_a_box_stay_there() {
        let boxed: Box<[u8]> = [1, 2, 3].into();
        let address = boxed.as_ptr();
        assert_eq!(PutValue::from(boxed).as_ptr(), address);
    }
}
