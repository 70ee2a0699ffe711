//! Followers.
#![allow(unsafe_code)] // Functions of C, and places of the caller.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::time::Duration;

use crate::arguments::{check_out, places, set, set_if_wanted};
use crate::code::{Failure, Result, guarded};
use crate::events::held::{OpenFollower, fulgurite_event};
use crate::events::store::store;
use crate::handles::{Object, add, close, fulgurite_event_store, fulgurite_follower, with};

fn with_follower<R>(follower: fulgurite_follower, run: impl FnOnce(&mut OpenFollower) -> Result<R>) -> Result<R> {
    with(follower.id, "follower", |object| match object {
        Object::Follower(follower) => run(&mut *follower.lock().map_err(|_| Failure::broken())?),
        other => Err(other.is_not("follower")),
    })
}

/// Follows a store from a position on. A follower returns every event once, in order, as soon as it has
/// the store's durability. FULGURITE_INVALID if the position is above that of the next event.
///
/// It follows what this process appends. A follower keeps no snapshot, and may stay open for ever.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_follow_events(
    store: fulgurite_event_store,
    from: u64,
    follower: Option<&mut MaybeUninit<fulgurite_follower>>,
) -> c_int {
    guarded(|| {
        check_out(&follower)?;
        let opened = Object::Follower(Box::new(Mutex::new(OpenFollower::new(&self::store(store)?, from)?)));
        set(follower, fulgurite_follower { id: add(opened) })
    })
}

/// Returns the next events, up to `capacity`, and their number. If there are none, it waits at most
/// `timeout_ms` for some; 0 says that none came. The bytes of all are valid until the next call with
/// this follower, or until it is closed.
///
/// Closing the follower waits for a running call. If the database is closed meanwhile, the call returns
/// FULGURITE_CLOSED within a second.
///
/// # Safety
/// `events` points to `capacity` places.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_poll_events(
    follower: fulgurite_follower,
    timeout_ms: u64,
    events: *mut fulgurite_event,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    guarded(|| {
        check_out(&count)?;
        // SAFETY: the promise of the caller.
        let places = unsafe { places(events, capacity, "events") }?;
        let polled = with_follower(follower, |follower| follower.poll(Duration::from_millis(timeout_ms), places))?;
        set(count, polled)
    })
}

/// Returns the position of the next event that a follower returns, and how many positions it has skipped
/// because their events had been removed from the log. Both places may be NULL. It waits for a running
/// fulgurite_poll_events.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_follower_position(
    follower: fulgurite_follower,
    position: Option<&mut MaybeUninit<u64>>,
    missed: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        let (next, skipped) = with_follower(follower, |follower| Ok((follower.position(), follower.missed())))?;
        set_if_wanted(position, next);
        set_if_wanted(missed, skipped);
        Ok(())
    })
}

/// Closes a follower. Closing it twice returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close_follower(follower: fulgurite_follower) -> c_int {
    guarded(|| close(follower.id, "follower", |object| matches!(object, Object::Follower(_))))
}
