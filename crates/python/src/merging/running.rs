//! Whether a merge function runs on a thread.

use std::cell::Cell;

use crate::error::{Failure, Result};

thread_local! {
    /// Whether a merge function runs on this thread.
    static IS_MERGING: Cell<bool> = const { Cell::new(false) };
}

/// A call of a function.
pub struct Running {
    was_merging: bool,
}

impl Running {
    /// Notes that one runs on this thread, until this is dropped.
    pub fn begin() -> Self {
        Self { was_merging: IS_MERGING.replace(true) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IS_MERGING.set(self.was_merging);
    }
}

/// Refuses what a merge function must not do.
///
/// # Errors
/// If a merge function runs on this thread.
#[inline]
pub fn check_not_merging() -> Result<()> {
    if IS_MERGING.get() { Err(refused()) } else { Ok(()) }
}

#[cold]
fn refused() -> Failure {
    Failure::invalid("a merge function cannot call this; compute the value from what the function gets")
}
