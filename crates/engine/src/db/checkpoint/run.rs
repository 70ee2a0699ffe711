//! The steps of a checkpoint: flush what was committed into the trees, write a meta that refers to them, and only
//! then free what that replaced.
//!
//! Invariants:
//! (1) The order is pages, sync, meta, sync: a meta never refers to pages that a power cut could take.
//! (2) Nothing that the newest durable meta reaches is overwritten. Pages that a checkpoint replaced are reused only
//!     after its own meta is durable and no snapshot reads them.
//! (3) A checkpoint that fails leaves everything as it was. Its deltas stay frozen, and the next one flushes them.

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::job::{Job, RunsBefore, Shown};
use crate::db::checkpoint::merge_runs::RunsToMerge;
use crate::db::checkpoint::new_trees::{Built, NewTrees};
use crate::db::recovery::replayed::Replayed;
use crate::delta;
use crate::error::{Error, Result};
use crate::format::Meta;
use crate::metrics;
use crate::pager::{Operation, PageWriter, Pages};
use crate::planted::{Fault, Situation, met, planted};
use crate::sync::{Arc, Instant, outside_locks};
use crate::txn::commit::journal::LogStart;
use crate::txn::commit::rotation::Rotation;
use crate::txn::coordination::budget::{Allowance, DeltaUsage};

impl Checkpointer {
    /// Flushes what recovery read back, before anything else is committed.
    ///
    /// # Errors
    /// See [`crate::Database::checkpoint`]. Only the next opening can try again.
    pub fn run_replay(&mut self, rotation: Rotation, replayed: Replayed) -> Result<()> {
        // As in `run`: a disk that was too full for that before may be still.
        self.merge_full_ranges()?;
        self.measure_disk()?;
        self.pending = Some(rotation);
        let outcome = self.checkpoint(Job::Replay(replayed));
        // Without what was replayed, a later checkpoint must not claim to hold it.
        self.pending = None;
        outcome
    }

    /// Has the budget allow no more than the disk has room for: that decides how large ranges are.
    fn measure_disk(&self) -> Result<()> {
        let budget = &self.core.writer()?.budget;
        if let Some(room) = self.space.lock().room() {
            budget.allow(Some(Allowance::of(DeltaUsage { active: 0, frozen: 0, room }, budget.bytes_max())), 0);
        }
        Ok(())
    }

    /// Flushes everything committed so far. Does nothing if there is nothing.
    ///
    /// # Errors
    /// See [`crate::Database::checkpoint`].
    pub fn run(&mut self) -> Result<()> {
        self.core.writer()?;
        // What an earlier checkpoint could not flush comes first, then what was committed since.
        if self.pending.is_some() {
            self.flush_pending()?;
            met(Situation::CheckpointedAgain);
        }
        self.merge_full_ranges()?;
        if !self.is_unstoppable {
            self.watchers.look(self.file.path())?;
        }
        self.pending = self.core.rotate()?;
        if self.pending.is_some() {
            met(Situation::Rotated);
        }
        if self.pending.is_some() { self.flush_pending() } else { self.reclaim() }
    }

    /// Flushes the rotation that is pending.
    pub(super) fn flush_pending(&mut self) -> Result<()> {
        let outcome = self.checkpoint(Job::Flush);
        if matches!(outcome, Err(Error::DiskFull { .. })) {
            // The file may have grown in vain, into the space that the log needs for deletions.
            self.space.lock().truncate_to_used()?;
        }
        outcome
    }

    /// A checkpoint, and then another one that does a job. Requires: the caller is the only writer, so that nothing
    /// is committed in between.
    ///
    /// # Errors
    /// As [`Checkpointer::run`], and the job's own. Then nothing of the job was done, unless the database is
    /// poisoned; nothing of a load unless the error is [`Error::Indeterminate`].
    pub fn run_with(&mut self, mut job: Job<'_>) -> Result<()> {
        self.is_unstoppable = true;
        let prepared = self.prepare_for(&job);
        self.is_unstoppable = false;
        prepared?;
        let core = Arc::clone(&self.core);
        let writer = core.writer()?;
        // What follows is noted in the log.
        self.begin_log()?;
        let _note = job.note(&core, writer)?;
        self.checkpoint(job)
    }

    /// A checkpoint, and the merges that come before a job.
    fn prepare_for(&mut self, job: &Job<'_>) -> Result<()> {
        self.run()?;
        match job.runs_before() {
            RunsBefore::None => Ok(()),
            RunsBefore::OfTables(tables) => tables.iter().try_for_each(|&table| self.merge_runs_of(table)),
            RunsBefore::Full => self.merge_all_runs(RunsToMerge::Full),
        }
    }

