//! Objects by handle.
//!
//! A handle has the index of a slot in its low 32 bits, and the generation of the slot in its high 32 bits. Closing an
//! object increments the generation, so an old handle never leads to a newer object. Handles are never 0.

use std::sync::{Mutex, OnceLock, PoisonError, RwLock, TryLockError};

/// One place for an object.
#[derive(Debug)]
struct Slot<O>(RwLock<SlotState<O>>);

#[derive(Debug)]
struct SlotState<O> {
    /// Starts at 1 with the first object.
    generation: u32,
    object: Option<O>,
}

impl<O> Slot<O> {
    fn empty() -> Self {
        Self(RwLock::new(SlotState { generation: 0, object: None }))
    }
}

/// The first chunk has so many slots, and each further one twice as many.
const FIRST_CHUNK: usize = 64;

/// All chunks together have more slots than memory.
const CHUNKS: usize = 26;

/// Objects of one process, by handle.
///
/// A call with an object holds it: closing the object waits for running calls.
#[derive(Debug)]
pub struct Registry<O> {
    chunks: [OnceLock<Box<[Slot<O>]>>; CHUNKS],
    free: Mutex<Free>,
}

#[derive(Debug)]
struct Free {
    /// Slots of closed objects.
    slots: Vec<u32>,
    /// Slots that were used at least once.
    used: u32,
}

/// The chunk of a slot, and its place there.
fn place_of(index: u32) -> (usize, usize) {
    let shifted = index as usize + FIRST_CHUNK;
    let chunk = (shifted / FIRST_CHUNK).ilog2() as usize;
    (chunk, shifted - (FIRST_CHUNK << chunk))
}

impl<O> Default for Registry<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O> Registry<O> {
    /// An empty registry.
    pub const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::new(Free { slots: Vec::new(), used: 0 }) }
    }

    /// Adds an object, and returns its handle.
    pub fn add(&self, object: O) -> u64 {
        let index = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.slots.pop().unwrap_or_else(|| {
                free.used += 1;
                free.used - 1
            })
        };
        let (chunk, at) = place_of(index);
        let slots = self.chunks[chunk].get_or_init(|| (0..FIRST_CHUNK << chunk).map(|_| Slot::empty()).collect());
        let mut place = slots[at].0.write().unwrap_or_else(PoisonError::into_inner);
        place.generation += 1;
        place.object = Some(object);
        u64::from(place.generation) << 32 | u64::from(index)
    }

    /// Whether two handles are of one slot. A thread must not use both at once: see [`Self::with`].
    pub fn is_same_slot(one: u64, other: u64) -> bool {
        one as u32 == other as u32
    }

    fn slot(&self, handle: u64) -> Option<(&Slot<O>, u32, u32)> {
        let (index, generation) = (handle as u32, (handle >> 32) as u32);
        let (chunk, at) = place_of(index);
        let slot = self.chunks.get(chunk)?.get()?.get(at)?;
        Some((slot, index, generation))
    }

    /// Calls `run` with the object of a handle, which is not closed meanwhile. `None` if it is closed already.
    ///
    /// The slot is locked while `run` runs, so `run` must not use a handle of the same slot: a close of it on another
    /// thread would wait for `run`, and let no one else lock the slot.
    pub fn with<R>(&self, handle: u64, run: impl FnOnce(&O) -> R) -> Option<R> {
        let (slot, _, generation) = self.slot(handle)?;
        let place = slot.0.read().unwrap_or_else(PoisonError::into_inner);
        match &place.object {
            Some(object) if place.generation == generation => Some(run(object)),
            _ => None,
        }
    }

    /// As [`Self::with`], but does not wait. `None` too if a close of the handle waits for its running calls: for calls
    /// within a call, for which the close would wait as well.
    pub fn try_with<R>(&self, handle: u64, run: impl FnOnce(&O) -> R) -> Option<R> {
        let (slot, _, generation) = self.slot(handle)?;
        let place = match slot.0.try_read() {
            Ok(place) => place,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        match &place.object {
            Some(object) if place.generation == generation => Some(run(object)),
            _ => None,
        }
    }

    /// Whether no call uses the object of a handle, and it is of some kind. `None` if it is closed already.
    pub fn is_unused_and(&self, handle: u64, is_of_kind: impl FnOnce(&O) -> bool) -> Option<bool> {
        let (slot, _, generation) = self.slot(handle)?;
        let place = match slot.0.try_write() {
            Ok(place) => place,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Some(false),
        };
        place.object.as_ref().filter(|_| place.generation == generation).map(is_of_kind)
    }

    /// Takes the object of a handle out, after running calls with it have returned. `None` if it is closed already.
    pub fn take(&self, handle: u64) -> Option<O> {
        let (slot, index, generation) = self.slot(handle)?;
        let mut place = slot.0.write().unwrap_or_else(PoisonError::into_inner);
        if place.generation != generation {
            return None;
        }
        let object = place.object.take()?;
        drop(place);
        // A slot whose generations are used up is not used again.
        if generation < u32::MAX {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).slots.push(index);
        }
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_each_other_in_chunks_that_double() {
        assert_eq!(place_of(0), (0, 0));
        assert_eq!(place_of(63), (0, 63));
        assert_eq!(place_of(64), (1, 0));
        assert_eq!(place_of(191), (1, 127));
        assert_eq!(place_of(192), (2, 0));
        assert!(place_of(u32::MAX).0 >= CHUNKS);
    }

    #[test]
    fn within_a_call_its_object_can_be_read_and_counts_as_used() {
        let registry = Registry::new();
        let (one, other) = (registry.add("one"), registry.add("other"));
        let within = registry.with(one, |_| {
            assert_eq!(registry.is_unused_and(one, |_| true), Some(false));
            assert_eq!(registry.is_unused_and(other, |object| *object == "other"), Some(true));
            registry.try_with(one, |object| *object)
        });
        assert_eq!(within, Some(Some("one")));
        assert_eq!(registry.is_unused_and(one, |object| *object == "other"), Some(false));
        assert_eq!(registry.take(one), Some("one"));
        assert_eq!(registry.is_unused_and(one, |_| true), None);
        assert_eq!(registry.try_with(one, |object| *object), None);
    }

    #[test]
    fn a_closed_handle_leads_nowhere_even_after_its_slot_is_used_again() {
        let registry = Registry::new();
        let first = registry.add("first");
        assert_eq!(registry.with(first, |object| *object), Some("first"));
        assert_eq!(registry.take(first), Some("first"));
        assert_eq!(registry.take(first), None);
        let second = registry.add("second");
        assert_ne!(first, second);
        for closed in [first, 0, u64::MAX, u64::MAX >> 1, 1 << 63, first ^ 1 << 40] {
            assert_eq!(registry.with(closed, |object| *object), None, "{closed}");
        }
        assert_eq!(registry.take(second), Some("second"));
    }
}
