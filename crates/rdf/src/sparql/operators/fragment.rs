//! [`Fragment`]: whether the text of a query alone lets it be evaluated on ids.
//!
//! It reads nothing of the store: a query that is left to the library is not planned twice, and a transaction does not
//! record reads for it. It finds the places of all names, so their number is bounded before the operators are made.
//!
//! Some parts of a group are evaluated before its patterns, whatever the counts say. Groups are left to the library if
//! that can be far from the best order:
//!
//! | part | is evaluated on ids |
//! |---|---|
//! | a path | if it is all of its group |
//! | `VALUES` | of up to 64 rows, or if nothing before it in the group binds its variables |
//! | all of them | with [`JoinOrder::Written`], if they are all of their group |

use oxrdf::{Term, TermRef, Variable};
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, NamedNode, NamedNodePattern, TermPattern, TriplePattern};

use super::condition::{Condition, Reading};
use super::scope::{Name, Names, PARTS_MAX, Places, Refused};
use crate::sparql::evaluation::limits::EvaluationMonitor;
use crate::sparql::evaluation::value::Value;
use crate::sparql::plan::JoinOrder;
use crate::sparql::plan::counts::COMPARED_ROWS_MAX;

/// The variables and the rows of a `VALUES`.
type Values<'q> = (&'q [Variable], &'q [Vec<Option<GroundTerm>>]);

/// The parts of a group, in the order of the text.
#[derive(Default)]
pub(super) struct Parts<'q> {
    /// Triple patterns with the graph that they are in.
    pub(super) triples: Vec<(&'q TriplePattern, Option<&'q NamedNodePattern>)>,
    pub(super) tables: Vec<Values<'q>>,
    pub(super) paths: Vec<(&'q TermPattern, &'q PropertyPathExpression, &'q TermPattern)>,
    /// Groups within the group.
    pub(super) others: Vec<&'q GraphPattern>,
}

impl<'q> Parts<'q> {
    pub(super) fn of(pattern: &'q GraphPattern) -> Result<Self, Refused> {
        let mut parts = Self::default();
        parts.add(pattern, None)?;
        Ok(parts)
    }

    /// Adds the parts of a pattern in a graph.
    fn add(&mut self, pattern: &'q GraphPattern, graph: Option<&'q NamedNodePattern>) -> Result<(), Refused> {
        match pattern {
            GraphPattern::Join { left, right } => {
                self.add(left, graph)?;
                self.add(right, graph)
            }
            GraphPattern::Bgp { patterns } => {
                self.triples.extend(patterns.iter().map(|triple| (triple, graph)));
                Ok(())
            }
            GraphPattern::Graph { name, inner } if is_of_patterns(inner) => self.add(inner, Some(name)),
            GraphPattern::Path { subject, path, object } if graph.is_none() => {
                self.paths.push((subject, path, object));
                Ok(())
            }
            GraphPattern::Values { variables, bindings } if graph.is_none() => {
                self.tables.push((variables.as_slice(), bindings.as_slice()));
                Ok(())
            }
            GraphPattern::LeftJoin { .. } | GraphPattern::Filter { .. } if graph.is_none() => {
                self.others.push(pattern);
                Ok(())
            }
            _ => Err(Refused::Outside),
        }
    }

    /// The number of parts that are evaluated before the triple patterns.
    fn first_ones(&self) -> usize {
        self.tables.len() + self.paths.len() + self.others.len()
    }

    /// Whether all parts are evaluated in an order that suits them, as far as the text shows that.
    fn check(&self, order: JoinOrder) -> Result<(), Refused> {
        let is_alone = self.first_ones() == 0 || self.first_ones() == 1 && self.triples.is_empty();
        let is_in_order = match order {
            JoinOrder::Written => is_alone,
            JoinOrder::Counts => self.others.len() <= 1 && (self.paths.is_empty() || is_alone),
        };
        if is_in_order && self.triples.len() <= PARTS_MAX { Ok(()) } else { Err(Refused::Outside) }
    }
}

/// The places that all rows of a pattern bind, and those that some may bind.
#[derive(Default)]
pub(super) struct Bound {
    pub(super) certain: Places,
    pub(super) possible: Places,
}

