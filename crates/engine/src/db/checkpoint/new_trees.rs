//! The trees that a checkpoint makes of those before: deltas, jobs and the catalog are merged into them. Nothing is
//! durable yet.

use std::collections::BTreeMap;

use crate::db::checkpoint::flush::{Shape, flush, flush_replayed};
use crate::db::checkpoint::flush_source::DeltaSource;
use crate::db::checkpoint::spilled_source::SpilledSource;
use crate::db::checkpoint::table_trees::{Mergeable, merge_range, move_tree, remove_trees};
use crate::db::recovery::replayed::Replayed;
use crate::db::storage::catalog::{CatalogChanges, store_root};
use crate::db::storage::stored::{Stored, change_as, change_since};
use crate::error::{Error, Result};
use crate::format::{LeafForm, ValueAlign};
use crate::ids::TableId;
use crate::pager::{Moving, PageWriter, Pages};
use crate::tree::{self, Base, Root};
use crate::txn::commit::core::Core;
use crate::txn::commit::rotation::Rotation;
use crate::txn::commit::spilled_proposal::SpilledProposal;

/// The trees while they are made.
pub struct NewTrees<'n, 's> {
    core: &'n Core,
    pages: &'n Pages,
    writer: &'n mut PageWriter<'s>,
    /// The tables of the newest durable checkpoint.
    before: &'n BTreeMap<TableId, Stored>,
    stored: BTreeMap<TableId, Stored>,
    /// Tables that were dropped, with the trees that they had.
    dropped: Vec<Stored>,
    /// Runs that were made.
    runs: u64,
    /// The number for the next table.
    next_table: TableId,
}

/// The trees when they are made.
pub struct Built {
    /// The tables.
    pub stored: BTreeMap<TableId, Stored>,
    /// The tree of the catalog.
    pub catalog: Option<Root>,
    /// Runs that were made.
    pub runs: u64,
    /// The number for the next table.
    pub next_table: TableId,
}

impl<'n, 's> NewTrees<'n, 's> {
    /// The trees as they were: `before`.
    pub fn new(
        core: &'n Core,
        pages: &'n Pages,
        before: &'n BTreeMap<TableId, Stored>,
        writer: &'n mut PageWriter<'s>,
    ) -> Self {
        let tables = core.published.state().tables.len();
        let next_table = TableId(u32::try_from(tables).expect("table numbers are checked when they are given out"));
        Self { core, pages, writer, before, stored: before.clone(), dropped: Vec::new(), runs: 0, next_table }
    }

    /// Creates, drops and renames tables as the commits up to a rotation did, and flushes its deltas.
    ///
    /// # Errors
    /// As [`flush`]; so for the others.
    pub fn flush_deltas(&mut self, rotation: &Rotation) -> Result<()> {
        self.dropped.extend(change_since(&rotation.since, &mut self.stored));
        let shape = self.shape(rotation.frozen.len())?;
        for (id, delta) in &rotation.frozen {
            let Some(table) = self.stored.get_mut(id) else { continue };
            let mut source = DeltaSource { delta, sequence: rotation.sequence };
            let flushed = flush(self.pages, &table.info, &table.trees, &mut source, self.writer, shape)?;
            table.trees = flushed.trees;
            self.runs += flushed.runs;
        }
        Ok(())
    }

    /// Creates, drops and renames tables as a transaction that has spilled did.
    pub fn change_tables(&mut self, proposal: &SpilledProposal<'_>) {
        self.dropped.extend(change_as(proposal.schema(), &mut self.stored));
        self.next_table = self.next_table.max(proposal.tables_end());
    }

    /// Marks all pages of dropped tables as dead. Called once, after all tables were dropped.
    ///
    /// # Errors
    /// As [`remove_trees`].
    pub fn remove_dropped(&mut self) -> Result<()> {
        self.dropped.iter().try_for_each(|table| remove_trees(self.pages, &table.trees, self.writer))
    }

    /// Flushes the changes of a transaction that has spilled.
    ///
    /// # Errors
    /// As [`flush`].
    pub fn flush_spilled(&mut self, proposal: &SpilledProposal<'_>) -> Result<()> {
        let state = self.core.published.state();
        let changed = proposal.changed();
        let shape = self.shape(changed.len())?;
        for id in changed {
            let (Some(table), Some(source)) = (self.stored.get_mut(&id), proposal.source(&state, id)) else { continue };
            let mut source = SpilledSource::new(source);
            let flushed = flush(self.pages, &table.info, &table.trees, &mut source, self.writer, shape)?;
            proposal.keep(source.into_kept());
            table.trees = flushed.trees;
            self.runs += flushed.runs;
        }
        Ok(())
    }

