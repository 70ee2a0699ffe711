//! Reads of both kinds of transactions, and of databases: those take a snapshot for each call.

use std::ops::Bound;

use fulgurite::{Read, Table};
use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use crate::arguments::{Bytes, array, bound, bounds, fill, longs};
use crate::batch::{self, Entries, Spare};
use crate::error::{Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 6] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn get(txn: jlong, table: jlong, key: jbyte[]) -> jbyte[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn get_many(txn: jlong, table: jlong, keys: jbyte[], length: jint) -> jbyte[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn scan(
            txn: jlong, table: jlong, reverse: jboolean, low_kind: jint, low: jbyte[], high_kind: jint, high: jbyte[],
            entries: jbyte[]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn count(
            txn: jlong, table: jlong, low_kind: jint, low: jbyte[], high_kind: jint, high: jbyte[]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn estimate(
            txn: jlong, table: jlong, low_kind: jint, low: jbyte[], high_kind: jint, high: jbyte[]
        ) -> jlong[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn sequence(txn: jlong) -> jlong,
    },
];

/// Evaluates an expression with the transaction of an object, of either kind, or with a new snapshot of a database.
macro_rules! with_transaction {
    ($object:expr, $txn:ident => $body:expr) => {
        match $object {
            Object::Write(_) => {
                let writing = $object.write()?;
                let $txn = &writing.txn;
                $body
            }
            Object::Database(opened) => {
                let $txn = &opened.database.read()?;
                $body
            }
            other => {
                let $txn = other.read()?;
                $body
            }
        }
    };
}

/// Calls `run` with the objects of a transaction or database, and of a table.
fn with_both<R>(txn: jlong, table: jlong, run: impl FnOnce(&Object, &Table) -> Result<R>) -> Result<R> {
    REGISTRY.with(txn, |txn| REGISTRY.with(table, |table| run(txn, table.table()?)))
}

/// Calls `run` with the value of a key, if it exists.
///
/// # Errors
/// [`Failure::Closed`], errors of the engine, and those of `run`.
pub fn with_value<R>(txn: jlong, table: jlong, key: &[u8], run: impl FnOnce(Option<&[u8]>) -> Result<R>) -> Result<R> {
    with_both(txn, table, |object, table| with_transaction!(object, txn => run(txn.get(table, key)?.as_deref())))
}

/// The value of a key, or null.
fn get<'l>(env: &mut Env<'l>, _: JClass<'l>, txn: jlong, table: jlong, key: JByteArray<'l>) -> Result<JByteArray<'l>> {
    let key = Bytes::of(env, &key)?;
    with_value(txn, table, &key, |value| match value {
        Some(value) => array(env, value),
        None => Ok(JByteArray::null()),
    })
}

/// Calls `run` with the values of many keys. In `keys`, each key follows its length. In the values, each value follows
/// its length; the length is −1 if the key does not exist.
///
/// # Errors
/// [`Failure::Invalid`] if `keys` ends within a key; [`Failure::Closed`], errors of the engine, and those of `run`.
pub fn with_values<R>(txn: jlong, table: jlong, keys: &[u8], run: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
    let keys = batch::parse_keys(keys)?;
    let mut values = Spare::take();
    with_both(txn, table, |object, table| {
        with_transaction!(object, txn => {
            txn.get_many_with(table, &keys, |value| batch::push_value(&mut values, value.as_deref()))?;
            Ok(())
        })
    })?;
    run(&values)
}

/// The values of many keys, packed as by [`with_values`].
fn get_many<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    keys: JByteArray<'l>,
    length: jint,
) -> Result<JByteArray<'l>> {
    let keys = Bytes::of_first(env, &keys, length)?;
    with_values(txn, table, &keys, |values| array(env, values))
}

/// Set in the result of [`scan`] if there are no more entries.
const LAST: u64 = 1 << 32;

/// Copies entries to `entries`, as many as fit. Returns how many bytes they have, and [`LAST`] if there are no more. If
/// the first entry does not fit, returns the negative of the bytes that it needs.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn scan<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    reverse: bool,
    low_kind: jint,
    low: JByteArray<'l>,
    high_kind: jint,
    high: JByteArray<'l>,
    entries: JByteArray<'l>,
) -> Result<jlong> {
    let (low, high) = (bound(env, low_kind, &low)?, bound(env, high_kind, &high)?);
    let capacity = entries.len(env)?;
    let mut found = Entries::new(capacity);
    with_both(txn, table, |object, table| {
        with_transaction!(object, txn => {
            let mut range = txn.range(table, bounds(&low, &high))?;
            while let Some(entry) = if reverse { range.next_back() } else { range.next() } {
                let (key, value) = entry?;
                if !found.push(&key, &value) {
                    break;
                }
            }
            Ok(())
        })
    })?;
    if let Some(needed) = found.needed() {
        let needed = i64::try_from(needed).unwrap_or(i64::MAX);
        return Ok(-needed);
    }
    fill(env, &entries, found.bytes())?;
    Ok((found.bytes().len() as u64 | if found.is_complete() { LAST } else { 0 }).cast_signed())
}

fn range_of<'l>(
    env: &Env<'l>,
    low: (jint, &JByteArray<'l>),
    high: (jint, &JByteArray<'l>),
) -> Result<(Bound<Bytes>, Bound<Bytes>)> {
    Ok((bound(env, low.0, low.1)?, bound(env, high.0, high.1)?))
}

#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn count<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    low_kind: jint,
    low: JByteArray<'l>,
    high_kind: jint,
    high: JByteArray<'l>,
) -> Result<jlong> {
    let (low, high) = range_of(env, (low_kind, &low), (high_kind, &high))?;
    with_both(
        txn,
        table,
        |object, table| with_transaction!(object, txn => Ok(txn.count(table, bounds(&low, &high))?.cast_signed())),
    )
}

/// The estimate of a count: the best guess, the least and the greatest possible count.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn estimate<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    low_kind: jint,
    low: JByteArray<'l>,
    high_kind: jint,
    high: JByteArray<'l>,
) -> Result<JLongArray<'l>> {
    let (low, high) = range_of(env, (low_kind, &low), (high_kind, &high))?;
    let estimate = with_both(
        txn,
        table,
        |object, table| with_transaction!(object, txn => Ok(txn.estimate_count(table, bounds(&low, &high))?)),
    )?;
    longs(env, &[estimate.entries, estimate.low, estimate.high])
}

/// The newest commit that a transaction sees.
fn sequence<'l>(_: &mut Env<'l>, _: JClass<'l>, txn: jlong) -> Result<jlong> {
    REGISTRY.with(txn, |object| Ok(with_transaction!(object, txn => txn.sequence().0.cast_signed())))
}
