//! Reads of both kinds of transactions.
#![allow(unsafe_code)] // Functions of C, and bytes of the caller.

use std::cell::RefCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;

use fulgurite::{Read, Value};

use crate::arguments::{array, bounds, bytes, check_out, fulgurite_slice, parts, places, set};
use crate::code::{Failure, Result, guarded};
use crate::handles::{Object, fulgurite_table, fulgurite_txn, keep, lock, with, with_both};

/// Evaluates an expression with the transaction of an object, of either kind, and the values that it keeps.
macro_rules! with_transaction {
    ($object:expr, $txn:ident, $kept:ident => $body:expr) => {
        match $object {
            Object::Read(reading) => {
                let $txn = &*reading.txn;
                let $kept = |value: Value<'_>| match value.is_borrowed() {
                    true => fulgurite_slice::of(&value),
                    false => keep(&mut lock(&reading.kept), value),
                };
                $body
            }
            other => {
                let mut writing = other.write()?;
                let writing = &mut *writing;
                let held = Arc::clone(writing.txn());
                let kept = RefCell::new(&mut writing.kept);
                let $txn = &*held;
                let $kept = |value: Value<'_>| keep(&mut kept.borrow_mut(), value);
                $body
            }
        }
    };
}

/// Returns the value of a key, or FULGURITE_NOT_FOUND.
///
/// The value is not copied: it is in the mapped file, or in memory of the transaction. In a read
/// transaction it is valid until the transaction ends. Values that are not in the mapped file (of
/// compressed images, databases opened with no_map, results of merges) are kept until then, too, or
/// until fulgurite_release_values. In a write transaction, a value is valid until the next change by
/// this transaction, or its end.
///
/// # Safety
/// `key` points to `key_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_get(
    txn: fulgurite_txn,
    table: fulgurite_table,
    key: *const u8,
    key_length: usize,
    value: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> c_int {
    guarded(|| {
        check_out(&value)?;
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        let found = with_both(txn, table, |object, table| {
            with_transaction!(object, txn, kept => {
                let value = txn.get(table, key)?.ok_or(Failure::NOT_FOUND)?;
                Ok(kept(value))
            })
        })?;
        set(value, found)
    })
}

fn get_many(
    txn: fulgurite_txn,
    table: fulgurite_table,
    keys: &[&[u8]],
    places: &mut [MaybeUninit<fulgurite_slice>],
) -> Result<()> {
    with_both(txn, table, |object, table| {
        with_transaction!(object, txn, kept => {
            let mut places = places.iter_mut();
            txn.get_many_with(table, keys, |value| {
                if let Some(place) = places.next() {
                    place.write(value.map_or(fulgurite_slice::NONE, &kept));
                }
            })?;
            Ok(())
        })
    })
}

/// Returns the values of many keys, which is several times faster than single gets. A key without a
/// value gets a slice whose `data` is NULL. Values are valid as those of fulgurite_get.
///
/// # Safety
/// `keys` points to `count` slices, which point to as many bytes as they have, and `values` to
/// `count` places.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_get_many(
    txn: fulgurite_txn,
    table: fulgurite_table,
    keys: *const fulgurite_slice,
    count: usize,
    values: *mut fulgurite_slice,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let keys = unsafe { array(keys, count, "keys") }?;
        // SAFETY: the promise of the caller.
        let values = unsafe { places(values, count, "values") }?;
        // SAFETY: the promise of the caller.
        let keys = keys.iter().map(|key| unsafe { bytes(key, "a key") }).collect::<Result<Vec<_>>>()?;
        get_many(txn, table, &keys, values)
    })
}

/// As fulgurite_get_many, with keys one after the other: key i ends before `keys[key_ends[i]]`.
///
/// # Safety
/// `keys` points to `keys_length` bytes, `key_ends` to `count` numbers, and `values` to `count`
/// places.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_get_packed(
    txn: fulgurite_txn,
    table: fulgurite_table,
    keys: *const u8,
    keys_length: usize,
    key_ends: *const usize,
    count: usize,
    values: *mut fulgurite_slice,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let keys = unsafe { array(keys, keys_length, "keys") }?;
        // SAFETY: the promise of the caller.
        let ends = unsafe { array(key_ends, count, "key_ends") }?;
        // SAFETY: the promise of the caller.
        let values = unsafe { places(values, count, "values") }?;
        get_many(txn, table, &parts(keys, ends, "key_ends")?, values)
    })
}

