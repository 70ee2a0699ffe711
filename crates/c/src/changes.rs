//! The change feed.
#![allow(unsafe_code)] // Functions of C, and places of the caller.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fulgurite::{Change, ChangedTable, Sequence};

use crate::arguments::{check_out, fulgurite_slice, places, set, set_if_wanted};
use crate::code::{Failure, Result, guarded};
use crate::handles::{Object, OpenChanges, add, close, database, fulgurite_changes, fulgurite_database, with};

/// What a change has done.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fulgurite_change_kind {
    /// The key has this value: from a put, or as the result of a merge.
    FULGURITE_CHANGE_PUT = 1,
    /// The key got a large value, of `value_length` bytes, that is no longer stored. A later commit of
    /// the feed replaced it, deleted the key, dropped the table or reports a bulk load of the table.
    FULGURITE_CHANGE_SUPERSEDED = 2,
    /// The key was deleted.
    FULGURITE_CHANGE_DELETE = 3,
    /// The table was created.
    FULGURITE_CHANGE_TABLE_CREATED = 4,
    /// The table was dropped.
    FULGURITE_CHANGE_TABLE_DROPPED = 5,
    /// The table was renamed. `key` is the name that it had.
    FULGURITE_CHANGE_TABLE_RENAMED = 6,
    /// A bulk load, or a transaction that was too large for memory, may have changed any keys of the
    /// table. Read the whole table from a new transaction, and replace your copy.
    FULGURITE_CHANGE_BULK_LOADED = 7,
}

/// The id of a dropped table that was created before the feed begins.
pub const FULGURITE_NO_TABLE_ID: u64 = u64::MAX;

/// One change of a commit.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_change {
    /// A fulgurite_change_kind. Later versions may have more: skip those that you do not know.
    pub kind: u32,
    /// The number of the table, which renaming does not change, or FULGURITE_NO_TABLE_ID.
    pub table_id: u64,
    /// The name of the table. No value for a table that a later commit of the feed drops.
    pub table_name: fulgurite_slice,
    /// The key. No value if the change is one of a whole table.
    pub key: fulgurite_slice,
    /// The value of a FULGURITE_CHANGE_PUT. No value for other changes.
    pub value: fulgurite_slice,
    /// The length of the value.
    pub value_length: u64,
}

impl fulgurite_change {
    fn of(change: &Change) -> Self {
        use fulgurite_change_kind as Kind;
        let none = fulgurite_slice::NONE;
        let made = |kind: Kind, table: &ChangedTable, key, value: fulgurite_slice, value_length| Self {
            kind: kind as u32,
            table_id: table.id.map_or(FULGURITE_NO_TABLE_ID, |id| id.0.into()),
            table_name: table.name.as_ref().map_or(none, |name| fulgurite_slice::of(name.as_bytes())),
            key,
            value,
            value_length,
        };
        let bytes = fulgurite_slice::of;
        match change {
            Change::Put { table, key, value } => {
                made(Kind::FULGURITE_CHANGE_PUT, table, bytes(key), bytes(value), value.len() as u64)
            }
            Change::Superseded { table, key, value_bytes } => {
                made(Kind::FULGURITE_CHANGE_SUPERSEDED, table, bytes(key), none, *value_bytes)
            }
            Change::Delete { table, key } => made(Kind::FULGURITE_CHANGE_DELETE, table, bytes(key), none, 0),
            Change::TableCreated { table } => made(Kind::FULGURITE_CHANGE_TABLE_CREATED, table, none, none, 0),
            Change::TableDropped { table } => made(Kind::FULGURITE_CHANGE_TABLE_DROPPED, table, none, none, 0),
            Change::TableRenamed { table, before } => {
                made(Kind::FULGURITE_CHANGE_TABLE_RENAMED, table, bytes(before.as_bytes()), none, 0)
            }
            Change::BulkLoaded { table } => made(Kind::FULGURITE_CHANGE_BULK_LOADED, table, none, none, 0),
            // A kind that this version of the interface does not have: the program skips it.
            _ => {
                let table = ChangedTable { id: None, name: None };
                Self { kind: 0, ..made(Kind::FULGURITE_CHANGE_BULK_LOADED, &table, none, none, 0) }
            }
        }
    }
}

