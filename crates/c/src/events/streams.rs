//! Changes of streams other than appends, and retention.
#![allow(unsafe_code)] // Functions of C, and bytes of the caller.

use std::cell::RefCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::Duration;

use fulgurite_events::{Error, Retention, StreamMetadata, Version};

use crate::arguments::{array, bytes, check_out, fulgurite_slice, set, set_if_wanted};
use crate::code::{Failure, guarded};
use crate::events::appending::expected;
use crate::events::store::store;
use crate::handles::fulgurite_event_store;
use crate::options::check_size;

/// The limits of a stream, which fulgurite_apply_retention applies, and bytes that the program stores
/// with it. Leave what you do not need 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_stream_metadata {
    /// Keep events of this age at most, in microseconds. 0 for any age.
    pub max_age_us: u64,
    /// Keep this many events at most: the newest. 0 for any number.
    pub max_count: u64,
    /// What the program wants to store.
    pub custom: fulgurite_slice,
}

/// What fulgurite_apply_retention keeps of the log. Set `size`, and leave what you do not need 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_retention {
    /// sizeof(fulgurite_retention)
    pub size: usize,
    /// Keep events of this age at most, in microseconds. 0 for any age.
    pub max_age_us: u64,
    /// Keep this many events at most: the newest. 0 for any number.
    pub max_count: u64,
    /// Keep about this many bytes of events at most: the newest. 0 for any number.
    pub max_bytes: u64,
}

/// What fulgurite_apply_retention has removed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_retention_report {
    /// The first position that the log keeps.
    pub first: u64,
    /// Chunks of events that were removed whole.
    pub chunks_removed: u64,
    /// Chunks from which some events were removed.
    pub chunks_rewritten: u64,
}

/// A limit. 0 is none.
fn limit(given: u64) -> Option<u64> {
    (given != 0).then_some(given)
}

/// Truncates a stream: events with lower versions than `before` are no longer read from it. They stay in
/// the log until fulgurite_apply_retention. Versions continue as before. FULGURITE_STREAM_NOT_FOUND if
/// there is no such stream, FULGURITE_INVALID if `before` is above the version of its next event.
///
/// # Safety
/// `stream` points to `stream_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_truncate_stream(
    store: fulgurite_event_store,
    stream: *const u8,
    stream_length: usize,
    before: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let stream = unsafe { array(stream, stream_length, "stream") }?;
        Ok(self::store(store)?.truncate_before(stream, Version(before))?)
    })
}

/// Deletes a stream, if its version is as `expected` (fulgurite_append_events): it can no longer be read,
/// and fulgurite_apply_retention removes its events from the log. The next append opens it again, with
/// the version after its last one; with `forever`, it returns FULGURITE_TOMBSTONE instead.
///
/// # Safety
/// `stream` points to `stream_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_delete_stream(
    store: fulgurite_event_store,
    stream: *const u8,
    stream_length: usize,
    expected: i64,
    forever: bool,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let stream = unsafe { array(stream, stream_length, "stream") }?;
        let (store, expected) = (self::store(store)?, self::expected(expected)?);
        match forever {
            false => store.delete_stream(stream, expected)?,
            true => store.bury_stream(stream, expected)?,
        }
        Ok(())
    })
}

/// Replaces the limits of a stream and what the program stores with it. Creates the stream if there was
/// none. A deleted stream stays deleted, and has the limits when it is opened again.
///
/// # Safety
/// `stream` points to `stream_length` bytes, and `custom` to as many bytes as it has.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_set_stream_metadata(
    store: fulgurite_event_store,
    stream: *const u8,
    stream_length: usize,
    metadata: Option<&fulgurite_stream_metadata>,
) -> c_int {
    guarded(|| {
        let given = metadata.ok_or_else(|| Failure::invalid("metadata is NULL"))?;
        // SAFETY: the promise of the caller.
        let stream = unsafe { array(stream, stream_length, "stream") }?;
        // SAFETY: the promise of the caller.
        let custom = unsafe { bytes(&given.custom, "custom") }?.to_vec();
        let (age_us_max, count_max) = (limit(given.max_age_us), limit(given.max_count));
        let metadata = StreamMetadata { age_us_max, count_max, custom };
        Ok(self::store(store)?.set_stream_metadata(stream, metadata)?)
    })
}

thread_local! {
    /// The last bytes that fulgurite_get_stream_metadata has returned on this thread.
    static CUSTOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns the limits of a stream and what the program stores with it, also of a deleted stream.
/// `custom` is valid until the next call of this function by the same thread.
/// FULGURITE_STREAM_NOT_FOUND if there never was such a stream. A limit of 0 that a program in another
/// language has set is returned as none.
///
/// # Safety
/// `stream` points to `stream_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_get_stream_metadata(
    store: fulgurite_event_store,
    stream: *const u8,
    stream_length: usize,
    metadata: Option<&mut MaybeUninit<fulgurite_stream_metadata>>,
) -> c_int {
    guarded(|| {
        check_out(&metadata)?;
        // SAFETY: the promise of the caller.
        let name = unsafe { array(stream, stream_length, "stream") }?;
        let found = self::store(store)?.snapshot()?.stream(name)?;
        let found = found.ok_or_else(|| Error::StreamNotFound { stream: name.to_vec() })?.metadata;
        let custom = CUSTOM.with_borrow_mut(|kept| {
            *kept = found.custom;
            fulgurite_slice::of(kept)
        });
        let (max_age_us, max_count) = (found.age_us_max.unwrap_or(0), found.count_max.unwrap_or(0));
        set(metadata, fulgurite_stream_metadata { max_age_us, max_count, custom })
    })
}

/// Removes events from the log: those beyond the limits of `retention`, which may be NULL for none,
/// those beyond the limits of their streams, and those of truncated and deleted streams. Positions and
/// versions of other events do not change. Limits of the log apply to whole chunks of up to 8,000 bytes,
/// and the newest chunk stays. Appends and reads continue meanwhile. `report` may be NULL.
///
/// The space is free for new events; fulgurite_compact shrinks the file.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_apply_retention(
    store: fulgurite_event_store,
    retention: Option<&fulgurite_retention>,
    report: Option<&mut MaybeUninit<fulgurite_retention_report>>,
) -> c_int {
    guarded(|| {
        let mut wanted = Retention::default();
        if let Some(given) = retention {
            check_size(given.size, size_of::<fulgurite_retention>(), "fulgurite_retention")?;
            wanted.age_max = limit(given.max_age_us).map(Duration::from_micros);
            (wanted.count_max, wanted.bytes_max) = (limit(given.max_count), limit(given.max_bytes));
        }
        let done = self::store(store)?.apply_retention(&wanted)?;
        let (chunks_removed, chunks_rewritten) = (done.chunks_removed, done.chunks_rewritten);
        let first = done.start.0;
        set_if_wanted(report, fulgurite_retention_report { first, chunks_removed, chunks_rewritten });
        Ok(())
    })
}