impl Bound {
    fn add(&mut self, place: usize) {
        self.certain.add(place);
        self.possible.add(place);
    }
}

/// See the module.
pub(super) struct Fragment<'q, 'w> {
    pub(super) names: Names<'q>,
    watch: &'w EvaluationMonitor,
    order: JoinOrder,
}

impl<'q, 'w> Fragment<'q, 'w> {
    pub(super) fn new(watch: &'w EvaluationMonitor, order: JoinOrder) -> Self {
        Self { names: Names::default(), watch, order }
    }

    /// What the rows of a pattern bind.
    ///
    /// # Errors
    /// [`Refused::Outside`] if the pattern is none of the fragment.
    pub(super) fn body(&mut self, pattern: &'q GraphPattern) -> Result<Bound, Refused> {
        self.watch.step()?;
        match pattern {
            GraphPattern::Filter { expr, inner } => {
                let bound = self.body(inner)?;
                self.condition(expr, &bound.possible)?;
                Ok(bound)
            }
            GraphPattern::LeftJoin { left, right, expression } => {
                let mut bound = self.body(left)?;
                let parts = Parts::of(right)?;
                parts.check(self.order)?;
                if parts.triples.is_empty() || parts.first_ones() > 0 {
                    return Err(Refused::Outside);
                }
                let places = self.triples(&parts, &bound)?;
                places.into_iter().for_each(|place| bound.possible.add(place));
                if let Some(expression) = expression {
                    self.condition(expression, &bound.possible)?;
                }
                Ok(bound)
            }
            GraphPattern::Union { left, right } => {
                let (mut left, right) = (self.body(left)?, self.body(right)?);
                left.possible.add_all(&right.possible);
                Ok(Bound { certain: left.certain.in_both(&right.certain), possible: left.possible })
            }
            _ => self.group(pattern),
        }
    }

    /// Whether a filter over rows that may bind `possible` is one of the fragment.
    pub(super) fn condition(&self, expression: &Expression, possible: &Places) -> Result<(), Refused> {
        Condition::of(expression, &mut Visible { names: &self.names, possible }, &mut Vec::new()).map(drop)
    }

    fn group(&mut self, pattern: &'q GraphPattern) -> Result<Bound, Refused> {
        let parts = Parts::of(pattern)?;
        parts.check(self.order)?;
        let mut bound = Bound::default();
        for &other in &parts.others {
            bound = self.body(other)?;
        }
        for &(subject, path, object) in &parts.paths {
            let closure = Closed::of(subject, path, object).ok_or(Refused::Outside)?;
            bound.add(self.names.place(closure.end)?);
        }
        for &(variables, bindings) in &parts.tables {
            let is_compared = self.table(variables, bindings, &mut bound)? || !parts.others.is_empty();
            if is_compared && bindings.len() > COMPARED_ROWS_MAX {
                return Err(Refused::Outside);
            }
        }
        let places = self.triples(&parts, &bound)?;
        places.into_iter().for_each(|place| bound.add(place));
        Ok(bound)
    }

    /// Adds the variables of a `VALUES`. Returns whether one of them was bound before.
    fn table(
        &mut self,
        variables: &'q [Variable],
        bindings: &'q [Vec<Option<GroundTerm>>],
        bound: &mut Bound,
    ) -> Result<bool, Refused> {
        let mut places: Vec<usize> = Vec::new();
        for variable in variables {
            let place = self.names.place(Name::Variable(variable.as_str()))?;
            if places.contains(&place) || bound.possible.has(place) && !bound.certain.has(place) {
                return Err(Refused::Outside);
            }
            places.push(place);
        }
        if bindings.iter().flatten().any(|cell| matches!(cell, Some(GroundTerm::Triple(_)) | None)) {
            return Err(Refused::Outside);
        }
        let is_given = places.iter().any(|place| bound.certain.has(*place));
        places.into_iter().for_each(|place| bound.add(place));
        Ok(is_given)
    }

