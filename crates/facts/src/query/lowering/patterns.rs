//! Patterns of variables: which terms are such patterns, and the branches in which they are repeated.
//!
//! `(a.P X | a.Q X); X = "a"..` has the solutions of `((a.P X; X = "a"..) | (a.Q X; X = "a"..)); X = "a"..`, whose
//! branches are narrowed by themselves. (1) What is said in a branch follows from what is said beside the branches, so
//! no solution is lost or added. (2) It mentions no variable but the one that the branch has in a key: other parts of
//! the pattern match anything there. So a branch gives values to the same variables as before. (3) Conditions,
//! negations and sets are left alone: they ask about values that variables have outside of them. (4) What is
//! repeated is bounded for a whole query. If the query has no plan with it, the query is planned without it.

use std::collections::{HashMap, HashSet};

use crate::query::steps::{Step, Term};
use crate::value::types::Type;

/// The most parts of patterns that are repeated in all branches of a query.
pub const REPEATED_MAX: usize = 10_000;
/// So many patterns of a list of steps at most are repeated.
const PATTERNS_MAX: usize = 1_000;
/// A text of so many bytes is as large as a part.
const BYTES_PER_PART: usize = 64;

/// Repeats patterns of variables in the branches that have these variables in keys. `left` is the number of parts
/// that may still be repeated.
pub(super) fn repeat_in_branches(steps: &mut [Step], left: &mut usize) {
    if *left == 0 || !steps.iter().any(|step| matches!(step, Step::Or(..) | Step::If(..))) {
        return;
    }
    let mut patterns: HashMap<usize, Vec<Pattern>> = HashMap::new();
    for (slot, pattern) in steps.iter().filter_map(|step| Pattern::of(step, *left)).take(PATTERNS_MAX) {
        patterns.entry(slot).or_default().push(pattern);
    }
    if !patterns.is_empty() {
        repeat_within(&patterns, &mut HashSet::new(), steps, left);
    }
}

/// What is said of a variable in branches.
struct Pattern {
    ty: Type,
    term: Term,
    parts: usize,
}

impl Pattern {
    /// The pattern of a variable that a step says, and the slot of the variable, if it says more than that there are
    /// parts, and has at most `parts_max`.
    fn of(step: &Step, parts_max: usize) -> Option<(usize, Self)> {
        let Step::Same(left, right) = step else { return None };
        let (slot, ty, term) = match (left, right) {
            (Term::Slot(slot, ty), term) | (term, Term::Slot(slot, ty)) if is_pattern(term) => (*slot, ty, term),
            _ => return None,
        };
        let parts = size_of_pattern(term);
        if parts > parts_max {
            return None;
        }
        let term = without_slots(term)?;
        (is_pattern(&term) && has_constants(&term)).then(|| (slot, Self { ty: ty.clone(), term, parts }))
    }
}

/// Says patterns again in the branches of steps. `said` are the variables whose patterns branches around them say.
fn repeat_within(
    patterns: &HashMap<usize, Vec<Pattern>>,
    said: &mut HashSet<usize>,
    steps: &mut [Step],
    left: &mut usize,
) {
    for step in steps {
        match step {
            Step::Or(branches, _) => branches.iter_mut().for_each(|branch| repeat(patterns, said, branch, left)),
            // The condition is asked about values that are there, or gives them.
            Step::If(parts, _) => parts[1..].iter_mut().for_each(|branch| repeat(patterns, said, branch, left)),
            _ => {}
        }
    }
}

/// Says patterns again in a branch. A pattern of a variable that is not in a key of the branch itself is said in the
/// branches within it. When the branch is narrowed, these get the patterns that are said here.
fn repeat(
    patterns: &HashMap<usize, Vec<Pattern>>,
    said: &mut HashSet<usize>,
    branch: &mut Vec<Step>,
    left: &mut usize,
) {
    if *left == 0 {
        return;
    }
    let mut slots = Vec::new();
    for step in branch.iter() {
        if let Step::Facts { key, .. } | Step::Derived { key, .. } = step {
            key.slots(&mut slots);
        }
    }
    slots.retain(|slot| patterns.contains_key(slot) && said.insert(*slot));
    repeat_within(patterns, said, branch, left);
    for slot in slots {
        said.remove(&slot);
        for pattern in patterns.get(&slot).into_iter().flatten() {
            if pattern.parts <= *left {
                *left -= pattern.parts;
                branch.push(Step::Same(Term::Slot(slot, pattern.ty.clone()), pattern.term.clone()));
            }
        }
    }
}

/// The number of parts of a pattern, with long texts as several.
fn size_of_pattern(term: &Term) -> usize {
    match term {
        Term::Bytes(bytes) => 1 + bytes.len() / BYTES_PER_PART,
        Term::Prefix(bytes, rest) => 1 + bytes.len() / BYTES_PER_PART + size_of_pattern(rest),
        Term::Tagged(_, inner) => 1 + size_of_pattern(inner),
        Term::Record(terms) | Term::Array(terms) | Term::ArrayPrefix(terms, _) => {
            1 + terms.iter().map(size_of_pattern).sum::<usize>()
        }
        Term::Wild(_) | Term::Never | Term::Slot(..) => 1,
    }
}

