//! The stack of a table: which runs are above which range of its tree.
//!
//! The tree is one; only the runs above it are divided into ranges. Each range has its own runs, which are merged
//! into the tree independently of other ranges. Where no range has a run there is no stack, and reads use the tree
//! alone.
//!
//! Invariants: (1) ranges cover all keys: the first begins before all of them, each ends where the next begins. (2)
//! All keys of a run are within its range. (3) At most [`RUNS_MAX`] runs are above one key.

use std::ops::{Bound, Range};

use crate::error::Result;
use crate::format::{Search, StoredRange, filter_line_passes, head8};
use crate::pager::{MappedFilters, Pages};
use crate::planted::{Fault, planted};
use crate::sync::OnceLock;
use crate::tree::scan::count_net;

use super::run::Run;

/// The runs of a table, by range.
#[derive(Clone, Debug)]
pub struct Stack {
    ranges: Vec<StackRange>,
    /// Whether the runs state what they add to the count of the layers below them.
    counted: bool,
    /// Length of the common prefix of all inner bounds.
    prefix_length: usize,
    /// The bytes after the prefix of each inner bound, as a number; the largest numbers at the end fill the last line.
    heads: Vec<[u64; 8]>,
    /// The most runs above one key.
    depth: usize,
    /// The filters of each range's runs, once a read has needed them: `None` if any run has no mapped filter.
    filters: Vec<OnceLock<Option<MappedFilters>>>,
}

/// A range of keys, and the runs above the tree there.
#[derive(Clone, Debug)]
pub struct StackRange {
    /// Its keys are at least this, and below that of the next range.
    pub low: Box<[u8]>,
    /// The newest first.
    pub runs: Vec<Run>,
}

impl Stack {
    /// The stack of these ranges, whose runs were built with the layers below them if they are `counted`; `None` if
    /// no range has a run.
    ///
    /// # Panics
    /// Unless invariants 1 and 3 hold.
    pub fn new(ranges: Vec<StackRange>, counted: bool) -> Option<Self> {
        assert!(ranges.first().is_none_or(|first| first.low.is_empty()), "ranges cover all keys");
        assert!(ranges.windows(2).all(|pair| pair[0].low < pair[1].low), "ranges are in order");
        let depth = ranges.iter().map(|range| range.runs.len()).max().filter(|&depth| depth > 0)?;
        assert!(depth <= RUNS_MAX, "runs are merged before they are so many");
        let inner = &ranges[1..];
        let prefix_length = match (inner.first(), inner.last()) {
            // They are in order, so all bounds between these two share the prefix of the two.
            (Some(first), Some(last)) => first.low.iter().zip(&last.low).take_while(|(a, b)| a == b).count(),
            _ => 0,
        };
        let head = |range: &StackRange| head8(&range.low, prefix_length);
        let line = |ranges: &[StackRange]| std::array::from_fn(|index| ranges.get(index).map_or(u64::MAX, head));
        let heads = inner.chunks(8).map(line).collect();
        let filters = vec![OnceLock::new(); ranges.len()];
        Some(Self { ranges, counted, prefix_length, heads, depth, filters })
    }

