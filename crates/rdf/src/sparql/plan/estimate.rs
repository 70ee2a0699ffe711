//! How many rows a step of a join has: from exact counts of the store, for a few rows that are carried along.
//!
//! A join is planned with up to [`SAMPLE`] of its real rows in hand. What a further triple pattern adds is counted for
//! each of these, which sees how the data hang together, as figures about single predicates cannot. Planning a small
//! query costs as much as evaluating it, so each count is made once, and none that the choice does not depend on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use oxrdf::{Term, Triple as RdfTriple};
use spargebra::algebra::PropertyPathExpression;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

use super::counts;
use super::names::{Name, Names};
use crate::dictionary::seeded_hash::SeededHash;
use crate::sparql::evaluation::evaluation_term::EvaluationTerm;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::sparql::evaluation::scope::{DefaultGraph, Scope};
use crate::sparql::evaluation::terms::Terms;
use crate::{GraphPattern, IdPattern, IdQuad, QuadStep, Quads, TermId};

/// Rows that are carried along.
const SAMPLE: usize = 16;

/// Quads that are looked at to see how many a value that is not known yet has.
const TYPICAL: usize = 4;

/// If so many rows of the sample, far from each other, all have the same number of quads, the others are taken to have
/// it too.
const ALIKE: usize = 4;

/// A triple pattern within its graph, its constants translated.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    triple: [Slot; 3],
    graph: GraphSlot,
}

/// One place of a pattern.
#[derive(Clone, Debug)]
enum Slot {
    /// A constant; `None` if the store has it not.
    Constant(Option<TermId>),
    Name(Rc<Name>),
    /// A triple term with variables in it.
    Composed,
}

#[derive(Clone, Debug)]
enum GraphSlot {
    Default,
    Of(Slot),
}

/// Values of a row that is carried along. What is bound and not here is not known.
type Row = Vec<(Rc<Name>, TermId)>;

/// How far a join has come.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub bound: Names,
    /// Rows, estimated.
    pub rows: f64,
    /// Some of the rows before the steps that wait.
    sample: Vec<Row>,
    /// Whether the sample is all rows.
    whole: bool,
    /// Variables that are bound to values outside the sample.
    unknown: Names,
    /// Steps that the sample has yet to take: nothing asked for it since.
    waiting: Vec<Step>,
}

/// A triple pattern that is joined.
#[derive(Clone, Debug)]
struct Step {
    slots: Slots,
    names: Names,
}

impl Progress {
    /// Before the first step, within rows that bind `outer`.
    pub(super) fn start(outer: &Names, rows: f64) -> Self {
        let (bound, unknown, whole) = (outer.clone(), outer.clone(), outer.is_empty());
        Self { bound, rows, sample: vec![Row::new()], whole, unknown, waiting: Vec::new() }
    }

    /// After a triple pattern is joined.
    pub(super) fn join(&mut self, slots: Slots, names: Names, rows: f64) {
        self.bound.add(&names);
        self.rows = rows;
        self.waiting.push(Step { slots, names });
    }

    /// After a step about which nothing is known but how many rows it leaves.
    pub(super) fn pass(&mut self, names: &Names, rows: f64) {
        self.unknown.add(&names.clone().without(&self.bound));
        self.bound.add(names);
        self.rows = rows;
        self.whole = false;
        if self.sample.is_empty() {
            self.sample.push(Row::new());
        }
    }

    /// Rows that each row of the sample may become.
    fn rows_for_each(&self) -> usize {
        (SAMPLE / self.sample.len().max(1)).max(1)
    }

    /// After a step that left these rows. `cut`: there are others.
    fn advance_to(&mut self, mut sample: Vec<Row>, cut: bool) {
        sample.truncate(SAMPLE);
        self.whole &= !cut && sample.len() < SAMPLE;
        if sample.is_empty() && !self.whole {
            sample.push(Row::new());
        }
        self.sample = sample;
    }
}

impl Slots {
    /// Whether the rows that the pattern adds to those of the sample are as many as its quads, and bind nothing that is
    /// `needed` and not known.
    fn are_counted_rows(&self, progress: &Progress, needed: impl Fn(&Name) -> bool) -> bool {
        let graph = match &self.graph {
            GraphSlot::Of(slot) => Some(slot),
            GraphSlot::Default => None,
        };
        let slots = || self.triple.iter().chain(graph);
        slots().enumerate().all(|(place, slot)| match slot {
            Slot::Constant(_) => true,
            Slot::Composed => false,
            Slot::Name(name) => {
                let again = |other: &Slot| matches!(other, Slot::Name(other) if other == name);
                let is_new = !progress.unknown.contains(name) && !needed(name) && !slots().skip(place + 1).any(again);
                is_new || progress.sample.iter().all(|row| value(row, name).is_some())
            }
        })
    }
}

