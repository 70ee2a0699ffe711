//! Marks all pages of a tree as dead: of a dropped table, or of a run that was merged.

use crate::error::Result;
use crate::format::{Cell, CellKey, CellValue, Child, LeafView};
use crate::pager::{PageWriter, Pages};
use crate::tree::root::{Root, branch_at};

/// Marks all pages of a tree as dead from the writer's operation on. Leaves without overflow are not read.
///
/// `step` is called repeatedly; its error ends the walk. After any error abort the operation.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io), those of `step`.
pub fn remove(
    pages: &Pages,
    root: &Root,
    writer: &mut PageWriter<'_>,
    step: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    Removal { pages, writer, step, keeps_values: false }.whole(root)
}

/// As [`remove`], except for long values, which belong to another tree now.
///
/// # Errors
/// As [`remove`].
pub(in crate::tree) fn remove_but_values(
    pages: &Pages,
    root: &Root,
    writer: &mut PageWriter<'_>,
    step: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    Removal { pages, writer, step, keeps_values: true }.whole(root)
}

struct Removal<'r, 's> {
    pages: &'r Pages,
    writer: &'r mut PageWriter<'s>,
    step: &'r mut dyn FnMut() -> Result<()>,
    keeps_values: bool,
}

impl Removal<'_, '_> {
    fn whole(&mut self, root: &Root) -> Result<()> {
        self.node(Child { page: root.page, has_overflow: root.has_overflow }, root.level)
    }

    fn node(&mut self, child: Child, level: u8) -> Result<()> {
        // A page that is reached twice is refused here, so that no damaged tree makes this walk longer than its file.
        self.writer.kill_page(child.page)?;
        if level == 0 && !child.has_overflow {
            return Ok(());
        }
        (self.step)()?;
        let pages = self.pages;
        let page = pages.page(child.page)?;
        if level == 0 {
            let leaf = page.leaf();
            let leaf = leaf.ok_or_else(|| pages.misfit(child.page, "the page is not a leaf, as its parent says"))?;
            return match leaf {
                LeafView::Tagged(leaf) => leaf.cells(0..leaf.count()).try_for_each(|cell| self.overflows(&cell)),
                LeafView::Packed(leaf) => {
                    let entries = leaf.unpack(0..leaf.count());
                    (0..entries.len()).try_for_each(|index| self.overflows(&entries.cell(index)))
                }
            };
        }
        let branch = branch_at(pages, &page, child.page, level)?;
        let mut buffer = Vec::new();
        for index in 0..branch.separator_count() {
            if let CellKey::Overflow { at, .. } = branch.separator(index, &mut buffer) {
                self.writer.kill_value(&at)?;
            }
        }
        (0..branch.children()).try_for_each(|index| self.node(branch.child(index), level - 1))
    }

    fn overflows(&mut self, cell: &Cell<'_>) -> Result<()> {
        if let CellKey::Overflow { at, .. } = cell.key {
            self.writer.kill_value(&at)?;
        }
        if let (CellValue::Overflow(at), false) = (cell.value, self.keeps_values) {
            self.writer.kill_value(&at)?;
        }
        Ok(())
    }
}
