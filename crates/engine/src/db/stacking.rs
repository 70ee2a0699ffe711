//! How a table takes what was committed to it: as runs above ranges of its tree, or merged into the tree; and how runs are merged.
//!
//! A delta that falls everywhere into a tree many times its size would have a merge write all of that. It is cut into runs
//! instead, one for each range, and a range is merged when it has several: so each byte of the tree is written once for all of
//! them. A delta that falls close together, or into a small tree, is merged at once, and leaves no run.

use std::ops::{Bound, Deref};

use crate::delta::{self, Delta, Position};
use crate::error::Result;
use crate::format::LeafForm;
use crate::ids::{Sequence, TableId};
use crate::pager::{PageWriter, Pages};
use crate::planted::{Situation, met};
use crate::sync::Arc;
use crate::tree::{
    self, Action, Base, Change, Changes, LayersBelow, Root, RunMerge, Stack, StackRange, Until, build_run,
};
use crate::txn::state::{TableInfo, Trees};

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

/// Keys that are at least the first, and below the second.
pub type Slice = (Option<Box<[u8]>>, Option<Box<[u8]>>);

/// What is flushed into a table.
pub trait Source {
    type Changes: Changes;
    type Key: Deref<Target = [u8]>;

    /// How many keys it changes, at most.
    fn entries(&self) -> u64;

    /// Bytes that it takes, about.
    fn bytes(&self) -> u64;

    /// The first and the last key that it changes in a slice.
    ///
    /// # Errors
    /// What keeps it from saying; so for all that follow.
    fn ends(&self, slice: Slice) -> Result<Option<(Self::Key, Self::Key)>>;

    /// Its changes in some slices, which are in order.
    ///
    /// # Errors
    /// As [`Source::ends`].
    fn changes(&self, slices: Vec<Slice>) -> Result<Self::Changes>;

    /// All of these went into the trees.
    fn used(&mut self, changes: Self::Changes);
}

/// Brings changes into a table's trees.
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
        let base = merge(pages, base, &mut all, writer, info.form())?;
        source.used(all);
        met(Situation::FlushedIntoTree);
        return Ok(Flushed { trees: Trees { base, stack: None }, runs: 0 });
    }
    let costs = Costs::new(source, shape);
    let mut ranges = cut_again(pages, root, trees.stack.as_deref(), &costs)?;
    let plans = plan(pages, root, &ranges, source, &costs)?;
    let merged: Vec<_> = (0..ranges.len()).filter(|&index| plans[index] == Plan::Merge).collect();
    let base = if merged.is_empty() {
        base.cloned()
    } else {
        let slices = merged.into_iter().map(|index| bounds_of(&ranges, index)).collect();
        let mut changes = source.changes(slices)?;
        let base = merge(pages, base, &mut changes, writer, info.form())?;
        source.used(changes);
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
        source.used(changes);
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

/// Brings changes of which nothing is known into a table's trees: into runs where there are any, for those must not lie above what
/// is newer.
///
/// # Errors
/// As [`flush`].
pub fn take_in(
    pages: &Pages,
    info: &TableInfo,
    trees: &Trees,
    changes: &mut impl Changes,
    writer: &mut PageWriter<'_>,
) -> Result<Trees> {
    let Some(stack) = &trees.stack else {
        let base = merge(pages, trees.base.as_ref(), changes, writer, info.form())?;
        return Ok(Trees { base, stack: None });
    };
    let mut ranges = stack.ranges().to_vec();
    for (index, range) in ranges.iter_mut().enumerate() {
        let (_, end) = stack.bounds(index);
        let beneath = LayersBelow::new(pages, &range.runs, trees.base.as_deref());
        let beneath = info.descriptor.counted.then_some(&beneath);
        if let Some(run) = build_run(pages, &mut Until::new(changes, end), writer, info.align(), beneath)? {
            range.runs.insert(0, run);
            met(Situation::ReplayedAboveRuns);
        }
    }
    Ok(Trees { base: trees.base.clone(), stack: Stack::new(ranges, info.descriptor.counted).map(Arc::new) })
}

/// Merges the runs of one range into the tree.
///
/// # Errors
/// As [`flush`].
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
    let base = merge(pages, trees.base.as_ref(), &mut changes, writer, info.form())?;
    changes.kill_unused_values(writer)?;
    runs.iter().try_for_each(|run| run.remove_but_values(pages, writer))?;
    Ok(Trees { base, stack: Stack::new(ranges, info.descriptor.counted).map(Arc::new) })
}

