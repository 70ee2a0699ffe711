//! The entry of a key in its leaf, whichever form the leaf has and however long the key is.

use crate::error::Result;
use crate::format::{
    Cell, CellKey, CellValue, INLINE_KEY_BYTES_MAX, Leaf, LeafView, Op, PackedLeaf, Search, WithSearch,
};
use crate::pager::{Page, Pages, Value};
use crate::tree::root::Root;

/// Finds the cell of `key`, deletes included, in the leaf to which the key belongs, and passes both to `then`.
pub(in crate::tree) struct FindCell<'a, 'p, F> {
    pub(in crate::tree) pages: &'p Pages,
    pub(in crate::tree) root: &'a Root,
    pub(in crate::tree) key: &'a [u8],
    pub(in crate::tree) hash: u64,
    /// Computes the result from the leaf and the cell.
    pub(in crate::tree) then: F,
}

impl<'p, R, F: FnOnce(&Page<'p>, Option<Cell<'_>>) -> Result<R>> WithSearch for FindCell<'_, 'p, F> {
    type Output = Result<R>;

    #[inline(always)]
    fn run<S: Search>(self) -> Self::Output {
        let leaf = self.root.leaf_of::<S>(self.pages, self.key)?;
        let tagged = match leaf.leaf() {
            LeafView::Tagged(tagged) => tagged,
            LeafView::Packed(packed) => return (self.then)(leaf.page(), packed_cell(packed, self.key)),
        };
        let mut cell = tagged.find::<S>(self.key, self.hash);
        if self.key.len() > INLINE_KEY_BYTES_MAX
            && let Some(found) = cell
        {
            cell = cell_of_long_key::<S>(self.pages, tagged, self.key, found)?;
        }
        (self.then)(leaf.page(), cell)
    }
}

/// The entry of a key in a packed leaf, as a cell.
fn packed_cell<'l>(leaf: PackedLeaf<'l>, key: &'l [u8]) -> Option<Cell<'l>> {
    Some(Cell { op: Op::PutNew, key: CellKey::Inline(key), value: leaf.find(key)? })
}

/// The value of a key in a packed leaf, which is in `page`.
#[inline]
pub(in crate::tree) fn packed_value<'p>(
    pages: &'p Pages,
    page: &Page<'p>,
    leaf: PackedLeaf<'_>,
    key: &[u8],
) -> Result<Option<Value<'p>>> {
    match leaf.find(key) {
        None => Ok(None),
        Some(CellValue::Inline(value)) => Ok(Some(page.value(value))),
        Some(CellValue::Overflow(at)) => pages.value(&at).map(Some),
    }
}

/// The value of a cell that was found for `key`.
#[inline(always)]
pub(in crate::tree) fn value_of<'p, S: Search>(
    pages: &'p Pages,
    leaf: &Page<'p>,
    key: &[u8],
    cell: Option<Cell<'_>>,
) -> Result<Option<Value<'p>>> {
    let Some(cell) = cell else { return Ok(None) };
    if key.len() > INLINE_KEY_BYTES_MAX {
        return value_of_long_key::<S>(pages, leaf, key, &cell);
    }
    if cell.op.is_delete() {
        return Ok(None);
    }
    match cell.value {
        CellValue::Inline(value) => Ok(Some(leaf.value(value))),
        CellValue::Overflow(at) => pages.value(&at).map(Some),
    }
}

#[cold]
#[inline(never)]
fn value_of_long_key<'p, S: Search>(
    pages: &'p Pages,
    leaf: &Page<'p>,
    key: &[u8],
    cell: &Cell<'_>,
) -> Result<Option<Value<'p>>> {
    let Some(LeafView::Tagged(view)) = leaf.leaf() else { return Ok(None) };
    let Some(cell) = cell_of_long_key::<S>(pages, view, key, *cell)? else { return Ok(None) };
    match cell.value {
        _ if cell.op.is_delete() => Ok(None),
        CellValue::Inline(value) => Ok(Some(leaf.value(value))),
        CellValue::Overflow(at) => pages.value(&at).map(Some),
    }
}

/// A long key was found by its hash: compares it whole, and falls back to order if two long keys share a hash.
#[cold]
#[inline(never)]
fn cell_of_long_key<'l, S: Search>(
    pages: &Pages,
    leaf: Leaf<'l>,
    key: &[u8],
    found: Cell<'l>,
) -> Result<Option<Cell<'l>>> {
    if is_key(pages, &found.key, key)? {
        return Ok(Some(found));
    }
    let index = leaf.lower_bound::<S, Pages>(key, pages)?;
    if index == leaf.count() {
        return Ok(None);
    }
    let cell = leaf.cell(index);
    Ok(is_key(pages, &cell.key, key)?.then_some(cell))
}

fn is_key(pages: &Pages, stored: &CellKey<'_>, key: &[u8]) -> Result<bool> {
    match stored {
        CellKey::Inline(stored) => Ok(*stored == key),
        CellKey::Overflow { at, .. } => Ok(pages.value(at)? == key),
    }
}
