//! Reference counts whose last drop comes after all others, and with that in an order that loom knows.
//!
//! std's count and loom's change in one step: loom lets other threads come in before an operation, not after it.

use std::fmt;
use std::ops::Deref;

/// As std's, without weak references.
pub struct Arc<T: ?Sized> {
    /// Dropped first: its drop is what others may come before.
    count: loom::sync::Arc<()>,
    value: std::sync::Arc<T>,
}

impl<T> Arc<T> {
    /// Takes `value` over.
    pub fn new(value: T) -> Self {
        Self::from_std(std::sync::Arc::new(value))
    }
}

impl<T: ?Sized> Arc<T> {
    /// Takes over what nobody else holds.
    pub fn from_std(value: std::sync::Arc<T>) -> Self {
        assert_eq!(std::sync::Arc::strong_count(&value), 1, "others hold it, of whom loom would not know");
        Self { count: loom::sync::Arc::new(()), value }
    }

    /// Whether both are the same.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&this.value, &other.value)
    }

    /// Where the value is.
    pub fn as_ptr(this: &Self) -> *const T {
        std::sync::Arc::as_ptr(&this.value)
    }
}

impl<T: Clone> Arc<T> {
    /// The value, to change it: a copy, where others hold it too.
    pub fn make_mut(this: &mut Self) -> &mut T {
        if loom::sync::Arc::get_mut(&mut this.count).is_none() {
            *this = Self::new(T::clone(this));
        }
        std::sync::Arc::get_mut(&mut this.value).expect("both counts are one")
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        let count = loom::sync::Arc::clone(&self.count);
        Self { count, value: std::sync::Arc::clone(&self.value) }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl From<&str> for Arc<str> {
    fn from(text: &str) -> Self {
        Self::from_std(text.into())
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    fn from(items: Vec<T>) -> Self {
        Self::from_std(items.into())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(out)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(out)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        *self.value == *other.value
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.value.cmp(&other.value)
    }
}