    /// Flushes what recovery read back. Changes of tables that were dropped are skipped.
    ///
    /// # Errors
    /// As [`flush_replayed`](crate::db::checkpoint::flush::flush_replayed).
    pub fn flush_replayed(&mut self, replayed: &mut Replayed) -> Result<()> {
        let shape = self.shape(replayed.tables())?;
        while let Some(id) = replayed.next_table()? {
            match self.stored.get_mut(&id) {
                Some(Stored { info, trees }) => {
                    let volume = replayed.volume(id);
                    let changes = (&mut replayed.of_table(id), &volume);
                    *trees = flush_replayed(self.pages, info, trees, changes, self.writer, shape)?;
                }
                None => replayed.skip_table(id)?,
            }
        }
        Ok(())
    }

    /// Replaces the tree of a table, which has no runs, by the one that `make` makes of it.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], and those of `make`.
    pub fn replace_base(
        &mut self,
        id: TableId,
        make: impl FnOnce(&Pages, Option<&Root>, &mut PageWriter<'_>) -> Result<Option<Root>>,
    ) -> Result<()> {
        let table = self.stored.get_mut(&id);
        let table = table.ok_or_else(|| Error::TableNotFound { name: format!("number {}", id.0) })?;
        table.trees.base = make(self.pages, table.trees.base.as_deref(), self.writer)?.map(Base::new);
        Ok(())
    }

    /// Moves the pages of all trees that are in a part of the file.
    ///
    /// # Errors
    /// As [`move_tree`].
    pub fn move_pages(&mut self, moving: Moving) -> Result<()> {
        self.writer.start_moving(moving);
        for table in self.stored.values_mut() {
            table.trees.base = move_tree(self.pages, &table.info, &table.trees, self.writer)?;
        }
        Ok(())
    }

    /// Merges the runs of ranges into the trees below them.
    ///
    /// # Errors
    /// As [`merge_range`].
    pub fn merge_ranges(&mut self, ranges: &[Mergeable]) -> Result<()> {
        for Mergeable { table, range, .. } in ranges {
            if let Some(Stored { info, trees }) = self.stored.get_mut(table) {
                *trees = merge_range(self.pages, info, trees, *range, self.writer)?;
            }
        }
        Ok(())
    }

    /// Merges what changed about the tables into the catalog at `catalog`, and returns all trees.
    ///
    /// # Errors
    /// As [`tree::merge`].
    pub fn finish(self, catalog: Option<&Root>) -> Result<Built> {
        let Self { pages, writer, before, stored, dropped, runs, next_table, .. } = self;
        let mut changes = CatalogChanges::new(catalog_changes(before, &stored, &dropped));
        let form = LeafForm::Tagged(ValueAlign::One);
        let catalog = tree::merge(pages, catalog, &mut changes, writer, form, &mut || Ok(()))?.root;
        drop(changes);
        Ok(Built { stored, catalog, runs, next_table })
    }

    /// What decides how the changes of so many tables are flushed.
    fn shape(&self, tables: usize) -> Result<Shape> {
        let page_bytes = self.pages.file().page_size().bytes() as u64;
        let budget = &self.core.writer()?.budget;
        // On a disk that is nearly full ranges are small, so that there is room to merge one.
        let delta_bytes = budget.bytes().max(RANGES_CRAMPED * page_bytes).min(budget.bytes_max());
        Ok(Shape { delta_bytes, page_bytes, tables: tables as u64 })
    }
}

/// Descriptors by name, and names that are gone.
fn catalog_changes<'n>(
    before: &'n BTreeMap<TableId, Stored>,
    stored: &'n BTreeMap<TableId, Stored>,
    dropped: &[Stored],
) -> BTreeMap<&'n str, Option<Vec<u8>>> {
    let mut changes: BTreeMap<&str, Option<Vec<u8>>> = BTreeMap::new();
    let is_renamed = |table: &&Stored| before.get(&table.info.id).is_some_and(|before| before.is_renamed(table));
    for table in dropped.iter().chain(stored.values().filter(is_renamed)) {
        if let Some(before) = before.get(&table.info.id) {
            changes.insert(&before.info.name, None);
        }
    }
    // After all names that are gone: another table may have one of them now.
    for (id, table) in stored {
        if before.get(id).is_none_or(|before| !before.trees.is_same(&table.trees) || before.is_renamed(table)) {
            let mut descriptor = table.info.descriptor.clone();
            descriptor.root = table.trees.base.as_deref().map(store_root);
            descriptor.ranges = table.trees.stack.as_ref().map(|stack| stack.store()).unwrap_or_default();
            changes.insert(&table.info.name, Some(descriptor.encode()));
        }
    }
    changes
}

/// A tree has so many ranges however full the disk is. Fewer are too large to be merged there, and more take too many
/// pages for their runs.
const RANGES_CRAMPED: u64 = 32;
