//! Checkpoints: bring what was committed into the trees, write what says so, and only then free what that replaced.
//!
//! Invariants:
//! (1) Pages, then sync, then the meta, then sync: a meta never refers to pages that a power cut could take.
//! (2) Nothing that the newest durable meta reaches is overwritten; what a checkpoint killed is reused only after its
//!     own meta is durable and no snapshot reads it.
//! (3) A checkpoint that fails leaves everything as it was. Its deltas stay frozen, and the next one merges them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Weak;
use std::time::Duration;

use crate::db::incoming::SpilledSource;
use crate::db::merging::Haste;
use crate::db::presence::Presence;
use crate::db::replayed::Replayed;
use crate::db::roots::{CatalogChanges, store_catalog, store_root};
use crate::db::stacking::{self, DeltaSource, Mergeable, Shape};
use crate::db::stored;
pub use crate::db::stored::Stored;
use crate::delta;
use crate::error::{Error, Result};
use crate::format::{LeafForm, Meta, ValueAlign};
use crate::ids::{Sequence, TableId};
use crate::metrics;
use crate::monitor::{Phase, Watchers};
use crate::pager::{
    ExtentMap, Moving, Need, Operation, PageFile, PageWriter, Pages, Pins as SpacePins, Placing, Space,
};
use crate::planted::{Fault, Situation, met, planted};
use crate::sync::{Arc, Instant, Mutex};
use crate::tree::{self, Base, MergeOutcome, Root};
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::journal::LogStart;
use crate::txn::commit::rotation::Rotation;
use crate::txn::commit::spilled_proposal::SpilledProposal;
use crate::txn::snapshot::large::Recent;
use crate::txn::snapshot::pins::Pins;
use crate::txn::snapshot::state::{State, TableView, Trees};
use crate::txn::writes::schema::with_schema;

/// Runs checkpoints, one at a time.
#[derive(Debug)]
pub struct Checkpointer {
    pub(super) space: Arc<Mutex<Space>>,
    pub(super) file: Arc<PageFile>,
    pins: Arc<Pins>,
    /// What tells of readers in other processes, as long as any state is there.
    presence: Weak<Presence>,
    /// The newest durable meta.
    pub(super) meta: Meta,
    /// The tables of the newest durable checkpoint.
    pub(super) stored: BTreeMap<TableId, Stored>,
    catalog: Option<Root>,
    /// A rotation whose checkpoint failed, or has not run yet.
    pub(super) pending: Option<Rotation>,
    /// Runs that the last checkpoint made, less those that were merged since: so many more are to be merged, to keep up.
    pub(super) owed_runs: u64,
    /// Where checkpoints place what they write.
    pub(super) placing: Placing,
    /// Who follows what is done, and may end it.
    pub(super) watchers: Watchers,
    /// They cannot now: whoever has the only turn to write waits for it.
    endures: bool,
    /// Dropped last, as it has the lock of the file.
    pub(super) core: Arc<Core>,
}

/// What a checkpoint does beside merging the frozen deltas.
pub enum Job<'j> {
    /// Merges what recovery read back.
    Replay(Replayed),
    /// Merges sorted streams into tables.
    Load(LoadJob<'j>),
    /// Moves what lies in a part of the file out of it.
    Move(Moving),
    /// Brings in the changes of a transaction that has spilled.
    CommitSpilled(&'j SpilledProposal<'j>),
    /// Merges the runs of ranges, no two of one table.
    MergeRanges { ranges: Vec<Mergeable>, need: Need },
}

impl Job<'_> {
    /// What it takes space for. Without a job, a checkpoint frees the log, for which it may take all there is.
    fn need(job: Option<&Self>) -> Need {
        match job {
            None | Some(Self::Replay(_)) => Need::Rescue,
            Some(Self::Load(_)) => Need::Addition,
            Some(Self::Move(_) | Self::CommitSpilled(_)) => Need::Upkeep,
            Some(Self::MergeRanges { need, .. }) => *need,
        }
    }

    /// The phase in which it can be ended before its time. A job cannot while others wait for it: it has the only turn to write.
    fn stoppable(job: Option<&Self>) -> Option<Phase> {
        match job {
            None => Some(Phase::Flushing),
            Some(Self::MergeRanges { .. }) => Some(Phase::Merging),
            Some(Self::Move(_)) => Some(Phase::Moving),
            Some(Self::Replay(_) | Self::Load(_) | Self::CommitSpilled(_)) => None,
        }
    }
}

