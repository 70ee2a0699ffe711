//! Point reads of many keys, with overlapping cache misses.

use crate::error::Result;
use crate::format::{Candidate, INLINE_KEY_BYTES_MAX, Leaf, LeafView, Search, WithSearch, with_search};
use crate::ids::PageRef;
use crate::pager::{Page, Pages, Value};
use crate::tree::root::{Root, branch_at};

use super::base::Base;
use super::find::{packed_value, value_of};
use super::shortcut::Shortcut;

/// The values of many keys, into `values` at the same places. `hashes` are the identity's hashes of `keys`.
///
/// # Errors
/// As [`get`](super::get).
///
/// # Panics
/// If the three slices differ in length.
pub fn get_many<'p>(
    pages: &'p Pages,
    base: &Base,
    keys: &[&[u8]],
    hashes: &[u64],
    values: &mut [Option<Value<'p>>],
) -> Result<()> {
    assert!(keys.len() == hashes.len(), "each key has a hash");
    assert!(keys.len() == values.len(), "each key has a place for its value");
    with_search(GetMany { pages, base, keys, hashes, values })
}

struct GetMany<'a, 'p> {
    pages: &'p Pages,
    base: &'a Base,
    keys: &'a [&'a [u8]],
    hashes: &'a [u64],
    values: &'a mut [Option<Value<'p>>],
}

impl WithSearch for GetMany<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Search>(self) -> Result<()> {
        let groups = self.keys.chunks(IN_FLIGHT).zip(self.hashes.chunks(IN_FLIGHT));
        for ((keys, hashes), values) in groups.zip(self.values.chunks_mut(IN_FLIGHT)) {
            get_group::<S>(self.pages, self.base, keys, hashes, values)?;
        }
        Ok(())
    }
}

/// One group in lockstep: in each pass every key takes one step, and prefetches the lines that its next step reads.
///
/// Requires: at most [`IN_FLIGHT`] keys, and as many hashes and values.
#[inline(always)]
fn get_group<'p, S: Search>(
    pages: &'p Pages,
    base: &Base,
    keys: &[&[u8]],
    hashes: &[u64],
    values: &mut [Option<Value<'p>>],
) -> Result<()> {
    let mut at = [base.page; IN_FLIGHT];
    match base.shortcut() {
        Some(shortcut) => follow::<S>(shortcut, pages, base, keys, &mut at)?,
        None => {
            descend::<S>(pages, base, keys, &mut at)?;
            hashes.iter().filter(|&&hash| Base::is_counted(hash)).for_each(|_| base.count_get(pages));
        }
    }
    let mut leaves: [Option<Page<'p>>; IN_FLIGHT] = [const { None }; IN_FLIGHT];
    for (at, leaf) in at.iter().zip(&mut leaves).take(keys.len()) {
        let page = pages.page(*at)?;
        Leaf::prefetch_page(page.bytes());
        *leaf = Some(page);
    }
    let mut candidates: [Option<Candidate<'_>>; IN_FLIGHT] = [None; IN_FLIGHT];
    for (index, (key, hash)) in keys.iter().zip(hashes).enumerate() {
        candidates[index] = candidate::<S>(pages, at[index], leaves[index].as_ref(), key, *hash)?;
    }
    for (index, value) in values.iter_mut().enumerate() {
        *value = None;
        let Some(page) = &leaves[index] else { continue };
        let (key, hash) = (keys[index], hashes[index]);
        let leaf = match page.leaf() {
            Some(LeafView::Packed(packed)) => {
                *value = packed_value(pages, page, packed, key)?;
                continue;
            }
            Some(LeafView::Tagged(leaf)) => leaf,
            None => continue,
        };
        let cell = match candidates[index] {
            Some(candidate) => leaf.confirm::<S>(candidate, key, hash),
            // Tags alone cannot find a long key.
            None if key.len() > INLINE_KEY_BYTES_MAX => leaf.find::<S>(key, hash),
            None => None,
        };
        *value = value_of::<S>(pages, page, key, cell)?;
    }
    Ok(())
}

/// The pages of the leaves of some keys, by a shortcut.
#[inline(always)]
fn follow<S: Search>(
    shortcut: &Shortcut,
    pages: &Pages,
    root: &Root,
    keys: &[&[u8]],
    at: &mut [PageRef; IN_FLIGHT],
) -> Result<()> {
    for (key, at) in keys.iter().zip(at) {
        *at = shortcut.leaf_of::<S>(key);
        if at.is_nowhere() {
            *at = root.place_of::<S>(pages, key)?;
        }
    }
    Ok(())
}

/// The pages of the leaves of some keys, by the branches, level by level.
#[inline(always)]
fn descend<S: Search>(pages: &Pages, root: &Root, keys: &[&[u8]], at: &mut [PageRef; IN_FLIGHT]) -> Result<()> {
    for level in (1..=root.level).rev() {
        for (key, at) in keys.iter().zip(at.iter_mut()) {
            let page = pages.page(*at)?;
            let branch = branch_at(pages, &page, *at, level)?;
            *at = branch.child(branch.route::<S, Pages>(key, pages)?).page;
            if level > 1 {
                pages.prefetch(*at);
            }
        }
    }
    Ok(())
}

/// The first candidate for a key in its leaf; none in a packed one.
#[inline(always)]
fn candidate<'l, S: Search>(
    pages: &Pages,
    at: PageRef,
    page: Option<&'l Page<'_>>,
    key: &[u8],
    hash: u64,
) -> Result<Option<Candidate<'l>>> {
    match page.and_then(Page::leaf) {
        Some(LeafView::Tagged(leaf)) => Ok(leaf.candidate::<S>(key, hash)),
        Some(LeafView::Packed(_)) => Ok(None),
        None => Err(pages.misfit(at, "the page is not a leaf, as its parent says")),
    }
}

/// Keys in progress at once: more than a processor's line buffers gain nothing, and the lines of their leaves must
/// stay in its cache.
const IN_FLIGHT: usize = 32;
