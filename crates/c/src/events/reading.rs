//! Cursors over events.
#![allow(unsafe_code)] // Functions of C, and bytes of the caller.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::slice::from_mut;
use std::sync::Mutex;

use crate::arguments::{array, check_out, places, set};
use crate::code::{Failure, Result, guarded};
use crate::events::held::{OpenEventCursor, Selection, fulgurite_event};
use crate::events::queries::{fulgurite_query_item, query};
use crate::events::store::store;
use crate::handles::{Object, add, close, fulgurite_event_cursor, fulgurite_event_store, with};

fn with_cursor<R>(cursor: fulgurite_event_cursor, run: impl FnOnce(&mut OpenEventCursor) -> Result<R>) -> Result<R> {
    with(cursor.id, "cursor over events", |object| match object {
        Object::EventCursor(cursor) => run(&mut *cursor.lock().map_err(|_| Failure::broken())?),
        other => Err(other.is_not("cursor over events")),
    })
}

/// Opens a cursor over the events that there are now, and gives it to the caller.
fn opened(
    store: fulgurite_event_store,
    selection: Selection,
    from: u64,
    backwards: bool,
    cursor: Option<&mut MaybeUninit<fulgurite_event_cursor>>,
) -> Result<()> {
    check_out(&cursor)?;
    let snapshot = self::store(store)?.snapshot()?;
    let opened = OpenEventCursor::new(snapshot, selection, from, backwards)?;
    set(cursor, fulgurite_event_cursor { id: add(Object::EventCursor(Box::new(Mutex::new(opened)))) })
}

/// Opens a cursor over the events of a stream from a version on; or with `backwards` over those before
/// that version, the newest first, where UINT64_MAX is after the newest. FULGURITE_STREAM_NOT_FOUND if
/// there is no such stream, or it was deleted.
///
/// A cursor shows what was appended before it was opened, and keeps this snapshot until it is closed.
///
/// # Safety
/// `stream` points to `stream_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_read_stream(
    store: fulgurite_event_store,
    stream: *const u8,
    stream_length: usize,
    from: u64,
    backwards: bool,
    cursor: Option<&mut MaybeUninit<fulgurite_event_cursor>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let stream = unsafe { array(stream, stream_length, "stream") }?;
        opened(store, Selection::Stream(stream.to_vec()), from, backwards, cursor)
    })
}

/// As fulgurite_read_stream, over all events, from or before a position.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_read_log(
    store: fulgurite_event_store,
    from: u64,
    backwards: bool,
    cursor: Option<&mut MaybeUninit<fulgurite_event_cursor>>,
) -> c_int {
    guarded(|| opened(store, Selection::All, from, backwards, cursor))
}

/// As fulgurite_read_log, over the events that match a query: at least one of its items. Without items,
/// every event matches. Indexes find the events.
///
/// # Safety
/// `items` points to `item_count` items, whose arrays and slices are as long as they say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_read_query(
    store: fulgurite_event_store,
    items: *const fulgurite_query_item,
    item_count: usize,
    from: u64,
    backwards: bool,
    cursor: Option<&mut MaybeUninit<fulgurite_event_cursor>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let query = unsafe { query(items, item_count) }?;
        opened(store, Selection::Query(query), from, backwards, cursor)
    })
}

/// Moves to the next event, and returns it. FULGURITE_NOT_FOUND after the last one. Its bytes are valid
/// until the cursor moves again or is closed.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_next_event(
    cursor: fulgurite_event_cursor,
    event: Option<&mut MaybeUninit<fulgurite_event>>,
) -> c_int {
    guarded(|| {
        let place = event.ok_or_else(|| Failure::invalid("the place for the event is NULL"))?;
        match with_cursor(cursor, |cursor| cursor.read(from_mut(place)))? {
            0 => Err(Failure::NOT_FOUND),
            _ => Ok(()),
        }
    })
}

/// Moves over up to `capacity` events, and returns them and their number, which may be less. 0 says that
/// there are no more. The bytes of all are valid until the cursor moves again or is closed.
///
/// # Safety
/// `events` points to `capacity` places.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_read_events(
    cursor: fulgurite_event_cursor,
    events: *mut fulgurite_event,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    guarded(|| {
        check_out(&count)?;
        // SAFETY: the promise of the caller.
        let places = unsafe { places(events, capacity, "events") }?;
        let read = with_cursor(cursor, |cursor| cursor.read(places))?;
        set(count, read)
    })
}

/// Closes a cursor. Closing it twice returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close_event_cursor(cursor: fulgurite_event_cursor) -> c_int {
    guarded(|| close(cursor.id, "cursor over events", |object| matches!(object, Object::EventCursor(_))))
}
