//! The root of a tree, and the general descent from it.
//!
//! Invariant: levels strictly fall during a descent, from at most [`LEVEL_MAX`], so that no file makes a descent
//! loop. A page whose level does not fit its parent's is [`Error::Corrupt`](crate::Error::Corrupt).

use crate::error::Result;
use crate::format::{Branch, LEVEL_MAX, Leaf, Search};
use crate::ids::PageRef;
use crate::pager::{LeafPage, Page, Pages};

/// An immutable tree, by its root. An empty tree has none: it is `Option<Root>::None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The root page.
    pub page: PageRef,
    /// Its height above the leaves: 0 if it is a leaf.
    pub level: u8,
    /// Net number of entries.
    pub entries: u64,
    /// Whether some key or value is in an overflow. `true` is always safe.
    pub has_overflow: bool,
}

impl Root {
    /// The leaf to which `key` belongs. Prefetches its first lines.
    #[inline(always)]
    pub(super) fn leaf_of<'p, S: Search>(&self, pages: &'p Pages, key: &[u8]) -> Result<LeafPage<'p>> {
        let at = self.place_of::<S>(pages, key)?;
        let page = pages.page(at)?;
        Leaf::prefetch_page(page.bytes());
        leaf_at(pages, page, at)
    }

    /// Where the leaf is to which `key` belongs.
    #[inline(always)]
    pub(super) fn place_of<S: Search>(&self, pages: &Pages, key: &[u8]) -> Result<PageRef> {
        let mut at = self.page;
        let mut level = self.level;
        while level > 0 {
            let page = pages.page(at)?;
            let branch = branch_at(pages, &page, at, level)?;
            at = branch.child(branch.route::<S, Pages>(key, pages)?).page;
            level -= 1;
        }
        Ok(at)
    }
}

/// The page as a branch of this level.
#[inline(always)]
pub(super) fn branch_at<'a>(pages: &Pages, page: &'a Page<'_>, at: PageRef, level: u8) -> Result<Branch<'a>> {
    match page.branch() {
        Some(branch) if branch.level() == level && level <= LEVEL_MAX => Ok(branch),
        _ => Err(pages.misfit(at, "the page is not a branch of the level that its parent says")),
    }
}

/// The page as a leaf.
#[inline(always)]
pub(super) fn leaf_at<'p>(pages: &Pages, page: Page<'p>, at: PageRef) -> Result<LeafPage<'p>> {
    match page.into_leaf() {
        Some(leaf) => Ok(leaf),
        None => Err(pages.misfit(at, "the page is not a leaf, as its parent says")),
    }
}
