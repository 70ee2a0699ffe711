//! Appends.
#![allow(unsafe_code)] // Functions of C, and bytes of the caller.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use fulgurite_events::{AppendCondition, Appended, EventData, EventId, Expected, Position, Version};

use crate::arguments::{array, bytes, fulgurite_slice, places, set_if_wanted, text_of};
use crate::code::{Failure, Result, guarded};
use crate::events::queries::{fulgurite_query_item, query};
use crate::events::store::store;
use crate::handles::fulgurite_event_store;

/// An expected version: the stream may have any, and need not exist.
pub const FULGURITE_ANY_VERSION: i64 = -1;

/// An expected version: the stream does not exist, or was deleted.
pub const FULGURITE_NO_STREAM: i64 = -2;

/// An expected version: the stream exists.
pub const FULGURITE_STREAM_EXISTS: i64 = -3;

/// An event to append. Leave what you do not need 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_new_event {
    /// The name of its type: 1 to 255 bytes of UTF-8.
    pub kind: fulgurite_slice,
    /// What happened, in the program's encoding.
    pub payload: fulgurite_slice,
    /// What belongs to the event but not to what happened, such as the user.
    pub metadata: fulgurite_slice,
    /// The 16 bytes of its id, such as those of a UUID. NULL for none.
    pub id: *const u8,
    /// The version of the schema of its type.
    pub schema: u32,
    /// What queries may ask for, such as "order:7". Each has 1 to 65,535 bytes of UTF-8.
    pub tags: *const fulgurite_slice,
    /// The number of tags.
    pub tag_count: usize,
}

/// The events to append to one stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_stream_append {
    /// The name of the stream: 1 to 1,024 bytes.
    pub stream: fulgurite_slice,
    /// The version that the last event of the stream must have, or FULGURITE_ANY_VERSION,
    /// FULGURITE_NO_STREAM or FULGURITE_STREAM_EXISTS.
    pub expected: i64,
    /// The events.
    pub events: *const fulgurite_new_event,
    /// The number of events.
    pub event_count: usize,
}

/// Where appended events are.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_appended {
    /// The position of the first one.
    pub position: u64,
    /// The version of the first one.
    pub version: u64,
    /// How many there are.
    pub count: u64,
    /// Whether an earlier append had written the same events, so that this one wrote nothing.
    pub repeated: bool,
}

impl fulgurite_appended {
    fn of(appended: &Appended) -> Self {
        Self {
            position: appended.position.0,
            version: appended.version.0,
            count: appended.count,
            repeated: appended.repeated,
        }
    }
}

/// An expected version.
///
/// # Errors
/// If the number is none.
pub fn expected(number: i64) -> Result<Expected> {
    match number {
        FULGURITE_ANY_VERSION => Ok(Expected::Any),
        FULGURITE_NO_STREAM => Ok(Expected::NoStream),
        FULGURITE_STREAM_EXISTS => Ok(Expected::StreamExists),
        _ => {
            let version = u64::try_from(number)
                .map_err(|_| Failure::invalid(format!("{number} is neither a version nor FULGURITE_ANY_VERSION")))?;
            Ok(Expected::Exact(Version(version)))
        }
    }
}

/// An event of the caller, without its tags.
///
/// # Safety
/// Its slices point to as many bytes as they have, and its id to 16 bytes or to NULL. They do not change while the
/// result is used.
///
/// # Errors
/// If a slice is not valid, or the type is not UTF-8.
unsafe fn new_event(given: &fulgurite_new_event) -> Result<EventData<'_>> {
    // SAFETY: the caller's promise.
    let kind = unsafe { text_of(&given.kind, "the type of an event") }?;
    // SAFETY: the caller's promise.
    let payload = unsafe { bytes(&given.payload, "the payload of an event") }?;
    // SAFETY: the caller's promise.
    let metadata = unsafe { bytes(&given.metadata, "the metadata of an event") }?;
    // SAFETY: the caller's promise. Bytes have no alignment.
    let id = unsafe { given.id.cast::<EventId>().as_ref() };
    let event = EventData::new(kind, payload).metadata(metadata).schema(given.schema);
    Ok(id.map_or(event, |id| event.id(*id)))
}

/// The events of an array of the caller.
struct NewEvents<'e> {
    events: &'e [fulgurite_new_event],
    /// The tags of all events, one after the other.
    tags: Vec<&'e str>,
}

impl<'e> NewEvents<'e> {
    /// Reads their tags.
    ///
    /// # Safety
    /// `events` points to `count` events. The promise of [`new_event`] holds for each, and for its tags. They do not
    /// change while the result is used.
    ///
    /// # Errors
    /// If an array is not valid, or a tag is not UTF-8.
    unsafe fn new(events: *const fulgurite_new_event, count: usize) -> Result<Self> {
        // SAFETY: the caller's promise.
        let events: &'e [fulgurite_new_event] = unsafe { array(events, count, "events") }?;
        let mut tags = Vec::new();
        for event in events {
            // SAFETY: the caller's promise.
            for tag in unsafe { array(event.tags, event.tag_count, "the tags of an event") }? {
                // SAFETY: the caller's promise.
                tags.push(unsafe { text_of(tag, "a tag of an event") }?);
            }
        }
        Ok(Self { events, tags })
    }

    /// The events as the store takes them.
    ///
    /// # Safety
    /// As [`NewEvents::new`].
    ///
    /// # Errors
    /// As [`new_event`].
    unsafe fn data(&self) -> Result<Vec<EventData<'_>>> {
        let mut rest = &self.tags[..];
        let mut data = Vec::with_capacity(self.events.len());
        for event in self.events {
            let (tags, others) = rest.split_at(event.tag_count);
            rest = others;
            // SAFETY: the caller's promise.
            data.push(unsafe { new_event(event) }?.tags(tags));
        }
        Ok(data)
    }
}

