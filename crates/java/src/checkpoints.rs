//! Checkpoints in a storage that Java implements.

use std::path::PathBuf;
use std::sync::Mutex;

use fulgurite_graph::Checkpoints;
use jni::objects::{JClass, JLongArray, JObject, JObjectArray, JString};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use crate::arguments::{longs, numbers, text};
use crate::callbacks::{self, JavaStorage};
use crate::database::{opened, options};
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 4] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn open_checkpoints(
            storage: org.fulgurite.internal.StorageCalls, retained: jint, compression_level: jint
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn create_checkpoint(checkpoints: jlong, database: jlong, id: jlong) -> jlong[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn restore_checkpoint(
            checkpoints: jlong, id: jlong, path: JString, options: jlong[], names: JString[],
            functions: org.fulgurite.internal.MergeCalls[]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn checkpoint_ids(checkpoints: jlong) -> jlong[],
    },
];

fn open_checkpoints<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    storage: JObject<'l>,
    retained: jint,
    compression_level: jint,
) -> Result<jlong> {
    let storage = JavaStorage::of(env, &storage)?;
    let retained = usize::try_from(retained).ok().filter(|retained| *retained > 0).ok_or_else(|| {
        Failure::Invalid(format!("{retained} checkpoints were to be retained; it must be at least one"))
    })?;
    let level = u32::try_from(compression_level).ok().filter(|level| *level <= COMPRESSION_LEVEL_MAX);
    let level = level.ok_or_else(|| {
        let levels = format!("0 to {COMPRESSION_LEVEL_MAX}");
        Failure::Invalid(format!("the level of compression is {compression_level}; it must be from {levels}"))
    })?;
    let checkpoints = Checkpoints::new(storage).retained(retained).compression_level(level);
    Ok(REGISTRY.add(Object::Checkpoints(Box::new(Mutex::new(checkpoints)))))
}

const COMPRESSION_LEVEL_MAX: u32 = 22;

fn id_of(id: jlong) -> Result<u64> {
    u64::try_from(id).map_err(|_| Failure::Invalid(format!("the id of a checkpoint is {id}; it must not be negative")))
}

/// Creates a checkpoint. Returns the bytes that were sent, whether they are the whole database (1) or not (0), and
/// whether old files were removed.
fn create_checkpoint<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    checkpoints: jlong,
    database: jlong,
    id: jlong,
) -> Result<JLongArray<'l>> {
    let (id, database) = (id_of(id)?, REGISTRY.database(database)?);
    let report = REGISTRY.with(checkpoints, |object| Ok(object.checkpoints()?.create(&database, id)?))?;
    longs(env, &[report.bytes_sent, u64::from(report.is_whole), u64::from(report.is_cleaned)])
}

/// Restores a checkpoint into a new database. Returns its handle.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn restore_checkpoint<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    checkpoints: jlong,
    id: jlong,
    path: JString<'l>,
    given: JLongArray<'l>,
    names: JObjectArray<'l, JString<'l>>,
    functions: JObjectArray<'l, JObject<'l>>,
) -> Result<jlong> {
    let (id, path) = (id_of(id)?, PathBuf::from(text(env, &path)?));
    let options = options(&numbers(env, &given)?)?;
    let options = callbacks::register(env, options, &names, &functions)?;
    REGISTRY.with(checkpoints, |object| opened(&path, || Ok(object.checkpoints()?.restore(id, &path, options)?)))
}

/// The ids of the committed checkpoints, in ascending order.
fn checkpoint_ids<'l>(env: &mut Env<'l>, _: JClass<'l>, checkpoints: jlong) -> Result<JLongArray<'l>> {
    let ids = REGISTRY.with(checkpoints, |object| Ok(object.checkpoints()?.ids()?))?;
    longs(env, &ids)
}