/// Counts quads for a planner.
pub(super) struct Estimator<'e, Q> {
    terms: &'e Terms<Q>,
    /// For reads that only choose an order of joins.
    unchecked: Q,
    scope: &'e Scope,
    /// What was counted, by pattern: the steps of a join ask for the same again and again.
    counted: RefCell<HashMap<PatternKey, f64, SeededHash>>,
}

/// A pattern as a key: its terms, and its graphs.
type PatternKey = [Option<u64>; 5];

impl<'e, Q: Quads> Estimator<'e, Q> {
    pub(super) fn new(terms: &'e Terms<Q>, scope: &'e Scope) -> Self {
        Self { terms, unchecked: terms.quads().unchecked(), scope, counted: RefCell::default() }
    }

    /// Whether the default graph is the stored one alone.
    pub(super) fn has_stored_default_graph(&self) -> bool {
        matches!(self.scope.default, DefaultGraph::Stored)
    }

    pub(super) fn watch(&self) -> &EvaluationMonitor {
        self.terms.watch()
    }

    pub(super) fn slots(&self, triple: &TriplePattern, graph: Option<&NamedNodePattern>) -> Result<Slots, Stopped> {
        Ok(Slots {
            triple: [
                self.term_slot(&triple.subject)?,
                self.named_node_slot(&triple.predicate)?,
                self.term_slot(&triple.object)?,
            ],
            graph: match graph {
                None => GraphSlot::Default,
                Some(name) => GraphSlot::Of(self.named_node_slot(name)?),
            },
        })
    }

    fn term_slot(&self, pattern: &TermPattern) -> Result<Slot, Stopped> {
        Ok(match pattern {
            TermPattern::NamedNode(node) => Slot::Constant(self.terms.stored(&node.clone().into())?),
            TermPattern::Literal(literal) => Slot::Constant(self.terms.stored(&literal.clone().into())?),
            TermPattern::Variable(variable) => Slot::Name(Rc::new(Name::Variable(variable.clone()))),
            TermPattern::BlankNode(node) => Slot::Name(Rc::new(Name::Blank(node.clone()))),
            TermPattern::Triple(triple) => match ground(triple) {
                Some(triple) => Slot::Constant(self.terms.stored(&Term::from(triple))?),
                None => Slot::Composed,
            },
        })
    }

    fn named_node_slot(&self, pattern: &NamedNodePattern) -> Result<Slot, Stopped> {
        Ok(match pattern {
            NamedNodePattern::NamedNode(node) => Slot::Constant(self.terms.stored(&node.clone().into())?),
            NamedNodePattern::Variable(variable) => Slot::Name(Rc::new(Name::Variable(variable.clone()))),
        })
    }

    /// Rows that the pattern adds to one row of the join, on average. Where they are `enough` or more, some number that
    /// is.
    pub(super) fn fanout(&self, slots: &Slots, progress: &Progress, enough: f64) -> Result<f64, Stopped> {
        if progress.sample.is_empty() {
            return Ok(0.0);
        }
        if enough <= 0.0 {
            return Ok(enough);
        }
        debug_assert!(progress.waiting.is_empty(), "the sample has taken all steps");
        let rows = progress.sample.len() as f64;
        let (mut total, mut first, mut are_alike) = (0.0, 0.0, true);
        for (place, row) in far_apart(progress.sample.len()).map(|row| &progress.sample[row]).enumerate() {
            let count = self.matches(slots, row, &progress.bound)?;
            first = if place == 0 { count } else { first };
            are_alike &= count == first;
            total += count;
            if are_alike && count > 0.0 && place + 1 == ALIKE {
                return Ok(count);
            }
            if total / rows >= enough {
                break;
            }
        }
        if total > 0.0 || progress.whole {
            return Ok(total / rows);
        }
        // None of the sample matched: others may, though they are few.
        Ok(self.matches(slots, &Row::new(), &progress.bound)? / (2.0 * rows).max(SAMPLE as f64))
    }

    /// Rows that a pattern adds to each row whose variables it shares nothing with.
    pub(super) fn fanout_apart(&self, slots: &Slots) -> Result<f64, Stopped> {
        self.matches(slots, &Row::new(), &Names::default())
    }

