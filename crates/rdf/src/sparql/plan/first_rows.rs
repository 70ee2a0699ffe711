//! Results that are sorted and cut off: `SELECT … ORDER BY ?v … LIMIT n`.
//!
//! Two filters are put around what is sorted, `Filter(?v, reached) { Extend(hidden := ?v) Filter(?v, candidate) … }`.
//! The outer one reads a variable that is bound by the last step, so that the optimiser leaves it where it is: it sees
//! the rows that are sorted, and offers them to [`Best`](crate::sparql::evaluation::best_rows::Best). The inner one it
//! pushes to where `?v` is bound: rows that cannot be in the result end there.
//!
//! Invariant: what is sorted is evaluated once, as the outermost pattern is. Elsewhere, rows of one evaluation would
//! stand against those of another.

use oxrdf::{NamedNode, Variable};
use spargebra::algebra::{Expression, GraphPattern, OrderExpression};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

use super::hidden::hidden_variable;
use super::names::{Name, certain};
use super::one_group::looks_at_patterns;
use crate::sparql::evaluation::best_rows::ROWS_MAX;
use crate::sparql::evaluation::evaluation_term::Form;
use crate::sparql::plan::expressions::forms::in_form;

/// How a result is cut off.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// Rows after which nothing is wanted, at least one.
    pub rows: usize,
    /// Whether high values come first.
    pub is_descending: bool,
    /// The predicate of the only triple pattern that can have it, if the first key is the object of that one and of no
    /// other.
    pub predicate: Option<NamedNode>,
    /// The first key.
    pub variable: Variable,
}

impl Cut {
    /// How the pattern of a `SELECT` is cut off, if it is by a variable that all rows bind.
    pub(crate) fn of(pattern: &GraphPattern) -> Option<Self> {
        let GraphPattern::Slice { inner, start, length: Some(length) } = pattern else { return None };
        let GraphPattern::Project { inner, .. } = &**inner else { return None };
        let GraphPattern::OrderBy { inner, expression } = &**inner else { return None };
        let (variable, is_descending) = match expression.first()? {
            OrderExpression::Asc(Expression::Variable(variable)) => (variable.clone(), false),
            OrderExpression::Desc(Expression::Variable(variable)) => (variable.clone(), true),
            _ => return None,
        };
        let rows = start.checked_add(*length).filter(|rows| (1..=ROWS_MAX).contains(rows))?;
        if !certain(inner).contains(&Name::Variable(variable.clone())) {
            return None;
        }
        let predicate = sorting_predicate(inner, &variable);
        Some(Self { rows, is_descending, predicate, variable })
    }

    /// Whether the pattern is the triple pattern that binds the first key.
    pub(crate) fn is_bound_by(&self, pattern: &GraphPattern) -> bool {
        match pattern {
            GraphPattern::Bgp { patterns } => patterns.iter().any(|triple| {
                matches!(&triple.predicate, NamedNodePattern::NamedNode(node) if Some(node) == self.predicate.as_ref())
            }),
            _ => false,
        }
    }

    /// The planned pattern, with the filters.
    pub(crate) fn put_to(&self, planned: GraphPattern) -> GraphPattern {
        match planned {
            GraphPattern::Slice { inner, start, length } => {
                GraphPattern::Slice { inner: self.put_to(*inner).into(), start, length }
            }
            GraphPattern::Project { inner, variables } => {
                GraphPattern::Project { inner: self.put_to(*inner).into(), variables }
            }
            GraphPattern::OrderBy { inner, expression } => {
                GraphPattern::OrderBy { inner: self.filtered(inner).into(), expression }
            }
            other => other,
        }
    }

    fn filtered(&self, sorted: Box<GraphPattern>) -> GraphPattern {
        let key = Expression::from(self.variable.clone());
        let hidden = hidden_variable("sorted");
        let candidates = GraphPattern::Filter { expr: in_form(key.clone(), Form::Candidate), inner: sorted };
        let extended = GraphPattern::Extend { inner: candidates.into(), variable: hidden.clone(), expression: key };
        GraphPattern::Filter { expr: in_form(hidden.into(), Form::Reached), inner: extended.into() }
    }
}

/// The predicate of the triple pattern whose object is the variable, if all is one group of triple patterns of the
/// default graph, and none but this one can have that predicate.
fn sorting_predicate(pattern: &GraphPattern, variable: &Variable) -> Option<NamedNode> {
    let mut triples = Vec::new();
    if !add_triples(pattern, &mut triples) {
        return None;
    }
    let is_key =
        |triple: &&&TriplePattern| matches!(&triple.object, TermPattern::Variable(object) if object == variable);
    let NamedNodePattern::NamedNode(predicate) = &triples.iter().find(is_key)?.predicate else { return None };
    let may_have = |triple: &&&TriplePattern| match &triple.predicate {
        NamedNodePattern::NamedNode(other) => other == predicate,
        NamedNodePattern::Variable(_) => true,
    };
    (triples.iter().filter(may_have).count() == 1).then(|| predicate.clone())
}

/// Adds the triple patterns of a group. Returns whether there is nothing else in it that looks at quads.
fn add_triples<'p>(pattern: &'p GraphPattern, triples: &mut Vec<&'p TriplePattern>) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => {
            triples.extend(patterns);
            true
        }
        GraphPattern::Values { .. } => true,
        GraphPattern::Join { left, right } => add_triples(left, triples) && add_triples(right, triples),
        GraphPattern::Filter { expr, inner } => !looks_at_patterns(expr) && add_triples(inner, triples),
        GraphPattern::Extend { inner, expression, .. } => !looks_at_patterns(expression) && add_triples(inner, triples),
        _ => false,
    }
}
