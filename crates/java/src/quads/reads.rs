//! Reads of snapshots and transactions.

use std::sync::Mutex;

use fulgurite_rdf::{GraphPattern, IdPattern, IdQuad, Position, Quads, StatementKinds, TermId};
use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use super::objects::Rows;
use super::objects::terms::{push_term, push_text, take_number, with_term};
use crate::arguments::{Bytes, array, longs, numbers};
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 9] = [
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn ids(view: jlong, terms: jbyte[], length: jint) -> jlong[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn terms(view: jlong, ids: jlong[], count: jint) -> jbyte[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn quads(
            view: jlong, subject: jlong, predicate: jlong, object: jlong, graph: jlong, kinds: jint, sorted_by: jint,
            rows: jlong[]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn sorted_quads(
            view: jlong, subject: jlong, predicate: jlong, object: jlong, graphs: jlong[], kinds: jint, sorted_by: jint,
            rows: jlong[]
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn sorts(
            view: jlong, subject: jlong, predicate: jlong, object: jlong, graph: jlong, kinds: jint, sorted_by: jint
        ) -> jboolean,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn next(quads: jlong, rows: jlong[], count: jint) -> jint,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn count(
            view: jlong, subject: jlong, predicate: jlong, object: jlong, graph: jlong, kinds: jint
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn graphs(view: jlong) -> jlong[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn namespaces(view: jlong) -> jbyte[],
    },
];

/// The id of a term that the store does not have.
const UNKNOWN: u64 = u64::MAX;

/// Room for a term; most need less.
const TERM_BYTES: usize = 64;

/// The graph of a pattern that matches all graphs.
pub const ANY_GRAPH: jlong = -1;

/// Evaluates an expression with the view of an object, of either kind.
macro_rules! with_view {
    ($object:expr, $view:ident => $body:expr) => {
        match $object {
            Object::Recorded(_) => {
                let $view = &$object.recorded()?.view()?;
                $body
            }
            other => {
                let $view = other.snapshot()?;
                $body
            }
        }
    };
}

/// Kinds of statements by their number.
///
/// # Errors
/// [`Failure::Invalid`] for another number.
pub fn kinds(number: jint) -> Result<StatementKinds> {
    match number {
        0 => Ok(StatementKinds::All),
        1 => Ok(StatementKinds::Explicit),
        2 => Ok(StatementKinds::Inferred),
        _ => Err(Failure::Invalid(format!("{number} is not a kind of statements"))),
    }
}

/// The id with these bits.
///
/// # Errors
/// [`Failure::Invalid`] if no id has them.
pub fn term_id(bits: u64) -> Result<TermId> {
    TermId::from_bits(bits).ok_or_else(|| Failure::Invalid(format!("{bits:#x} is not an id of a term")))
}

/// The ids at the beginning of an array.
///
/// # Errors
/// [`Failure::Invalid`] if the array is shorter than `count`, or has another number.
pub fn term_ids(env: &Env<'_>, ids: &JLongArray<'_>, count: jint) -> Result<Vec<TermId>> {
    let available = ids.len(env)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= available);
    let count = count.ok_or_else(|| Failure::Invalid(format!("an array has only {available} ids")))?;
    let mut bits = vec![0; count];
    ids.get_region(env, 0, &mut bits)?;
    bits.into_iter().map(|bits| term_id(bits.cast_unsigned())).collect()
}

fn pattern(subject: jlong, predicate: jlong, object: jlong, graph: jlong) -> Result<IdPattern> {
    let id = |bits: jlong| if bits == 0 { Ok(None) } else { term_id(bits.cast_unsigned()).map(Some) };
    let graph = match graph {
        ANY_GRAPH => GraphPattern::Any,
        0 => GraphPattern::Default,
        graph => GraphPattern::Named(term_id(graph.cast_unsigned())?),
    };
    Ok(IdPattern { subject: id(subject)?, predicate: id(predicate)?, object: id(object)?, graph })
}

/// A position of a quad by its number.
fn position(number: jint) -> Option<Position> {
    Position::ALL.get(usize::try_from(number).ok()?).copied()
}

/// As [`position`].
///
/// # Errors
/// [`Failure::Invalid`] for another number.
fn known_position(number: jint) -> Result<Position> {
    position(number).ok_or_else(|| Failure::Invalid(format!("{number} is not a position of a quad")))
}

/// Notes that a transaction reads a pattern.
fn observe(object: &Object, pattern: &IdPattern, kinds: StatementKinds) -> Result<()> {
    if let Object::Recorded(_) = object {
        object.recorded()?.observe(pattern, kinds);
    }
    Ok(())
}

/// The ids of terms; −1 for terms that the store does not have. The array has their number before them.
fn ids<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    view: jlong,
    terms: JByteArray<'l>,
    length: jint,
) -> Result<JLongArray<'l>> {
    let terms = Bytes::of_first(env, &terms, length)?;
    let mut rest = &terms[..];
    let mut ids = Vec::new();
    REGISTRY.with(view, |object| {
        with_view!(object, view => {
            for _ in 0..take_number(&mut rest)? {
                let id = with_term(&mut rest, |term| Ok(view.id(term)?))?;
                ids.push(id.map_or(UNKNOWN, TermId::to_bits));
            }
            Ok(())
        })
    })?;
    longs(env, &ids)
}

/// The terms of these ids.
fn terms<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    view: jlong,
    ids: JLongArray<'l>,
    count: jint,
) -> Result<JByteArray<'l>> {
    let ids = term_ids(env, &ids, count)?;
    let mut bytes = Vec::with_capacity(ids.len().saturating_mul(TERM_BYTES));
    REGISTRY.with(view, |object| {
        with_view!(object, view => {
            view.terms(&ids, &mut |term| push_term(&mut bytes, term))?;
            Ok(())
        })
    })?;
    array(env, &bytes)
}

