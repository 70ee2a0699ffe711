//! A value that is made once, by the first thread that needs it.

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::yield_now;

/// As std's.
#[derive(Debug)]
pub struct OnceLock<T> {
    state: AtomicU32,
    value: std::sync::OnceLock<T>,
}

/// Nobody has begun.
const EMPTY: u32 = 0;
/// Somebody makes the value.
const BEGUN: u32 = 1;
/// The value is there.
const READY: u32 = 2;

impl<T> OnceLock<T> {
    /// Without a value.
    pub const fn new() -> Self {
        Self { state: AtomicU32::new(EMPTY), value: std::sync::OnceLock::new() }
    }

    /// The value, if it is there.
    pub fn get(&self) -> Option<&T> {
        // Acquire pairs with the Release in `get_or_init`, as in std's.
        if self.state.load(Ordering::Acquire) == READY { self.value.get() } else { None }
    }

    /// The value, made now if it is not there.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let mut make = Some(make);
        loop {
            match self.state.compare_exchange(EMPTY, BEGUN, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => {
                    let make = make.take().expect("nobody begins twice");
                    assert!(self.value.set(make()).is_ok(), "only the thread that has begun makes the value");
                    self.state.store(READY, Ordering::Release);
                }
                Err(READY) => return self.value.get().expect("it is ready"),
                Err(_) => yield_now(),
            }
        }
    }

    /// The value, which is not there any more then.
    pub fn take(&mut self) -> Option<T> {
        *self.state.get_mut() = EMPTY;
        self.value.take()
    }
}
