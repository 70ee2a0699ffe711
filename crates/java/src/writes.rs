//! Changes of write transactions.

use std::ops::DerefMut;

use fulgurite::{Table, WriteTxn};
use jni::objects::{JByteArray, JClass};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use crate::arguments::{Bytes, bound, bounds};
use crate::batch::{self, Change};
use crate::database::durability;
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY, Writing, broken};

const _: [NativeMethod<'_>; 6] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn change(txn: jlong, table: jlong, kind: jint, key: jbyte[], value: jbyte[]) -> jboolean,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn delete_range(
            txn: jlong, table: jlong, low_kind: jint, low: jbyte[], high_kind: jint, high: jbyte[]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn apply(txn: jlong, table: jlong, changes: jbyte[], length: jint) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn savepoint(txn: jlong) -> jint,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn rollback_to(txn: jlong, savepoint: jint) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn commit(txn: jlong, durability: jint) -> jlong,
    },
];

/// Calls `run` with a write transaction and a table.
fn with_both<R>(txn: jlong, table: jlong, run: impl FnOnce(&mut WriteTxn, &Table) -> Result<R>) -> Result<R> {
    REGISTRY.with(txn, |txn| REGISTRY.with(table, |table| run(&mut txn.write()?.txn, table.table()?)))
}

/// What a call changes: see `org.fulgurite.internal.Room`.
#[derive(Clone, Copy)]
pub enum ChangeKind {
    Put,
    Insert,
    Merge,
    Delete,
}

/// The change of this number.
///
/// # Errors
/// [`Failure::Invalid`] for another number.
pub fn change_kind(number: jint) -> Result<ChangeKind> {
    match number {
        0 => Ok(ChangeKind::Put),
        1 => Ok(ChangeKind::Insert),
        2 => Ok(ChangeKind::Merge),
        3 => Ok(ChangeKind::Delete),
        _ => Err(Failure::Invalid(format!("{number} is not a kind of change"))),
    }
}

/// Changes a key. Returns whether an insertion stored the value, or whether a deleted key existed; otherwise true.
///
/// # Errors
/// [`Failure::Closed`], and errors of the engine.
pub fn change_one(txn: jlong, table: jlong, kind: ChangeKind, key: &[u8], value: &[u8]) -> Result<bool> {
    with_both(txn, table, |txn, table| {
        match kind {
            ChangeKind::Put => txn.put(table, key, value)?,
            ChangeKind::Insert => return Ok(txn.insert(table, key, value)?),
            ChangeKind::Merge => txn.merge(table, key, value)?,
            ChangeKind::Delete => return Ok(txn.delete(table, key)?),
        }
        Ok(true)
    })
}

fn change<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    kind: jint,
    key: JByteArray<'l>,
    value: JByteArray<'l>,
) -> Result<bool> {
    let (key, value) = (Bytes::of(env, &key)?, Bytes::of(env, &value)?);
    change_one(txn, table, change_kind(kind)?, &key, &value)
}

#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn delete_range<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    low_kind: jint,
    low: JByteArray<'l>,
    high_kind: jint,
    high: JByteArray<'l>,
) -> Result<jlong> {
    let (low, high) = (bound(env, low_kind, &low)?, bound(env, high_kind, &high)?);
    with_both(txn, table, |txn, table| Ok(txn.delete_range(table, bounds(&low, &high))?.cast_signed()))
}

/// Makes the changes of a batch, all of them or none.
fn apply<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    changes: JByteArray<'l>,
    length: jint,
) -> Result<()> {
    let bytes = Bytes::of_first(env, &changes, length)?;
    let changes = batch::parse_changes(&bytes)?;
    with_both(txn, table, |txn, table| {
        if changes.iter().all(is_put) {
            // Most batches are like this. A savepoint would keep an undo list for the rest of the transaction.
            return Ok(txn.put_all_or_none(table, entries(&changes))?);
        }
        let before = txn.savepoint();
        let applied =
            changes.chunk_by(|one, next| is_put(one) && is_put(next)).try_for_each(|run| change_run(txn, table, run));
        if applied.is_err() {
            txn.rollback_to(before)?;
        }
        applied
    })
}

fn is_put(change: &Change<'_>) -> bool {
    matches!(change, Change::Put(..))
}

/// Makes changes that follow each other: any number of puts, or one of another kind.
fn change_run(txn: &mut WriteTxn, table: &Table, run: &[Change<'_>]) -> Result<()> {
    match run {
        [Change::Delete(key)] => txn.delete(table, key).map(|_| ())?,
        [Change::Merge(key, operand)] => txn.merge(table, key, operand)?,
        puts => txn.put_many(table, entries(puts))?,
    }
    Ok(())
}

/// The entries of puts. Unlike a filter, this shows the engine how many there are. Requires: all changes are puts.
fn entries<'b>(puts: &[Change<'b>]) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
    puts.iter().map(|change| match *change {
        Change::Put(key, value) => (key, value),
        Change::Delete(_) | Change::Merge(..) => unreachable!("only puts are stored together"),
    })
}

/// Makes a savepoint, and returns its number.
fn savepoint<'l>(_: &mut Env<'l>, _: JClass<'l>, txn: jlong) -> Result<jint> {
    REGISTRY.with(txn, |object| {
        let mut writing = object.write()?;
        let Writing { txn, savepoints } = writing.deref_mut();
        let number = jint::try_from(savepoints.len())
            .map_err(|_| Failure::Invalid("the transaction has too many savepoints".to_owned()))?;
        savepoints.push(txn.savepoint());
        Ok(number)
    })
}

fn rollback_to<'l>(_: &mut Env<'l>, _: JClass<'l>, txn: jlong, number: jint) -> Result<()> {
    REGISTRY.with(txn, |object| {
        let mut writing = object.write()?;
        let Writing { txn, savepoints } = writing.deref_mut();
        let position = usize::try_from(number).ok().filter(|position| *position < savepoints.len());
        let position = position
            .ok_or_else(|| Failure::Invalid("the savepoint was undone by a rollback to an earlier one".to_owned()))?;
        txn.rollback_to(savepoints[position])?;
        savepoints.truncate(position + 1);
        Ok(())
    })
}

/// Commits, with the durability of the database's options if `level` is negative. The transaction ends in any case.
fn commit<'l>(_: &mut Env<'l>, _: JClass<'l>, txn: jlong, level: jint) -> Result<jlong> {
    // Another kind of object stays open.
    REGISTRY.with(txn, |object| object.write().map(|_| ()))?;
    let Some(Object::Write(writing)) = REGISTRY.take(txn) else { return Err(Failure::Closed) };
    let txn = writing.into_inner().map_err(|_| broken())?.txn;
    let sequence = if level < 0 { txn.commit()? } else { txn.commit_with(durability(level.into())?)? };
    Ok(sequence.0.cast_signed())
}
