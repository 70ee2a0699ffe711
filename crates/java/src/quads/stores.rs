//! Stores: opening, and the beginning and end of snapshots and transactions.

use std::path::PathBuf;
use std::sync::Mutex;

use fulgurite_handles::Opening;
use fulgurite_rdf::{IsolationLevel, Order, Store, StoreOptions, SweepOptions};
use jni::objects::{JByteArray, JClass, JLongArray, JString};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use super::objects::Recorded;
use super::objects::terms::push_term;
use crate::arguments::{array, numbers, text};
use crate::callbacks::check_not_merging;
use crate::database::options;
use crate::error::{Failure, Result, Throw};
use crate::quads::reads::term_ids;
use crate::registry::{Object, OpenedStore, REGISTRY};

const _: [NativeMethod<'_>; 9] = [
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn open_store(path: JString, options: jlong[], indexes: JString) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn snapshot(store: jlong) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn is_newest(snapshot: jlong) -> jboolean,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn begin(store: jlong, level: jint) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn commit(txn: jlong) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn prepare(txn: jlong) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn refresh(txn: jlong) -> jboolean,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn current_terms(store: jlong, ids: jlong[], count: jint) -> jbyte[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn sweep(store: jlong) -> jlong,
    },
];

/// Opens a store. `indexes` has the orders of a new store, separated by commas, or is empty for the default.
fn open_store<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    path: JString<'l>,
    given: JLongArray<'l>,
    indexes: JString<'l>,
) -> Result<jlong> {
    let path = PathBuf::from(text(env, &path)?);
    let options = options(&numbers(env, &given)?)?;
    let mut store_options = StoreOptions::new();
    let indexes = text(env, &indexes)?;
    if !indexes.is_empty() {
        let parse = |name: &str| {
            let known = || Failure::Invalid(format!("`{name}` is not an index; use names such as spo, pos and gspo"));
            Order::parse(name.trim()).ok_or_else(known)
        };
        store_options = store_options.orders(indexes.split(',').map(parse).collect::<Result<Vec<_>>>()?);
    }
    check_not_merging()?;
    let opening = Opening::of(&path);
    let mut objects = opening.lock();
    let store = Store::open_with(options, path, store_options).map_err(Failure::of_opening)?;
    *objects += 1;
    drop(objects);
    Ok(REGISTRY.add(Object::Store(OpenedStore { store, opening })))
}

fn snapshot<'l>(_: &mut Env<'l>, _: JClass<'l>, store: jlong) -> Result<jlong> {
    let store = REGISTRY.with(store, |object| object.store().cloned())?;
    Ok(REGISTRY.add(Object::Snapshot(store.snapshot()?)))
}

/// Whether a snapshot is of the newest state of its store.
fn is_newest<'l>(_: &mut Env<'l>, _: JClass<'l>, snapshot: jlong) -> Result<bool> {
    REGISTRY.with(snapshot, |object| Ok(object.snapshot()?.is_newest()?))
}

/// Begins a transaction with the isolation level at this position of [`IsolationLevel::ALL`].
fn begin<'l>(_: &mut Env<'l>, _: JClass<'l>, store: jlong, level: jint) -> Result<jlong> {
    check_not_merging()?;
    let level = usize::try_from(level).ok().and_then(|level| IsolationLevel::ALL.get(level)).copied();
    let level = level.ok_or_else(|| Failure::Invalid("there is no such isolation level".to_owned()))?;
    let store = REGISTRY.with(store, |object| object.store().cloned())?;
    Ok(REGISTRY.add(Object::Recorded(Box::new(Mutex::new(Recorded::begin(store, level)?)))))
}

fn commit<'l>(_: &mut Env<'l>, _: JClass<'l>, txn: jlong) -> Result<jlong> {
    REGISTRY.with(txn, |object| Ok(object.recorded()?.commit()?.cast_signed()))
}

fn prepare<'l>(_: &mut Env<'l>, _: JClass<'l>, txn: jlong) -> Result<()> {
    REGISTRY.with(txn, |object| object.recorded()?.prepare())
}

fn refresh<'l>(_: &mut Env<'l>, _: JClass<'l>, txn: jlong) -> Result<bool> {
    REGISTRY.with(txn, |object| object.recorded()?.refresh())
}

/// The terms of these ids, in the newest state.
fn current_terms<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    store: jlong,
    ids: JLongArray<'l>,
    count: jint,
) -> Result<JByteArray<'l>> {
    use fulgurite_rdf::Quads;
    let ids = term_ids(env, &ids, count)?;
    let snapshot = REGISTRY.with(store, |object| object.store().cloned())?.snapshot()?;
    let mut bytes = Vec::new();
    snapshot.terms(&ids, &mut |term| push_term(&mut bytes, term))?;
    array(env, &bytes)
}

/// Removes unused terms, and returns how many. Another object of this process could have ids of them, so it is refused
/// while there is one, and none is opened meanwhile.
fn sweep<'l>(_: &mut Env<'l>, _: JClass<'l>, store: jlong) -> Result<jlong> {
    check_not_merging()?;
    REGISTRY.with(store, |object| {
        let OpenedStore { store, opening } = object.opened_store()?;
        let objects = opening.lock();
        if *objects > 1 {
            let path = store.database().path().display();
            let text = format!(
                "{path}: this process has it open more than once; close the other stores and databases before a sweep"
            );
            return Err(Failure::Explained("ALREADY_OPEN", text));
        }
        Ok(store.sweep(&SweepOptions::new())?.removed.cast_signed())
    })
}