/// Appends events to a stream, if its version is as expected: all of them or none.
/// FULGURITE_WRONG_VERSION if it is another one. When it returns, they have the store's durability.
/// `appended` may be NULL.
///
/// If events have ids, and the stream has the same ids in this order already, nothing is appended, and
/// `repeated` is true: an append of unknown outcome can be tried again. FULGURITE_ID_REUSED if it has
/// only some of the ids. They are recognised within the newest events of the store (`id_window`).
///
/// Appends of several threads share flushes of the disk.
///
/// # Safety
/// `stream` points to `stream_length` bytes, and `events` to `event_count` events. Their slices point
/// to as many bytes as they have, their ids to 16 bytes, and their tags to as many slices as they have.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_append_events(
    store: fulgurite_event_store,
    stream: *const u8,
    stream_length: usize,
    expected: i64,
    events: *const fulgurite_new_event,
    event_count: usize,
    appended: Option<&mut MaybeUninit<fulgurite_appended>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let stream = unsafe { array(stream, stream_length, "stream") }?;
        // SAFETY: the promise of the caller.
        let events = unsafe { NewEvents::new(events, event_count) }?;
        // SAFETY: the promise of the caller.
        let data = unsafe { events.data() }?;
        let found = self::store(store)?.append(stream, self::expected(expected)?, &data)?;
        set_if_wanted(appended, fulgurite_appended::of(&found));
        Ok(())
    })
}

/// Appends events to several streams in one transaction, in this order: all of them or none. A stream
/// may be there several times. `appended` has a place for each stream, or is NULL.
///
/// # Safety
/// `appends` points to `count` appends, whose events are as those of fulgurite_append_events.
/// `appended` points to `count` places, or is NULL.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_append_to_streams(
    store: fulgurite_event_store,
    appends: *const fulgurite_stream_append,
    count: usize,
    appended: *mut fulgurite_appended,
) -> c_int {
    guarded(|| {
        let wanted = if appended.is_null() { 0 } else { count };
        // SAFETY: the promise of the caller.
        let places = unsafe { places(appended, wanted, "appended") }?;
        // SAFETY: the promise of the caller.
        let appends = unsafe { array(appends, count, "appends") }?;
        let mut events = Vec::with_capacity(count);
        for append in appends {
            // SAFETY: the promise of the caller.
            events.push(unsafe { NewEvents::new(append.events, append.event_count) }?);
        }
        let mut parts = Vec::with_capacity(count);
        for (append, events) in appends.iter().zip(&events) {
            // SAFETY: the promise of the caller.
            let stream = unsafe { bytes(&append.stream, "the name of a stream") }?;
            // SAFETY: the promise of the caller.
            let data = unsafe { events.data() }?;
            parts.push((stream, expected(append.expected)?, data));
        }
        let store = self::store(store)?;
        let found = match &parts[..] {
            [(stream, expected, events)] => vec![store.append(stream, *expected, events)?],
            _ => store.transact(|transaction| {
                let mut found = Vec::with_capacity(parts.len());
                for (stream, expected, events) in &parts {
                    found.push(transaction.append(stream, *expected, events)?);
                }
                Ok(found)
            })?,
        };
        for (place, appended) in places.iter_mut().zip(&found) {
            place.write(fulgurite_appended::of(appended));
        }
        Ok(())
    })
}

/// Appends events to a stream as fulgurite_append_events, unless an event at the position `from` or
/// after it matches a query: FULGURITE_CONDITION_FAILED then. `from` is the first position that the
/// program had not read when it decided, such as the one after the last event of
/// fulgurite_read_query. An event matches the query if it matches one of the items; without items,
/// every event does.
///
/// A repeated append (`repeated`) is recognised before the query is tried, so an append of unknown
/// outcome can be tried again. `appended` may be NULL.
///
/// # Safety
/// `items` points to `item_count` items, and `append` to an append whose events are as those of
/// fulgurite_append_events. Slices and arrays are as long as they say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_append_if(
    store: fulgurite_event_store,
    items: *const fulgurite_query_item,
    item_count: usize,
    from: u64,
    append: Option<&fulgurite_stream_append>,
    appended: Option<&mut MaybeUninit<fulgurite_appended>>,
) -> c_int {
    guarded(|| {
        let append = append.ok_or_else(|| Failure::invalid("append is NULL"))?;
        // SAFETY: the promise of the caller.
        let query = unsafe { query(items, item_count) }?;
        let condition = AppendCondition { query, after: from.checked_sub(1).map(Position) };
        // SAFETY: the promise of the caller.
        let stream = unsafe { bytes(&append.stream, "the name of a stream") }?;
        // SAFETY: the promise of the caller.
        let events = unsafe { NewEvents::new(append.events, append.event_count) }?;
        // SAFETY: the promise of the caller.
        let data = unsafe { events.data() }?;
        let store = self::store(store)?;
        let found = match expected(append.expected)? {
            Expected::Any => store.append_if(&condition, stream, &data)?,
            expected => store.transact(|transaction| transaction.append_if(&condition, stream, expected, &data))?,
        };
        set_if_wanted(appended, fulgurite_appended::of(&found));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_versions_are_numbers_or_one_of_three_words() {
        assert_eq!(expected(7).unwrap(), Expected::Exact(Version(7)));
        assert_eq!(expected(FULGURITE_ANY_VERSION).unwrap(), Expected::Any);
        assert_eq!(expected(FULGURITE_NO_STREAM).unwrap(), Expected::NoStream);
        assert_eq!(expected(FULGURITE_STREAM_EXISTS).unwrap(), Expected::StreamExists);
        assert!(expected(-4).is_err());
    }
}
