//! Merge functions that Java implements.
//!
//! Invariant: while a function runs, its thread neither waits for a lock of an object nor takes an object out of the
//! registry. The call that called the function may hold the lock, or use the object.

use std::cell::Cell;

use fulgurite::{MergeOperands, MergeOutcome, Options};
use jni::objects::{JByteArray, JObject, JObjectArray, JString};
use jni::refs::Global;
use jni::{Env, JavaVM, jni_sig, jni_str};

use crate::arguments::text;
use crate::batch::push_value;
use crate::error::{Failure, Result};

/// A function that Java implements: an `org.fulgurite.internal.MergeCalls`.
struct JavaFunction {
    machine: JavaVM,
    calls: Global<JObject<'static>>,
}

impl JavaFunction {
    /// The new value. Java gets one array: the key, the value or that there is none, and the operands.
    fn merge(&self, key: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>) -> MergeOutcome {
        let mut packed = Vec::new();
        push_value(&mut packed, Some(key));
        push_value(&mut packed, value);
        operands.for_each(|operand| push_value(&mut packed, Some(operand)));
        let _running = Running::begin();
        let merged: jni::errors::Result<Option<Vec<u8>>> = self.machine.attach_current_thread(|env| {
            let packed = env.byte_array_from_slice(&packed)?;
            let merged =
                env.call_method(&self.calls, jni_str!("merge"), jni_sig!("([B)[B"), &[(&packed).into()])?.l()?;
            if merged.is_null() {
                return Ok(None);
            }
            let merged = env.cast_local::<JByteArray<'_>>(merged)?;
            env.convert_byte_array(&merged).map(Some)
        });
        match merged {
            Ok(merged) => merged.ok_or_else(|| "it returned null; return an empty array for an empty value".into()),
            Err(jni::errors::Error::CaughtJavaException { name, msg, stack, .. }) => {
                Err(text_of_exception(&name, &msg, &stack).into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

thread_local! {
    /// Whether a merge function runs on this thread.
    static IS_MERGING: Cell<bool> = const { Cell::new(false) };
}

/// A call of a function. One may read what another transaction merged, and so call a function.
struct Running {
    was_merging: bool,
}

impl Running {
    fn begin() -> Self {
        Self { was_merging: IS_MERGING.replace(true) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IS_MERGING.set(self.was_merging);
    }
}

/// Whether a merge function runs on this thread.
#[inline]
pub fn is_merging() -> bool {
    IS_MERGING.get()
}

/// Refuses what a merge function must not do.
///
/// # Errors
/// [`Failure::Invalid`] if a merge function runs on this thread.
#[inline]
pub fn check_not_merging() -> Result<()> {
    if is_merging() { Err(refused()) } else { Ok(()) }
}

/// The error of a call that merge functions must not make.
#[cold]
pub fn refused() -> Failure {
    Failure::Invalid(
        "a merge function cannot call this: it cannot use transactions, or open or close a database; compute the value \
         from what the function gets"
            .to_owned(),
    )
}

/// An exception and where it was thrown.
fn text_of_exception(name: &str, message: &str, stack: &str) -> String {
    let mut text = name.to_owned();
    if message != NO_MESSAGE {
        text.push_str(": ");
        text.push_str(message);
    }
    // Each line is the number of a frame, and the frame.
    let frames = stack.lines().filter_map(|line| Some(line.split_once(": ")?.1));
    let of_function = frames.take_while(|frame| !frame.starts_with(CALLER));
    for frame in of_function.filter(|frame| !frame.starts_with(OWN_CLASSES)).take(FRAMES) {
        text.push_str(", at ");
        text.push_str(frame);
    }
    text
}

/// How many frames of an exception an error names.
const FRAMES: usize = 3;

/// What `jni` says of an exception without a message.
const NO_MESSAGE: &str = "<NULL>";

/// The frames of classes of the binding, which say nothing of the function.
const OWN_CLASSES: &str = "org.fulgurite.internal.";

/// The first frame that does not belong to the function.
const CALLER: &str = "org.fulgurite.internal.MergeCalls.";

/// Adds functions to the options of an opening, each with its name.
///
/// # Errors
/// [`crate::error::Failure::Java`] if an array is null or shorter than the other.
pub fn register<'l>(
    env: &mut Env<'l>,
    mut options: Options,
    names: &JObjectArray<'l, JString<'l>>,
    functions: &JObjectArray<'l, JObject<'l>>,
) -> Result<Options> {
    for index in 0..names.len(env)? {
        let name = names.get_element(env, index)?;
        let function = functions.get_element(env, index)?;
        let function = JavaFunction { machine: env.get_java_vm()?, calls: env.new_global_ref(&function)? };
        let merge =
            move |key: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>| function.merge(key, value, operands);
        options = options.merge_function(text(env, &name)?, merge);
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_told_with_its_first_frames_and_its_message_if_it_has_one() {
        let stack = "0: a.B.c(B.java:1)\n1: org.fulgurite.internal.Native.get(Native Method)\n2: a.E.f(E.java:3)\n\
                     3: org.fulgurite.internal.MergeCalls.merge(MergeCalls.java:39)\n4: a.Caller.g(Caller.java:4)\n";
        let frames = "at a.B.c(B.java:1), at a.E.f(E.java:3)";
        assert_eq!(text_of_exception("X", "m", stack), format!("X: m, {frames}"));
        assert_eq!(text_of_exception("X", NO_MESSAGE, stack), format!("X, {frames}"));
        assert_eq!(text_of_exception("X", "m", ""), "X: m");
    }

    #[test]
    fn within_a_function_objects_are_not_locked_and_the_thread_is_free_afterwards() {
        let outer = Running::begin();
        drop(Running::begin());
        assert!(matches!(check_not_merging(), Err(Failure::Invalid(_))), "the outer function still runs");
        drop(outer);
        assert!(check_not_merging().is_ok());
    }
}
