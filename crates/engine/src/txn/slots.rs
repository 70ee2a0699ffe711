//! Slots of threads: where one leaves what its transaction held of the database, for its next transaction.
//!
//! To begin a transaction is to take part in counts that all threads share, and each change of one takes its line of memory away
//! from the other threads. So a transaction that ends leaves what it holds in its thread's slot, where the next one takes it from
//! if it is still the newest: both write to a line of this thread alone.
//!
//! Invariants:
//! (1) What lies in a slot is of the newest state, but for the moment until whoever published a newer one has cleared the slot:
//!     an old state is kept by its transactions alone.
//! (2) Only who has set a slot's `busy` reads or writes what lies there.
//!
//! Of one who leaves a state and one who publishes the next, the later at the slot finds what the earlier did: the former looks
//! whether the state is the newest while the slot is his, and the latter clears the slots after that has changed.
#![allow(unsafe_code)] // What lies in a slot is moved by whoever has it.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::{fmt, ptr, thread};

use crate::error::Result;
use crate::planted::give_way;
use crate::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use crate::sync::{Arc, UnsafeCell, number_of_thread, yield_now};
use crate::txn::core::Core;
use crate::txn::state::{Snapshot, State};

/// See the module.
pub struct Slots {
    /// Where the newest state is, for comparing only.
    newest: AtomicPtr<State>,
    /// Nothing may be left here any more.
    closed: AtomicBool,
    slots: Box<[Slot]>,
}

/// The slot of a thread, or of several: on lines of memory of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    busy: AtomicBool,
    left: UnsafeCell<Left>,
}

// SAFETY: what the cell holds may go from thread to thread, and one alone reaches it at a time: invariant (2).
unsafe impl Sync for Slot {}

#[cfg(not(model_checked))]
const _: () = {
    const fn may_go_from_thread_to_thread<T: Send>() {}
    may_go_from_thread_to_thread::<Left>();
};

/// What transactions left.
#[derive(Debug, Default)]
struct Left {
    reader: Option<Arc<State>>,
    writer: Option<Held>,
}

/// What a transaction that may write holds: the database, and a snapshot in whose epoch it is counted.
#[derive(Debug)]
pub struct Held {
    /// The database. Dropped first: its end brings the log to the disk, before others may open the file.
    pub core: Arc<Core>,
    /// What it sees.
    pub snapshot: Snapshot,
}

/// A snapshot of a transaction that only reads, which leaves it in a slot.
#[derive(Debug)]
pub struct Reading(ManuallyDrop<Snapshot>);

/// What a transaction that may write holds and leaves in a slot.
#[derive(Debug)]
pub struct Writing(ManuallyDrop<Held>);

impl fmt::Debug for Slots {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Slots").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl Default for Slots {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let count =
            if cfg!(model_checked) { 1 } else { (SLOTS_PER_PROCESSOR * threads).next_power_of_two().min(SLOTS_MAX) };
        let slots = (0..count).map(|_| Slot::default()).collect();
        Self { newest: AtomicPtr::default(), closed: AtomicBool::new(false), slots }
    }
}

impl Slots {
    /// Whether `state` is the newest. It costs neither a lock nor a count, for whoever holds one already.
    #[inline]
    pub fn is_newest(&self, state: &Arc<State>) -> bool {
        // Relaxed: nothing is read through it. No other state can be there while this one is held.
        ptr::eq(self.newest.load(Ordering::Relaxed), Arc::as_ptr(state))
    }

    /// There is a newer state. Requires: the caller holds the lock under which states are published, so that they come here in
    /// their order, and calls [`Slots::clear`] when it holds none any more.
    pub fn set_newest(&self, state: &Arc<State>) {
        // Relaxed: who leaves a state here looks after the slot was cleared, or has left it before that.
        self.newest.store(Arc::as_ptr(state).cast_mut(), Ordering::Relaxed);
    }

    /// Lets go of all that is not of the newest state.
    pub fn clear(&self) {
        for slot in &self.slots {
            let is_old = |state: &Arc<State>| !self.is_newest(state) || self.closed.load(Ordering::Relaxed);
            let take = |left: &mut Left| {
                let reader = left.reader.take_if(|state| is_old(state));
                (reader, left.writer.take_if(|held| is_old(&held.snapshot.state)))
            };
            // Others have a slot for the time of a few instructions, unless they are put to sleep amid them. (In the child of a
            // `fork` they stay there for ever, as with any lock.)
            let old = loop {
                match slot.with(take) {
                    Some(old) => break old,
                    None => yield_now(),
                }
            };
            drop(old);
        }
    }

    /// Lets go of everything, now and from now on.
    pub fn close(&self) {
        // Relaxed: as for the newest state.
        self.closed.store(true, Ordering::Relaxed);
        self.clear();
    }

    #[inline]
    fn take_reader(&self) -> Option<Arc<State>> {
        let state = self.of_thread().with(|left| left.reader.take())??;
        self.is_newest(&state).then_some(state)
    }

    #[inline]
    fn take_writer(&self) -> Option<Held> {
        let held = self.of_thread().with(|left| left.writer.take())??;
        self.is_newest(&held.snapshot.state).then_some(held)
    }

    #[inline]
    fn may_leave(&self, state: &Arc<State>) -> bool {
        self.is_newest(state) && !self.closed.load(Ordering::Relaxed)
    }