/// Moves what the writer moves of a table's tree. Its runs stay where they are.
///
/// # Errors
/// As [`flush`].
pub fn move_tree(pages: &Pages, info: &TableInfo, trees: &Trees, writer: &mut PageWriter<'_>) -> Result<Option<Base>> {
    let moved = merge(pages, trees.base.as_ref(), &mut NoChanges, writer, info.form())?;
    // Where nothing moved, the tree is the same.
    let is_same = moved.as_ref().map(Base::root) == trees.base.as_ref().map(Base::root);
    Ok(if is_same { trees.base.clone() } else { moved })
}

/// Marks all pages of a table as dead.
///
/// # Errors
/// As [`tree::remove`].
pub fn remove(pages: &Pages, trees: &Trees, writer: &mut PageWriter<'_>) -> Result<()> {
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

fn merge(
    pages: &Pages,
    base: Option<&Base>,
    changes: &mut impl Changes,
    writer: &mut PageWriter<'_>,
    form: LeafForm,
) -> Result<Option<Base>> {
    let merged = tree::merge(pages, base.map(Base::root), changes, writer, form, &mut || Ok(()))?;
    Ok(merged.root.map(Base::new))
}

/// What becomes of the changes of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Merge,
    Run,
}

/// What it takes to write entries, by what they take in a delta.
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
    fn new(source: &impl Source, shape: Shape) -> Self {
        let changes = source.entries().max(1);
        let entry_bytes = (source.bytes() / changes).max(1);
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

/// The first and the last key of a delta between bounds.
fn ends_between(delta: &Delta, sequence: Sequence, (low, high): Slice) -> Option<(&[u8], &[u8])> {
    let first = low.map_or_else(|| delta.first(sequence), |low| delta.seek(&low, sequence));
    let (first, _) = delta.entry(&first)?;
    if high.as_ref().is_some_and(|high| *first >= **high) {
        return None;
    }
    let last = high.map_or_else(|| delta.last(sequence), |high| delta.seek_before(&high, sequence));
    let (last, _) = delta.entry(&last)?;
    Some((first, last))
}

/// The ranges of a table, those without runs cut anew where they have come to be too large or too small.
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

/// The newest versions of a delta.
pub struct DeltaSource<'d> {
    pub delta: &'d Delta,
    /// Later ones do not count.
    pub sequence: Sequence,
}

impl<'d> Source for DeltaSource<'d> {
    type Changes = DeltaChanges<'d>;
    type Key = &'d [u8];

    fn entries(&self) -> u64 {
        self.delta.entries() as u64
    }

    fn bytes(&self) -> u64 {
        self.delta.memory_bytes() as u64
    }

    fn ends(&self, slice: Slice) -> Result<Option<(&'d [u8], &'d [u8])>> {
        Ok(ends_between(self.delta, self.sequence, slice))
    }

    fn changes(&self, slices: Vec<Slice>) -> Result<DeltaChanges<'d>> {
        Ok(DeltaChanges::new(self.delta, self.sequence, slices))
    }

    fn used(&mut self, _: DeltaChanges<'d>) {}
}

/// The newest changes of a delta within some slices, in key order.
pub struct DeltaChanges<'d> {
    delta: &'d Delta,
    sequence: Sequence,
    at: Position,
    end: Option<Box<[u8]>>,
    /// The slices that are left, the next first.
    slices: std::vec::IntoIter<Slice>,
}

