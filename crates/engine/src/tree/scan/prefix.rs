//! The keys of a packed tree that begin with the same bytes, by the fast descent: for callers that often read a few
//! keys.

use crate::format::{KeySuffix, PrefixEnd, look_up};
use crate::pager::Pages;
use crate::tree::get::PlaceOfLeaf;
use crate::tree::root::Root;

/// How far the keys of a prefix were read.
#[derive(Debug)]
pub enum PrefixRead {
    /// All of them.
    Whole,
    /// As many as requested; there may be more.
    Enough,
    /// This many, up to this key, which is the last of a leaf; without a key, none. There may be more.
    UpTo(usize, Option<Vec<u8>>),
}

/// Passes at most `most` keys that begin with `prefix` to `each`, in order and the first one whole, and none beyond
/// one leaf. `None`, without a call of `each`, if the fast descent does not find the leaf.
#[inline]
pub fn read_prefix(
    pages: &Pages,
    root: &Root,
    prefix: &[u8],
    most: usize,
    each: impl FnMut(KeySuffix<'_>),
) -> Option<PrefixRead> {
    let at = look_up::<PlaceOfLeaf, _, _>(pages, root, prefix)?;
    let leaf = pages.verified()?.packed_leaf(at)?;
    let (given, end) = leaf.for_each_with_prefix(prefix, most, each);
    Some(match end {
        PrefixEnd::Passed => PrefixRead::Whole,
        PrefixEnd::Enough => PrefixRead::Enough,
        PrefixEnd::Leaf if given == 0 => PrefixRead::UpTo(0, None),
        PrefixEnd::Leaf => {
            let mut last = Vec::new();
            leaf.key(leaf.count() - 1, &mut last);
            PrefixRead::UpTo(given, Some(last))
        }
    })
}
