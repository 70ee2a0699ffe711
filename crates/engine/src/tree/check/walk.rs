//! Walks all of a tree and proves it sound: structure, order, counts, and every byte's checksum.
//!
//! The walk reports each fault and continues, so that one damaged page hides no other.

use crate::error::{Error, Result};
use crate::format::{Branch, Cell, CellKey, CellValue, Child, Leaf, LeafView, OverflowRef, PackedLeaf};
use crate::ids::PageRef;
use crate::pager::Pages;
use crate::tree::root::{Root, branch_at};

/// Receives the findings of a check.
pub trait CheckVisitor {
    /// These pages belong to the tree. `false` if some were reached before: the check reports it and goes no deeper.
    fn reached(&mut self, at: PageRef, pages: u32) -> bool;

    /// Something is wrong.
    fn fault(&mut self, error: Error);

    /// A sound leaf with tags.
    fn leaf(&mut self, _leaf: Leaf<'_>) {}

    /// A sound packed leaf.
    fn packed_leaf(&mut self, _at: PageRef) {}
}

/// What a tree consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSummary {
    /// Entries that are not deletes.
    pub entries: u64,
    /// Leaves.
    pub leaves: u64,
    /// Branches.
    pub branches: u64,
    /// Pages of long keys, values and separators.
    pub value_pages: u64,
    /// Bytes of all keys.
    pub key_bytes: u64,
    /// Bytes of all values.
    pub value_bytes: u64,
}

/// Checks a tree.
pub fn check(pages: &Pages, root: &Root, visitor: &mut dyn CheckVisitor) -> TreeSummary {
    let count = i64::try_from(root.entries).unwrap_or(i64::MAX);
    check_between(pages, root, count, (None, None), visitor)
}

/// Checks a tree that counts so many entries, all of whose keys are at least the first of these, and below the second.
pub(in crate::tree) fn check_between(
    pages: &Pages,
    root: &Root,
    count: i64,
    (low, high): (Option<&[u8]>, Option<&[u8]>),
    visitor: &mut dyn CheckVisitor,
) -> TreeSummary {
    let mut walk = Walk { pages, visitor, summary: TreeSummary::default() };
    let child = Child { page: root.page, has_overflow: root.has_overflow };
    walk.node(&Expected { child, level: root.level, count, low, high });
    walk.summary
}

struct Walk<'a> {
    pages: &'a Pages,
    visitor: &'a mut dyn CheckVisitor,
    summary: TreeSummary,
}

/// What the parent says of a node.
struct Expected<'k> {
    child: Child,
    level: u8,
    count: i64,
    low: Option<&'k [u8]>,
    high: Option<&'k [u8]>,
}

