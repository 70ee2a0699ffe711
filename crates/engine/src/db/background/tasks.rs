//! What the background thread is asked to do, and in which order it does that.
//!
//! It sleeps without a timeout while there is nothing to do. Some time after the last commit it merges the runs that
//! are left, and frees the memory that deltas left for their successors. If the options limit the age of commits that
//! no checkpoint has, the oldest of them sets the time of the next checkpoint.

use std::time::Duration;

use crate::db::background::pace::Pace;
use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::merge_runs::RunsToMerge;
use crate::error::{Error, Result};
use crate::ids::Sequence;
use crate::planted::{Situation, met};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Instant, LockRank, Mutex, Thread, sleep};
use crate::txn::commit::core::Core;

/// What the worker is asked to do, and how it went.
#[derive(Debug)]
pub struct Signals {
    /// [`LockRank::BackgroundRequests`].
    pub(super) requests: Mutex<Requests>,
    /// Whether [`Requests::write_behind`] is set, for commits that need not lock to know. Changed under the lock.
    pub(super) write_behind: AtomicBool,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub struct Requests {
    pub(super) checkpoint: bool,
    /// When to run a checkpoint because the oldest commit that none has is too old then.
    pub(super) checkpoint_at: Option<Instant>,
    pub(super) write_behind: bool,
    /// When to free the memory that deltas left.
    pub(super) forget_at: Option<Instant>,
    /// Which runs to merge next.
    pub(super) merge: Option<RunsToMerge>,
    /// When to merge all of them, should nothing be committed until then.
    pub(super) settle_at: Option<Instant>,
    /// The newest commit when that was set.
    pub(super) settle_after: Sequence,
    /// How fast commits may go on.
    pub(super) pace: Pace,
    /// The log was written behind after the last merge, or there was no merge yet.
    pub(super) wrote_last: bool,
    /// How long after a failure to merge runs is tried again, next time.
    pub(super) merge_again_after: Option<Duration>,
    /// Bytes of the last flush, and how long that has taken with what it owed so far.
    pub(super) flush: Option<(u64, Duration)>,
    pub(super) stop: bool,
    /// The thread has ended by a panic.
    pub(super) panicked: bool,
    /// Checkpoints that have ended, well or not.
    pub(super) ended: u64,
    /// Why the last checkpoint failed, for a thread that waits for it.
    pub(super) failure: Option<Error>,
    pub(super) thread: Option<Thread>,
}

/// The thread has ended. If it panicked, no other thread may wait for its work.
pub struct ThreadEnd<'s>(pub(super) &'s Signals);

impl Drop for ThreadEnd<'_> {
    fn drop(&mut self) {
        let mut requests = self.0.requests.lock_after_panic();
        requests.stop = true;
        requests.panicked = std::thread::panicking();
        drop(requests);
        self.0.changed.notify_all();
    }
}

#[derive(Clone, Copy)]
pub enum Task {
    /// By time: no commit has asked for it.
    Checkpoint {
        by_time: bool,
    },
    WriteBehind,
    ForgetSpares,
    Merge(RunsToMerge),
}

impl Default for Signals {
    fn default() -> Self {
        let requests = Mutex::ranked(LockRank::BackgroundRequests, Requests::default());
        Self { requests, write_behind: AtomicBool::new(false), changed: Condvar::default() }
    }
}

impl Signals {
    /// Sleeps until there is something to do; `None` to stop.
    pub(super) fn next(&self) -> Option<Task> {
        let mut requests = self.requests.lock();
        loop {
            if requests.stop {
                return None;
            }
            // Merges may take long, one after the other: in between the log gets its turn, and without waiting for
            // company.
            if requests.write_behind && requests.merge.is_some() && !requests.wrote_last {
                requests.wrote_last = true;
                return Some(self.take_write_behind(&mut requests));
            }
            // What is owed comes before what would be owed in addition: commits wait when they are too far ahead.
            if requests.merge == Some(RunsToMerge::Owed) {
                requests.wrote_last = false;
                return Some(Task::Merge(RunsToMerge::Owed));
            }
            if requests.checkpoint {
                // The time stays, for this may fail. The first commit after it sets another one.
                return Some(Task::Checkpoint { by_time: false });
            }
            if requests.checkpoint_at.take_if(|at| *at <= Instant::now()).is_some() {
                return Some(Task::Checkpoint { by_time: true });
            }
            if let Some(which) = requests.merge {
                requests.wrote_last = false;
                return Some(Task::Merge(which));
            }
            if requests.write_behind {
                // A moment's patience turns many commits into one write.
                requests = self.changed.wait_timeout(requests, WRITE_BEHIND_DELAY);
                if !requests.stop && !requests.checkpoint {
                    return Some(self.take_write_behind(&mut requests));
                }
                continue;
            }
            let now = Instant::now();
            if requests.settle_at.is_some_and(|at| at <= now) {
                return Some(Task::Merge(RunsToMerge::Everything));
            }
            if requests.forget_at.take_if(|at| *at <= now).is_some() {
                return Some(Task::ForgetSpares);
            }
            let times = [requests.settle_at, requests.forget_at, requests.checkpoint_at];
            requests = match times.into_iter().flatten().min() {
                Some(at) => self.changed.wait_timeout(requests, at.saturating_duration_since(now)),
                None => self.changed.wait(requests),
            };
        }
    }

