//! Paths that may have no steps, and begin or end with a term of the text.
//!
//! Such a path has the row in which its other end is the term, whether the graph has the term or not (SPARQL 1.1,
//! 18.4): a term reaches itself in every graph. The evaluator has that row in graphs that have the term. So the row is
//! written beside the path, or in its place.
//!
//! | path | in which graph | becomes |
//! |---|---|---|
//! | `:x :p* :x` | default | one row |
//! | `:x :p* ?y` | default, without `:x` | `VALUES ?y { :x }` |
//! | `:x :p* ?y` | `GRAPH <g>`, without `:x` | `GRAPH <g> {} VALUES ?y { :x }` |
//! | `:x :p* ?y` | `GRAPH ?g` | `{ GRAPH ?g {} VALUES ?y { :x } } UNION { :x :p* ?y FILTER(!sameTerm(?y, :x)) }` |
//!
//! A variable stands for the nodes of its graph, also where something else binds it: solutions are joined after the
//! path has been evaluated. So does the variable between the parts of a sequence, which is why a sequence has no row
//! for a term that the graph does not have.

use std::cell::RefCell;
use std::collections::HashMap;

use oxrdf::{BlankNode, Term, Variable};
use spargebra::algebra::{Expression, Function, GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

use super::estimate::{Estimator, ground};
use super::hidden::hidden_variable;
use crate::Quads;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::parse::shape::{map_children, map_operands};

/// The pattern with these rows.
pub(super) fn with_terms_that_reach_themselves<Q: Quads>(
    pattern: GraphPattern,
    estimator: &Estimator<'_, Q>,
) -> Result<GraphPattern, Stopped> {
    let rows = Rows { estimator, stopped: RefCell::default() };
    let pattern = rows.pattern(with_named_ends(pattern), None);
    rows.stopped.into_inner().map_or(Ok(pattern), Err)
}

struct Rows<'e, 'p, Q> {
    estimator: &'e Estimator<'p, Q>,
    /// The traversal cannot fail, so a failure waits here.
    stopped: RefCell<Option<Stopped>>,
}

impl<Q: Quads> Rows<'_, '_, Q> {
    fn pattern(&self, pattern: GraphPattern, graph: Option<&NamedNodePattern>) -> GraphPattern {
        match pattern {
            GraphPattern::Path { subject, path, object } => self.path(subject, path, object, graph),
            // Another endpoint has graphs of its own.
            service @ GraphPattern::Service { .. } => service,
            GraphPattern::Graph { name, inner } => {
                let inner = self.pattern(*inner, Some(&name)).into();
                GraphPattern::Graph { name, inner }
            }
            other => {
                let on_pattern = &mut |inner| self.pattern(inner, graph);
                map_children(other, on_pattern, &mut |expression| self.expression(expression, graph))
            }
        }
    }

    fn expression(&self, expression: Expression, graph: Option<&NamedNodePattern>) -> Expression {
        let on_pattern = &mut |pattern| self.pattern(pattern, graph);
        map_operands(expression, on_pattern, &mut |operand| self.expression(operand, graph))
    }

    fn path(
        &self,
        subject: TermPattern,
        path: PropertyPathExpression,
        object: TermPattern,
        graph: Option<&NamedNodePattern>,
    ) -> GraphPattern {
        let row = match (constant(&subject), constant(&object)) {
            (Some(start), Some(end)) if start == end && reaches_itself(&path, Other::Same) => {
                return in_each(graph, GraphPattern::Values { variables: Vec::new(), bindings: vec![Vec::new()] });
            }
            (Some(term), None) => variable(&object).map(|end| (term, end)),
            (None, Some(term)) => variable(&subject).map(|start| (term, start)),
            _ => None,
        };
        let Some((term, end)) = row.filter(|_| reaches_itself(&path, Other::Variable)) else {
            return GraphPattern::Path { subject, path, object };
        };
        let is_one_graph = !matches!(graph, Some(NamedNodePattern::Variable(_)));
        if is_one_graph && self.has_term(&term, graph) {
            return GraphPattern::Path { subject, path, object };
        }
        let values = GraphPattern::Values { variables: vec![end.clone()], bindings: vec![vec![Some(term.clone())]] };
        let itself = in_each(graph, values);
        if is_one_graph {
            return itself;
        }
        let is_itself = Expression::SameTerm(Expression::from(end).into(), as_expression(term).into());
        let path = GraphPattern::Path { subject, path, object };
        let others = GraphPattern::Filter { expr: Expression::Not(is_itself.into()), inner: path.into() };
        GraphPattern::Union { left: itself.into(), right: others.into() }
    }

    /// Whether a triple of the graph has the term as its subject or object.
    fn has_term(&self, term: &GroundTerm, graph: Option<&NamedNodePattern>) -> bool {
        let found = self.is_node(term, graph);
        found.unwrap_or_else(|stopped| {
            *self.stopped.borrow_mut() = Some(stopped);
            true
        })
    }

    fn is_node(&self, term: &GroundTerm, graph: Option<&NamedNodePattern>) -> Result<bool, Stopped> {
        let (predicate, other) = (hidden_variable("p"), TermPattern::from(hidden_variable("o")));
        let term = TermPattern::from(Term::from(term.clone()));
        for (subject, object) in [(term.clone(), other.clone()), (other, term)] {
            let triple = TriplePattern { subject, predicate: predicate.clone().into(), object };
            if self.estimator.is_there(&self.estimator.slots(&triple, graph)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The row, once in each graph that there is.
fn in_each(graph: Option<&NamedNodePattern>, row: GraphPattern) -> GraphPattern {
    let Some(graph) = graph else { return row };
    let nothing = GraphPattern::Bgp { patterns: Vec::new() };
    let graphs = GraphPattern::Graph { name: graph.clone(), inner: nothing.into() };
    GraphPattern::Join { left: graphs.into(), right: row.into() }
}

/// What is at the end of a path that begins with a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Other {
    /// The same term.
    Same,
    Variable,
}

/// Whether the path has the row in which a term reaches itself, of a term that the graph does not have.
fn reaches_itself(path: &PropertyPathExpression, other: Other) -> bool {
    use PropertyPathExpression as P;
    match path {
        P::NamedNode(_) | P::NegatedPropertySet(_) => false,
        P::ZeroOrMore(_) | P::ZeroOrOne(_) => true,
        P::Reverse(inner) => reaches_itself(inner, other),
        // Its steps are paths to a variable.
        P::OneOrMore(inner) => reaches_itself(inner, Other::Variable),
        P::Alternative(left, right) => reaches_itself(left, other) || reaches_itself(right, other),
        // The parts meet in a variable. From a term to itself it is at the end of both.
        P::Sequence(left, right) => {
            other == Other::Same && [left, right].iter().all(|part| reaches_itself(part, Other::Variable))
        }
    }
}

fn constant(pattern: &TermPattern) -> Option<GroundTerm> {
    match pattern {
        TermPattern::NamedNode(node) => Some(node.clone().into()),
        TermPattern::Literal(literal) => Some(literal.clone().into()),
        TermPattern::Triple(triple) => GroundTerm::try_from(Term::from(ground(triple)?)).ok(),
        TermPattern::Variable(_) | TermPattern::BlankNode(_) => None,
    }
}

fn as_expression(term: GroundTerm) -> Expression {
    match term {
        GroundTerm::NamedNode(node) => node.into(),
        GroundTerm::Literal(literal) => literal.into(),
        GroundTerm::Triple(triple) => {
            let parts = vec![triple.subject.into(), triple.predicate.into(), as_expression(triple.object)];
            Expression::FunctionCall(Function::Triple, parts)
        }
    }
}

fn variable(pattern: &TermPattern) -> Option<Variable> {
    match pattern {
        TermPattern::Variable(variable) => Some(variable.clone()),
        _ => None,
    }
}

/// Blank nodes, each with its number.
type Ends = HashMap<BlankNode, usize>;

/// The pattern with variables in place of the blank nodes that such paths end with: `VALUES` has no blank nodes.
fn with_named_ends(pattern: GraphPattern) -> GraphPattern {
    let ends = RefCell::new(Ends::new());
    let pattern = add_ends(pattern, &ends);
    let ends = ends.into_inner();
    if ends.is_empty() { pattern } else { name_ends(pattern, &ends) }
}

fn add_ends(pattern: GraphPattern, ends: &RefCell<Ends>) -> GraphPattern {
    if let GraphPattern::Path { subject, path, object } = &pattern
        && reaches_itself(path, Other::Variable)
    {
        match (subject, object) {
            (TermPattern::BlankNode(end), other) | (other, TermPattern::BlankNode(end))
                if constant(other).is_some() =>
            {
                let mut ends = ends.borrow_mut();
                let number = ends.len();
                ends.entry(end.clone()).or_insert(number);
            }
            _ => {}
        }
    }
    fn in_expression(expression: Expression, ends: &RefCell<Ends>) -> Expression {
        map_operands(expression, &mut |inner| add_ends(inner, ends), &mut |operand| in_expression(operand, ends))
    }
    map_children(pattern, &mut |inner| add_ends(inner, ends), &mut |expression| in_expression(expression, ends))
}

fn name_ends(pattern: GraphPattern, ends: &Ends) -> GraphPattern {
    fn in_expression(expression: Expression, ends: &Ends) -> Expression {
        map_operands(expression, &mut |inner| name_ends(inner, ends), &mut |operand| in_expression(operand, ends))
    }
    match pattern {
        GraphPattern::Bgp { patterns } => GraphPattern::Bgp {
            patterns: patterns.into_iter().map(|triple| name_ends_of_triple(triple, ends)).collect(),
        },
        GraphPattern::Path { subject, path, object } => {
            GraphPattern::Path { subject: name_end(subject, ends), path, object: name_end(object, ends) }
        }
        service @ GraphPattern::Service { .. } => service,
        other => map_children(other, &mut |inner| name_ends(inner, ends), &mut |operand| in_expression(operand, ends)),
    }
}

fn name_ends_of_triple(triple: TriplePattern, ends: &Ends) -> TriplePattern {
    let TriplePattern { subject, predicate, object } = triple;
    TriplePattern { subject: name_end(subject, ends), predicate, object: name_end(object, ends) }
}

fn name_end(term: TermPattern, ends: &Ends) -> TermPattern {
    match term {
        TermPattern::BlankNode(node) => match ends.get(&node) {
            Some(number) => hidden_variable(&format!("end{number}")).into(),
            None => node.into(),
        },
        TermPattern::Triple(triple) => TermPattern::Triple(Box::new(name_ends_of_triple(*triple, ends))),
        other => other,
    }
}
