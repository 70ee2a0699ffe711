//! Transactions: how they begin and end.
#![allow(unsafe_code)] // Functions of C.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fulgurite::{ReadTxn, WriteTxn};

use crate::arguments::{check_out, set, set_if_wanted};
use crate::code::{Code, Failure, Result, guarded};
use crate::handles::{
    OBJECTS, Object, Reading, Writing, add, database, fulgurite_database, fulgurite_txn, with, with_writing,
};
use crate::options::{durability, isolation};

fn begin_reading(
    place: Option<&mut MaybeUninit<fulgurite_txn>>,
    begin: impl FnOnce() -> Result<ReadTxn>,
) -> Result<()> {
    check_out(&place)?;
    let reading = Reading { txn: Arc::new(begin()?), kept: Mutex::default() };
    set(place, fulgurite_txn { id: add(Object::Read(reading)) })
}

fn begin_writing(
    place: Option<&mut MaybeUninit<fulgurite_txn>>,
    begin: impl FnOnce() -> Result<WriteTxn>,
) -> Result<()> {
    check_out(&place)?;
    let writing = Object::Write(Box::new(Mutex::new(Writing::new(begin()?))));
    set(place, fulgurite_txn { id: add(writing) })
}

/// Begins a read transaction: a snapshot of everything committed so far. It blocks no writer. End it
/// (fulgurite_end): the file cannot reuse the pages of its snapshot before.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_begin_read(
    database: fulgurite_database,
    txn: Option<&mut MaybeUninit<fulgurite_txn>>,
) -> c_int {
    guarded(|| begin_reading(txn, || Ok(self::database(database)?.read()?)))
}

/// As fulgurite_begin_read, but shows only commits that survive a power cut.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_begin_read_durable(
    database: fulgurite_database,
    txn: Option<&mut MaybeUninit<fulgurite_txn>>,
) -> c_int {
    guarded(|| begin_reading(txn, || Ok(self::database(database)?.read_durable()?)))
}

/// Begins a write transaction. Any number of them may run at once, on any threads. If another one
/// has committed a conflicting change, the commit returns FULGURITE_CONFLICT. End it with
/// fulgurite_commit or fulgurite_end. The call waits while an exclusive transaction or a bulk load
/// runs.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_begin_write(
    database: fulgurite_database,
    txn: Option<&mut MaybeUninit<fulgurite_txn>>,
) -> c_int {
    guarded(|| begin_writing(txn, || Ok(self::database(database)?.write()?)))
}

/// As fulgurite_begin_write, with a value of fulgurite_isolation.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_begin_write_with(
    database: fulgurite_database,
    isolation: u32,
    txn: Option<&mut MaybeUninit<fulgurite_txn>>,
) -> c_int {
    guarded(|| {
        begin_writing(txn, || {
            let database = self::database(database)?;
            match self::isolation(isolation)? {
                Some(isolation) => Ok(database.write_with(isolation)?),
                None => Ok(database.write()?),
            }
        })
    })
}

/// As fulgurite_begin_write, but returns FULGURITE_TIMEOUT instead of waiting for an exclusive transaction
/// or a bulk load.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_try_begin_write(
    database: fulgurite_database,
    txn: Option<&mut MaybeUninit<fulgurite_txn>>,
) -> c_int {
    guarded(|| {
        begin_writing(txn, || {
            self::database(database)?.try_write()?.ok_or_else(|| {
                Failure::new(Code::FULGURITE_TIMEOUT, "an exclusive transaction has not ended; try again later")
            })
        })
    })
}

