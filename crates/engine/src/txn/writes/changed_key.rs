//! A key in a write set. A short one has no memory of its own, and two short ones are compared without following a
//! pointer.
//!
//! Invariants: (1) a key of at most [`SHORT_BYTES_MAX`] bytes is always short, a longer one never. (2) The bytes that
//! a short one does not use are zeros.
//! (3) Keys are ordered as their bytes, as [`Borrow`] requires. Used by `changes` and `write_set` only.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Deref;

/// See the module.
#[derive(Clone)]
pub struct ChangedKey(Form);

#[derive(Clone)]
enum Form {
    Short { length: u8, bytes: [u8; SHORT_BYTES_MAX] },
    Long(Box<[u8]>),
}

impl ChangedKey {
    /// The key of these bytes, if it is short.
    #[inline]
    pub fn short(key: &[u8]) -> Option<Self> {
        let length = u8::try_from(key.len()).ok().filter(|&length| usize::from(length) <= SHORT_BYTES_MAX)?;
        let mut bytes = [0; SHORT_BYTES_MAX];
        bytes[..key.len()].copy_from_slice(key);
        Some(Self(Form::Short { length, bytes }))
    }
}

impl From<&[u8]> for ChangedKey {
    #[inline]
    fn from(key: &[u8]) -> Self {
        Self::short(key).unwrap_or_else(|| Self(Form::Long(key.into())))
    }
}

impl Deref for ChangedKey {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Form::Short { length, bytes } => &bytes[..usize::from(*length)],
            Form::Long(key) => key,
        }
    }
}

impl Borrow<[u8]> for ChangedKey {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self
    }
}

/// The first sixteen bytes of a short key and the last eight, as numbers that are ordered as the bytes are. Where the
/// first numbers are equal, so are the bytes that both numbers contain.
#[inline(always)]
fn words(bytes: &[u8; SHORT_BYTES_MAX]) -> (u128, u64) {
    let (first, last) = (bytes.first_chunk().expect("it has more"), bytes.last_chunk().expect("it has more"));
    (u128::from_be_bytes(*first), u64::from_be_bytes(*last))
}

impl Ord for ChangedKey {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Short { length, bytes }, Form::Short { length: other_length, bytes: other }) => {
                // If one key ends where the other continues with zeros, the length decides.
                words(bytes).cmp(&words(other)).then(length.cmp(other_length))
            }
            _ => (**self).cmp(&**other),
        }
    }
}

impl PartialOrd for ChangedKey {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ChangedKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ChangedKey {}

impl std::fmt::Debug for ChangedKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(out)
    }
}

/// As much as fits beside the length into three words.
const SHORT_BYTES_MAX: usize = 22;

const _: () = assert!(size_of::<ChangedKey>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_are_ordered_as_their_bytes() {
        let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
        for length in [1, 7, 8, 15, 16, 17, 21, 22, 23, 24, 40] {
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
            assert_eq!(ChangedKey::short(key).is_some(), key.len() <= 22);
            for other in &keys {
                let order = changed.cmp(&ChangedKey::from(&other[..]));
                assert_eq!(order, key.cmp(other), "{key:?} and {other:?}");
            }
        }
    }
}
