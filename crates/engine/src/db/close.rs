//! Closing: merge everything, write a meta that needs no log, remove the log, but for what is to be kept, and the lock.

use crate::db::database::Inner;
use crate::error::{Error, Result};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::txn::exclusive::Exclusive;

/// Closes the database for all handles.
pub fn close(inner: &Inner) -> Result<()> {
    let outcome = if inner.core.writer.is_some() && !inner.is_closed() { settle(inner) } else { Ok(()) };
    // Release pairs with the Acquire in `Core::check_open`.
    inner.core.closed.store(true, Ordering::Release);
    if let Some(worker) = &inner.worker {
        worker.stop();
    }
    outcome.and(leave(inner))
}

/// Brings the one file up to date.
fn settle(inner: &Inner) -> Result<()> {
    let writer = inner.core.writer()?;
    let checkpointer = inner.checkpointer.as_ref().ok_or_else(|| Error::ReadOnly { path: inner.core.path.clone() })?;
    // Whoever commits now is seen first; who wants to later finds the database closed.
    let exclusive = Exclusive::wait(&inner.core, None)?;
    let mut checkpointer = checkpointer.lock();
    checkpointer.run()?;
    let mut logged = writer.log.lock();
    inner.core.await_places(&logged)?;
    // Before the meta says that no log is needed: whoever waits for the log now must not write to it any more, whatever comes of
    // what follows.
    inner.core.closed.store(true, Ordering::Release);
    let start = logged.journal.start_after_close();
    checkpointer.finish(start)?;
    logged.journal.close()?;
    drop(logged);
    drop(exclusive);
    Ok(())
}

/// Tells other processes that this one is gone, unless a transaction still reads: then the last one's end tells.
fn leave(inner: &Inner) -> Result<()> {
    let poisoned = inner.core.writer.as_ref().is_some_and(|writer| writer.is_poisoned());
    // The newest state has one reference, this handle another, and the checkpointer of a writer a third.
    let ours = if inner.checkpointer.is_some() { 3 } else { 2 };
    if poisoned || Arc::strong_count(&inner.presence) > ours {
        return Ok(());
    }
    inner.presence.close().map_err(|error| Error::io("unlock", &inner.core.path, error))
}
