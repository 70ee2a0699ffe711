//! A mutex whose holder may call functions of Python, such as upcasters.
//!
//! Such a function may use the same object again. On the same thread that would wait for ever, so it is an error.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::error::{Failure, Result};
use crate::merging::running::check_not_merging;
use crate::process::ProcessBound;

/// A value that one call uses at a time.
pub struct Exclusive<T> {
    value: ProcessBound<Mutex<T>>,
    /// The thread whose call uses the value.
    holder: Mutex<Option<ThreadId>>,
}

impl<T> Exclusive<T> {
    /// A value that no call uses.
    pub fn new(value: T) -> Self {
        Self { value: ProcessBound::new(Mutex::new(value)), holder: Mutex::new(None) }
    }

    /// Calls `run` with the value, after the calls of other threads.
    ///
    /// # Errors
    /// If `run` of an outer call on this thread calls this, or an earlier call has panicked; in a child made by `fork`;
    /// those of `run`.
    pub fn with<R>(&self, object: &str, run: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        check_not_merging()?;
        let value = self.value.get()?;
        let this = thread::current().id();
        if *self.holder.lock().unwrap_or_else(PoisonError::into_inner) == Some(this) {
            let text =
                format!("a function that the {object} calls, such as an upcaster, cannot use the {object} itself");
            return Err(Failure::invalid(text));
        }
        let mut value = value.lock().map_err(|_| Failure::broken())?;
        self.set(Some(this));
        // Dropped before the value is unlocked.
        let _end = End(self);
        run(&mut value)
    }

    /// The value, if no call uses it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.value.get().ok()?.try_lock().ok()
    }

    fn set(&self, holder: Option<ThreadId>) {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = holder;
    }
}

struct End<'e, T>(&'e Exclusive<T>);

impl<T> Drop for End<'_, T> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
