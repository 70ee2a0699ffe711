//! The thread that checkpoints, merges runs and writes the log behind, and how commits wake it and wait for it.
//!
//! It sleeps without a timeout while there is nothing to do, and is not started before there is. Some time after the last
//! commit it merges the runs that are left, and gives back the memory that deltas left for those after them.

use std::time::Duration;

use crate::db::checkpoint::{Checkpointer, Job};
use crate::db::merging::Haste;
use crate::db::pace::Pace;
use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::ids::Sequence;
use crate::pager::Space;
use crate::planted::{Situation, met};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{self, Arc, Condvar, Instant, Mutex, Thread, sleep};
use crate::txn::commit::core::{Core, Relief};
use crate::txn::commit::spilled_proposal::SpilledProposal;
use crate::txn::coordination::budget::{Allowance, Budget, Held};

/// The worker of one open database. Dropping it stops the thread and waits for it.
#[derive(Debug)]
pub struct Worker {
    signals: Arc<Signals>,
}

/// What the worker is asked to do, and how it went. Lock rank 5: nothing is locked under it.
#[derive(Debug, Default)]
struct Signals {
    asked: Mutex<Asked>,
    /// Whether [`Asked::write_behind`] is set, for commits that need not lock to know. Changed under the lock.
    write_behind: AtomicBool,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    checkpoint: bool,
    write_behind: bool,
    /// When to give back what deltas left.
    forget_at: Option<Instant>,
    /// Which runs to merge next.
    merge: Option<Haste>,
    /// When to merge all of them, should nothing be committed until then.
    settle_at: Option<Instant>,
    /// The newest commit when that was set.
    settle_after: Sequence,
    /// How fast commits may go on.
    pace: Pace,
    /// The log was written behind after the last merge, or before there was one.
    wrote_last: bool,
    /// How long after a failure to merge runs is tried again, next time.
    merge_again_after: Option<Duration>,
    /// Bytes of the last flush, and how long that has taken with what it owed so far.
    flush: Option<(u64, Duration)>,
    stop: bool,
    /// Checkpoints that have ended, well or not.
    ended: u64,
    /// Why the last checkpoint failed, for who waits on it.
    failure: Option<Error>,
    thread: Option<Thread>,
}

/// What commits call: wakes the worker, or does its work on the spot.
struct Wake {
    signals: Arc<Signals>,
    core: std::sync::Weak<Core>,
    checkpointer: std::sync::Weak<Mutex<Checkpointer>>,
    background: bool,
    space: Arc<Mutex<Space>>,
    /// How things were when a checkpoint failed because the disk was full, if none went well since. Nothing is locked under it.
    failed: Mutex<Option<Held>>,
    began: Instant,
}

impl Worker {
    /// Lets commits of `core` call for checkpoints.
    pub fn start(core: &Arc<Core>, checkpointer: &Arc<Mutex<Checkpointer>>, background: bool) -> Result<Self> {
        let signals = Arc::new(Signals::default());
        let writer = core.writer()?;
        let wake = Wake {
            signals: Arc::clone(&signals),
            core: Arc::downgrade(core),
            checkpointer: Arc::downgrade(checkpointer),
            background,
            space: Arc::clone(writer.large.space()),
            failed: Mutex::default(),
            began: Instant::now(),
        };
        // A disk may be nearly full already.
        wake.measure(core, &writer.budget);
        let fresh = writer.relief.set(Box::new(wake)).is_ok();
        assert!(fresh, "a database has one worker");
        if checkpointer.lock().has_runs()
            && let Some(relief) = writer.relief.get()
        {
            relief.made_runs();
        }
        Ok(Self { signals })
    }

    /// Has the thread stop, after what it is doing now.
    pub fn stop_soon(&self) {
        self.signals.asked.lock().stop = true;
        self.signals.changed.notify_all();
    }

