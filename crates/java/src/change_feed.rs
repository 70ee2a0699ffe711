//! The change feed.

use std::sync::Mutex;
use std::time::Duration;

use fulgurite::Sequence;
use jni::objects::{JByteArray, JClass};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use crate::arguments::{ARRAY_BYTES_MAX, array};
use crate::error::{Failure, Result, Throw};
use crate::packed_changes::PackedChanges;
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 3] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn open_changes(database: jlong, after: jlong) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn next_changes(feed: jlong, bytes: jint) -> jbyte[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn wait_durable(database: jlong, after: jlong, timeout_ms: jlong) -> jlong,
    },
];

fn sequence(number: jlong) -> Result<Sequence> {
    u64::try_from(number)
        .map(Sequence)
        .map_err(|_| Failure::Invalid(format!("the sequence of a commit is {number}; it must not be negative")))
}

fn open_changes<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong, after: jlong) -> Result<jlong> {
    let changes = REGISTRY.database(database)?.changes(sequence(after)?)?;
    Ok(REGISTRY.add(Object::Changes(Box::new(Mutex::new(PackedChanges::new(changes, ARRAY_BYTES_MAX))))))
}

/// The next commits: at least one, and more until they have so many bytes. Null at the end of the feed.
fn next_changes<'l>(env: &mut Env<'l>, _: JClass<'l>, feed: jlong, bytes: jint) -> Result<JByteArray<'l>> {
    let bytes_wanted = usize::try_from(bytes).unwrap_or_default();
    REGISTRY.with(feed, |object| {
        let mut feed = object.changes()?;
        let batch = feed.next_batch(bytes_wanted)?;
        if batch.is_empty() {
            return Ok(JByteArray::null());
        }
        let batch = array(env, batch)?;
        // Without memory for the array, the next call returns these commits.
        feed.take();
        Ok(batch)
    })
}

/// Waits for a durable commit after `after`, and returns the newest one.
fn wait_durable<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong, after: jlong, timeout_ms: jlong) -> Result<jlong> {
    let timeout = u64::try_from(timeout_ms).map(Duration::from_millis).unwrap_or_default();
    let durable = REGISTRY.database(database)?.wait_durable(sequence(after)?, timeout)?;
    Ok(durable.0.cast_signed())
}
