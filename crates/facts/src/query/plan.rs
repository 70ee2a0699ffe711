//! The order of steps, and their compiled form.
//!
//! At each point, of the steps that can be taken, the one that is expected to match least often is taken next. What it
//! finds gives values to slots, with which more steps can be taken, by longer prefixes of keys.
//!
//! Invariant: a slot that has a value is compared, and never gets another one. So a step with branches is taken only if
//! each slot that other steps mention has a value in all of its branches or in none. Other steps that give the slot a
//! value come first. If none can, they move into each of the branches.

use std::collections::HashSet;

use crate::angle::source::Span;
use crate::ids::PredicateId;
use crate::query::matcher::{Expression, Matcher, ground_prefix};
use crate::query::primitives::Primitive;
use crate::query::steps::{Step, Term};
use crate::value::types::Type;

/// What is done, in order, nested in each other.
#[derive(Debug)]
pub enum Operation {
    /// All facts with a prefix, one after the other.
    Seek {
        /// The predicate.
        predicate: PredicateId,
        /// The beginning of keys.
        prefix: Expression,
        /// What the id is matched with.
        id: Matcher,
        /// What the key is matched with.
        key: Matcher,
        /// What the value is matched with, if it matters.
        value: Option<Matcher>,
    },
    /// The fact with a key, if there is one.
    ByKey {
        /// The predicate.
        predicate: PredicateId,
        /// The key.
        key: Expression,
        /// What the id is matched with.
        id: Matcher,
        /// What the value is matched with, if it matters.
        value: Option<Matcher>,
    },
    /// The fact with an id.
    ById {
        /// The predicate.
        predicate: PredicateId,
        /// The id.
        id: Expression,
        /// What the key is matched with.
        key: Matcher,
        /// What the value is matched with, if it matters.
        value: Option<Matcher>,
    },
    /// A value that has to match.
    Match(Expression, Matcher),
    /// Each element of an array or a set.
    Elements {
        /// The array or the set.
        of: Expression,
        /// The type of elements.
        ty: Type,
        /// What an element is matched with.
        item: Matcher,
    },
    /// The result of a primitive.
    Primitive {
        /// The primitive.
        primitive: Primitive,
        /// The arguments.
        arguments: Vec<Expression>,
        /// Their types.
        types: Vec<Type>,
        /// What the result is matched with.
        result: Matcher,
    },
    /// The first match only: what gives no value to anything else need not match again.
    First(Vec<Operation>),
    /// One of these.
    Or(Vec<Vec<Operation>>),
    /// The second for each match of the first; the third if there is none.
    If(Box<[Vec<Operation>; 3]>),
    /// Holds if the operations do not.
    Not(Vec<Operation>),
    /// The set of all values.
    All {
        /// The operations that give the values.
        inner: Vec<Operation>,
        /// The value.
        item: Expression,
        /// Where the set is kept.
        slot: usize,
    },
    /// A fact that is derived: its id after it was derived.
    Derive {
        /// The predicate.
        predicate: PredicateId,
        /// The operations that derive it.
        inner: Vec<Operation>,
        /// Its key.
        key: Expression,
        /// Its value.
        value: Expression,
        /// What the id is matched with.
        id: Matcher,
    },
}

/// Steps that cannot be put in an order: some slot has no value.
#[derive(Debug)]
pub struct NoOrder {
    /// The slot that has none, if branches are the reason.
    pub partial: Option<PartialSlot>,
}

impl NoOrder {
    const NO_VALUE: NoOrder = NoOrder { partial: None };
}

/// A slot that gets a value in some branches only, although steps outside of the branches mention it.
#[derive(Debug, Clone, Copy)]
pub struct PartialSlot {
    /// The slot.
    pub slot: usize,
    /// The place of the branches.
    pub span: Span,
}

/// How many facts predicates have.
pub type Counts<'a> = dyn Fn(PredicateId) -> u64 + 'a;

