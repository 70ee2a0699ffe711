//! The planner: from the algebra of the text to the algebra that the evaluator gets.
//!
//! The operands of each group are put in an [order](super::join_order). The order is written into the algebra as nested
//! `LATERAL`s. The library's optimiser keeps them in place, pushes filters down, and chooses keys for the joins that
//! remain.
//!
//! Invariant: a planned pattern has the same solutions as the pattern of the text, in another order. `LATERAL` is used
//! only where substituting and joining are the same ([`joins_by_substitution`]).

use super::{graphs, one_group, paths, witness, zero_length};
use crate::sparql::plan::expressions::exact;
use crate::sparql::plan::expressions::operations;
use crate::sparql::plan::expressions::sort_keys;

use oxiri::Iri;
use spargebra::Query;
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression, PropertyPathExpression};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

use super::counts::FILTER_PASSES;
use super::estimate::{Estimator, Progress};
use super::first_rows::Cut;
use super::join_order::{Body, Chooser, Context, Element, JoinOrder, UNKNOWN_ROWS};
use super::names::{Names, certain, endpoints, joins_by_substitution, read_by_conjuncts};
use crate::Quads;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::scope::Scope;
use crate::sparql::evaluation::terms::Terms;
use crate::sparql::parse::shape::{check_aggregates, map_operands};
use crate::sparql::service::{self, Clause};

/// A planned query, and what was estimated on the way if that is asked for: rows after each pattern, by the name under
/// which the evaluator reports it.
pub(crate) struct Plan {
    pub query: Query,
    pub estimates: Vec<(String, f64)>,
    /// How its results are cut off, where it has filters for that.
    pub cut: Option<Cut>,
    /// Whether it calls functions of ours.
    pub calls_functions: bool,
    /// What other endpoints are asked.
    pub services: Vec<Clause>,
}

/// A planned pattern of an update.
pub(crate) struct PatternPlan {
    pub pattern: GraphPattern,
    /// Whether it calls functions of ours.
    pub calls_functions: bool,
    /// What other endpoints are asked.
    pub services: Vec<Clause>,
}

/// Plans a query, without estimates.
pub(crate) fn plan_query<Q: Quads>(
    query: &Query,
    order: JoinOrder,
    terms: &Terms<Q>,
    scope: &Scope,
) -> Result<Plan, Stopped> {
    plan_with(Planner::new(order, terms, scope), query)
}

/// Plans a query as [`plan_query`] does, with estimates.
pub(crate) fn explain_query<Q: Quads>(
    query: &Query,
    order: JoinOrder,
    terms: &Terms<Q>,
    scope: &Scope,
) -> Result<Plan, Stopped> {
    plan_with(Planner { estimates: Some(Vec::new()), ..Planner::new(order, terms, scope) }, query)
}

fn plan_with<Q: Quads>(mut planner: Planner<'_, Q>, query: &Query) -> Result<Plan, Stopped> {
    let (query, services) = service::number_query(query.clone());
    let query = planner.query(query)?;
    let Planner { estimates, cut, calls_functions, .. } = planner;
    Ok(Plan { query, estimates: estimates.unwrap_or_default(), cut, calls_functions, services })
}

/// The pattern of an update, and what other endpoints are asked.
pub(crate) fn plan_pattern<Q: Quads>(
    pattern: &GraphPattern,
    base: Option<&Iri<String>>,
    order: JoinOrder,
    terms: &Terms<Q>,
    scope: &Scope,
) -> Result<PatternPlan, Stopped> {
    let mut planner = Planner::new(order, terms, scope);
    let (pattern, services) = service::number_pattern(pattern.clone(), base);
    let pattern = sort_keys::with_sort_keys(planner.whole(pattern)?);
    Ok(PatternPlan { pattern, calls_functions: planner.calls_functions, services })
}

struct Planner<'p, Q> {
    order: JoinOrder,
    estimator: Estimator<'p, Q>,
    /// Rows after each pattern, where they are asked for.
    estimates: Option<Vec<(String, f64)>>,
    /// Whether the numbers of rows of whole groups are not used: the query has one group, and no estimates are
    /// wanted. Then it counts only where there is a choice between elements.
    ignores_row_totals: bool,
    /// How the results are cut off.
    cut: Option<Cut>,
    /// Whether what is planned calls functions of ours.
    calls_functions: bool,
    /// Hidden variables of paths so far.
    path_variables: usize,
}

