//! Documents of clients, put into graphs.

use std::collections::HashMap;
use std::io::Cursor;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use fulgurite_rdf::oxrdf::{BlankNode, GraphName, NamedOrBlankNode, QuadRef, Term, Triple};
use fulgurite_rdf::{CancellationToken, Error, Quads, RdfFormat, Result, Transaction, parse_document};

use crate::asked::Bounds;

/// A document that was sent.
pub struct Sent {
    pub bytes: Bytes,
    pub format: RdfFormat,
    /// What relative IRIs are resolved against.
    pub base: String,
}

/// What ends a request early.
pub struct Watch {
    pub token: CancellationToken,
    pub begun: Instant,
    pub timeout: Option<Duration>,
}

impl Watch {
    /// Of a request whose turn has come now.
    pub fn begin(token: CancellationToken, bounds: Bounds) -> Self {
        Self { token, begun: Instant::now(), timeout: bounds.timeout }
    }

    /// # Errors
    /// [`Error::Cancelled`], [`Error::TimedOut`].
    pub fn look(&self) -> Result<()> {
        if self.token.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match self.timeout {
            Some(timeout) if self.begun.elapsed() > timeout => Err(Error::TimedOut { timeout }),
            _ => Ok(()),
        }
    }
}

/// Where the statements of a document go.
#[derive(Clone, Copy, Debug)]
pub enum Place<'g> {
    /// Into this graph: the document has triples alone.
    Graph(&'g GraphName),
    /// Into the graph that each of them says.
    AsItSays,
}

/// Adds the document's statements. Its blank nodes become new ones, its prefixes namespaces of the store where that has
/// none of them.
///
/// # Errors
/// If it is no such document, or has graphs of its own where it may not; as [`Watch::look`]; what the store reports.
pub fn insert(sent: &Sent, place: Place<'_>, transaction: &mut Transaction, watch: &Watch) -> Result<()> {
    let mut nodes = NewNodes::default();
    let mut quads = parse_document("the document", Cursor::new(sent.bytes.clone()), sent.format, Some(&sent.base))?;
    for quad in &mut quads {
        watch.look()?;
        let quad = quad?;
        let own;
        let graph = match (place, quad.graph_name) {
            (Place::Graph(graph), GraphName::DefaultGraph) => graph,
            (Place::Graph(_), name) => {
                let message = format!("the document has a graph of its own, {name}; send triples alone");
                return Err(Error::Invalid { message });
            }
            (Place::AsItSays, GraphName::BlankNode(node)) => {
                own = GraphName::BlankNode(nodes.node(node, transaction)?);
                &own
            }
            (Place::AsItSays, name) => {
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

/// The nodes of the store that stand for the blank nodes of one document.
#[derive(Default)]
struct NewNodes(HashMap<BlankNode, BlankNode>);

impl NewNodes {
    fn node(&mut self, node: BlankNode, transaction: &mut Transaction) -> Result<BlankNode> {
        if let Some(new) = self.0.get(&node) {
            return Ok(new.clone());
        }
        let id = transaction.new_blank_node()?;
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

    /// Goes as deep as triple terms are nested, which the parser bounds.
    fn term(&mut self, term: Term, transaction: &mut Transaction) -> Result<Term> {
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
