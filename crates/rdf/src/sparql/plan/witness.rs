//! A term for rows that bind nothing, so that a join of such rows can be interrupted as every other one.
//!
//! The evaluator is interrupted when it touches a term. `VALUES () { () () … }`, `UNDEF`, alternatives of patterns
//! without variables and options over these have rows without any. Where such rows are joined, each side gets a
//! variable of its own with a constant value: a witness. No text can name it, and what is not joined has none.
//! `COUNT(DISTINCT *)` counts rows without hidden variables and blank nodes, but for the variable of the loop over
//! graphs that it is in: its patterns need that, and it has one value.

use std::cell::Cell;

use oxrdf::{Literal, Variable};
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern};

use super::graphs::graph_within;
use super::hidden::{PREFIX, hidden_variable};
use super::names::binds_any;
use crate::sparql::parse::shape::{map_children, map_operands};

/// The pattern with witnesses where they are needed. Its solutions are the same but for these.
pub(super) fn with_witnesses(pattern: GraphPattern) -> GraphPattern {
    Witnesses::default().pattern(pattern, None)
}

#[derive(Default)]
struct Witnesses {
    given: Cell<usize>,
}

impl Witnesses {
    /// `around`: the variable of the graph that the pattern is looked up in.
    fn pattern(&self, pattern: GraphPattern, around: Option<&Variable>) -> GraphPattern {
        let within = graph_within(&pattern, around).cloned();
        let within = within.as_ref();
        let on_pattern = &mut |inner| self.pattern(inner, within);
        match map_children(pattern, on_pattern, &mut |expression| self.expression(expression, within)) {
            GraphPattern::Join { left, right } => {
                GraphPattern::Join { left: self.operand(left), right: self.operand(right) }
            }
            GraphPattern::Minus { left, right } => {
                GraphPattern::Minus { left: self.operand(left), right: self.operand(right) }
            }
            GraphPattern::LeftJoin { left, right, expression } => {
                GraphPattern::LeftJoin { left: self.operand(left), right: self.operand(right), expression }
            }
            // What is to the right is evaluated with a row of what is to the left, and has its terms.
            GraphPattern::Lateral { left, right } => GraphPattern::Lateral { left: self.operand(left), right },
            GraphPattern::Group { inner, variables, aggregates } => {
                let counts_rows = |(_, aggregate): &(Variable, AggregateExpression)| {
                    matches!(aggregate, AggregateExpression::CountSolutions { distinct: true })
                };
                let inner = match aggregates.iter().any(counts_rows) {
                    true => named_alone(inner, &variables, around),
                    false => inner,
                };
                GraphPattern::Group { inner, variables, aggregates }
            }
            other => other,
        }
    }

    fn expression(&self, expression: Expression, around: Option<&Variable>) -> Expression {
        let on_pattern = &mut |pattern| self.pattern(pattern, around);
        map_operands(expression, on_pattern, &mut |operand| self.expression(operand, around))
    }

    fn operand(&self, inner: Box<GraphPattern>) -> Box<GraphPattern> {
        if binds_any(&inner) || has_at_most_one_row(&inner) {
            return inner;
        }
        let number = self.given.get();
        self.given.set(number + 1);
        let variable = hidden_variable(&number.to_string());
        Box::new(GraphPattern::Extend { inner, variable, expression: Literal::from(true).into() })
    }
}

/// The pattern without its hidden variables and blank nodes, which do not appear in solutions, but are columns of the
/// evaluator's rows. The keys of the group and the variable of the graph around are kept: they have one value in it.
fn named_alone(inner: Box<GraphPattern>, keys: &[Variable], around: Option<&Variable>) -> Box<GraphPattern> {
    let mut variables = keys.to_vec();
    inner.on_in_scope_variable(|variable| {
        if !variable.as_str().starts_with(PREFIX) && !variables.contains(variable) {
            variables.push(variable.clone());
        }
    });
    if let Some(graph) = around
        && !variables.contains(graph)
    {
        variables.push(graph.clone());
    }
    Box::new(GraphPattern::Project { inner, variables })
}

fn has_at_most_one_row(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => !binds_any(pattern),
        GraphPattern::Values { bindings, .. } => bindings.len() <= 1,
        GraphPattern::Group { variables, .. } => variables.is_empty(),
        GraphPattern::Slice { inner, length, .. } => {
            length.is_some_and(|length| length <= 1) || has_at_most_one_row(inner)
        }
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::LeftJoin { left, right, .. } => has_at_most_one_row(left) && has_at_most_one_row(right),
        GraphPattern::Minus { left: inner, .. }
        | GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => has_at_most_one_row(inner),
        GraphPattern::Graph { .. } | GraphPattern::Union { .. } | GraphPattern::Service { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::parse::text::{Prologue, parse_query};

    fn witnesses(text: &str) -> usize {
        let spargebra::Query::Select { pattern, .. } = parse_query(text, &Prologue::default()).expect("a query") else {
            panic!("no SELECT");
        };
        with_witnesses(pattern).to_string().matches(PREFIX).count()
    }

    #[test]
    fn a_pattern_is_told_to_bind_a_variable_if_there_is_one_that_it_certainly_binds() {
        use crate::sparql::plan::names::certain;
        for text in [
            "SELECT * { ?s ?p ?o . ?o ?q 1 }",
            "SELECT * { <http://a> <http://b> 1 }",
            "SELECT * { <http://a> <http://b> [] }",
            "SELECT * { <http://a> <http://b> <<( ?s <http://b> 1 )>> }",
            "SELECT * { VALUES () { () () } OPTIONAL { ?s ?p ?o } }",
            "SELECT * { VALUES ?a { UNDEF 1 } { SELECT ?x { ?s ?p ?o } } }",
            "SELECT * { { ?s ?p 1 } UNION { ?o ?q 2 } }",
            "SELECT * { { ?s ?p 1 } UNION { ?o ?p 2 } FILTER(?p) BIND(1 AS ?z) MINUS { ?z ?y 1 } }",
            "SELECT (COUNT(*) AS ?n) { ?s <http://b>* ?o } ORDER BY ?n LIMIT 1",
        ] {
            let spargebra::Query::Select { pattern, .. } = parse_query(text, &Prologue::default()).expect("a query")
            else {
                panic!("no SELECT");
            };
            assert_eq!(binds_any(&pattern), !certain(&pattern).is_empty(), "{text}");
        }
    }

    #[test]
    fn only_joined_rows_that_may_bind_nothing_get_a_witness() {
        assert_eq!(witnesses("SELECT * { VALUES () { () () } VALUES ?a { UNDEF 1 } }"), 2);
        assert_eq!(witnesses("SELECT * { VALUES () { () () } }"), 0);
        assert_eq!(
            witnesses("SELECT * { ?s ?p ?o . { SELECT (COUNT(*) AS ?n) { ?a ?b ?c } } OPTIONAL { ?s ?q 1 } }"),
            0
        );
        assert_eq!(witnesses("SELECT * { { ?s ?p 1 } UNION { ?o ?q 2 } ?x ?y ?z }"), 1);
    }
}
