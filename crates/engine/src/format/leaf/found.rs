//! What the first look of a point get at a leaf finds.
#![allow(unsafe_code)] // A slice of no bytes at an address where no page is.

use std::ptr::NonNull;
use std::slice::from_raw_parts;

/// What the `value_of` of a leaf of either kind found: a value, that there is none, or that it takes a longer look.
///
/// An enumeration of the three would be returned through memory; this is two registers.
#[derive(Clone, Copy, Debug)]
pub struct Found<'p>(Option<&'p [u8]>);

impl<'p> Found<'p> {
    /// The key has no value.
    pub const ABSENT: Self = Self(None);
    /// It takes a longer look: [`Leaf::find`](super::Leaf::find).
    // SAFETY: a slice of no bytes may be at any address but 0.
    pub const UNCLEAR: Self = Self(Some(unsafe { from_raw_parts(Self::NO_PAGE.as_ptr(), 0) }));
    /// Where no page is, and so no value.
    const NO_PAGE: NonNull<u8> = NonNull::dangling();

    /// The key has this value.
    #[inline(always)]
    pub const fn value(value: &'p [u8]) -> Self {
        Self(Some(value))
    }

    /// The value if there is one; `None` if it takes a longer look.
    #[inline(always)]
    pub fn settled(self) -> Option<Option<&'p [u8]>> {
        match self.0 {
            Some(value) if std::ptr::eq(value.as_ptr(), Self::NO_PAGE.as_ptr()) => None,
            found => Some(found),
        }
    }
}