/// A load into tables, no two of them the same.
pub struct LoadJob<'j> {
    /// The tables of the sources, in their order.
    tables: &'j [TableId],
    sources: Vec<&'j mut dyn LoadSource>,
    /// The commit that tells of it in a log that is kept: seen with the load, and not before.
    note: Option<Sequence>,
}

impl<'j> LoadJob<'j> {
    /// Requires: as many sources as tables, and no table twice.
    pub fn new(tables: &'j [TableId], sources: Vec<&'j mut dyn LoadSource>) -> Self {
        assert_eq!(tables.len(), sources.len());
        Self { tables, sources, note: None }
    }
}

/// A sorted stream to load, handed to the merge by whoever knows its concrete type.
pub trait LoadSource {
    /// Merges the stream into the tree at `root`.
    ///
    /// # Errors
    /// The stream's own, and the merge's.
    fn merge(&mut self, pages: &Pages, root: Option<&Root>, writer: &mut PageWriter<'_>) -> Result<Option<Root>>;

    /// What the merge came to.
    fn outcome(&self) -> MergeOutcome;
}

/// What opening found, and a checkpointer goes on from.
pub struct Basis {
    pub meta: Meta,
    pub stored: BTreeMap<TableId, Stored>,
    pub catalog: Option<Root>,
}

/// The trees after a merge that is not durable yet.
struct Merged {
    stored: BTreeMap<TableId, Stored>,
    catalog: Option<Root>,
    /// Runs that were made.
    runs: u64,
    /// The number for the next table.
    next_table: TableId,
}

/// What is shown with the merged trees.
#[derive(Clone, Copy)]
enum Shown<'j> {
    /// All that was committed until deltas were exchanged.
    Rotated,
    /// Nothing else; commits may go on meanwhile.
    Merged,
    /// More than was committed to tables, and the commit that tells so. Nothing is in the active deltas: the caller is the only
    /// writer.
    Loaded { tables: &'j [TableId], note: Option<Sequence> },
    /// As [`Shown::Loaded`], a transaction that has spilled: what it changed, created and dropped, and its number.
    SpilledCommit(&'j SpilledProposal<'j>),
}

impl Checkpointer {
    pub fn new(
        core: Arc<Core>,
        space: Arc<Mutex<Space>>,
        file: Arc<PageFile>,
        pins: Arc<Pins>,
        presence: Weak<Presence>,
        basis: Basis,
    ) -> Self {
        let Basis { meta, stored, catalog } = basis;
        Self {
            core,
            space,
            file,
            pins,
            presence,
            meta,
            stored,
            catalog,
            pending: None,
            owed_runs: 0,
            placing: Placing::Usual,
            watchers: Watchers::default(),
            endures: false,
        }
    }

    /// The newest durable meta.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// See [`Pins::oldest_age`].
    pub fn oldest_snapshot(&self) -> Option<Duration> {
        self.pins.oldest_age()
    }

    /// The space of the file.
    pub fn space(&self) -> &Mutex<Space> {
        &self.space
    }

    /// Merges what recovery read back, before anything else is committed.
    ///
    /// # Errors
    /// See [`crate::Database::checkpoint`]. Only the next opening can try again.
    pub fn run_replay(&mut self, rotation: Rotation, replayed: Replayed) -> Result<()> {
        self.merge_all_runs(Haste::Full)?;
        self.pending = Some(rotation);
        let outcome = self.checkpoint(Some(Job::Replay(replayed)));
        // Without what was replayed, a later checkpoint must not say that it holds it.
        self.pending = None;
        outcome
    }

    /// Merges everything committed so far. Does nothing if there is nothing.
    ///
    /// # Errors
    /// See [`crate::Database::checkpoint`].
    pub fn run(&mut self) -> Result<()> {
        self.core.writer()?;
        // What an earlier checkpoint could not merge comes first, then what was committed since.
        if self.pending.is_some() {
            self.flush()?;
            met(Situation::CheckpointedAgain);
        }
        self.merge_full_ranges()?;
        if !self.endures {
            self.watchers.look(self.file.path())?;
        }
        self.pending = self.core.rotate()?;
        if self.pending.is_some() {
            met(Situation::Rotated);
        }
        if self.pending.is_some() { self.flush() } else { self.reclaim() }
    }

