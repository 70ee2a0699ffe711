//! Closing: merge everything, write a meta that needs no log, remove the log, but for what is to be kept, and the lock.

use crate::db::checkpoint::Checkpointer;
use crate::db::database::Inner;
use crate::db::open::Presence;
use crate::error::{Error, Result};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex};
use crate::txn::core::Core;
use crate::txn::exclusive::Exclusive;
use crate::txn::state::State;

/// Closes the database for all handles.
pub fn close(inner: &Inner) -> Result<()> {
    let _turn = inner.closing.lock();
    if inner.is_closed() {
        return Ok(());
    }
    let outcome = inner.checkpointer.as_ref().map_or(Ok(()), |checkpointer| settle(&inner.core, checkpointer));
    // Release pairs with the Acquire in `Core::check_open`.
    inner.core.closed.store(true, Ordering::Release);
    if let Some(worker) = &inner.worker {
        worker.stop();
    }
    match outcome {
        Ok(()) => leave(&inner.core),
        // Another thread was faster.
        Err(Error::Closed { .. }) => Ok(()),
        // A call on another thread may still write. The lock goes with the last handle and the last transaction.
        Err(error) => Err(error),
    }
}

/// Brings the one file up to date.
fn settle(core: &Arc<Core>, checkpointer: &Mutex<Checkpointer>) -> Result<()> {
    let writer = core.writer()?;
    // Whoever commits now is seen first; who wants to later finds the database closed.
    let exclusive = Exclusive::wait(core, None)?;
    let mut checkpointer = checkpointer.lock();
    checkpointer.run()?;
    let mut logged = writer.log.lock();
    core.await_places(&logged)?;
    // Before the meta says that no log is needed: whoever waits for the log now must not write to it any more, whatever comes of
    // what follows.
    core.closed.store(true, Ordering::Release);
    let start = logged.journal.start_after_close();
    checkpointer.finish(start)?;
    logged.journal.close()?;
    drop(logged);
    drop(exclusive);
    Ok(())
}

/// Tells other processes that this one is gone, unless a transaction still reads: then the last one's end tells.
fn leave(core: &Core) -> Result<()> {
    let Ok(presence) = Arc::clone(&core.published.state().guard).downcast::<Presence>() else { return Ok(()) };
    presence.leave_at_end();
    // The newest state stays as long as a handle does. So that it keeps nobody out, it is replaced by one that nobody reads.
    drop(core.published.update(|newest| State { guard: Arc::new(()), ..newest.clone() }));
    match Arc::into_inner(presence) {
        Some(presence) => presence.close().map_err(|error| Error::io("unlock", &core.path, error)),
        None => Ok(()),
    }
}
