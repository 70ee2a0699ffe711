//! From the patterns of a `WHERE` to operators.
//!
//! | pattern | operator |
//! |---|---|
//! | triple patterns, in the default graph or in `GRAPH` | [`Patterns`], in the chosen order |
//! | `VALUES` without `UNDEF` | [`Table`], before the patterns |
//! | `:x :p+ ?y`, `?x :p* :y` and their like | [`Closure`], before the patterns |
//! | `P OPTIONAL { triple patterns FILTER(…) }` | [`Optional`] |
//! | `{ P } UNION { Q }` | [`Union`], if it is all of a group |
//! | `FILTER` | [`Filter`], as soon as its variables are bound |
//!
//! A variable that may be unbound is not joined with: that is left to the library.

use oxrdf::{Term, TermRef, Variable};
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, NamedNode, NamedNodePattern, TermPattern, TriplePattern};

use super::condition::{Condition, Conditions, Conjunct, Reading, conjuncts};
use super::context::{Context, Kept};
use super::join_order::{Chooser, Pattern, SampleRow, Start, Step, far_apart};
use super::scope::{Name, Names, Places, Refused};
use super::tree::operator::{Filter, Nothing, Operator};
use super::tree::optional::Optional;
use super::tree::patterns::{Part, Patterns};
use super::tree::sources::{Closure, Column, Table, Union, Unit};
use super::value::Value;
use crate::meter;
use crate::quads::joined::{JoinGraph, JoinPattern, JoinTerm, Joined};
use crate::sparql::evaluation::limits::EvaluationMonitor;
use crate::sparql::plan::JoinOrder;
use crate::sparql::plan::first_rows::Cut;
use crate::{GraphPattern as Graphs, Quads, TermId};

/// What turns the algebra of a query into operators.
pub(super) struct Compiler<'q, 'e, Q> {
    pub(super) quads: &'e Q,
    pub(super) watch: &'e EvaluationMonitor,
    pub(super) kept: &'e Kept,
    pub(super) order: JoinOrder,
    /// Whether operators have names and estimates.
    pub(super) explains: bool,
    pub(super) names: Names<'q>,
    /// How the rows of the pattern are sorted and cut off, if they are.
    pub(super) cut: Option<Cut>,
}

/// A pattern as an operator.
pub(super) struct Compiled {
    pub(super) operator: Box<dyn Operator>,
    /// The places that all rows bind.
    pub(super) certain: Places,
    /// The places that rows may bind.
    pub(super) possible: Places,
    rows: f64,
    sample: Vec<SampleRow>,
}

impl Compiled {
    /// The same rows, or some of them, of another operator.
    pub(super) fn map(self, operator: impl FnOnce(Box<dyn Operator>) -> Box<dyn Operator>) -> Self {
        Self { operator: operator(self.operator), ..self }
    }
}

/// The parts of a group.
#[derive(Default)]
struct Parts<'q> {
    patterns: Vec<Pattern<'q>>,
    tables: Vec<(&'q [Variable], &'q [Vec<Option<GroundTerm>>])>,
    paths: Vec<(&'q TermPattern, &'q PropertyPathExpression, &'q TermPattern)>,
    others: Vec<&'q GraphPattern>,
    /// Whether the store does not have a term that all rows need.
    is_impossible: bool,
}

/// Rows of a path, where nothing is known about it.
const PATH_ROWS: f64 = 100.0;

