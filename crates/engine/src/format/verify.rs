//! The proof that a page may be read without further checks, and the views over pages for which it was given.
#![allow(unsafe_code)] // Views over pages that were just verified.

use crate::format::branch::{Branch, verify_branch};
use crate::format::hash::Identity;
use crate::format::leaf::{Leaf, verify_leaf};
use crate::format::packed::{PackedLeaf, verify_packed};
use crate::format::page::{Offence, PageKind, verify_extent_table, verify_seal};
use crate::ids::{Birth, PageRef};

/// Proves that a page may be read without further checks: trailer, checksum, birth, then every byte of its kind.
///
/// # Errors
/// The first offence found. No bytes whatever make it panic.
pub fn verify_page(bytes: &[u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<PageKind, Offence> {
    verify_seal(bytes, identity, at, birth)?;
    verify_body(bytes, Some(identity))
}

/// As [`verify_page`], for a page that this process has built itself, but without hashing its keys again: checksum,
/// place and birth prove that its tags are those that this process wrote. Builds with debug assertions check the tags
/// too.
///
/// # Errors
/// As [`verify_page`].
pub fn verify_own_page(bytes: &[u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<PageKind, Offence> {
    verify_seal(bytes, identity, at, birth)?;
    verify_body(bytes, cfg!(debug_assertions).then_some(identity))
}

/// Checks the page before its trailer. Checks tags only if there is an identity to compare them with.
pub(super) fn verify_body(bytes: &[u8], tags_of: Option<&Identity>) -> Result<PageKind, Offence> {
    match bytes[0] {
        1 => verify_leaf(bytes, tags_of).map(|()| PageKind::Leaf),
        2 => verify_branch(bytes).map(|()| PageKind::Branch),
        3 => verify_packed(bytes).map(|()| PageKind::Packed),
        6 => verify_extent_table(bytes).map(|()| PageKind::ExtentTable),
        4 | 5 | 7 => Err(Offence::new(0, "a kind of page that is reserved for later versions")),
        _ => Err(Offence::new(0, "unknown kind of page")),
    }
}

impl<'p> Leaf<'p> {
    /// Verifies a page, and returns the view over it.
    ///
    /// # Errors
    /// The first offence found; a page of another kind is one too.
    pub fn verify(page: &'p [u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<Self, Offence> {
        match verify_page(page, identity, at, birth)? {
            // SAFETY: just verified, and the shared borrow keeps its bytes as they are.
            PageKind::Leaf => Ok(unsafe { Self::new_unchecked(page) }),
            _ => Err(Offence::new(0, "not a leaf")),
        }
    }
}

impl<'p> PackedLeaf<'p> {
    /// Verifies a page, and returns the view over it.
    ///
    /// # Errors
    /// The first offence found; a page of another kind is one too.
    pub fn verify(page: &'p [u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<Self, Offence> {
        match verify_page(page, identity, at, birth)? {
            PageKind::Packed => Ok(Self::of(page)),
            _ => Err(Offence::new(0, "not a packed leaf")),
        }
    }
}

impl<'p> Branch<'p> {
    /// Verifies a page, and returns the view over it.
    ///
    /// # Errors
    /// The first offence found; a page of another kind is one too.
    pub fn verify(page: &'p [u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<Self, Offence> {
        match verify_page(page, identity, at, birth)? {
            // SAFETY: just verified, and the shared borrow keeps its bytes as they are.
            PageKind::Branch => Ok(unsafe { Self::new_unchecked(page) }),
            _ => Err(Offence::new(0, "not a branch")),
        }
    }
}
