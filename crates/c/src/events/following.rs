//! Followers, and servers for followers in other processes.
#![allow(unsafe_code)] // Functions of C, and places of the caller.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use fulgurite_events::EventQuery;

use crate::arguments::{check_out, path, places, set, set_if_wanted, text};
use crate::code::{Failure, Result, guarded};
use crate::events::feeds::{OpenFollower, OpenServer};
use crate::events::held::fulgurite_event;
use crate::events::queries::{fulgurite_query_item, query};
use crate::events::store::store;
use crate::handles::{
    OBJECTS, Object, add, close, fulgurite_event_server, fulgurite_event_store, fulgurite_follower, with,
};

fn with_follower<R>(follower: fulgurite_follower, run: impl FnOnce(&mut OpenFollower) -> Result<R>) -> Result<R> {
    with(follower.id, "follower", |object| match object {
        Object::Follower(follower) => run(&mut *follower.lock().map_err(|_| Failure::broken())?),
        other => Err(other.is_not("follower")),
    })
}

fn with_server<R>(server: fulgurite_event_server, run: impl FnOnce(&OpenServer) -> Result<R>) -> Result<R> {
    with(server.id, "server of events", |object| match object {
        Object::Server(server) => {
            server.check()?;
            run(server)
        }
        other => Err(other.is_not("server of events")),
    })
}

/// Gives a follower to the caller.
fn opened(follower: OpenFollower, place: Option<&mut MaybeUninit<fulgurite_follower>>) -> Result<()> {
    set(place, fulgurite_follower { id: add(Object::Follower(Box::new(Mutex::new(follower)))) })
}

/// Reads where another process serves its store, and which of its events match.
///
/// # Safety
/// `socket` ends with a byte 0. `items` points to `item_count` items, whose arrays and slices are as long as they say.
unsafe fn socket_and_query(
    socket: *const c_char,
    items: *const fulgurite_query_item,
    item_count: usize,
) -> Result<(PathBuf, EventQuery)> {
    // SAFETY: the promise of the caller.
    let socket = unsafe { path(socket) }?;
    // SAFETY: the promise of the caller.
    let query = unsafe { query(items, item_count) }?;
    Ok((socket, query))
}

/// Follows a store from a position on. A follower returns every event once, in order, as soon as it has
/// the store's durability. FULGURITE_INVALID if the position is above that of the next event.
///
/// It follows what this process appends; fulgurite_connect_follower follows another process. A follower
/// keeps no snapshot, and may stay open for ever.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_follow_events(
    store: fulgurite_event_store,
    from: u64,
    follower: Option<&mut MaybeUninit<fulgurite_follower>>,
) -> c_int {
    guarded(|| {
        check_out(&follower)?;
        opened(OpenFollower::of_store(&self::store(store)?, EventQuery::new(), from)?, follower)
    })
}

/// As fulgurite_follow_events, but the follower returns only events that match a query: at least one of
/// its items. Without items, every event matches. The follower reads the other events too, and passes
/// them.
///
/// # Safety
/// `items` points to `item_count` items, whose arrays and slices are as long as they say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_follow_query(
    store: fulgurite_event_store,
    items: *const fulgurite_query_item,
    item_count: usize,
    from: u64,
    follower: Option<&mut MaybeUninit<fulgurite_follower>>,
) -> c_int {
    guarded(|| {
        check_out(&follower)?;
        // SAFETY: the promise of the caller.
        let query = unsafe { query(items, item_count) }?;
        opened(OpenFollower::of_store(&self::store(store)?, query, from)?, follower)
    })
}

/// Follows the store that another process serves at a Unix socket (fulgurite_serve_events, or
/// `fulgurite events append --serve`), from a position on. UINT64_MAX is the position of the next event.
/// The other process sends only events that match a query; without items, every event matches. The names
/// in a query have at most 64 KiB. FULGURITE_SOCKET if no process serves there.
///
/// If the position is above that of the next event, fulgurite_poll_events returns FULGURITE_INVALID: it
/// is another store, or a power cut has lost events. If the other process ends, it returns
/// FULGURITE_SOCKET: connect again at fulgurite_follower_position. Both processes must have the same
/// version of the library.
///
/// # Safety
/// `socket` ends with a byte 0. `items` points to `item_count` items, whose arrays and slices are as
/// long as they say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_connect_follower(
    socket: *const c_char,
    items: *const fulgurite_query_item,
    item_count: usize,
    from: u64,
    follower: Option<&mut MaybeUninit<fulgurite_follower>>,
) -> c_int {
    guarded(|| {
        check_out(&follower)?;
        // SAFETY: the promise of the caller.
        let (socket, query) = unsafe { socket_and_query(socket, items, item_count) }?;
        opened(OpenFollower::of_socket(&socket, &query, from)?, follower)
    })
}