/// A planned pattern, and its rows, over all times that it is evaluated.
struct Planned {
    pattern: GraphPattern,
    rows: f64,
}

impl<'p, Q: Quads> Planner<'p, Q> {
    fn new(order: JoinOrder, terms: &'p Terms<Q>, scope: &'p Scope) -> Self {
        let estimator = Estimator::new(terms, scope);
        Self {
            order,
            estimator,
            estimates: None,
            ignores_row_totals: false,
            cut: None,
            calls_functions: false,
            path_variables: 0,
        }
    }

    fn query(&mut self, query: Query) -> Result<Query, Stopped> {
        Ok(match query {
            Query::Select { dataset, pattern, base_iri } => {
                self.cut = Cut::of(&pattern).map(|cut| match self.estimator.has_stored_default_graph() {
                    true => cut,
                    // Of several graphs quads come in no order.
                    false => Cut { predicate: None, ..cut },
                });
                let planned = self.whole(pattern)?;
                let pattern = match &self.cut {
                    Some(cut) => cut.put_to(planned),
                    None => planned,
                };
                Query::Select { dataset, pattern: sort_keys::with_sort_keys(pattern), base_iri }
            }
            Query::Construct { template, dataset, pattern, base_iri } => Query::Construct {
                // The evaluator returns the triples of a row from the last one to the first.
                template: template.into_iter().rev().collect(),
                dataset,
                pattern: sort_keys::with_sort_keys(self.whole(pattern)?),
                base_iri,
            },
            Query::Describe { dataset, pattern, base_iri } => {
                Query::Describe { dataset, pattern: sort_keys::with_sort_keys(self.whole(pattern)?), base_iri }
            }
            Query::Ask { dataset, pattern, base_iri } => {
                Query::Ask { dataset, pattern: sort_keys::with_sort_keys(self.whole(pattern)?), base_iri }
            }
        })
    }

    fn whole(&mut self, pattern: GraphPattern) -> Result<GraphPattern, Stopped> {
        let context = Context { graph: None, outer: Names::default(), times: 1.0, filters: Vec::new() };
        let pattern = graphs::with_own_variables_of_minus(graphs::with_loops_over_graphs(pattern));
        // Each of these is an aggregate more.
        check_aggregates(&pattern).map_err(|error| self.estimator.watch().fail(error))?;
        let pattern = zero_length::with_terms_that_reach_themselves(pattern, &self.estimator)?;
        self.ignores_row_totals = self.estimates.is_none() && one_group::is_over_one_group(&pattern);
        let planned = self.plan(pattern, &context)?.pattern;
        let planned = graphs::with_graphs_of_aggregates(planned);
        let (planned, calls_functions) = operations::with_operations(exact::with_exact_expressions(planned));
        self.calls_functions |= calls_functions;
        Ok(witness::with_witnesses(planned))
    }

    fn plan(&mut self, pattern: GraphPattern, context: &Context) -> Result<Planned, Stopped> {
        match pattern {
            joined @ (GraphPattern::Bgp { .. }
            | GraphPattern::Path { .. }
            | GraphPattern::Join { .. }
            | GraphPattern::Values { .. }) => self.plan_group(joined, context),
            GraphPattern::Graph { name, inner } => self.plan_graph(name, *inner, context),
            GraphPattern::LeftJoin { left, right, expression } => {
                self.plan_left_join(*left, *right, expression, context)
            }
            GraphPattern::Lateral { left, right } => {
                let left = self.plan(*left, context)?;
                let right = self.plan(*right, &context.within(&certain(&left.pattern), left.rows))?;
                let pattern = GraphPattern::Lateral { left: left.pattern.into(), right: right.pattern.into() };
                Ok(Planned { pattern, rows: right.rows })
            }
            GraphPattern::Union { left, right } => {
                let (left, right) = (self.plan(*left, context)?, self.plan(*right, context)?);
                let pattern = GraphPattern::Union { left: left.pattern.into(), right: right.pattern.into() };
                Ok(Planned { pattern, rows: left.rows + right.rows })
            }
            GraphPattern::Minus { left, right } => {
                let left = self.plan(*left, context)?;
                let right = self.plan(*right, &context.alone())?;
                let pattern = GraphPattern::Minus { left: left.pattern.into(), right: right.pattern.into() };
                Ok(Planned { pattern, rows: left.rows })
            }
            GraphPattern::Filter { expr, inner } => {
                let mut around = context.clone();
                read_by_conjuncts(&expr, &mut around.filters);
                let inner = self.plan(*inner, &around)?;
                let bound = context.within(&certain(&inner.pattern), inner.rows);
                let expr = self.plan_expression(expr, &bound)?;
                let pattern = GraphPattern::Filter { expr, inner: inner.pattern.into() };
                Ok(Planned { pattern, rows: inner.rows * FILTER_PASSES })
            }
            other => self.plan_modifier(other, context),
        }
    }