/// No index has the order.
const UNSORTED: jlong = -1;

/// A pattern of quads as Java gives it. A subject, predicate or object of 0 matches every term; a graph of −1 matches
/// every graph.
pub struct AskedQuads {
    /// Subject, predicate, object and graph.
    pub terms: [jlong; 4],
    /// The kinds of statements: see [`kinds`].
    pub kinds: jint,
    /// The position of [`Position::ALL`] by which the quads are sorted, or −1 for any order.
    pub sorted_by: jint,
}

/// Reads quads. Puts the first ones into `rows`, four ids each, and their number into its last element. Returns a
/// handle for [`next`], 0 if these were all, or [`UNSORTED`].
///
/// # Errors
/// [`Failure::Invalid`] for terms, kinds or rows that are not valid, [`Failure::Closed`], and errors of the store.
pub fn first_quads(view: jlong, asked: &AskedQuads, rows: &mut [jlong]) -> Result<jlong> {
    let [subject, predicate, object, graph] = asked.terms;
    let pattern = pattern(subject, predicate, object, graph)?;
    let kinds = kinds(asked.kinds)?;
    let position = position(asked.sorted_by);
    let found = REGISTRY.with(view, |object| {
        observe(object, &pattern, kinds)?;
        with_view!(object, view => Ok(match position {
            Some(position) => Rows::sorted(|kinds| view.of_kinds(kinds), kinds, &[pattern], position),
            None if kinds == StatementKinds::All => Some(Rows::new(view.quads(&pattern))),
            None => Some(Rows::new(view.of_kinds(kinds).quads(&pattern))),
        }))
    })?;
    begin(found, rows)
}

/// Puts the first quads and their number into `rows`, and keeps the others: see [`first_quads`].
fn begin(found: Option<Rows>, rows: &mut [jlong]) -> Result<jlong> {
    let Some(mut found) = found else { return Ok(UNSORTED) };
    let (number, rows) = rows
        .split_last_mut()
        .ok_or_else(|| Failure::Invalid("the array for quads has no element for their number".to_owned()))?;
    let count = rows.len() / 4;
    let mut read = 0;
    for (row, quad) in rows.chunks_exact_mut(4).zip(&mut found) {
        row.copy_from_slice(&ids_of(&quad?));
        read += 1;
    }
    *number = read as jlong;
    Ok(if read < count { 0 } else { REGISTRY.add(Object::Quads(Box::new(Mutex::new(found)))) })
}

/// As [`first_quads`], with an array of Java.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn quads<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    view: jlong,
    subject: jlong,
    predicate: jlong,
    object: jlong,
    graph: jlong,
    kinds: jint,
    sorted_by: jint,
    rows: JLongArray<'l>,
) -> Result<jlong> {
    let asked = AskedQuads { terms: [subject, predicate, object, graph], kinds, sorted_by };
    let mut ids = vec![0; rows.len(env)?];
    let handle = first_quads(view, &asked, &mut ids)?;
    rows.set_region(env, 0, &ids)?;
    Ok(handle)
}

