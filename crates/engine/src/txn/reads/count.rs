//! How many entries are within bounds: exactly, or as an estimate.

use std::ops::Bound;

use crate::error::Result;
use crate::tree;
use crate::tree::{LayersBelow, Stack};
use crate::txn::reads::bounds::is_past;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::walk::Walk;
use crate::txn::writes::run_walk::Start;

impl<'a> Layers<'a> {
    /// How many entries are within the bounds: the tree's count, corrected by each entry above it. If runs count what
    /// they add to the tree, it is corrected by each entry above the runs.
    ///
    /// # Errors
    /// As [`Layers::get`].
    pub fn count(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<u64> {
        if let Some(reads) = self.reads {
            reads.note_range(self.view.info.id, low, high);
        }
        let Some(counted) = self.count_counted(low, high)? else { return Ok(0) };
        let above = self.look_above(low, high, u64::MAX)?;
        Ok(counted.saturating_add_signed(above.net))
    }

    /// The count of the tree and of runs that count, corrected by the first changes above them. The other changes are
    /// assumed to be like the first ones, and are the error.
    ///
    /// # Errors
    /// As [`Layers::get`].
    pub fn estimate_count(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Estimate> {
        let Some(counted) = self.count_counted(low, high)? else { return Ok(Estimate { entries: 0, low: 0, high: 0 }) };
        let seen = self.look_above(low, high, CHANGES_SAMPLED)?;
        let known = counted.saturating_add_signed(seen.net);
        if seen.is_all {
            return Ok(Estimate { entries: known, low: known, high: known });
        }
        let rest_max = self.changes_above(low, high).saturating_sub(seen.changes);
        // Changes are assumed to be spread over the keys as the tree's entries are.
        let whole = self.count_counted(Bound::Unbounded, Bound::Unbounded)?.unwrap_or_default();
        let share = if whole == 0 { 1.0 } else { counted as f64 / whole as f64 };
        let rest = rest_max as f64 * share;
        let more = (rest * seen.net as f64 / seen.changes as f64) as i64;
        let low = known.saturating_sub(rest_max.min(counted));
        Ok(Estimate { entries: known.saturating_add_signed(more).max(low), low, high: known.saturating_add(rest_max) })
    }

    /// Upper bound of the changes above what is counted. Of runs only the changes within the bounds count.
    fn changes_above(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> u64 {
        let own = self.set.map_or(0, |set| set.count_of(self.view.info.id));
        let in_deltas: u64 = self.deltas().into_iter().flatten().map(|delta| delta.entries() as u64).sum();
        let in_runs: u64 = self.stack().filter(|stack| !stack.is_counted()).map_or(0, |stack| {
            let ranges = &stack.ranges()[stack.ranges_between(low, high)];
            ranges.iter().flat_map(|range| &range.runs).map(|run| run.entries).sum()
        });
        own + in_deltas + in_runs
    }

    /// What the first changes above the tree, or above runs that count, add to the count.
    fn look_above(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, changes_max: u64) -> Result<SeenAbove> {
        let counted = self.stack().filter(|stack| stack.is_counted());
        let mut walk = match counted {
            Some(_) => Walk::new_above_runs(self, Start::from_low(low))?,
            None => Walk::new_above(self, Start::from_low(low))?,
        };
        let mut seen = SeenAbove { net: 0, changes: 0, is_all: true };
        while let Some((key, present)) = walk.next_above(self)? {
            if is_past(&key, high) {
                break;
            }
            if seen.changes == changes_max {
                return Ok(SeenAbove { is_all: false, ..seen });
            }
            let stored = match counted {
                Some(stack) => self.is_stored(stack, &key)?,
                None => self.in_base(&key)?,
            };
            seen.net += i64::from(present) - i64::from(stored);
            seen.changes += 1;
        }
        Ok(seen)
    }

    /// The count of the tree and of runs that count; `None` if the bounds are crossed.
    fn count_counted(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Option<u64>> {
        let Some(base) = self.count_base(low, high)? else { return Ok(None) };
        let counted = self.stack().filter(|stack| stack.is_counted());
        let net = counted.map_or(Ok(0), |stack| stack.count_net(self.pages(), low, high))?;
        // A damaged tree may count any number.
        Ok(Some(base.saturating_add_signed(net)))
    }

    /// The tree's count; `None` if the bounds are crossed, so that no key is between them.
    fn count_base(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Option<u64>> {
        let crossed = match (low, high) {
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low >= high,
            _ => false,
        };
        match &self.view.trees.base {
            _ if crossed => Ok(None),
            Some(root) => tree::count(self.pages(), root, low, high).map(Some),
            None => Ok(Some(0)),
        }
    }

    fn in_base(&self, key: &[u8]) -> Result<bool> {
        let Some(root) = &self.view.trees.base else { return Ok(false) };
        Ok(tree::get(self.pages(), root, key)?.is_some())
    }

    /// Whether the tree or the runs above it have a value for `key`.
    fn is_stored(&self, stack: &Stack, key: &[u8]) -> Result<bool> {
        let beneath = LayersBelow::new(self.pages(), stack.runs_of(key), self.view.trees.base.as_deref());
        beneath.has(key, self.pages().identity().hash(key))
    }
}

/// What the changes looked at add to the count.
struct SeenAbove {
    net: i64,
    changes: u64,
    /// Whether these were all.
    is_all: bool,
}

/// Changes that an estimate looks at one by one.
const CHANGES_SAMPLED: u64 = 256;

/// An estimate of a count of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The best guess.
    pub entries: u64,
    /// The lower bound.
    pub low: u64,
    /// The upper bound.
    pub high: u64,
}