/// Whether a term has open parts, and is an expression once these have values.
pub(super) fn is_pattern(term: &Term) -> bool {
    let has_parts = matches!(term, Term::Record(_) | Term::Tagged(..) | Term::Prefix(..));
    has_parts && !term.is_ground(&|_| false) && can_be_closed(term)
}

fn can_be_closed(term: &Term) -> bool {
    match term {
        Term::Wild(_) | Term::Bytes(_) | Term::Slot(..) => true,
        Term::Prefix(_, inner) | Term::Tagged(_, inner) => can_be_closed(inner),
        Term::Record(terms) => terms.iter().all(can_be_closed),
        Term::Array(_) => term.is_ground(&|_| true),
        Term::Never | Term::ArrayPrefix(..) => false,
    }
}

/// A pattern that matches whatever this one matches, and has no variables. `None`, if the type of a part is not known.
fn without_slots(term: &Term) -> Option<Term> {
    Some(match term {
        Term::Wild(_) | Term::Bytes(_) => term.clone(),
        Term::Slot(_, ty) => Term::Wild(ty.clone()),
        Term::Prefix(bytes, rest) => Term::Prefix(bytes.clone(), Box::new(without_slots(rest)?)),
        Term::Tagged(tag, inner) => Term::Tagged(*tag, Box::new(without_slots(inner)?)),
        Term::Record(terms) => Term::Record(terms.iter().map(without_slots).collect::<Option<_>>()?),
        Term::Array(_) if term.is_ground(&|_| false) => term.clone(),
        Term::Array(_) | Term::Never | Term::ArrayPrefix(..) => return None,
    })
}

/// Whether a pattern has a part that does not match everything.
fn has_constants(term: &Term) -> bool {
    match term {
        Term::Bytes(bytes) => !bytes.is_empty(),
        Term::Prefix(..) | Term::Tagged(..) | Term::Array(_) => true,
        Term::Record(terms) => terms.iter().any(has_constants),
        Term::Wild(_) | Term::Slot(..) | Term::Never | Term::ArrayPrefix(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::angle::source::Span;
    use crate::ids::PredicateId;

    fn variable(slot: usize) -> Term {
        Term::Slot(slot, Type::String)
    }

    /// `X = "a"..`, with a text of so many bytes.
    fn begins(slot: usize, bytes: usize) -> Step {
        Step::Same(variable(slot), Term::Prefix(vec![b'a'; bytes], Box::new(Term::Wild(Type::String))))
    }

    fn facts(slot: usize) -> Step {
        let any = || Term::Wild(Type::unit());
        Step::Facts { predicate: PredicateId::FIRST, id: any(), key: variable(slot), value: any() }
    }

    fn either(branches: Vec<Vec<Step>>) -> Step {
        Step::Or(branches, Span::default())
    }

    /// The number of steps of each branch, those within the branches included.
    fn lengths(steps: &[Step]) -> Vec<usize> {
        let mut found = Vec::new();
        for step in steps {
            if let Step::Or(branches, _) = step {
                let of_branch = |branch: &Vec<Step>| branch.len() + lengths(branch).iter().sum::<usize>();
                found.extend(branches.iter().map(of_branch));
            }
        }
        found
    }

    fn repeated(mut steps: Vec<Step>, mut left: usize) -> (Vec<usize>, usize) {
        repeat_in_branches(&mut steps, &mut left);
        (lengths(&steps), left)
    }

    #[test]
    fn a_branch_says_the_patterns_of_the_variables_in_its_keys() {
        let branches = || either(vec![vec![facts(0)], vec![facts(1)], vec![facts(2)]]);
        let steps = || vec![begins(0, 1), branches(), begins(1, 1), begins(1, 2)];
        // A prefix has two parts.
        assert_eq!(repeated(steps(), 100), (vec![2, 3, 1], 94));
        let within = either(vec![vec![either(vec![vec![facts(0)], vec![facts(1)]])], vec![facts(1)]]);
        assert_eq!(repeated(vec![within, begins(0, 1)], 100), (vec![4, 1], 98));
    }

    #[test]
    fn a_variable_in_a_branch_and_in_one_within_it_is_said_in_the_outer_one() {
        let within = either(vec![vec![facts(0), either(vec![vec![facts(0)]])], vec![either(vec![vec![facts(0)]])]]);
        assert_eq!(repeated(vec![within, begins(0, 1)], 100), (vec![4, 3], 96));
    }

    #[test]
    fn what_is_said_again_in_a_query_is_bounded() {
        let steps = || vec![begins(0, 1), either(vec![vec![facts(0)]; 5])];
        assert_eq!(repeated(steps(), 5), (vec![2, 2, 1, 1, 1], 1));
        assert_eq!(repeated(steps(), 0), (vec![1; 5], 0));
        // A long text is more than a part.
        let long = vec![begins(0, 100 * BYTES_PER_PART), either(vec![vec![facts(0)]; 5])];
        assert_eq!(repeated(long, 250), (vec![2, 2, 1, 1, 1], 250 - 2 * 102));
        let many: Vec<Step> = (0..2 * PATTERNS_MAX).map(|slot| begins(slot, 1)).collect();
        let branch = (0..2 * PATTERNS_MAX).map(facts).collect();
        let steps = [many, vec![either(vec![branch])]].concat();
        assert_eq!(repeated(steps, usize::MAX).0, [3 * PATTERNS_MAX]);
    }
}
