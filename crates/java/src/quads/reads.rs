//! Reads of snapshots and transactions.

use std::sync::Mutex;

use fulgurite_rdf::{GraphPattern, IdPattern, IdQuad, Position, QuadStep, Quads, StatementKinds, TermId};
use jni::objects::{JByteArray, JClass, JLongArray};
use jni::sys::{jint, jlong, jsize};
use jni::{Env, NativeMethod, native_method};

use super::objects::terms::{push_term, push_text, take_number, with_term};
use super::objects::{KEYS_MAX, Rows, estimate, triples as triple_ids};
use crate::arguments::{Bytes, array, longs, numbers};
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 11] = [
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
        static extern fn next(quads: jlong, rows: jlong[]) -> jboolean,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn count(
            view: jlong, subject: jlong, predicate: jlong, object: jlong, graph: jlong, kinds: jint
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn estimated_count(
            snapshot: jlong, subject: jlong, predicate: jlong, object: jlong, graph: jlong, kinds: jint
        ) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn triples(view: jlong, position: jint, kinds: jint, first: jlong, count: jint) -> jlong[],
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

/// A read of a view that may take long. Closing a snapshot does not wait for it. A count of a transaction holds the
/// lock of the transaction, so other calls of the transaction wait.
type LaterRead<T> = Box<dyn FnOnce() -> Result<T>>;

/// The id of a term that the store does not have.
const UNKNOWN: u64 = u64::MAX;

/// Room for a term; most need less.
const TERM_BYTES: usize = 64;

/// The graph of a pattern that matches all graphs.
pub const ANY_GRAPH: jlong = -1;

/// The graph of a pattern that matches all named graphs.
const ANY_NAMED_GRAPH: jlong = -2;

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
        ANY_NAMED_GRAPH => GraphPattern::AnyNamed,
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

/// A pattern of quads as Java gives it. A subject, predicate or object of 0 matches every term. A graph of −1 matches
/// every graph, one of −2 every named graph, and 0 is the default graph.
pub struct AskedQuads {
    /// Subject, predicate, object and graph.
    pub terms: [jlong; 4],
    /// The kinds of statements: see [`kinds`].
    pub kinds: jint,
    /// The position of [`Position::ALL`] by which the quads are sorted, or −1 for any order.
    pub sorted_by: jint,
}

/// Reads quads. Puts the first ones into `rows`, four ids each, and their number into its last element; these may be
/// none although others follow. Returns a handle for [`next`], 0 if these were all, or [`UNSORTED`].
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
    let has_more = fill(&mut found, rows)?;
    Ok(if has_more { REGISTRY.add(Object::Quads(Box::new(Mutex::new(found)))) } else { 0 })
}

/// Puts the next quads into `rows`, four ids each, and their number into its last element. Returns whether there may be
/// more.
fn fill(found: &mut Rows, rows: &mut [jlong]) -> Result<bool> {
    let (number, rows) = rows
        .split_last_mut()
        .ok_or_else(|| Failure::Invalid("the array for quads has no element for their number".to_owned()))?;
    *number = 0;
    let mut keys_left = KEYS_MAX;
    for row in rows.chunks_exact_mut(4) {
        match found.advance(&mut keys_left)? {
            QuadStep::Quad(quad) => row.copy_from_slice(&ids_of(&quad)),
            QuadStep::Paused => return Ok(true),
            QuadStep::End => return Ok(false),
        }
        *number += 1;
    }
    Ok(true)
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

/// Puts the next quads into `rows`, as [`quads`]. Returns whether there may be more.
fn next<'l>(env: &mut Env<'l>, _: JClass<'l>, quads: jlong, rows: JLongArray<'l>) -> Result<bool> {
    let mut ids = vec![0; rows.len(env)?];
    let has_more = REGISTRY.with(quads, |object| fill(&mut *object.quads()?, &mut ids))?;
    set_rows(env, &rows, &ids)?;
    Ok(has_more)
}

/// Copies the rows that were found and their number, and not the room for more rows between them.
fn set_rows(env: &Env<'_>, rows: &JLongArray<'_>, ids: &[jlong]) -> Result<()> {
    let Some((number, room)) = ids.split_last() else { return Ok(()) };
    let found = room.get(..4 * *number as usize).unwrap_or(room);
    rows.set_region(env, 0, found)?;
    rows.set_region(env, room.len() as jsize, std::slice::from_ref(number))?;
    Ok(())
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
        with_view!(object, view => {
            let view = view.of_kinds(kinds);
            Ok(Box::new(move || count_of(&view, &pattern)) as LaterRead<u64>)
        })
    })?;
    Ok(count()?.cast_signed())
}

fn count_of(view: &impl Quads, pattern: &IdPattern) -> Result<u64> {
    Ok(view.count(pattern)?)
}

/// As [`count`], of a snapshot, for an order of joins: see `objects::estimates`.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn estimated_count<'l>(
    _: &mut Env<'l>,
    _: JClass<'l>,
    snapshot: jlong,
    subject: jlong,
    predicate: jlong,
    object: jlong,
    graph: jlong,
    kinds_of: jint,
) -> Result<jlong> {
    let pattern = pattern(subject, predicate, object, graph)?;
    let kinds = kinds(kinds_of)?;
    let snapshot = REGISTRY.with(snapshot, |object| Ok(object.snapshot()?.of_kinds(kinds)))?;
    Ok(estimate(&snapshot, &pattern)?.cast_signed())
}

/// The ids of triple terms at a position of quads, in ascending order from `first` on: if there are `count`, more may
/// follow. Null if no index has the order.
fn triples<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    view: jlong,
    at: jint,
    kinds_of: jint,
    first: jlong,
    count: jint,
) -> Result<JLongArray<'l>> {
    let count = usize::try_from(count).map_err(|_| Failure::Invalid(format!("{count} is not a number of terms")))?;
    let position = known_position(at)?;
    let kinds = kinds(kinds_of)?;
    let first = term_id(first.cast_unsigned())?;
    let found = REGISTRY.with(view, |object| {
        observe(object, &IdPattern::ALL, kinds)?;
        with_view!(object, view => {
            Ok(triple_ids(|kinds| view.of_kinds(kinds), kinds, position, first, count)?)
        })
    })?;
    match found {
        Some(ids) => longs(env, &ids.into_iter().map(TermId::to_bits).collect::<Vec<_>>()),
        None => Ok(JLongArray::default()),
    }
}

/// The named graphs that have quads.
fn graphs<'l>(env: &mut Env<'l>, _: JClass<'l>, view: jlong) -> Result<JLongArray<'l>> {
    let graphs = REGISTRY.with(view, |object| {
        observe(object, &IdPattern::ALL, StatementKinds::All)?;
        with_view!(object, view => {
            let view = view.clone();
            Ok(Box::new(move || graphs_with_quads(&view)) as LaterRead<Vec<u64>>)
        })
    })?;
    longs(env, &graphs()?)
}

fn graphs_with_quads(view: &impl Quads) -> Result<Vec<u64>> {
    let mut found = Vec::new();
    for graph in view.graph_names() {
        let graph = graph?;
        if view.count(&IdPattern::of_graph(graph))? > 0 {
            found.push(graph.to_bits());
        }
    }
    Ok(found)
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
