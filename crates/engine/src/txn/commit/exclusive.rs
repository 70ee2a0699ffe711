//! A time in which only one transaction or load may commit: for long jobs that must not fail with conflicts, and for
//! what is not a commit, such as a bulk load.
//!
//! Transactions that are running continue, and can read. Their commits wait, and are then checked like any other.

use crate::error::Result;
use crate::merge_functions::check_not_merging;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Instant};
use crate::txn::commit::core::Core;
use crate::txn::coordination::turn::{Turn, Turns};

/// Nothing else commits while it lives.
#[derive(Debug)]
pub struct Exclusive {
    core: Arc<Core>,
    /// Dropped after the flags are cleared, so that the next holder finds them cleared.
    _turn: Turn,
}

impl Exclusive {
    /// Waits until no other job has the turn and all running commits are visible. `None` if `deadline` passes before.
    ///
    /// # Errors
    /// As [`Core::writer`]; [`crate::Error::Invalid`] in a merge function.
    pub fn wait(core: &Arc<Core>, deadline: Option<Instant>) -> Result<Option<Self>> {
        check_not_merging()?;
        core.writer()?;
        let Some(turn) = Turns::wait_until(&core.turns, deadline) else { return Ok(None) };
        // The database may have been closed during the wait.
        let writer = core.writer()?;
        // Dropped after the guard, should waiting panic: it takes the lock.
        let exclusive = Self { core: Arc::clone(core), _turn: turn };
        let mut logged = writer.log.lock();
        logged.exclusive = true;
        // Relaxed: a hint for transactions that begin; the flag under the lock counts.
        core.exclusive.store(true, Ordering::Relaxed);
        core.published.wait(logged.last);
        drop(logged);
        Ok(Some(exclusive))
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        let Some(writer) = self.core.writer.as_ref().filter(|_| !self.core.stamp.is_inherited()) else { return };
        self.core.exclusive.store(false, Ordering::Relaxed);
        writer.log.lock_after_panic().exclusive = false;
        writer.exclusive_ended.notify_all();
    }
}