/// Begins an exclusive write transaction: no other transaction commits until it ends, so it never
/// conflicts. FULGURITE_TIMEOUT if another exclusive transaction or a bulk load has not ended in time.
/// Until it ends, the thread must not write by another transaction, nor close the database: such a
/// call would wait for ever.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_begin_exclusive(
    database: fulgurite_database,
    timeout_ms: u64,
    txn: Option<&mut MaybeUninit<fulgurite_txn>>,
) -> c_int {
    guarded(|| {
        begin_writing(txn, || {
            let begun = self::database(database)?.begin_exclusive(Duration::from_millis(timeout_ms))?;
            begun.ok_or_else(|| {
                let message = format!("another exclusive transaction has not ended within {timeout_ms} ms; try again");
                Failure::new(Code::FULGURITE_TIMEOUT, message)
            })
        })
    })
}

/// Commits a write transaction, with the durability of the database's options. Returns the sequence
/// of the commit if `sequence` is not NULL. The transaction ends, whatever the code is. A handle of
/// another object, such as a read transaction (FULGURITE_READ_ONLY), stays open.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_commit(txn: fulgurite_txn, sequence: Option<&mut MaybeUninit<u64>>) -> c_int {
    fulgurite_commit_with(txn, 0, sequence)
}

/// As fulgurite_commit, with a value of fulgurite_durability. With another number nothing is committed,
/// and the transaction ends.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_commit_with(
    txn: fulgurite_txn,
    durability: u32,
    sequence: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        // Another kind of object stays open.
        with(txn.id, "transaction", |object| match object {
            Object::Write(_) => Ok(()),
            other => other.write().map(drop),
        })?;
        let Some(Object::Write(writing)) = OBJECTS.take(txn.id) else { return Err(Failure::closed("transaction")) };
        let txn = writing.into_inner().map_err(|_| Failure::broken())?.into_txn();
        let committed = match self::durability(durability)? {
            Some(durability) => txn.commit_with(durability)?,
            None => txn.commit()?,
        };
        set_if_wanted(sequence, committed.0);
        Ok(())
    })
}

/// Ends a transaction: a read transaction, or a write transaction whose changes are dropped. Ending
/// a transaction twice returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_end(txn: fulgurite_txn) -> c_int {
    guarded(|| {
        with(txn.id, "transaction", |object| match object {
            Object::Read(_) | Object::Write(_) => Ok(()),
            other => Err(other.is_not("transaction")),
        })?;
        OBJECTS.take(txn.id).map(drop).ok_or_else(|| Failure::closed("transaction"))
    })
}

/// Returns the sequence of the newest commit that a transaction sees.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_sequence(txn: fulgurite_txn, sequence: Option<&mut MaybeUninit<u64>>) -> c_int {
    guarded(|| {
        let seen = with(txn.id, "transaction", |object| match object {
            Object::Read(reading) => Ok(reading.txn.sequence()),
            other => Ok(other.write()?.txn().sequence()),
        })?;
        set(sequence, seen.0)
    })
}

/// Makes a savepoint of a write transaction, and returns its number. It is not a change: returned bytes
/// stay valid.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_savepoint(txn: fulgurite_txn, savepoint: Option<&mut MaybeUninit<u32>>) -> c_int {
    guarded(|| {
        check_out(&savepoint)?;
        let number = with_writing(txn, |writing| {
            let number = u32::try_from(writing.savepoints.len())
                .map_err(|_| Failure::invalid("the transaction has too many savepoints"))?;
            let made = writing.txn_to_mark().savepoint();
            writing.savepoints.push(made);
            Ok(number)
        })?;
        set(savepoint, number)
    })
}

/// Undoes all changes after a savepoint. The savepoint can be used again; later ones become invalid.
/// This is a change: returned bytes are not valid after it.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_rollback_to(txn: fulgurite_txn, savepoint: u32) -> c_int {
    guarded(|| {
        with_writing(txn, |writing| {
            let made = writing.savepoints.get(savepoint as usize).copied().ok_or_else(|| {
                Failure::invalid(format!(
                    "there is no savepoint {savepoint}; it was undone, or is of another transaction"
                ))
            })?;
            writing.txn_to_change().rollback_to(made)?;
            writing.savepoints.truncate(savepoint as usize + 1);
            Ok(())
        })
    })
}