/// As [`quads`], of several graphs together, merged by the order.
///
/// Requires: no graph is repeated; a repeated graph returns its quads twice.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn sorted_quads<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    view: jlong,
    subject: jlong,
    predicate: jlong,
    object: jlong,
    graphs: JLongArray<'l>,
    kinds_of: jint,
    sorted_by: jint,
    rows: JLongArray<'l>,
) -> Result<jlong> {
    let kinds = kinds(kinds_of)?;
    let position = known_position(sorted_by)?;
    let graphs = numbers(env, &graphs)?.into_iter();
    let patterns: Vec<IdPattern> =
        graphs.map(|graph| pattern(subject, predicate, object, graph)).collect::<Result<_>>()?;
    let found = REGISTRY.with(view, |object| {
        for pattern in &patterns {
            observe(object, pattern, kinds)?;
        }
        with_view!(object, view => Ok(Rows::sorted(|kinds| view.of_kinds(kinds), kinds, &patterns, position)))
    })?;
    let mut ids = vec![0; rows.len(env)?];
    let handle = begin(found, &mut ids)?;
    rows.set_region(env, 0, &ids)?;
    Ok(handle)
}

/// Whether an index has the quads of a pattern in an order: see [`quads`].
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn sorts<'l>(
    _: &mut Env<'l>,
    _: JClass<'l>,
    view: jlong,
    subject: jlong,
    predicate: jlong,
    object: jlong,
    graph: jlong,
    kinds_of: jint,
    sorted_by: jint,
) -> Result<bool> {
    let pattern = pattern(subject, predicate, object, graph)?;
    let kinds = kinds(kinds_of)?;
    let position = known_position(sorted_by)?;
    REGISTRY
        .with(view, |object| with_view!(object, view => Ok(Rows::can_sort(&view.of_kinds(kinds), &pattern, position))))
}

fn ids_of(quad: &IdQuad) -> [jlong; 4] {
    [quad.subject, quad.predicate, quad.object, quad.graph].map(|id| id.to_bits().cast_signed())
}

/// The ids of the next `count` quads.
fn take(rows: &mut Rows, count: usize) -> Result<Vec<jlong>> {
    let mut ids = Vec::with_capacity(4 * count.min(1 << 16) + 1);
    for quad in rows.by_ref().take(count) {
        ids.extend(ids_of(&quad?));
    }
    Ok(ids)
}

/// Puts at most `count` quads into `rows`, four ids each, and returns their number: 0 at the end.
fn next<'l>(env: &mut Env<'l>, _: JClass<'l>, quads: jlong, rows: JLongArray<'l>, count: jint) -> Result<jint> {
    let count = usize::try_from(count).unwrap_or_default();
    let found = REGISTRY.with(quads, |object| take(&mut *object.quads()?, count))?;
    rows.set_region(env, 0, &found)?;
    Ok((found.len() / 4) as jint)
}

/// The number of quads that match, as [`quads`].
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn count<'l>(
    _: &mut Env<'l>,
    _: JClass<'l>,
    view: jlong,
    subject: jlong,
    predicate: jlong,
    object: jlong,
    graph: jlong,
    kinds_of: jint,
) -> Result<jlong> {
    let pattern = pattern(subject, predicate, object, graph)?;
    let kinds = kinds(kinds_of)?;
    let count = REGISTRY.with(view, |object| {
        observe(object, &pattern, kinds)?;
        with_view!(object, view => Ok(match kinds {
            StatementKinds::All => view.count(&pattern)?,
            kinds => view.of_kinds(kinds).count(&pattern)?,
        }))
    })?;
    Ok(count.cast_signed())
}

/// The named graphs that have quads.
fn graphs<'l>(env: &mut Env<'l>, _: JClass<'l>, view: jlong) -> Result<JLongArray<'l>> {
    let mut found = Vec::new();
    REGISTRY.with(view, |object| {
        observe(object, &IdPattern::ALL, StatementKinds::All)?;
        with_view!(object, view => {
            for graph in view.graph_names() {
                let graph = graph?;
                if view.count(&IdPattern::of_graph(graph))? > 0 {
                    found.push(graph.to_bits());
                }
            }
            Ok(())
        })
    })?;
    longs(env, &found)
}

/// The namespaces: prefix and IRI of each, as texts.
fn namespaces<'l>(env: &mut Env<'l>, _: JClass<'l>, view: jlong) -> Result<JByteArray<'l>> {
    let mut bytes = Vec::new();
    REGISTRY.with(view, |object| {
        with_view!(object, view => {
            for (prefix, iri) in view.namespaces()? {
                push_text(&mut bytes, &prefix);
                push_text(&mut bytes, &iri);
            }
            Ok(())
        })
    })?;
    array(env, &bytes)
}
