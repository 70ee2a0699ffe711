//! Merge functions that Java implements.

use fulgurite::{MergeOperands, MergeOutcome, Options};
use jni::objects::{JByteArray, JObject, JObjectArray, JString};
use jni::refs::Global;
use jni::{Env, JavaVM, jni_sig, jni_str};

use crate::arguments::text;
use crate::batch::push_value;
use crate::error::Result;

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
            Err(jni::errors::Error::CaughtJavaException { name, msg, .. }) => Err(format!("{name}: {msg}").into()),
            Err(error) => Err(error.into()),
        }
    }
}

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
