//! `GRAPH ?g` around what does not bind `?g` by itself: evaluated once for each named graph.
//!
//! The evaluator hands the graph to the triple patterns within and has them bind it. A sub-select hides it from these, and `VALUES` has no
//! pattern that would. So `GRAPH ?g { P }` becomes a loop, `GRAPH ?g {}` and for each of its rows `P` in this graph, under a hidden name
//! that the sub-selects of `P` let through, and that is joined to aggregates without keys, which forget it. And `MINUS` whose sides share no
//! variable is left out, as it takes nothing away: under a graph both sides would share that.

use std::cell::Cell;

use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::NamedNodePattern;

use super::witness::hidden_variable;
use crate::sparql::shape::{Operand, map_children, map_operands, visit_operands};

/// The pattern with such graphs written as loops.
pub(super) fn with_loops_over_graphs(pattern: GraphPattern) -> GraphPattern {
    Loops::default().pattern(pattern)
}

/// The pattern with the graph joined to what an aggregate without keys makes of it: there is a row for an empty graph too, but without the
/// graph, in which patterns of `HAVING` and `ORDER BY` are looked for. Requires: joins are in their order, which the planner would change.
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
}

impl Loops {
    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        let inner = map_children(pattern, &mut |inner| self.pattern(inner), &mut |expr| self.expression(expr));
        match inner {
            GraphPattern::Graph { name: NamedNodePattern::Variable(graph), inner }
                if !is_nothing(&inner) && !binds_graph(&inner) =>
            {
                self.over_graphs(graph, *inner)
            }
            GraphPattern::Minus { left, right } if share_no_variable(&left, &right) => *left,
            other => other,
        }
    }

    fn expression(&self, expression: Expression) -> Expression {
        map_operands(expression, &mut |pattern| self.pattern(pattern), &mut |operand| self.expression(operand))
    }

    fn over_graphs(&self, graph: Variable, inner: GraphPattern) -> GraphPattern {
        let number = self.begun.get();
        self.begun.set(number + 1);
        let hidden = hidden_variable(&format!("graph{number}"));
        let graphs = Box::new(graphs(graph.clone()));
        let left = GraphPattern::Extend { inner: graphs, variable: hidden.clone(), expression: graph.into() };
        let right = GraphPattern::Graph { name: hidden.clone().into(), inner: let_through(inner, &hidden).into() };
        GraphPattern::Lateral { left: left.into(), right: right.into() }
    }
}

/// All graphs, one in each row.
fn graphs(variable: Variable) -> GraphPattern {
    GraphPattern::Graph { name: variable.into(), inner: GraphPattern::Bgp { patterns: Vec::new() }.into() }
}

/// Whether every row of the pattern, within `GRAPH` with a variable, binds that to the graph in which all of the row was looked up.
fn binds_graph(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } => !is_nothing(pattern),
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
        GraphPattern::Minus { left, right } => binds_graph(left) && (binds_graph(right) || keeps_graph(right)),
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

/// `{}` within `GRAPH` asks for the graphs themselves.
fn is_nothing(pattern: &GraphPattern) -> bool {
    matches!(pattern, GraphPattern::Bgp { patterns } if patterns.is_empty())
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
