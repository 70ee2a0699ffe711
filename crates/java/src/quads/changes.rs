//! Changes of transactions.

use fulgurite_rdf::oxrdf::Term;
use fulgurite_rdf::{TermGraphs, TermPattern};
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use super::objects::Change;
use super::objects::terms::take_term;
use crate::arguments::{Bytes, text};
use crate::error::{Failure, Result, Throw};
use crate::registry::REGISTRY;

const _: [NativeMethod<'_>; 4] = [
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn insert(txn: jlong, batch: jbyte[], length: jint, inferred: jboolean) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn remove(
            txn: jlong, given: jint, terms: jbyte[], length: jint, inferred: jboolean
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn observe(txn: jlong, given: jint, terms: jbyte[], length: jint) -> void,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn set_namespace(txn: jlong, prefix: JString, iri: JString) -> void,
    },
];

fn change(txn: jlong, change: Change) -> Result<jlong> {
    REGISTRY.with(txn, |object| Ok(object.recorded()?.change(change)?.cast_signed()))
}

/// Inserts the quads of a batch (`recorded.rs` describes it). Returns how many are new.
fn insert<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    batch: JByteArray<'l>,
    length: jint,
    inferred: bool,
) -> Result<jlong> {
    let batch = Bytes::of_first(env, &batch, length)?;
    change(txn, Change::Insert { batch: batch.into_boxed(), inferred })
}

/// Set in `given` if the pattern has a subject.
const SUBJECT: jint = 1;
/// Set in `given` if the pattern has a predicate.
const PREDICATE: jint = 2;
/// Set in `given` if the pattern has an object.
const OBJECT: jint = 4;
/// Set in `given` if the pattern has a named graph.
const NAMED_GRAPH: jint = 8;
/// Set in `given` if the pattern is of the default graph.
const DEFAULT_GRAPH: jint = 16;

/// A pattern. `given` says which terms the array has.
fn pattern<'l>(env: &Env<'l>, given: jint, terms: &JByteArray<'l>, length: jint) -> Result<TermPattern> {
    let bytes = Bytes::of_first(env, terms, length)?;
    let mut rest = &bytes[..];
    let mut term = |bit: jint| -> Result<Option<Term>> {
        if given & bit == 0 { Ok(None) } else { take_term(&mut rest).map(Some) }
    };
    let terms = [term(SUBJECT)?, term(PREDICATE)?, term(OBJECT)?];
    let graphs = match (term(NAMED_GRAPH)?, given & DEFAULT_GRAPH) {
        (Some(graph), 0) => TermGraphs::Named(graph),
        (None, DEFAULT_GRAPH) => TermGraphs::Default,
        (None, _) => TermGraphs::All,
        (Some(_), _) => return Err(Failure::Invalid("a pattern has two graphs".to_owned())),
    };
    Ok(TermPattern { terms, graphs })
}

/// Removes the quads that match a pattern. Returns how many were removed.
fn remove<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    given: jint,
    terms: JByteArray<'l>,
    length: jint,
    inferred: bool,
) -> Result<jlong> {
    let pattern = Box::new(pattern(env, given, &terms, length)?);
    change(txn, Change::Remove { pattern, inferred })
}

/// Notes that the transaction reads a pattern with a term that it lacks.
fn observe<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    given: jint,
    terms: JByteArray<'l>,
    length: jint,
) -> Result<()> {
    let pattern = pattern(env, given, &terms, length)?;
    REGISTRY.with(txn, |object| {
        object.recorded()?.observe_unknown(pattern);
        Ok(())
    })
}

/// Sets the namespace of a prefix; removes it if `iri` is null.
fn set_namespace<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    txn: jlong,
    prefix: JString<'l>,
    iri: JString<'l>,
) -> Result<()> {
    let prefix = text(env, &prefix)?;
    let iri = if iri.is_null() { None } else { Some(text(env, &iri)?) };
    change(txn, Change::Namespace { prefix, iri }).map(drop)
}
