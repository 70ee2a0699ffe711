//! Databases: opening, closing, maintenance, and the beginning of transactions.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use fulgurite::{Database, Durability, Isolation, Options};
use fulgurite_handles::kind::KINDS;
use fulgurite_handles::{Opened, Opening};
use jni::objects::{JClass, JLongArray, JObject, JObjectArray, JString};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use crate::arguments::{longs, numbers, text};
use crate::callbacks;
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, OpenedStore, REGISTRY, Writing};

const _: [NativeMethod<'_>; 15] = [
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn version() -> JString,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn error_kinds() -> JString[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn open(
            path: JString, options: jlong[], names: JString[], functions: org.fulgurite.internal.MergeCalls[]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn close(handle: jlong) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn discard(handle: jlong) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn check_closable(handle: jlong) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn begin_read(database: jlong, durable: jboolean) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn begin_write(database: jlong, isolation: jint, timeout_ms: jlong) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn begin_exclusive(database: jlong, timeout_ms: jlong) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn sync(database: jlong) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn checkpoint(database: jlong) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn compact(database: jlong) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn backup(database: jlong, path: JString) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn check(database: jlong, counts: jlong[]) -> JString[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.Native", error_policy = Throw,
        static extern fn stats(database: jlong) -> jlong[],
    },
];

/// The version of this library, which must be that of the Java classes.
fn version<'l>(env: &mut Env<'l>, _: JClass<'l>) -> Result<JString<'l>> {
    Ok(env.new_string(env!("CARGO_PKG_VERSION"))?)
}

fn error_kinds<'l>(env: &mut Env<'l>, _: JClass<'l>) -> Result<JObjectArray<'l, JString<'l>>> {
    strings(env, &KINDS)
}

/// A new array of texts.
///
/// # Errors
/// [`Failure::Java`] without memory for it.
pub fn strings<'l>(env: &mut Env<'l>, texts: &[impl AsRef<str>]) -> Result<JObjectArray<'l, JString<'l>>> {
    let empty = env.new_string("")?;
    let array = JObjectArray::<JString<'_>>::new(env, texts.len(), &empty)?;
    for (index, text) in texts.iter().enumerate() {
        let text = env.new_string(text)?;
        array.set_element(env, index, &text)?;
        env.delete_local_ref(text);
    }
    Ok(array)
}

/// An option that the caller leaves at its default.
const DEFAULT: jlong = jlong::MIN;

fn unsigned(name: &str, number: jlong) -> Result<u64> {
    u64::try_from(number).map_err(|_| Failure::Invalid(format!("{name} is {number}; it must not be negative")))
}

/// The options of an opening, in the order of `org.fulgurite.DatabaseOptions`.
///
/// # Errors
/// [`Failure::Invalid`] for a value that is not allowed.
pub fn options(numbers: &[jlong]) -> Result<Options> {
    let mut options = Database::options();
    for (position, number) in numbers.iter().copied().enumerate().filter(|(_, number)| *number != DEFAULT) {
        options = match position {
            0 => options.create(number != 0),
            1 => options.read_only(number != 0),
            2 => {
                let bytes = u32::try_from(number).map_err(|_| {
                    Failure::Invalid(format!("the page size is {number}; it must be 8,192 or 16,384 bytes"))
                })?;
                options.page_size_bytes(bytes)
            }
            3 => options.cache_bytes(unsigned("the size of the cache", number)?),
            4 => options.delta_bytes(unsigned("the memory of commits", number)?),
            5 => options.write_set_bytes(unsigned("the memory of a transaction", number)?),
            6 => options.durability(durability(number)?),
            7 => options.isolation(isolation(number)?),
            8 => options.max_size_bytes(unsigned("the largest size", number)?),
            9 => options.map(number != 0),
            10 => options.huge_pages(number != 0),
            11 => options.background(number != 0),
            12 => options.wait_for_lock(Duration::from_millis(unsigned("the wait for the lock", number)?)),
            13 => options.keep_log(unsigned("the retained log", number)?),
            14 => options.checkpoint_interval(Duration::from_millis(unsigned("the checkpoint interval", number)?)),
            _ => return Err(Failure::Invalid(format!("there is no option {position}"))),
        };
    }
    Ok(options)
}

/// A durability by its position in `org.fulgurite.options.Durability`.
///
/// # Errors
/// [`Failure::Invalid`] for another number.
pub fn durability(number: jlong) -> Result<Durability> {
    match number {
        0 => Ok(Durability::Memory),
        1 => Ok(Durability::Log),
        2 => Ok(Durability::Disk),
        _ => Err(Failure::Invalid(format!("{number} is not a durability"))),
    }
}

/// An isolation by its position in `org.fulgurite.options.Isolation`.
fn isolation(number: jlong) -> Result<Isolation> {
    match number {
        0 => Ok(Isolation::Snapshot),
        1 => Ok(Isolation::Serializable),
        _ => Err(Failure::Invalid(format!("{number} is not an isolation"))),
    }
}

/// Opens a database. `names` are those of the merge functions.
fn open<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    path: JString<'l>,
    given: JLongArray<'l>,
    names: JObjectArray<'l, JString<'l>>,
    functions: JObjectArray<'l, JObject<'l>>,
) -> Result<jlong> {
    let path = PathBuf::from(text(env, &path)?);
    let options = options(&numbers(env, &given)?)?;
    let options = callbacks::register(env, options, &names, &functions)?;
    opened(&path, || Ok(options.open(&path)?))
}

