//! Which runs are merged into their trees, and when.

use std::cmp::Reverse;

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::job::Job;
use crate::db::checkpoint::table_trees::{
    FULL_RUNS, MERGED_ENTRIES, MERGED_RUNS, Mergeable, OWED_RUNS, fullest, mergeable,
};
use crate::error::{Error, Result};
use crate::ids::TableId;
use crate::pager::Need;
use crate::planted::{Situation, met};
use crate::tree::RUNS_MAX;

/// Which runs are to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsToMerge {
    /// Those of ranges that should get no further run.
    Full,
    /// As many as the runs that checkpoints make.
    Owed,
    /// Those of ranges with so many runs that merging pays.
    Worthwhile,
    /// All.
    Everything,
}

impl RunsToMerge {
    fn situation(self) -> Situation {
        match self {
            Self::Full => Situation::MergedFull,
            Self::Owed => Situation::MergedOwed,
            Self::Worthwhile => Situation::MergedWorthwhile,
            Self::Everything => Situation::MergedEverything,
        }
    }
}

impl Checkpointer {
    /// Merges the runs of the range that has the most, in any table, if `which` includes it. Returns whether it did.
    ///
    /// # Errors
    /// As [`Checkpointer::run`]; the runs stay then.
    pub fn merge_runs(&mut self, which: RunsToMerge) -> Result<bool> {
        self.merge_next(which, Need::Merging)
    }

    fn merge_next(&mut self, which: RunsToMerge, need: Need) -> Result<bool> {
        // Deltas that are frozen come first: a table is changed by one of the two at a time.
        if self.pending.is_some() {
            // A checkpoint has failed. A caller in need asks for another one; otherwise it is tried again later.
            if which != RunsToMerge::Everything {
                return Ok(false);
            }
            self.core.writer()?;
            self.flush_pending()?;
            met(Situation::CheckpointedAgain);
            return Ok(true);
        }
        let ranges = self.mergeable(which);
        if ranges.is_empty() {
            return Ok(false);
        }
        self.core.writer()?;
        let (count, runs) = (ranges.len(), ranges.iter().map(|range| range.runs).sum::<usize>());
        self.checkpoint(Job::MergeRanges { ranges, need }).inspect_err(|error| {
            if !matches!(error, Error::Stopped { .. }) {
                met(Situation::MergeFailed);
            }
        })?;
        met(which.situation());
        if count > 1 {
            met(Situation::MergedTogether);
        }
        self.owed_runs = self.owed_runs.saturating_sub(runs as u64);
        Ok(true)
    }

    /// Merges the ranges that should get no further run. If the disk is too full for that, they may get some more.
    ///
    /// # Errors
    /// As [`Checkpointer::merge_runs`].
    pub(super) fn merge_full_ranges(&mut self) -> Result<()> {
        match self.merge_all_runs(RunsToMerge::Full) {
            Err(Error::DiskFull { .. }) if self.depth() < FULL_RUNS_MAX => Ok(()),
            outcome => outcome,
        }
    }

    /// Merges all runs, those first for which a disk that is nearly full has room: each may make room for the next.
    ///
    /// # Errors
    /// As [`Checkpointer::merge_runs`].
    pub(super) fn merge_all_that_fit(&mut self) -> Result<()> {
        loop {
            match self.merge_all(RunsToMerge::Everything, Need::Upkeep) {
                Err(Error::DiskFull { .. }) => self.merge_first_that_fits()?,
                outcome => return outcome,
            }
        }
    }

    fn merge_first_that_fits(&mut self) -> Result<()> {
        let stacks = self.stored.iter().filter_map(|(id, table)| Some((*id, table.trees.stack.as_ref()?)));
        let ranges: Vec<_> = stacks.flat_map(|(id, stack)| mergeable(id, stack)).collect();
        let mut outcome = Ok(());
        for range in ranges.into_iter().filter(|range| range.runs > 0) {
            outcome = self.checkpoint(Job::MergeRanges { ranges: vec![range], need: Need::Upkeep });
            if !matches!(outcome, Err(Error::DiskFull { .. })) {
                break;
            }
        }
        outcome
    }

    /// Most runs above one key.
    fn depth(&self) -> usize {
        let stacks = self.stored.values().filter_map(|table| table.trees.stack.as_ref());
        stacks.flat_map(|stack| stack.ranges()).map(|range| range.runs.len()).max().unwrap_or(0)
    }

    /// Merges all runs of a table.
    pub(super) fn merge_runs_of(&mut self, table: TableId) -> Result<()> {
        while let Some(stack) = self.stored.get(&table).and_then(|table| table.trees.stack.as_ref()) {
            let range = fullest(table, stack);
            self.checkpoint(Job::MergeRanges { ranges: vec![range], need: Need::Merging })?;
        }
        Ok(())
    }

    /// The ranges to merge next, those with the most runs first: one, or as many as are little work together.
    fn mergeable(&self, which: RunsToMerge) -> Vec<Mergeable> {
        let runs_min = match which {
            RunsToMerge::Full => FULL_RUNS,
            RunsToMerge::Owed if self.owed_runs == 0 => return Vec::new(),
            RunsToMerge::Owed => OWED_RUNS,
            RunsToMerge::Worthwhile => MERGED_RUNS,
            RunsToMerge::Everything => 1,
        };
        let stacks = self.stored.iter().filter_map(|(id, table)| Some((*id, table.trees.stack.as_ref()?)));
        let mut ranges: Vec<_> = stacks.map(|(id, stack)| fullest(id, stack)).collect();
        ranges.retain(|range| range.runs >= runs_min);
        ranges.sort_by_key(|range| Reverse(range.runs));
        let mut entries = 0;
        let little = ranges.iter().take_while(|range| {
            let is_little = entries < MERGED_ENTRIES;
            entries += range.entries;
            is_little
        });
        let count = little.count();
        ranges.truncate(count);
        ranges
    }

    /// Whether there is any run above any tree.
    pub fn has_runs(&self) -> bool {
        self.stored.values().any(|table| table.trees.stack.is_some())
    }

    /// Merges all runs that `which` includes.
    ///
    /// # Errors
    /// As [`Checkpointer::merge_runs`].
    pub fn merge_all_runs(&mut self, which: RunsToMerge) -> Result<()> {
        self.merge_all(which, Need::Merging)
    }

    fn merge_all(&mut self, which: RunsToMerge, need: Need) -> Result<()> {
        while self.merge_next(which, need)? {}
        Ok(())
    }
}

/// No range has more runs, however full the disk.
const FULL_RUNS_MAX: usize = RUNS_MAX - 1;