    /// Stops the thread, after what it is doing now.
    pub fn stop(&self) {
        self.stop_soon();
        let thread = self.signals.asked.lock().thread.take();
        // Closing on the worker's own thread cannot happen: it holds no handle.
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Relief for Wake {
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
            let mut asked = self.ask(|asked| asked.checkpoint = true)?;
            let pause = asked.pace.pause(self.began.elapsed(), bytes, budget.bytes());
            drop(asked);
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
        // A database that is being closed needs no log any more: the commit hears of that.
        self.checkpointer.upgrade().map_or(Ok(()), |checkpointer| checkpointer.lock().begin_log())
    }

    fn commit_spilled(&self, incoming: &SpilledProposal<'_>) -> Result<()> {
        match (self.checkpointer.upgrade(), self.core.upgrade()) {
            (Some(checkpointer), _) => checkpointer.lock().run_with(Job::CommitSpilled(incoming)),
            (None, Some(core)) => Err(Error::Closed { path: core.path.clone() }),
            (None, None) => unreachable!("the transaction holds the database"),
        }
    }

    fn write_behind(&self) {
        // Relaxed: this commit is in the buffer by the log's lock, which the worker takes after it has taken the wish back. Who
        // got the lock after that sees the wish gone.
        if !self.background || self.signals.write_behind.load(Ordering::Relaxed) {
            return;
        }
        // Without a worker the log is written by the next commit that asks for it, or when its buffer is full.
        if let Ok(_asked) = self.ask(|asked| asked.write_behind = true) {
            self.signals.write_behind.store(true, Ordering::Relaxed);
        }
    }

    fn made_runs(&self) {
        if self.background {
            // Without a thread the next checkpoint merges what must be.
            drop(self.ask(|asked| (asked.merge, asked.settle_at) = (Some(Haste::Owed), None)));
        }
    }

    fn left_spares(&self, bytes: usize) {
        let keep = self.background && bytes >= SPARE_BYTES_MIN;
        let asked = keep.then(|| self.ask(|asked| asked.forget_at = Some(Instant::now() + SPARES_KEPT_FOR)));
        // Without a thread that could do it later, it is done now.
        if let (None | Some(Err(_)), Some(core)) = (asked, self.core.upgrade()) {
            core.forget_spares();
        }
    }
}

impl Wake {
    /// Measures the disk, and allows what it has room for. If that is too little, the log may be what takes it: then a checkpoint is tried
    /// first.
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
    fn measure(&self, core: &Core, budget: &Budget) -> Option<Held> {
        let state = core.published.state();
        let bytes = |delta: &Arc<Delta>| if delta.is_empty() { 0 } else { delta.memory_bytes() as u64 };
        let frozen = state.tables.iter().flatten().filter_map(|view| view.frozen.as_ref()).map(bytes).sum();
        drop(state);
        let room = self.space.lock().room();
        let active = core.writer.as_ref().map_or(0, |writer| writer.log.lock().active_bytes);
        let held = room.map(|room| Held { active, frozen, room });
        let mut failed = self.failed.lock();
        failed.take_if(|failed| held.is_none_or(|held| failed.is_merged(held)));
        let has_failed = failed.is_some();
        drop(failed);
        let allowance = held.map(|held| Allowance::of(held, budget.bytes_max()));
        let allowance = allowance.map(|allowed| Allowance { is_short: allowed.is_short || has_failed, ..allowed });
        budget.allow(allowance, active);
        held
    }

