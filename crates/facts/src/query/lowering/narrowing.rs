//! Patterns of variables move into the keys that are searched.
//!
//! `a.P X; X = "a"..` is lowered as `a.P ("a".. R); X = "a".. R`: a search by prefix, and not of all facts of `a.P`.
//! Each part of the pattern that matches anything becomes a variable, so that the pattern is an expression for `X` once
//! its parts have values. The variable is still equal to the pattern, in a step of its own.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::query::lowering::patterns::{is_pattern, repeat_in_branches};
use crate::query::lowering::{Lowering, same};
use crate::query::steps::{Step, Term};
use crate::value::types::Type;

/// So many steps at most say that the parts of two patterns are the same.
const PARTS_MAX: usize = 16;
/// So many parts at most are put into the keys of a list of steps.
const SUBSTITUTED_MAX: usize = 10_000;
/// How many patterns are put into each other at most.
const DEPTH_MAX: usize = 32;

impl Lowering<'_> {
    /// The steps, in the lists within too, with patterns of variables in the keys that have these variables. Branches
    /// of alternatives and choices have the patterns that are beside them.
    pub(super) fn narrowed(&mut self, mut steps: Vec<Step>) -> Vec<Step> {
        repeat_in_branches(&mut steps, &mut self.repeated_left);
        let mut narrowing = Narrowing {
            lowering: &mut *self,
            steps: Vec::with_capacity(steps.len()),
            equal: HashMap::new(),
            patterns: BTreeMap::new(),
            closed: HashMap::new(),
            in_keys: HashSet::new(),
            open: Vec::new(),
            path: Vec::new(),
            parts_left: SUBSTITUTED_MAX,
        };
        steps.into_iter().for_each(|step| narrowing.add(step));
        let mut steps = narrowing.finish();
        steps.iter_mut().for_each(|step| self.narrow_within(step));
        steps
    }

    fn narrow_within(&mut self, step: &mut Step) {
        let mut narrow = |steps: &mut Vec<Step>| *steps = self.narrowed(std::mem::take(steps));
        match step {
            Step::Or(branches, _) => branches.iter_mut().for_each(narrow),
            Step::If(parts, _) => parts.iter_mut().for_each(narrow),
            Step::Not(steps) | Step::All { steps, .. } | Step::Derived { steps, .. } => narrow(steps),
            Step::Facts { .. } | Step::Same(..) | Step::Element { .. } | Step::Primitive { .. } => {}
        }
    }

    /// A pattern with a variable for each part that matches anything.
    fn closed(&mut self, pattern: Term) -> Term {
        match pattern {
            Term::Wild(ty) if !ty.is_without_bytes() => self.slot_term(&ty),
            Term::Prefix(bytes, rest) => Term::Prefix(bytes, Box::new(self.closed(*rest))),
            Term::Tagged(tag, inner) => Term::Tagged(tag, Box::new(self.closed(*inner))),
            Term::Record(terms) => Term::Record(terms.into_iter().map(|term| self.closed(term)).collect()),
            other => other,
        }
    }
}

/// The patterns of variables in a list of steps.
struct Narrowing<'n, 'a> {
    lowering: &'n mut Lowering<'a>,
    /// The steps that are not patterns of variables.
    steps: Vec<Step>,
    /// Variables that are equal form a class, which one of them stands for: each leads towards that one.
    equal: HashMap<usize, usize>,
    /// By class: variables of it, their types, and their patterns.
    patterns: BTreeMap<usize, Vec<(usize, Type, Term)>>,
    /// By class: one pattern of all, without parts that match anything.
    closed: HashMap<usize, Term>,
    /// The classes of variables in keys.
    in_keys: HashSet<usize>,
    /// Variables in keys, or with several patterns: these are perhaps closed.
    open: Vec<usize>,
    /// The classes whose patterns are being put into each other.
    path: Vec<usize>,
    /// How many parts may still be put into keys.
    parts_left: usize,
}