    /// Brings what is pending into the trees.
    pub(super) fn flush(&mut self) -> Result<()> {
        let outcome = self.checkpoint(None);
        if matches!(outcome, Err(Error::DiskFull { .. })) {
            // The file may have grown in vain, into what the log needs to tell of deletions.
            self.space.lock().truncate_to_used()?;
        }
        outcome
    }

    /// A checkpoint, and then another one that does further work. Requires: the caller is the only writer, so that
    /// nothing is committed in between.
    ///
    /// # Errors
    /// As [`Checkpointer::run`], and the job's own: then nothing of it was done, unless the database is poisoned; nothing of a load
    /// unless the error is [`Error::Indeterminate`].
    pub fn run_with(&mut self, mut job: Job<'_>) -> Result<()> {
        self.endures = true;
        let prepared = self.prepare_for(&job);
        self.endures = false;
        prepared?;
        let core = Arc::clone(&self.core);
        let writer = core.writer()?;
        // What follows is noted in the log.
        self.begin_log()?;
        let _note = match &mut job {
            Job::Load(load) if writer.retention.keeps() => {
                let note = core.note_loads(writer, load.tables)?;
                load.note = Some(note.sequence());
                Some(note)
            }
            Job::CommitSpilled(incoming) => {
                let note = core.note_loads(writer, &incoming.noted())?;
                incoming.note(note.sequence());
                Some(note)
            }
            _ => None,
        };
        self.checkpoint(Some(job))
    }

    /// A checkpoint, and what else comes before a job.
    fn prepare_for(&mut self, job: &Job<'_>) -> Result<()> {
        self.run()?;
        match job {
            // What is loaded is newer than any run, and becomes part of the tree.
            Job::Load(load) => load.tables.iter().try_for_each(|&table| self.merge_runs_of(table)),
            // It may add a run to each range.
            Job::CommitSpilled(_) => self.merge_all_runs(Haste::Full),
            Job::Replay(_) | Job::Move(_) | Job::MergeRanges { .. } => Ok(()),
        }
    }

    pub(super) fn checkpoint(&mut self, job: Option<Job<'_>>) -> Result<()> {
        // What was before may have poisoned, and yet been done.
        self.core.writer()?;
        let does_job =
            matches!(job, Some(Job::Load(..) | Job::CommitSpilled(_) | Job::Move(_) | Job::MergeRanges { .. }));
        let rotation = self.pending.take();
        let makes_runs = rotation.is_some() || matches!(job, Some(Job::CommitSpilled(_)));
        let began = Instant::now();
        let outcome = self.try_checkpoint(rotation.as_ref(), job);
        if let Err(error @ Error::Stopped { .. }) = outcome {
            self.pending = rotation;
            return Err(error);
        }
        metrics::checkpoint(began.elapsed(), outcome.is_err(), self.pins.oldest_age().unwrap_or_default());
        if let Err(error) = outcome {
            if rotation.is_some() {
                met(Situation::CheckpointFailed);
            }
            self.pending = rotation;
            return Err(error);
        }
        match self.let_go(rotation, makes_runs) {
            // The job is done and durable. That space is not free yet must not make it look as if it were not.
            Err(_) if does_job => Ok(()),
            outcome => outcome,
        }
    }

    /// After a checkpoint: frees what it replaced, unless its meta is in one slot only because a sync failed.
    fn let_go(&mut self, rotation: Option<Rotation>, makes_runs: bool) -> Result<()> {
        if let (Some(rotation), Some(writer)) = (&rotation, &self.core.writer) {
            writer.group.raise(rotation.sequence);
        }
        let writer = self.core.writer()?;
        if let (true, Some(relief)) = (makes_runs && self.has_runs(), writer.relief.get()) {
            relief.made_runs();
        }
        if let Some(rotation) = rotation {
            if let Some(relief) = writer.relief.get() {
                relief.left_spares(rotation.frozen.iter().map(|(_, delta)| delta.memory_bytes()).sum());
            }
            writer.log.lock().journal.remove_before(rotation.start.segment, rotation.sequence)?;
        }
        self.reclaim()
    }