impl Walk<'_> {
    fn node(&mut self, expected: &Expected<'_>) {
        if let Err(error) = self.try_node(expected) {
            self.visitor.fault(error);
        }
    }

    fn try_node(&mut self, expected: &Expected<'_>) -> Result<()> {
        let at = expected.child.page;
        if !self.visitor.reached(at, 1) {
            return Err(self.pages.misfit(at, "the page is referred to more than once"));
        }
        self.pages.verify_again(at)?;
        let page = self.pages.page(at)?;
        if expected.level > 0 {
            return self.branch(branch_at(self.pages, &page, at, expected.level)?, expected);
        }
        match page.leaf() {
            Some(leaf) => self.leaf(leaf, expected),
            None => Err(self.pages.misfit(at, "the page is not a leaf, as its parent says")),
        }
    }

    fn branch(&mut self, branch: Branch<'_>, expected: &Expected<'_>) -> Result<()> {
        let at = expected.child.page;
        self.summary.branches += 1;
        if branch.count_of(0..branch.children()) != expected.count {
            self.fault(at, "the children's counts do not add up to what the parent says");
        }
        let (mut low, mut high) = (expected.low.map(<[u8]>::to_vec), Vec::new());
        for index in 0..branch.children() {
            let is_last = index == branch.separator_count();
            if !is_last {
                if let CellKey::Overflow { at, .. } = branch.separator(index, &mut high) {
                    self.overflow(&at)?;
                    high.clear();
                    high.extend_from_slice(&self.pages.value(&at)?);
                }
                if low.as_ref().is_some_and(|low| *low >= high) || expected.high.is_some_and(|end| *high >= *end) {
                    self.fault(at, "separators are out of order, or not between those of the parent");
                }
            }
            let child = branch.child(index);
            if child.has_overflow && !expected.child.has_overflow {
                self.fault(at, "the parent says that there is no overflow below");
            }
            self.node(&Expected {
                child,
                level: expected.level - 1,
                count: branch.count(index),
                low: low.as_deref(),
                high: if is_last { expected.high } else { Some(&high) },
            });
            std::mem::swap(low.get_or_insert_default(), &mut high);
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: LeafView<'_>, expected: &Expected<'_>) -> Result<()> {
        let at = expected.child.page;
        self.summary.leaves += 1;
        if leaf.net_count() != expected.count {
            self.fault(at, "the leaf's count is not what the parent says");
        }
        if leaf.has_overflow() && !expected.child.has_overflow {
            self.fault(at, "the parent says that there is no overflow in the leaf");
        }
        if let Some(low) = expected.low
            && leaf.compare(0, low, self.pages)?.is_lt()
        {
            self.fault(at, "the first key is below the parent's separator");
        }
        if let Some(high) = expected.high
            && leaf.compare(leaf.count() - 1, high, self.pages)?.is_ge()
        {
            self.fault(at, "the last key is above the parent's separator");
        }
        match leaf {
            LeafView::Tagged(leaf) => self.cells(leaf, at),
            LeafView::Packed(leaf) => {
                self.packed_cells(leaf)?;
                self.visitor.packed_leaf(at);
                Ok(())
            }
        }
    }

    fn packed_cells(&mut self, leaf: PackedLeaf<'_>) -> Result<()> {
        // Order was seen when the page was verified: no key is long.
        let entries = leaf.unpack(0..leaf.count());
        (0..entries.len()).try_for_each(|index| self.cell(&entries.cell(index)))
    }

    fn cells(&mut self, leaf: Leaf<'_>, at: PageRef) -> Result<()> {
        let mut previous: Option<Cell<'_>> = None;
        for (index, cell) in leaf.cells(0..leaf.count()).enumerate() {
            self.cell(&cell)?;
            // Shorter keys were compared when the page was verified.
            if let Some(Cell { key: CellKey::Overflow { at: before, .. }, .. }) = previous
                && cell.key.is_overflow()
                && leaf.compare(index, &self.pages.value(&before)?, self.pages)?.is_le()
            {
                self.fault(at, "long keys are out of order");
            }
            previous = Some(cell);
        }
        self.visitor.leaf(leaf);
        Ok(())
    }

    fn cell(&mut self, cell: &Cell<'_>) -> Result<()> {
        self.summary.entries += u64::from(!cell.op.is_delete());
        self.summary.key_bytes += cell.key.key_length() as u64;
        if let CellKey::Overflow { at, .. } = &cell.key {
            self.overflow(at)?;
        }
        match &cell.value {
            CellValue::Inline(value) => self.summary.value_bytes += value.len() as u64,
            CellValue::Overflow(at) => {
                self.summary.value_bytes += u64::from(at.length);
                self.overflow(at)?;
            }
        }
        Ok(())
    }

    fn overflow(&mut self, at: &OverflowRef) -> Result<()> {
        let pages = self.pages.file().pages_of(at.length);
        self.summary.value_pages += u64::from(pages);
        self.pages.verify_value_again(at)?;
        if !self.visitor.reached(at.page(), pages) {
            self.fault(at.page(), "the pages of a long key or value are referred to more than once");
        }
        Ok(())
    }

    fn fault(&mut self, at: PageRef, what: &str) {
        let error = self.pages.misfit(at, what);
        self.visitor.fault(error);
    }
}
