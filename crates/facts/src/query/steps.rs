//! Queries as steps: what is nested in patterns is a step of its own, and values are kept in slots.

use crate::angle::source::Span;
use crate::ids::PredicateId;
use crate::query::primitives::Primitive;
use crate::value::types::Type;

/// A pattern over the bytes of a value, or an expression if all its slots have values.
#[derive(Debug, Clone)]
pub enum Term {
    /// Any value of a type.
    Wild(Type),
    /// No value.
    Never,
    /// This value.
    Bytes(Vec<u8>),
    /// The value of a slot; or any of the type, which the slot then has.
    Slot(usize, Type),
    /// A string that begins with these bytes, and its rest.
    Prefix(Vec<u8>, Box<Term>),
    /// An array of so many elements.
    Array(Vec<Term>),
    /// An array that begins so, of elements of a type.
    ArrayPrefix(Vec<Term>, Type),
    /// One after the other.
    Record(Vec<Term>),
    /// An alternative and its value.
    Tagged(u64, Box<Term>),
}

/// Part of a query. The order of steps is the planner's.
#[derive(Debug, Clone)]
pub enum Step {
    /// Facts of a predicate, with patterns for id, key and value.
    Facts {
        /// The predicate.
        predicate: PredicateId,
        /// The id: a slot, bytes or anything.
        id: Term,
        /// The key.
        key: Term,
        /// The value.
        value: Term,
    },
    /// Two terms that have the same value.
    Same(Term, Term),
    /// An element of an array or a set.
    Element {
        /// The element.
        item: Term,
        /// The array or the set.
        of: Term,
        /// The type of elements.
        ty: Type,
    },
    /// The result of a primitive.
    Primitive {
        /// The primitive.
        primitive: Primitive,
        /// Its result.
        result: Term,
        /// Its arguments.
        arguments: Vec<Term>,
        /// Their types.
        types: Vec<Type>,
    },
    /// One of these, and their place in the text of the query.
    Or(Vec<Vec<Step>>, Span),
    /// The second for each match of the first; the third if there is none. And their place.
    If(Box<[Vec<Step>; 3]>, Span),
    /// Holds if the steps do not.
    Not(Vec<Step>),
    /// The set of all values of a term.
    All {
        /// Where the set is kept.
        result: usize,
        /// The term.
        item: Term,
        /// The steps that give it values.
        steps: Vec<Step>,
    },
    /// Facts that are derived when they are asked for.
    Derived {
        /// The predicate.
        predicate: PredicateId,
        /// The id.
        id: Term,
        /// The pattern of the key, for facts whose id is known.
        key: Term,
        /// The pattern of the value.
        value: Term,
        /// The steps that derive, which match the key too.
        steps: Vec<Step>,
        /// The key that they derive.
        derived_key: Term,
        /// The value that they derive.
        derived_value: Term,
    },
}

/// The most loops in each other: each needs some stack.
pub const LOOPS_MAX: usize = 500;

/// How many operations that steps become are in each other, at least.
pub fn depth_of(steps: &[Step]) -> usize {
    let of_one = |step: &Step| match step {
        Step::Or(branches, _) => 1 + branches.iter().map(|branch| depth_of(branch)).max().unwrap_or(0),
        Step::If(parts, _) => 1 + (depth_of(&parts[0]) + depth_of(&parts[1])).max(depth_of(&parts[2])),
        Step::Not(steps) | Step::All { steps, .. } => 1 + depth_of(steps),
        // Facts with known ids are looked up, and not derived.
        _ => 1,
    };
    steps.iter().map(of_one).sum()
}

impl Term {
    /// The slots in it.
    pub fn slots(&self, found: &mut Vec<usize>) {
        match self {
            Term::Wild(_) | Term::Never | Term::Bytes(_) => {}
            Term::Slot(slot, _) => found.push(*slot),
            Term::Prefix(_, rest) => rest.slots(found),
            Term::Tagged(_, inner) => inner.slots(found),
            Term::Array(terms) | Term::ArrayPrefix(terms, _) | Term::Record(terms) => {
                terms.iter().for_each(|term| term.slots(found));
            }
        }
    }

    /// Whether it has a value, if these slots have.
    pub fn is_ground(&self, has_value: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Term::Wild(ty) => ty.is_without_bytes(),
            Term::Never | Term::ArrayPrefix(..) => false,
            Term::Bytes(_) => true,
            Term::Slot(slot, _) => has_value(*slot),
            Term::Prefix(_, rest) => rest.is_ground(has_value),
            Term::Tagged(_, inner) => inner.is_ground(has_value),
            Term::Array(terms) | Term::Record(terms) => terms.iter().all(|term| term.is_ground(has_value)),
        }
    }
}

impl Step {
    /// The slots in it and in the steps within.
    pub fn slots(&self, found: &mut Vec<usize>) {
        let all = |steps: &[Step], found: &mut Vec<usize>| steps.iter().for_each(|step| step.slots(found));
        match self {
            Step::Facts { id, key, value, .. } => [id, key, value].into_iter().for_each(|term| term.slots(found)),
            Step::Same(left, right) => [left, right].into_iter().for_each(|term| term.slots(found)),
            Step::Element { item, of, .. } => [item, of].into_iter().for_each(|term| term.slots(found)),
            Step::Primitive { result, arguments, .. } => {
                result.slots(found);
                arguments.iter().for_each(|term| term.slots(found));
            }
            Step::Or(branches, _) => branches.iter().for_each(|steps| all(steps, found)),
            Step::If(parts, _) => parts.iter().for_each(|steps| all(steps, found)),
            Step::Not(steps) => all(steps, found),
            Step::All { result, item, steps } => {
                found.push(*result);
                item.slots(found);
                all(steps, found);
            }
            Step::Derived { id, key, value, steps, derived_key, derived_value, .. } => {
                [id, key, value, derived_key, derived_value].into_iter().for_each(|term| term.slots(found));
                all(steps, found);
            }
        }
    }
}
