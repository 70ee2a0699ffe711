//! Counting by the counts in branches: two descents, however many entries are between the bounds.

use std::ops::Bound;

use crate::error::Result;
use crate::format::{Search, WithSearch, with_search};
use crate::pager::Pages;
use crate::tree::root::{Root, branch_at, leaf_at};

/// Net number of entries between two bounds: exact, in O(log n).
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
pub fn count(pages: &Pages, root: &Root, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<u64> {
    let net = net_between(pages, root, low, high, |root| Ok(root.entries as i64))?;
    // Crossed bounds contain nothing; counts that a damaged file contradicts are taken as none.
    Ok(u64::try_from(net).unwrap_or(0))
}

/// What the entries of a run between two bounds, which do not cross, add to the count of the layers below.
///
/// # Errors
/// As [`count`].
pub fn count_net(pages: &Pages, root: &Root, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<i64> {
    net_between(pages, root, low, high, |root| total(pages, root))
}

fn net_between(
    pages: &Pages,
    root: &Root,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    all: impl Fn(&Root) -> Result<i64>,
) -> Result<i64> {
    let before = match low {
        Bound::Unbounded => 0,
        Bound::Included(key) => rank(pages, root, Side::Below(key))?,
        Bound::Excluded(key) => rank(pages, root, Side::UpTo(key))?,
    };
    let until = match high {
        Bound::Unbounded => all(root)?,
        Bound::Included(key) => rank(pages, root, Side::UpTo(key))?,
        Bound::Excluded(key) => rank(pages, root, Side::Below(key))?,
    };
    Ok(until.saturating_sub(before))
}

/// The sum of all entries.
fn total(pages: &Pages, root: &Root) -> Result<i64> {
    let page = pages.page(root.page)?;
    if root.level == 0 {
        return Ok(leaf_at(pages, page, root.page)?.leaf().net_count());
    }
    let branch = branch_at(pages, &page, root.page, root.level)?;
    Ok(branch.count_of(0..branch.children()))
}

/// Which entries come before a place.
#[derive(Clone, Copy, Debug)]
enum Side<'a> {
    /// Those with smaller keys.
    Below(&'a [u8]),
    /// Those with keys at most this.
    UpTo(&'a [u8]),
}

/// Net number of entries on one side of a place.
fn rank(pages: &Pages, root: &Root, side: Side<'_>) -> Result<i64> {
    with_search(Rank { pages, root, side })
}

struct Rank<'a> {
    pages: &'a Pages,
    root: &'a Root,
    side: Side<'a>,
}

impl WithSearch for Rank<'_> {
    type Output = Result<i64>;

    #[inline(always)]
    fn run<S: Search>(self) -> Result<i64> {
        let Self { pages, root, side } = self;
        let (Side::Below(key) | Side::UpTo(key)) = side;
        let mut at = root.page;
        let mut sum = 0i64;
        for level in (1..=root.level).rev() {
            let page = pages.page(at)?;
            let branch = branch_at(pages, &page, at, level)?;
            let index = branch.route::<S, Pages>(key, pages)?;
            sum = sum.saturating_add(branch.count_of(0..index));
            at = branch.child(index).page;
        }
        let page = leaf_at(pages, pages.page(at)?, at)?;
        let leaf = page.leaf();
        let index = match side {
            Side::Below(_) => leaf.lower_bound::<S, Pages>(key, pages)?,
            Side::UpTo(_) => leaf.upper_bound::<S, Pages>(key, pages)?,
        };
        Ok(sum.saturating_add(leaf.net_before(index)))
    }
}