    /// Operators over the rows of one pattern.
    fn plan_modifier(&mut self, pattern: GraphPattern, context: &Context) -> Result<Planned, Stopped> {
        use GraphPattern as P;
        Ok(match pattern {
            P::Extend { inner, variable, expression } => {
                let inner = self.plan(*inner, context)?;
                let bound = context.within(&certain(&inner.pattern), inner.rows);
                let expression = self.plan_expression(expression, &bound)?;
                Planned { pattern: P::Extend { inner: inner.pattern.into(), variable, expression }, rows: inner.rows }
            }
            P::OrderBy { inner, expression } => {
                let inner = self.plan(*inner, context)?;
                let bound = context.within(&certain(&inner.pattern), inner.rows);
                let mut keys = Vec::with_capacity(expression.len());
                for key in expression {
                    keys.push(match key {
                        OrderExpression::Asc(key) => OrderExpression::Asc(self.plan_expression(key, &bound)?),
                        OrderExpression::Desc(key) => OrderExpression::Desc(self.plan_expression(key, &bound)?),
                    });
                }
                Planned { pattern: P::OrderBy { inner: inner.pattern.into(), expression: keys }, rows: inner.rows }
            }
            P::Project { inner, variables } => {
                let outer = Names::visible_through(&context.outer, &variables);
                let inner = self.plan(*inner, &Context { outer, filters: Vec::new(), ..context.clone() })?;
                Planned { pattern: P::Project { inner: inner.pattern.into(), variables }, rows: inner.rows }
            }
            P::Distinct { inner } => {
                let inner = self.plan(*inner, context)?;
                Planned { pattern: P::Distinct { inner: inner.pattern.into() }, rows: inner.rows }
            }
            P::Reduced { inner } => {
                let inner = self.plan(*inner, context)?;
                Planned { pattern: P::Reduced { inner: inner.pattern.into() }, rows: inner.rows }
            }
            P::Slice { inner, start, length } => {
                let inner = self.plan(*inner, context)?;
                let rows = length.map_or(inner.rows, |length| inner.rows.min(length as f64));
                Planned { pattern: P::Slice { inner: inner.pattern.into(), start, length }, rows }
            }
            P::Group { inner, variables, aggregates } => {
                let inner = self.plan(*inner, &context.alone())?;
                let bound = context.within(&certain(&inner.pattern), inner.rows);
                let mut planned = Vec::with_capacity(aggregates.len());
                for (variable, aggregate) in aggregates {
                    planned.push(match aggregate {
                        AggregateExpression::FunctionCall { name, expr, distinct } => {
                            let expr = self.plan_expression(expr, &bound)?;
                            (variable, AggregateExpression::FunctionCall { name, expr, distinct })
                        }
                        count @ AggregateExpression::CountSolutions { .. } => (variable, count),
                    });
                }
                let rows = if variables.is_empty() { 1.0 } else { inner.rows.sqrt() };
                Planned { pattern: P::Group { inner: inner.pattern.into(), variables, aggregates: planned }, rows }
            }
            // What another endpoint is asked is its own affair.
            other => Planned { pattern: other, rows: UNKNOWN_ROWS },
        })
    }

