//! Publishing the trees of a checkpoint: durable first, then visible.
//!
//! Everything that can fail comes before the meta. Once the meta is durable, the checkpoint has happened.

use std::collections::BTreeSet;

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::job::Shown;
use crate::db::checkpoint::new_trees::Built;
use crate::db::storage::catalog::store_catalog;
use crate::error::{Error, Result};
use crate::format::Meta;
use crate::monitor::Phase;
use crate::pager::{ExtentMap, Operation, Pages};
use crate::planted::{Fault, planted};
use crate::sync::Arc;
use crate::txn::commit::journal::LogStart;
use crate::txn::commit::rotation::Rotation;
use crate::txn::snapshot::large::Recent;
use crate::txn::snapshot::pins::Pins;
use crate::txn::snapshot::state::{State, TableView, Trees};
use crate::txn::writes::schema::with_schema;

impl Checkpointer {
    /// Makes the merged trees the newest checkpoint: durable, then visible.
    pub(super) fn publish(
        &mut self,
        pages: &Pages,
        rotation: Option<&Rotation>,
        shown: Shown<'_>,
        built: Built,
        mut operation: Operation,
    ) -> Result<()> {
        let mut space = self.space.lock();
        let prepared = match space.prepare(&mut operation) {
            Ok(prepared) => prepared,
            Err(error) => {
                space.abort(operation);
                return Err(error);
            }
        };
        drop(space);
        let start = match rotation {
            Some(rotation) => rotation.start,
            None => LogStart { segment: self.meta.log_first_segment, exists: self.meta.log_exists },
        };
        let mut features = self.meta.features;
        features.set_merges(built.stored.values().filter_map(|table| table.info.descriptor.merge.as_ref()));
        let meta = Meta {
            features,
            number: self.meta.number + 1,
            birth: prepared.birth,
            sequence: rotation.map_or(self.meta.sequence, |rotation| rotation.sequence),
            log_first_segment: start.segment,
            log_exists: start.exists,
            page_count: prepared.page_count,
            next_table_id: built.next_table,
            catalog: built.catalog.as_ref().map(store_catalog),
            extent_table: prepared.table,
            ..self.meta.clone()
        };
        // Everything that can fail comes before the meta: once that is durable, the checkpoint has happened.
        let extents = ExtentMap::new(prepared.entries.clone(), prepared.page_count, Some(pages.extents()));
        let is_held = self.file.is_held_by_memory(prepared.page_count);
        // No snapshot reads through it before everything is durable.
        let extents = if is_held { extents.trusting(operation.birth()) } else { extents };
        self.watchers.enter(Phase::Waiting);
        let written = self.file.pages(Arc::new(extents)).and_then(|pages| {
            self.sync_pages(shown, built.runs)?;
            self.write_meta(meta, rotation.is_some()).map_err(|error| self.in_doubt(shown, error))?;
            if is_held {
                // Readers would come upon page after page, and wait for each.
                pages.populate(operation.birth());
            }
            Ok(pages)
        });
        let pages = match written {
            Ok(pages) => pages,
            Err(error) => {
                if !self.is_poisoned() {
                    self.space.lock().abort(operation);
                }
                return Err(error);
            }
        };
        self.stored = built.stored;
        self.catalog = built.catalog;
        self.space.lock().commit(operation, &prepared);
        self.show(pages, shown);
        Ok(())
    }

    /// What it means that a meta failed: if the database is poisoned, it may be on the disk or not.
    fn in_doubt(&self, shown: Shown<'_>, error: Error) -> Error {
        match shown {
            Shown::Loaded { note, .. } if self.is_poisoned() => {
                self.core.indeterminate(note.unwrap_or(self.meta.sequence), error)
            }
            _ => error,
        }
    }

    /// Makes the pages durable that a checkpoint wrote, which made so many runs.
    fn sync_pages(&self, shown: Shown<'_>, runs: u64) -> Result<()> {
        let unsynced = planted(Fault::NoSyncBeforeMeta)
            || (planted(Fault::RunsUnsynced) && runs > 0)
            || (planted(Fault::RangeMergeUnsynced) && matches!(shown, Shown::Merged))
            || (planted(Fault::SpilledUnsynced) && matches!(shown, Shown::Spilled(_)));
        if unsynced { Ok(()) } else { self.sync_file() }
    }

    /// Replaces the trees of the newest state, and thaws.
    fn show(&mut self, pages: Pages, shown: Shown<'_>) {
        let before = self.core.published.state();
        for stack in self.stored.values_mut().filter_map(|table| table.trees.stack.as_mut()) {
            // One that is new has none at hand, and is none the worse for it.
            if !stack.has_same_filters(&before.pages, &pages) {
                *stack = Arc::new(stack.without_filters());
            }
        }
        drop(before);
        let (loaded, note) = match shown {
            Shown::Loaded { tables, note } => (tables.iter().copied().collect(), note),
            Shown::Spilled(incoming) => (incoming.changed(), incoming.sequence()),
            Shown::Rotated | Shown::Merged => (BTreeSet::new(), None),
        };
        self.core.retire_frozen();
        let pin = Pins::pin(&self.pins, self.meta.birth);
        drop(self.core.published.update(|newest| {
            let newest = &match (shown, note) {
                (Shown::Spilled(incoming), Some(note)) if !incoming.schema().is_empty() => {
                    // What it dropped is in no tree any more. From here on no snapshot begins at an earlier commit
                    // than this one.
                    let (dropped, renamed) = (newest.dropped.clone(), newest.renamed.clone());
                    State { dropped, renamed, ..with_schema(newest, incoming.schema().changes(), note) }
                }
                _ => newest.clone(),
            };
            // Extents may have died whose numbers a snapshot finds among the frozen ones of a moment ago. The next
            // values may get these numbers, and must not come among the active ones of that snapshot.
            let is_alone = matches!(shown, Shown::Loaded { .. } | Shown::Spilled(_));
            let active_large = if is_alone { Arc::default() } else { Arc::clone(&newest.active_large) };
            let mut next = State {
                active_large,
                // A snapshot that sees what was loaded sees its note.
                floor: newest.floor.max(self.meta.sequence).max(note.unwrap_or_default()),
                checkpoint: self.meta.sequence,
                thawed: newest.epoch.number,
                trees: self.trees(),
                pages,
                catalog: self.catalog,
                frozen_large: Arc::new(Recent::default()),
                pin,
                ..newest.clone()
            };
            next.dropped.retain(|&(dropped, _)| dropped > self.meta.sequence);
            next.renamed.retain(|&(renamed, _)| renamed > self.meta.sequence);
            let dropped = next.dropped.iter_mut().map(|(_, view)| view);
            for view in next.tables.iter_mut().flatten().chain(dropped) {
                let trees = self.stored.get(&view.info.id).map(|table| table.trees.clone()).unwrap_or_default();
                let loads = view.loads + u64::from(loaded.contains(&view.info.id));
                if !view.trees.is_same(&trees) || view.frozen.is_some() || view.loads != loads {
                    *view = Arc::new(TableView { trees, frozen: None, loads, ..(**view).clone() });
                }
            }
            next
        }));
        self.space.lock().note_shown(self.meta.birth);
    }

    /// The trees of all tables.
    fn trees(&self) -> Arc<[Trees]> {
        self.stored.values().map(|table| table.trees.clone()).collect()
    }
}