    fn try_checkpoint(&mut self, rotation: Option<&Rotation>, mut job: Option<Job<'_>>) -> Result<()> {
        if let (true, Some(rotation)) = (planted(Fault::MetaBeforeData), rotation) {
            let LogStart { segment, exists } = rotation.start;
            let (number, sequence) = (self.meta.number + 1, rotation.sequence);
            self.write_slot(Meta {
                number,
                sequence,
                log_first_segment: segment,
                log_exists: exists,
                ..self.meta.clone()
            })?;
        }
        if let Some(rotation) = rotation {
            // What is kept must not have holes after a power cut.
            let writer = self.core.writer()?;
            if writer.retention.keeps() && !planted(Fault::KeptLogUnsynced) {
                self.core.make_durable(writer, rotation.sequence)?;
            }
        }
        // A transaction that ran when the checkpoint before ended has kept that from freeing what it replaced. Freed only
        // after this one, it would make the file half as large again.
        self.free_unread()?;
        let pages = self.core.published.state().pages.clone();
        let space = Arc::clone(&self.space);
        let shown = match &job {
            _ if rotation.is_some() => Shown::Rotated,
            Some(Job::Load(load)) => Shown::Loaded { tables: load.tables, note: load.note },
            Some(Job::CommitSpilled(incoming)) => Shown::SpilledCommit(incoming),
            _ => Shown::Merged,
        };
        let mut writer = PageWriter::new(&space);
        writer.set_placing(self.placing);
        writer.set_need(Job::need(job.as_ref()));
        if let Some(phase) = Job::stoppable(job.as_ref()).filter(|_| !self.endures) {
            self.watchers.enter(phase);
            self.watchers.look(self.file.path())?;
            writer.set_watchers(self.watchers.clone());
        }
        // An error drops the writer, which gives back all that it placed.
        let merged = self.merge(&pages, rotation, job.as_mut(), &mut writer)?;
        let mut operation = writer.finish()?;
        self.settle_large(rotation, &mut operation);
        if let Some(Job::Replay(replayed)) = &job {
            replayed.settle_large(&mut self.space.lock(), &mut operation);
        }
        if let Shown::SpilledCommit(incoming) = shown {
            let mut space = self.space.lock();
            incoming.kept().into_iter().for_each(|extent| space.adopt_logged(&mut operation, extent));
        }
        // What was sorted takes memory that the sync wants for better.
        drop(job);
        let runs = merged.runs;
        self.publish(&pages, rotation, shown, merged, operation)?;
        match shown {
            Shown::Rotated => self.owed_runs = runs,
            _ => self.owed_runs += runs,
        }
        Ok(())
    }

    /// Merges deltas, jobs and the catalog into new trees.
    fn merge(
        &self,
        pages: &Pages,
        rotation: Option<&Rotation>,
        job: Option<&mut Job<'_>>,
        writer: &mut PageWriter<'_>,
    ) -> Result<Merged> {
        let mut stored = self.stored.clone();
        let (mut dropped, mut runs) = (Vec::new(), 0);
        let mut next_table = self.next_table();
        if let Some(rotation) = rotation {
            dropped.extend(stored::change_since(&rotation.since, &mut stored));
            let shape = self.shape(rotation.frozen.len())?;
            for (id, delta) in &rotation.frozen {
                let Some(table) = stored.get_mut(id) else { continue };
                let mut source = DeltaSource { delta, sequence: rotation.sequence };
                let flushed = stacking::flush(pages, &table.info, &table.trees, &mut source, writer, shape)?;
                table.trees = flushed.trees;
                runs += flushed.runs;
            }
        }
        if let Some(Job::CommitSpilled(incoming)) = &job {
            dropped.extend(stored::change_as(incoming.schema(), &mut stored));
            next_table = next_table.max(incoming.tables_end());
        }
        for table in &dropped {
            stacking::remove(pages, &table.trees, writer)?;
        }
        match job {
            None => {}
            Some(Job::CommitSpilled(incoming)) => runs += self.take_in(pages, incoming, &mut stored, writer)?,
            Some(Job::Replay(replayed)) => {
                while let Some(id) = replayed.next_table()? {
                    match stored.get_mut(&id) {
                        Some(Stored { info, trees }) => {
                            *trees = stacking::take_in(pages, info, trees, &mut replayed.of_table(id), writer)?;
                        }
                        None => replayed.skip_table(id)?,
                    }
                }
            }
            Some(Job::Load(LoadJob { tables, sources, .. })) => {
                for (id, source) in tables.iter().zip(sources.iter_mut()) {
                    let table = stored.get_mut(id);
                    let table = table.ok_or_else(|| Error::TableNotFound { name: format!("number {}", id.0) })?;
                    table.trees.base = source.merge(pages, table.trees.base.as_deref(), writer)?.map(Base::new);
                }
            }
            Some(Job::Move(moving)) => {
                writer.start_moving(*moving);
                for table in stored.values_mut() {
                    table.trees.base = stacking::move_tree(pages, &table.info, &table.trees, writer)?;
                }
            }
            Some(Job::MergeRanges { ranges, .. }) => {
                for Mergeable { table, range, .. } in ranges {
                    if let Some(Stored { info, trees }) = stored.get_mut(table) {
                        *trees = stacking::merge_range(pages, info, trees, *range, writer)?;
                    }
                }
            }
        }
        let catalog = self.merge_catalog(pages, &stored, &dropped, writer)?;
        Ok(Merged { stored, catalog, runs, next_table })
    }