    /// Patterns in `EXISTS` are evaluated for one row at a time.
    fn plan_expression(&mut self, expression: Expression, bound: &Context) -> Result<Expression, Stopped> {
        // The traversal cannot fail, so a failure waits here.
        let mut failed = None;
        let planned = self.map_expression(expression, bound, &mut failed);
        failed.map_or(Ok(planned), Err)
    }

    fn map_expression(&mut self, expression: Expression, bound: &Context, failed: &mut Option<Stopped>) -> Expression {
        match expression {
            Expression::Exists(pattern) => match self.plan((*pattern).clone(), bound) {
                Ok(planned) => Expression::Exists(planned.pattern.into()),
                Err(stopped) => {
                    *failed = Some(stopped);
                    Expression::Exists(pattern)
                }
            },
            other => {
                map_operands(other, &mut |pattern| pattern, &mut |operand| self.map_expression(operand, bound, failed))
            }
        }
    }

    fn plan_graph(
        &mut self,
        name: NamedNodePattern,
        inner: GraphPattern,
        context: &Context,
    ) -> Result<Planned, Stopped> {
        if is_group(&inner) && !graphs::is_empty_group(&inner) {
            return self.plan_group(GraphPattern::Graph { name, inner: inner.into() }, context);
        }
        let within = Context { graph: Some(name.clone()), ..context.clone() };
        let inner = self.plan(inner, &within)?;
        Ok(Planned { pattern: GraphPattern::Graph { name, inner: inner.pattern.into() }, rows: inner.rows })
    }

    /// An optional part that can be looked up for each row is.
    fn plan_left_join(
        &mut self,
        left: GraphPattern,
        right: GraphPattern,
        expression: Option<Expression>,
        context: &Context,
    ) -> Result<Planned, Stopped> {
        let left = self.plan(left, context)?;
        let bound = certain(&left.pattern);
        let within = context.within(&bound, left.rows);
        let asks_what_is_bound = endpoints(&right).shares_with(&bound);
        let looked_up = joins_by_substitution(&right) && (asks_what_is_bound || bound.shares_with(&certain(&right)));
        let names = certain(&right);
        let right = self.plan(right, &within)?;
        let expression = match expression {
            Some(expression) => Some(self.plan_expression(expression, &within.within(&names, left.rows))?),
            None => None,
        };
        let rows = left.rows.max(right.rows);
        let pattern = if looked_up {
            let nothing = GraphPattern::Bgp { patterns: Vec::new() };
            let optional = GraphPattern::LeftJoin { left: nothing.into(), right: right.pattern.into(), expression };
            GraphPattern::Lateral { left: left.pattern.into(), right: optional.into() }
        } else {
            GraphPattern::LeftJoin { left: left.pattern.into(), right: right.pattern.into(), expression }
        };
        Ok(Planned { pattern, rows })
    }

    fn plan_group(&mut self, group: GraphPattern, context: &Context) -> Result<Planned, Stopped> {
        let mut elements = Vec::new();
        self.flatten(group, context.graph.as_ref(), context, &mut elements)?;
        let mut progress = Progress::start(&context.outer, context.times);
        let mut joined: Option<GraphPattern> = None;
        let mut waiting = Vec::new();
        loop {
            // An endpoint that a variable names is asked once that is bound; if nothing binds it, the evaluation says
            // so.
            waiting.append(&mut elements);
            let is_known = |element: &Element| endpoints(&element.pattern).are_within(&progress.bound);
            (elements, waiting) = waiting.into_iter().partition(is_known);
            if elements.is_empty() {
                match waiting.is_empty() {
                    true => break,
                    false => elements.push(waiting.remove(0)),
                }
            }
            let (next, fanout) = self.chooser().choose(&elements, &mut progress, context)?;
            let element = elements.remove(next);
            let enclosing_graph = context.graph.as_ref();
            let (pattern, substituted) = self.join(element, fanout, &mut progress, context)?;
            let pattern = relative(pattern, enclosing_graph);
            joined = Some(match joined {
                None => pattern,
                Some(left) if substituted => GraphPattern::Lateral { left: left.into(), right: pattern.into() },
                Some(left) => GraphPattern::Join { left: left.into(), right: pattern.into() },
            });
        }
        let pattern = joined.unwrap_or_else(|| GraphPattern::Bgp { patterns: Vec::new() });
        Ok(Planned { pattern, rows: progress.rows })
    }

