//! Cursors.
#![allow(unsafe_code)] // Functions of C, and bytes of the caller.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};

use fulgurite::{Table, Value};
use fulgurite_handles::HeldCursor;

use crate::arguments::{array, check_out, fulgurite_slice, places, set};
use crate::code::{Failure, Result, guarded};
use crate::handles::{
    CursorPlace, CursorSource, OBJECTS, Object, OpenCursor, Writing, add, fulgurite_cursor, fulgurite_table,
    fulgurite_txn, keep, with, with_both,
};

/// How a cursor moves.
#[derive(Clone, Copy)]
enum Move<'k> {
    First,
    Last,
    Next,
    Previous,
    Seek(&'k [u8]),
}

impl Move<'_> {
    /// Where a cursor is if it finds no entry.
    fn end(self) -> CursorPlace {
        match self {
            Self::First | Self::Next | Self::Seek(_) => CursorPlace::AfterLast,
            Self::Last | Self::Previous => CursorPlace::BeforeFirst,
        }
    }
}

/// Moves a cursor of either kind.
macro_rules! moved {
    ($cursor:expr, $to:expr) => {
        match $to {
            Move::First => $cursor.first(),
            Move::Last => $cursor.last(),
            Move::Next => $cursor.next(),
            Move::Previous => $cursor.previous(),
            Move::Seek(key) => $cursor.seek(key),
        }
    };
}

/// A key and its value, where the caller finds them.
type Entry = (fulgurite_slice, fulgurite_slice);

fn kept_entry(kept: &mut Vec<Value<'static>>, (key, value): (Value<'_>, Value<'_>)) -> Entry {
    (keep(kept, key), keep(kept, value))
}

/// Moves a cursor of a write transaction. After a change of the transaction, it finds its place again first.
fn moved_in(
    writing: &mut Writing,
    kept: &mut Vec<Value<'static>>,
    table: &Table,
    slot: usize,
    place: &mut CursorPlace,
    to: Move<'_>,
) -> Result<Option<Entry>> {
    let txn = Arc::clone(writing.txn());
    let (mut cursor, is_new) = match writing.cursors[slot].take() {
        Some(cursor) => (cursor, false),
        None => (HeldCursor::new(txn, table)?, true),
    };
    let mut to = to;
    if is_new && matches!(to, Move::Next | Move::Previous) {
        match (&*place, to) {
            (CursorPlace::BeforeFirst, Move::Next) => to = Move::First,
            (CursorPlace::AfterLast, Move::Previous) => to = Move::Last,
            (CursorPlace::At(key), _) => {
                let is_there = cursor.seek(key)?.is_some_and(|(found, _)| *found == **key);
                if !is_there && matches!(to, Move::Next) {
                    // The entry was deleted: the cursor is at the next one already.
                    to = Move::Seek(key);
                }
            }
            // The new cursor is not where this one is, so it is not kept.
            _ => return Ok(None),
        }
    }
    let end = to.end();
    let moved = moved!(cursor, to)?;
    let (found, now) = match moved {
        Some(entry) => {
            let now = CursorPlace::At(entry.0.to_vec());
            (Some(kept_entry(kept, entry)), now)
        }
        None => (None, end),
    };
    *place = now;
    writing.cursors[slot] = Some(cursor);
    Ok(found)
}

impl OpenCursor {
    /// Moves, and returns the entry there, if there is one.
    fn moved(&mut self, to: Move<'_>) -> Result<Option<Entry>> {
        let kept = &mut self.kept;
        match &mut self.source {
            CursorSource::Snapshot(cursor) => Ok(moved!(cursor, to)?.map(|entry| kept_entry(kept, entry))),
            CursorSource::Write { txn, table, slot, place } => {
                with(*txn, "transaction", |object| moved_in(&mut *object.write()?, kept, table, *slot, place, to))
            }
        }
    }
}

fn with_cursor<R>(cursor: fulgurite_cursor, run: impl FnOnce(&mut OpenCursor) -> Result<R>) -> Result<R> {
    with(cursor.id, "cursor", |object| match object {
        Object::Cursor(cursor) => {
            let mut cursor = cursor.lock().map_err(|_| Failure::broken())?;
            // What the last move returned is not valid after this one.
            cursor.kept.clear();
            run(&mut cursor)
        }
        other => Err(other.is_not("cursor")),
    })
}

