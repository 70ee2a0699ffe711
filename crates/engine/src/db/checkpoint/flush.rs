//! How what was committed to a table comes into its trees: as runs above ranges of its tree, or merged into the tree.
//!
//! If a delta has changes all over a much larger tree, merging it would rewrite the whole tree. It is cut into runs
//! instead, one for each range, and a range is merged when it has several runs: so each byte of the tree is written
//! once for all of them. A delta whose keys are close together, or of a small tree, is merged at once and leaves no
//! run. Changes that recovery read back become runs too: there may be no room for all of a tree once more.

use std::ops::Bound;

use crate::db::checkpoint::flush_source::{Slice, Source};
use crate::db::checkpoint::table_trees::merge_into_tree;
use crate::db::recovery::volume::Volume;
use crate::error::Result;
use crate::pager::{PageWriter, Pages};
use crate::planted::{Situation, met};
use crate::sync::Arc;
use crate::tree;
use crate::tree::{Changes, LayersBelow, Root, Stack, StackRange, Until, build_run};
use crate::txn::snapshot::state::Trees;
use crate::txn::snapshot::table::TableInfo;

/// What decides between runs and a merge, and where ranges end.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of memory that a delta may take.
    pub delta_bytes: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Tables that are flushed together.
    pub tables: u64,
}

/// A table's trees after a flush.
#[derive(Debug)]
pub struct Flushed {
    pub trees: Trees,
    /// Runs that it made.
    pub runs: u64,
}

/// Brings the changes of a source into a table's trees.
///
/// # Errors
/// As [`tree::merge`]: abort the writer's operation then.
pub fn flush(
    pages: &Pages,
    info: &TableInfo,
    trees: &Trees,
    source: &mut impl Source,
    writer: &mut PageWriter<'_>,
    shape: Shape,
) -> Result<Flushed> {
    let base = trees.base.as_ref();
    let root = trees.base.as_deref();
    let is_small = entries_of(root) <= SMALL_TREE_DELTAS.saturating_mul(source.entries());
    if trees.stack.is_none() && is_small {
        let mut all = source.changes(vec![(None, None)])?;
        let base = merge_into_tree(pages, base, &mut all, writer, info.form())?;
        source.finish(all);
        met(Situation::FlushedIntoTree);
        return Ok(Flushed { trees: Trees { base, stack: None }, runs: 0 });
    }
    let costs = Costs::new(source.entries(), source.bytes(), shape);
    let mut ranges = cut_again(pages, root, trees.stack.as_deref(), &costs)?;
    let plans = plan(pages, root, &ranges, source, &costs)?;
    let merged: Vec<_> = (0..ranges.len()).filter(|&index| plans[index] == Plan::Merge).collect();
    let base = if merged.is_empty() {
        base.cloned()
    } else {
        let slices = merged.into_iter().map(|index| bounds_of(&ranges, index)).collect();
        let mut changes = source.changes(slices)?;
        let base = merge_into_tree(pages, base, &mut changes, writer, info.form())?;
        source.finish(changes);
        base
    };
    let mut runs = 0;
    for index in (0..ranges.len()).filter(|&index| plans[index] == Plan::Run) {
        let mut changes = source.changes(vec![bounds_of(&ranges, index)])?;
        // Where runs are made, the tree stays as it is.
        let beneath = LayersBelow::new(pages, &ranges[index].runs, trees.base.as_deref());
        let beneath = info.descriptor.counted.then_some(&beneath);
        if let Some(run) = build_run(pages, &mut changes, writer, info.align(), beneath)? {
            ranges[index].runs.insert(0, run);
            runs += 1;
        }
        source.finish(changes);
    }
    let merged = plans.contains(&Plan::Merge);
    met(match runs {
        0 => Situation::FlushedIntoTree,
        _ if merged => Situation::FlushedIntoBoth,
        _ => Situation::FlushedIntoRuns,
    });
    let stack = Stack::new(ranges, info.descriptor.counted).map(Arc::new);
    Ok(Flushed { trees: Trees { base, stack }, runs })
}

