//! Paths of any length, or of none, from a term that the graph has not.
//!
//! Such a path reaches the term itself and nothing else (SPARQL 1.1, 18.4); the evaluator has it reach nothing. So it is planned as the row
//! that it is. Only paths over the default graph, and only their ends that are constants: a variable stands for nodes of the graph.

use oxrdf::Variable;
use spargebra::algebra::{GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, TermPattern, TriplePattern};

use super::estimate::Estimator;
use crate::Quads;
use crate::sparql::limits::Stopped;

/// What the path is as `VALUES`, if it begins or ends with such a term.
pub(super) fn of_unknown_term<Q: Quads>(
    estimator: &Estimator<'_, Q>,
    subject: &TermPattern,
    path: &PropertyPathExpression,
    object: &TermPattern,
) -> Result<Option<GraphPattern>, Stopped> {
    if !may_be_empty(path) {
        return Ok(None);
    }
    let (term, variable) = match (constant(subject), constant(object)) {
        // A term reaches itself, whether the graph has it or not.
        (Some(subject), Some(object)) if subject == object => {
            return Ok(Some(GraphPattern::Values { variables: Vec::new(), bindings: vec![Vec::new()] }));
        }
        (Some(term), None) => (term, object),
        (None, Some(term)) => (term, subject),
        _ => return Ok(None),
    };
    let TermPattern::Variable(variable) = variable else { return Ok(None) };
    if has_term(estimator, &term)? {
        return Ok(None);
    }
    Ok(Some(GraphPattern::Values { variables: vec![variable.clone()], bindings: vec![vec![Some(term)]] }))
}

fn may_be_empty(path: &PropertyPathExpression) -> bool {
    use PropertyPathExpression as P;
    match path {
        P::NamedNode(_) | P::NegatedPropertySet(_) => false,
        P::ZeroOrMore(_) | P::ZeroOrOne(_) => true,
        P::Reverse(inner) | P::OneOrMore(inner) => may_be_empty(inner),
        P::Sequence(left, right) => may_be_empty(left) && may_be_empty(right),
        P::Alternative(left, right) => may_be_empty(left) || may_be_empty(right),
    }
}

fn constant(pattern: &TermPattern) -> Option<GroundTerm> {
    match pattern {
        TermPattern::NamedNode(node) => Some(node.clone().into()),
        TermPattern::Literal(literal) => Some(literal.clone().into()),
        TermPattern::Variable(_) | TermPattern::BlankNode(_) | TermPattern::Triple(_) => None,
    }
}

/// Whether a triple of the default graph has the term as its subject or object.
fn has_term<Q: Quads>(estimator: &Estimator<'_, Q>, term: &GroundTerm) -> Result<bool, Stopped> {
    let variable = |name| Variable::new_unchecked(name);
    let (predicate, other) = (variable("p"), TermPattern::from(variable("o")));
    let term = TermPattern::from(oxrdf::Term::from(term.clone()));
    for (subject, object) in [(term.clone(), other.clone()), (other, term)] {
        let triple = TriplePattern { subject, predicate: predicate.clone().into(), object };
        if estimator.is_there(&estimator.slots(&triple, None)?)? {
            return Ok(true);
        }
    }
    Ok(false)
}
