//! Blank nodes of an update's text become new nodes of the store.

use std::collections::HashMap;

use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term, Triple};

use crate::error::Result;
use crate::{Quads, Transaction};

/// The nodes of the store for the blank nodes of a text.
#[derive(Default)]
pub struct NewNodes(HashMap<BlankNode, BlankNode>);

impl NewNodes {
    /// Returns the quad with a new node for each of its blank nodes.
    pub fn quad(&mut self, quad: &Quad, transaction: &mut Transaction) -> Result<Quad> {
        self.replaced(quad, transaction, false)
    }

    /// Returns the quad with a new node for each blank node that the evaluator has made for a template. Such a node has
    /// a random number as its name, and the store does not know it. It does not know a node that is only within triple
    /// terms either.
    pub fn unknown_quad(&mut self, quad: &Quad, transaction: &mut Transaction) -> Result<Quad> {
        self.replaced(quad, transaction, true)
    }

    fn replaced(&mut self, quad: &Quad, transaction: &mut Transaction, only_unknown: bool) -> Result<Quad> {
        let mut node = |node: &BlankNode| self.node(node, transaction, only_unknown);
        let subject = subject_with(&quad.subject, &mut node)?;
        let object = term_with(&quad.object, &mut node)?;
        let graph_name = match &quad.graph_name {
            GraphName::BlankNode(name) => node(name)?.into(),
            other => other.clone(),
        };
        Ok(Quad { subject, predicate: quad.predicate.clone(), object, graph_name })
    }

    fn node(&mut self, node: &BlankNode, transaction: &mut Transaction, only_unknown: bool) -> Result<BlankNode> {
        if let Some(new) = self.0.get(node) {
            return Ok(new.clone());
        }
        let view = transaction.view();
        if only_unknown && (node.as_ref().unique_id().is_none() || view.id(node.as_ref().into())?.is_some()) {
            return Ok(node.clone());
        }
        let id = transaction.new_blank_node();
        let Term::BlankNode(new) = view.term(id)? else {
            unreachable!("a new blank node is a blank node");
        };
        self.0.insert(node.clone(), new.clone());
        Ok(new)
    }
}

type NodeFor<'n> = dyn FnMut(&BlankNode) -> Result<BlankNode> + 'n;

fn subject_with(subject: &NamedOrBlankNode, node: &mut NodeFor<'_>) -> Result<NamedOrBlankNode> {
    Ok(match subject {
        NamedOrBlankNode::NamedNode(name) => name.clone().into(),
        NamedOrBlankNode::BlankNode(blank) => node(blank)?.into(),
    })
}

fn term_with(term: &Term, node: &mut NodeFor<'_>) -> Result<Term> {
    Ok(match term {
        Term::BlankNode(blank) => node(blank)?.into(),
        Term::Triple(triple) => {
            let subject = subject_with(&triple.subject, node)?;
            Triple::new(subject, triple.predicate.clone(), term_with(&triple.object, node)?).into()
        }
        Term::NamedNode(_) | Term::Literal(_) => term.clone(),
    })
}