/// Brings changes that recovery read back, so many as `volume` says, into a table's trees. If the table has runs, the
/// changes become runs too: older runs must not be above newer changes. Otherwise they become runs where [`flush`]
/// would make some, except that all of them are merged, or none.
///
/// # Errors
/// As [`flush`].
pub fn flush_replayed(
    pages: &Pages,
    info: &TableInfo,
    trees: &Trees,
    (changes, volume): (&mut impl Changes, &Volume),
    writer: &mut PageWriter<'_>,
    shape: Shape,
) -> Result<Trees> {
    let root = trees.base.as_deref();
    let mut ranges = match &trees.stack {
        Some(stack) => stack.ranges().to_vec(),
        None => {
            let costs = Costs::new(volume.changes, volume.bytes, shape);
            let is_small = entries_of(root) <= SMALL_TREE_DELTAS.saturating_mul(costs.changes);
            let (first, last) = (Bound::Included(&*volume.first), Bound::Included(&*volume.last));
            if is_small || costs.is_merged(costs.changes, count(pages, root, first, last)?) {
                let base = merge_into_tree(pages, trees.base.as_ref(), changes, writer, info.form())?;
                return Ok(Trees { base, stack: None });
            }
            cut_again(pages, root, None, &costs)?
        }
    };
    for index in 0..ranges.len() {
        let (_, end) = bounds_of(&ranges, index);
        let beneath = LayersBelow::new(pages, &ranges[index].runs, root);
        let beneath = info.descriptor.counted.then_some(&beneath);
        if let Some(run) = build_run(pages, &mut Until::new(changes, end.as_deref()), writer, info.align(), beneath)? {
            ranges[index].runs.insert(0, run);
            if trees.stack.is_some() {
                met(Situation::ReplayedAboveRuns);
            }
        }
    }
    Ok(Trees { base: trees.base.clone(), stack: Stack::new(ranges, info.descriptor.counted).map(Arc::new) })
}

/// What becomes of the changes of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Merge,
    Run,
}

/// Estimates of what writing entries costs, from their size in a delta.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Changes of the delta.
    changes: u64,
    /// Bytes of one entry.
    entry_bytes: u64,
    page_bytes: u64,
    delta_bytes: u64,
    /// So little is written in place in any case.
    small_bytes: u64,
}

impl Costs {
    /// Of so many changes that take so many bytes.
    fn new(changes: u64, bytes: u64, shape: Shape) -> Self {
        let changes = changes.max(1);
        let entry_bytes = (bytes / changes).max(1);
        let Shape { delta_bytes, page_bytes, tables } = shape;
        let small_bytes = delta_bytes / (SMALL_MERGE_DIVISOR * tables.max(1));
        Self { changes, entry_bytes, page_bytes, delta_bytes, small_bytes }
    }

    /// Entries of a range, if ranges can be had of the size that is best for a tree of so many.
    fn range_entries(&self, tree_entries: u64) -> u64 {
        // A damaged file may say that it has any number.
        let tree_bytes = tree_entries.saturating_mul(self.entry_bytes);
        let ranges = (self.delta_bytes / self.page_bytes).clamp(1, RANGES_MAX);
        let bytes = (self.delta_bytes / RANGES_PER_DELTA).max(tree_bytes / ranges);
        (bytes / self.entry_bytes).max(1)
    }

    /// Whether to merge so many changes into a part of a tree with so many entries.
    fn is_merged(&self, changes: u64, spanned: u64) -> bool {
        let leaf_entries = (self.page_bytes / self.entry_bytes).max(1);
        let leaves = (spanned / leaf_entries + 2).min(changes);
        leaves * self.page_bytes <= (MERGED_FACTOR * changes * self.entry_bytes).max(self.small_bytes)
    }
}

