//! Slots of threads: where a transaction that ends leaves what it held of the database, for the next one of its thread.
//!
//! Beginning a transaction changes counts that all threads share, and each change takes the count's cache line away
//! from the other threads. So a transaction leaves what it holds in its thread's slot, and the next one takes it from
//! there if it still belongs to the newest state. Both write only to a cache line of this thread.
//!
//! Invariants:
//! (1) What is in a slot belongs to the newest state. The exception is the moment between the publication of a newer
//!     state and the clearing of the slot by the publishing thread. So an old state is kept only by its transactions.
//! (2) Only the thread that has set a slot's `busy` reads or writes what is in the slot.
//!
//! One thread leaves a state in a slot while another publishes the next state. The later of the two sees what the
//! earlier one did to the slot: the leaving thread compares with the newest state while it has the slot, and the
//! publishing thread clears the slots after it has replaced the newest state.
#![allow(unsafe_code)] // What is in a slot is moved by the thread that has the slot.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::{fmt, ptr, thread};

use crate::planted::give_way;
use crate::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use crate::sync::{Arc, UnsafeCell, number_of_thread, yield_now};

/// What a transaction holds and leaves in a slot when it ends.
pub trait Leave: Sized {
    /// The slots in which it is left. It keeps them alive.
    fn slots(&self) -> &Arc<Slots<Self>>;

    /// The address of the state that it belongs to, for comparing only.
    fn state(&self) -> *const ();

    /// Whether the calling process is a child of the one that opened the database.
    fn is_inherited(&self) -> bool;
}

/// See the module.
pub struct Slots<T> {
    /// Where the newest state is, for comparing only.
    newest: AtomicPtr<()>,
    /// Nothing may be left here any more.
    closed: AtomicBool,
    slots: Box<[Slot<T>]>,
}

/// The slot of one thread, or of several. It has cache lines of its own.
#[repr(align(128))]
struct Slot<T> {
    busy: AtomicBool,
    left: UnsafeCell<Option<T>>,
}

// SAFETY: only one thread at a time reaches what the cell holds, by invariant (2). It may move from thread to thread:
// `T` is `Send`.
unsafe impl<T: Send> Sync for Slot<T> {}

/// Holds a value for one transaction, and leaves it in the thread's slot when the transaction ends.
#[derive(Debug)]
pub struct Lent<T: Leave>(ManuallyDrop<T>);

impl<T> fmt::Debug for Slots<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Slots").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let count =
            if cfg!(model_checked) { 1 } else { (SLOTS_PER_PROCESSOR * threads).next_power_of_two().min(SLOTS_MAX) };
        let slot = |_| Slot { busy: AtomicBool::new(false), left: UnsafeCell::default() };
        Self { newest: AtomicPtr::default(), closed: AtomicBool::new(false), slots: (0..count).map(slot).collect() }
    }
}

impl<T> Slots<T> {
    /// Whether the state at this address is the newest. The caller holds that state, so no other state can have its
    /// address.
    #[inline]
    pub fn is_newest(&self, state: *const ()) -> bool {
        // Relaxed: nothing is read through the pointer.
        ptr::eq(self.newest.load(Ordering::Relaxed), state)
    }

    /// There is a newer state. Requires: the caller holds the lock under which states are published, so that they
    /// arrive here in their order, and calls [`Slots::clear`] when it holds no lock any more.
    pub fn set_newest(&self, state: *const ()) {
        // Relaxed: a thread that leaves a state here looks after the slot was cleared, or has left the state before
        // that.
        self.newest.store(state.cast_mut(), Ordering::Relaxed);
    }

    #[inline]
    fn of_thread(&self) -> &Slot<T> {
        // The number of slots is a power of two.
        &self.slots[number_of_thread() & (self.slots.len() - 1)]
    }
}

impl<T: Leave> Slots<T> {
    /// What the thread's slot holds, if it belongs to the newest state.
    #[inline]
    pub fn take(&self) -> Option<T> {
        let left = self.of_thread().with(Option::take)??;
        self.is_newest(left.state()).then_some(left)
    }

    /// Drops everything that does not belong to the newest state.
    pub fn clear(&self) {
        for slot in &self.slots {
            let is_old = |left: &mut T| !self.is_newest(left.state()) || self.closed.load(Ordering::Relaxed);
            // Other threads have a slot for a few instructions only, unless they are suspended in between. (In the
            // child of a `fork` they have it for ever, as with any lock.)
            let old = loop {
                match slot.with(|left| left.take_if(is_old)) {
                    Some(old) => break old,
                    None => yield_now(),
                }
            };
            drop(old);
        }
    }

    /// Drops everything, now and from now on.
    pub fn close(&self) {
        // Relaxed: as for the newest state.
        self.closed.store(true, Ordering::Relaxed);
        self.clear();
    }

    #[inline]
    fn may_keep(&self, left: &T) -> bool {
        self.is_newest(left.state()) && !self.closed.load(Ordering::Relaxed)
    }
}

impl<T> Slot<T> {
    /// The result of `act` on what is in this slot. None if another thread has the slot.
    ///
    /// `act` must neither panic nor drop what transactions left: that may take long.
    #[inline]
    fn with<R>(&self, act: impl FnOnce(&mut Option<T>) -> R) -> Option<R> {
        // SAFETY: the caller holds the slots.
        unsafe { Self::with_raw(NonNull::from(self), act) }
    }

    /// As [`Slot::with`], for a caller that puts into the slot what keeps the slots alive: no thread can take that
    /// before `busy` is released, and the slot may be gone right after.
    ///
    /// # Safety
    /// `slot` is a slot that lives until this call releases `busy`. After that it is not touched, so what `act` put
    /// into it may free it.
    #[inline]
    unsafe fn with_raw<R>(slot: NonNull<Self>, act: impl FnOnce(&mut Option<T>) -> R) -> Option<R> {
        // SAFETY: by the caller's contract it lives until the store below. A reference to an atomic need not outlast
        // that.
        let busy = unsafe { &(*slot.as_ptr()).busy };
        // Acquire pairs with the Release below: the thread that had the slot before is done.
        busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).ok()?;
        give_way();
        // SAFETY: as above.
        let left = unsafe { &(*slot.as_ptr()).left };
        // SAFETY: by invariant (2) no other thread reaches it until `busy` is released.
        let outcome = left.with_mut(|left| act(unsafe { &mut *left }));
        busy.store(false, Ordering::Release);
        Some(outcome)
    }
}

impl<T: Leave> Lent<T> {
    /// Leaves `value` in a slot when the transaction ends.
    pub fn of(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T: Leave> Deref for Lent<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Leave + Clone> Clone for Lent<T> {
    fn clone(&self) -> Self {
        Self::of(T::clone(self))
    }
}

impl<T: Leave> Drop for Lent<T> {
    #[inline]
    fn drop(&mut self) {
        // A child made by `fork` leaves it as it is: locks that its end takes may be held for ever there.
        if self.is_inherited() {
            return;
        }
        // SAFETY: it is taken only here, and nothing reaches it after.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        let slot = NonNull::from(value.slots().of_thread());
        // SAFETY: `value` keeps the slots alive, which are behind an `Arc` and so do not move with it. It is in the
        // slot or in this thread's hands until `busy` is released.
        let rest = unsafe {
            Slot::with_raw(slot, |left| if value.slots().may_keep(&value) { left.replace(value) } else { Some(value) })
        };
        drop(rest);
    }
}

/// Slots for each processor. Threads beyond that share slots, which costs them what it saves the others.
const SLOTS_PER_PROCESSOR: usize = 4;
const SLOTS_MAX: usize = 256;