impl Narrowing<'_, '_> {
    fn class(&mut self, slot: usize) -> usize {
        let mut at = slot;
        while let Some(&next) = self.equal.get(&at) {
            // The way becomes shorter each time.
            if let Some(&after) = self.equal.get(&next) {
                self.equal.insert(at, after);
            }
            at = next;
        }
        at
    }

    /// Adds a step, or a pattern of a variable if it is one.
    fn add(&mut self, step: Step) {
        match step {
            Step::Same(Term::Slot(slot, ty), term) | Step::Same(term, Term::Slot(slot, ty)) if is_pattern(&term) => {
                self.add_pattern(slot, ty, term);
            }
            step => {
                if let Step::Same(Term::Slot(left, _), Term::Slot(right, _)) = &step {
                    self.join(*left, *right);
                }
                self.steps.push(step);
            }
        }
    }

    fn add_pattern(&mut self, slot: usize, ty: Type, pattern: Term) {
        let class = self.class(slot);
        if let Some(closed) = self.closed.get(&class).cloned() {
            return self.add_same(closed, pattern, Term::Slot(slot, ty));
        }
        let patterns = self.patterns.entry(class).or_default();
        patterns.push((slot, ty, pattern));
        if patterns.len() == 2 || self.in_keys.contains(&class) {
            self.open.push(slot);
        }
    }

    /// Adds that a pattern of a variable is the same as another one: part by part, unless there are many.
    fn add_same(&mut self, closed: Term, pattern: Term, variable: Term) {
        let mut parts = Vec::new();
        same(closed, pattern.clone(), &mut parts);
        if parts.len() > PARTS_MAX {
            self.steps.push(Step::Same(variable, pattern));
            return;
        }
        parts.into_iter().for_each(|part| self.add(part));
    }

    /// Makes two classes one.
    fn join(&mut self, left: usize, right: usize) {
        let (left, right) = (self.class(left), self.class(right));
        if left == right {
            return;
        }
        let (class, other) = (left.min(right), left.max(right));
        self.equal.insert(other, class);
        if self.in_keys.remove(&other) {
            self.in_keys.insert(class);
        }
        // Both may be closed. Then the step that joined them compares them.
        if let Some(closed) = self.closed.remove(&other) {
            self.closed.entry(class).or_insert(closed);
        }
        let [mut few, mut many] = [class, other].map(|of| self.patterns.remove(&of).unwrap_or_default());
        if few.len() > many.len() {
            std::mem::swap(&mut few, &mut many);
        }
        if self.closed.contains_key(&class) {
            few.append(&mut many);
        } else if !many.is_empty() {
            self.patterns.insert(class, many);
        }
        few.into_iter().for_each(|(slot, ty, pattern)| self.add_pattern(slot, ty, pattern));
        if self.in_keys.contains(&class) {
            self.open.push(class);
        }
    }

    /// Whether a class is in keys, or one of its patterns has a variable that is. Only patterns of these are closed:
    /// others would give values to variables that nothing gives a value.
    fn meets_keys(&mut self, class: usize) -> bool {
        let mut slots = vec![class];
        self.patterns.get(&class).into_iter().flatten().for_each(|(_, _, pattern)| pattern.slots(&mut slots));
        slots.into_iter().any(|slot| {
            let class = self.class(slot);
            self.in_keys.contains(&class)
        })
    }

    /// Closes the patterns of a class, and makes them one.
    fn close(&mut self, class: usize) {
        let mut patterns = self.patterns.remove(&class).unwrap_or_default().into_iter();
        let Some((slot, ty, pattern)) = patterns.next() else { return };
        let closed = self.lowering.closed(pattern);
        self.closed.insert(class, closed.clone());
        self.steps.push(Step::Same(Term::Slot(slot, ty), closed));
        patterns.for_each(|(slot, ty, pattern)| self.add_pattern(slot, ty, pattern));
    }

