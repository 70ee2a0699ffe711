//! Bytes of a database that outlive the read that found them.
//!
//! Invariant: the bytes behind a value do not change or move while it lives: they are in a part of the map that no
//! live snapshot's writer touches, or in an immutable [`Frame`] that the value keeps.
#![allow(unsafe_code)] // Slices of the map, and of frames that the value keeps.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::sync::Arc;

use super::cache::Frame;

/// Bytes of a database, borrowed for the transaction's life `'a` where they can be, and kept by the value itself
/// where not.
///
/// Dereferences to `[u8]`. Of a mapped file it is two words and pins nothing.
pub struct Value<'a> {
    pub(super) bytes: NonNull<[u8]>,
    /// What keeps the bytes, if they are not borrowed.
    pub(super) owner: Owner,
    pub(super) lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a value is immutable bytes and a reference count that threads may share.
unsafe impl Send for Value<'_> {}

// SAFETY: as for `Send`.
unsafe impl Sync for Value<'_> {}

impl Value<'_> {
    pub(super) fn from_frame(frame: Arc<Frame>) -> Self {
        Self { bytes: NonNull::from(frame.bytes()), owner: Owner::of(frame), lifetime: PhantomData }
    }

    /// A part of the bytes, kept or borrowed as the whole is.
    ///
    /// # Panics
    /// If `range` is not within the bytes.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self { bytes: NonNull::from(&self[range]), owner: self.owner.clone(), lifetime: PhantomData }
    }

    /// Whether the bytes are borrowed from the transaction, as those of a mapped file are. Otherwise the value keeps
    /// them, and they are gone with its last clone.
    pub fn is_borrowed(&self) -> bool {
        self.owner.is_none()
    }

    /// The same bytes, kept by the value itself: copied if they were borrowed. Otherwise they stay at their place.
    pub fn into_owned(self) -> Value<'static> {
        if self.owner.is_none() {
            return Value::from(self.to_vec());
        }
        Value { bytes: self.bytes, owner: self.owner, lifetime: PhantomData }
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are borrowed for `'a` or in the owner; both outlast this borrow (invariant of this file).
        unsafe { self.bytes.as_ref() }
    }
}

impl AsRef<[u8]> for Value<'_> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Clone for Value<'_> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes, owner: self.owner.clone(), lifetime: PhantomData }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "b\"{}\"", self.escape_ascii())
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    #[inline(always)]
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes: NonNull::from(bytes), owner: Owner::none(), lifetime: PhantomData }
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from_frame(Frame::new(bytes.into_boxed_slice()))
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value<'_> {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Value<'_> {}

/// Keeps a frame, or nothing.
///
/// An `Option<Arc<Frame>>` whose release is a call that takes it by value: plain drop glue passes its address, which
/// would keep every guard, and so every entry of a scan, in memory instead of registers.
#[derive(Debug)]
pub(super) struct Owner(ManuallyDrop<Option<Arc<Frame>>>);

impl Owner {
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self(ManuallyDrop::new(None))
    }

    pub(super) fn of(frame: Arc<Frame>) -> Self {
        Self(ManuallyDrop::new(Some(frame)))
    }

    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Clone for Owner {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Drop for Owner {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.is_some() {
            // SAFETY: `self.0` is not used again: this is its owner's drop.
            release(unsafe { ManuallyDrop::take(&mut self.0) });
        }
    }
}

#[cold]
#[inline(never)]
fn release(frame: Option<Arc<Frame>>) {
    drop(frame);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_equals_its_bytes_borrowed_or_owned() {
        let borrowed = Value::from(b"abc".as_slice());
        let owned = Value::from(b"abc".to_vec());
        assert_eq!(borrowed, owned);
        assert_eq!(borrowed, b"abc");
        assert!(borrowed.is_borrowed() && !owned.is_borrowed());
        assert_ne!(owned, b"abd".as_slice());
        let kept = { Value::from(b"gone".to_vec().as_slice()).into_owned() };
        assert_eq!(kept, b"gone");
        assert_eq!(format!("{:?}", kept.clone()), "b\"gone\"");
    }
}
