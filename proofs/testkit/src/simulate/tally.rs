//! What a simulation did and met, and what it must have met to prove anything.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use fulgurite::planted::{Situation, times_met};

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts one.
    pub fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }

    /// Counts several.
    pub fn add(&mut self, what: &'static str, number: u64) {
        *self.counts.entry(what).or_default() += number;
    }

    /// Keeps the largest.
    pub fn most(&mut self, what: &'static str, number: u64) {
        let most = self.counts.entry(what).or_default();
        *most = number.max(*most);
    }

    /// How many there are.
    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or_default()
    }

    /// What must have happened in a run of so many operations, and has not, or not often enough.
    pub fn missing(&self, operations: u64) -> Vec<String> {
        let mut missing = Vec::new();
        let mut require = |what: &str, found: u64, operations_each: u64| {
            let least = operations / operations_each;
            if found < least {
                missing.push(format!("{what} ({found} times, not {least})"));
            }
        };
        for (what, operations_each) in REQUIRED {
            require(what, self.of(what), *operations_each);
        }
        for (situation, operations_each) in SITUATIONS {
            require(&format!("{situation:?}"), times_met(*situation), *operations_each);
        }
        missing
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        for (what, number) in &other.counts {
            if what.starts_with(MOST) { self.most(what, *number) } else { self.add(what, *number) }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, number) in &self.counts {
            writeln!(out, "  {what:<40}{number:>12}")?;
        }
        for situation in Situation::ALL {
            writeln!(out, "  {:<40}{:>12}", format!("{situation:?}"), times_met(situation))?;
        }
        Ok(())
    }
}

/// Names that begin so are of what is not added up.
pub const MOST: &str = "most ";

/// What must be counted, once in so many operations.
const REQUIRED: &[(&str, u64)] = &[
    ("commits", 100),
    ("commits of what was spilled", 25_000),
    ("conflicts", 10_000),
    ("transactions aborted", 1_000),
    ("gets by snapshots", 30),
    ("gets in transactions", 400),
    ("ranges", 80),
    ("counts", 100),
    ("questions of the reader", 100),
    ("snapshots held", 500),
    ("deletes", 200),
    ("merges into keys", 10_000),
    ("large values put", 50_000),
    ("loads", 20_000),
    ("tables created", 20_000),
    ("tables dropped", 50_000),
    ("commits fed", 20_000),
    ("checks of all pages", 10_000),
    ("looks at the statistics", 2_000),
    ("settled after a long time", 200_000),
    ("errors of the disk told", 100_000),
    ("power cuts looked at", 3_000),
    ("lives ended by a kill", 200_000),
    ("lives ended by a power cut before", 100_000),
    ("lives ended by closing", 200_000),
    ("lives ended by closing that was stopped", 400_000),
    ("checkpoints that were stopped", 50_000),
    ("compactions that were stopped", 400_000),
    ("handovers", 20),
];
/// What must be met, once in so many operations.
const SITUATIONS: &[(Situation, u64)] = &[
    (Situation::Rotated, 2_000),
    (Situation::FlushedIntoTree, 2_000),
    (Situation::FlushedIntoRuns, 2_000),
    (Situation::FlushedIntoBoth, 100_000),
    (Situation::RangesCutAgain, 5_000),
    (Situation::MergedOwed, 10_000),
    (Situation::MergedEverything, 10_000),
    (Situation::MergedTogether, 25_000),
    (Situation::CheckpointFailed, 200_000),
    (Situation::MergeFailed, 1_000_000),
    (Situation::CommitStalled, 100_000),
    (Situation::RoomWanted, 200_000),
    (Situation::WroteBehind, 5_000),
    (Situation::Compacted, 50_000),
    (Situation::ReplayedAboveRuns, 10_000),
];
