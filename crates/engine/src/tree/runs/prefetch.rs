//! Prefetches what seeks to one key in several trees will read, for all of them at once.
//!
//! A seek waits for memory about three times: for the first lines of its leaf, for the keys of a block, and for the
//! entries after it. One tree after the other, these waits add up. Prefetching never changes the result of a seek.

use crate::format::{INLINE_KEY_BYTES_MAX, Leaf, Search, WithSearch, look_up, with_search};
use crate::pager::Pages;
use crate::tree::get::PlaceOfLeaf;
use crate::tree::root::Root;

use super::stack::RUNS_MAX;

/// Prefetches the lines that seeks to `key` in these trees will search, as far as branches alone show them.
pub fn prefetch_seeks<'r>(pages: &Pages, roots: impl Iterator<Item = &'r Root>, key: &[u8]) {
    let Some(verified) = pages.verified() else { return };
    if key.len() > INLINE_KEY_BYTES_MAX {
        return;
    }
    let mut leaves = [None; TREES_MAX];
    for (leaf, root) in leaves.iter_mut().zip(roots) {
        // Reading the leaf's kind loads its first lines.
        *leaf = look_up::<PlaceOfLeaf, _, _>(pages, root, key).and_then(|at| verified.leaf(at));
    }
    with_search(PrefetchBounds { leaves: &leaves, key });
}

/// Prefetches the keys that seeks to one key will compare in these leaves.
struct PrefetchBounds<'a, 'p> {
    leaves: &'a [Option<Leaf<'p>>],
    key: &'a [u8],
}

impl WithSearch for PrefetchBounds<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Search>(self) {
        for leaf in self.leaves.iter().flatten() {
            leaf.prefetch_lower_bound::<S>(self.key);
        }
    }
}

/// The runs of a range, and the tree below them.
const TREES_MAX: usize = RUNS_MAX + 1;
