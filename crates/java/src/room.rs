//! Reads of keys, changes of single keys, and reads of few quads, through memory that Java and this library share.
//!
//! A call into the virtual machine costs as much as a call of a native method, and a copy of an array takes several.
//! The Java class `Room` therefore has memory outside of Java's heap for each thread. It writes keys and values there,
//! these methods read them there, and a result goes back the same way. Only errors call the virtual machine.

#![expect(unsafe_code, reason = "the memory that Java shares with this library")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jni::objects::{JByteArray, JByteBuffer, JClass, JObjectArray};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, EnvUnowned, NativeMethod, Outcome, native_method};

use crate::arguments::{array, too_long};
use crate::error::{Failure, Result, Throw};
use crate::quads::{AskedQuads, first_quads};
use crate::reads::{with_value, with_values};
use crate::writes::{change_kind, change_one};

const _: [NativeMethod<'_>; 5] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn address(buffer: JByteBuffer) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native",
        static raw extern fn get_in_room(
            txn: jlong, table: jlong, room: jlong, size: jint, key: jint, large: jbyte[][], most: jint
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native",
        static raw extern fn get_many_in_room(
            txn: jlong, table: jlong, room: jlong, size: jint, keys: jint, large: jbyte[][]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native",
        static raw extern fn change_in_room(
            txn: jlong, table: jlong, kind: jint, room: jlong, size: jint, key: jint, value: jint
        ) -> jboolean,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads",
        static raw extern fn quads_in_room(
            view: jlong, subject: jlong, predicate: jlong, object: jlong, graph: jlong, kinds: jint, sorted_by: jint,
            room: jlong, size: jint, length: jint
        ) -> jlong,
    },
];

/// The result of [`get_in_room`] if the key does not exist.
const ABSENT: jlong = -1;

/// The address of a direct buffer's memory.
fn address<'l>(env: &mut Env<'l>, _: JClass<'l>, buffer: JByteBuffer<'l>) -> Result<jlong> {
    Ok(env.get_direct_buffer_address(&buffer)?.expose_provenance() as jlong)
}

/// Runs a method that seldom needs the virtual machine if it neither fails nor panics.
fn alone<'l, R: Default>(mut env: EnvUnowned<'l>, run: impl FnOnce(&mut EnvUnowned<'l>) -> Result<R>) -> R {
    match catch_unwind(AssertUnwindSafe(|| run(&mut env))) {
        Ok(Ok(result)) => result,
        Ok(Err(failure)) => env.with_env(|_| Err(failure)).resolve::<Throw>(),
        Err(payload) => env.with_env(|_| -> Result<R> { resume_unwind(payload) }).resolve::<Throw>(),
    }
}

fn length(length: jint) -> Result<usize> {
    usize::try_from(length).map_err(|_| Failure::Invalid(format!("{length} is not a length")))
}

/// Checks that parts fit into a room of `size` bytes.
fn check_size(size: jint, parts: &[jint], of: usize) -> Result<()> {
    let sum =
        parts.iter().try_fold(0, |sum: usize, part| -> Result<usize> { Ok(sum.saturating_add(length(*part)?)) })?;
    if sum.saturating_mul(of) <= length(size)? {
        return Ok(());
    }
    Err(Failure::Invalid(format!("{sum} elements do not fit into a room of {size} bytes")))
}

/// A value for the room of its thread.
enum Place {
    /// It was put into the room.
    Room,
    /// Java gets an array.
    Array,
    /// It is longer than what Java asked for.
    Nowhere,
}

/// Where a value goes.
///
/// # Errors
/// [`Failure::Invalid`] if its length is no `int` of Java.
fn place(length: usize, room: usize, most: usize) -> Result<Place> {
    match length {
        _ if length > jint::MAX as usize => Err(too_long(length)),
        _ if length > most => Ok(Place::Nowhere),
        _ if length > room => Ok(Place::Array),
        _ => Ok(Place::Room),
    }
}

/// The room of the calling thread: first the key or the keys that Java asks for, and the answer behind them.
struct Room {
    start: *mut u8,
    size: usize,
    asked: usize,
}

impl Room {
    /// A room of `size` bytes. Java has written the first `asked` bytes.
    fn of(address: jlong, size: jint, asked: jint) -> Result<Self> {
        check_size(size, &[asked], 1)?;
        let start = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        Ok(Self { start, size: length(size)?, asked: length(asked)? })
    }

    /// What Java has written.
    fn asked(&self) -> &[u8] {
        // SAFETY: the Java class `Room`, the only caller, gives the address and the size of a direct buffer of the
        // calling thread. The thread does not change it during the call. These bytes are within the size (checked in
        // `of`).
        unsafe { std::slice::from_raw_parts(self.start, self.asked) }
    }

    /// Puts an answer into the room if it fits. If it does not, and has at most `most` bytes, puts an array with it
    /// into the first element of `large`. Returns its length.
    #[inline]
    fn answer<'l>(
        &self,
        env: &mut EnvUnowned<'l>,
        large: &JObjectArray<'l, JByteArray<'l>>,
        most: usize,
        answer: &[u8],
    ) -> Result<jlong> {
        match place(answer.len(), self.size - self.asked, most)? {
            Place::Room => {
                let behind = self.start.wrapping_add(self.asked);
                // SAFETY: as in `asked`, and the answer fits between these bytes and the end of the buffer (checked in
                // `place`). No reference is there, and the answer is in memory of the engine or of this library.
                unsafe { std::ptr::copy_nonoverlapping(answer.as_ptr(), behind, answer.len()) };
            }
            Place::Array => put_into(env, large, answer)?,
            Place::Nowhere => {}
        }
        Ok(answer.len() as jlong)
    }
}