impl<'d> DeltaChanges<'d> {
    /// Requires: the slices are in order.
    fn new(delta: &'d Delta, sequence: Sequence, slices: Vec<Slice>) -> Self {
        let mut slices = slices.into_iter();
        let (low, end) = slices.next().unwrap_or_default();
        let at = low.map_or_else(|| delta.first(sequence), |low| delta.seek(&low, sequence));
        Self { delta, sequence, at, end, slices }
    }
}

impl Changes for DeltaChanges<'_> {
    #[inline]
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        loop {
            let Some((key, change)) = self.delta.entry(&self.at) else { return Ok(None) };
            if self.end.as_ref().is_none_or(|end| *key < **end) {
                let hash = self.delta.hash_and_sequence(&self.at).map(|(hash, _)| hash);
                let action = match change {
                    delta::Change::Put(value) => Action::Put(value),
                    delta::Change::PutLarge(at) => Action::PutLarge(at),
                    delta::Change::Delete => Action::Delete,
                };
                return Ok(Some(Change { key, hash, action }));
            }
            let Some((low, end)) = self.slices.next() else { return Ok(None) };
            self.end = end;
            if let Some(low) = low {
                self.at = self.delta.seek(&low, self.sequence);
            }
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.delta.next(&mut self.at);
    }
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
/// Of the ranges with so many, those with the most are merged after each flush, as many as it takes to keep up: so that not all come
/// to [`MERGED_RUNS`] at once.
pub const OWED_RUNS: usize = 4;
/// A range with so many runs is merged before another one is added.
pub const FULL_RUNS: usize = 16;

const _: () = assert!(OWED_RUNS < MERGED_RUNS && MERGED_RUNS < FULL_RUNS && FULL_RUNS < tree::RUNS_MAX);