    fn chooser(&self) -> Chooser<'_, 'p, Q> {
        Chooser {
            order: self.order,
            estimator: &self.estimator,
            ignores_row_totals: self.ignores_row_totals,
            cut: self.cut.as_ref(),
        }
    }

    /// Adds the operands of a group to `elements`, in the order of the text.
    fn flatten(
        &mut self,
        pattern: GraphPattern,
        graph: Option<&NamedNodePattern>,
        context: &Context,
        elements: &mut Vec<Element>,
    ) -> Result<(), Stopped> {
        match pattern {
            GraphPattern::Join { left, right } => {
                self.flatten(*left, graph, context, elements)?;
                self.flatten(*right, graph, context, elements)
            }
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    elements.push(self.triple_element(triple, graph)?);
                }
                Ok(())
            }
            GraphPattern::Graph { name, inner } if is_group(&inner) && !graphs::is_empty_group(&inner) => {
                self.flatten(*inner, Some(&name), context, elements)
            }
            GraphPattern::Path { subject, path, object } => {
                elements.push(path_element(subject, path, object, graph));
                Ok(())
            }
            other => {
                elements.push(self.other_element(other, graph, context)?);
                Ok(())
            }
        }
    }

    fn triple_element(&self, triple: TriplePattern, graph: Option<&NamedNodePattern>) -> Result<Element, Stopped> {
        let slots = self.estimator.slots(&triple, graph)?;
        let mut names = Names::default();
        names.triple(&triple);
        if let Some(graph) = graph {
            names.named_node(graph);
        }
        let pattern = GraphPattern::Bgp { patterns: vec![triple] };
        Ok(Element { pattern, graph: graph.cloned(), names, body: Body::Triple(slots) })
    }

    fn other_element(
        &mut self,
        pattern: GraphPattern,
        graph: Option<&NamedNodePattern>,
        context: &Context,
    ) -> Result<Element, Stopped> {
        let graph = graph.cloned();
        let mut names = certain(&pattern);
        if matches!(pattern, GraphPattern::Values { .. }) {
            return Ok(Element { pattern, graph, names, body: Body::Values });
        }
        if let Some(graph) = &graph {
            names.named_node(graph);
        }
        if joins_by_substitution(&pattern) {
            return Ok(Element { pattern, graph, names, body: Body::Substituted });
        }
        let apart = Context { graph: graph.clone(), ..context.alone() };
        let Planned { pattern, rows } = self.plan(pattern, &apart)?;
        Ok(Element { pattern, graph, names, body: Body::Apart { rows } })
    }

    /// Joins the element to what is there. Returns its pattern, and whether it is evaluated for each row.
    fn join(
        &mut self,
        element: Element,
        fanout: f64,
        progress: &mut Progress,
        context: &Context,
    ) -> Result<(GraphPattern, bool), Stopped> {
        let Element { pattern, graph, names, body } = element;
        let rows = progress.rows * fanout;
        match body {
            Body::Triple(slots) => {
                progress.join(slots, names, rows);
                self.record(&pattern, graph.as_ref(), rows);
                Ok((in_graph(pattern, graph), true))
            }
            Body::Path { .. } => {
                let place = paths::Place { bound: &progress.bound, outer: &context.outer, graph: graph.as_ref() };
                let pattern = paths::evaluated(pattern, &place, &mut self.path_variables);
                progress.pass(&names, rows);
                self.record(&pattern, graph.as_ref(), rows);
                Ok((in_graph(pattern, graph), true))
            }
            Body::Values => {
                if let GraphPattern::Values { variables, bindings } = &pattern {
                    self.estimator.advance_by_values(variables, bindings, &names, progress)?;
                    progress.rows = rows;
                }
                Ok((pattern, true))
            }
            Body::Substituted => {
                let outer = progress.bound.clone().with(&context.outer);
                let within = Context { graph: graph.clone(), outer, times: progress.rows, filters: Vec::new() };
                let planned = self.plan(pattern, &within)?;
                progress.pass(&names, planned.rows);
                Ok((in_graph(planned.pattern, graph), true))
            }
            Body::Apart { .. } => {
                progress.pass(&names, rows);
                Ok((in_graph(pattern, graph), false))
            }
        }
    }

    /// Notes the rows after a pattern under the name that the evaluator gives it.
    fn record(&mut self, pattern: &GraphPattern, graph: Option<&NamedNodePattern>, rows: f64) {
        let Some(estimates) = &mut self.estimates else { return };
        // A negated property set is a triple pattern with a filter.
        let pattern = if let GraphPattern::Filter { inner, .. } = pattern { &**inner } else { pattern };
        let graph = graph.map(|name| format!(" {name}")).unwrap_or_default();
        let name = match pattern {
            GraphPattern::Bgp { patterns } => match patterns.first() {
                Some(triple) => format!("QuadPattern({triple}{graph})"),
                None => return,
            },
            GraphPattern::Path { subject, path, object } => format!("Path({subject} {path} {object}{graph})"),
            _ => return,
        };
        estimates.push((name, rows));
    }
}

