//! `check`: proves that every page of the newest checkpoint is sound, and reached exactly once or free.

use std::fmt;

use crate::db::handle::database::Database;
use crate::db::storage::metas;
use crate::error::{Error, Place, Result};
use crate::tree::{Census, LayersBelow, TreeSummary, check};
use crate::txn::snapshot::state::Trees;

/// The result of [`Database::check`](crate::Database::check).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// The number of tables that were checked. Empty tables are not counted.
    pub tables: u64,
    /// The number of entries in the trees.
    pub entries: u64,
    /// The number of entries in the runs: puts and deletes.
    pub run_entries: u64,
    /// The number of keys that were changed by commits that are not in a tree or in runs yet. These changes are in the
    /// log and in memory, and were not checked. `entries` does not include them; [`Read::count`](crate::Read::count)
    /// does.
    pub delta_entries: u64,
    /// The number of pages that were read.
    pub pages: u64,
    /// All damage that was found.
    pub damages: Vec<Damage>,
}

/// One damaged place. `Display` says where it is and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage(String);

impl Damage {
    /// The damage without what to do about it, which is the same for all damages of a report.
    fn of(error: &Error) -> Self {
        Self(match error {
            Error::Corrupt { path, place, offence } => format!("{}: {place} is damaged: {offence}", path.display()),
            error => error.to_string(),
        })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Database {
    /// Checks every page of the newest checkpoint: checksums, key order, counts, births, and that each page belongs to
    /// at most one tree. Commits after the checkpoint are in the log and in memory, and are not checked.
    ///
    /// # Errors
    /// Only errors that prevent the check. Damage is part of the report.
    pub fn check(&self) -> Result<CheckReport> {
        let state = self.inner.core.snapshot()?.state;
        let mut census = Census::new(&state.pages);
        let mut report = CheckReport::default();
        if let Some(root) = &state.catalog {
            report.add(&check(&state.pages, root, &mut census));
        }
        report.entries = 0;
        for trees in state.trees.iter() {
            if let Some(root) = &trees.base {
                report.add(&check(&state.pages, root, &mut census));
            }
            let Some(stack) = &trees.stack else { continue };
            for (index, range) in stack.ranges().iter().enumerate() {
                for (depth, run) in range.runs.iter().enumerate() {
                    let beneath = LayersBelow::new(&state.pages, &range.runs[depth + 1..], trees.base.as_deref());
                    let beneath = stack.is_counted().then_some(&beneath);
                    let summary = run.check(&state.pages, stack.bounds(index), beneath, &mut census);
                    report.run_entries += run.entries;
                    report.pages += pages_of(&summary);
                }
            }
        }
        let deltas = state.tables.iter().flatten().flat_map(|view| [Some(&view.active), view.frozen.as_ref()]);
        report.delta_entries = deltas.flatten().map(|delta| delta.entries() as u64).sum();
        report.tables = state.trees.iter().filter(|trees| !trees.is_same(&Trees::default())).count() as u64;
        let file = state.pages.file();
        if let Some(slot) = metas::read(&**file.file(), file.path())?.damaged_slot {
            let error =
                Error::corrupt(file.path(), Place::Meta(Some(slot)), "it is not valid; the other one is in use");
            report.damages.push(Damage::of(&error));
        }
        report.damages.extend(census.finish(&state.pages).iter().map(Damage::of));
        Ok(report)
    }
}

impl CheckReport {
    /// Whether no damage was found.
    pub fn is_sound(&self) -> bool {
        self.damages.is_empty()
    }

    fn add(&mut self, tree: &TreeSummary) {
        self.entries += tree.entries;
        self.pages += pages_of(tree);
    }
}

fn pages_of(tree: &TreeSummary) -> u64 {
    tree.leaves + tree.branches + tree.value_pages
}
