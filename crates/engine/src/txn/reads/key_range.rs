//! Ranges of keys, as methods take them.

use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys: `..`, `a..`, `..b`, `..=b`, `a..b`, `a..=b`, or a pair of [`Bound`]s, of any type of bytes:
/// `&[u8]`, arrays, `Vec<u8>`, `Box<[u8]>`, `&str`, `String`, [`Value`](crate::Value). Borrowed keys are not copied.
///
/// Both ends have one type, as in all ranges of Rust. Arrays of different lengths have different types: write them as
/// slices or strings.
///
/// ```
/// use fulgurite::Read;
///
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
/// use std::ops::Bound;
///
/// let table = db.create_table("fruit", Default::default())?;
/// db.update(|txn| ["apple", "banana", "cherry"].iter().try_for_each(|name| txn.put(&table, name, "")))?;
/// let txn = db.read()?;
/// assert_eq!(txn.count(&table, b"a"..b"c")?, 2);
/// assert_eq!(txn.count(&table, "apple"..="c")?, 2);
/// assert_eq!(txn.count(&table, &b"b"[..]..&b"cherry!"[..])?, 2);
/// assert_eq!(txn.count(&table, String::from("banana")..)?, 2);
/// assert_eq!(txn.count(&table, ..vec![b'b'])?, 1);
/// assert_eq!(txn.count(&table, (Bound::Excluded("apple"), Bound::Unbounded))?, 2);
/// # Ok(()) }
/// ```
pub trait KeyRange {
    /// The lower bound.
    fn low(&self) -> Bound<&[u8]>;

    /// The upper bound.
    fn high(&self) -> Bound<&[u8]>;
}

impl KeyRange for RangeFull {
    fn low(&self) -> Bound<&[u8]> {
        Bound::Unbounded
    }

    fn high(&self) -> Bound<&[u8]> {
        Bound::Unbounded
    }
}

impl<R: KeyRange + ?Sized> KeyRange for &R {
    fn low(&self) -> Bound<&[u8]> {
        R::low(self)
    }

    fn high(&self) -> Bound<&[u8]> {
        R::high(self)
    }
}

macro_rules! key_ranges {
    ($($range:ty)*) => {$(
        impl<K: AsRef<[u8]>> KeyRange for $range {
            #[inline]
            fn low(&self) -> Bound<&[u8]> {
                RangeBounds::<K>::start_bound(self).map(AsRef::as_ref)
            }

            #[inline]
            fn high(&self) -> Bound<&[u8]> {
                RangeBounds::<K>::end_bound(self).map(AsRef::as_ref)
            }
        }
    )*};
}

key_ranges!(Range<K> RangeFrom<K> RangeTo<K> RangeInclusive<K> RangeToInclusive<K> (Bound<K>, Bound<K>));

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(range: impl KeyRange) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (range.low().map(<[u8]>::to_vec), range.high().map(<[u8]>::to_vec))
    }

    #[test]
    fn every_range_of_bytes_has_the_bounds_that_it_is_written_with() {
        let (a, b) = (|| b"a".to_vec(), || b"b".to_vec());
        let expected = (Bound::Included(a()), Bound::Excluded(b()));
        assert_eq!(bounds(b"a"..b"b"), expected);
        assert_eq!(bounds([b'a']..[b'b']), expected);
        assert_eq!(bounds("a".."b"), expected);
        assert_eq!(bounds(a()..b()), expected);
        assert_eq!(bounds(&a()..&b()), expected);
        assert_eq!(bounds(String::from("a")..String::from("b")), expected);
        assert_eq!(bounds(Box::<[u8]>::from(a())..b().into()), expected);
        assert_eq!(bounds(&(a()..b())), expected);
        assert_eq!(bounds((Bound::Included("a"), Bound::Excluded("b"))), expected);
        assert_eq!(bounds(b"a"..=b"b"), (Bound::Included(a()), Bound::Included(b())));
        assert_eq!(bounds("a"..), (Bound::Included(a()), Bound::Unbounded));
        assert_eq!(bounds(.."b"), (Bound::Unbounded, Bound::Excluded(b())));
        assert_eq!(bounds(..="b"), (Bound::Unbounded, Bound::Included(b())));
        assert_eq!(bounds(..), (Bound::Unbounded, Bound::Unbounded));
        assert_eq!(bounds((Bound::Excluded(&b"a"[..]), Bound::Unbounded)), (Bound::Excluded(a()), Bound::Unbounded));
    }
}
