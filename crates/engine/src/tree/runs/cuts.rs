//! Keys that cut a tree into parts of about equal size.

use crate::error::Result;
use crate::format::{Branch, CellKey, INLINE_KEY_BYTES_MAX};
use crate::pager::Pages;
use crate::tree::root::{Root, branch_at};

/// Keys that cut a tree into about `parts` parts of equal size, by its upper separators: all above `low` and below
/// `high`. Long separators are not used as cuts, because the catalog has all cuts in memory and in one piece.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
pub fn cuts(
    pages: &Pages,
    root: &Root,
    (low, high): (Option<&[u8]>, Option<&[u8]>),
    parts: usize,
) -> Result<Vec<Box<[u8]>>> {
    let mut nodes = vec![Node { low: None, root: *root }];
    while nodes.len() < parts.saturating_mul(NODES_PER_PART) && nodes.first().is_some_and(|node| node.root.level > 0) {
        let mut children = Vec::new();
        for node in &nodes {
            node.open(pages, &mut children)?;
        }
        // Subtrees outside the bounds would be counted too.
        let end =
            high.map_or(children.len(), |high| children.partition_point(|node| node.begins(|begins| begins < high)));
        let start =
            low.map_or(0, |low| children.partition_point(|node| node.begins(|begins| begins <= low)).saturating_sub(1));
        nodes = children.drain(start.min(end)..end).collect();
    }
    let total = nodes.iter().fold(0, |total: u64, node| total.saturating_add(node.root.entries));
    let (mut before, mut cuts) = (0_u64, Vec::<Box<[u8]>>::new());
    for node in nodes {
        let is_due = before >= (cuts.len() as u64 + 1).saturating_mul(total.div_ceil(parts as u64));
        if let Some(key) = node.low.filter(|_| is_due)
            && low.unwrap_or_default() < &*key
            && key.len() <= INLINE_KEY_BYTES_MAX
            && high.is_none_or(|high| &*key < high)
            // Separators of different pages may be in any order in a damaged tree.
            && cuts.last().is_none_or(|last| *last < key)
        {
            cuts.push(key);
        }
        before = before.saturating_add(node.root.entries);
    }
    Ok(cuts)
}

/// A subtree, and the separator before it.
struct Node {
    low: Option<Box<[u8]>>,
    root: Root,
}

impl Node {
    /// Whether it begins before all keys, or its first key has this property.
    fn begins(&self, has: impl FnOnce(&[u8]) -> bool) -> bool {
        self.low.as_deref().is_none_or(has)
    }

    /// Adds its children.
    fn open(&self, pages: &Pages, children: &mut Vec<Self>) -> Result<()> {
        let Root { page: at, level, .. } = self.root;
        let page = pages.page(at)?;
        let branch = branch_at(pages, &page, at, level)?;
        for index in 0..branch.children() {
            let low = match index.checked_sub(1) {
                Some(before) => Some(separator(pages, branch, before)?),
                None => self.low.clone(),
            };
            let child = branch.child(index);
            let entries = u64::try_from(branch.count(index)).unwrap_or(0);
            let root = Root { page: child.page, level: level - 1, entries, has_overflow: child.has_overflow };
            children.push(Self { low, root });
        }
        Ok(())
    }
}

/// A whole separator.
fn separator(pages: &Pages, branch: Branch<'_>, index: usize) -> Result<Box<[u8]>> {
    let mut buffer = Vec::new();
    Ok(match branch.separator(index, &mut buffer) {
        CellKey::Inline(key) => key.into(),
        CellKey::Overflow { at, .. } => (*pages.value(&at)?).into(),
    })
}

/// A part has at most about this many subtrees.
const NODES_PER_PART: usize = 8;