/// Returns the first entries whose keys are at least `low` and less than `high`, or with `backwards` the
/// last ones: up to `capacity` of them, and their number. A number below `capacity` says that there are
/// no more. A bound that is NULL does not bound. Keys and values are valid as values of fulgurite_get.
///
/// To continue, call it again with the last key and a byte 0 as `low`, or backwards with the last key as
/// `high`. It reads nothing outside the bounds, so that changes there are no conflicts.
///
/// # Safety
/// `low` and `high` point to as many bytes as their lengths say, or are NULL. `keys` and `values` point
/// to `capacity` places each.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_read_range(
    txn: fulgurite_txn,
    table: fulgurite_table,
    low: *const u8,
    low_length: usize,
    high: *const u8,
    high_length: usize,
    backwards: bool,
    keys: *mut fulgurite_slice,
    values: *mut fulgurite_slice,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    guarded(|| {
        check_out(&count)?;
        // SAFETY: the promise of the caller.
        let range = unsafe { bounds(low, low_length, high, high_length) }?;
        // SAFETY: the promise of the caller.
        let keys = unsafe { places(keys, capacity, "keys") }?;
        // SAFETY: the promise of the caller.
        let values = unsafe { places(values, capacity, "values") }?;
        let read = with_both(txn, table, |object, table| {
            with_transaction!(object, txn, kept => {
                let mut entries = txn.range(table, range)?;
                let mut read = 0;
                for (key, value) in keys.iter_mut().zip(values) {
                    let next = if backwards { entries.next_back() } else { entries.next() };
                    let Some(entry) = next.transpose()? else { break };
                    key.write(kept(entry.0));
                    value.write(kept(entry.1));
                    read += 1;
                }
                Ok(read)
            })
        })?;
        set(count, read)
    })
}

/// Counts the entries whose keys are at least `low` and less than `high`. A bound that is NULL does
/// not bound.
///
/// # Safety
/// `low` and `high` point to as many bytes as their lengths say, or are NULL.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_count(
    txn: fulgurite_txn,
    table: fulgurite_table,
    low: *const u8,
    low_length: usize,
    high: *const u8,
    high_length: usize,
    count: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let range = unsafe { bounds(low, low_length, high, high_length) }?;
        let found = with_both(
            txn,
            table,
            |object, table| with_transaction!(object, txn, _kept => Ok(txn.count(table, range)?)),
        )?;
        set(count, found)
    })
}

/// Returns the counter of a key in a table with FULGURITE_MERGE_ADD and no value type; 0 if the key
/// has no value. FULGURITE_INVALID if the value does not have 8 bytes.
///
/// # Safety
/// `key` points to `key_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_get_counter(
    txn: fulgurite_txn,
    table: fulgurite_table,
    key: *const u8,
    key_length: usize,
    value: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        let found = with_both(txn, table, |object, table| {
            with_transaction!(object, txn, _kept => {
                let Some(value) = txn.get(table, key)? else { return Ok(0) };
                let counter = <[u8; 8]>::try_from(&*value).map_err(|_| {
                    Failure::invalid(format!("the value has {} bytes; a counter has 8", value.len()))
                })?;
                Ok(u64::from_be_bytes(counter))
            })
        })?;
        set(value, found)
    })
}

/// Frees the values that a read transaction keeps in memory because they are not in the mapped file
/// (fulgurite_get). Values that it has returned so far are not valid after it.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_release_values(txn: fulgurite_txn) -> c_int {
    guarded(|| {
        with(txn.id, "transaction", |object| match object {
            Object::Read(reading) => {
                lock(&reading.kept).clear();
                Ok(())
            }
            other => {
                other.write()?.kept.clear();
                Ok(())
            }
        })
    })
}
