//! Children made by `fork`.

use std::mem;

use fulgurite::Stamp;

use crate::error::Result;

/// A value that belongs to the process that made it. A child made by `fork` neither uses nor drops the value: locks of
/// the value and of what it contains may be held by threads that the child does not have.
pub struct ProcessBound<T> {
    /// None if the system does not show forks.
    process: Option<Stamp>,
    /// None after the drop.
    value: Option<T>,
}

impl<T> ProcessBound<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        Self { process: Stamp::new().ok(), value: Some(value) }
    }

    /// The value.
    ///
    /// # Errors
    /// If this process is a child of the one that made it.
    pub fn get(&self) -> Result<&T> {
        self.value.as_ref().filter(|_| !self.is_inherited()).ok_or_else(|| fulgurite::Error::Forked.into())
    }

    fn is_inherited(&self) -> bool {
        self.process.is_some_and(|process| process.is_inherited())
    }
}

impl<T: Default> Default for ProcessBound<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for ProcessBound<T> {
    fn drop(&mut self) {
        if self.is_inherited() {
            mem::forget(self.value.take());
        }
    }
}
