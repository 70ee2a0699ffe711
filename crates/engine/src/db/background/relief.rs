//! What commits call when memory fills or the disk is nearly full: it wakes the background thread, or does its work
//! on the spot.

use std::io;
use std::time::Duration;

use crate::db::background::tasks::{Requests, Signals, ThreadEnd};
use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::job::Job;
use crate::db::checkpoint::merge_runs::RunsToMerge;
use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::pager::Space;
use crate::planted::{Situation, met};
use crate::sync;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Instant, Mutex, Thread, sleep};
use crate::txn::commit::core::{Core, MemoryRelief};
use crate::txn::commit::spilled_proposal::SpilledProposal;
use crate::txn::coordination::budget::{Allowance, Budget, DeltaUsage};

/// What commits call: wakes the worker, or does its work on the spot.
pub struct WorkerRelief {
    pub(super) signals: Arc<Signals>,
    pub(super) core: std::sync::Weak<Core>,
    pub(super) checkpointer: std::sync::Weak<Mutex<Checkpointer>>,
    pub(super) background: bool,
    /// See [`Options::checkpoint_interval`](crate::Options::checkpoint_interval).
    pub(super) checkpoint_interval: Duration,
    pub(super) space: Arc<Mutex<Space>>,
    /// How things were when a checkpoint failed because the disk was full, if none has
    /// succeeded since. [`LockRank::FailedCheckpoint`](crate::sync::LockRank::FailedCheckpoint).
    pub(super) failed: Mutex<Option<DeltaUsage>>,
    pub(super) began: Instant,
}

impl MemoryRelief for WorkerRelief {
    fn relieve(&self, bytes: u64) -> Result<()> {
        let Some(core) = self.core.upgrade() else { return Ok(()) };
        let budget = &core.writer()?.budget;
        if budget.is_due(bytes) {
            self.make_room(&core, budget)?;
        }
        // Room may have been made meanwhile.
        let bytes = bytes.min(budget.excess_bytes());
        if bytes <= budget.bytes() {
            return Ok(());
        }
        if self.background && bytes < STALL_FACTOR * budget.bytes() {
            let mut requests = self.ask(|requests| requests.checkpoint = true)?;
            let pause = requests.pace.pause(self.began.elapsed(), bytes, budget.bytes());
            drop(requests);
            if !pause.is_zero() {
                met(Situation::CommitSlowed);
                sleep(pause);
            }
            return Ok(());
        }
        // The worker cannot keep up: wait until what it is doing now has ended.
        met(Situation::CommitStalled);
        self.checkpoint(&core, budget)
    }

    fn has_room_for(&self, bytes: u64) -> bool {
        let Some(core) = self.core.upgrade() else { return true };
        let Some(writer) = &core.writer else { return true };
        self.measure(&core, &writer.budget).is_none_or(|held| held.has_room_for(bytes))
    }

    fn begin_log(&self) -> Result<()> {
        match self.checkpointer() {
            Ok(checkpointer) => checkpointer.lock().begin_log(),
            // The last handle has begun it when it was dropped. If that failed, this commit fails.
            Err(closed) => {
                let core = self.core.upgrade();
                let writer = core.as_deref().map(Core::writer).transpose()?;
                let has_begun = writer.is_some_and(|writer| writer.log_begun.load(Ordering::Acquire));
                if has_begun { Ok(()) } else { Err(closed) }
            }
        }
    }

    fn commit_spilled(&self, incoming: &SpilledProposal<'_>) -> Result<()> {
        self.checkpointer()?.lock().run_with(Job::CommitSpilled(incoming))
    }

    fn write_behind(&self) {
        // Relaxed: this commit was put into the buffer under the log's lock, which the worker takes after it has
        // cleared the flag. A commit that gets the lock after that sees the flag cleared.
        if !self.background || self.signals.write_behind.load(Ordering::Relaxed) {
            return;
        }
        // Without a worker the log is written by the next commit that asks for it, or when its buffer is full.
        if let Ok(_asked) = self.ask(|requests| requests.write_behind = true) {
            self.signals.write_behind.store(true, Ordering::Relaxed);
        }
    }

    fn note_oldest(&self) {
        if self.background && !self.checkpoint_interval.is_zero() {
            let due = Instant::now().checked_add(self.checkpoint_interval);
            // Without a thread the commits wait until the deltas are full.
            drop(self.ask(|requests| requests.checkpoint_at = due));
        }
    }

    fn note_runs(&self) {
        if self.background {
            // Without a thread the next checkpoint merges what must be.
            drop(self.ask(|requests| (requests.merge, requests.settle_at) = (Some(RunsToMerge::Owed), None)));
        }
    }

    fn keep_spares(&self, bytes: usize) {
        let keep = self.background && bytes >= SPARE_BYTES_MIN;
        let requests = keep.then(|| self.ask(|requests| requests.forget_at = Some(Instant::now() + SPARES_KEPT_FOR)));
        // Without a thread that could do it later, it is done now.
        if let (None | Some(Err(_)), Some(core)) = (requests, self.core.upgrade()) {
            core.forget_spares();
        }
    }
}

impl WorkerRelief {
    /// The checkpointer, for a transaction that commits.
    ///
    /// # Errors
    /// [`Error::Closed`] if the transaction has outlived all handles, with which the checkpointer ends.
    fn checkpointer(&self) -> Result<Arc<Mutex<Checkpointer>>> {
        match (self.checkpointer.upgrade(), self.core.upgrade()) {
            (Some(checkpointer), _) => Ok(checkpointer),
            (None, Some(core)) => Err(Error::Closed { path: core.path.clone() }),
            (None, None) => unreachable!("the transaction holds the database"),
        }
    }

