//! Statements of snapshots, with their terms, in one call for each batch.

use std::cell::RefCell;
use std::sync::Mutex;

use fulgurite_rdf::{GraphPattern, IdPattern, QuadStep, Quads, Snapshot, TermId};
use jni::objects::{JByteArray, JClass};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use super::objects::terms::{DEFAULT_GRAPH, take, with_term};
use super::objects::{KEYS_MAX, Scratch, Statements};
use super::reads::{kinds, term_id};
use crate::arguments::{Bytes, array, fill};
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 3] = [
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn find(
            snapshot: jlong, pattern: jbyte[], length: jint, kinds: jint, count: jint, room: jbyte[]
        ) -> jbyte[],
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn has(snapshot: jlong, pattern: jbyte[], length: jint, kinds: jint) -> jint,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn next_statements(statements: jlong, count: jint, room: jbyte[]) -> jbyte[],
    },
];

/// The first byte of a position of a pattern that matches every term.
const ANY: u8 = 0;

/// The first byte of a position of a pattern that has the id of a term, in eight bytes.
const ID: u8 = 7;

/// The result of [`has`] for a snapshot that is not of the newest state.
const OUTDATED: jint = -1;

/// The result of [`has`] if it has looked at about [`KEYS_MAX`] keys of indexes, and found nothing.
const PAUSED: jint = 2;

/// The maximum number of statements in a batch, so that a batch is an array.
const COUNT_MAX: usize = 1 << 16;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// What a position of a pattern asks for.
enum Wanted {
    Any,
    DefaultGraph,
    Term(TermId),
    /// A term that the store does not have.
    Nothing,
}

fn take_wanted(bytes: &mut &[u8], snapshot: &Snapshot) -> Result<Wanted> {
    let first = bytes.first().copied();
    if let Some(ANY | ID | DEFAULT_GRAPH) = first {
        take(bytes, 1)?;
    }
    Ok(match first {
        Some(ANY) => Wanted::Any,
        Some(DEFAULT_GRAPH) => Wanted::DefaultGraph,
        Some(ID) => {
            let bits = take(bytes, 8)?.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            Wanted::Term(term_id(bits)?)
        }
        _ => match with_term(bytes, |term| Ok(snapshot.id(term)?))? {
            Some(id) => Wanted::Term(id),
            None => Wanted::Nothing,
        },
    })
}

/// The pattern of subject, predicate, object and graph. `None` if the store lacks one of its terms.
fn take_pattern(mut bytes: &[u8], snapshot: &Snapshot) -> Result<Option<IdPattern>> {
    let mut ids = [None; 3];
    for id in &mut ids {
        match take_wanted(&mut bytes, snapshot)? {
            Wanted::Any => {}
            Wanted::Term(term) => *id = Some(term),
            Wanted::Nothing => return Ok(None),
            Wanted::DefaultGraph => return Err(Failure::Invalid("the default graph is not a term".to_owned())),
        }
    }
    let graph = match take_wanted(&mut bytes, snapshot)? {
        Wanted::Any => GraphPattern::Any,
        Wanted::DefaultGraph => GraphPattern::Default,
        Wanted::Term(graph) => GraphPattern::Named(graph),
        Wanted::Nothing => return Ok(None),
    };
    let [subject, predicate, object] = ids;
    Ok(Some(IdPattern { subject, predicate, object, graph }))
}

fn batch_size(count: jint) -> Result<usize> {
    let allowed = usize::try_from(count).ok().filter(|count| (1..=COUNT_MAX).contains(count));
    allowed.ok_or_else(|| Failure::Invalid(format!("a batch has 1 to {COUNT_MAX} statements, not {count}")))
}

/// The batch in `room` if it fits, otherwise in a new array.
fn batch<'l>(env: &mut Env<'l>, scratch: &mut Scratch, room: JByteArray<'l>) -> Result<JByteArray<'l>> {
    let batch = if scratch.bytes.len() <= room.len(env)? {
        fill(env, &room, &scratch.bytes).map(|()| room)
    } else {
        array(env, &scratch.bytes)
    };
    scratch.trim();
    batch
}

/// Reads the first statements of a pattern: see `objects::statements`. Returns null if the snapshot is not of the
/// newest state, and an array without bytes if the store lacks a term of the pattern.
#[expect(clippy::too_many_arguments, reason = "the signature of the Java method")]
fn find<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    snapshot: jlong,
    pattern: JByteArray<'l>,
    length: jint,
    kinds_of: jint,
    count: jint,
    room: JByteArray<'l>,
) -> Result<JByteArray<'l>> {
    let pattern = Bytes::of_first(env, &pattern, length)?;
    let (kinds, count) = (kinds(kinds_of)?, batch_size(count)?);
    let statements = REGISTRY.with(snapshot, |object| {
        let snapshot = object.snapshot()?;
        if !snapshot.is_newest()? {
            return Ok(None);
        }
        let pattern = take_pattern(&pattern, snapshot)?;
        Ok(Some(pattern.map(|pattern| Statements::new(snapshot, &pattern, kinds))))
    })?;
    match statements {
        None => Ok(JByteArray::default()),
        Some(None) => array(env, &[]),
        Some(Some(mut statements)) => SCRATCH.with_borrow_mut(|scratch| {
            let mut handle = 0;
            if statements.next(count, scratch)? {
                handle = REGISTRY.add(Object::Statements(Box::new(Mutex::new(statements))));
            }
            scratch.set_following(handle);
            let batch = batch(env, scratch, room);
            if batch.is_err() {
                drop(REGISTRY.take(handle));
            }
            batch
        }),
    }
}

/// Whether a pattern has statements: 1 if it has, 0 if not, [`OUTDATED`] if the snapshot is not of the newest state,
/// [`PAUSED`] if the search takes long.
fn has<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    snapshot: jlong,
    pattern: JByteArray<'l>,
    length: jint,
    kinds_of: jint,
) -> Result<jint> {
    let pattern = Bytes::of_first(env, &pattern, length)?;
    let kinds = kinds(kinds_of)?;
    let quads = REGISTRY.with(snapshot, |object| {
        let snapshot = object.snapshot()?;
        if !snapshot.is_newest()? {
            return Ok(None);
        }
        let pattern = take_pattern(&pattern, snapshot)?;
        Ok(Some(pattern.map(|pattern| snapshot.of_kinds(kinds).quads(&pattern))))
    })?;
    match quads {
        None => Ok(OUTDATED),
        Some(None) => Ok(0),
        Some(Some(mut quads)) => {
            let mut keys_left = KEYS_MAX;
            Ok(match quads.advance(&mut keys_left)? {
                QuadStep::Quad(_) => 1,
                QuadStep::End => 0,
                QuadStep::Paused => PAUSED,
            })
        }
    }
}

/// Reads the next statements: see `objects::statements`.
fn next_statements<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    statements: jlong,
    count: jint,
    room: JByteArray<'l>,
) -> Result<JByteArray<'l>> {
    let count = batch_size(count)?;
    SCRATCH.with_borrow_mut(|scratch| {
        let follows = REGISTRY.with(statements, |object| object.statements()?.next(count, scratch))?;
        scratch.set_following(follows.into());
        batch(env, scratch, room)
    })
}