impl<'q, Q: Quads> Compiler<'q, '_, Q> {
    /// The operator of a pattern whose rows have to meet `filters`.
    pub(super) fn body(
        &mut self,
        pattern: &'q GraphPattern,
        mut filters: Vec<&'q Expression>,
    ) -> Result<Compiled, Refused> {
        match pattern {
            GraphPattern::Filter { expr, inner } => {
                filters.push(expr);
                self.body(inner, filters)
            }
            GraphPattern::LeftJoin { left, right, expression } => {
                let left = self.body(left, Vec::new())?;
                let optional = self.optional(left, right, expression.as_ref())?;
                self.filtered(optional, &filters)
            }
            GraphPattern::Union { left, right } => {
                let (left, right) = (self.body(left, Vec::new())?, self.body(right, Vec::new())?);
                self.filtered(union(left, right), &filters)
            }
            _ => self.group(pattern, &filters),
        }
    }

    /// The conditions of filters over rows that may bind `possible`.
    pub(super) fn conditions(&self, filters: &[&'q Expression], possible: &Places) -> Result<Vec<Conjunct>, Refused> {
        let explains = self.explains;
        let text = |expression: &Expression| if explains { expression.to_string() } else { String::new() };
        let mut found = Vec::new();
        for filter in filters {
            conjuncts(filter, &mut Scope { compiler: self, possible }, &text, &mut found)?;
        }
        Ok(found)
    }

    fn filtered(&self, compiled: Compiled, filters: &[&'q Expression]) -> Result<Compiled, Refused> {
        let conditions = self.conditions(filters, &compiled.possible)?;
        Ok(compiled.map(|operator| with_conditions(operator, conditions)))
    }

    fn group(&mut self, pattern: &'q GraphPattern, filters: &[&'q Expression]) -> Result<Compiled, Refused> {
        let mut parts = Parts::default();
        self.flatten(pattern, None, &mut parts)?;
        if parts.others.len() + parts.paths.len() > 1 {
            return Err(Refused::Outside);
        }
        let source = self.source(&mut parts)?;
        let (mut certain, mut possible) = (Places::default(), Places::default());
        if let Some(source) = &source {
            (certain, possible) = (source.certain.clone(), source.possible.clone());
        }
        check_joined(&parts.patterns, &certain, &possible)?;
        let places = || parts.patterns.iter().flat_map(|pattern| &pattern.places);
        places().for_each(|place| possible.add(*place));
        let mut conditions = self.conditions(filters, &possible)?;
        if parts.is_impossible {
            places().for_each(|place| certain.add(*place));
            let operator = Box::new(Nothing);
            return Ok(Compiled { operator, certain, possible, rows: 0.0, sample: vec![SampleRow::new()] });
        }
        conditions.extend(self.may_be_in_result(&possible));
        let (operator, start) = match source {
            None => (None, Start { bound: Places::default(), rows: 1.0, sample: vec![SampleRow::new()] }),
            Some(source) => {
                (Some(source.operator), Start { bound: certain.clone(), rows: source.rows, sample: source.sample })
            }
        };
        let steps = self.steps(&parts.patterns, &conditions, operator.is_none(), start.clone())?;
        let rows = steps.last().map_or(start.rows, |step| step.rows);
        let operator = self.chain(operator, &parts.patterns, &steps, start.bound, conditions)?;
        places().for_each(|place| certain.add(*place));
        Ok(Compiled { operator, certain, possible, rows, sample: vec![SampleRow::new()] })
    }

    /// That a row may be among the best ones, if the rows bind what the result is sorted by.
    fn may_be_in_result(&self, possible: &Places) -> Option<Conjunct> {
        let variable = &self.cut.as_ref()?.variable;
        let place = self.names.find(Name::Variable(variable.as_str())).filter(|place| possible.has(*place))?;
        let text = if self.explains { format!("mayBeInResult({variable})") } else { String::new() };
        Some(Conjunct { condition: Condition::MayBeInResult(place), places: vec![place], text })
    }

    /// The order of the patterns. `is_first`: nothing is before them.
    fn steps(
        &self,
        patterns: &[Pattern<'q>],
        conditions: &[Conjunct],
        is_first: bool,
        start: Start,
    ) -> Result<Vec<Step>, Refused> {
        let is_sorted_by = |pattern: &Pattern<'q>| match (&pattern.triple.predicate, &self.cut) {
            (NamedNodePattern::NamedNode(node), Some(cut)) => cut.predicate.as_ref() == Some(node),
            _ => false,
        };
        let sorted_by = patterns.iter().position(is_sorted_by);
        let filters = conditions.iter().filter(|conjunct| !matches!(conjunct.condition, Condition::MayBeInResult(_)));
        let chooser = Chooser {
            quads: self.quads,
            watch: self.watch,
            order: self.order,
            patterns,
            filters: filters.map(|conjunct| &*conjunct.places).collect(),
            sorted_by,
            estimates: self.explains,
        };
        let steps = chooser.in_order(start)?;
        // The library reads that pattern in the order of the result.
        if is_first && sorted_by.is_some() && steps.first().map(|step| step.pattern) == sorted_by {
            return Err(Refused::Outside);
        }
        Ok(steps)
    }

    /// The patterns joined to the input, with each condition where its places are bound.
    fn chain(
        &self,
        mut input: Option<Box<dyn Operator>>,
        patterns: &[Pattern<'q>],
        steps: &[Step],
        mut bound: Places,
        conditions: Vec<Conjunct>,
    ) -> Result<Box<dyn Operator>, Refused> {
        let (met, mut waiting): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(|conjunct| bound.has_all(&conjunct.places));
        if let Some(operator) = input.take() {
            input = Some(with_conditions(operator, met));
        } else {
            waiting.extend(met);
        }
        let (mut first, mut before) = (0, bound.clone());
        for (at, step) in steps.iter().enumerate() {
            patterns[step.pattern].places.iter().for_each(|place| bound.add(*place));
            let (met, rest): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|conjunct| bound.has_all(&conjunct.places));
            waiting = rest;
            if met.is_empty() && at + 1 < steps.len() {
                continue;
            }
            let part = self.part(patterns, &steps[first..=at], &before)?;
            input = Some(with_conditions(Box::new(Patterns::new(input.take(), part)), met));
            (first, before) = (at + 1, bound.clone());
        }
        let operator = input.unwrap_or_else(|| Box::new(Unit { has_ended: false }));
        Ok(with_conditions(operator, waiting))
    }

    /// Patterns that are joined one after the other to rows that bind `bound`.
    fn part(&self, patterns: &[Pattern<'q>], steps: &[Step], bound: &Places) -> Result<Part, Refused> {
        if self.names.len() > JoinTerm::VARIABLES_MAX {
            return Err(Refused::Outside);
        }
        let chosen = || steps.iter().map(move |step| &patterns[step.pattern]);
        let joins: Vec<JoinPattern> = chosen().map(|pattern| pattern.join).collect();
        let joined = Joined::within(&joins, bound.flags(), |pattern| self.quads.quads(pattern));
        let mut used = Places::default();
        chosen().flat_map(|pattern| &pattern.places).for_each(|place| used.add(*place));
        let (given, set): (Vec<usize>, Vec<usize>) = used.iter().partition(|place| bound.has(*place));
        let names = match self.explains {
            true => steps.iter().map(|step| (name(&patterns[step.pattern]), step.rows)).collect(),
            false => Vec::new(),
        };
        Ok(Part::new(joined, given, set, names))
    }

    fn optional(
        &mut self,
        left: Compiled,
        right: &'q GraphPattern,
        expression: Option<&'q Expression>,
    ) -> Result<Compiled, Refused> {
        let mut parts = Parts::default();
        self.flatten(right, None, &mut parts)?;
        let has_others = !(parts.others.is_empty() && parts.paths.is_empty() && parts.tables.is_empty());
        if has_others || parts.patterns.is_empty() {
            return Err(Refused::Outside);
        }
        check_joined(&parts.patterns, &left.certain, &left.possible)?;
        let mut possible = left.possible.clone();
        parts.patterns.iter().flat_map(|pattern| &pattern.places).for_each(|place| possible.add(*place));
        let filters: Vec<&'q Expression> = expression.into_iter().collect();
        let found = self.conditions(&filters, &possible)?;
        let Compiled { operator, certain, rows, sample, .. } = left;
        if parts.is_impossible {
            return Ok(Compiled { operator, certain, possible, rows, sample });
        }
        let start = Start { bound: certain.clone(), rows, sample: sample.clone() };
        let steps = self.steps(&parts.patterns, &found, false, start)?;
        let rows = steps.last().map_or(rows, |step| step.rows.max(rows));
        let part = self.part(&parts.patterns, &steps, &certain)?;
        let mut conditions = Conditions::default();
        found.into_iter().for_each(|conjunct| conditions.add(conjunct));
        let operator = Box::new(Optional::new(operator, part, conditions));
        Ok(Compiled { operator, certain, possible, rows, sample })
    }

    /// Adds the parts of a group, in the order of the text.
    fn flatten(
        &mut self,
        pattern: &'q GraphPattern,
        graph: Option<&'q NamedNodePattern>,
        parts: &mut Parts<'q>,
    ) -> Result<(), Refused> {
        match pattern {
            GraphPattern::Join { left, right } => {
                self.flatten(left, graph, parts)?;
                self.flatten(right, graph, parts)
            }
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    let pattern = self.pattern(triple, graph, &mut parts.is_impossible)?;
                    parts.patterns.push(pattern);
                }
                Ok(())
            }
            GraphPattern::Graph { name, inner } if is_of_patterns(inner) => self.flatten(inner, Some(name), parts),
            GraphPattern::Path { subject, path, object } if graph.is_none() => {
                parts.paths.push((subject, path, object));
                Ok(())
            }
            GraphPattern::Values { variables, bindings } if graph.is_none() => {
                parts.tables.push((variables.as_slice(), bindings.as_slice()));
                Ok(())
            }
            GraphPattern::LeftJoin { .. } | GraphPattern::Filter { .. } if graph.is_none() => {
                parts.others.push(pattern);
                Ok(())
            }
            _ => Err(Refused::Outside),
        }
    }

    fn pattern(
        &mut self,
        triple: &'q TriplePattern,
        graph: Option<&'q NamedNodePattern>,
        is_impossible: &mut bool,
    ) -> Result<Pattern<'q>, Refused> {
        let mut places = Vec::new();
        let mut position = |id: Option<TermId>| match id {
            Some(id) => JoinTerm::Term(id),
            None => {
                *is_impossible = true;
                JoinTerm::Term(TermId::DEFAULT_GRAPH)
            }
        };
        let mut variable = |name: Name<'q>, names: &mut Names<'q>| {
            let place = names.place(name);
            if !places.contains(&place) {
                places.push(place);
            }
            place
        };
        let mut terms = [JoinTerm::Term(TermId::DEFAULT_GRAPH); 3];
        for (term, pattern) in [0, 2].into_iter().zip([&triple.subject, &triple.object]) {
            terms[term] = match (Name::of_term(pattern), constant(pattern)) {
                (Some(name), _) => JoinTerm::Variable(variable(name, &mut self.names)),
                (None, Some(constant)) => position(id(self.quads, self.watch, constant)?),
                (None, None) => return Err(Refused::Outside),
            };
        }
        terms[1] = match &triple.predicate {
            NamedNodePattern::NamedNode(node) => position(id(self.quads, self.watch, node.as_ref().into())?),
            NamedNodePattern::Variable(name) => {
                JoinTerm::Variable(variable(Name::Variable(name.as_str()), &mut self.names))
            }
        };
        let in_graph = match graph {
            None => JoinGraph::Graphs(Graphs::Default),
            Some(NamedNodePattern::Variable(name)) => {
                JoinGraph::Variable(variable(Name::Variable(name.as_str()), &mut self.names))
            }
            Some(NamedNodePattern::NamedNode(node)) => {
                match position(id(self.quads, self.watch, node.as_ref().into())?) {
                    JoinTerm::Term(id) => JoinGraph::Graphs(Graphs::Named(id)),
                    JoinTerm::Variable(place) => JoinGraph::Variable(place),
                }
            }
        };
        Ok(Pattern { triple, graph, join: JoinPattern { terms, graph: in_graph }, places })
    }

    /// What the patterns of a group are joined to, if there is anything but patterns.
    fn source(&mut self, parts: &mut Parts<'q>) -> Result<Option<Compiled>, Refused> {
        let mut source = match (parts.others.pop(), parts.paths.pop()) {
            (Some(other), _) => Some(self.body(other, Vec::new())?),
            (None, Some((subject, path, object))) => self.closure(subject, path, object, &mut parts.is_impossible)?,
            (None, None) => None,
        };
        for &(variables, bindings) in &parts.tables {
            source = Some(self.table(source, variables, bindings)?);
        }
        Ok(source)
    }

    /// A path with a given end. `None` if it has no rows.
    fn closure(
        &mut self,
        subject: &'q TermPattern,
        path: &'q PropertyPathExpression,
        object: &'q TermPattern,
        is_impossible: &mut bool,
    ) -> Result<Option<Compiled>, Refused> {
        let (predicate, is_along, may_be_empty) = steps_of(path).ok_or(Refused::Outside)?;
        let (start, end, is_forward) = match (constant(subject), constant(object)) {
            (Some(start), None) => (start, Name::of_term(object), is_along),
            (None, Some(start)) => (start, Name::of_term(subject), !is_along),
            _ => return Err(Refused::Outside),
        };
        let place = self.names.place(end.ok_or(Refused::Outside)?);
        let start = id(self.quads, self.watch, start)?;
        let predicate = id(self.quads, self.watch, predicate.as_ref().into())?;
        let (Some(start), Some(predicate)) = (start, predicate) else {
            if may_be_empty {
                return Err(Refused::Outside);
            }
            *is_impossible = true;
            return Ok(None);
        };
        let quads = self.quads.quads(&Closure::step(predicate, start, is_forward));
        let name = if self.explains { format!("Path({subject} {path} {object})") } else { String::new() };
        let first = may_be_empty.then_some(start);
        let mut certain = Places::default();
        certain.add(place);
        Ok(Some(Compiled {
            operator: Box::new(Closure::new(predicate, is_forward, place, quads, first, name)),
            possible: certain.clone(),
            certain,
            rows: PATH_ROWS,
            sample: vec![SampleRow::new()],
        }))
    }

    fn table(
        &mut self,
        input: Option<Compiled>,
        variables: &'q [Variable],
        bindings: &'q [Vec<Option<GroundTerm>>],
    ) -> Result<Compiled, Refused> {
        let (operator, mut certain, mut possible, rows) = match input {
            Some(input) => (Some(input.operator), input.certain, input.possible, input.rows),
            None => (None, Places::default(), Places::default(), 1.0),
        };
        let mut columns: Vec<Column> = Vec::with_capacity(variables.len());
        for variable in variables {
            let place = self.names.place(Name::Variable(variable.as_str()));
            let is_given = certain.has(place);
            let is_repeated = columns.iter().any(|column| column.place == place);
            if is_repeated || (possible.has(place) && !is_given) {
                return Err(Refused::Outside);
            }
            columns.push(Column { place, is_given });
        }
        let mut cells = Vec::with_capacity(variables.len() * bindings.len());
        for cell in bindings.iter().flatten() {
            match cell {
                Some(GroundTerm::Triple(_)) | None => return Err(Refused::Outside),
                Some(term) => cells.push(self.value(term.clone().into())?),
            }
        }
        let sample = (0..bindings.len()).map(|number| {
            let mut row = SampleRow::new();
            for (column, cell) in columns.iter().zip(&cells[number * columns.len()..]) {
                if row.len() <= column.place {
                    row.resize(column.place + 1, None);
                }
                row[column.place] = cell.id();
            }
            row
        });
        let mut sample = far_apart(sample.collect());
        if sample.is_empty() {
            sample.push(SampleRow::new());
        }
        for column in &columns {
            certain.add(column.place);
            possible.add(column.place);
        }
        let name = match self.explains {
            true => format!("Values({})", variables.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            false => String::new(),
        };
        let count = bindings.len();
        let table = Table { input: operator, columns, cells, count, next: None, has_ended: false, rows: 0, name };
        Ok(Compiled { operator: Box::new(table), certain, possible, rows: rows * count as f64, sample })
    }

    /// The value of a term of the text.
    fn value(&self, term: Term) -> Result<Value, Refused> {
        let context = Context::new(self.watch, self.quads, self.kept, usize::MAX);
        Ok(context.value_of(term)?)
    }
}

