//! Queries over events.
#![allow(unsafe_code)] // Names of the caller.

use fulgurite_events::{EventQuery, QueryItem};

use crate::arguments::{array, bytes, fulgurite_slice, text_of};
use crate::code::Result;

/// A part of a query. An event matches it if the event has one of the types and all of the tags, and is
/// in one of the streams. What has no names matches all: leave it 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_query_item {
    /// The names of types.
    pub kinds: *const fulgurite_slice,
    /// The number of types.
    pub kind_count: usize,
    /// Tags.
    pub tags: *const fulgurite_slice,
    /// The number of tags.
    pub tag_count: usize,
    /// The names of streams.
    pub streams: *const fulgurite_slice,
    /// The number of streams.
    pub stream_count: usize,
}

/// The query of an array of the caller.
///
/// # Safety
/// `items` points to `count` items, and their arrays and slices are as long as they say.
///
/// # Errors
/// If an array or slice is not valid, or a type or tag is not UTF-8.
pub unsafe fn query(items: *const fulgurite_query_item, count: usize) -> Result<EventQuery> {
    let mut query = EventQuery::new();
    // SAFETY: the caller's promise.
    for given in unsafe { array(items, count, "items") }? {
        let mut item = QueryItem::new();
        // SAFETY: the caller's promise.
        for kind in unsafe { array(given.kinds, given.kind_count, "the types of a query") }? {
            // SAFETY: the caller's promise.
            item = item.kind(unsafe { text_of(kind, "a type of a query") }?);
        }
        // SAFETY: the caller's promise.
        for tag in unsafe { array(given.tags, given.tag_count, "the tags of a query") }? {
            // SAFETY: the caller's promise.
            item = item.tag(unsafe { text_of(tag, "a tag of a query") }?);
        }
        // SAFETY: the caller's promise.
        for stream in unsafe { array(given.streams, given.stream_count, "the streams of a query") }? {
            // SAFETY: the caller's promise.
            item = item.stream(unsafe { bytes(stream, "a stream of a query") }?);
        }
        query = query.or(item);
    }
    Ok(query)
}
