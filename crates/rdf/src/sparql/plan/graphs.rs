//! `GRAPH ?g { P }`: the solutions of `P` in each named graph, joined with the name of that graph (SPARQL 1.1, 18.6).
//!
//! The evaluator hands `?g` to the triple patterns of `P`, and these bind it. That has the same solutions if each row
//! of `P` comes from such a pattern, `P` does not read `?g`, and no `MINUS` depends on which variables its sides bind.
//! Otherwise `GRAPH ?g { P }` becomes a loop: `GRAPH ?g {}`, and for each of its rows `P` in this graph, under a hidden
//! name. Sub-selects of `P` return the hidden name. Aggregates without keys drop it, so it is joined to their row. If
//! `P` has a variable `?g` of its own, that gets another hidden name, and is compared with the graph's name at the end.
//!
//! `GRAPH <g> { P }` has no rows if there is no graph `<g>`. If `P` may have rows of no quad of the graph, as `VALUES`
//! and aggregates have, `GRAPH <g> {}` is joined to it: that has a row if the graph exists.
//!
//! Within a loop both sides of a `MINUS` begin with the bindings of the loop's row, and so share variables that neither
//! side binds. If that can change the result, the right side is grouped by its own variables: the evaluator's groups
//! have no others.

use std::cell::{Cell, RefCell};

use oxrdf::Variable;
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};
use spargebra::term::NamedNodePattern;

use super::hidden::hidden_variable;
use super::names::certain;
use super::one_group::looks_at_patterns;
use super::rename::{mentions, reads, renamed};
use crate::sparql::parse::shape::{Operand, map_children, map_operands, visit_operands};

/// The pattern with such graphs written as loops.
pub(super) fn with_loops_over_graphs(pattern: GraphPattern) -> GraphPattern {
    Loops::default().pattern(pattern)
}

/// The pattern with the graph joined to what an aggregate without keys makes of it: there is a row for an empty graph
/// too, but without the graph, in which patterns of `HAVING` and `ORDER BY` are looked for. Requires: joins are in
/// their order, which the planner would change.
pub(super) fn with_graphs_of_aggregates(pattern: GraphPattern) -> GraphPattern {
    remembering_graph(pattern, None)
}

/// The variable of the graph that parts of the pattern are looked up in, which itself is looked up in `around`.
pub(super) fn graph_within<'g>(pattern: &'g GraphPattern, around: Option<&'g Variable>) -> Option<&'g Variable> {
    match pattern {
        GraphPattern::Graph { name: NamedNodePattern::Variable(graph), .. } => Some(graph),
        GraphPattern::Graph { .. } => None,
        _ => around,
    }
}

#[derive(Default)]
struct Loops {
    begun: Cell<usize>,
    /// For each expression around, the outermost first: the variables of the rows that it is evaluated for.
    rows: RefCell<Vec<Vec<Variable>>>,
}

