//! Point reads through pages that are mapped and verified.

use crate::format::{Found, Leaf, Lookup, Search};
use crate::ids::PageRef;
use crate::pager::Pages;

use super::descent::Descent;

/// A get through pages that are mapped and verified, in the fewest instructions. It returns [`Found::UNCLEAR`] where
/// the slow path has to decide.
pub(in crate::tree) struct FastGet;

/// The layers above a tree.
pub trait LayersAbove {
    /// Whether they may have `key`, whose hash is `hash`.
    ///
    /// Requires: the key is short enough to be whole in a page.
    fn may_know<S: Search>(&self, key: &[u8], hash: u64) -> bool;
}

impl<'p, D: Descent> Lookup<&'p Pages, D> for FastGet {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, descent: D, key: &[u8]) -> Found<'p> {
        Self::find::<S, D>(pages, descent, key, pages.identity().hash(key))
    }
}

impl<'p, D: Descent> Lookup<&'p Pages, (D, u64)> for FastGet {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, (descent, hash): (D, u64), key: &[u8]) -> Found<'p> {
        Self::find::<S, D>(pages, descent, key, hash)
    }
}

impl<'p, D: Descent, A: LayersAbove> Lookup<&'p Pages, (D, &A)> for FastGet {
    type Output = Found<'p>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, (descent, above): (D, &A), key: &[u8]) -> Found<'p> {
        let Some((verified, at)) = descent.descend::<S>(pages, key) else { return Found::UNCLEAR };
        // The layers above are elsewhere in memory: the leaf loads while they are asked.
        let leaf = verified.leaf(at);
        let hash = pages.identity().hash(key);
        if above.may_know::<S>(key, hash) {
            return Found::UNCLEAR;
        }
        match leaf {
            Some(_) if D::is_counted(hash) => Found::UNCLEAR,
            Some(leaf) => D::value_in::<S>(leaf, key, hash),
            None => packed_value_of::<D>(pages, at, key, hash),
        }
    }
}

impl FastGet {
    #[inline(always)]
    fn find<'p, S: Search, D: Descent>(pages: &'p Pages, descent: D, key: &[u8], hash: u64) -> Found<'p> {
        let Some((verified, at)) = descent.descend::<S>(pages, key) else { return Found::UNCLEAR };
        match verified.leaf(at) {
            Some(_) if D::is_counted(hash) => Found::UNCLEAR,
            Some(leaf) => D::value_in::<S>(leaf, key, hash),
            None => packed_value_of::<D>(pages, at, key, hash),
        }
    }
}

/// A function of its own, so that it takes no room in the path to leaves with tags.
#[inline(never)]
fn packed_value_of<'p, D: Descent>(pages: &'p Pages, at: PageRef, key: &[u8], hash: u64) -> Found<'p> {
    if D::is_counted(hash) {
        return Found::UNCLEAR;
    }
    pages.verified().and_then(|pages| pages.packed_leaf(at)).map_or(Found::UNCLEAR, |leaf| leaf.value_of(key))
}

/// The descent to a leaf that [`FastGet`] makes.
pub(in crate::tree) struct FastDescent;

impl<'p, D: Descent> Lookup<&'p Pages, D> for FastDescent {
    type Output = Option<Leaf<'p>>;

    #[inline(always)]
    fn run<S: Search>(pages: &'p Pages, descent: D, key: &[u8]) -> Option<Leaf<'p>> {
        let (pages, at) = descent.descend::<S>(pages, key)?;
        pages.leaf(at)
    }
}
