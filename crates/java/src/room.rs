//! Reads and changes of single keys, and reads of few quads, through memory that Java and this library share.
//!
//! A call into the virtual machine costs as much as a call of a native method, and a copy of an array takes several.
//! The Java class `Room` therefore has memory outside of Java's heap for each thread. It writes keys and values there,
//! these methods read them there, and a result goes back the same way. Only errors call the virtual machine.

#![expect(unsafe_code, reason = "the memory that Java shares with this library")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jni::objects::{JByteBuffer, JClass};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, EnvUnowned, NativeMethod, native_method};

use crate::error::{Failure, Result, Throw};
use crate::quads::{AskedQuads, first_quads};
use crate::reads::with_value;
use crate::writes::{change_kind, change_one};

const _: [NativeMethod<'_>; 4] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn address(buffer: JByteBuffer) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native",
        static raw extern fn get_in_room(txn: jlong, table: jlong, room: jlong, size: jint, key: jint) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native",
        static raw extern fn change_in_room(
            txn: jlong, table: jlong, kind: jint, room: jlong, key: jint, value: jint
        ) -> jboolean,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads",
        static raw extern fn quads_in_room(
            view: jlong, subject: jlong, predicate: jlong, object: jlong, graph: jlong, kinds: jint, sorted_by: jint,
            room: jlong, length: jint
        ) -> jlong,
    },
];

/// The result of [`get_in_room`] if the key does not exist.
const ABSENT: jlong = -1;

/// The address of a direct buffer's memory.
fn address<'l>(env: &mut Env<'l>, _: JClass<'l>, buffer: JByteBuffer<'l>) -> Result<jlong> {
    Ok(env.get_direct_buffer_address(&buffer)?.addr() as jlong)
}

/// Runs a method that does not need the virtual machine unless it fails or panics.
fn alone<R: Default>(mut env: EnvUnowned<'_>, run: impl FnOnce() -> Result<R>) -> R {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(result)) => result,
        Ok(Err(failure)) => env.with_env(|_| Err(failure)).resolve::<Throw>(),
        Err(payload) => env.with_env(|_| -> Result<R> { resume_unwind(payload) }).resolve::<Throw>(),
    }
}

fn length(length: jint) -> Result<usize> {
    usize::try_from(length).map_err(|_| Failure::Invalid(format!("{length} is no length")))
}

/// Looks up the key in the first `key` bytes of a room of `size` bytes. Puts the value behind it if it fits. Returns
/// the length of the value, or [`ABSENT`].
fn get_in_room<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    room: jlong,
    size: jint,
    key: jint,
) -> jlong {
    alone(env, || {
        let (size, key) = (length(size)?, length(key)?);
        let room_for_value =
            size.checked_sub(key).ok_or_else(|| Failure::Invalid("the key does not fit into its room".to_owned()))?;
        let start = std::ptr::with_exposed_provenance_mut::<u8>(room as usize);
        // SAFETY: the Java class `Room`, the only caller, gives the address and the size of a direct buffer of the
        // calling thread. The thread does not change it during the call. The key is within the size (checked above).
        let bytes = unsafe { std::slice::from_raw_parts(start, key) };
        with_value(txn, table, bytes, |value| {
            let Some(value) = value else { return Ok(ABSENT) };
            if value.len() <= room_for_value {
                // SAFETY: as above, and the value fits between the key and the end of the buffer. No reference is
                // there: `bytes` ends before it, and the value is in memory of the engine.
                unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), start.wrapping_add(key), value.len()) };
            }
            Ok(value.len() as jlong)
        })
    })
}

/// Changes the key in the first `key` bytes of a room, with the value in the next `value` bytes. Returns what the Java
/// method of the change returns, or true if it returns nothing.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn change_in_room<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    kind: jint,
    room: jlong,
    key: jint,
    value: jint,
) -> jboolean {
    alone(env, || {
        let (key, value) = (length(key)?, length(value)?);
        let start = std::ptr::with_exposed_provenance::<u8>(room as usize);
        // SAFETY: the Java class `Room`, the only caller, gives the address of a direct buffer of the calling thread
        // that has so many bytes. The thread does not change it during the call.
        let bytes = unsafe { std::slice::from_raw_parts(start, key + value) };
        let (key, value) = bytes.split_at(key);
        change_one(txn, table, change_kind(kind)?, key, value)
    })
}

/// As the method `quads`, with a room for `length` numbers in the place of an array.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn quads_in_room<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    view: jlong,
    subject: jlong,
    predicate: jlong,
    object: jlong,
    graph: jlong,
    kinds: jint,
    sorted_by: jint,
    room: jlong,
    numbers: jint,
) -> jlong {
    alone(env, || {
        let numbers = length(numbers)?;
        let start = std::ptr::with_exposed_provenance_mut::<jlong>(room as usize);
        if !start.is_aligned() {
            return Err(Failure::Invalid("the memory for quads is not aligned to 8 bytes".to_owned()));
        }
        // SAFETY: the Java class `Room`, the only caller, gives the address of a direct buffer of the calling thread
        // that has so many numbers. The thread does not use it during the call. It is aligned (checked above), and
        // every number is a valid `jlong`.
        let rows = unsafe { std::slice::from_raw_parts_mut(start, numbers) };
        let asked = AskedQuads { terms: [subject, predicate, object, graph], kinds, sorted_by };
        first_quads(view, &asked, rows)
    })
}