impl Loops {
    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        let bound = bound_for_expressions(&pattern);
        let on_expression = &mut |expression| {
            self.rows.borrow_mut().push(bound.clone());
            let mapped = self.expression(expression);
            self.rows.borrow_mut().pop();
            mapped
        };
        match map_children(pattern, &mut |inner| self.pattern(inner), on_expression) {
            GraphPattern::Graph { name: NamedNodePattern::Variable(graph), inner } if !is_empty_group(&inner) => {
                let reads_graph = !binds_early(&inner, &graph) && !self.is_bound_outside(&graph);
                if reads_graph || !binds_graph(&inner) {
                    self.over_graphs(graph, *inner, reads_graph)
                } else {
                    GraphPattern::Graph { name: graph.into(), inner }
                }
            }
            GraphPattern::Graph { name: name @ NamedNodePattern::NamedNode(_), inner }
                if !is_empty_group(&inner) && may_ignore_graph(&inner) =>
            {
                let nothing = GraphPattern::Bgp { patterns: Vec::new() };
                let left = GraphPattern::Graph { name: name.clone(), inner: nothing.into() };
                GraphPattern::Join { left: left.into(), right: GraphPattern::Graph { name, inner }.into() }
            }
            GraphPattern::Minus { left, right } if share_no_variable(&left, &right) => *left,
            other => other,
        }
    }

    fn expression(&self, expression: Expression) -> Expression {
        map_operands(expression, &mut |pattern| self.pattern(pattern), &mut |operand| self.expression(operand))
    }

    /// Whether the variable has the value of a row outside: `EXISTS` puts it in wherever the variable is.
    fn is_bound_outside(&self, variable: &Variable) -> bool {
        self.rows.borrow().iter().any(|row| row.contains(variable))
    }

    fn over_graphs(&self, graph: Variable, inner: GraphPattern, reads_graph: bool) -> GraphPattern {
        let number = self.begun.get();
        self.begun.set(number + 1);
        let hidden = hidden_variable(&format!("{LOOP}{number}"));
        // Explanations show the name behind the second mark.
        let own = hidden_variable(&format!("own{number}·{}", graph.as_str()));
        let inner = if reads_graph { renamed(inner, &graph, &own) } else { inner };
        let mut is_own_in_scope = false;
        inner.on_in_scope_variable(|variable| is_own_in_scope |= *variable == own);
        let graphs = Box::new(graphs(graph.clone()));
        let left = GraphPattern::Extend { inner: graphs, variable: hidden.clone(), expression: graph.clone().into() };
        let right = GraphPattern::Graph { name: hidden.clone().into(), inner: let_through(inner, &hidden).into() };
        let rows = GraphPattern::Lateral { left: left.into(), right: right.into() };
        if !is_own_in_scope {
            return rows;
        }
        let is_unbound = Expression::Not(Expression::Bound(own.clone()).into());
        let is_same = Expression::SameTerm(Expression::from(own).into(), Expression::from(graph).into());
        GraphPattern::Filter { expr: Expression::Or(is_unbound.into(), is_same.into()), inner: rows.into() }
    }
}

/// The names of loops' variables begin with it.
const LOOP: &str = "graph";

/// The variables that the pattern's own expressions may see, if these look at patterns.
fn bound_for_expressions(pattern: &GraphPattern) -> Vec<Variable> {
    use GraphPattern as P;
    let mut variables = Vec::new();
    let mut add = |inner: &GraphPattern| inner.on_in_scope_variable(|variable| variables.push(variable.clone()));
    let key = |(OrderExpression::Asc(key) | OrderExpression::Desc(key)): &OrderExpression| looks_at_patterns(key);
    match pattern {
        P::Filter { inner, expr: expression } | P::Extend { inner, expression, .. }
            if looks_at_patterns(expression) =>
        {
            add(inner);
        }
        P::LeftJoin { left, right, expression: Some(expression) } if looks_at_patterns(expression) => {
            add(left);
            add(right);
        }
        P::OrderBy { inner, expression } if expression.iter().any(key) => add(inner),
        P::Group { inner, aggregates, .. } if !aggregates.is_empty() => add(inner),
        _ => {}
    }
    variables
}

/// Whether the pattern has the same rows if the variable is the graph's name from the beginning, and if the rows are
/// joined with the name at the end.
fn binds_early(pattern: &GraphPattern, graph: &Variable) -> bool {
    use GraphPattern as P;
    match pattern {
        P::Bgp { .. } | P::Path { .. } | P::Values { .. } | P::Service { .. } => true,
        P::Join { left, right } | P::Lateral { left, right } | P::Union { left, right } => {
            binds_early(left, graph) && binds_early(right, graph)
        }
        P::Graph { inner, .. } | P::Distinct { inner } | P::Reduced { inner } => binds_early(inner, graph),
        P::Filter { expr: expression, inner } => !reads(expression, graph) && binds_early(inner, graph),
        P::Extend { inner, variable, expression } => {
            variable != graph && !reads(expression, graph) && binds_early(inner, graph)
        }
        P::LeftJoin { left, right, expression } => {
            binds_early(left, graph)
                && !mentions(right, graph)
                && !expression.as_ref().is_some_and(|expression| reads(expression, graph))
        }
        P::Minus { left, right } => binds_early(left, graph) && !mentions(right, graph),
        P::Project { variables, .. } if !variables.contains(graph) => true,
        P::Project { inner, .. } => binds_early(inner, graph),
        P::OrderBy { .. } | P::Slice { .. } => !mentions(pattern, graph),
        P::Group { inner, variables, aggregates } => {
            let reads_graph = |(variable, aggregate): &(Variable, AggregateExpression)| match aggregate {
                AggregateExpression::FunctionCall { expr, .. } => variable == graph || reads(expr, graph),
                AggregateExpression::CountSolutions { .. } => variable == graph,
            };
            let is_key = variables.contains(graph) && !aggregates.iter().any(reads_graph);
            if is_key { binds_early(inner, graph) } else { !mentions(pattern, graph) }
        }
    }
}

