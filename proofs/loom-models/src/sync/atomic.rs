//! Atomics with the size, the layout and the zero of std's; what they hold after their first value is known to their
//! [`shadow`].
//!
//! `SeqCst`: loom takes it for `AcqRel`, which is too little for two threads that each store and then look for the
//! other. So loads and stores of this kind are exchanges, which take place at one moment each of the one order in
//! which loom runs all threads: a load one that changes nothing and acquires, a store one that releases. This is what
//! the language promises where all accesses that matter are `SeqCst`, and no more, but that such a store does not end
//! a release sequence.
//!
//! Each operation may be one at which a fault is planted: then it orders nothing, or is left out.
#![allow(dead_code, reason = "each type has what the engine uses of any")]

use std::panic::Location;
use std::sync::atomic as plain;

pub use std::sync::atomic::Ordering;

use crate::faults::{self, How};
use crate::sync::shadow::{self, Shadow};

/// As std's.
#[track_caller]
pub fn fence(order: Ordering) {
    if faults::at(Location::caller()).is_none() && !shadow::is_alone() {
        loom::sync::atomic::fence(order);
    }
}

/// How an exchange is done.
fn exchanging(order: Ordering, planted: Option<How>) -> Ordering {
    match (planted, order) {
        (Some(_), _) => Ordering::Relaxed,
        (None, Ordering::SeqCst) => Ordering::AcqRel,
        (None, order) => order,
    }
}

fn load(shadow: &Shadow, order: Ordering, planted: Option<How>) -> u64 {
    match (planted, order) {
        (Some(_), _) => shadow.difference.load(Ordering::Relaxed),
        (None, Ordering::SeqCst) => shadow.difference.fetch_add(0, Ordering::Acquire),
        (None, order) => shadow.difference.load(order),
    }
}

fn store(shadow: &Shadow, difference: u64, order: Ordering, planted: Option<How>) {
    match (planted, order) {
        (Some(How::LeftOut), _) => {}
        (Some(How::Relaxed), _) => shadow.difference.store(difference, Ordering::Relaxed),
        (None, Ordering::SeqCst) => _ = shadow.difference.swap(difference, Ordering::Release),
        (None, order) => shadow.difference.store(difference, order),
    }
}

/// The newest value, for a caller with exclusive access.
fn newest(shadow: &Shadow) -> u64 {
    shadow.difference.fetch_add(0, Ordering::Relaxed)
}

/// Exchanges until no other thread interferes, as processors without such an exchange do.
fn update(shadow: &Shadow, order: Ordering, change: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
    let mut now = newest(shadow);
    loop {
        let Some(next) = change(now) else { return Err(now) };
        match shadow.difference.compare_exchange(now, next, order, Ordering::Relaxed) {
            Ok(_) => return Ok(now),
            Err(other) => now = other,
        }
    }
}

/// What all atomics have: `$value` is what they hold, `$to` and `$from` make a `u64` of that and go back.
macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident<$($parameter:ident)?>, $plain:ty, $value:ty, $to:expr, $from:expr) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<$($parameter)?>($plain);

        impl<$($parameter)?> $name<$($parameter)?> {
            /// With this first value.
            pub const fn new(value: $value) -> Self {
                Self(<$plain>::new(value))
            }

            /// As std's.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                if shadow::is_alone() {
                    return self.0.load(order);
                }
                let planted = faults::at(Location::caller());
                let shadow = self.shadow();
                Self::value(&shadow, load(&shadow, order, planted))
            }

            /// As std's.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                if shadow::is_alone() {
                    return self.0.store(value, order);
                }
                let planted = faults::at(Location::caller());
                let shadow = self.shadow();
                store(&shadow, Self::difference(&shadow, value), order, planted);
            }

            /// As std's.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                if shadow::is_alone() {
                    return self.0.swap(value, order);
                }
                let planted = faults::at(Location::caller());
                let shadow = self.shadow();
                let before = shadow.difference.swap(Self::difference(&shadow, value), exchanging(order, planted));
                Self::value(&shadow, before)
            }

            /// As std's.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if shadow::is_alone() {
                    return self.0.compare_exchange(current, new, success, failure);
                }
                let planted = faults::at(Location::caller());
                let shadow = self.shadow();
                let [current, new] = [current, new].map(|value| Self::difference(&shadow, value));
                let (success, failure) = (exchanging(success, planted), exchanging(failure, planted));
                let outcome = shadow.difference.compare_exchange(current, new, success, failure);
                outcome.map(|before| Self::value(&shadow, before)).map_err(|now| Self::value(&shadow, now))
            }

            /// As std's, but that it never fails without a reason.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// As std's.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                _: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let planted = faults::at(Location::caller());
                let shadow = self.shadow();
                let change = std::cell::RefCell::new(&mut change);
                let change = |now| Some(Self::difference(&shadow, (change.borrow_mut())(Self::value(&shadow, now))?));
                let outcome = update(&shadow, exchanging(set_order, planted), change);
                outcome.map(|before| Self::value(&shadow, before)).map_err(|now| Self::value(&shadow, now))
            }

            /// The value, which no one else can reach now.
            pub fn get_mut(&mut self) -> &mut $value {
                if let Some(shadow) = shadow::take(self.address()) {
                    *self.0.get_mut() = Self::value(&shadow, newest(&shadow));
                }
                self.0.get_mut()
            }

            fn shadow(&self) -> Shadow {
                shadow::of(self.address(), $to(self.0.load(Ordering::Relaxed)))
            }

            fn address(&self) -> usize {
                std::ptr::from_ref(self).addr()
            }

            fn value(shadow: &Shadow, difference: u64) -> $value {
                $from(shadow.first.wrapping_add(difference))
            }

            fn difference(shadow: &Shadow, value: $value) -> u64 {
                // All differences of a type's values are those of 64 bits: the same value has the same one.
                $to(value).wrapping_sub(shadow.first)
            }
        }

        impl<$($parameter)?> Drop for $name<$($parameter)?> {
            fn drop(&mut self) {
                drop(shadow::take(self.address()));
            }
        }

        impl<$($parameter)?> std::fmt::Debug for $name<$($parameter)?> {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // Reading the value would be an operation of the model.
                out.write_str(stringify!($name))
            }
        }
    };
}