/// Looks up the key in the first `key` bytes of a room of `size` bytes. Puts the value behind it if it fits. If it does
/// not, and has at most `most` bytes, puts an array with it into the first element of `large`. Returns the length of
/// the value, or [`ABSENT`].
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn get_in_room<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    room: jlong,
    size: jint,
    key: jint,
    large: JObjectArray<'l, JByteArray<'l>>,
    most: jint,
) -> jlong {
    alone(env, |env| {
        let (room, most) = (Room::of(room, size, key)?, length(most)?);
        with_value(txn, table, room.asked(), |value| match value {
            Some(value) => room.answer(env, &large, most, value),
            None => Ok(ABSENT),
        })
    })
}

/// Looks up the keys in the first `keys` bytes of a room of `size` bytes, as [`with_values`] reads them. Puts the
/// values behind them if they fit, and otherwise an array with the values into the first element of `large`. Returns
/// how many bytes the values have together with their lengths.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn get_many_in_room<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    room: jlong,
    size: jint,
    keys: jint,
    large: JObjectArray<'l, JByteArray<'l>>,
) -> jlong {
    alone(env, |env| {
        let room = Room::of(room, size, keys)?;
        with_values(txn, table, room.asked(), |values| room.answer(env, &large, usize::MAX, values))
    })
}

/// Puts an array with these bytes into the first element.
fn put_into<'l>(env: &mut EnvUnowned<'l>, large: &JObjectArray<'l, JByteArray<'l>>, bytes: &[u8]) -> Result<()> {
    let put = env.with_env(|env| {
        let bytes = array(env, bytes)?;
        Ok(large.set_element(env, 0, &bytes)?)
    });
    match put.into_outcome() {
        Outcome::Ok(()) => Ok(()),
        Outcome::Err(failure) => Err(failure),
        Outcome::Panic(payload) => resume_unwind(payload),
    }
}

/// Changes the key in the first `key` bytes of a room of `size` bytes, with the value in the next `value` bytes.
/// Returns what the Java method of the change returns, or true if it returns nothing.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn change_in_room<'l>(
    env: EnvUnowned<'l>,
    _: JClass<'l>,
    txn: jlong,
    table: jlong,
    kind: jint,
    room: jlong,
    size: jint,
    key: jint,
    value: jint,
) -> jboolean {
    alone(env, |_| {
        check_size(size, &[key, value], 1)?;
        let (key, value) = (length(key)?, length(value)?);
        let start = std::ptr::with_exposed_provenance::<u8>(room as usize);
        // SAFETY: the Java class `Room`, the only caller, gives the address and the size of a direct buffer of the
        // calling thread. The thread does not change it during the call. Both are within the size (checked above).
        let bytes = unsafe { std::slice::from_raw_parts(start, key + value) };
        let (key, value) = bytes.split_at(key);
        change_one(txn, table, change_kind(kind)?, key, value)
    })
}

/// As the method `quads`, with `length` numbers in a room of `size` bytes in the place of an array.
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
    size: jint,
    numbers: jint,
) -> jlong {
    alone(env, |_| {
        check_size(size, &[numbers], size_of::<jlong>())?;
        let numbers = length(numbers)?;
        let start = std::ptr::with_exposed_provenance_mut::<jlong>(room as usize);
        if !start.is_aligned() {
            return Err(Failure::Invalid("the memory for quads is not aligned to 8 bytes".to_owned()));
        }
        // SAFETY: the Java class `Room`, the only caller, gives the address and the size of a direct buffer of the
        // calling thread. The thread does not use it during the call. It is aligned and has so many numbers (checked
        // above), and every number is a valid `jlong`.
        let rows = unsafe { std::slice::from_raw_parts_mut(start, numbers) };
        let asked = AskedQuads { terms: [subject, predicate, object, graph], kinds, sorted_by };
        first_quads(view, &asked, rows)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_a_room_is_refused() {
        assert!(check_size(10, &[4, 6], 1).is_ok());
        assert!(check_size(16, &[2], 8).is_ok());
        for (size, parts, of) in
            [(10, &[4, 7][..], 1), (10, &[-1], 1), (-1, &[0], 1), (16, &[3], 8), (1 << 30, &[jint::MAX, jint::MAX], 8)]
        {
            assert!(matches!(check_size(size, parts, of), Err(Failure::Invalid(_))), "{size} {parts:?} {of}");
        }
    }

    #[test]
    fn a_value_whose_length_java_cannot_count_is_refused_wherever_it_goes() {
        assert!(matches!(place(5, 5, 9), Ok(Place::Room)));
        assert!(matches!(place(6, 5, 9), Ok(Place::Array)));
        assert!(matches!(place(5, 5, 4), Ok(Place::Nowhere)));
        assert!(matches!(place(jint::MAX as usize, 5, 4), Ok(Place::Nowhere)));
        assert!(matches!(place(1 << 31, 5, 4), Err(Failure::Invalid(_))));
    }
}