/// Orders and compiles steps. `bound` are the slots that have values, before and after. `stops` says whether to give
/// up.
///
/// # Errors
///
/// If there is no order, or it was given up.
pub fn order(
    steps: &[Step],
    bound: &mut HashSet<usize>,
    outside: &HashSet<usize>,
    counts: &Counts<'_>,
    stops: &dyn Fn() -> bool,
) -> Result<(Vec<Operation>, f64), NoOrder> {
    let mut planner = Planner { counts, stops, trials: 0, moved: 0 };
    planner.steps(steps, bound, outside)
}

struct Planner<'a> {
    counts: &'a Counts<'a>,
    /// Whether to give up.
    stops: &'a dyn Fn() -> bool,
    /// How many estimates are in progress, one within the other.
    trials: usize,
    /// How many steps were moved into branches.
    moved: usize,
}

/// The operation of a step, how many matches are expected, and the slots that have values after it.
type Taken = ((Operation, f64), HashSet<usize>);

/// What a step costs if it is taken now: how many matches are expected, times what each of them costs.
const CANNOT: f64 = f64::INFINITY;
/// The assumed share of a predicate's facts whose keys have a given prefix.
const PREFIX_SHARE: f64 = 0.01;
/// How deep estimates look into steps within steps: each level multiplies the time of planning.
const TRIALS_MAX: usize = 2;
/// The estimate for what is deeper, or cannot be estimated.
const COARSE: f64 = 1000.0;
/// The most steps that are moved into branches, each time that one is. Moved steps can have branches themselves.
const MOVED_MAX: usize = 2_000;
/// How many elements an array has, as far as is known.
const ELEMENTS: f64 = 10.0;