    #[inline]
    fn of_thread(&self) -> &Slot {
        // Their number is a power of two.
        &self.slots[number_of_thread() & (self.slots.len() - 1)]
    }
}

impl Slot {
    /// What `act` makes of what lies here. None if another has the slot.
    ///
    /// `act` must not panic, nor drop what transactions left: that may take long.
    #[inline]
    fn with<R>(&self, act: impl FnOnce(&mut Left) -> R) -> Option<R> {
        // SAFETY: who calls holds the slots.
        unsafe { Self::with_raw(NonNull::from(self), act) }
    }

    /// As [`Slot::with`], for who leaves what keeps the slots in being: nobody can take it before `busy` is taken back, and the
    /// slot may be gone right after.
    ///
    /// # Safety
    /// `slot` is a slot that lives until this call gives `busy` back. After that it is not touched, so what `act` put into it may
    /// free it.
    #[inline]
    unsafe fn with_raw<R>(slot: NonNull<Self>, act: impl FnOnce(&mut Left) -> R) -> Option<R> {
        // SAFETY: as the caller has it, it is there until the store below. A reference to an atomic need not outlast that.
        let busy = unsafe { &(*slot.as_ptr()).busy };
        // Acquire pairs with the Release below: who had the slot before is done.
        busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).ok()?;
        give_way();
        // SAFETY: as above.
        let left = unsafe { &(*slot.as_ptr()).left };
        // SAFETY: by invariant (2) nobody else reaches it until `busy` is taken back.
        let outcome = left.with_mut(|left| act(unsafe { &mut *left }));
        busy.store(false, Ordering::Release);
        Some(outcome)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.core.leave(&self.snapshot.state);
    }
}

impl Held {
    /// A snapshot of now, counted among those that may write.
    ///
    /// # Errors
    /// As [`Core::snapshot`].
    fn begin(core: &Arc<Core>) -> Result<Self> {
        // The number before the state, as in `Published::snapshot`.
        let visible = core.published.visible();
        give_way();
        if let Some(mut held) = core.published.slots().take_writer()
            && core.shows_all()?
        {
            held.snapshot.sequence = visible.max(held.snapshot.state.floor);
            return Ok(held);
        }
        let snapshot = core.snapshot()?;
        snapshot.state.epoch.enter();
        Ok(Self { core: Arc::clone(core), snapshot })
    }
}

impl Reading {
    /// A snapshot of now.
    ///
    /// # Errors
    /// As [`Core::snapshot`].
    #[inline]
    pub fn begin(core: &Core) -> Result<Self> {
        // As in `Held::begin`.
        let visible = core.published.visible();
        give_way();
        if let Some(state) = core.published.slots().take_reader()
            && core.shows_all()?
        {
            let sequence = visible.max(state.floor);
            return Ok(Self::of(Snapshot { state, sequence }));
        }
        core.snapshot().map(Self::of)
    }

    /// Any snapshot.
    pub fn of(snapshot: Snapshot) -> Self {
        Self(ManuallyDrop::new(snapshot))
    }
}

impl Deref for Reading {
    type Target = Snapshot;

    #[inline(always)]
    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

impl Clone for Reading {
    fn clone(&self) -> Self {
        Self::of(Snapshot::clone(self))
    }
}

impl Drop for Reading {
    #[inline]
    fn drop(&mut self) {
        // A child made by `fork` leaves it as it is: locks that its end takes may be held for ever there.
        if self.state.stamp.is_inherited() {
            return;
        }
        // SAFETY: it is taken here alone, and nobody reaches it after.
        let Snapshot { state, .. } = unsafe { ManuallyDrop::take(&mut self.0) };
        let slot = NonNull::from(state.slots.of_thread());
        // SAFETY: the state holds the slots, and is in the slot or in this thread's hands until others have the slot.
        let rest =
            unsafe {
                Slot::with_raw(slot, |left| {
                    if state.slots.may_leave(&state) { left.reader.replace(state) } else { Some(state) }
                })
            };
        drop(rest);
    }
}

impl Writing {
    /// A snapshot of now, counted among those that may write.
    ///
    /// # Errors
    /// As [`Core::snapshot`].
    #[inline]
    pub fn begin(core: &Arc<Core>) -> Result<Self> {
        Held::begin(core).map(|held| Self(ManuallyDrop::new(held)))
    }
}

impl Deref for Writing {
    type Target = Held;

    #[inline(always)]
    fn deref(&self) -> &Held {
        &self.0
    }
}

impl Drop for Writing {
    #[inline]
    fn drop(&mut self) {
        // As in `Reading::drop`.
        if self.snapshot.state.stamp.is_inherited() {
            return;
        }
        // SAFETY: it is taken here alone, and nobody reaches it after.
        let held = unsafe { ManuallyDrop::take(&mut self.0) };
        let slot = NonNull::from(held.snapshot.state.slots.of_thread());
        // SAFETY: as in `Reading::drop`.
        let rest = unsafe {
            Slot::with_raw(slot, |left| {
                let state = &held.snapshot.state;
                if state.slots.may_leave(state) { left.writer.replace(held) } else { Some(held) }
            })
        };
        drop(rest);
    }
}

/// Slots for each processor: more threads than those share slots, which costs them what it saves the others.
const SLOTS_PER_PROCESSOR: usize = 4;
const SLOTS_MAX: usize = 256;
