//! Places whose owners see to it themselves that no two threads are there at once: here that is checked.

/// As the engine's.
#[derive(Debug)]
pub struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        Self(loom::cell::UnsafeCell::new(T::default()))
    }
}

impl<T> UnsafeCell<T> {
    /// Lends the value for a change.
    #[track_caller]
    pub fn with_mut<R>(&self, act: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(act)
    }
}