impl Planner<'_> {
    fn steps(
        &mut self,
        steps: &[Step],
        bound: &mut HashSet<usize>,
        outside: &HashSet<usize>,
    ) -> Result<(Vec<Operation>, f64), NoOrder> {
        let slots: Vec<HashSet<usize>> = steps.iter().map(slots_of).collect();
        let mut left: Vec<usize> = (0..steps.len()).collect();
        let mut operations = Vec::with_capacity(steps.len());
        if self.trials == 0 {
            for group in independent(&slots, bound, outside) {
                let inner: Vec<Step> = group.iter().map(|&index| steps[index].clone()).collect();
                // What the group needs is in it: if it has no order alone, it has none with the others.
                let (inner, _) = self.steps(&inner, &mut bound.clone(), outside)?;
                operations.push(Operation::First(inner));
                left.retain(|index| !group.contains(index));
            }
        }
        let (mut rows, mut total) = (1.0_f64, 1.0_f64);
        while !left.is_empty() {
            if (self.stops)() {
                return Err(NoOrder::NO_VALUE);
            }
            let around = |index: usize| {
                let mut around = outside.clone();
                left.iter().filter(|&&other| other != index).for_each(|&other| around.extend(&slots[other]));
                around
            };
            let candidates = self.candidates(steps, &slots, &left, bound, &around);
            // The estimates of steps within steps are coarse: what cannot be compiled is left for later.
            let (mut taken, mut partial) = (None, Vec::new());
            for at in candidates {
                match self.attempt(&steps[left[at]], bound, &around(left[at])) {
                    Ok((compiled, after)) => {
                        taken = Some((at, compiled, after));
                        break;
                    }
                    Err(NoOrder { partial: Some(slot) }) => partial.push((left[at], slot)),
                    Err(NoOrder { partial: None }) => {}
                }
            }
            if taken.is_none()
                && let Some(((operation, matches), after)) =
                    self.with_rest_in_branches(steps, &slots, &left, &partial, bound, outside)
            {
                *bound = after;
                operations.push(operation);
                return Ok((operations, total + rows * matches));
            }
            let taken = taken.or_else(|| self.choice_that_searches(steps, &left, bound, &around));
            let no_order = NoOrder { partial: partial.first().map(|(_, slot)| *slot) };
            let (at, (operation, matches), after) = taken.ok_or(no_order)?;
            left.remove(at);
            *bound = after;
            rows *= matches;
            total += rows;
            operations.push(operation);
        }
        Ok((operations, total))
    }

    /// The steps that can perhaps be taken now, by their places in `left`, the cheapest first.
    fn candidates(
        &mut self,
        steps: &[Step],
        slots: &[HashSet<usize>],
        left: &[usize],
        bound: &HashSet<usize>,
        around: &dyn Fn(usize) -> HashSet<usize>,
    ) -> Vec<usize> {
        let mut candidates: Vec<(f64, usize)> = Vec::new();
        for (at, &index) in left.iter().enumerate() {
            let cost = self.cost(&steps[index], &slots[index], bound, &|| around(index), left.len() == 1);
            if cost < CANNOT {
                candidates.push((cost, at));
            }
            if cost == 0.0 {
                break;
            }
        }
        candidates.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        candidates.into_iter().map(|(_, at)| at).collect()
    }

    /// One of the steps that only `partial` slots keep from being taken, with all other steps that are left in each of
    /// its branches: each branch and the others give the slots their values. "And" distributes over "or".
    fn with_rest_in_branches(
        &mut self,
        steps: &[Step],
        slots: &[HashSet<usize>],
        left: &[usize],
        partial: &[(usize, PartialSlot)],
        bound: &HashSet<usize>,
        outside: &HashSet<usize>,
    ) -> Option<Taken> {
        // Estimates need no order.
        if self.trials > 0 {
            return None;
        }
        partial.iter().find_map(|&(index, PartialSlot { slot, .. })| {
            let rest: Vec<usize> = left.iter().copied().filter(|&other| other != index).collect();
            let mentioned: HashSet<usize> = rest.iter().flat_map(|&other| &slots[other]).copied().collect();
            if !mentioned.contains(&slot) {
                return None;
            }
            // A slot of other steps too does not become local to a branch.
            let around = outside.iter().chain(slots[index].intersection(&mentioned)).copied().collect();
            let with_rest =
                |branch: &Vec<Step>| branch.iter().chain(rest.iter().map(|&other| &steps[other])).cloned().collect();
            let (step, branches) = match &steps[index] {
                Step::Or(branches, span) => (Step::Or(branches.iter().map(with_rest).collect(), *span), branches.len()),
                Step::If(parts, span) => {
                    let [condition, then, otherwise] = &**parts;
                    (Step::If(Box::new([condition.clone(), with_rest(then), with_rest(otherwise)]), *span), 2)
                }
                _ => return None,
            };
            self.moved += rest.len() * branches;
            if self.moved > MOVED_MAX {
                return None;
            }
            self.attempt(&step, bound, &around).ok()
        })
    }

    /// An `if` whose condition searches for values that nothing else gives: the second part is for each match, and the
    /// third if there is none. Both must give these values, or else other steps would take them from the condition's
    /// last match. It is the last that is tried, so that its condition is asked about values that are there.
    fn choice_that_searches(
        &mut self,
        steps: &[Step],
        left: &[usize],
        bound: &HashSet<usize>,
        around: &dyn Fn(usize) -> HashSet<usize>,
    ) -> Option<(usize, (Operation, f64), HashSet<usize>)> {
        left.iter().enumerate().find_map(|(at, &index)| {
            let Step::If(parts, _) = &steps[index] else { return None };
            let around = around(index);
            let (compiled, after) = self.attempt(&steps[index], bound, &around).ok()?;
            let searched = parts[0].iter().flat_map(slots_of).filter(|slot| around.contains(slot));
            searched.into_iter().all(|slot| after.contains(&slot)).then_some((at, compiled, after))
        })
    }

    /// The operation of a step, if it can be taken now, and the slots that have values after it.
    fn attempt(&mut self, step: &Step, bound: &HashSet<usize>, around: &HashSet<usize>) -> Result<Taken, NoOrder> {
        let mut after = bound.clone();
        Ok((self.compile(step, &mut after, around)?, after))
    }

    /// What a step costs now, or [`CANNOT`]. The cost of an `only` step does not matter.
    fn cost(
        &mut self,
        step: &Step,
        slots: &HashSet<usize>,
        bound: &HashSet<usize>,
        around: &dyn Fn() -> HashSet<usize>,
        only: bool,
    ) -> f64 {
        let has_value = |slot: usize| bound.contains(&slot);
        let ready = |slots: &HashSet<usize>| {
            let around = around();
            slots.iter().all(|slot| bound.contains(slot) || !around.contains(slot))
        };
        match step {
            Step::Facts { predicate, id, key, .. } => self.facts_cost(*predicate, id, key, bound),
            Step::Same(left, right) => {
                let can = left.is_ground(&has_value) || right.is_ground(&has_value) || is_never(step);
                if can { 0.0 } else { CANNOT }
            }
            Step::Element { of, .. } if of.is_ground(&has_value) => ELEMENTS,
            Step::Element { .. } => CANNOT,
            Step::Primitive { arguments, .. } if arguments.iter().all(|term| term.is_ground(&has_value)) => 0.1,
            Step::Primitive { .. } => CANNOT,
            Step::Not(_) if ready(slots) => 0.5,
            Step::Not(_) => CANNOT,
            Step::All { item, steps, .. } => {
                let mut inside: HashSet<usize> = steps.iter().flat_map(slots_of).collect();
                let mut of_item = Vec::new();
                item.slots(&mut of_item);
                inside.extend(of_item);
                if ready(&inside) { 1.0 } else { CANNOT }
            }
            Step::If(parts, _) => {
                let condition: HashSet<usize> = parts[0].iter().flat_map(slots_of).collect();
                if !ready(&condition) {
                    return CANNOT;
                }
                if only { 1.0 } else { self.trial(&[&parts[0], &parts[1]], bound) + self.trial(&[&parts[2]], bound) }
            }
            _ if only => 1.0,
            Step::Or(branches, _) => branches.iter().map(|steps| self.trial(&[steps], bound)).sum::<f64>().max(0.2),
            Step::Derived { predicate, id, key, steps, .. } => {
                if id.is_ground(&has_value) {
                    return self.facts_cost(*predicate, id, key, bound);
                }
                self.trial(&[steps], bound)
            }
        }
    }

    /// What steps would cost.
    fn trial(&mut self, parts: &[&Vec<Step>], bound: &HashSet<usize>) -> f64 {
        if self.trials == TRIALS_MAX {
            return COARSE;
        }
        self.trials += 1;
        let mut bound = bound.clone();
        let mut cost = 0.0;
        for steps in parts {
            cost += self.steps(steps, &mut bound, &HashSet::new()).map_or(COARSE, |(_, rows)| rows);
        }
        self.trials -= 1;
        cost
    }

    fn facts_cost(&self, predicate: PredicateId, id: &Term, key: &Term, bound: &HashSet<usize>) -> f64 {
        let has_value = |slot: usize| bound.contains(&slot);
        if id.is_ground(&has_value) || key.is_ground(&has_value) {
            return 1.0;
        }
        let count = (self.counts)(predicate) as f64;
        let (prefix, _) = ground_prefix(key, &has_value);
        if prefix.is_empty() { count + 2.0 } else { (count * PREFIX_SHARE).min(count) + 1.5 }
    }

    /// The operation of a step, and how many matches are expected.
    fn compile(
        &mut self,
        step: &Step,
        bound: &mut HashSet<usize>,
        around: &HashSet<usize>,
    ) -> Result<(Operation, f64), NoOrder> {
        match step {
            Step::Facts { predicate, id, key, value } => {
                let matches = self.facts_cost(*predicate, id, key, bound);
                Ok((facts(*predicate, id, key, value, bound), matches))
            }
            Step::Same(left, right) => {
                let has_value = |slot: usize| bound.contains(&slot);
                let (ground, other) = if left.is_ground(&has_value) { (left, right) } else { (right, left) };
                if !ground.is_ground(&has_value) {
                    return Ok((Operation::Or(Vec::new()), 0.0));
                }
                let expression = Expression::of(ground);
                Ok((Operation::Match(expression, Matcher::of(other, bound)), 1.0))
            }
            Step::Element { item, of, ty } => {
                let of = Expression::of(of);
                Ok((Operation::Elements { of, ty: ty.clone(), item: Matcher::of(item, bound) }, ELEMENTS))
            }
            Step::Primitive { primitive, result, arguments, types } => {
                let arguments = arguments.iter().map(Expression::of).collect();
                let result = Matcher::of(result, bound);
                Ok((Operation::Primitive { primitive: *primitive, arguments, types: types.clone(), result }, 1.0))
            }
            Step::Not(steps) => {
                let (inner, _) = self.steps(steps, &mut bound.clone(), around)?;
                Ok((Operation::Not(inner), 0.5))
            }
            Step::All { result, item, steps } => {
                let mut inside = bound.clone();
                let (inner, _) = self.steps(steps, &mut inside, &with_terms(around, &[item]))?;
                if !item.is_ground(&|slot| inside.contains(&slot)) {
                    return Err(NoOrder::NO_VALUE);
                }
                bound.insert(*result);
                Ok((Operation::All { inner, item: Expression::of(item), slot: *result }, 1.0))
            }
            Step::If(parts, span) => self.compile_if(parts, *span, bound, around),
            Step::Or(branches, span) => self.compile_or(branches, *span, bound, around),
            Step::Derived { predicate, id, key, value, steps, derived_key, derived_value } => {
                if id.is_ground(&|slot| bound.contains(&slot)) {
                    return Ok((facts(*predicate, id, key, value, bound), 1.0));
                }
                let around = with_terms(around, &[id, derived_key, derived_value]);
                let (inner, matches) = self.steps(steps, bound, &around)?;
                let ground = |term: &Term| term.is_ground(&|slot| bound.contains(&slot));
                if !ground(derived_key) || !ground(derived_value) {
                    return Err(NoOrder::NO_VALUE);
                }
                let (key, value) = (Expression::of(derived_key), Expression::of(derived_value));
                let id = Matcher::of(id, bound);
                Ok((Operation::Derive { predicate: *predicate, inner, key, value, id }, matches))
            }
        }
    }

    fn compile_if(
        &mut self,
        parts: &[Vec<Step>; 3],
        span: Span,
        bound: &mut HashSet<usize>,
        around: &HashSet<usize>,
    ) -> Result<(Operation, f64), NoOrder> {
        let mut around_condition = around.clone();
        parts[1].iter().for_each(|step| around_condition.extend(slots_of(step)));
        let mut in_then = bound.clone();
        let (condition, rows) = self.steps(&parts[0], &mut in_then, &around_condition)?;
        let (then, rows_then) = self.steps(&parts[1], &mut in_then, around)?;
        let mut in_otherwise = bound.clone();
        let (otherwise, rows_otherwise) = self.steps(&parts[2], &mut in_otherwise, around)?;
        let given: HashSet<usize> = in_then.union(&in_otherwise).copied().collect();
        *bound = match [&parts[1], &parts[2]].map(|part| part.iter().any(is_never)) {
            // What is behind a part that never holds does not matter.
            [_, true] => in_then,
            [true, false] => in_otherwise,
            [false, false] => in_then.intersection(&in_otherwise).copied().collect(),
        };
        check_given(&given, bound, around, span)?;
        Ok((Operation::If(Box::new([condition, then, otherwise])), (rows * rows_then).max(rows_otherwise)))
    }

    fn compile_or(
        &mut self,
        branches: &[Vec<Step>],
        span: Span,
        bound: &mut HashSet<usize>,
        around: &HashSet<usize>,
    ) -> Result<(Operation, f64), NoOrder> {
        let (mut compiled, mut matches) = (Vec::with_capacity(branches.len()), 0.0);
        let mut bound_in_all: Option<HashSet<usize>> = None;
        let mut given = HashSet::new();
        for steps in branches {
            let mut inside = bound.clone();
            let (operations, rows) = self.steps(steps, &mut inside, around)?;
            matches += rows;
            compiled.push(operations);
            given.extend(&inside);
            bound_in_all = Some(match bound_in_all {
                None => inside,
                Some(others) => others.intersection(&inside).copied().collect(),
            });
        }
        if let Some(bound_in_all) = bound_in_all {
            *bound = bound_in_all;
        }
        check_given(&given, bound, around, span)?;
        Ok((Operation::Or(compiled), matches))
    }
}

