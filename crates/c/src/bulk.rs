//! Bulk loads. C is called for the entries.
#![allow(unsafe_code)] // Functions of C, and calls of the caller's function.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::MaybeUninit;

use crate::arguments::{bytes, fulgurite_slice, set_if_wanted};
use crate::code::{Failure, guarded};
use crate::handles::{database, fulgurite_database, fulgurite_table, table};

/// Returns the next entry of a bulk load: sets `key` and `value`, whose bytes must be valid until
/// the next call, and returns 1; or returns 0 after the last entry, or a negative number to fail. It
/// must return (no longjmp, no exception of C++). In a sorted load it must not change, checkpoint or
/// close the database: such a call would wait for the load for ever.
pub type fulgurite_entry_source =
    Option<unsafe extern "C" fn(context: *mut c_void, key: *mut fulgurite_slice, value: *mut fulgurite_slice) -> c_int>;

/// How many keys a bulk load has inserted and replaced.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_load_summary {
    /// Keys that had no value before.
    pub inserted: u64,
    /// Keys whose value was replaced.
    pub replaced: u64,
}

/// The caller's function has failed.
#[derive(Debug)]
enum SourceFailed {
    /// It has returned this number.
    Returned(c_int),
    /// It has returned an entry that is not valid.
    Entry(Failure),
}

impl fmt::Display for SourceFailed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Returned(code) => write!(out, "the function that returns the entries has returned {code}"),
            Self::Entry(failure) => write!(out, "{}", failure.message),
        }
    }
}

impl std::error::Error for SourceFailed {}

/// The memory for sorting entries; more of them go to temporary files.
const SORT_MEMORY_BYTES: usize = 256 << 20;

/// Loads entries into a table, all of them or none. It is several times faster than transactions,
/// takes constant memory, and is durable when it returns. Commits wait meanwhile.
///
/// If `is_sorted`, keys must ascend strictly: FULGURITE_OUT_OF_ORDER if they do not. Without it,
/// entries are sorted first, in at most 256 MiB of memory and in temporary files beside the
/// database, and the last entry of a key counts. FULGURITE_INPUT if the source fails.
///
/// `summary` may be NULL. `context` is passed to the source.
///
/// # Safety
/// The source does what its type says.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_bulk_load(
    database: fulgurite_database,
    table: fulgurite_table,
    is_sorted: bool,
    source: fulgurite_entry_source,
    context: *mut c_void,
    summary: Option<&mut MaybeUninit<fulgurite_load_summary>>,
) -> c_int {
    guarded(|| {
        let (database, table) = (self::database(database)?, self::table(table)?);
        let source = source.ok_or_else(|| Failure::invalid("the source of the entries is NULL"))?;
        let mut has_ended = false;
        let entries = std::iter::from_fn(|| {
            if has_ended {
                return None;
            }
            let (mut key, mut value) = (fulgurite_slice::NONE, fulgurite_slice::NONE);
            // SAFETY: the promise of the caller.
            let code = unsafe { source(context, &raw mut key, &raw mut value) };
            has_ended = code <= 0;
            match code {
                0 => return None,
                ..0 => return Some(Err(SourceFailed::Returned(code))),
                _ => {}
            }
            // SAFETY: the promise of the caller.
            let key = unsafe { bytes(&key, "the key of an entry") };
            // SAFETY: the promise of the caller.
            let value = unsafe { bytes(&value, "the value of an entry") };
            match (key, value) {
                // Copied: the load may hold an entry while it asks for the next one.
                (Ok(key), Ok(value)) => Some(Ok((key.to_vec(), value.to_vec()))),
                (Err(failure), _) | (_, Err(failure)) => {
                    has_ended = true;
                    Some(Err(SourceFailed::Entry(failure)))
                }
            }
        });
        let loaded = if is_sorted {
            database.try_bulk_load(&table, entries)?
        } else {
            database.try_bulk_load_unsorted(&table, entries, SORT_MEMORY_BYTES)?
        };
        let loaded = fulgurite_load_summary { inserted: loaded.inserted, replaced: loaded.replaced };
        set_if_wanted(summary, loaded);
        Ok(())
    })
}