    /// Has the sample take the steps that wait. `needed`: the variables that patterns not yet joined
    /// use.
    pub(super) fn catch_up(&self, progress: &mut Progress, needed: impl Fn(&Name) -> bool) -> Result<(), Stopped> {
        let waiting = std::mem::take(&mut progress.waiting);
        for (place, Step { slots, .. }) in waiting.iter().enumerate() {
            let later = |name: &Name| waiting[place + 1..].iter().any(|step| step.names.contains(name));
            if slots.are_counted_rows(progress, |name| needed(name) || later(name)) {
                self.advance_by_counts(slots, progress)?;
            } else {
                self.advance(slots, progress)?;
            }
        }
        Ok(())
    }

    /// Joins the pattern to the rows at hand.
    fn advance(&self, slots: &Slots, progress: &mut Progress) -> Result<(), Stopped> {
        let each = progress.rows_for_each();
        let (mut sample, mut cut) = (Vec::new(), false);
        let mut keys_left = counts::KEYS_MAX;
        for row in &progress.sample {
            for pattern in self.patterns(slots, row) {
                let mut quads = self.unchecked.quads(&pattern);
                for _ in 0..each {
                    match counts::next(&mut quads, &mut keys_left, self.watch())? {
                        QuadStep::Quad(quad) => sample.extend(extended(slots, row, quad)),
                        QuadStep::Paused | QuadStep::End => break,
                    }
                }
                cut |= counts::next(&mut quads, &mut keys_left, self.watch())? != QuadStep::End;
            }
        }
        progress.advance_to(sample, cut);
        Ok(())
    }

    /// As [`Estimator::advance`], without the values that the pattern adds: by counts alone. Requires:
    /// [`Slots::are_counted_rows`].
    fn advance_by_counts(&self, slots: &Slots, progress: &mut Progress) -> Result<(), Stopped> {
        if progress.sample.len() > ALIKE {
            let rows = far_apart(progress.sample.len()).take(ALIKE).map(|row| &progress.sample[row]);
            if self.fanout_of(slots, rows)? == Some(1.0) {
                // The others were not looked at.
                progress.whole = false;
                return Ok(());
            }
        }
        let each = progress.rows_for_each();
        let (mut sample, mut cut) = (Vec::new(), false);
        for row in &progress.sample {
            for pattern in self.patterns(slots, row) {
                let count = self.count(&pattern)?;
                cut |= count > each as f64;
                sample.extend(std::iter::repeat_n(row, each.min(count as usize)).cloned());
            }
        }
        progress.advance_to(sample, cut);
        Ok(())
    }

