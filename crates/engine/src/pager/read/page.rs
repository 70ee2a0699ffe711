//! One verified page, readable while its guard lives.
//!
//! Invariants: (1) a [`Page`] holds a whole page that `verify_page`, or `verify_own_page` if this process built it,
//! accepted for its place and birth, so its view needs no checks. (2) The bytes behind a guard do not change or move
//! while it lives: they are in a part of the map that no live snapshot's writer touches, or in an immutable [`Frame`]
//! that the guard holds.
#![allow(unsafe_code)] // Slices of the map, and views of pages that were verified.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::format::{Branch, Leaf, LeafView, PackedLeaf, PageKind};
use crate::sync::Arc;

use super::cache::Frame;
use super::value::{Owner, Value};

/// A verified page, readable while the guard lives.
#[derive(Debug)]
pub struct Page<'a> {
    bytes: NonNull<[u8]>,
    /// What keeps the bytes, if they are not mapped.
    owner: Owner,
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a page is immutable bytes and a reference count that threads may share.
unsafe impl Send for Page<'_> {}

// SAFETY: as for `Send`.
unsafe impl Sync for Page<'_> {}

impl<'a> Page<'a> {
    /// The page's bytes, trailer included.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes live for `'a` or as long as the frame, which both outlast this borrow (invariant 2).
        unsafe { self.bytes.as_ref() }
    }

    /// The page as a leaf, if it is one.
    #[inline(always)]
    pub fn leaf(&self) -> Option<LeafView<'_>> {
        // SAFETY: the page was verified (invariant 1).
        unsafe { view(self.bytes()) }
    }

    /// The page as a branch, if it is one.
    #[inline(always)]
    pub fn branch(&self) -> Option<Branch<'_>> {
        // SAFETY: the page was verified (invariant 1), and it is a branch.
        (self.bytes()[0] == PageKind::Branch as u8).then(|| unsafe { Branch::new_unchecked(self.bytes()) })
    }

    /// The page as a guard that knows that it is a leaf, if it is one.
    #[inline(always)]
    pub fn into_leaf(self) -> Option<LeafPage<'a>> {
        self.leaf().is_some().then_some(LeafPage { page: self })
    }

    /// Keeps a part of the page readable on its own.
    ///
    /// # Panics
    /// If `part` is not inside this page.
    #[inline(always)]
    pub fn value(&self, part: &[u8]) -> Value<'a> {
        let page = self.bytes().as_ptr_range();
        let range = part.as_ptr_range();
        assert!(page.start <= range.start && range.end <= page.end, "a value is inside its page");
        Value { bytes: NonNull::from(part), owner: self.owner.clone(), lifetime: PhantomData }
    }

    #[inline(always)]
    pub(super) fn from_map(bytes: &'a [u8]) -> Self {
        Self { bytes: NonNull::from(bytes), owner: Owner::none(), lifetime: PhantomData }
    }

    pub(super) fn from_frame(frame: Arc<Frame>) -> Self {
        Self { bytes: NonNull::from(frame.bytes()), owner: Owner::of(frame), lifetime: PhantomData }
    }
}

/// A page as a leaf, if it is one.
///
/// # Safety
/// The page was verified, and its bytes do not change during `'p`.
#[inline(always)]
unsafe fn view(page: &[u8]) -> Option<LeafView<'_>> {
    if page[0] == PageKind::Leaf as u8 {
        // SAFETY: this function's contract, and the page is a leaf.
        return Some(LeafView::Tagged(unsafe { Leaf::new_unchecked(page) }));
    }
    (page[0] == PageKind::Packed as u8).then(|| LeafView::Packed(PackedLeaf::of(page)))
}

/// A verified page that is a leaf.
#[derive(Debug)]
pub struct LeafPage<'a> {
    page: Page<'a>,
}

impl<'a> LeafPage<'a> {
    /// The leaf.
    #[inline(always)]
    pub fn leaf(&self) -> LeafView<'_> {
        // SAFETY: the page was verified (invariant 1).
        unsafe { view(self.page.bytes()) }.expect("`into_leaf` saw that it is a leaf")
    }

    /// The leaf for as long as the snapshot lives, if it is mapped.
    #[inline(always)]
    pub fn mapped(&self) -> Option<LeafView<'a>> {
        if !self.page.owner.is_none() {
            return None;
        }
        // SAFETY: without an owner the bytes are those of the map, which live for `'a` (invariant 2).
        let bytes = unsafe { self.page.bytes.as_ref() };
        // SAFETY: the page was verified (invariant 1).
        unsafe { view(bytes) }
    }

    /// The page.
    #[inline(always)]
    pub fn page(&self) -> &Page<'a> {
        &self.page
    }

    /// As [`Page::value`].
    #[inline(always)]
    pub fn value(&self, part: &[u8]) -> Value<'a> {
        self.page.value(part)
    }
}