    /// Checkpoints, or waits for the end of a checkpoint. One that fails because the disk is full is no reason to refuse a transaction that may
    /// delete, as long as there is memory for it: one that adds is refused when it commits.
    fn checkpoint(&self, core: &Core, budget: &Budget) -> Result<()> {
        let outcome = if self.background { self.await_checkpoint() } else { self.checkpoint_here() };
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
        let outcome = checkpointer.run().and_then(|()| match checkpointer.merge_all_runs(Haste::Owed) {
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
    fn await_checkpoint(&self) -> Result<()> {
        let mut asked = self.ask(|asked| asked.checkpoint = true)?;
        let before = asked.ended;
        while asked.ended == before && !asked.stop {
            asked = self.signals.changed.wait(asked);
        }
        asked.failure.take().map_or(Ok(()), Err)
    }

    fn ask(&self, what: impl FnOnce(&mut Asked)) -> Result<crate::sync::MutexGuard<'_, Asked>> {
        let mut asked = self.signals.asked.lock();
        let idle = !asked.checkpoint && !asked.write_behind && asked.merge.is_none();
        what(&mut asked);
        if asked.thread.is_none() && !asked.stop {
            asked.thread = self.spawn()?;
        }
        if idle {
            self.signals.changed.notify_all();
        }
        Ok(asked)
    }

    fn spawn(&self) -> Result<Option<Thread>> {
        let (Some(core), Some(checkpointer)) = (self.core.upgrade(), self.checkpointer.upgrade()) else {
            return Ok(None);
        };
        let signals = Arc::clone(&self.signals);
        let path = core.path.clone();
        let thread = sync::spawn("fulgurite", move || {
            let _ended = Ended(&signals);
            while let Some(task) = signals.next() {
                signals.done(task, &core, &checkpointer);
            }
        });
        thread.map(Some).map_err(|error| Error::io("start a thread for", &path, error))
    }
}

/// The thread has ended. If that was by a panic, nobody must wait for what it would have done.
struct Ended<'s>(&'s Signals);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.asked.lock_after_panic().stop = true;
        self.0.changed.notify_all();
    }
}

#[derive(Clone, Copy)]
enum Task {
    Checkpoint,
    WriteBehind,
    ForgetSpares,
    Merge(Haste),
}

impl Signals {
    /// Sleeps until there is something to do; `None` to stop.
    fn next(&self) -> Option<Task> {
        let mut asked = self.asked.lock();
        loop {
            if asked.stop {
                return None;
            }
            // Merges may take long, one after the other: in between the log gets its turn, and without waiting for company.
            if asked.write_behind && asked.merge.is_some() && !asked.wrote_last {
                asked.wrote_last = true;
                return Some(self.take_write_behind(&mut asked));
            }
            // What is owed comes before what would be owed in addition: commits wait when they are too far ahead.
            if asked.merge == Some(Haste::Owed) {
                asked.wrote_last = false;
                return Some(Task::Merge(Haste::Owed));
            }
            if asked.checkpoint {
                return Some(Task::Checkpoint);
            }
            if let Some(haste) = asked.merge {
                asked.wrote_last = false;
                return Some(Task::Merge(haste));
            }
            if asked.write_behind {
                // A moment's patience turns many commits into one write.
                asked = self.changed.wait_timeout(asked, WRITE_BEHIND_DELAY);
                if !asked.stop && !asked.checkpoint {
                    return Some(self.take_write_behind(&mut asked));
                }
                continue;
            }
            let now = Instant::now();
            if asked.settle_at.is_some_and(|at| at <= now) {
                return Some(Task::Merge(Haste::Everything));
            }
            if asked.forget_at.take_if(|at| *at <= now).is_some() {
                return Some(Task::ForgetSpares);
            }
            asked = match asked.settle_at.into_iter().chain(asked.forget_at).min() {
                Some(at) => self.changed.wait_timeout(asked, at.saturating_duration_since(now)),
                None => self.changed.wait(asked),
            };
        }
    }

    fn take_write_behind(&self, asked: &mut Asked) -> Task {
        asked.write_behind = false;
        self.write_behind.store(false, Ordering::Relaxed);
        Task::WriteBehind
    }