    /// The number of quads that the pattern has for each of the rows, if it is the same.
    fn fanout_of<'r>(&self, slots: &Slots, rows: impl Iterator<Item = &'r Row>) -> Result<Option<f64>, Stopped> {
        let mut alike = None;
        for row in rows {
            let mut total = 0.0;
            for pattern in self.patterns(slots, row) {
                total += self.count(&pattern)?;
            }
            if *alike.get_or_insert(total) != total {
                return Ok(None);
            }
        }
        Ok(alike)
    }

    /// Starts with the rows of `VALUES`.
    pub(super) fn advance_by_values(
        &self,
        variables: &[oxrdf::Variable],
        rows: &[Vec<Option<GroundTerm>>],
        names: &Names,
        progress: &mut Progress,
    ) -> Result<(), Stopped> {
        let at_start = progress.rows <= 1.0 && progress.bound.is_empty();
        progress.pass(names, progress.rows * rows.len() as f64);
        if !at_start {
            return Ok(());
        }
        progress.sample.clear();
        for row in rows.iter().take(SAMPLE) {
            let mut known = Row::new();
            for (variable, value) in variables.iter().zip(row) {
                if let Some(value) = value
                    && let Some(id) = self.terms.stored(&Term::from(value.clone()))?
                {
                    known.push((Rc::new(Name::Variable(variable.clone())), id));
                }
            }
            progress.sample.push(known);
        }
        Ok(())
    }

    /// Quads that match the pattern in one row. A place that is bound to what is not known counts as a typical value
    /// would.
    fn matches(&self, slots: &Slots, row: &Row, bound: &Names) -> Result<f64, Stopped> {
        let mut total = 0.0;
        for pattern in self.patterns(slots, row) {
            let count = self.count(&pattern)?;
            let unknown: Vec<usize> = (0..3)
                .filter(|place| match &slots.triple[*place] {
                    Slot::Name(name) => bound.contains(name) && value(row, name).is_none(),
                    Slot::Composed => true,
                    Slot::Constant(_) => false,
                })
                .collect();
            total += if unknown.is_empty() || count == 0.0 { count } else { self.typical(&pattern, &unknown, count)? };
        }
        Ok(total)
    }

    /// Quads that a pattern has when values from its own quads are put in the places `unknown`.
    fn typical(&self, pattern: &IdPattern, unknown: &[usize], count: f64) -> Result<f64, Stopped> {
        let mut quads = self.unchecked.quads(pattern);
        let (mut total, mut looked_at) = (0.0, 0.0);
        let mut keys_left = counts::KEYS_MAX;
        for _ in 0..TYPICAL {
            let QuadStep::Quad(quad) = counts::next(&mut quads, &mut keys_left, self.watch())? else { break };
            let mut narrowed = *pattern;
            for place in unknown {
                match place {
                    0 => narrowed.subject = Some(quad.subject),
                    1 => narrowed.predicate = Some(quad.predicate),
                    _ => narrowed.object = Some(quad.object),
                }
            }
            total += self.count(&narrowed)?;
            looked_at += 1.0;
        }
        Ok(if looked_at > 0.0 { total / looked_at } else { count })
    }

    /// What to ask the store for, in one row. Several where the graphs of the scope are several.
    fn patterns(&self, slots: &Slots, row: &Row) -> impl Iterator<Item = IdPattern> + use<Q> {
        let mut is_there = true;
        let mut places = [None; 3];
        for (place, slot) in places.iter_mut().zip(&slots.triple) {
            *place = match slot {
                Slot::Constant(constant) => {
                    is_there &= constant.is_some();
                    *constant
                }
                Slot::Name(name) => value(row, name),
                Slot::Composed => None,
            };
        }
        let [subject, predicate, object] = places;
        let (one, several) = if is_there { self.graphs(&slots.graph, row) } else { (None, Vec::new()) };
        one.into_iter().chain(several).map(move |graph| IdPattern { subject, predicate, object, graph })
    }

    /// One, or several.
    fn graphs(&self, slot: &GraphSlot, row: &Row) -> (Option<GraphPattern>, Vec<GraphPattern>) {
        let several = |graphs| (None, graphs);
        let one = |graph| (Some(graph), Vec::new());
        let graph = match slot {
            GraphSlot::Default => {
                return match &self.scope.default {
                    DefaultGraph::Stored => one(GraphPattern::Default),
                    DefaultGraph::Union => one(GraphPattern::Any),
                    DefaultGraph::Merge(graphs) => {
                        several(graphs.iter().map(|graph| GraphPattern::Named(*graph)).collect())
                    }
                };
            }
            GraphSlot::Of(Slot::Constant(None)) => return several(Vec::new()),
            GraphSlot::Of(Slot::Constant(constant)) => *constant,
            GraphSlot::Of(Slot::Name(name)) => value(row, name),
            GraphSlot::Of(Slot::Composed) => None,
        };
        match (graph, &self.scope.named) {
            (Some(graph), _) if self.scope.allows(EvaluationTerm::Stored(graph)) => one(GraphPattern::Named(graph)),
            (Some(_), _) => several(Vec::new()),
            (None, None) => one(GraphPattern::AnyNamed),
            (None, Some(named)) => several(
                named
                    .names()
                    .iter()
                    .filter_map(|graph| match graph {
                        EvaluationTerm::Stored(id) => Some(GraphPattern::Named(*id)),
                        _ => None,
                    })
                    .collect(),
            ),
        }
    }

    /// Whether there is a quad of the pattern. Results may depend on it.
    pub(super) fn is_there(&self, slots: &Slots) -> Result<bool, Stopped> {
        for pattern in self.patterns(slots, &Row::new()) {
            // Without a limit of keys: the answer must be exact.
            let (mut quads, mut keys_left) = (self.terms.quads().quads(&pattern), usize::MAX);
            if counts::next(&mut quads, &mut keys_left, self.watch())? != QuadStep::End {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn count(&self, pattern: &IdPattern) -> Result<f64, Stopped> {
        let key = key_of(pattern);
        if let Some(count) = self.counted.borrow().get(&key) {
            return Ok(*count);
        }
        let count = counts::count(&self.unchecked, pattern, self.watch())?;
        self.counted.borrow_mut().insert(key, count);
        Ok(count)
    }

    /// Rows that a property path adds to one row of a join. A rule of thumb on exact counts: a closure reaches more
    /// than a step does, and from one end less than from all.
    pub(super) fn path_fanout(
        &self,
        path: &PropertyPathExpression,
        graph: Option<&NamedNodePattern>,
        ends_bound: usize,
    ) -> Result<f64, Stopped> {
        let steps = self.path_quads(path, graph)?.max(1.0);
        let closure = is_closure(path);
        Ok(match (ends_bound, closure) {
            (0, false) => steps,
            (0, true) => steps * 8.0,
            (1, false) => steps.sqrt().min(100.0),
            (1, true) => steps.sqrt() * 2.0,
            _ => 0.5,
        })
    }

    /// Quads that a path can go along.
    fn path_quads(&self, path: &PropertyPathExpression, graph: Option<&NamedNodePattern>) -> Result<f64, Stopped> {
        use PropertyPathExpression as P;
        match path {
            P::NamedNode(node) => self.predicate_quads(Slot::Constant(self.terms.stored(&node.clone().into())?), graph),
            P::NegatedPropertySet(_) => self.predicate_quads(Slot::Composed, graph),
            P::Reverse(inner) | P::ZeroOrMore(inner) | P::OneOrMore(inner) | P::ZeroOrOne(inner) => {
                self.path_quads(inner, graph)
            }
            P::Sequence(left, right) | P::Alternative(left, right) => {
                Ok(self.path_quads(left, graph)? + self.path_quads(right, graph)?)
            }
        }
    }

    fn predicate_quads(&self, predicate: Slot, graph: Option<&NamedNodePattern>) -> Result<f64, Stopped> {
        let graph = match graph {
            None => GraphSlot::Default,
            Some(name) => GraphSlot::Of(self.named_node_slot(name)?),
        };
        let slots = Slots { triple: [Slot::Composed, predicate, Slot::Composed], graph };
        let mut total = 0.0;
        for pattern in self.patterns(&slots, &Row::new()) {
            total += self.count(&pattern)?;
        }
        Ok(total)
    }
}

fn is_closure(path: &PropertyPathExpression) -> bool {
    use PropertyPathExpression as P;
    match path {
        P::NamedNode(_) | P::NegatedPropertySet(_) => false,
        P::ZeroOrMore(_) | P::OneOrMore(_) => true,
        P::Reverse(inner) | P::ZeroOrOne(inner) => is_closure(inner),
        P::Sequence(left, right) | P::Alternative(left, right) => is_closure(left) || is_closure(right),
    }
}

fn key_of(pattern: &IdPattern) -> PatternKey {
    let (kind, graph) = match pattern.graph {
        GraphPattern::Default => (0, None),
        GraphPattern::Named(graph) => (1, Some(graph)),
        GraphPattern::AnyNamed => (2, None),
        GraphPattern::Any => (3, None),
    };
    let bits = |id: Option<TermId>| id.map(TermId::to_bits);
    [bits(pattern.subject), bits(pattern.predicate), bits(pattern.object), bits(graph), Some(kind)]
}

fn value(row: &Row, name: &Name) -> Option<TermId> {
    row.iter().find(|(known, _)| **known == *name).map(|(_, id)| *id)
}

/// The row with what the quad binds; `None` if a name would have two values.
fn extended(slots: &Slots, row: &Row, quad: IdQuad) -> Option<Row> {
    let mut extended = row.clone();
    let graph = match &slots.graph {
        GraphSlot::Of(slot) => Some((slot, quad.graph)),
        GraphSlot::Default => None,
    };
    let places = slots.triple.iter().zip([quad.subject, quad.predicate, quad.object]).chain(graph);
    for (slot, id) in places {
        if let Slot::Name(name) = slot {
            match value(&extended, name) {
                None => extended.push((name.clone(), id)),
                Some(known) if known != id => return None,
                Some(_) => {}
            }
        }
    }
    Some(extended)
}

/// The triple, if it has no variables.
pub(super) fn ground(pattern: &TriplePattern) -> Option<RdfTriple> {
    let term = |pattern: &TermPattern| match pattern {
        TermPattern::NamedNode(node) => Some(Term::from(node.clone())),
        TermPattern::Literal(literal) => Some(literal.clone().into()),
        TermPattern::Triple(triple) => ground(triple).map(Term::from),
        TermPattern::BlankNode(_) | TermPattern::Variable(_) => None,
    };
    let NamedNodePattern::NamedNode(predicate) = &pattern.predicate else { return None };
    let subject = match term(&pattern.subject)? {
        Term::NamedNode(node) => node,
        _ => return None,
    };
    Some(RdfTriple::new(subject, predicate.clone(), term(&pattern.object)?))
}

/// All numbers below `count`, such that the first ones are far apart: rows of a sample that follow each other often
/// come from one row.
fn far_apart(count: usize) -> impl Iterator<Item = usize> {
    let step = [5, 7, 11, 13].into_iter().find(|step| !count.is_multiple_of(*step)).unwrap_or(1);
    (0..count).map(move |place| place * step % count)
}