fn path_element(
    subject: TermPattern,
    path: PropertyPathExpression,
    object: TermPattern,
    graph: Option<&NamedNodePattern>,
) -> Element {
    let mut ends = [Names::default(), Names::default()];
    ends[0].term(&subject);
    ends[1].term(&object);
    let mut names = ends[0].clone().with(&ends[1]);
    if let Some(graph) = graph {
        names.named_node(graph);
    }
    let body = Body::Path { path: path.clone(), ends };
    Element { pattern: GraphPattern::Path { subject, path, object }, graph: graph.cloned(), names, body }
}

/// Whether the pattern is nothing but things to join.
fn is_group(pattern: &GraphPattern) -> bool {
    matches!(pattern, GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Join { .. })
}

fn in_graph(pattern: GraphPattern, graph: Option<NamedNodePattern>) -> GraphPattern {
    match graph {
        Some(name) => GraphPattern::Graph { name, inner: pattern.into() },
        None => pattern,
    }
}

/// The pattern as it stands within a graph that is written around all of its group.
fn relative(pattern: GraphPattern, within: Option<&NamedNodePattern>) -> GraphPattern {
    match (pattern, within) {
        (GraphPattern::Graph { name, inner }, Some(graph)) if name == *graph => *inner,
        (pattern, _) => pattern,
    }
}

#[cfg(test)]
mod tests {
    use spargebra::Query as Parsed;

    use super::*;
    use crate::sparql::{Query, QueryResults};
    use crate::{Store, StoreOptions};

    fn join_of_nothing(depth: usize) -> GraphPattern {
        let nothing = || GraphPattern::Bgp { patterns: Vec::new() };
        (0..depth).fold(nothing(), |left, _| GraphPattern::Join { left: left.into(), right: nothing().into() })
    }

    /// The parser leaves such joins out, but not every rewriting of algebra does.
    #[test]
    fn a_join_of_empty_groups_within_graph_is_an_empty_group() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a new store");
        let insert = "PREFIX : <http://a/> INSERT DATA { GRAPH :g { :s :p 1 } GRAPH :h { :s :p 2 } }";
        crate::sparql::Update::parse(insert, None).expect("it is valid").execute(&store).expect("it inserts");
        let snapshot = store.snapshot().expect("a snapshot");
        for depth in 0..4 {
            let mut query = Query::parse("SELECT ?g { GRAPH ?g {} }", None).expect("it is valid");
            let Parsed::Select { pattern: GraphPattern::Project { inner, .. }, .. } = &mut query.parsed else {
                panic!("{:?}", query.parsed)
            };
            let GraphPattern::Graph { inner, .. } = &mut **inner else { panic!("{inner:?}") };
            **inner = join_of_nothing(depth);
            let Ok(QueryResults::Solutions(solutions)) = query.evaluate(&snapshot) else { panic!("it has solutions") };
            assert_eq!(solutions.filter(Result::is_ok).count(), 2, "{depth}");
        }
    }
}
