//! From the patterns of a `WHERE` to operators.
//!
//! | pattern | operator |
//! |---|---|
//! | triple patterns, in the default graph or in `GRAPH` | [`Patterns`], in the chosen order |
//! | `VALUES` without `UNDEF` | [`Table`], before the patterns |
//! | `:x :p+ ?y`, `?x :p* :y` and their like | [`Closure`], if it is all of a group |
//! | `P OPTIONAL { triple patterns FILTER(…) }` | [`Optional`] |
//! | `{ P } UNION { Q }` | [`Union`], if it is all of a group |
//! | `FILTER` | [`Filter`], as soon as its variables are bound |
//!
//! A variable that may be unbound is not joined with: that is left to the library. So are groups in which a pattern
//! should come before `VALUES` or before a group within the group. Requires: the pattern has a form of the
//! [`fragment`](super::fragment).

use oxrdf::{Term, TermRef, Variable};
use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

use super::condition::{Condition, Conditions, Conjunct, Reading, conjuncts};
use super::context::{Context, Kept};
use super::fragment::{Closed, Parts, constant};
use super::join_order::{Chooser, Pattern, SampleRow, Start, Step, far_apart};
use super::scope::{Name, Names, Places, Refused};
use super::tree::operator::{Filter, Nothing, Operator};
use super::tree::optional::Optional;
use super::tree::patterns::{Part, Patterns};
use super::tree::sources::{Closure, Column, Table, Union, Unit};
use crate::meter;
use crate::quads::joined::{JoinGraph, JoinPattern, JoinTerm, Joined};
use crate::sparql::evaluation::limits::EvaluationMonitor;
use crate::sparql::evaluation::value::Value;
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
    /// Patterns that all rows match.
    joins: Vec<JoinPattern>,
}

impl Compiled {
    /// No rows, because the store does not have a term that all rows need.
    fn nothing(certain: Places, possible: Places) -> Self {
        let sample = vec![SampleRow::new()];
        Self { operator: Box::new(Nothing), certain, possible, rows: 0.0, sample, joins: Vec::new() }
    }

