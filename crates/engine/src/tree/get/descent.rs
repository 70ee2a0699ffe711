//! The fast descent from a root or a shortcut to a leaf: only through pages that are mapped and verified.

use crate::format::{BranchStart, Found, INLINE_KEY_BYTES_MAX, Leaf, Lookup, Search, key_start, look_up};
use crate::ids::PageRef;
use crate::pager::{Pages, VerifiedPages};
use crate::tree::root::Root;

use super::base::Base;
use super::shortcut::Shortcut;

/// A way to find the leaf of a key: by branches, or by a shortcut.
pub(in crate::tree) trait Descent: Copy {
    /// The page of the leaf to which `key` belongs, or nowhere; `None` if a page on the way is not mapped and verified.
    fn descend<'p, S: Search>(self, pages: &'p Pages, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)>;

    /// The value of `key` in the leaf that this descent found.
    fn value_in<'p, S: Search>(leaf: Leaf<'p>, key: &[u8], hash: u64) -> Found<'p>;

    /// Whether the slow path has to count a get of a key with this hash.
    fn is_counted(hash: u64) -> bool;
}

impl Descent for &Base {
    #[inline(always)]
    fn descend<'p, S: Search>(self, pages: &'p Pages, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)> {
        descend::<S>(pages, self, key)
    }

    #[inline(always)]
    fn value_in<'p, S: Search>(leaf: Leaf<'p>, key: &[u8], hash: u64) -> Found<'p> {
        leaf.value_of::<S>(key, hash)
    }

    #[inline(always)]
    fn is_counted(hash: u64) -> bool {
        Base::is_counted(hash)
    }
}

impl Descent for &Shortcut {
    #[inline(always)]
    fn descend<'p, S: Search>(self, pages: &'p Pages, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)> {
        if key.len() > INLINE_KEY_BYTES_MAX {
            return None;
        }
        Some((pages.verified()?, self.leaf_of::<S>(key)))
    }

    #[inline(always)]
    fn value_in<'p, S: Search>(leaf: Leaf<'p>, key: &[u8], hash: u64) -> Found<'p> {
        // Keys that a shortcut distinguishes seldom tie.
        match leaf.value_by_one_look::<S>(key, hash) {
            Some(found) => found,
            None => look_up::<InLeaf, _, _>(leaf, hash, key),
        }
    }

    #[inline(always)]
    fn is_counted(_: u64) -> bool {
        false
    }
}

/// The value of a key in a leaf with tags.
pub(in crate::tree) struct InLeaf;

impl<'p> Lookup<Leaf<'p>, u64> for InLeaf {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(leaf: Leaf<'p>, hash: u64, key: &[u8]) -> Found<'p> {
        leaf.value_of::<S>(key, hash)
    }
}

/// Finds the page of a leaf of either form.
pub(in crate::tree) struct PlaceOfLeaf;

impl<'p> Lookup<&'p Pages, &Root> for PlaceOfLeaf {
    type Output = Option<PageRef>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, root: &Root, key: &[u8]) -> Option<PageRef> {
        descend::<S>(pages, root, key).map(|(_, at)| at).filter(|at| *at != PageRef::NOWHERE)
    }
}

/// The page of the leaf to which `key` belongs, or [`PageRef::NOWHERE`]; `None` if a page on the way is not mapped
/// and verified.
#[inline(always)]
fn descend<'p, S: Search>(pages: &'p Pages, root: &Root, key: &[u8]) -> Option<(VerifiedPages<'p>, PageRef)> {
    if key.len() > INLINE_KEY_BYTES_MAX {
        return None;
    }
    let pages = pages.verified()?;
    let (mut at, mut branch_start) = (root.page, BranchStart::of_level(root.level));
    let start = key_start(key);
    if branch_start.is_branch() {
        // The lowest branch is a step of its own: processors predict from the instruction's address how wide the next
        // page is.
        while !branch_start.is_lowest() {
            at = pages.branch(at, branch_start)?.child_of_short::<S>(key, start);
            branch_start = branch_start.below();
        }
        at = pages.branch(at, branch_start)?.child_of_short::<S>(key, start);
    }
    Some((pages, at))
}