    /// Flushes the changes of a transaction that has spilled. Answers how many runs that made.
    fn take_in(
        &self,
        pages: &Pages,
        incoming: &SpilledProposal<'_>,
        stored: &mut BTreeMap<TableId, Stored>,
        writer: &mut PageWriter<'_>,
    ) -> Result<u64> {
        let state = self.core.published.state();
        let changed = incoming.changed();
        let shape = self.shape(changed.len())?;
        let mut runs = 0;
        for id in changed {
            let (Some(table), Some(source)) = (stored.get_mut(&id), incoming.source(&state, id)) else { continue };
            let mut source = SpilledSource::new(source);
            let flushed = stacking::flush(pages, &table.info, &table.trees, &mut source, writer, shape)?;
            incoming.keep(source.into_kept());
            table.trees = flushed.trees;
            runs += flushed.runs;
        }
        Ok(runs)
    }

    /// What decides how changes of so many tables are flushed.
    fn shape(&self, tables: usize) -> Result<Shape> {
        let page_bytes = self.file.page_size().bytes() as u64;
        let budget = &self.core.writer()?.budget;
        // On a disk that is nearly full ranges are small, so that there is room to merge one.
        let delta_bytes = budget.bytes().max(RANGES_CRAMPED * page_bytes).min(budget.bytes_max());
        Ok(Shape { delta_bytes, page_bytes, tables: tables as u64 })
    }

    fn merge_catalog(
        &self,
        pages: &Pages,
        stored: &BTreeMap<TableId, Stored>,
        dropped: &[Stored],
        writer: &mut PageWriter<'_>,
    ) -> Result<Option<Root>> {
        let mut changes: BTreeMap<&str, Option<Vec<u8>>> = BTreeMap::new();
        let renamed = stored
            .values()
            .filter(|table| self.stored.get(&table.info.id).is_some_and(|before| before.is_renamed(table)));
        for table in dropped.iter().chain(renamed) {
            if let Some(before) = self.stored.get(&table.info.id) {
                changes.insert(&before.info.name, None);
            }
        }
        // After all names that went: one of them may be another table's now.
        for (id, table) in stored {
            if self.stored.get(id).is_none_or(|before| !before.trees.are(&table.trees) || before.is_renamed(table)) {
                let mut descriptor = table.info.descriptor.clone();
                descriptor.root = table.trees.base.as_deref().map(store_root);
                descriptor.ranges = table.trees.stack.as_ref().map(|stack| stack.store()).unwrap_or_default();
                changes.insert(&table.info.name, Some(descriptor.encode()));
            }
        }
        let mut changes = CatalogChanges::new(changes);
        let outcome = tree::merge(
            pages,
            self.catalog.as_ref(),
            &mut changes,
            writer,
            LeafForm::Tagged(ValueAlign::One),
            &mut || Ok(()),
        )?;
        Ok(outcome.root)
    }

    /// Decides for each large value that was committed whether a tree has it now.
    fn settle_large(&self, rotation: Option<&Rotation>, operation: &mut Operation) {
        let Some(rotation) = rotation else { return };
        let mut space = self.space.lock();
        let identity = self.file.identity();
        for (table, key, large) in &rotation.since.large {
            let delta = rotation.frozen.iter().find(|(id, _)| id == table).map(|(_, delta)| delta);
            let dropped = rotation.since.dropped.iter().any(|info| info.id == *table);
            let newest = delta.and_then(|delta| delta.get(key, identity.hash(key), rotation.sequence));
            let current = matches!(newest, Some(delta::Change::PutLarge(at)) if at.extent == large.value.extent);
            if current && !dropped {
                space.adopt_logged(operation, large.value.extent);
            } else {
                space.retire_logged(operation, large.value.extent);
            }
        }
    }

