//! Triple terms of a text whose literals the evaluator would write in another form.
//!
//! | written | evaluated |
//! |---|---|
//! | `?s ?p <<( :a :b 007 )>>` | the [name](aggregates::name_of_term) of the triple term, as an IRI |
//! | `VALUES ?t { <<( :a :b 007 )>> }` | as above |
//!
//! The evaluator takes the object of a constant triple term for a value, and looks for `<<( :a :b 7 )>>`.

use oxrdf::{NamedNode, Term, Triple};
use spareval::ExpressionTerm;
use spargebra::algebra::GraphPattern;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

use crate::sparql::expressions::aggregates;

/// A pattern that has no others in it, with such triple terms by their names.
pub(crate) fn with_names(pattern: GraphPattern) -> GraphPattern {
    match pattern {
        GraphPattern::Bgp { patterns } => GraphPattern::Bgp { patterns: patterns.into_iter().map(in_triple).collect() },
        GraphPattern::Path { subject, path, object } => {
            GraphPattern::Path { subject: in_term(subject), path, object: in_term(object) }
        }
        GraphPattern::Values { variables, mut bindings } => {
            for value in bindings.iter_mut().flatten().flatten() {
                if let GroundTerm::Triple(_) = value
                    && let Some(name) = name_of(&value.clone().into())
                {
                    *value = name.into();
                }
            }
            GraphPattern::Values { variables, bindings }
        }
        other => other,
    }
}

fn in_triple(triple: TriplePattern) -> TriplePattern {
    TriplePattern { subject: in_term(triple.subject), object: in_term(triple.object), ..triple }
}

fn in_term(term: TermPattern) -> TermPattern {
    match term {
        TermPattern::Triple(triple) => match constant(&triple).and_then(|constant| name_of(&constant.into())) {
            Some(name) => name.into(),
            None => in_triple(*triple).into(),
        },
        other => other,
    }
}

/// The triple, if it has neither variables nor blank nodes, which are variables too.
fn constant(triple: &TriplePattern) -> Option<Triple> {
    let (TermPattern::NamedNode(subject), NamedNodePattern::NamedNode(predicate)) =
        (&triple.subject, &triple.predicate)
    else {
        return None;
    };
    let object: Term = match &triple.object {
        TermPattern::NamedNode(node) => node.clone().into(),
        TermPattern::Literal(literal) => literal.clone().into(),
        TermPattern::Triple(triple) => constant(triple)?.into(),
        TermPattern::BlankNode(_) | TermPattern::Variable(_) => return None,
    };
    Some(Triple::new(subject.clone(), predicate.clone(), object))
}

/// The term's name, if the evaluator would make another term of it.
fn name_of(term: &Term) -> Option<NamedNode> {
    (Term::from(ExpressionTerm::from(term.clone())) != *term).then(|| aggregates::name_of_term(term))
}