/// Checks that no slot of steps `around` is `given` a value by some branches only. Such a slot would not be in `bound`,
/// the slots that have values after all branches, and the next step that mentions it would give it another value.
fn check_given(
    given: &HashSet<usize>,
    bound: &HashSet<usize>,
    around: &HashSet<usize>,
    span: Span,
) -> Result<(), NoOrder> {
    // The first one, so that an error names the same variable each time.
    match given.difference(bound).copied().filter(|slot| around.contains(slot)).min() {
        Some(slot) => Err(NoOrder { partial: Some(PartialSlot { slot, span }) }),
        None => Ok(()),
    }
}

/// Slots, and those of terms.
fn with_terms(slots: &HashSet<usize>, terms: &[&Term]) -> HashSet<usize> {
    let mut found = Vec::new();
    terms.iter().for_each(|term| term.slots(&mut found));
    slots.iter().copied().chain(found).collect()
}

/// Groups of steps that share no slots without values with other steps, nor with what is outside: they either hold or
/// do not. All steps together are no such group.
fn independent(slots: &[HashSet<usize>], bound: &HashSet<usize>, outside: &HashSet<usize>) -> Vec<Vec<usize>> {
    let mut groups = Vec::new();
    let mut left: Vec<usize> = (0..slots.len()).collect();
    while let Some(first) = left.pop() {
        let (mut group, mut open) = (vec![first], slots[first].difference(bound).copied().collect::<HashSet<_>>());
        while let Some(at) = left.iter().position(|&other| slots[other].iter().any(|slot| open.contains(slot))) {
            let other = left.swap_remove(at);
            open.extend(slots[other].difference(bound));
            group.push(other);
        }
        if group.len() < slots.len() && open.is_disjoint(outside) {
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups
}

/// Whether a step never holds, whatever has values.
fn is_never(step: &Step) -> bool {
    matches!(step, Step::Same(Term::Never, _) | Step::Same(_, Term::Never))
}

fn slots_of(step: &Step) -> HashSet<usize> {
    let mut slots = Vec::new();
    step.slots(&mut slots);
    slots.into_iter().collect()
}

/// Facts by id, by key, or by a prefix of their keys.
fn facts(predicate: PredicateId, id: &Term, key: &Term, value: &Term, bound: &mut HashSet<usize>) -> Operation {
    let matters =
        |value: &Term| !matches!(value, Term::Wild(_)) && !matches!(value, Term::Bytes(bytes) if bytes.is_empty());
    if id.is_ground(&|slot| bound.contains(&slot)) {
        let id = Expression::of(id);
        let key = Matcher::of(key, bound);
        let value = matters(value).then(|| Matcher::of(value, bound));
        return Operation::ById { predicate, id, key, value };
    }
    if key.is_ground(&|slot| bound.contains(&slot)) {
        let key = Expression::of(key);
        let id = Matcher::of(id, bound);
        let value = matters(value).then(|| Matcher::of(value, bound));
        return Operation::ByKey { predicate, key, id, value };
    }
    let (prefix, rest) = ground_prefix(key, &|slot| bound.contains(&slot));
    let key = Matcher::of(&rest, bound);
    let id = Matcher::of(id, bound);
    let value = matters(value).then(|| Matcher::of(value, bound));
    Operation::Seek { predicate, prefix, id, key, value }
}