    fn reach(&mut self, slots: &[usize]) {
        for &slot in slots {
            let class = self.class(slot);
            if self.in_keys.insert(class) {
                self.open.push(class);
            }
        }
    }

    fn finish(mut self) -> Vec<Step> {
        if self.patterns.is_empty() {
            return self.steps;
        }
        let mut slots = Vec::new();
        for step in &self.steps {
            if let Step::Facts { key, .. } | Step::Derived { key, .. } = step {
                key.slots(&mut slots);
            }
        }
        self.reach(&slots);
        while let Some(slot) = self.open.pop() {
            let class = self.class(slot);
            if self.meets_keys(class) {
                self.close(class);
            }
            if self.in_keys.contains(&class)
                && let Some(closed) = self.closed.get(&class)
            {
                let mut slots = Vec::new();
                closed.slots(&mut slots);
                self.reach(&slots);
            }
        }
        let left = std::mem::take(&mut self.patterns).into_values().flatten();
        let mut steps: Vec<Step> = left.map(|(slot, ty, pattern)| Step::Same(Term::Slot(slot, ty), pattern)).collect();
        for step in std::mem::take(&mut self.steps) {
            steps.push(self.with_patterns(step));
        }
        // The planner stops comparing at a step that costs nothing.
        steps.sort_by_key(|step| !matches!(step, Step::Same(..)));
        steps
    }

    /// A step whose keys have patterns for variables.
    fn with_patterns(&mut self, step: Step) -> Step {
        match step {
            Step::Facts { predicate, id, key, value } => {
                Step::Facts { predicate, id, key: self.substituted(key), value }
            }
            Step::Derived { predicate, id, key, value, steps, derived_key, derived_value } => {
                let key = self.substituted(key);
                let steps = self.with_patterns_in_derivation(steps);
                Step::Derived { predicate, id, key, value, steps, derived_key, derived_value }
            }
            other => other,
        }
    }

    /// The steps of a derivation, some matching the key.
    fn with_patterns_in_derivation(&mut self, steps: Vec<Step>) -> Vec<Step> {
        let mut changed = Vec::with_capacity(steps.len());
        for step in steps {
            match step {
                Step::Same(left, right) => {
                    let mut parts = Vec::new();
                    same(self.substituted(left.clone()), self.substituted(right.clone()), &mut parts);
                    if parts.len() > PARTS_MAX {
                        parts = vec![Step::Same(left, right)];
                    }
                    changed.append(&mut parts);
                }
                other => changed.push(other),
            }
        }
        changed
    }

    /// A term with closed patterns in the places of their variables.
    fn substituted(&mut self, term: Term) -> Term {
        match term {
            Term::Slot(slot, ty) => {
                let class = self.class(slot);
                let parts = self.closed.get(&class).map_or(0, parts_of);
                match self.closed.get(&class).filter(|_| parts <= self.parts_left).cloned() {
                    Some(closed) if self.path.len() < DEPTH_MAX && !self.path.contains(&class) => {
                        self.parts_left -= parts;
                        self.path.push(class);
                        let closed = self.substituted(closed);
                        self.path.pop();
                        closed
                    }
                    _ => Term::Slot(slot, ty),
                }
            }
            Term::Prefix(bytes, rest) => Term::Prefix(bytes, Box::new(self.substituted(*rest))),
            Term::Tagged(tag, inner) => Term::Tagged(tag, Box::new(self.substituted(*inner))),
            Term::Record(terms) => Term::Record(terms.into_iter().map(|term| self.substituted(term)).collect()),
            other => other,
        }
    }
}

/// The number of parts of a term.
fn parts_of(term: &Term) -> usize {
    match term {
        Term::Prefix(_, inner) | Term::Tagged(_, inner) => 1 + parts_of(inner),
        Term::Record(terms) => 1 + terms.iter().map(parts_of).sum::<usize>(),
        _ => 1,
    }
}
