//! `DELETE` whose `WHERE` is one triple pattern, and which takes away just what it matches: a removal by pattern.

use oxrdf::TermRef;
use spargebra::algebra::GraphPattern as Algebra;
use spargebra::term::{GraphNamePattern, GroundQuadPattern, GroundTermPattern, NamedNodePattern, TermPattern};

use crate::error::Result;
use crate::{GraphPattern, IdPattern, Quads};

/// A quad pattern whose variables are all different.
pub struct Removal(GroundQuadPattern);

/// The removal that the operation is; `None` if it has to be evaluated.
pub fn of(delete: &[GroundQuadPattern], pattern: &Algebra) -> Option<Removal> {
    let [quad] = delete else { return None };
    let (graph, triples) = match pattern {
        Algebra::Bgp { patterns } => (GraphNamePattern::DefaultGraph, patterns),
        Algebra::Graph { name, inner } => match &**inner {
            Algebra::Bgp { patterns } => (name.clone().into(), patterns),
            _ => return None,
        },
        _ => return None,
    };
    let [triple] = triples.as_slice() else { return None };
    let same = TermPattern::from(quad.subject.clone()) == triple.subject
        && quad.predicate == triple.predicate
        && TermPattern::from(quad.object.clone()) == triple.object
        && quad.graph_name == graph;
    (same && has_different_variables(quad)).then(|| Removal(quad.clone()))
}

/// Whether no variable is there twice, and none within a triple term: a pattern of numbers cannot say these.
fn has_different_variables(quad: &GroundQuadPattern) -> bool {
    let term = |pattern: &GroundTermPattern| match pattern {
        GroundTermPattern::Variable(variable) => Ok(Some(variable.clone())),
        GroundTermPattern::Triple(_) => Err(()),
        GroundTermPattern::NamedNode(_) | GroundTermPattern::Literal(_) => Ok(None),
    };
    let (Ok(subject), Ok(object)) = (term(&quad.subject), term(&quad.object)) else { return false };
    let predicate = match &quad.predicate {
        NamedNodePattern::Variable(variable) => Some(variable.clone()),
        NamedNodePattern::NamedNode(_) => None,
    };
    let graph = match &quad.graph_name {
        GraphNamePattern::Variable(variable) => Some(variable.clone()),
        GraphNamePattern::NamedNode(_) | GraphNamePattern::DefaultGraph => None,
    };
    let variables: Vec<_> = [subject, predicate, object, graph].into_iter().flatten().collect();
    variables.iter().enumerate().all(|(place, variable)| !variables[..place].contains(variable))
}

impl Removal {
    /// The pattern in numbers; `None` if the store has not all of its terms, and so nothing to remove.
    pub fn pattern(&self, quads: &impl Quads) -> Result<Option<IdPattern>> {
        let Self(quad) = self;
        let term = |pattern: &GroundTermPattern| -> Result<PatternTerm> {
            Ok(match pattern {
                GroundTermPattern::NamedNode(node) => PatternTerm::of(quads.id(node.as_ref().into())?),
                GroundTermPattern::Literal(literal) => PatternTerm::of(quads.id(TermRef::from(literal.as_ref()))?),
                GroundTermPattern::Variable(_) | GroundTermPattern::Triple(_) => PatternTerm::Any,
            })
        };
        let predicate = match &quad.predicate {
            NamedNodePattern::NamedNode(node) => PatternTerm::of(quads.id(node.as_ref().into())?),
            NamedNodePattern::Variable(_) => PatternTerm::Any,
        };
        let graph = match &quad.graph_name {
            GraphNamePattern::DefaultGraph => GraphPattern::Default,
            GraphNamePattern::Variable(_) => GraphPattern::AnyNamed,
            GraphNamePattern::NamedNode(name) => match quads.id(name.as_ref().into())? {
                Some(id) => GraphPattern::Named(id),
                None => return Ok(None),
            },
        };
        Ok(match (term(&quad.subject)?, predicate, term(&quad.object)?) {
            (PatternTerm::Unknown, _, _) | (_, PatternTerm::Unknown, _) | (_, _, PatternTerm::Unknown) => None,
            (subject, predicate, object) => {
                Some(IdPattern { subject: subject.id(), predicate: predicate.id(), object: object.id(), graph })
            }
        })
    }
}

/// What a place of a pattern asks for.
enum PatternTerm {
    Any,
    Term(crate::TermId),
    /// A term that the store has not.
    Unknown,
}

impl PatternTerm {
    fn of(id: Option<crate::TermId>) -> Self {
        id.map_or(Self::Unknown, Self::Term)
    }

    fn id(self) -> Option<crate::TermId> {
        match self {
            Self::Term(id) => Some(id),
            Self::Any | Self::Unknown => None,
        }
    }
}
