//! Closing: merge everything, write a meta that needs no log, remove the log, except what is to be kept, and the
//! lock. Or, if the time is over before that, sync the log and leave it. Or discard: leave all as it is.

use std::time::Duration;

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::handle::inner::{CloseOutcome, Inner};
use crate::db::storage::presence::Presence;
use crate::error::{Error, Result};
use crate::merge_functions::check_not_merging;
use crate::monitor::Monitor;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Instant, Mutex};
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::exclusive::Exclusive;
use crate::txn::snapshot::state::State;

/// Closes the database for all handles. The monitor may stop the merging, of every thread that is closing it.
pub fn close(inner: &Inner, monitor: &Monitor) -> Result<CloseOutcome> {
    inner.core.check_process()?;
    check_not_merging()?;
    let _closing = inner.closers.add(monitor);
    // What keeps the checkpointer busy ends with it, too.
    let _watching = inner.watchers.add(monitor);
    let mut earlier = inner.closing.lock();
    let core = &inner.core;
    if inner.is_closed() {
        return earlier.ok_or_else(|| Error::Closed { path: core.path.clone() });
    }
    let outcome = match &inner.checkpointer {
        Some(checkpointer) => settle(inner, checkpointer, monitor),
        None => Ok(CloseOutcome::Clean),
    };
    if let (Err(_), Some(writer)) = (&outcome, &core.writer)
        && !writer.is_poisoned()
    {
        // What fails here is tried again when the last handle goes.
        let _ = seal(core, writer);
    }
    *earlier = outcome.as_ref().ok().copied();
    // Release pairs with the Acquire in `Core::check_open`.
    core.closed.store(true, Ordering::Release);
    match (&outcome, &inner.worker) {
        // The transaction or load that has the only turn may have the checkpointer too, and the worker may wait for
        // it: then the worker ends by itself, later.
        (Err(Error::Stopped { .. }), Some(worker)) => worker.stop_soon(),
        (_, Some(worker)) => worker.stop(),
        (_, None) => {}
    }
    // After an error, a call on another thread may still write: the lock goes with the last handle and the last
    // transaction.
    outcome.and_then(|outcome| release_presence(core).map(|()| outcome))
}

/// Closes the database for all handles, and writes and syncs nothing. Ends what another thread does to close it, and a
/// checkpoint that runs. Waits for commits that have their place in the log, but not for syncs that have begun. Does
/// nothing more if it is closed.
pub fn discard(inner: &Inner) -> Result<()> {
    let core = &inner.core;
    core.check_process()?;
    check_not_merging()?;
    let monitor = Monitor::new();
    monitor.stop();
    let _closing = inner.closers.add(&monitor);
    let _watching = inner.watchers.add(&monitor);
    let _earlier = inner.closing.lock();
    let was_closed = inner.is_closed();
    // As in `seal`: a thread that waits for the log's lock must not write any more.
    let logged = core.writer.as_ref().map(|writer| writer.log.lock());
    core.closed.store(true, Ordering::Release);
    if let Some(mut logged) = logged {
        // Also keeps the end of the last handle and the last transaction from syncing the log.
        logged.discarded = true;
        // Commits that have a place in the log are written there without the lock. One that panicked never will be.
        let _ = core.await_places(&logged);
    }
    if was_closed {
        return Ok(());
    }
    // A checkpoint, bulk load or commit of a spilled transaction that had begun has ended when the lock is free. No
    // other begins.
    if let Some(checkpointer) = &inner.checkpointer {
        drop(checkpointer.lock());
    }
    if let Some(worker) = &inner.worker {
        worker.stop();
    }
    release_presence(core)
}

/// Brings the one file up to date, or sees to it that the log is, when a monitor ends that.
fn settle(inner: &Inner, checkpointer: &Mutex<Checkpointer>, monitor: &Monitor) -> Result<CloseOutcome> {
    let core = &inner.core;
    let writer = core.writer()?;
    // Running commits become visible first. Later ones find the database closed.
    let exclusive = wait_for_turn(inner, monitor)?;
    let mut checkpointer = checkpointer.lock();
    match checkpointer.run() {
        Err(Error::Stopped { .. }) => {
            seal(core, writer)?;
            // Its rank is above that of the turn, which others may wait for.
            drop(checkpointer);
            drop(exclusive);
            return Ok(CloseOutcome::LogKept);
        }
        outcome => outcome?,
    }
    let mut logged = writer.log.lock();
    core.await_places(&logged)?;
    // Before the meta says that no log is needed: a thread that waits for the log now must not write to it any more,
    // even if one of the next steps fails.
    core.closed.store(true, Ordering::Release);
    let start = logged.journal.start_after_close();
    checkpointer.finish(start)?;
    logged.journal.close()?;
    drop(logged);
    drop(checkpointer);
    drop(exclusive);
    Ok(CloseOutcome::Clean)
}

/// Waits until no transaction commits, or until the monitor of a closing thread stops the wait.
fn wait_for_turn(inner: &Inner, monitor: &Monitor) -> Result<Exclusive> {
    loop {
        let soon = Instant::now() + BETWEEN_LOOKS;
        let until = monitor.deadline().map_or(soon, |deadline| deadline.min(soon));
        if let Some(exclusive) = Exclusive::wait(&inner.core, Some(until))? {
            return Ok(exclusive);
        }
        inner.closers.look(&inner.core.path)?;
    }
}

/// From now on nothing is committed; all that was is durable when this returns.
fn seal(core: &Core, writer: &Writer) -> Result<()> {
    let logged = writer.log.lock();
    // Under the log's lock: a thread that waits for the lock must not write any more.
    core.closed.store(true, Ordering::Release);
    let last = logged.last;
    drop(logged);
    core.make_durable(writer, last)
}

/// Announces to other processes that this one is gone, unless a transaction still reads: then the end of the last one
/// does.
fn release_presence(core: &Core) -> Result<()> {
    let Ok(presence) = Arc::clone(&core.published.state().guard).downcast::<Presence>() else { return Ok(()) };
    presence.leave_at_end();
    // The newest state stays as long as a handle does. It is replaced by a state that no transaction reads, so that
    // it does not keep other processes out.
    drop(core.published.update(|newest| State { guard: Arc::new(()), ..newest.clone() }));
    match Arc::into_inner(presence) {
        Some(presence) => presence.close().map_err(|error| Error::io("unlock", &core.path, error)),
        None => Ok(()),
    }
}

/// While an exclusive transaction is waited for, the monitor is looked at so often.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