/// The pattern with the right side of each `MINUS` grouped by its own variables, if it is evaluated for rows of
/// something else and these can change its result.
pub(super) fn with_own_variables_of_minus(pattern: GraphPattern) -> GraphPattern {
    own_variables(pattern, false)
}

/// `within`: whether the pattern is evaluated for rows of something else.
fn own_variables(pattern: GraphPattern, within: bool) -> GraphPattern {
    let on_expression = &mut own_variables_of_expression;
    match pattern {
        GraphPattern::Lateral { left, right } => GraphPattern::Lateral {
            left: own_variables(*left, within).into(),
            right: own_variables(*right, true).into(),
        },
        other => match map_children(other, &mut |inner| own_variables(inner, within), on_expression) {
            GraphPattern::Minus { left, right } if within && !certain(&left).shares_with(&certain(&right)) => {
                let mut variables: Vec<Variable> = Vec::new();
                let is_of_loop = |variable: &Variable| variable.as_str().starts_with(hidden_variable(LOOP).as_str());
                right.on_in_scope_variable(|variable| {
                    if !variables.contains(variable) && !is_of_loop(variable) {
                        variables.push(variable.clone());
                    }
                });
                let right = GraphPattern::Group { inner: right, variables, aggregates: Vec::new() };
                GraphPattern::Minus { left, right: right.into() }
            }
            other => other,
        },
    }
}

fn own_variables_of_expression(expression: Expression) -> Expression {
    map_operands(expression, &mut |pattern| own_variables(pattern, true), &mut own_variables_of_expression)
}

/// All graphs, one in each row.
fn graphs(variable: Variable) -> GraphPattern {
    GraphPattern::Graph { name: variable.into(), inner: GraphPattern::Bgp { patterns: Vec::new() }.into() }
}

/// Whether every row of the pattern, within `GRAPH` with a variable, binds that to the graph in which all of the row
/// was looked up.
fn binds_graph(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } => !is_empty_group(pattern),
        GraphPattern::Path { .. } => true,
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            let (left_binds, right_binds) = (binds_graph(left), binds_graph(right));
            (left_binds || keeps_graph(left)) && (right_binds || keeps_graph(right)) && (left_binds || right_binds)
        }
        GraphPattern::Union { left, right } => binds_graph(left) && binds_graph(right),
        GraphPattern::LeftJoin { left, right, expression } => {
            binds_graph(left)
                && (binds_graph(right) || keeps_graph(right))
                && expression.as_ref().is_none_or(looks_in_bound_graphs)
        }
        // Sides that share a variable always, and not the graph alone.
        GraphPattern::Minus { left, right } => {
            binds_graph(left)
                && (binds_graph(right) || keeps_graph(right))
                && certain(left).shares_with(&certain(right))
        }
        GraphPattern::Filter { inner, expr: expression } | GraphPattern::Extend { inner, expression, .. } => {
            binds_graph(inner) && looks_in_bound_graphs(expression)
        }
        _ => false,
    }
}

/// Whether all patterns that the expression looks for bind the graph.
fn looks_in_bound_graphs(expression: &Expression) -> bool {
    let mut all_bind = true;
    visit_operands(expression, &mut |operand| {
        all_bind = all_bind
            && match operand {
                Operand::Pattern(pattern) => binds_graph(pattern),
                Operand::Expression(operand) => looks_in_bound_graphs(operand),
            };
    });
    all_bind
}

