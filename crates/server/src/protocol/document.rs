//! RDF documents from clients, and their insertion into graphs.

use std::collections::HashMap;
use std::io::Cursor;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use fulgurite_rdf::oxrdf::{BlankNode, GraphName, NamedOrBlankNode, QuadRef, Term, Triple};
use fulgurite_rdf::{CancellationToken, Error, Quads, RdfFormat, Result, Transaction, parse_document};

use crate::protocol::sparql_request::RequestLimits;

/// An RDF document from a client.
pub struct Document {
    pub bytes: Bytes,
    pub format: RdfFormat,
    /// The base of relative IRIs.
    pub base: String,
}

/// How a document changes a graph or the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its statements replace the explicit ones, which are those that a client has read.
    Replace,
    /// Its statements are added.
    Extend,
}

/// Checks whether a request must end early.
pub struct CancelCheck {
    pub token: CancellationToken,
    pub begun: Instant,
    pub timeout: Option<Duration>,
}

impl CancelCheck {
    /// For a request whose evaluation begins now.
    pub fn begin(token: CancellationToken, bounds: RequestLimits) -> Self {
        Self { token, begun: Instant::now(), timeout: bounds.timeout }
    }

    /// # Errors
    /// [`Error::Cancelled`], [`Error::TimedOut`].
    pub fn check(&self) -> Result<()> {
        if self.token.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match self.timeout {
            Some(timeout) if self.begun.elapsed() > timeout => Err(Error::TimedOut { timeout }),
            _ => Ok(()),
        }
    }
}

/// The graph for the statements of a document.
#[derive(Clone, Copy, Debug)]
pub enum TargetGraph<'g> {
    /// This graph. The document must not name graphs.
    Graph(&'g GraphName),
    /// The graph that each statement names.
    AsItSays,
}

/// Inserts the statements of a document. Its blank nodes become new blank nodes. Its prefixes become namespaces of the
/// store, unless the store has them.
///
/// # Errors
/// If it is not a valid document, or names graphs where it must not; as [`CancelCheck::check`]; errors of the store.
pub fn insert(
    sent: &Document,
    place: TargetGraph<'_>,
    transaction: &mut Transaction,
    watch: &CancelCheck,
) -> Result<()> {
    let mut nodes = NewNodes::default();
    let mut quads = parse_document("the document", Cursor::new(sent.bytes.clone()), sent.format, Some(&sent.base))?;
    for quad in &mut quads {
        watch.check()?;
        let quad = quad?;
        let own;
        let graph = match (place, quad.graph_name) {
            (TargetGraph::Graph(graph), GraphName::DefaultGraph) => graph,
            (TargetGraph::Graph(_), name) => {
                let message = format!("the document names the graph {name}; send a document without graphs");
                return Err(Error::Invalid { message });
            }
            (TargetGraph::AsItSays, GraphName::BlankNode(node)) => {
                own = GraphName::BlankNode(nodes.node(node, transaction)?);
                &own
            }
            (TargetGraph::AsItSays, name) => {
                own = name;
                &own
            }
        };
        let subject = nodes.subject(quad.subject, transaction)?;
        let object = nodes.term(quad.object, transaction)?;
        transaction.insert(QuadRef::new(subject.as_ref(), quad.predicate.as_ref(), object.as_ref(), graph.as_ref()))?;
    }
    transaction.note_namespaces(quads.prefixes())
}

/// The store's blank nodes for those of one document.
#[derive(Default)]
pub struct NewNodes(HashMap<BlankNode, BlankNode>);

impl NewNodes {
    /// The node for one of the document.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn node(&mut self, node: BlankNode, transaction: &mut Transaction) -> Result<BlankNode> {
        if let Some(new) = self.0.get(&node) {
            return Ok(new.clone());
        }
        let id = transaction.new_blank_node();
        let Term::BlankNode(new) = transaction.view().term(id)? else {
            unreachable!("a new blank node is a blank node");
        };
        self.0.insert(node, new.clone());
        Ok(new)
    }

    fn subject(&mut self, subject: NamedOrBlankNode, transaction: &mut Transaction) -> Result<NamedOrBlankNode> {
        Ok(match subject {
            NamedOrBlankNode::BlankNode(node) => self.node(node, transaction)?.into(),
            named => named,
        })
    }

    /// The term with the store's blank nodes. Recursive for nested triple terms: parsers limit their depth.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn term(&mut self, term: Term, transaction: &mut Transaction) -> Result<Term> {
        Ok(match term {
            Term::BlankNode(node) => self.node(node, transaction)?.into(),
            Term::Triple(triple) => {
                let Triple { subject, predicate, object } = *triple;
                let subject = self.subject(subject, transaction)?;
                Triple::new(subject, predicate, self.term(object, transaction)?).into()
            }
            other => other,
        })
    }
}
