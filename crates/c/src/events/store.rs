//! Event stores: opening and closing, and where their events are.
#![allow(unsafe_code)] // Functions of C, and names of the caller.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

use fulgurite_events::{Error, EventStore, StoreOptions, StreamState};

use crate::arguments::{array, check_out, set, set_if_wanted, text};
use crate::code::{Result, guarded};
use crate::events::held::OpenEventStore;
use crate::handles::{Object, add, close, database, fulgurite_database, fulgurite_event_store, with};
use crate::options::{check_size, durability};

/// Options of fulgurite_open_event_store. Set `size`, and leave what you do not need 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_event_store_options {
    /// sizeof(fulgurite_event_store_options)
    pub size: usize,
    /// The name of the store, with which the names of its tables begin. NULL for "events".
    pub name: *const c_char,
    /// What an append survives when it returns, and when followers see its events: a value of
    /// fulgurite_durability. The default is FULGURITE_DURABILITY_DISK.
    pub durability: u32,
    /// Within how many of the newest events an event id is recognised. The default is 65,536.
    pub id_window: u64,
}

/// The options of an opening.
///
/// # Safety
/// Its name ends with a byte 0.
///
/// # Errors
/// If the size or a value is not valid.
unsafe fn store_options(given: Option<&fulgurite_event_store_options>) -> Result<StoreOptions> {
    let mut options = EventStore::options();
    let Some(given) = given else { return Ok(options) };
    check_size(given.size, size_of::<fulgurite_event_store_options>(), "fulgurite_event_store_options")?;
    if !given.name.is_null() {
        // SAFETY: the caller's promise.
        options = options.name(unsafe { text(given.name, "the name of the event store") }?);
    }
    if let Some(durability) = durability(given.durability)? {
        options = options.durability(durability);
    }
    Ok(if given.id_window == 0 { options } else { options.id_window(given.id_window) })
}

/// Calls `run` with a store, which is not closed meanwhile.
///
/// # Errors
/// If the handle is closed or of another object, and the errors of `run`.
fn with_store<R>(handle: fulgurite_event_store, run: impl FnOnce(&OpenEventStore) -> Result<R>) -> Result<R> {
    with(handle.id, "store of events", |object| match object {
        Object::EventStore(opened) => run(opened),
        other => Err(other.is_not("store of events")),
    })
}

/// The store of a handle. Closing the handle does not wait for calls with the result.
///
/// # Errors
/// If the handle is closed or of another object.
pub fn store(handle: fulgurite_event_store) -> Result<EventStore> {
    with_store(handle, |opened| Ok(opened.store.clone()))
}

/// The store of a handle, and its table of positions of consumers.
///
/// # Errors
/// As [`store`].
pub fn store_and_consumers(handle: fulgurite_event_store) -> Result<OpenEventStore> {
    with_store(handle, |opened| Ok(OpenEventStore { store: opened.store.clone(), consumers: opened.consumers.clone() }))
}

/// Opens an event store of a database. Creates it if the database has no store of the name and is
/// open for writing. `options` may be NULL. A database can have several stores.
///
/// A process may open a store several times, with the same options. Closing the database closes no
/// stores: their calls then return FULGURITE_CLOSED.
///
/// # Safety
/// The name of `options` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_open_event_store(
    database: fulgurite_database,
    options: Option<&fulgurite_event_store_options>,
    store: Option<&mut MaybeUninit<fulgurite_event_store>>,
) -> c_int {
    guarded(|| {
        check_out(&store)?;
        // SAFETY: the promise of the caller.
        let options = unsafe { store_options(options) }?;
        let opened = options.open_in(&self::database(database)?)?;
        let consumers = opened.database().open_table(&format!("{}.consumers", opened.name()))?;
        let opened = Object::EventStore(Box::new(OpenEventStore { store: opened, consumers }));
        set(store, fulgurite_event_store { id: add(opened) })
    })
}

/// Closes the handle of a store. Its cursors and followers stay open. Closing it twice returns
/// FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close_event_store(store: fulgurite_event_store) -> c_int {
    guarded(|| close(store.id, "store of events", |object| matches!(object, Object::EventStore(_))))
}

/// Returns the first position that the log has, which is not 0 after events were removed, and the
/// position that the next event gets. Both places may be NULL.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_event_positions(
    store: fulgurite_event_store,
    first: Option<&mut MaybeUninit<u64>>,
    next: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        let snapshot = self::store(store)?.snapshot()?;
        let (start, head) = (snapshot.start()?, snapshot.head()?);
        set_if_wanted(first, start.0);
        set_if_wanted(next, head.0);
        Ok(())
    })
}

/// Returns the first version that can be read of a stream, and the version that its next event gets.
/// Both places may be NULL. FULGURITE_STREAM_NOT_FOUND if there is no such stream, or it was deleted.
///
/// # Safety
/// `stream` points to `stream_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_stream_versions(
    store: fulgurite_event_store,
    stream: *const u8,
    stream_length: usize,
    first: Option<&mut MaybeUninit<u64>>,
    next: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let name = unsafe { array(stream, stream_length, "stream") }?;
        let found = self::store(store)?.snapshot()?.stream(name)?.filter(|info| info.state == StreamState::Open);
        let found = found.ok_or_else(|| Error::StreamNotFound { stream: name.to_vec() })?;
        set_if_wanted(first, found.first.0);
        set_if_wanted(next, found.next.0);
        Ok(())
    })
}