    /// Makes the merged trees the newest checkpoint: durable, then visible.
    fn publish(
        &mut self,
        pages: &Pages,
        rotation: Option<&Rotation>,
        shown: Shown<'_>,
        merged: Merged,
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
        features.set_merges(merged.stored.values().filter_map(|table| table.info.descriptor.merge.as_ref()));
        let meta = Meta {
            features,
            number: self.meta.number + 1,
            birth: prepared.birth,
            sequence: rotation.map_or(self.meta.sequence, |rotation| rotation.sequence),
            log_first_segment: start.segment,
            log_exists: start.exists,
            page_count: prepared.page_count,
            next_table_id: merged.next_table,
            catalog: merged.catalog.as_ref().map(store_catalog),
            extent_table: prepared.table,
            ..self.meta.clone()
        };
        // Everything that can fail comes before the meta: once that is durable, the checkpoint has happened.
        let extents = ExtentMap::new(prepared.entries.clone(), prepared.page_count, Some(pages.extents()));
        let is_held = self.file.is_held_by_memory(prepared.page_count);
        // Nobody reads through it before all is durable.
        let extents = if is_held { extents.trusting(operation.birth()) } else { extents };
        self.watchers.enter(Phase::Waiting);
        let written = self.file.pages(Arc::new(extents)).and_then(|pages| {
            self.sync_pages(shown, merged.runs)?;
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
        self.stored = merged.stored;
        self.catalog = merged.catalog;
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
            || (planted(Fault::SpilledUnsynced) && matches!(shown, Shown::SpilledCommit(_)));
        if unsynced { Ok(()) } else { self.sync_file() }
    }

    pub(super) fn sync_file(&self) -> Result<()> {
        self.file.sync().inspect_err(|_| self.poison())
    }

    pub(super) fn poison(&self) {
        if let Some(writer) = &self.core.writer {
            writer.poison();
        }
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.core.writer.as_ref().is_some_and(Writer::is_poisoned)
    }

    fn next_table(&self) -> TableId {
        let state = self.core.published.state();
        TableId(u32::try_from(state.tables.len()).expect("table numbers are checked when they are given out"))
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
            Shown::SpilledCommit(incoming) => (incoming.changed(), incoming.sequence()),
            Shown::Rotated | Shown::Merged => (BTreeSet::new(), None),
        };
        self.core.retire_frozen();
        let pin = Pins::pin(&self.pins, self.meta.birth);
        drop(self.core.published.update(|newest| {
            let newest = &match (shown, note) {
                (Shown::SpilledCommit(incoming), Some(note)) if !incoming.schema().is_empty() => {
                    // What it dropped is in no tree any more: nobody reads at an earlier commit than this one from here on.
                    let (dropped, renamed) = (newest.dropped.clone(), newest.renamed.clone());
                    State { dropped, renamed, ..with_schema(newest, incoming.schema().changes(), note) }
                }
                _ => newest.clone(),
            };
            // Extents may have died whose numbers a snapshot finds among the frozen ones of a moment ago. The next values may get
            // these numbers, and must not come among the active ones of that snapshot.
            let is_alone = matches!(shown, Shown::Loaded { .. } | Shown::SpilledCommit(_));
            let active_large = if is_alone { Arc::default() } else { Arc::clone(&newest.active_large) };
            let mut next = State {
                active_large,
                // Who sees what was loaded sees its note.
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
                if !view.trees.are(&trees) || view.frozen.is_some() || view.loads != loads {
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

    /// Frees what no snapshot reads any more, and gives the end of the file back if much of it is free.
    ///
    /// # Errors
    /// The disk's; nothing is lost then, the next checkpoint tries again.
    pub fn reclaim(&mut self) -> Result<()> {
        self.free_unread()?;
        let mut space = self.space.lock();
        if space.slack_is_large() && space.truncate_to_used()? > 0 {
            met(Situation::FileCut);
        }
        Ok(())
    }

    /// Frees what no snapshot reads any more.
    fn free_unread(&self) -> Result<()> {
        let Some(presence) = self.presence.upgrade() else {
            return Err(Error::Closed { path: self.file.path().to_path_buf() });
        };
        let elsewhere = presence.oldest_pinned();
        let elsewhere = elsewhere.map_err(|error| Error::io("look for readers of", self.file.path(), error))?;
        let births = self.pins.pinned();
        self.space.lock().reclaim(SpacePins { births: &births, oldest_elsewhere: elsewhere });
        Ok(())
    }
}

/// So many ranges a tree has however full the disk: fewer are too large to be merged there, and more take too many pages for their runs.
const RANGES_CRAMPED: u64 = 32;