    /// Measures the disk, and allows what it has room for. If that is too little, the log may be what takes it: then
    /// a checkpoint is tried first.
    fn make_room(&self, core: &Core, budget: &Budget) -> Result<()> {
        let Some(held) = self.measure(core, budget) else { return Ok(()) };
        let failed = *self.failed.lock();
        if !budget.is_short() || failed.is_some_and(|failed| !failed.is_worth_another_try(held)) {
            return Ok(());
        }
        met(Situation::RoomWanted);
        if let Some(writer) = &core.writer {
            // If this fails, the log keeps its spare segment.
            let _ = writer.log.lock().journal.give_back();
        }
        // The first checkpoint that ends may have begun before what takes the room was committed.
        for _ in 0..2 {
            let held = self.measure(core, budget);
            if !budget.is_short() || held.is_none_or(|held| held.bytes() == 0) {
                break;
            }
            self.checkpoint(core, budget)?;
        }
        Ok(())
    }

    /// Measures the disk, and allows what it has room for. `None` if that has no end, or is not known.
    pub(super) fn measure(&self, core: &Core, budget: &Budget) -> Option<DeltaUsage> {
        let state = core.published.state();
        let bytes = |delta: &Arc<Delta>| if delta.is_empty() { 0 } else { delta.memory_bytes() as u64 };
        let frozen = state.tables.iter().flatten().filter_map(|view| view.frozen.as_ref()).map(bytes).sum();
        drop(state);
        let room = self.space.lock().room();
        let active = core.writer.as_ref().map_or(0, |writer| writer.log.lock().active_bytes);
        let held = room.map(|room| DeltaUsage { active, frozen, room });
        let mut failed = self.failed.lock();
        failed.take_if(|failed| held.is_none_or(|held| failed.is_merged(held)));
        let has_failed = failed.is_some();
        drop(failed);
        let allowance = held.map(|held| Allowance::of(held, budget.bytes_max()));
        let allowance = allowance.map(|allowed| Allowance { is_short: allowed.is_short || has_failed, ..allowed });
        budget.allow(allowance, active);
        held
    }

    /// Checkpoints, or waits for the end of a checkpoint. One that fails because the disk is full is no reason to
    /// refuse a transaction that may delete, as long as there is memory for it: one that adds is refused when it
    /// commits.
    fn checkpoint(&self, core: &Core, budget: &Budget) -> Result<()> {
        let outcome = if self.background { self.await_checkpoint(core) } else { self.checkpoint_here() };
        let is_full = matches!(outcome, Err(Error::DiskFull { .. }));
        *self.failed.lock() = None;
        let held = self.measure(core, budget);
        if is_full && let Some(held) = held {
            *self.failed.lock() = Some(held);
            self.measure(core, budget);
            if held.bytes() < STALL_FACTOR * budget.bytes_max() {
                return Ok(());
            }
        }
        outcome
    }

    /// A checkpoint by the caller itself.
    fn checkpoint_here(&self) -> Result<()> {
        let Some(checkpointer) = self.checkpointer.upgrade() else { return Ok(()) };
        let mut checkpointer = checkpointer.lock();
        let outcome = checkpointer.run().and_then(|()| match checkpointer.merge_all_runs(RunsToMerge::Owed) {
            // They stay until there is room to merge them.
            Err(Error::DiskFull { .. }) => Ok(()),
            outcome => outcome,
        });
        match outcome {
            // `close` stopped it. The commit fails with `Error::Closed` later.
            Err(Error::Stopped { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    /// Waits for the end of the next checkpoint that ends.
    fn await_checkpoint(&self, core: &Core) -> Result<()> {
        let mut requests = self.ask(|requests| requests.checkpoint = true)?;
        let before = requests.ended;
        while requests.ended == before && !requests.stop {
            requests = self.signals.changed.wait(requests);
        }
        if requests.panicked {
            // Nothing frees memory any more.
            let panic =
                io::Error::other("the background thread panicked; drop all handles of the database, and open it again");
            return Err(Error::io("checkpoint", &core.path, panic));
        }
        requests.failure.take().map_or(Ok(()), Err)
    }

    fn ask(&self, change: impl FnOnce(&mut Requests)) -> Result<crate::sync::MutexGuard<'_, Requests>> {
        let mut requests = self.signals.requests.lock();
        let idle = !requests.checkpoint && !requests.write_behind && requests.merge.is_none();
        change(&mut requests);
        if requests.thread.is_none() && !requests.stop {
            requests.thread = self.spawn()?;
        }
        if idle {
            self.signals.changed.notify_all();
        }
        Ok(requests)
    }

    fn spawn(&self) -> Result<Option<Thread>> {
        let (Some(core), Some(checkpointer)) = (self.core.upgrade(), self.checkpointer.upgrade()) else {
            return Ok(None);
        };
        let signals = Arc::clone(&self.signals);
        let path = core.path.clone();
        let thread = sync::spawn("fulgurite", move || {
            let _ended = ThreadEnd(&signals);
            while let Some(task) = signals.next() {
                signals.perform(task, &core, &checkpointer);
            }
        });
        thread.map(Some).map_err(|error| Error::io("start a thread for", &path, error))
    }
}

/// Commits stall while the active deltas are so many times over their budget.
const STALL_FACTOR: u64 = 2;

/// How long the memory of a delta is kept for the next one.
const SPARES_KEPT_FOR: Duration = Duration::from_secs(10);

/// Less is not worth keeping, nor a thread that gives it back.
const SPARE_BYTES_MIN: usize = 8 << 20;