/// Adds the object of a database that `open` opens. Returns its handle.
///
/// # Errors
/// Those of `open`; [`Failure::Invalid`] within a merge function.
pub fn opened(path: &Path, open: impl FnOnce() -> Result<Database>) -> Result<jlong> {
    callbacks::check_not_merging()?;
    let opening = Opening::of(path);
    let mut objects = opening.lock();
    let database = open()?;
    *objects += 1;
    drop(objects);
    Ok(REGISTRY.add(Object::Database(Opened { database, opening })))
}

/// Closes any object. Does nothing if it is closed already. The last object of a database closes the database. Merge
/// functions can close only snapshots.
fn close<'l>(_: &mut Env<'l>, _: JClass<'l>, handle: jlong) -> Result<()> {
    end(handle, Database::close)
}

/// As [`close`], without writing what the file does not have.
fn discard<'l>(_: &mut Env<'l>, _: JClass<'l>, handle: jlong) -> Result<()> {
    end(handle, Database::discard)
}

fn end(handle: jlong, close: impl FnOnce(Database) -> fulgurite::Result<()>) -> Result<()> {
    let (database, opening) = match REGISTRY.take_to_close(handle)? {
        Some(Object::Database(Opened { database, opening })) => (database, opening),
        Some(Object::Store(OpenedStore { store, opening })) => (store.database().clone(), opening),
        _ => return Ok(()),
    };
    let mut objects = opening.lock();
    *objects -= 1;
    if *objects > 0 {
        return Ok(());
    }
    Ok(close(database)?)
}

/// Checks that this thread can close an object.
fn check_closable<'l>(_: &mut Env<'l>, _: JClass<'l>, handle: jlong) -> Result<()> {
    REGISTRY.check_closable(handle)
}

fn begin_read<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong, durable: bool) -> Result<jlong> {
    let database = REGISTRY.database(database)?;
    let txn = if durable { database.read_durable()? } else { database.read()? };
    Ok(REGISTRY.add(Object::Read(txn)))
}

fn add(txn: fulgurite::WriteTxn) -> jlong {
    REGISTRY.add(Object::Write(Box::new(Mutex::new(Writing { txn, savepoints: Vec::new() }))))
}

/// Begins a write transaction, with the isolation of the database's options if `level` is negative. 0 if an exclusive
/// transaction or a bulk load has not ended in time.
fn begin_write<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong, level: jint, timeout_ms: jlong) -> Result<jlong> {
    callbacks::check_not_merging()?;
    let level = (level >= 0).then(|| isolation(level.into())).transpose()?;
    let timeout = Duration::from_millis(unsigned("the timeout", timeout_ms)?);
    let txn = REGISTRY.database(database)?.write_within(level, timeout)?;
    Ok(txn.map_or(0, add))
}

/// Begins an exclusive transaction. 0 if another one has not ended in time.
fn begin_exclusive<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong, timeout_ms: jlong) -> Result<jlong> {
    let timeout = Duration::from_millis(unsigned("the timeout", timeout_ms)?);
    let txn = REGISTRY.database(database)?.begin_exclusive(timeout)?;
    Ok(txn.map_or(0, add))
}

fn sync<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong) -> Result<jlong> {
    Ok(REGISTRY.database(database)?.sync()?.0.cast_signed())
}

fn checkpoint<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong) -> Result<()> {
    Ok(REGISTRY.database(database)?.checkpoint()?)
}

fn compact<'l>(_: &mut Env<'l>, _: JClass<'l>, database: jlong) -> Result<jlong> {
    Ok(REGISTRY.database(database)?.compact()?.cast_signed())
}

fn backup<'l>(env: &mut Env<'l>, _: JClass<'l>, database: jlong, path: JString<'l>) -> Result<()> {
    let path = PathBuf::from(text(env, &path)?);
    Ok(REGISTRY.database(database)?.backup_to(path)?)
}

/// Checks the database. Puts tables, entries and pages into `counts`, and returns the damages as texts.
fn check<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    database: jlong,
    counts: JLongArray<'l>,
) -> Result<JObjectArray<'l, JString<'l>>> {
    let report = REGISTRY.database(database)?.check()?;
    let found = [report.tables, report.entries + report.run_entries, report.pages].map(u64::cast_signed);
    counts.set_region(env, 0, &found)?;
    let damages: Vec<String> = report.damages.iter().map(ToString::to_string).collect();
    strings(env, &damages)
}

/// The figures of `org.fulgurite.Stats`, in its order.
fn stats<'l>(env: &mut Env<'l>, _: JClass<'l>, database: jlong) -> Result<JLongArray<'l>> {
    let stats = REGISTRY.database(database)?.stats()?;
    longs(
        env,
        &[
            stats.file_bytes,
            stats.log_bytes,
            stats.free_bytes,
            stats.pinned_bytes,
            stats.delta_bytes,
            stats.sequence,
            stats.durable_sequence,
            stats.tables.len() as u64,
            stats.tree_bytes / stats.page_size_bytes,
            stats.tables.iter().map(|table| u64::from(table.levels)).max().unwrap_or(0),
        ],
    )
}