    /// The stack that the catalog describes.
    ///
    /// # Errors
    /// What no version writes.
    pub fn load(stored: &[StoredRange], counted: bool) -> Result<Option<Self>, &'static str> {
        let load = |range: &StoredRange| {
            let runs = range.runs.iter().map(Run::load).collect::<Vec<_>>();
            StackRange { low: range.low.clone(), runs }
        };
        if stored.iter().any(|range| range.runs.len() > RUNS_MAX) {
            return Err("a range of a table has more runs than any version leaves");
        }
        Ok(Self::new(stored.iter().map(load).collect(), counted))
    }

    /// The catalog's description of the stack.
    pub fn store(&self) -> Vec<StoredRange> {
        let store = |range: &StackRange| StoredRange {
            low: range.low.clone(),
            runs: range.runs.iter().map(Run::store).collect(),
        };
        self.ranges.iter().map(store).collect()
    }

    /// The ranges in order.
    pub fn ranges(&self) -> &[StackRange] {
        &self.ranges
    }

    /// Whether the runs state what they add to the count of the layers below them.
    pub fn is_counted(&self) -> bool {
        self.counted
    }

    /// What the runs add to the tree's count between two bounds, which do not cross. Requires: they are counted.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
    pub fn count_net(&self, pages: &Pages, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<i64> {
        let runs = self.ranges[self.ranges_between(low, high)].iter().flat_map(|range| &range.runs);
        runs.map(|run| count_net(pages, &run.root, low, high)).try_fold(0i64, |sum, net| Ok(sum.saturating_add(net?)))
    }

    /// The most runs above one key.
    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// All runs.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.ranges.iter().flat_map(|range| &range.runs)
    }

    /// The bounds of a range: at least the first, below the second.
    ///
    /// # Panics
    /// Unless there is such a range.
    pub fn bounds(&self, range: usize) -> (Option<&[u8]>, Option<&[u8]>) {
        let low = &*self.ranges[range].low;
        (Some(low).filter(|low| !low.is_empty()), self.ranges.get(range + 1).map(|next| &*next.low))
    }

    /// The runs above `key`, the newest first.
    #[inline]
    pub fn runs_of(&self, key: &[u8]) -> &[Run] {
        &self.ranges[self.range_of(key)].runs
    }

    /// Whether a run may have `key`, whose hash is `hash`, as far as mapped filters can decide.
    #[inline(always)]
    pub fn may_know<S: Search>(&self, key: &[u8], hash: u64) -> bool {
        let filters = self.range_by_heads::<S>(key).and_then(|range| self.filters[range].get()?.as_ref());
        match filters {
            Some(filters) => filters.lines(hash).any(|line| filter_line_passes::<S>(line, hash)),
            None => true,
        }
    }

    /// As [`Stack::range_of`], if the heads of the bounds decide it.
    ///
    /// Requires: the key is shorter than 64 KiB.
    #[inline(always)]
    pub(in crate::tree) fn range_by_heads<S: Search>(&self, key: &[u8]) -> Option<usize> {
        if self.prefix_length > 0 && !key.starts_with(&self.ranges[1].low[..self.prefix_length]) {
            return None;
        }
        let head = S::head8(key, self.prefix_length as u16);
        let (mut below, mut is_tied) = (0, false);
        for line in &self.heads {
            let (below_in_line, is_tied_in_line) = S::long_heads_below(line, head);
            below += below_in_line;
            is_tied |= is_tied_in_line;
        }
        (!is_tied).then_some(below)
    }

    /// Whether all filters of a snapshot's stack are at the same places in a later snapshot with the same stack. In a
    /// file as any version wrote it they are; in another file, a filter may have died as a part of something else.
    pub fn has_same_filters(&self, before: &Pages, later: &Pages) -> bool {
        self.runs().filter_map(|run| run.filter.as_ref()).all(|at| before.has_same_value(later, at))
    }

    /// The same stack without mapped filters.
    pub fn without_filters(&self) -> Self {
        Self { filters: vec![OnceLock::new(); self.ranges.len()], ..self.clone() }
    }

    /// Keeps the filters of the runs above `key` mapped from now on, if that is possible.
    ///
    /// Requires: the snapshot of `pages` shows these runs.
    pub fn map_filters(&self, pages: &Pages, key: &[u8]) {
        let range = self.range_of(key);
        self.filters[range].get_or_init(|| {
            let filters = self.ranges[range].runs.iter().map(|run| run.filter.as_ref());
            pages.mapped_filters(filters.collect::<Option<Vec<_>>>()?.into_iter())
        });
    }

    /// The range to which `key` belongs.
    #[inline]
    pub fn range_of(&self, key: &[u8]) -> usize {
        let inner = &self.ranges[1..];
        let Some(first) = inner.first() else { return 0 };
        let prefix = &first.low[..self.prefix_length];
        let Some(start) = key.get(..self.prefix_length) else {
            return if key < prefix { 0 } else { inner.len() };
        };
        if start != prefix {
            return if start < prefix { 0 } else { inner.len() };
        }
        let head = head8(key, self.prefix_length);
        // Without a branch: a bisection would be mispredicted at each step.
        let heads = &self.heads.as_flattened()[..inner.len()];
        let below = heads.iter().map(|&bound| usize::from(bound < head)).sum::<usize>();
        let tied = heads[below..].iter().take_while(|&&bound| bound == head).count();
        let within = |range: &StackRange| match planted(Fault::RangeBoundOffByOne) {
            true => *range.low < *key,
            false => *range.low <= *key,
        };
        below + inner[below..below + tied].partition_point(within)
    }

    /// The ranges that have keys between the bounds.
    pub fn ranges_between(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Range<usize> {
        let from = match low {
            Bound::Included(key) | Bound::Excluded(key) => self.range_of(key),
            Bound::Unbounded => 0,
        };
        let to = match high {
            Bound::Included(key) | Bound::Excluded(key) => self.range_of(key) + 1,
            Bound::Unbounded => self.ranges.len(),
        };
        from..to.max(from)
    }

    /// Whether no run is above any key between the bounds.
    pub fn is_clear(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
        self.ranges[self.ranges_between(low, high)].iter().all(|range| range.runs.is_empty())
    }
}

/// Most runs above one key. Runs are merged long before there are so many; a walk has a bit for each.
pub const RUNS_MAX: usize = 48;