/// Whether a group is empty. `GRAPH ?g {}` returns the graphs themselves.
pub(super) fn is_empty_group(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => patterns.is_empty(),
        GraphPattern::Join { left, right } => is_empty_group(left) && is_empty_group(right),
        _ => false,
    }
}

/// Whether the pattern may have rows in a graph that does not exist.
fn may_ignore_graph(pattern: &GraphPattern) -> bool {
    use GraphPattern as P;
    match pattern {
        P::Bgp { patterns } => patterns.is_empty(),
        // A path of no steps has rows without a quad; other graphs and endpoints have quads of their own.
        P::Path { .. } | P::Values { .. } | P::Service { .. } | P::Graph { .. } => true,
        P::Join { left, right } | P::Lateral { left, right } => may_ignore_graph(left) && may_ignore_graph(right),
        P::Union { left, right } => may_ignore_graph(left) || may_ignore_graph(right),
        P::LeftJoin { left: inner, .. } | P::Minus { left: inner, .. } => may_ignore_graph(inner),
        // Without keys there is a group of no rows.
        P::Group { inner, variables, .. } => variables.is_empty() || may_ignore_graph(inner),
        P::Filter { inner, .. }
        | P::Extend { inner, .. }
        | P::OrderBy { inner, .. }
        | P::Project { inner, .. }
        | P::Distinct { inner }
        | P::Reduced { inner }
        | P::Slice { inner, .. } => may_ignore_graph(inner),
    }
}

/// Whether the pattern looks at no graph, or at one of its own.
fn keeps_graph(pattern: &GraphPattern) -> bool {
    matches!(pattern, GraphPattern::Values { .. } | GraphPattern::Graph { .. })
}

/// The pattern whose sub-selects see the variable.
fn let_through(pattern: GraphPattern, graph: &Variable) -> GraphPattern {
    let on_pattern = &mut |pattern| let_through(pattern, graph);
    match map_children(pattern, on_pattern, &mut |expression| in_expression(expression, graph)) {
        GraphPattern::Project { inner, mut variables } => {
            variables.push(graph.clone());
            GraphPattern::Project { inner, variables }
        }
        // Without variables there is one group, of an empty graph too.
        GraphPattern::Group { inner, mut variables, aggregates } if !variables.is_empty() => {
            variables.push(graph.clone());
            GraphPattern::Group { inner, variables, aggregates }
        }
        other => other,
    }
}

fn in_expression(expression: Expression, graph: &Variable) -> Expression {
    map_operands(expression, &mut |pattern| let_through(pattern, graph), &mut |operand| in_expression(operand, graph))
}

fn remembering_graph(pattern: GraphPattern, around: Option<&Variable>) -> GraphPattern {
    fn in_operands(expression: Expression, around: Option<&Variable>) -> Expression {
        let on_pattern = &mut |pattern| remembering_graph(pattern, around);
        map_operands(expression, on_pattern, &mut |operand| in_operands(operand, around))
    }
    let within = graph_within(&pattern, around).cloned();
    let within = within.as_ref();
    let on_pattern = &mut |inner| remembering_graph(inner, within);
    match (map_children(pattern, on_pattern, &mut |expression| in_operands(expression, within)), around) {
        (GraphPattern::Group { inner, variables, aggregates }, Some(graph)) if variables.is_empty() => {
            let group = GraphPattern::Group { inner, variables, aggregates };
            GraphPattern::Join { left: graphs(graph.clone()).into(), right: group.into() }
        }
        (other, _) => other,
    }
}

fn share_no_variable(left: &GraphPattern, right: &GraphPattern) -> bool {
    let mut variables = Vec::new();
    left.on_in_scope_variable(|variable| variables.push(variable));
    let mut is_shared = false;
    right.on_in_scope_variable(|variable| is_shared |= variables.contains(&variable));
    !is_shared
}
