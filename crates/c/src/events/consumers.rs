//! Positions of consumers, in transactions of the program.
#![allow(unsafe_code)] // Functions of C, and names of the caller.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

use fulgurite::Value;

use crate::arguments::{check_out, set, text};
use crate::code::{Code, Failure, Result, guarded};
use crate::events::store::store_and_consumers;
use crate::handles::{Object, fulgurite_event_store, fulgurite_txn, with, with_writing};

/// The name of a consumer.
///
/// # Safety
/// As [`text`].
///
/// # Errors
/// As [`text`], and if it is empty.
unsafe fn name<'a>(consumer: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let name = unsafe { text(consumer, "the name of the consumer") }?;
    if name.is_empty() { Err(Failure::invalid("the name of the consumer is empty; give it one")) } else { Ok(name) }
}

/// The position that is stored.
fn parsed(value: Option<&Value<'_>>) -> Result<u64> {
    let Some(value) = value else { return Ok(0) };
    let bytes = <[u8; 8]>::try_from(&**value).map_err(|_| {
        let message = format!("the position of a consumer has {} bytes, not 8; restore a backup", value.len());
        Failure::new(Code::FULGURITE_CORRUPT, message)
    })?;
    Ok(u64::from_be_bytes(bytes))
}

/// Returns the position of a consumer: the first that it has not processed, or 0 if it has stored none.
/// Views of other languages are consumers too.
///
/// In a write transaction it counts as read: if another transaction stores the position meanwhile, the
/// commit returns FULGURITE_CONFLICT.
///
/// # Safety
/// `consumer` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_get_consumer_position(
    txn: fulgurite_txn,
    store: fulgurite_event_store,
    consumer: *const c_char,
    position: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    guarded(|| {
        check_out(&position)?;
        // SAFETY: the promise of the caller.
        let name = unsafe { name(consumer) }?;
        let table = store_and_consumers(store)?.consumers;
        let found = with(txn.id, "transaction", |object| match object {
            Object::Read(reading) => parsed(reading.txn.get(&table, name)?.as_ref()),
            other => parsed(other.write()?.txn().get(&table, name)?.as_ref()),
        })?;
        set(position, found)
    })
}

/// Stores the position of a consumer: the first that it has not processed. It is committed together with
/// the other changes of the transaction, so each event counts exactly once, also if the process is
/// killed. FULGURITE_INVALID if the position is above that of the next event.
///
/// # Safety
/// `consumer` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_set_consumer_position(
    txn: fulgurite_txn,
    store: fulgurite_event_store,
    consumer: *const c_char,
    position: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let name = unsafe { name(consumer) }?;
        let opened = store_and_consumers(store)?;
        let next = opened.store.snapshot()?.head()?.0;
        if position > next {
            return Err(Failure::invalid(format!(
                "cannot set the position of `{name}` to {position}: the next event gets position {next}; give a \
                 position up to {next}"
            )));
        }
        with_writing(txn, |writing| Ok(writing.txn_to_change().put(&opened.consumers, name, position.to_be_bytes())?))
    })
}