    /// The places of the triple patterns. They share no variable with the rows before them that these may leave
    /// unbound.
    fn triples(&mut self, parts: &Parts<'q>, before: &Bound) -> Result<Vec<usize>, Refused> {
        let mut places = Vec::new();
        for &(triple, graph) in &parts.triples {
            for term in [&triple.subject, &triple.object] {
                match Name::of_term(term) {
                    Some(name) => places.push(self.names.place(name)?),
                    None if constant(term).is_none() => return Err(Refused::Outside),
                    None => {}
                }
            }
            for node in [Some(&triple.predicate), graph].into_iter().flatten() {
                if let NamedNodePattern::Variable(variable) = node {
                    places.push(self.names.place(Name::Variable(variable.as_str()))?);
                }
            }
        }
        let may_be_unbound = |place: &usize| before.possible.has(*place) && !before.certain.has(*place);
        if places.iter().any(may_be_unbound) { Err(Refused::Outside) } else { Ok(places) }
    }
}

/// The variables that a filter sees. Constants have no values here.
struct Visible<'v, 'q> {
    names: &'v Names<'q>,
    possible: &'v Places,
}

impl Reading for Visible<'_, '_> {
    fn place(&mut self, variable: &Variable) -> Result<usize, Refused> {
        self.names.find_in(variable, self.possible).ok_or(Refused::Outside)
    }

    fn constant(&mut self, _: Term) -> Result<Value, Refused> {
        Ok(Value::UNBOUND)
    }
}

/// A path of any number of steps by one predicate, with one given end.
pub(super) struct Closed<'q> {
    pub(super) start: TermRef<'q>,
    pub(super) end: Name<'q>,
    pub(super) predicate: &'q NamedNode,
    /// Whether the steps go from subjects to objects.
    pub(super) is_forward: bool,
    /// Whether there may be no steps.
    pub(super) may_be_empty: bool,
}

impl<'q> Closed<'q> {
    pub(super) fn of(
        subject: &'q TermPattern,
        path: &'q PropertyPathExpression,
        object: &'q TermPattern,
    ) -> Option<Self> {
        let (predicate, is_along, may_be_empty) = steps_of(path)?;
        let (start, end, is_forward) = match (constant(subject), constant(object)) {
            (Some(start), None) => (start, Name::of_term(object)?, is_along),
            (None, Some(start)) => (start, Name::of_term(subject)?, !is_along),
            _ => return None,
        };
        Some(Self { start, end, predicate, is_forward, may_be_empty })
    }
}

/// Whether the pattern has triple patterns, and nothing else. `GRAPH` within `GRAPH` has rows only if both graphs
/// exist.
fn is_of_patterns(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => !patterns.is_empty(),
        GraphPattern::Join { left, right } => is_of_patterns(left) && is_of_patterns(right),
        _ => false,
    }
}

/// The term of a position, if it is one that has an id of its own.
pub(super) fn constant(pattern: &TermPattern) -> Option<TermRef<'_>> {
    match pattern {
        TermPattern::NamedNode(node) => Some(node.as_ref().into()),
        TermPattern::Literal(literal) => Some(literal.as_ref().into()),
        _ => None,
    }
}

/// The predicate of the steps of a path, whether these go along it, and whether there may be none.
fn steps_of(path: &PropertyPathExpression) -> Option<(&NamedNode, bool, bool)> {
    use PropertyPathExpression as P;
    match path {
        P::OneOrMore(step) => step_of(step).map(|(node, is_along)| (node, is_along, false)),
        P::ZeroOrMore(step) => step_of(step).map(|(node, is_along)| (node, is_along, true)),
        P::Reverse(inner) => steps_of(inner).map(|(node, is_along, may_be_empty)| (node, !is_along, may_be_empty)),
        _ => None,
    }
}

/// The predicate of a step, and whether the step goes along it.
fn step_of(step: &PropertyPathExpression) -> Option<(&NamedNode, bool)> {
    match step {
        PropertyPathExpression::NamedNode(node) => Some((node, true)),
        PropertyPathExpression::Reverse(inner) => step_of(inner).map(|(node, is_along)| (node, !is_along)),
        _ => None,
    }
}