    /// The same rows, or some of them, of another operator.
    pub(super) fn map(self, operator: impl FnOnce(Box<dyn Operator>) -> Box<dyn Operator>) -> Self {
        Self { operator: operator(self.operator), ..self }
    }
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
        self.watch.step()?;
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
        let parts = Parts::of(pattern)?;
        let source = self.source(&parts)?;
        let (patterns, is_impossible) = self.patterns(&parts)?;
        let (mut certain, mut possible) = (Places::default(), Places::default());
        if let Some(source) = &source {
            (certain, possible) = (source.certain.clone(), source.possible.clone());
        }
        let places = || patterns.iter().flat_map(|pattern| &pattern.places);
        places().for_each(|place| possible.add(*place));
        let mut conditions = self.conditions(filters, &possible)?;
        if is_impossible {
            places().for_each(|place| certain.add(*place));
            return Ok(Compiled::nothing(certain, possible));
        }
        conditions.extend(self.may_be_in_result(&possible));
        let chooser = self.chooser(&patterns, &conditions);
        let (operator, start) = match source {
            None => (None, Start { bound: Places::default(), rows: 1.0, sample: vec![SampleRow::new()] }),
            Some(Compiled { operator, rows, sample, joins, .. }) => {
                let start = Start { bound: certain.clone(), rows, sample };
                if !patterns.is_empty() && !comes_first(&chooser, &parts, &start, &joins)? {
                    return Err(Refused::Outside);
                }
                (Some(operator), start)
            }
        };
        let (bound, rows) = (start.bound.clone(), start.rows);
        let steps = chooser.in_order(start)?;
        // The library reads that pattern in the order of the result.
        if operator.is_none() && steps.first().is_some_and(|step| chooser.sorted_by == Some(step.pattern)) {
            return Err(Refused::Outside);
        }
        let rows = steps.last().map_or(rows, |step| step.rows);
        let operator = self.chain(operator, &patterns, &steps, bound, conditions);
        places().for_each(|place| certain.add(*place));
        let joins = patterns.iter().map(|pattern| pattern.join).collect();
        Ok(Compiled { operator, certain, possible, rows, sample: vec![SampleRow::new()], joins })
    }

    /// The triple patterns of a group, and whether the store does not have a term that all rows need.
    fn patterns(&mut self, parts: &Parts<'q>) -> Result<(Vec<Pattern<'q>>, bool), Refused> {
        let mut is_impossible = false;
        let mut patterns = Vec::with_capacity(parts.triples.len());
        for &(triple, graph) in &parts.triples {
            patterns.push(self.pattern(triple, graph, &mut is_impossible)?);
        }
        Ok((patterns, is_impossible))
    }

    /// That a row may be among the best ones, if the rows bind what the result is sorted by.
    fn may_be_in_result(&self, possible: &Places) -> Option<Conjunct> {
        let variable = &self.cut.as_ref()?.variable;
        let place = self.names.find_in(variable, possible)?;
        let text = if self.explains { format!("mayBeInResult({variable})") } else { String::new() };
        Some(Conjunct { condition: Condition::MayBeInResult(place), places: vec![place], text })
    }

    /// What chooses the order of the patterns.
    fn chooser<'o>(&'o self, patterns: &'o [Pattern<'q>], conditions: &'o [Conjunct]) -> Chooser<'o, 'q, Q> {
        let is_sorted_by = |pattern: &Pattern<'q>| match (&pattern.triple.predicate, &self.cut) {
            (NamedNodePattern::NamedNode(node), Some(cut)) => cut.predicate.as_ref() == Some(node),
            _ => false,
        };
        let filters = conditions.iter().filter(|conjunct| !matches!(conjunct.condition, Condition::MayBeInResult(_)));
        Chooser {
            quads: self.quads.unchecked(),
            watch: self.watch,
            order: self.order,
            patterns,
            filters: filters.map(|conjunct| &*conjunct.places).collect(),
            sorted_by: patterns.iter().position(is_sorted_by),
            estimates: self.explains,
        }
    }

    /// The patterns joined to the input, with each condition where its places are bound.
    fn chain(
        &self,
        mut input: Option<Box<dyn Operator>>,
        patterns: &[Pattern<'q>],
        steps: &[Step],
        mut bound: Places,
        conditions: Vec<Conjunct>,
    ) -> Box<dyn Operator> {
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
            let part = self.part(patterns, &steps[first..=at], &before);
            input = Some(with_conditions(Box::new(Patterns::new(input.take(), part)), met));
            (first, before) = (at + 1, bound.clone());
        }
        let operator = input.unwrap_or_else(|| Box::new(Unit { has_ended: false }));
        with_conditions(operator, waiting)
    }

    /// Patterns that are joined one after the other to rows that bind `bound`.
    fn part(&self, patterns: &[Pattern<'q>], steps: &[Step], bound: &Places) -> Part {
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
        Part::new(joined, given, set, names)
    }

    fn optional(
        &mut self,
        left: Compiled,
        right: &'q GraphPattern,
        expression: Option<&'q Expression>,
    ) -> Result<Compiled, Refused> {
        let (patterns, is_impossible) = self.patterns(&Parts::of(right)?)?;
        let mut possible = left.possible.clone();
        patterns.iter().flat_map(|pattern| &pattern.places).for_each(|place| possible.add(*place));
        let filters: Vec<&'q Expression> = expression.into_iter().collect();
        let found = self.conditions(&filters, &possible)?;
        if is_impossible {
            return Ok(Compiled { possible, ..left });
        }
        let start = Start { bound: left.certain.clone(), rows: left.rows, sample: left.sample.clone() };
        let steps = self.chooser(&patterns, &found).in_order(start)?;
        let rows = steps.last().map_or(left.rows, |step| step.rows.max(left.rows));
        let part = self.part(&patterns, &steps, &left.certain);
        let mut conditions = Conditions::default();
        found.into_iter().for_each(|conjunct| conditions.add(conjunct));
        let optional = left.map(|operator| Box::new(Optional::new(operator, part, conditions)));
        Ok(Compiled { possible, rows, ..optional })
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
            let place = names.place(name)?;
            if !places.contains(&place) {
                places.push(place);
            }
            Ok::<_, Refused>(place)
        };
        let mut terms = [JoinTerm::Term(TermId::DEFAULT_GRAPH); 3];
        for (term, pattern) in [0, 2].into_iter().zip([&triple.subject, &triple.object]) {
            terms[term] = match (Name::of_term(pattern), constant(pattern)) {
                (Some(name), _) => JoinTerm::Variable(variable(name, &mut self.names)?),
                (None, Some(constant)) => position(id(self.quads, self.watch, constant)?),
                (None, None) => return Err(Refused::Outside),
            };
        }
        terms[1] = match &triple.predicate {
            NamedNodePattern::NamedNode(node) => position(id(self.quads, self.watch, node.as_ref().into())?),
            NamedNodePattern::Variable(name) => {
                JoinTerm::Variable(variable(Name::Variable(name.as_str()), &mut self.names)?)
            }
        };
        let in_graph = match graph {
            None => JoinGraph::Graphs(Graphs::Default),
            Some(NamedNodePattern::Variable(name)) => {
                JoinGraph::Variable(variable(Name::Variable(name.as_str()), &mut self.names)?)
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
    fn source(&mut self, parts: &Parts<'q>) -> Result<Option<Compiled>, Refused> {
        let mut source = None;
        for &other in &parts.others {
            source = Some(self.body(other, Vec::new())?);
        }
        for &(subject, path, object) in &parts.paths {
            source = Some(self.closure(subject, path, object)?);
        }
        for &(variables, bindings) in &parts.tables {
            source = Some(self.table(source, variables, bindings)?);
        }
        Ok(source)
    }

    /// A path with a given end.
    fn closure(
        &mut self,
        subject: &'q TermPattern,
        path: &'q PropertyPathExpression,
        object: &'q TermPattern,
    ) -> Result<Compiled, Refused> {
        let Closed { start, end, predicate, is_forward, may_be_empty } =
            Closed::of(subject, path, object).ok_or(Refused::Outside)?;
        let place = self.names.place(end)?;
        let mut certain = Places::default();
        certain.add(place);
        let start = id(self.quads, self.watch, start)?;
        let predicate = id(self.quads, self.watch, predicate.as_ref().into())?;
        let (Some(start), Some(predicate)) = (start, predicate) else {
            if may_be_empty {
                return Err(Refused::Outside);
            }
            return Ok(Compiled::nothing(certain.clone(), certain));
        };
        let quads = self.quads.quads(&Closure::step(predicate, start, is_forward));
        let name = if self.explains { format!("Path({subject} {path} {object})") } else { String::new() };
        let first = may_be_empty.then_some(start);
        Ok(Compiled {
            operator: Box::new(Closure::new(predicate, is_forward, place, quads, first, name)),
            possible: certain.clone(),
            certain,
            rows: PATH_ROWS,
            sample: vec![SampleRow::new()],
            joins: Vec::new(),
        })
    }

    fn table(
        &mut self,
        input: Option<Compiled>,
        variables: &'q [Variable],
        bindings: &'q [Vec<Option<GroundTerm>>],
    ) -> Result<Compiled, Refused> {
        let (operator, mut certain, mut possible, rows, joins) = match input {
            Some(input) => (Some(input.operator), input.certain, input.possible, input.rows, input.joins),
            None => (None, Places::default(), Places::default(), 1.0, Vec::new()),
        };
        let mut columns: Vec<Column> = Vec::with_capacity(variables.len());
        for variable in variables {
            let place = self.names.place(Name::Variable(variable.as_str()))?;
            columns.push(Column { place, is_given: certain.has(place) });
        }
        let mut cells = Vec::with_capacity(variables.len() * bindings.len());
        for cell in bindings.iter().flatten() {
            self.watch.step()?;
            match cell {
                Some(GroundTerm::Triple(_)) | None => return Err(Refused::Outside),
                Some(term) => cells.push(self.value(term.clone().into())?),
            }
        }
        let sampled = |number: usize| {
            let mut row = SampleRow::new();
            for (column, cell) in columns.iter().zip(&cells[number * columns.len()..]) {
                if row.len() <= column.place {
                    row.resize(column.place + 1, None);
                }
                row[column.place] = cell.id();
            }
            row
        };
        let mut sample: Vec<SampleRow> = far_apart(bindings.len()).map(sampled).collect();
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
        Ok(Compiled { operator: Box::new(table), certain, possible, rows: rows * count as f64, sample, joins })
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
        self.compiler.names.find_in(variable, self.possible).ok_or(Refused::Outside)
    }

    fn constant(&mut self, term: Term) -> Result<Value, Refused> {
        self.compiler.value(term)
    }
}

/// Whether the rows before the patterns of a group are to be evaluated before them. `joins` are patterns of these rows.
fn comes_first<Q: Quads>(
    chooser: &Chooser<'_, '_, Q>,
    parts: &Parts<'_>,
    start: &Start,
    joins: &[JoinPattern],
) -> Result<bool, Refused> {
    if parts.others.is_empty() {
        return Ok(!chooser.begins_apart(start.clone())?);
    }
    let of_patterns = chooser.fewest(chooser.patterns.iter().map(|pattern| &pattern.join))?;
    // In doubt, as without such patterns, they are not.
    Ok(!joins.is_empty() && chooser.fewest(joins.iter())? <= of_patterns)
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
    let joins = Vec::new();
    Compiled { operator: Box::new(operator), certain, possible, rows: left.rows + right.rows, sample, joins }
}

/// The name of a pattern in explanations.
fn name(pattern: &Pattern<'_>) -> String {
    let graph = pattern.graph.map(|graph| format!(" {graph}")).unwrap_or_default();
    format!("QuadPattern({}{graph})", pattern.triple)
}

fn id<Q: Quads>(quads: &Q, watch: &EvaluationMonitor, term: TermRef<'_>) -> Result<Option<TermId>, Refused> {
    Ok(watch.keep(meter::uncounted(|| quads.id(term)))?)
}