/// As fulgurite_connect_follower, as a consumer: from the position on that the other store has for this
/// name, or from the first event. fulgurite_acknowledge_events raises this position, so the consumer
/// receives each event at least once. The name has 1 to 1,024 bytes.
///
/// FULGURITE_INVALID if another connection has the name: the call waits two seconds for the name.
/// FULGURITE_SOCKET if the other process sends no position for a minute, or can only read its store. Do
/// not use the name of a view.
///
/// # Safety
/// As fulgurite_connect_follower. `consumer` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_connect_consumer(
    socket: *const c_char,
    consumer: *const c_char,
    items: *const fulgurite_query_item,
    item_count: usize,
    follower: Option<&mut MaybeUninit<fulgurite_follower>>,
) -> c_int {
    guarded(|| {
        check_out(&follower)?;
        // SAFETY: the promise of the caller.
        let (socket, query) = unsafe { socket_and_query(socket, items, item_count) }?;
        // SAFETY: the promise of the caller.
        let consumer = unsafe { text(consumer, "the name of the consumer") }?;
        opened(OpenFollower::of_consumer(&socket, consumer, &query)?, follower)
    })
}

/// Says that a consumer (fulgurite_connect_consumer) has processed all events before a position. The
/// other process stores the position, and the consumer begins there when it connects again. A position
/// that is not above those before changes nothing. FULGURITE_INVALID if the position is above
/// fulgurite_follower_position, or the follower is no consumer.
///
/// It returns before the position is stored: if one of the processes ends then, the consumer may receive
/// these events again. It waits for a running fulgurite_poll_events.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_acknowledge_events(follower: fulgurite_follower, position: u64) -> c_int {
    guarded(|| with_follower(follower, |follower| follower.acknowledge(position)))
}

/// Returns the next events, up to `capacity`, and their number. If there are none, it waits at most
/// `timeout_ms` for some; 0 says that none came. The bytes of all are valid until the next call with
/// this follower, or until it is closed.
///
/// With a query, 0 can also say that the call has only passed events that do not match. Call it again
/// then: fulgurite_follower_position has risen.
///
/// A follower of another process returns FULGURITE_SOCKET when that process has ended, or no longer
/// serves, or stops in the middle of an event for a minute.
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

/// Serves the events of a store at a Unix socket, until the server is closed. Other processes follow by
/// fulgurite_connect_follower, or in other languages. The socket's file is created, and removed by
/// fulgurite_close_event_server; an empty file beside it, whose name ends in `.lock`, stays.
/// FULGURITE_SOCKET if the path has a file that is not a socket, or another process serves there.
///
/// Every process that may open the socket's file can read all events, and raise the positions of all
/// consumers. Close the server before the database.
///
/// # Safety
/// `socket` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_serve_events(
    store: fulgurite_event_store,
    socket: *const c_char,
    server: Option<&mut MaybeUninit<fulgurite_event_server>>,
) -> c_int {
    guarded(|| {
        check_out(&server)?;
        // SAFETY: the promise of the caller.
        let socket = unsafe { path(socket) }?;
        let opened = OpenServer::new(&self::store(store)?, &socket)?;
        set(server, fulgurite_event_server { id: add(Object::Server(Box::new(opened))) })
    })
}

/// Returns how many followers are connected to a server.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_server_followers(
    server: fulgurite_event_server,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    guarded(|| set(count, with_server(server, |server| Ok(server.followers()))?))
}

/// Closes a server: it sends all events that there are to the followers that are connected, for
/// `timeout_ms` at most, then ends the connections. With 0 it ends them at once, and followers may lack
/// the last events. It waits for at most two seconds more until acknowledged positions are stored.
/// Closing it twice returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close_event_server(server: fulgurite_event_server, timeout_ms: u64) -> c_int {
    guarded(|| {
        with_server(server, |_| Ok(()))?;
        let Some(Object::Server(opened)) = OBJECTS.take(server.id) else {
            return Err(Failure::closed("server of events"));
        };
        opened.finish(Duration::from_millis(timeout_ms));
        Ok(())
    })
}
