//! Rewrites paths so that the evaluator returns each row as often as SPARQL has it, and reads each quad once.
//!
//! | path | becomes | because the evaluator |
//! |---|---|---|
//! | `?x P* ?y`, neither end is known | `?x (P+)? ?y` | takes the steps of a node once for each of its quads |
//! | `GRAPH ?g { X P+ Y }`, `?g` may be unknown | `GRAPH ?g { X P+\|P Y }` | has a row for each first step |
//! | `X !:p Y` | `X ?p Y FILTER(?p NOT IN (:p))` | has one row for several quads, if both ends are known |
//!
//! The second form has the rows of `P+`, each once: alternatives within one path are a set. A first step is a row of
//! `P+` too; finding it again takes little time.

use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression as Path};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

use super::hidden::hidden_variable;
use super::names::{Name, Names};

/// Where a path is evaluated.
pub(super) struct Place<'p> {
    /// What is bound before.
    pub bound: &'p Names,
    /// The part of `bound` that is bound around the group. A part of an `OPTIONAL` may be joined to it afterwards.
    pub outer: &'p Names,
    pub graph: Option<&'p NamedNodePattern>,
}

impl Place<'_> {
    fn has_graph(&self) -> bool {
        match self.graph {
            Some(NamedNodePattern::Variable(graph)) => {
                let name = Name::Variable(graph.clone());
                self.bound.contains(&name) && !self.outer.contains(&name)
            }
            Some(NamedNodePattern::NamedNode(_)) | None => true,
        }
    }

    fn has(&self, end: &TermPattern) -> bool {
        let mut names = Names::default();
        names.term(end);
        names.is_empty() || names.shares_with(self.bound)
    }
}

/// The pattern in the form of the table above, if it is a path. `number` is that of the next hidden variable.
pub(super) fn evaluated(pattern: GraphPattern, place: &Place<'_>, number: &mut usize) -> GraphPattern {
    let GraphPattern::Path { subject, path, object } = pattern else { return pattern };
    let path = match path {
        Path::ZeroOrMore(step) if !place.has(&subject) && !place.has(&object) => {
            Path::ZeroOrOne(Path::OneOrMore(step).into())
        }
        Path::OneOrMore(step) if !place.has_graph() => Path::Alternative(Path::OneOrMore(step.clone()).into(), step),
        Path::NegatedPropertySet(excluded) => {
            let predicate = hidden_variable(&format!("path{number}"));
            *number += 1;
            let triple = TriplePattern { subject, predicate: predicate.clone().into(), object };
            let excluded = excluded.into_iter().map(Expression::from).collect();
            let is_excluded = Expression::In(Expression::from(predicate).into(), excluded);
            let inner = GraphPattern::Bgp { patterns: vec![triple] };
            return GraphPattern::Filter { expr: Expression::Not(is_excluded.into()), inner: inner.into() };
        }
        path => path,
    };
    GraphPattern::Path { subject, path, object }
}
