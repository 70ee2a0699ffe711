//! A time in which one thread alone commits: for long jobs that must not fail for conflicts, and for what is not a
//! commit, such as a bulk load.
//!
//! Transactions that are under way stay so, and read; their commits wait, and are checked afterwards like any other.

use crate::error::Result;
use crate::merge_functions::check_not_merging;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Instant};
use crate::txn::commit::core::Core;
use crate::txn::coordination::turn::{Turn, Turns};

/// Nobody else commits while it lives.
#[derive(Debug)]
pub struct Exclusive {
    core: Arc<Core>,
    /// Ends after the flags are down, so that the next one finds them so.
    _turn: Turn,
}

impl Exclusive {
    /// Waits until nobody else has it, and until all commits under way are seen. `None` if that is not so until
    /// `deadline`.
    ///
    /// # Errors
    /// As [`Core::writer`]; [`crate::Error::Invalid`] in a merge function.
    pub fn wait(core: &Arc<Core>, deadline: Option<Instant>) -> Result<Option<Self>> {
        check_not_merging()?;
        core.writer()?;
        let Some(turn) = Turns::wait_until(&core.turns, deadline) else { return Ok(None) };
        // While this one waited, the database may have been closed.
        let writer = core.writer()?;
        // Dropped after the guard, should waiting panic: it takes the lock.
        let exclusive = Self { core: Arc::clone(core), _turn: turn };
        let mut logged = writer.log.lock();
        logged.exclusive = true;
        // Relaxed: a hint for who begins; the flag under the lock counts.
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