fn with_feed<R>(feed: fulgurite_changes, run: impl FnOnce(MutexGuard<'_, OpenChanges>) -> Result<R>) -> Result<R> {
    with(feed.id, "change feed", |object| match object {
        Object::Changes(feed) => run(feed.lock().map_err(|_| Failure::broken())?),
        other => Err(other.is_not("change feed")),
    })
}

/// Opens a feed of the commits after `after`, in order, up to the newest durable one. 0 is before the
/// first commit. The database must be opened with `keep_log_bytes`.
///
/// Store the sequence of the last commit that you have processed, and continue after it. If the log
/// begins later, the result is FULGURITE_CHANGES_GONE: copy the data from a transaction of
/// fulgurite_begin_read_durable, and continue after its fulgurite_sequence. A transaction of
/// fulgurite_begin_read may show commits that a power cut undoes, and that the feed then never reports
/// again. A feed keeps its part of the log until it is closed.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_open_changes(
    database: fulgurite_database,
    after: u64,
    feed: Option<&mut MaybeUninit<fulgurite_changes>>,
) -> c_int {
    guarded(|| {
        check_out(&feed)?;
        let changes = self::database(database)?.changes(Sequence(after))?;
        let opened = Object::Changes(Box::new(Mutex::new(OpenChanges { changes, commit: None })));
        set(feed, fulgurite_changes { id: add(opened) })
    })
}

/// Closes a feed. Closing it twice returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close_changes(feed: fulgurite_changes) -> c_int {
    guarded(|| close(feed.id, "change feed", |object| matches!(object, Object::Changes(_))))
}

/// Moves to the next commit, and returns its sequence and the number of its changes.
/// FULGURITE_NOT_FOUND at the end of the feed.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_next_commit(
    feed: fulgurite_changes,
    sequence: Option<&mut MaybeUninit<u64>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    guarded(|| {
        let (found, changes) = with_feed(feed, |mut feed| {
            feed.commit = None;
            let commit = feed.changes.next().transpose()?.ok_or(Failure::NOT_FOUND)?;
            let found = (commit.sequence.0, commit.changes.len());
            feed.commit = Some(commit);
            Ok(found)
        })?;
        set_if_wanted(sequence, found);
        set_if_wanted(count, changes);
        Ok(())
    })
}

/// Returns changes of the current commit, from the one with the index `first` on, in the order in
/// which they take effect, and their number: at most `capacity`. All are valid until the feed moves to
/// another commit or is closed.
///
/// # Safety
/// `changes` points to `capacity` places.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_read_changes(
    feed: fulgurite_changes,
    first: usize,
    changes: *mut fulgurite_change,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    guarded(|| {
        check_out(&count)?;
        // SAFETY: the promise of the caller.
        let places = unsafe { places(changes, capacity, "changes") }?;
        let read = with_feed(feed, |feed| {
            let commit = feed.commit.as_ref().ok_or_else(|| {
                Failure::invalid("the feed is at no commit; call fulgurite_next_commit, which must return FULGURITE_OK")
            })?;
            let rest = commit.changes.get(first..).unwrap_or_default();
            for (place, change) in places.iter_mut().zip(rest) {
                place.write(fulgurite_change::of(change));
            }
            Ok(rest.len().min(capacity))
        })?;
        set(count, read)
    })
}

/// Waits at most `timeout_ms` for a durable commit after `after`, and returns the sequence of the
/// newest durable commit, which is `after` if none followed. Commits that are visible but not durable
/// are made durable. FULGURITE_INVALID if `after` is above the newest commit.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_wait_durable(
    database: fulgurite_database,
    after: u64,
    timeout_ms: u64,
    durable: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        check_out(&durable)?;
        let timeout = Duration::from_millis(timeout_ms);
        let newest = self::database(database)?.wait_durable(Sequence(after), timeout)?;
        set(durable, newest.0)
    })
}
