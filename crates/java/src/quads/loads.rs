//! Bulk loads of files.

use std::path::PathBuf;
use std::sync::PoisonError;

use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::{LoadInput, LoadOptions, LoadProgress};
use jni::objects::{JClass, JLongArray, JObjectArray, JString};
use jni::sys::jlong;
use jni::{Env, NativeMethod, native_method};

use super::objects::Load;
use crate::arguments::text;
use crate::error::{Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 4] = [
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn new_load() -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn load(
            store: jlong, watched: jlong, files: JString[], graph: JString, lenient: jboolean, report: jlong[]
        ) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn load_progress(load: jlong, progress: jlong[]) -> JString,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn cancel_load(load: jlong) -> void,
    },
];

fn new_load<'l>(_: &mut Env<'l>, _: JClass<'l>) -> Result<jlong> {
    Ok(REGISTRY.add(Object::Load(Load::default())))
}

/// Loads files into a graph, or into the graphs that they name if `graph` is null. Puts the numbers of read and
/// inserted quads, new terms, skipped statements, and milliseconds into `report`.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn load<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    store: jlong,
    watched: jlong,
    files: JObjectArray<'l, JString<'l>>,
    graph: JString<'l>,
    lenient: bool,
    report: JLongArray<'l>,
) -> Result<()> {
    let store = REGISTRY.with(store, |object| object.store().cloned())?;
    let Load { progress, token } = REGISTRY.with(watched, |object| object.load().cloned())?;
    let graph = if graph.is_null() { None } else { Some(NamedNode::new_unchecked(text(env, &graph)?)) };
    let mut inputs = Vec::new();
    for index in 0..files.len(env)? {
        let file = files.get_element(env, index)?;
        let input = LoadInput::file(PathBuf::from(text(env, &file)?));
        inputs.push(match &graph {
            Some(graph) => input.graph(graph.clone()),
            None => input,
        });
    }
    let note = move |now: &LoadProgress| {
        *progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(now.clone());
    };
    let options = LoadOptions::new().lenient(lenient).cancellation(token).progress(note);
    let done = store.load(inputs, &options)?;
    let milliseconds = u64::try_from(done.elapsed.as_millis()).unwrap_or(u64::MAX);
    let counts = [done.read, done.inserted, done.new_terms, done.skipped, milliseconds].map(u64::cast_signed);
    Ok(report.set_region(env, 0, &counts)?)
}

/// Puts the numbers of read bytes, of all bytes, and of quads into `progress`, and returns the stage; null before the
/// first one.
fn load_progress<'l>(env: &mut Env<'l>, _: JClass<'l>, load: jlong, progress: JLongArray<'l>) -> Result<JString<'l>> {
    let load = REGISTRY.with(load, |object| object.load().cloned())?;
    let now = load.progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(now) = now else { return Ok(JString::null()) };
    let counts = [now.bytes_read, now.bytes_total, now.quads].map(u64::cast_signed);
    progress.set_region(env, 0, &counts)?;
    Ok(env.new_string(now.stage)?)
}

fn cancel_load<'l>(_: &mut Env<'l>, _: JClass<'l>, load: jlong) -> Result<()> {
    REGISTRY.with(load, |object| object.load().map(|load| load.token.cancel()))
}
