//! `<<s p o>>` as in RDF-star: a triple term. In SPARQL 1.2, which the parser knows, it is a node that reifies the
//! triple.
//!
//! Nodes that the text itself names stay what they are: only those that the parser made for `<<s p o>>` are replaced.
//!
//! The parser writes `<<s p o>> q v` as `_:r rdf:reifies <<( s p o )>> ; q v`. Here the triple takes the place of the
//! node, and the statement that it reifies the triple is left out.

use std::collections::HashMap;

use oxrdf::BlankNode;
use oxrdf::vocab::rdf;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use spargebra::{GraphUpdateOperation, Query};

use super::shape::{map_children, map_operands, map_pattern_of_query};
use crate::error::{Error, Result};

/// The query with triple terms in the place of reifiers.
///
/// # Errors
/// [`Error::Invalid`] if the template of a `CONSTRUCT` has a triple as a subject.
pub(super) fn in_query(query: Query, text: &str) -> Result<Query> {
    let query = map_pattern_of_query(query, &mut |pattern| in_pattern(pattern, text));
    let Query::Construct { template, dataset, pattern, base_iri } = query else { return Ok(query) };
    let template = in_triples(template, text);
    if template.iter().any(|triple| matches!(triple.subject, TermPattern::Triple(_))) {
        return Err(no_subject("CONSTRUCT"));
    }
    Ok(Query::Construct { template, dataset, pattern, base_iri })
}

/// The operation of an update with triple terms in the place of reifiers.
///
/// # Errors
/// [`Error::Invalid`] if it inserts or deletes statements that have a triple as a subject.
pub(super) fn in_operation(operation: GraphUpdateOperation, text: &str) -> Result<GraphUpdateOperation> {
    match operation {
        GraphUpdateOperation::DeleteInsert { delete, insert, using, pattern } => {
            // The template has the nodes that the parser made for the reifiers.
            let reifies = NamedNodePattern::from(rdf::REIFIES.into_owned());
            if insert.iter().any(|quad| quad.predicate == reifies) {
                return Err(no_subject("INSERT"));
            }
            let pattern = Box::new(in_pattern(*pattern, text));
            Ok(GraphUpdateOperation::DeleteInsert { delete, insert, using, pattern })
        }
        GraphUpdateOperation::InsertData { data } if data.iter().any(|quad| quad.predicate == rdf::REIFIES) => {
            Err(no_subject("INSERT DATA"))
        }
        other => Ok(other),
    }
}

fn no_subject(form: &str) -> Error {
    let message = format!(
        "{form} with `<<s p o>>` is not supported; write `<<( s p o )>>`, which can be an object, or add such statements \
         without SPARQL"
    );
    Error::Invalid { message }
}

fn in_pattern(pattern: GraphPattern, text: &str) -> GraphPattern {
    let mut reified = Reified { text, triples: HashMap::new() };
    let pattern = reified.take(pattern);
    if reified.triples.is_empty() { pattern } else { reified.put(pattern) }
}

fn in_triples(triples: Vec<TriplePattern>, text: &str) -> Vec<TriplePattern> {
    let mut reified = Reified { text, triples: HashMap::new() };
    let triples = reified.take_triples(triples);
    triples.into_iter().map(|triple| reified.triple(triple)).collect()
}

/// The triples that nodes reify.
struct Reified<'t> {
    text: &'t str,
    triples: HashMap<BlankNode, TriplePattern>,
}

impl Reified<'_> {
    /// Takes the statements that reify out of the pattern.
    fn take(&mut self, pattern: GraphPattern) -> GraphPattern {
        if let GraphPattern::Bgp { patterns } = pattern {
            return GraphPattern::Bgp { patterns: self.take_triples(patterns) };
        }
        let this = std::cell::RefCell::new(self);
        map_children(pattern, &mut |inner| this.borrow_mut().take(inner), &mut |inner| {
            this.borrow_mut().take_in_expression(inner)
        })
    }

    fn take_in_expression(&mut self, expression: Expression) -> Expression {
        let this = std::cell::RefCell::new(self);
        map_operands(expression, &mut |inner| this.borrow_mut().take(inner), &mut |inner| {
            this.borrow_mut().take_in_expression(inner)
        })
    }

    fn take_triples(&mut self, triples: Vec<TriplePattern>) -> Vec<TriplePattern> {
        let is_left = |triple: &TriplePattern| match (&triple.subject, &triple.predicate, &triple.object) {
            (TermPattern::BlankNode(node), NamedNodePattern::NamedNode(predicate), TermPattern::Triple(reified))
                if *predicate == rdf::REIFIES && !self.text.contains(node.as_str()) =>
            {
                self.triples.insert(node.clone(), (**reified).clone());
                false
            }
            _ => true,
        };
        triples.into_iter().filter(is_left).collect()
    }

    /// Puts the triples in the places of the nodes.
    fn put(&self, pattern: GraphPattern) -> GraphPattern {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                GraphPattern::Bgp { patterns: patterns.into_iter().map(|triple| self.triple(triple)).collect() }
            }
            GraphPattern::Path { subject, path, object } => {
                GraphPattern::Path { subject: self.term(subject), path, object: self.term(object) }
            }
            other => map_children(other, &mut |inner| self.put(inner), &mut |inner| self.put_in_expression(inner)),
        }
    }

    fn put_in_expression(&self, expression: Expression) -> Expression {
        map_operands(expression, &mut |inner| self.put(inner), &mut |inner| self.put_in_expression(inner))
    }

    fn triple(&self, triple: TriplePattern) -> TriplePattern {
        let TriplePattern { subject, predicate, object } = triple;
        TriplePattern { subject: self.term(subject), predicate, object: self.term(object) }
    }

    /// Recursive for triples in triples. A node that the parser makes for a triple is in no triple within that one.
    fn term(&self, term: TermPattern) -> TermPattern {
        match term {
            TermPattern::BlankNode(node) => match self.triples.get(&node) {
                Some(triple) => TermPattern::Triple(Box::new(self.triple(triple.clone()))),
                None => TermPattern::BlankNode(node),
            },
            TermPattern::Triple(triple) => TermPattern::Triple(Box::new(self.triple(*triple))),
            other => other,
        }
    }
}