fn go(
    cursor: fulgurite_cursor,
    to: Move<'_>,
    key: Option<&mut MaybeUninit<fulgurite_slice>>,
    value: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> Result<()> {
    let entry = with_cursor(cursor, |cursor| cursor.moved(to))?.ok_or(Failure::NOT_FOUND)?;
    if let Some(place) = key {
        place.write(entry.0);
    }
    if let Some(place) = value {
        place.write(entry.1);
    }
    Ok(())
}

/// Opens a cursor before the first entry of a table.
///
/// A cursor of a read transaction keeps the snapshot until it is closed, even if the transaction has
/// ended. A cursor of a write transaction sees its changes, also later ones; after the transaction
/// has ended, it returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_open_cursor(
    txn: fulgurite_txn,
    table: fulgurite_table,
    cursor: Option<&mut MaybeUninit<fulgurite_cursor>>,
) -> c_int {
    guarded(|| {
        check_out(&cursor)?;
        let source = with_both(txn, table, |object, table| match object {
            Object::Read(reading) => {
                Ok(CursorSource::Snapshot(Box::new(HeldCursor::new(Arc::clone(&reading.txn), table)?)))
            }
            other => {
                let mut writing = other.write()?;
                let engine = HeldCursor::new(Arc::clone(writing.txn()), table)?;
                let slot = match writing.free_cursors.pop() {
                    Some(slot) => slot,
                    None => {
                        writing.cursors.push(None);
                        writing.cursors.len() - 1
                    }
                };
                writing.cursors[slot] = Some(engine);
                let place = CursorPlace::BeforeFirst;
                Ok(CursorSource::Write { txn: txn.id, table: table.clone(), slot, place })
            }
        })?;
        let opened = Object::Cursor(Box::new(Mutex::new(OpenCursor { source, kept: Vec::new() })));
        set(cursor, fulgurite_cursor { id: add(opened) })
    })
}

/// Closes a cursor. Closing it twice returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close_cursor(cursor: fulgurite_cursor) -> c_int {
    guarded(|| {
        with_cursor(cursor, |_| Ok(()))?;
        let Some(Object::Cursor(cursor)) = OBJECTS.take(cursor.id) else { return Err(Failure::closed("cursor")) };
        if let Ok(OpenCursor { source: CursorSource::Write { txn, slot, .. }, .. }) = cursor.into_inner() {
            // The transaction may have ended.
            let _ = with(txn, "transaction", |object| {
                let mut writing = object.write()?;
                writing.cursors[slot] = None;
                writing.free_cursors.push(slot);
                Ok(())
            });
        }
        Ok(())
    })
}

/// Moves to the first entry whose key is at least `key`. FULGURITE_NOT_FOUND if there is none.
///
/// `found` and `value` get the entry, where they are not NULL. Both are valid until the cursor moves
/// or is closed, and in a write transaction until its next change or end.
///
/// # Safety
/// `key` points to `key_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_seek(
    cursor: fulgurite_cursor,
    key: *const u8,
    key_length: usize,
    found: Option<&mut MaybeUninit<fulgurite_slice>>,
    value: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        go(cursor, Move::Seek(key), found, value)
    })
}

/// Moves to the first entry, as fulgurite_seek.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_first(
    cursor: fulgurite_cursor,
    key: Option<&mut MaybeUninit<fulgurite_slice>>,
    value: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> c_int {
    guarded(|| go(cursor, Move::First, key, value))
}

/// Moves to the last entry, as fulgurite_seek.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_last(
    cursor: fulgurite_cursor,
    key: Option<&mut MaybeUninit<fulgurite_slice>>,
    value: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> c_int {
    guarded(|| go(cursor, Move::Last, key, value))
}

/// Moves to the next entry, as fulgurite_seek. At the last entry it moves after it, and returns
/// FULGURITE_NOT_FOUND.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_next(
    cursor: fulgurite_cursor,
    key: Option<&mut MaybeUninit<fulgurite_slice>>,
    value: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> c_int {
    guarded(|| go(cursor, Move::Next, key, value))
}

/// Moves to the previous entry, as fulgurite_seek. At the first entry it moves before it, and returns
/// FULGURITE_NOT_FOUND.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_previous(
    cursor: fulgurite_cursor,
    key: Option<&mut MaybeUninit<fulgurite_slice>>,
    value: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> c_int {
    guarded(|| go(cursor, Move::Previous, key, value))
}

/// Moves over up to `capacity` entries, forwards or backwards, and returns them and their number. A
/// number below `capacity` says that there are no more. All are valid until the cursor moves again.
///
/// # Safety
/// `keys` and `values` point to `capacity` places each.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_read_entries(
    cursor: fulgurite_cursor,
    backwards: bool,
    keys: *mut fulgurite_slice,
    values: *mut fulgurite_slice,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    guarded(|| {
        check_out(&count)?;
        // SAFETY: the promise of the caller.
        let keys = unsafe { places(keys, capacity, "keys") }?;
        // SAFETY: the promise of the caller.
        let values = unsafe { places(values, capacity, "values") }?;
        let read = with_cursor(cursor, |cursor| {
            for (read, (key, value)) in keys.iter_mut().zip(values).enumerate() {
                let Some(entry) = cursor.moved(if backwards { Move::Previous } else { Move::Next })? else {
                    return Ok(read);
                };
                key.write(entry.0);
                value.write(entry.1);
            }
            Ok(capacity)
        })?;
        set(count, read)
    })
}
