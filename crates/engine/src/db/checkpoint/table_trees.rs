//! Changes of one table's tree and runs: merging runs into the tree, moving pages, removing all of it.

use crate::error::Result;
use crate::format::LeafForm;
use crate::ids::TableId;
use crate::pager::{PageWriter, Pages};
use crate::sync::Arc;
use crate::tree;
use crate::tree::{Base, Change, Changes, RunMerge, Stack, StackRange};
use crate::txn::snapshot::state::Trees;
use crate::txn::snapshot::table::TableInfo;

pub fn merge_into_tree(
    pages: &Pages,
    base: Option<&Base>,
    changes: &mut impl Changes,
    writer: &mut PageWriter<'_>,
    form: LeafForm,
) -> Result<Option<Base>> {
    let merged = tree::merge(pages, base.map(Base::root), changes, writer, form, &mut || Ok(()))?;
    Ok(merged.root.map(Base::new))
}

/// Merges the runs of one range into the tree.
///
/// # Errors
/// As [`tree::merge`].
///
/// # Panics
/// If there is no such range.
pub fn merge_range(
    pages: &Pages,
    info: &TableInfo,
    trees: &Trees,
    range: usize,
    writer: &mut PageWriter<'_>,
) -> Result<Trees> {
    let Some(stack) = &trees.stack else { return Ok(trees.clone()) };
    let mut ranges = stack.ranges().to_vec();
    let runs = std::mem::take(&mut ranges[range].runs);
    let mut changes = RunMerge::new(pages, &runs, stack.bounds(range))?;
    let base = merge_into_tree(pages, trees.base.as_ref(), &mut changes, writer, info.form())?;
    changes.kill_unused_values(writer)?;
    runs.iter().try_for_each(|run| run.remove_but_values(pages, writer))?;
    Ok(Trees { base, stack: Stack::new(ranges, info.descriptor.counted).map(Arc::new) })
}

/// Moves what the writer moves of a table's tree. Its runs stay where they are.
///
/// # Errors
/// As [`tree::merge`].
pub fn move_tree(pages: &Pages, info: &TableInfo, trees: &Trees, writer: &mut PageWriter<'_>) -> Result<Option<Base>> {
    let moved = merge_into_tree(pages, trees.base.as_ref(), &mut NoChanges, writer, info.form())?;
    // Where nothing moved, the tree is the same.
    let is_same = moved.as_ref().map(Base::root) == trees.base.as_ref().map(Base::root);
    Ok(if is_same { trees.base.clone() } else { moved })
}

/// Marks all pages of a table as dead.
///
/// # Errors
/// As [`tree::remove`].
pub fn remove_trees(pages: &Pages, trees: &Trees, writer: &mut PageWriter<'_>) -> Result<()> {
    if let Some(root) = &trees.base {
        tree::remove(pages, root, writer, &mut || Ok(()))?;
    }
    let mut runs = trees.stack.iter().flat_map(|stack| stack.runs());
    runs.try_for_each(|run| run.remove(pages, writer))
}

/// A range whose runs may be merged.
#[derive(Clone, Copy, Debug)]
pub struct Mergeable {
    pub table: TableId,
    pub range: usize,
    pub runs: usize,
    /// In all its runs.
    pub entries: u64,
}

/// The range of a table with the most runs.
pub fn fullest(table: TableId, stack: &Stack) -> Mergeable {
    // Of several the first.
    mergeable(table, stack).rev().max_by_key(|range| range.runs).expect("a stack has ranges")
}

/// All ranges of a table.
pub fn mergeable(table: TableId, stack: &Stack) -> impl DoubleEndedIterator<Item = Mergeable> {
    stack.ranges().iter().enumerate().map(move |(range, StackRange { runs, .. })| {
        let entries = runs.iter().map(|run| run.entries).sum();
        Mergeable { table, range, runs: runs.len(), entries }
    })
}

/// No changes at all.
struct NoChanges;

impl Changes for NoChanges {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        Ok(None)
    }

    fn advance(&mut self) {}
}

/// A range with so many runs is merged as soon as there is nothing more urgent.
pub const MERGED_RUNS: usize = 8;

/// After each flush, ranges with at least so many runs are merged, those with the most first, as many as the flush
/// requires: so that not all ranges reach [`MERGED_RUNS`] at once.
pub const OWED_RUNS: usize = 4;

/// A range with so many runs is merged before another one is added.
pub const FULL_RUNS: usize = 16;

const _: () = assert!(OWED_RUNS < MERGED_RUNS && MERGED_RUNS < FULL_RUNS && FULL_RUNS < tree::RUNS_MAX);

/// Ranges of several tables are merged together while their runs have fewer entries.
pub const MERGED_ENTRIES: u64 = 1 << 18;