/// Ranges of several tables are merged together while their runs have fewer entries.
pub const MERGED_ENTRIES: u64 = 1 << 18;

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
    use std::collections::BTreeMap;

    use super::*;
    use crate::db::database::Database;
    use crate::db::merging::Haste;
    use crate::io::MemoryDisk;
    use crate::options::{Durability, Options, TableOptions};
    use crate::txn::state::Table;

    /// A database with one table, and what it holds.
    struct Loaded {
        disk: MemoryDisk,
        delta_bytes: u64,
        db: Database,
        table: Table,
        model: BTreeMap<Vec<u8>, Vec<u8>>,
    }

    fn key(number: u64) -> Vec<u8> {
        format!("key {number:08}").into_bytes()
    }

    impl Loaded {
        /// A tree of so many numbered keys, two apart.
        fn new(keys: u64, delta_bytes: u64, options: TableOptions) -> Self {
            let disk = MemoryDisk::new();
            let db = Self::options(&disk, delta_bytes).create(true).open("a.ful").expect("a memory disk");
            let table = db.create_table("t", options).expect("it is not there");
            let model: BTreeMap<_, _> = (0..keys).map(|number| (key(2 * number), vec![1; 40])).collect();
            db.bulk_load(&table, model.iter()).expect("they rise");
            Self { disk, delta_bytes, db, table, model }
        }

        fn options(disk: &MemoryDisk, delta_bytes: u64) -> Options {
            let options = Database::options().disk(Arc::new(disk.clone())).durability(Durability::Log);
            options.background(false).delta_bytes(delta_bytes)
        }

        /// One commit that puts or deletes these.
        fn commit(&mut self, numbers: impl Iterator<Item = u64>, value: Option<&[u8]>) {
            let mut txn = self.db.write().expect("nothing else writes");
            for key in numbers.map(key) {
                match value {
                    Some(value) => {
                        txn.put(&self.table, &key, value).expect("it fits");
                        self.model.insert(key, value.to_vec());
                    }
                    None => {
                        txn.delete(&self.table, &key).expect("it can be read");
                        self.model.remove(&key);
                    }
                }
            }
            txn.commit().expect("nothing else writes");
        }

        /// Flushes, and merges no more than it must. Returns how many runs there are now.
        fn flush(&self) -> usize {
            self.db.inner.checkpointer.as_ref().expect("it is open for writing").lock().run().expect("a memory disk");
            self.compare();
            self.trees().stack.map_or(0, |stack| stack.runs().count())
        }

        fn trees(&self) -> Trees {
            let state = self.db.inner.core.published.state();
            let mut views = state.tables.iter().flatten();
            views.next().expect("there is one table").trees.clone()
        }

        /// Bounds and depths of the ranges.
        fn ranges(&self) -> Vec<(Box<[u8]>, usize)> {
            let stack = self.trees().stack.expect("there are runs");
            stack.ranges().iter().map(|range| (range.low.clone(), range.runs.len())).collect()
        }

        /// Merges the runs of the range that has the most.
        fn merge(&self) -> bool {
            let mut checkpointer = self.db.inner.checkpointer.as_ref().expect("it is open for writing").lock();
            checkpointer.merge_runs(Haste::Everything).expect("a memory disk")
        }

        /// As after a crash of the process.
        fn recovered(self) -> Self {
            let Self { disk, delta_bytes, db, model, .. } = self;
            drop(db);
            let db = Self::options(&disk, delta_bytes).open("a.ful").expect("its log is whole");
            let table = db.open_table("t").expect("it is there");
            Self { disk, delta_bytes, db, table, model }
        }

        /// Counts of parts of the table, beside all of it.
        fn compare_counts(&self) {
            self.compare();
            let txn = self.db.read().expect("it is open");
            for part in 0..40 {
                let (low, high) = (key(part * 1_013), key(part * 1_517 + 1_000));
                if low < high {
                    let counted = txn.count(&self.table, &*low..&*high).expect("it is sound");
                    assert_eq!(counted, self.model.range(low..high).count() as u64, "part {part}");
                }
            }
            assert_eq!(txn.len(&self.table).expect("it is sound"), self.model.len() as u64);
        }

        fn compare(&self) {
            let txn = self.db.read().expect("it is open");
            let entries = txn.range(&self.table, ..).expect("it is sound");
            let found = entries.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())));
            let found: BTreeMap<_, _> = found.collect::<Result<_>>().expect("it is sound");
            assert!(found == self.model, "{} entries, not {}", found.len(), self.model.len());
            let report = self.db.check().expect("it can be read");
            assert!(report.is_sound(), "{:?}", report.damages);
        }
    }

    /// So many numbers of keys that are there, spread over the first so many.
    fn spread(count: u64, keys: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |number| 2 * (number * keys / count))
    }

    const KEYS: u64 = 20_000;
    const DELTA_BYTES: u64 = 1 << 20;

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn changes_all_over_a_tree_many_times_their_size_become_runs() {
        let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
        let root = loaded.trees().base;
        loaded.commit(spread(1_000, KEYS), Some(&[2; 40]));
        let runs = loaded.flush();
        assert!(runs > 0);
        assert_eq!(loaded.trees().base, root, "the tree is as it was");
        loaded.commit(spread(900, KEYS), None);
        assert!(loaded.flush() > runs);
        while loaded.merge() {
            loaded.compare();
        }
        assert!(loaded.trees().stack.is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn keys_that_rise_leave_no_run() {
        let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
        for part in 0..6 {
            let from = 2 * KEYS + part * 2_000;
            loaded.commit(from..from + 2_000, Some(&[3; 40]));
            assert_eq!(loaded.flush(), 0, "part {part}");
        }
        // Nor do changes in one place of the tree.
        loaded.commit(7_000..8_000, Some(&[4; 40]));
        assert_eq!(loaded.flush(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn a_tree_that_was_empty_or_is_small_beside_a_delta_is_merged_whole() {
        let mut loaded = Loaded::new(0, DELTA_BYTES, TableOptions::new());
        loaded.commit(0..1_000, Some(&[2; 40]));
        assert_eq!(loaded.flush(), 0);
        loaded.commit((0..1_000).step_by(2), Some(&[3; 40]));
        assert_eq!(loaded.flush(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn a_few_changes_of_a_large_tree_are_merged_at_once() {
        let mut loaded = Loaded::new(KEYS, 64 << 20, TableOptions::new());
        loaded.commit(spread(12, KEYS), Some(&[2; 40]));
        assert_eq!(loaded.flush(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn runs_of_a_table_that_is_counted_count() {
        let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new().counted(true));
        // Keys that are there, new ones, deletes of both, and of what was deleted before.
        loaded.commit(spread(1_000, KEYS).chain(spread(300, KEYS).map(|number| number + 1)), Some(&[2; 40]));
        assert!(loaded.flush() > 0);
        loaded.commit(spread(900, KEYS).chain(spread(100, KEYS).map(|number| number + 1)), None);
        assert!(loaded.flush() > 0);
        loaded.commit(spread(450, KEYS), None);
        loaded.commit(spread(400, KEYS), Some(&[3; 40]));
        let runs = loaded.flush();
        assert!(runs > 0);
        loaded.compare_counts();
        // Beside what is in the delta, too, and read back from a log into further runs.
        loaded.commit(spread(700, KEYS).map(|number| number + 1), Some(&[4; 40]));
        loaded.commit(spread(350, KEYS).map(|number| number + 1), None);
        loaded.compare_counts();
        let mut loaded = loaded.recovered();
        loaded.compare_counts();
        assert!(loaded.trees().stack.is_some_and(|stack| stack.runs().count() > runs));
        while loaded.merge() {
            loaded.compare_counts();
        }
        loaded.commit(spread(20, KEYS), None);
        loaded.compare_counts();
    }

    #[test]
    fn a_tree_that_claims_to_be_as_large_as_can_be_is_cut_without_overflow() {
        for entry_bytes in [1, 7, 1 << 32] {
            let costs = Costs { changes: 9, entry_bytes, page_bytes: 8192, delta_bytes: DELTA_BYTES, small_bytes: 0 };
            assert!(costs.range_entries(u64::MAX) > 0);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn ranges_without_runs_are_cut_again_when_they_have_grown() {
        let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
        loaded.commit(spread(1_000, KEYS / 2), Some(&[2; 40]));
        assert!(loaded.flush() > 0);
        let before = loaded.ranges();
        let with_runs: Vec<_> = before.iter().filter(|(_, runs)| *runs > 0).cloned().collect();
        let last = before.last().expect("there are ranges");
        assert_eq!(last.1, 0, "{before:?}");
        for part in 0..20 {
            let from = 2 * KEYS + part * 4_000;
            loaded.commit(from..from + 4_000, Some(&[3; 40]));
            loaded.flush();
        }
        let after = loaded.ranges();
        let grown = after.iter().filter(|(low, _)| low > &last.0).count();
        assert!(grown > 3, "from {before:?} to {after:?}");
        assert!(with_runs.iter().all(|range| after.contains(range)), "from {before:?} to {after:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn runs_above_a_tree_from_which_all_was_deleted_stay() {
        let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
        for quarter in 0..4 {
            loaded.commit((0..KEYS).skip(quarter).step_by(4).map(|number| 2 * number), None);
            assert!(loaded.flush() > 0);
        }
        let ranges = loaded.ranges().len();
        assert!(ranges > 1, "{:?}", loaded.ranges());
        // All ranges but the last: the tree has only what is deleted there.
        while loaded.ranges().iter().filter(|(_, runs)| *runs > 0).count() > 1 {
            assert!(loaded.merge());
        }
        assert_eq!(loaded.ranges().iter().position(|(_, runs)| *runs > 0), Some(ranges - 1));
        // What a log tells becomes a run wherever it is, once there are any.
        loaded.commit([3, 5].into_iter(), Some(&[5; 40]));
        let mut loaded = loaded.recovered();
        assert_eq!(loaded.ranges()[0].1, 1);
        assert!(loaded.merge(), "the last range has the most runs");
        assert!(loaded.trees().base.is_none() && loaded.trees().stack.is_some());
        loaded.compare();
        loaded.commit([7, 2 * KEYS].into_iter(), Some(&[6; 40]));
        loaded.flush();
        assert_eq!(loaded.db.read().expect("it is open").len(&loaded.table).expect("sound"), 4);
        let loaded = loaded.recovered();
        loaded.compare();
        while loaded.merge() {}
        loaded.compare();
    }
}