fn plan(
    pages: &Pages,
    base: Option<&Root>,
    ranges: &[StackRange],
    source: &impl Source,
    costs: &Costs,
) -> Result<Vec<Plan>> {
    let ends = (0..ranges.len()).map(|index| source.ends(bounds_of(ranges, index))).collect::<Result<Vec<_>>>()?;
    let touched = ends.iter().flatten().count().max(1) as u64;
    let mut plans = Vec::with_capacity(ranges.len());
    for (range, ends) in ranges.iter().zip(ends) {
        plans.push(match ends {
            None => Plan::Nothing,
            Some(_) if !range.runs.is_empty() => Plan::Run,
            Some((first, last)) => {
                let spanned = count(pages, base, Bound::Included(&first), Bound::Included(&last))?;
                if costs.is_merged(costs.changes / touched, spanned) { Plan::Merge } else { Plan::Run }
            }
        });
    }
    Ok(plans)
}

/// The ranges of a table. Those without runs are cut again where they have become too large or too small.
fn cut_again(pages: &Pages, base: Option<&Root>, stack: Option<&Stack>, costs: &Costs) -> Result<Vec<StackRange>> {
    let whole = [StackRange { low: Box::default(), runs: Vec::new() }];
    let before = stack.map_or(&whole[..], Stack::ranges);
    let range_entries = costs.range_entries(entries_of(base));
    let mut ranges: Vec<StackRange> = Vec::with_capacity(before.len());
    let mut index = 0;
    while index < before.len() {
        let stretch = before[index..].iter().take_while(|range| range.runs.is_empty()).count();
        if stretch == 0 {
            ranges.push(before[index].clone());
            index += 1;
            continue;
        }
        let (low, high) = (&before[index].low, before.get(index + stretch).map(|next| &*next.low));
        let entries = count(pages, base, Bound::Included(low), high.map_or(Bound::Unbounded, Bound::Excluded))?;
        let parts = usize::try_from(entries.saturating_add(range_entries / 2) / range_entries).unwrap_or(usize::MAX);
        // A damaged tree may count any number of entries.
        let parts = parts.clamp(1, 2 * RANGES_MAX as usize);
        if parts == stretch {
            ranges.extend_from_slice(&before[index..index + stretch]);
        } else {
            met(Situation::RangesCutAgain);
            ranges.push(StackRange { low: low.clone(), runs: Vec::new() });
            let inner = Some(&**low).filter(|low| !low.is_empty());
            let cuts = base.map_or(Ok(Vec::new()), |base| tree::cuts(pages, base, (inner, high), parts))?;
            ranges.extend(cuts.into_iter().map(|low| StackRange { low, runs: Vec::new() }));
        }
        index += stretch;
    }
    Ok(ranges)
}

fn entries_of(base: Option<&Root>) -> u64 {
    base.map_or(0, |base| base.entries)
}

fn count(pages: &Pages, base: Option<&Root>, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<u64> {
    base.map_or(Ok(0), |base| tree::count(pages, base, low, high))
}

fn bounds_of(ranges: &[StackRange], index: usize) -> Slice {
    let low = Some(&ranges[index].low).filter(|low| !low.is_empty());
    (low.cloned(), ranges.get(index + 1).map(|next| next.low.clone()))
}

/// A tree of so many times a delta's entries is merged whole.
const SMALL_TREE_DELTAS: u64 = 2;

/// Ranges of a tree as large as a delta.
const RANGES_PER_DELTA: u64 = 4;

/// Most ranges, about: more would make runs too small. There are also no more than a delta has pages.
const RANGES_MAX: u64 = 64;

/// Changes are merged at once where that writes no more than so many times their bytes,
const MERGED_FACTOR: u64 = 2;

/// or no more than this share of a delta, one part in so many.
const SMALL_MERGE_DIVISOR: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_claims_to_be_as_large_as_can_be_is_cut_without_overflow() {
        for entry_bytes in [1, 7, 1 << 32] {
            let costs = Costs { changes: 9, entry_bytes, page_bytes: 8192, delta_bytes: 1 << 20, small_bytes: 0 };
            assert!(costs.range_entries(u64::MAX) > 0);
        }
    }
}