    fn take_write_behind(&self, requests: &mut Requests) -> Task {
        requests.write_behind = false;
        self.write_behind.store(false, Ordering::Relaxed);
        Task::WriteBehind
    }

    pub(super) fn perform(&self, task: Task, core: &Core, checkpointer: &Mutex<Checkpointer>) {
        match task {
            Task::ForgetSpares => core.forget_spares(),
            Task::WriteBehind => {
                // What fails stays in the buffer; the next commit that must be written reports it.
                let _ = core.write_behind();
                met(Situation::WroteBehind);
            }
            Task::Merge(which) => {
                let newest = core.published.visible();
                let mut requests = self.requests.lock();
                if which == RunsToMerge::Everything && requests.settle_after != newest {
                    requests.settle_later(newest);
                    return;
                }
                drop(requests);
                let mut locked = checkpointer.lock();
                let began = Instant::now();
                let outcome = locked.merge_runs(which);
                // Runs are announced under the checkpointer's lock, which this thread still holds: no announcement is
                // lost here.
                self.requests.lock().merged(which, outcome, newest, began.elapsed());
                drop(locked);
                if which != RunsToMerge::Owed {
                    // No thread waits for these merges: let threads go first that wait for the checkpointer.
                    sleep(STANDING_BACK);
                }
            }
            Task::Checkpoint { by_time } => {
                let mut locked = checkpointer.lock();
                let began = Instant::now();
                let bytes = core.writer.as_ref().map_or(0, |writer| writer.budget.excess_bytes());
                let outcome = locked.run();
                drop(locked);
                let mut requests = self.requests.lock();
                requests.end_flush();
                // Another thread may have flushed before. How long few bytes take says nothing about the pace.
                requests.flush = (outcome.is_ok() && bytes > 0 && !by_time).then(|| (bytes, began.elapsed()));
                requests.checkpoint = false;
                requests.ended += 1;
                if let Err(error) = &outcome
                    && !matches!(error, Error::Poisoned { .. } | Error::Closed { .. })
                {
                    // The frozen deltas must not wait for another commit.
                    requests.retry_later(core.published.visible());
                    if by_time {
                        // Nor until commits pause.
                        requests.checkpoint_at = requests.checkpoint_at.or(requests.settle_at);
                    }
                }
                // The thread that stopped it knows why.
                requests.failure = outcome.err().filter(|error| !matches!(error, Error::Stopped { .. }));
                drop(requests);
                self.changed.notify_all();
            }
        }
    }
}

impl Requests {
    /// Decides what to merge next.
    fn merged(&mut self, which: RunsToMerge, outcome: Result<bool>, newest: Sequence, took: Duration) {
        match (&mut self.flush, which) {
            (Some((_, so_far)), RunsToMerge::Owed) => *so_far += took,
            _ => self.end_flush(),
        }
        match (which, outcome) {
            (_, Err(Error::Poisoned { .. } | Error::Closed { .. })) => (self.merge, self.settle_at) = (None, None),
            // It stays as it is; if it must be merged, a commit will hear of it.
            (_, Err(_)) => self.retry_later(newest),
            (_, Ok(true)) => {
                if self.merge_again_after.take().is_some() {
                    met(Situation::MergedAgain);
                }
            }
            (RunsToMerge::Owed, Ok(false)) => self.merge = Some(RunsToMerge::Worthwhile),
            (RunsToMerge::Full | RunsToMerge::Worthwhile, Ok(false)) => self.settle_later(newest),
            (RunsToMerge::Everything, Ok(false)) => (self.merge, self.settle_at) = (None, None),
        }
    }

    /// Schedules another attempt after a failure.
    fn retry_later(&mut self, newest: Sequence) {
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

    /// Schedules a merge of all runs, for when `newest` is still the newest commit.
    fn settle_later(&mut self, newest: Sequence) {
        self.merge = None;
        (self.settle_at, self.settle_after) = (Some(Instant::now() + SETTLED_AFTER), newest);
    }
}

/// How long a commit at level `Memory` waits for company before the log is written.
const WRITE_BEHIND_DELAY: Duration = Duration::from_millis(20);

/// How long after the last commit all runs are merged: reads are fastest then.
const SETTLED_AFTER: Duration = Duration::from_secs(1);

/// How long after a merge or a checkpoint failed it is tried again, at first; each time that it fails again, twice as
/// long.
const MERGED_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// And at last so long.
const MERGED_AGAIN_AFTER_MAX: Duration = Duration::from_secs(3600);

/// How long the worker leaves the checkpointer to other threads between two merges for which none waits.
const STANDING_BACK: Duration = Duration::from_millis(1);
