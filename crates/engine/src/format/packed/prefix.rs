//! The keys of a packed leaf that begin with the same bytes, found by one search.
//!
//! The length that an entry shares with the one before shows whether it still has the prefix: only the first entry of
//! a block is compared, and no end is searched for.

use crate::format::packed::key_suffix::KeySuffix;
use crate::format::packed::layout::BLOCK_ENTRIES;
use crate::format::packed::view::{PackedLeaf, Stored};

/// Why a walk over the keys of a leaf that begin with a prefix ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixEnd {
    /// The next key does not begin with the prefix.
    Passed,
    /// As many keys as requested were returned. There may be more.
    Enough,
    /// It was the leaf's last key. The next leaf may have more.
    Leaf,
}

impl PackedLeaf<'_> {
    /// Passes at most `most` keys that begin with `prefix` to `each`, in order and the first one whole. Returns how
    /// many there were, and why the walk ended.
    #[inline]
    pub fn for_each_with_prefix(
        self,
        prefix: &[u8],
        most: usize,
        mut each: impl FnMut(KeySuffix<'_>),
    ) -> (usize, PrefixEnd) {
        let place = self.place_of(prefix);
        if place.index == self.count() {
            return (0, PrefixEnd::Leaf);
        }
        let first = self.stored(place.at);
        // The first entry shares with the prefix what it shares with the entry before it.
        let shared = &prefix[..first.shared];
        if !self.rest(&first).starts_with(&prefix[first.shared..]) {
            return (0, PrefixEnd::Passed);
        }
        if most == 0 {
            return (0, PrefixEnd::Enough);
        }
        self.emit_first(shared, &first, &mut each);
        let (mut given, mut at) = (1, first.end());
        for index in place.index + 1..self.count() {
            let stored = self.stored(at);
            let begins_a_block = index.is_multiple_of(BLOCK_ENTRIES);
            if stored.shared < prefix.len() && !(begins_a_block && self.rest(&stored).starts_with(prefix)) {
                return (given, PrefixEnd::Passed);
            }
            if given == most {
                return (given, PrefixEnd::Enough);
            }
            let rest = stored.rest_at..stored.rest_at + stored.rest_length;
            each(KeySuffix::within(stored.shared, self.page(), rest));
            (given, at) = (given + 1, stored.end());
        }
        (given, PrefixEnd::Leaf)
    }

    /// Assembles the first key, which begins with `shared`.
    #[inline]
    fn emit_first(self, shared: &[u8], first: &Stored, each: &mut impl FnMut(KeySuffix<'_>)) {
        let rest = self.rest(first);
        let length = shared.len() + rest.len();
        let mut short = [0; SHORT_KEY_BYTES];
        if length > SHORT_KEY_BYTES {
            return each(KeySuffix::whole(&[shared, rest].concat()));
        }
        short[..shared.len()].copy_from_slice(shared);
        short[shared.len()..length].copy_from_slice(rest);
        each(KeySuffix::within(0, &short, 0..length));
    }
}

/// A key of at most this length is assembled without an allocation.
const SHORT_KEY_BYTES: usize = 64;