/// What numbers of 64 bits have besides.
macro_rules! number {
    ($name:ident, $value:ty) => {
        impl $name {
            /// As std's.
            #[track_caller]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                if shadow::is_alone() {
                    return self.0.fetch_add(value, order);
                }
                let order = exchanging(order, faults::at(Location::caller()));
                let shadow = self.shadow();
                Self::value(&shadow, shadow.difference.fetch_add(value as u64, order))
            }

            /// As std's.
            #[track_caller]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                if shadow::is_alone() {
                    return self.0.fetch_sub(value, order);
                }
                let order = exchanging(order, faults::at(Location::caller()));
                let shadow = self.shadow();
                Self::value(&shadow, shadow.difference.fetch_sub(value as u64, order))
            }

            /// As std's.
            #[track_caller]
            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                if shadow::is_alone() {
                    return self.0.fetch_or(value, order);
                }
                let order = exchanging(order, faults::at(Location::caller()));
                let shadow = self.shadow();
                match shadow.first {
                    0 => Self::value(&shadow, shadow.difference.fetch_or(value as u64, order)),
                    _ => Self::change(&shadow, order, |now| now | value),
                }
            }

            /// As std's.
            #[track_caller]
            pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                if shadow::is_alone() {
                    return self.0.fetch_max(value, order);
                }
                let order = exchanging(order, faults::at(Location::caller()));
                let shadow = self.shadow();
                match shadow.first {
                    0 => Self::value(&shadow, shadow.difference.fetch_max(value as u64, order)),
                    _ => Self::change(&shadow, order, |now| now.max(value)),
                }
            }

            fn change(shadow: &Shadow, order: Ordering, change: impl Fn($value) -> $value) -> $value {
                let change = |now| Some(Self::difference(shadow, change(Self::value(shadow, now))));
                match update(shadow, order, change) {
                    Ok(before) | Err(before) => Self::value(shadow, before),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

atomic!(
    /// As std's.
    AtomicBool<>, plain::AtomicBool, bool, u64::from, |value| value != 0
);
atomic!(
    /// As std's.
    AtomicU32<>, plain::AtomicU32, u32, u64::from, |value| value as u32
);
atomic!(
    /// As std's.
    AtomicU64<>, plain::AtomicU64, u64, std::convert::identity, std::convert::identity
);
atomic!(
    /// As std's.
    AtomicUsize<>, plain::AtomicUsize, usize, |value| value as u64, |value| value as usize
);
atomic!(
    /// As std's.
    AtomicPtr<T>, plain::AtomicPtr<T>, *mut T,
    |pointer: *mut T| pointer.expose_provenance() as u64,
    |address| std::ptr::with_exposed_provenance_mut(address as usize)
);

number!(AtomicU64, u64);
number!(AtomicUsize, usize);

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}

impl Default for AtomicU32 {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