    /// One checkpoint: flushes the rotation that is pending, if there is one, and does a job.
    pub(super) fn checkpoint(&mut self, job: Job<'_>) -> Result<()> {
        // A step before may have poisoned the database although it was done.
        self.core.writer()?;
        let rotation = self.pending.take();
        let (is_asked_for, makes_runs) = (job.is_asked_for(), rotation.is_some() || job.makes_runs());
        let began = Instant::now();
        let outcome = self.try_checkpoint(rotation.as_ref(), job);
        if let Err(error @ Error::Stopped { .. }) = outcome {
            self.pending = rotation;
            return Err(error);
        }
        let oldest = self.pins.oldest_age().unwrap_or_default();
        outside_locks(|| metrics::checkpoint(began.elapsed(), outcome.is_err(), oldest));
        if let Err(error) = outcome {
            if rotation.is_some() {
                met(Situation::CheckpointFailed);
            }
            self.pending = rotation;
            return Err(error);
        }
        match self.after_checkpoint(rotation, makes_runs) {
            // The job is done and durable. An error that keeps space from being freed must not make it look undone.
            Err(_) if is_asked_for => Ok(()),
            outcome => outcome,
        }
    }

    /// Removes log segments and frees the space that a checkpoint replaced, unless its meta is in only one slot
    /// because a sync failed.
    fn after_checkpoint(&mut self, rotation: Option<Rotation>, makes_runs: bool) -> Result<()> {
        if let (Some(rotation), Some(writer)) = (&rotation, &self.core.writer) {
            writer.group.raise(rotation.sequence);
        }
        let writer = self.core.writer()?;
        if let (true, Some(relief)) = (makes_runs && self.has_runs(), writer.relief.get()) {
            relief.note_runs();
        }
        if let Some(rotation) = rotation {
            if let Some(relief) = writer.relief.get() {
                relief.keep_spares(rotation.frozen.iter().map(|(_, delta)| delta.memory_bytes()).sum());
            }
            writer.log.lock().journal.remove_before(rotation.start.segment, rotation.sequence)?;
        }
        self.reclaim()
    }

    fn try_checkpoint(&mut self, rotation: Option<&Rotation>, mut job: Job<'_>) -> Result<()> {
        if let Some(rotation) = rotation {
            self.prepare_log(rotation)?;
        }
        // A transaction that ran when the last checkpoint ended kept that one from freeing what it replaced. Freed
        // only after this checkpoint, those pages would make the file half as large again.
        self.free_unread()?;
        let pages = self.core.published.state().pages.clone();
        let space = Arc::clone(&self.space);
        let shown = if rotation.is_some() { Shown::Rotated } else { job.shown() };
        let mut writer = PageWriter::new(&space);
        writer.set_placing(self.placing);
        writer.set_need(job.need());
        if let Some(phase) = job.stoppable().filter(|_| !self.is_unstoppable) {
            self.watchers.enter(phase);
            self.watchers.look(self.file.path())?;
            writer.set_watchers(self.watchers.clone());
        }
        // An error drops the writer, which releases everything that it placed.
        let built = self.build(&pages, rotation, &mut job, &mut writer)?;
        let mut operation = writer.finish()?;
        if let Some(rotation) = rotation {
            self.settle_large(rotation, &mut operation);
        }
        job.settle_large(&self.space, &mut operation);
        // What was sorted takes memory that the sync can use better.
        drop(job);
        let runs = built.runs;
        self.publish(&pages, rotation, shown, built, operation)?;
        match shown {
            Shown::Rotated => self.owed_runs = runs,
            _ => self.owed_runs += runs,
        }
        Ok(())
    }

    /// Makes the log durable up to a rotation, where it is kept.
    fn prepare_log(&mut self, rotation: &Rotation) -> Result<()> {
        if planted(Fault::MetaBeforeData) {
            let LogStart { segment, exists } = rotation.start;
            let (number, sequence) = (self.meta.number + 1, rotation.sequence);
            let meta = self.meta.clone();
            self.write_slot(Meta { number, sequence, log_first_segment: segment, log_exists: exists, ..meta })?;
        }
        // A kept log must not have holes after a power cut.
        let writer = self.core.writer()?;
        if writer.retention.keeps() && !planted(Fault::KeptLogUnsynced) {
            self.core.make_durable(writer, rotation.sequence)?;
        }
        Ok(())
    }

    /// Merges deltas, the job and the catalog into new trees.
    fn build(
        &self,
        pages: &Pages,
        rotation: Option<&Rotation>,
        job: &mut Job<'_>,
        writer: &mut PageWriter<'_>,
    ) -> Result<Built> {
        let mut trees = NewTrees::new(&self.core, pages, &self.stored, writer);
        if let Some(rotation) = rotation {
            trees.flush_deltas(rotation)?;
        }
        job.change_tables(&mut trees);
        trees.remove_dropped()?;
        job.apply(&mut trees)?;
        trees.finish(self.catalog.as_ref())
    }

    /// Decides for each large value that was committed up to a rotation whether a tree has it now.
    fn settle_large(&self, rotation: &Rotation, operation: &mut Operation) {
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
}