    fn done(&self, task: Task, core: &Core, checkpointer: &Mutex<Checkpointer>) {
        match task {
            Task::ForgetSpares => core.forget_spares(),
            Task::WriteBehind => {
                // What fails stays in the buffer; the next commit that must be written reports it.
                let _ = core.write_behind();
                met(Situation::WroteBehind);
            }
            Task::Merge(haste) => {
                let newest = core.published.visible();
                let mut asked = self.asked.lock();
                if haste == Haste::Everything && asked.settle_after != newest {
                    asked.settle_later(newest);
                    return;
                }
                drop(asked);
                let mut locked = checkpointer.lock();
                let began = Instant::now();
                let outcome = locked.merge_runs(haste);
                // Whoever makes runs says so with the checkpointer's lock: it is not forgotten here.
                self.asked.lock().merged(haste, outcome, newest, began.elapsed());
                drop(locked);
                if haste != Haste::Owed {
                    // Nobody waits for these: let those go first who wait for the checkpointer.
                    sleep(STANDING_BACK);
                }
            }
            Task::Checkpoint => {
                let mut locked = checkpointer.lock();
                let began = Instant::now();
                let bytes = core.writer.as_ref().map_or(0, |writer| writer.budget.excess_bytes());
                let outcome = locked.run();
                drop(locked);
                let mut asked = self.asked.lock();
                asked.end_flush();
                // Somebody else may have flushed before.
                asked.flush = (outcome.is_ok() && bytes > 0).then(|| (bytes, began.elapsed()));
                asked.checkpoint = false;
                asked.ended += 1;
                if let Err(error) = &outcome
                    && !matches!(error, Error::Poisoned { .. } | Error::Closed { .. })
                {
                    // The frozen deltas must not wait for another commit.
                    asked.again_later(core.published.visible());
                }
                // Whoever ends it knows why.
                asked.failure = outcome.err().filter(|error| !matches!(error, Error::Stopped { .. }));
                drop(asked);
                self.changed.notify_all();
            }
        }
    }
}

impl Asked {
    /// Decides what to merge next.
    fn merged(&mut self, haste: Haste, outcome: Result<bool>, newest: Sequence, took: Duration) {
        match (&mut self.flush, haste) {
            (Some((_, so_far)), Haste::Owed) => *so_far += took,
            _ => self.end_flush(),
        }
        match (haste, outcome) {
            (_, Err(Error::Poisoned { .. } | Error::Closed { .. })) => (self.merge, self.settle_at) = (None, None),
            // It stays as it is; if it must be merged, a commit will hear of it.
            (_, Err(_)) => self.again_later(newest),
            (_, Ok(true)) => {
                if self.merge_again_after.take().is_some() {
                    met(Situation::MergedAgain);
                }
            }
            (Haste::Owed, Ok(false)) => self.merge = Some(Haste::Worthwhile),
            (Haste::Full | Haste::Worthwhile, Ok(false)) => self.settle_later(newest),
            (Haste::Everything, Ok(false)) => (self.merge, self.settle_at) = (None, None),
        }
    }

    /// What failed is tried again by and by, and so is what waits for it.
    fn again_later(&mut self, newest: Sequence) {
        let after = self.merge_again_after.unwrap_or(MERGED_AGAIN_AFTER);
        self.merge_again_after = Some((2 * after).min(MERGED_AGAIN_AFTER_MAX));
        (self.merge, self.settle_at, self.settle_after) = (None, Some(Instant::now() + after), newest);
    }

    /// The last flush has done all that it owed.
    fn end_flush(&mut self) {
        if let Some((bytes, took)) = self.flush.take() {
            self.pace.flushed(bytes, took);
        }
    }

    /// Merges all runs by and by, if `newest` stays the newest commit.
    fn settle_later(&mut self, newest: Sequence) {
        self.merge = None;
        (self.settle_at, self.settle_after) = (Some(Instant::now() + SETTLED_AFTER), newest);
    }
}

/// Commits stall while the active deltas are so many times over their budget.
const STALL_FACTOR: u64 = 2;
/// How long a commit at level `Memory` waits for company before the log is written.
const WRITE_BEHIND_DELAY: Duration = Duration::from_millis(20);
/// How long after the last commit all runs are merged: reads are fastest then.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// How long after a merge or a checkpoint failed it is tried again, at first; each time that it fails again, twice as long.
const MERGED_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// And at last so long.
const MERGED_AGAIN_AFTER_MAX: Duration = Duration::from_secs(3600);
/// How long the worker leaves the checkpointer to others between two merges for which nobody waits.
const STANDING_BACK: Duration = Duration::from_millis(1);
/// How long the memory of a delta is kept for the next one.
const SPARES_KEPT_FOR: Duration = Duration::from_secs(10);
/// Less is not worth keeping, nor a thread that gives it back.
const SPARE_BYTES_MIN: usize = 8 << 20;
