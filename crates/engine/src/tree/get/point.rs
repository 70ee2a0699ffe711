//! Point reads of one key.
//!
//! [`get`] tries the fast path first. It takes the slow path where a page is not mapped and verified, where a value
//! or key is long, or where the get has to be counted. The whole descent runs inside one `look_up` or `with_search`,
//! so that the instruction set is chosen once for each call.

use crate::error::Result;
use crate::format::{Found, Leaf, LeafView, Search, WithSearch, look_up, with_search};
use crate::pager::{Pages, Value};
use crate::tree::root::Root;

use super::base::Base;
use super::descent::InLeaf;
use super::fast::{FastDescent, FastGet, LayersAbove};
use super::find::{packed_value, value_of};

/// The value of `key`, if the tree has one.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
#[inline(always)]
pub fn get<'p>(pages: &'p Pages, base: &Base, key: &[u8]) -> Result<Option<Value<'p>>> {
    match get_fast(pages, base, key).settled() {
        Some(value) => Ok(value.map(Value::from)),
        None => get_slow(pages, base, key, None),
    }
}

/// Not inlined, and consists only of jumps to searches, which take its arguments and return its result. So it saves
/// no registers, and callers contain one call instead of one for each search.
#[inline(never)]
fn get_fast<'p>(pages: &'p Pages, base: &Base, key: &[u8]) -> Found<'p> {
    match base.shortcut() {
        Some(shortcut) => look_up::<FastGet, _, _>(pages, shortcut, key),
        None => look_up::<FastGet, _, _>(pages, base, key),
    }
}

/// The result of the fast path of [`get`], unless `above` may have the key.
#[inline(always)]
pub fn get_unless_above<'p, A: LayersAbove>(pages: &'p Pages, base: &Base, above: &A, key: &[u8]) -> Found<'p> {
    match base.shortcut() {
        Some(shortcut) => look_up::<FastGet, _, _>(pages, (shortcut, above), key),
        None => look_up::<FastGet, _, _>(pages, (base, above), key),
    }
}

/// The leaf to which `key` belongs, if the fast descent finds it. Prefetches its first lines: for callers that wait
/// for other memory before they read the leaf.
#[inline]
pub fn prefetch_leaf<'p>(pages: &'p Pages, base: &Base, key: &[u8]) -> Option<Leaf<'p>> {
    match base.shortcut() {
        Some(shortcut) => look_up::<FastDescent, _, _>(pages, shortcut, key),
        None => look_up::<FastDescent, _, _>(pages, base, key),
    }
}

/// As [`get`], from the leaf that [`prefetch_leaf`] returned, if it did, given the identity's hash of `key`.
///
/// # Errors
/// As [`get`].
#[inline]
pub fn get_prefetched<'p>(
    pages: &'p Pages,
    base: &Base,
    leaf: Option<Leaf<'p>>,
    key: &[u8],
    hash: u64,
) -> Result<Option<Value<'p>>> {
    let found = match leaf {
        // The descent to the leaf counted nothing.
        Some(_) if base.shortcut().is_none() && Base::is_counted(hash) => Found::UNCLEAR,
        Some(leaf) => look_up::<InLeaf, _, _>(leaf, hash, key),
        None => match base.shortcut() {
            Some(shortcut) => look_up::<FastGet, _, _>(pages, (shortcut, hash), key),
            None => look_up::<FastGet, _, _>(pages, (base, hash), key),
        },
    };
    match found.settled() {
        Some(value) => Ok(value.map(Value::from)),
        None => get_slow(pages, base, key, Some(hash)),
    }
}

/// The general path. Not inlined, so that it takes no room in the fast path.
#[inline(never)]
fn get_slow<'p>(pages: &'p Pages, base: &Base, key: &[u8], hash: Option<u64>) -> Result<Option<Value<'p>>> {
    let hash = hash.unwrap_or_else(|| pages.identity().hash(key));
    if Base::is_counted(hash) {
        base.count_get(pages);
    }
    with_search(Get { pages, root: base, key, hash })
}

struct Get<'a, 'p> {
    pages: &'p Pages,
    root: &'a Root,
    key: &'a [u8],
    hash: u64,
}

impl<'p> WithSearch for Get<'_, 'p> {
    type Output = Result<Option<Value<'p>>>;

    #[inline(always)]
    fn run<S: Search>(self) -> Self::Output {
        let leaf = self.root.leaf_of::<S>(self.pages, self.key)?;
        match leaf.leaf() {
            LeafView::Tagged(tagged) => {
                value_of::<S>(self.pages, leaf.page(), self.key, tagged.find::<S>(self.key, self.hash))
            }
            LeafView::Packed(packed) => packed_value(self.pages, leaf.page(), packed, self.key),
        }
    }
}
