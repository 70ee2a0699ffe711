//! Marks all pages of a tree as dead: a dropped table.

use crate::error::Result;
use crate::format::{CellKey, CellValue, Child, Leaf};
use crate::pager::{PageWriter, Pages};

use super::root::{Root, branch_at};

/// Marks all pages of a tree as dead from the writer's operation on. Leaves without overflow are not read.
///
/// `step` is called now and then; its error ends the walk. After any error abort the operation.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io), those of `step`.
pub fn remove(
    pages: &Pages,
    root: &Root,
    writer: &mut PageWriter<'_>,
    step: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let child = Child { page: root.page, has_overflow: root.has_overflow };
    remove_node(pages, child, root.level, writer, step)
}

fn remove_node(
    pages: &Pages,
    child: Child,
    level: u8,
    writer: &mut PageWriter<'_>,
    step: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    // A page that is reached twice is refused here, so that no damaged tree makes this walk longer than its file.
    writer.kill_page(child.page)?;
    if level == 0 && !child.has_overflow {
        return Ok(());
    }
    step()?;
    let page = pages.page(child.page)?;
    if level == 0 {
        let leaf = page.leaf();
        let leaf = leaf.ok_or_else(|| pages.misfit(child.page, "the page is not a leaf, as its parent says"))?;
        return remove_overflows(leaf, writer);
    }
    let branch = branch_at(pages, &page, child.page, level)?;
    let mut buffer = Vec::new();
    for index in 0..branch.separator_count() {
        if let CellKey::Overflow { at, .. } = branch.separator(index, &mut buffer) {
            writer.kill_value(&at)?;
        }
    }
    for index in 0..branch.children() {
        remove_node(pages, branch.child(index), level - 1, writer, step)?;
    }
    Ok(())
}

fn remove_overflows(leaf: Leaf<'_>, writer: &mut PageWriter<'_>) -> Result<()> {
    for cell in leaf.cells(0..leaf.count()) {
        if let CellKey::Overflow { at, .. } = cell.key {
            writer.kill_value(&at)?;
        }
        if let CellValue::Overflow(at) = cell.value {
            writer.kill_value(&at)?;
        }
    }
    Ok(())
}