/// The variables that a filter sees.
struct Scope<'s, 'q, 'e, Q> {
    compiler: &'s Compiler<'q, 'e, Q>,
    possible: &'s Places,
}

impl<Q: Quads> Reading for Scope<'_, '_, '_, Q> {
    fn place(&mut self, variable: &Variable) -> Result<usize, Refused> {
        let place = self.compiler.names.find(Name::Variable(variable.as_str()));
        place.filter(|place| self.possible.has(*place)).ok_or(Refused::Outside)
    }

    fn constant(&mut self, term: Term) -> Result<Value, Refused> {
        self.compiler.value(term)
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

/// That the patterns share no variable with the rows before them that these may leave unbound.
fn check_joined(patterns: &[Pattern<'_>], certain: &Places, possible: &Places) -> Result<(), Refused> {
    let mut places = patterns.iter().flat_map(|pattern| &pattern.places);
    if places.any(|place| possible.has(*place) && !certain.has(*place)) { Err(Refused::Outside) } else { Ok(()) }
}

/// The rows of an operator that meet conditions.
pub(super) fn with_conditions(input: Box<dyn Operator>, conjuncts: Vec<Conjunct>) -> Box<dyn Operator> {
    if conjuncts.is_empty() {
        return input;
    }
    let mut conditions = Conditions::default();
    conjuncts.into_iter().for_each(|conjunct| conditions.add(conjunct));
    Box::new(Filter { input, conditions, rows: 0 })
}

fn union(left: Compiled, right: Compiled) -> Compiled {
    let mut possible = left.possible;
    possible.add_all(&right.possible);
    let operator = Union {
        inputs: [left.operator, right.operator],
        places: possible.iter().collect(),
        is_first: true,
        has_begun: false,
        rows: 0,
    };
    let certain = left.certain.in_both(&right.certain);
    let sample = vec![SampleRow::new()];
    Compiled { operator: Box::new(operator), certain, possible, rows: left.rows + right.rows, sample }
}

/// The name of a pattern in explanations.
fn name(pattern: &Pattern<'_>) -> String {
    let graph = pattern.graph.map(|graph| format!(" {graph}")).unwrap_or_default();
    format!("QuadPattern({}{graph})", pattern.triple)
}

/// The term of a position, if it is one that has an id of its own.
fn constant(pattern: &TermPattern) -> Option<TermRef<'_>> {
    match pattern {
        TermPattern::NamedNode(node) => Some(node.as_ref().into()),
        TermPattern::Literal(literal) => Some(literal.as_ref().into()),
        _ => None,
    }
}

fn id<Q: Quads>(quads: &Q, watch: &EvaluationMonitor, term: TermRef<'_>) -> Result<Option<TermId>, Refused> {
    Ok(watch.keep(meter::uncounted(|| quads.id(term)))?)
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
