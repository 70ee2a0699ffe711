//! Changes of write transactions.
#![allow(unsafe_code)] // Functions of C, and bytes of the caller.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use fulgurite::{Table, WriteTxn};

use crate::arguments::{array, bounds, bytes, fulgurite_slice, parts, set_if_wanted};
use crate::code::{Failure, Result, guarded};
use crate::handles::{fulgurite_table, fulgurite_txn, with_both};

/// Calls `run` with a write transaction and a table.
fn changing<R>(
    txn: fulgurite_txn,
    table: fulgurite_table,
    run: impl FnOnce(&mut WriteTxn, &Table) -> Result<R>,
) -> Result<R> {
    with_both(txn, table, |object, table| run(object.write()?.txn_to_change(), table))
}

/// Stores a value under a key, and replaces an existing value. Keys have at most 64 MiB, values less
/// than 4 GiB.
///
/// # Safety
/// `key` and `value` point to as many bytes as their lengths say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_put(
    txn: fulgurite_txn,
    table: fulgurite_table,
    key: *const u8,
    key_length: usize,
    value: *const u8,
    value_length: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        // SAFETY: the promise of the caller.
        let value = unsafe { array(value, value_length, "value") }?;
        changing(txn, table, |txn, table| Ok(txn.put(table, key, value)?))
    })
}

/// Stores a value under a key that has none. FULGURITE_KEY_EXISTS if the key has a value, which
/// remains.
///
/// # Safety
/// `key` and `value` point to as many bytes as their lengths say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_insert(
    txn: fulgurite_txn,
    table: fulgurite_table,
    key: *const u8,
    key_length: usize,
    value: *const u8,
    value_length: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        // SAFETY: the promise of the caller.
        let value = unsafe { array(value, value_length, "value") }?;
        let is_new = changing(txn, table, |txn, table| Ok(txn.insert(table, key, value)?))?;
        if is_new { Ok(()) } else { Err(Failure::KEY_EXISTS) }
    })
}

fn put_all(txn: fulgurite_txn, table: fulgurite_table, keys: &[&[u8]], values: &[&[u8]]) -> Result<()> {
    changing(txn, table, |txn, table| Ok(txn.put_many(table, keys.iter().zip(values))?))
}

/// Stores many values, in any order of keys: all of them, or none if it returns an error.
///
/// # Safety
/// `keys` and `values` point to `count` slices, which point to as many bytes as they have.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_put_many(
    txn: fulgurite_txn,
    table: fulgurite_table,
    keys: *const fulgurite_slice,
    values: *const fulgurite_slice,
    count: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let keys = unsafe { array(keys, count, "keys") }?;
        // SAFETY: the promise of the caller.
        let values = unsafe { array(values, count, "values") }?;
        // SAFETY: the promise of the caller.
        let keys = keys.iter().map(|key| unsafe { bytes(key, "a key") }).collect::<Result<Vec<_>>>()?;
        // SAFETY: the promise of the caller.
        let values = values.iter().map(|value| unsafe { bytes(value, "a value") }).collect::<Result<Vec<_>>>()?;
        put_all(txn, table, &keys, &values)
    })
}

/// As fulgurite_put_many, with keys and values one after the other: key i ends before
/// `keys[key_ends[i]]`, value i before `values[value_ends[i]]`.
///
/// # Safety
/// `keys` and `values` point to as many bytes as their lengths say, and the ends to `count` numbers.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_put_packed(
    txn: fulgurite_txn,
    table: fulgurite_table,
    keys: *const u8,
    keys_length: usize,
    key_ends: *const usize,
    values: *const u8,
    values_length: usize,
    value_ends: *const usize,
    count: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let keys = unsafe { array(keys, keys_length, "keys") }?;
        // SAFETY: the promise of the caller.
        let key_ends = unsafe { array(key_ends, count, "key_ends") }?;
        // SAFETY: the promise of the caller.
        let values = unsafe { array(values, values_length, "values") }?;
        // SAFETY: the promise of the caller.
        let value_ends = unsafe { array(value_ends, count, "value_ends") }?;
        put_all(txn, table, &parts(keys, key_ends, "key_ends")?, &parts(values, value_ends, "value_ends")?)
    })
}

/// Removes a key and its value. FULGURITE_NOT_FOUND if the key has none.
///
/// # Safety
/// `key` points to `key_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_delete(
    txn: fulgurite_txn,
    table: fulgurite_table,
    key: *const u8,
    key_length: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        let is_deleted = changing(txn, table, |txn, table| Ok(txn.delete(table, key)?))?;
        if is_deleted { Ok(()) } else { Err(Failure::NOT_FOUND) }
    })
}

/// Removes the entries whose keys are at least `low` and less than `high`. A bound that is NULL does
/// not bound. Returns their number if `deleted` is not NULL.
///
/// # Safety
/// `low` and `high` point to as many bytes as their lengths say, or are NULL.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_delete_range(
    txn: fulgurite_txn,
    table: fulgurite_table,
    low: *const u8,
    low_length: usize,
    high: *const u8,
    high_length: usize,
    deleted: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let range = unsafe { bounds(low, low_length, high, high_length) }?;
        let count = changing(txn, table, |txn, table| Ok(txn.delete_range(table, range)?))?;
        set_if_wanted(deleted, count);
        Ok(())
    })
}

/// Merges an operand into the value of a key, by the table's merge operator or function. The commit
/// computes the new value, and returns FULGURITE_UNMERGEABLE if that fails. Transactions that merge
/// into the same keys do not conflict.
///
/// FULGURITE_INVALID if the table has no operator, or the operand is not of its type.
/// FULGURITE_MERGE_FUNCTION_MISSING if the table's function is not registered.
///
/// # Safety
/// `key` and `operand` point to as many bytes as their lengths say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_merge(
    txn: fulgurite_txn,
    table: fulgurite_table,
    key: *const u8,
    key_length: usize,
    operand: *const u8,
    operand_length: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        // SAFETY: the promise of the caller.
        let operand = unsafe { array(operand, operand_length, "operand") }?;
        changing(txn, table, |txn, table| Ok(txn.merge(table, key, operand)?))
    })
}

/// Adds to the counter of a key, in a table with FULGURITE_MERGE_ADD and no value type. Sums are
/// modulo 2^64, so adding UINT64_MAX subtracts 1.
///
/// # Safety
/// `key` points to `key_length` bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_add(
    txn: fulgurite_txn,
    table: fulgurite_table,
    key: *const u8,
    key_length: usize,
    amount: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let key = unsafe { array(key, key_length, "key") }?;
        changing(txn, table, |txn, table| Ok(txn.merge(table, key, amount.to_be_bytes())?))
    })
}
