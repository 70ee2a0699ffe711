//! Bounds of ranges of keys: owned ones, the end of a prefix, and whether a key is within.

use std::ops::Bound;

use crate::planted::{Fault, planted};

/// A bound that owns its key.
pub type OwnedBound = Bound<Box<[u8]>>;

pub fn owned(bound: Bound<&[u8]>) -> OwnedBound {
    bound.map(Box::from)
}

/// The bound above all keys that begin with `prefix`.
pub fn prefix_end(prefix: &[u8]) -> OwnedBound {
    let Some(last) = prefix.iter().rposition(|&byte| byte != u8::MAX) else { return Bound::Unbounded };
    let mut end: Box<[u8]> = prefix[..=last].into();
    end[last] += 1;
    Bound::Excluded(end)
}

/// Whether `key` is above the upper bound.
pub fn is_past(key: &[u8], high: Bound<&[u8]>) -> bool {
    match high {
        Bound::Unbounded => false,
        Bound::Included(high) => key > high,
        Bound::Excluded(high) if planted(Fault::RangeOffByOne) => key > high,
        Bound::Excluded(high) => key >= high,
    }
}

/// Whether `key` is below the lower bound.
pub fn is_before(key: &[u8], low: Bound<&[u8]>) -> bool {
    match low {
        Bound::Unbounded => false,
        Bound::Included(low) => key < low,
        Bound::Excluded(low) => key <= low,
    }
}

/// Whether a key is still to be returned from the front: it is below the upper bound, and below what the back returned.
#[inline]
pub fn is_left_front(key: &[u8], high: &OwnedBound, given_back: Option<&[u8]>) -> bool {
    !is_past(key, as_bound(high)) && given_back.is_none_or(|given| key < given)
}

/// As [`is_left_front`], from the back.
#[inline]
pub fn is_left_back(key: &[u8], low: &OwnedBound, given_front: Option<&[u8]>) -> bool {
    !is_before(key, as_bound(low)) && given_front.is_none_or(|given| key > given)
}

pub fn as_bound(bound: &OwnedBound) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &**key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_least_key_above_all_that_begin_with_it() {
        assert_eq!(prefix_end(b"ab"), Bound::Excluded(b"ac"[..].into()));
        assert_eq!(prefix_end(b"a\xff\xff"), Bound::Excluded(b"b"[..].into()));
        assert_eq!(prefix_end(b"\xff"), Bound::Unbounded);
        assert_eq!(prefix_end(b""), Bound::Unbounded);
    }
}
