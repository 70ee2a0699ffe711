//! Asks for what seeks to one key in several trees will read, in all of them at once.
//!
//! A seek waits for memory about three times: for the first lines of its leaf, for the keys of a block, and for the entries
//! that are read from there on. One tree after the other, these waits add up. Nothing here changes what a seek finds.

use crate::format::{INLINE_KEY_BYTES_MAX, Leaf, Search, WithSearch, look_up, with_search};
use crate::pager::Pages;

use super::get::PlaceOfLeaf;
use super::root::Root;
use super::stack::RUNS_MAX;

/// Asks for the lines by which seeks to `key` will find their places in these trees, as far as that is known without waiting for
/// other pages than branches.
pub fn approach_all<'r>(pages: &Pages, roots: impl Iterator<Item = &'r Root>, key: &[u8]) {
    let Some(verified) = pages.verified() else { return };
    if key.len() > INLINE_KEY_BYTES_MAX {
        return;
    }
    let mut leaves = [None; TREES_MAX];
    for (leaf, root) in leaves.iter_mut().zip(roots) {
        // The first lines of the leaf are asked for where its kind is looked at.
        *leaf = look_up::<PlaceOfLeaf, _, _>(pages, root, key).and_then(|at| verified.leaf(at));
    }
    with_search(ComeNearer { leaves: &leaves, key });
}

/// Asks for the keys among which seeks to one key will look in these leaves.
struct ComeNearer<'a, 'p> {
    leaves: &'a [Option<Leaf<'p>>],
    key: &'a [u8],
}

impl WithSearch for ComeNearer<'_, '_> {
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
