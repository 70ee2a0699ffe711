//! The runs above the trees by the statistics, and their changes since the last look.

use std::collections::BTreeMap;

use fulgurite::Database;

use super::check::{Difference, sound};
use super::coverage::{Coverage, Situation};

/// The runs of all tables when they were last looked at.
#[derive(Debug, Default)]
pub struct Runs {
    tables: BTreeMap<String, Standing>,
    /// Of what the next runs are made.
    marks: BTreeMap<String, Marks>,
    /// Whether a thread merges them.
    background: bool,
}

/// What stands above the tree of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// Runs.
    pub runs: u64,
    /// The most of them above one key.
    deep: u64,
    /// Entries in them.
    run_entries: u64,
    /// Entries of the tree below.
    tree_entries: u64,
    /// How often fewer runs were seen than before.
    pub merges: u64,
}

/// What has been committed to a table since runs were last made of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Keys that were there were deleted.
    pub deletes: bool,
    /// Keys were put that a leaf does not hold whole.
    pub long_keys: bool,
    /// Values were put that a leaf does not hold.
    pub large_values: bool,
}

impl Marks {
    /// Notes a put.
    pub fn put(&mut self, key: &[u8], value_bytes: usize) {
        self.long_keys |= key.len() > LONG_KEY_BYTES;
        self.large_values |= value_bytes > LARGE_VALUE_BYTES;
    }
}

impl Runs {
    /// Of a database whose runs are merged by a thread, or not.
    pub fn new(background: bool) -> Self {
        Self { background, ..Self::default() }
    }

    /// Looks, and counts what has become of them.
    pub fn look(&mut self, db: &Database, coverage: &mut Coverage) -> Result<(), Difference> {
        for table in sound("stats", db.stats())?.tables {
            let before = self.tables.get(&table.name).copied().unwrap_or_default();
            let (made, merged) = (table.run_entries > before.run_entries, table.runs < before.runs);
            coverage.meet(Situation::RunsMade, made);
            coverage.meet(Situation::RunsInBackground, made && self.background);
            coverage.meet(Situation::RunsMerged, merged);
            coverage.meet(Situation::RunsMergedInPart, merged && table.runs > 0);
            coverage.meet(Situation::RunsMergedInBackground, merged && self.background);
            if made {
                // Where the tree took a part of it, that may have been the part.
                let all = table.entries == before.tree_entries;
                let marks = self.marks.remove(&table.name).unwrap_or_default();
                coverage.meet(Situation::DeletesInRuns, all && marks.deletes);
                coverage.meet(Situation::LongKeysInRuns, all && marks.long_keys);
                coverage.meet(Situation::LargeValuesInRuns, all && marks.large_values);
            }
            let standing = Standing {
                runs: table.runs,
                deep: table.runs_deep,
                run_entries: table.run_entries,
                tree_entries: table.entries,
                merges: before.merges + u64::from(merged),
            };
            self.tables.insert(table.name, standing);
        }
        Ok(())
    }

    /// Notes what a commit changed in a table.
    pub fn note(&mut self, table: &str, marks: Marks) {
        let noted = self.marks.entry(table.to_owned()).or_default();
        noted.deletes |= marks.deletes;
        noted.long_keys |= marks.long_keys;
        noted.large_values |= marks.large_values;
    }

    /// What stood above a table's tree.
    pub fn of(&self, table: &str) -> Standing {
        self.tables.get(table).copied().unwrap_or_default()
    }

    /// Entries in runs of all tables.
    pub fn entries(&self) -> u64 {
        self.tables.values().map(|table| table.run_entries).sum()
    }

    /// The table is gone.
    pub fn forget(&mut self, table: &str) {
        self.marks.remove(table);
        if let Some(standing) = self.tables.get_mut(table) {
            *standing = Standing { merges: standing.merges, ..Standing::default() };
        }
    }

    /// As now, to be compared with later.
    pub fn standing(&self) -> BTreeMap<String, Standing> {
        self.tables.clone()
    }
}

impl Standing {
    /// Counts a read.
    pub fn meet(self, coverage: &mut Coverage) {
        coverage.meet(Situation::ReadOverRuns, self.runs > 0);
        coverage.meet(Situation::ReadOverDeepRuns, self.deep >= 4);
        coverage.meet(Situation::ReadOverManyRuns, self.runs >= 16);
    }
}

/// Longer keys have a part outside of their leaf.
const LONG_KEY_BYTES: usize = 1024;
/// Longer values lie outside of their leaf, whatever the size of pages is.
const LARGE_VALUE_BYTES: usize = 8 << 10;
