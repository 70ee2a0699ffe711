//! Joins of patterns over snapshots.

use std::sync::Mutex;

use fulgurite_rdf::{GraphPattern, JoinGraph, JoinPattern, JoinStep, JoinTerm, Joined, Quads};
use jni::objects::{JClass, JLongArray};
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use super::objects::KEYS_MAX;
use super::reads::{ANY_GRAPH, kinds, term_id};
use crate::arguments::numbers;
use crate::error::{Failure, Result, Throw};
use crate::registry::{Object, REGISTRY};

const _: [NativeMethod<'_>; 2] = [
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn join(snapshot: jlong, patterns: jlong[], kinds: jint, rows: jlong[]) -> jlong,
    },
    native_method! {
        java_type = "org.fulgurite.internal.NativeQuads", error_policy = Throw,
        static extern fn next_joined(join: jlong, rows: jlong[]) -> jboolean,
    },
];

/// The number of variable 0 in a pattern. Variable n is n less.
const VARIABLE: jlong = -2;

/// The variable that a number of a pattern stands for.
fn variable(number: jlong) -> Result<Option<usize>> {
    if number > VARIABLE {
        return Ok(None);
    }
    let variable = usize::try_from(VARIABLE - number).ok().filter(|variable| *variable < JoinTerm::VARIABLES_MAX);
    variable.map(Some).ok_or_else(|| Failure::Invalid(format!("{number} is not a term of a pattern")))
}

fn join_term(number: jlong) -> Result<JoinTerm> {
    Ok(match variable(number)? {
        Some(variable) => JoinTerm::Variable(variable),
        None => JoinTerm::Term(term_id(number.cast_unsigned())?),
    })
}

fn join_graph(number: jlong) -> Result<JoinGraph> {
    if let Some(variable) = variable(number)? {
        return Ok(JoinGraph::Variable(variable));
    }
    Ok(JoinGraph::Graphs(match number {
        ANY_GRAPH => GraphPattern::Any,
        0 => GraphPattern::Default,
        graph => GraphPattern::Named(term_id(graph.cast_unsigned())?),
    }))
}

/// The patterns of four numbers each: subject, predicate, object, graph.
fn patterns(terms: &[jlong]) -> Result<Vec<JoinPattern>> {
    let (quads, rest) = terms.as_chunks::<4>();
    if quads.is_empty() || !rest.is_empty() {
        return Err(Failure::Invalid(format!("{} numbers are no patterns of a join", terms.len())));
    }
    let pattern = |&[subject, predicate, object, graph]: &[jlong; 4]| {
        let terms = [join_term(subject)?, join_term(predicate)?, join_term(object)?];
        Ok(JoinPattern { terms, graph: join_graph(graph)? })
    };
    quads.iter().map(pattern).collect()
}

/// Puts the next rows into `rows`, and their number into its last element. Returns whether there may be more.
fn fill(joined: &mut Joined, rows: &mut [jlong]) -> Result<bool> {
    let width = joined.row().len();
    let (number, rows) = rows
        .split_last_mut()
        .ok_or_else(|| Failure::Invalid("the array for rows has no element for their number".to_owned()))?;
    if rows.len() < width {
        return Err(Failure::Invalid(format!("a row of {width} ids does not fit into {} elements", rows.len())));
    }
    *number = 0;
    let mut left = KEYS_MAX;
    let mut places = rows.chunks_exact_mut(width.max(1));
    loop {
        match joined.advance(&mut left)? {
            JoinStep::End => return Ok(false),
            JoinStep::Paused => return Ok(true),
            JoinStep::Row => {
                let place = places.next().unwrap_or_default();
                place.iter_mut().zip(joined.row()).for_each(|(place, id)| *place = id.to_bits().cast_signed());
                *number += 1;
                if places.len() == 0 {
                    return Ok(true);
                }
            }
        }
    }
}

/// Begins to join patterns of four numbers each: a term id, or −2 for variable 0, −3 for variable 1, and so on. A graph
/// of −1 matches every graph, and a variable as graph every named graph. Puts the first rows into `rows`, an id for
/// each variable, and their number into its last element; these may be none although others follow. Returns a handle
/// for [`next_joined`], or 0 if these were all.
fn join<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    snapshot: jlong,
    terms: JLongArray<'l>,
    kinds_of: jint,
    rows: JLongArray<'l>,
) -> Result<jlong> {
    let patterns = patterns(&numbers(env, &terms)?)?;
    let kinds = kinds(kinds_of)?;
    let mut ids = vec![0; rows.len(env)?];
    let (joined, has_more) = REGISTRY.with(snapshot, |object| {
        let mut joined = object.snapshot()?.of_kinds(kinds).join(&patterns);
        let has_more = fill(&mut joined, &mut ids)?;
        Ok((joined, has_more))
    })?;
    rows.set_region(env, 0, &ids)?;
    Ok(if has_more { REGISTRY.add(Object::Join(Box::new(Mutex::new(joined)))) } else { 0 })
}

/// Puts the next rows into `rows`, as [`join`]. Returns whether there may be more.
fn next_joined<'l>(env: &mut Env<'l>, _: JClass<'l>, join: jlong, rows: JLongArray<'l>) -> Result<bool> {
    let mut ids = vec![0; rows.len(env)?];
    let has_more = REGISTRY.with(join, |object| fill(&mut *object.join()?, &mut ids))?;
    rows.set_region(env, 0, &ids)?;
    Ok(has_more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_no_patterns_are_refused() {
        let id = 1_i64 << 56;
        assert!(patterns(&[id, -2, -3, -1, -2, id, id, 0, -2, -3, -4, -5]).is_ok());
        for refused in [&[][..], &[id, id, id], &[0, -2, -3, -1].map(|term| term - (1 << 20)), &[-1, -2, -3, -1]] {
            assert!(matches!(patterns(refused), Err(Failure::Invalid(_))), "{refused:?}");
        }
    }
}
