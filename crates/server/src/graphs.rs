//! The graph store: graphs that are read, replaced, extended and deleted as documents.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use fulgurite_rdf::oxrdf::{BlankNode, GraphName, NamedNode, NamedOrBlankNode, Term, Triple};
use fulgurite_rdf::oxrdfio::RdfSerializer;
use fulgurite_rdf::{CancellationToken, Error, GraphPattern, IdPattern, Quads, Snapshot, TermId};

use crate::answer::{AnswerWriter, compute, stream, written};
use crate::document::{self, Sent, Watch};
use crate::negotiation::{GRAPHS, negotiate};
use crate::refusal::Refusal;
use crate::routes::{Served, Service};

/// Sends a graph's triples.
///
/// # Errors
/// 404 if there is no such graph; as [`stream`].
pub async fn read(service: &Service, headers: HeaderMap, graph: GraphName) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    stream(&service.running, move |token, out| write(&served, &headers, &graph, token, out)).await
}

fn write(
    served: &Served,
    headers: &HeaderMap,
    graph: &GraphName,
    token: CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let (media_type, format) = negotiate(headers, GRAPHS)?;
    out.media_type(media_type);
    let snapshot = served.store.snapshot()?;
    let Some(id) = graph_id(&snapshot, graph)? else { return Err(no_graph(graph)) };
    let watch = watch(served, token);
    let mut serializer = RdfSerializer::from_format(format);
    for (prefix, namespace) in snapshot.namespaces()? {
        // One that is no IRI cannot be declared, but nothing depends on it.
        serializer = serializer.clone().with_prefix(prefix, namespace).unwrap_or(serializer);
    }
    let mut terms = Terms { snapshot: &snapshot, recent: HashMap::new() };
    let pattern = match id {
        TermId::DEFAULT_GRAPH => GraphPattern::Default,
        id => GraphPattern::Named(id),
    };
    let mut writer = serializer.for_writer(out);
    let mut serialize = || {
        let mut rows = 0;
        for quad in snapshot.quads(&IdPattern { graph: pattern, ..IdPattern::ALL }) {
            watch.look()?;
            let quad = quad?;
            let triple = terms.triple(quad.subject, quad.predicate, quad.object)?;
            writer.serialize_triple(&triple).map_err(|source| Error::Output { source })?;
            rows += 1;
        }
        Ok(rows)
    };
    written(serialize())?;
    written(writer.finish().map(|_| 0).map_err(|source| Error::Output { source }))
}

/// How a document changes a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// What was there goes.
    Replace,
    /// What was there stays.
    Extend,
}

/// Changes a graph, and creates it if it is not there: 201 then, else 204.
///
/// # Errors
/// Why nothing was changed.
pub async fn change(service: &Service, graph: GraphName, sent: Sent, change: Change) -> Result<StatusCode, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.running, move |token| {
        let watch = watch(&served, token);
        let created = served.store.update(|transaction| {
            let mut is_new = false;
            if let GraphName::NamedNode(name) = &graph {
                is_new = transaction.create_graph(name.as_ref().into())?;
            }
            if change == Change::Replace && !is_new {
                transaction.clear_graph(graph.as_ref())?;
            }
            document::insert(&sent, &graph, transaction, &watch)?;
            watch.look()?;
            Ok(is_new)
        })?;
        Ok(if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT })
    })
    .await
}

/// Puts a document into a new graph, and tells its name.
///
/// # Errors
/// As [`change`].
pub async fn create(service: &Service, base: &str, sent: Sent) -> Result<Response, Refusal> {
    let name = new_graph(base)?;
    let location = HeaderValue::from_str(name.as_str())
        .map_err(|_| Refusal::bad_request("the name of the new graph is not ASCII; start the server with --base"))?;
    change(service, name.into(), sent, Change::Extend).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// Deletes a graph; of the default graph its triples.
///
/// # Errors
/// 404 if there is no such graph, and why else nothing was changed.
pub async fn delete(service: &Service, graph: GraphName) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.running, move |token| {
        let watch = watch(&served, token);
        let deleted = served.store.update(|transaction| {
            let is_there = match &graph {
                GraphName::DefaultGraph => true,
                GraphName::NamedNode(name) => is_graph(&transaction.view(), Term::from(name.clone()))?.is_some(),
                GraphName::BlankNode(name) => is_graph(&transaction.view(), Term::from(name.clone()))?.is_some(),
            };
            if is_there {
                transaction.drop_graph(graph.as_ref())?;
            }
            watch.look()?;
            Ok(is_there)
        })?;
        if deleted { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(no_graph(&graph)) }
    })
    .await
}

/// A name that no graph has.
fn new_graph(base: &str) -> Result<NamedNode, Refusal> {
    let random = BlankNode::default();
    NamedNode::new(format!("{base}graphs/{}", random.as_str())).map_err(|error| {
        Refusal::bad_request(format!("{base} is no base of names: {error}; start the server with --base"))
    })
}

fn watch(served: &Served, token: CancellationToken) -> Watch {
    Watch { token, begun: Instant::now(), timeout: served.options.timeout }
}

fn no_graph(graph: &GraphName) -> Refusal {
    Refusal::of(StatusCode::NOT_FOUND, format!("there is no graph {graph}"))
}

fn graph_id(snapshot: &Snapshot, graph: &GraphName) -> Result<Option<TermId>, Error> {
    match graph {
        GraphName::DefaultGraph => Ok(Some(TermId::DEFAULT_GRAPH)),
        GraphName::NamedNode(name) => is_graph(snapshot, Term::from(name.clone())),
        GraphName::BlankNode(name) => is_graph(snapshot, Term::from(name.clone())),
    }
}

/// The number of a graph that is there.
fn is_graph(quads: &impl Quads, name: Term) -> Result<Option<TermId>, Error> {
    match quads.id(name.as_ref())? {
        Some(id) if quads.contains_graph(id)? => Ok(Some(id)),
        _ => Ok(None),
    }
}

/// Terms of a snapshot, of which the recent names are kept.
struct Terms<'s> {
    snapshot: &'s Snapshot,
    recent: HashMap<TermId, Term>,
}

impl Terms<'_> {
    fn triple(&mut self, subject: TermId, predicate: TermId, object: TermId) -> Result<Triple, Error> {
        let impossible = |term: Term| Error::Invalid { message: format!("{term} stands where it cannot in a triple") };
        let subject: NamedOrBlankNode = match self.term(subject)? {
            Term::NamedNode(node) => node.into(),
            Term::BlankNode(node) => node.into(),
            other => return Err(impossible(other)),
        };
        let predicate: NamedNode = match self.term(predicate)? {
            Term::NamedNode(node) => node,
            other => return Err(impossible(other)),
        };
        Ok(Triple { subject, predicate, object: self.term(object)? })
    }

    fn term(&mut self, id: TermId) -> Result<Term, Error> {
        if let Some(term) = self.recent.get(&id) {
            return Ok(term.clone());
        }
        if self.recent.len() >= RECENT_MAX {
            self.recent.clear();
        }
        let term = self.snapshot.term(id)?;
        if is_kept(&term) {
            self.recent.insert(id, term.clone());
        }
        Ok(term)
    }
}

/// Texts seldom come again, and may be long.
fn is_kept(term: &Term) -> bool {
    match term {
        Term::NamedNode(node) => node.as_str().len() <= NAME_BYTES_MAX,
        Term::BlankNode(node) => node.as_str().len() <= NAME_BYTES_MAX,
        _ => false,
    }
}

/// So many terms are kept: those of some thousand subjects.
const RECENT_MAX: usize = 16 << 10;
/// With [`RECENT_MAX`], the bound of the memory that names take: 16 MiB.
const NAME_BYTES_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{Literal, Quad};
    use fulgurite_rdf::{Store, StoreOptions};

    use super::*;

    #[test]
    fn names_are_kept_and_texts_and_long_names_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        let name = |text: &str| NamedNode::new_unchecked(format!("http://a/{text}"));
        let objects: [Term; 3] = [
            Literal::new_simple_literal("a text").into(),
            name(&"n".repeat(NAME_BYTES_MAX)).into(),
            BlankNode::default().into(),
        ];
        store
            .update(|transaction| {
                for object in &objects {
                    transaction.insert(&Quad::new(name("s"), name("p"), object.clone(), GraphName::DefaultGraph))?;
                }
                Ok(())
            })
            .unwrap();
        let snapshot = store.snapshot().unwrap();
        let mut terms = Terms { snapshot: &snapshot, recent: HashMap::new() };
        let triples: Vec<Triple> = snapshot
            .quads(&IdPattern::ALL)
            .map(|quad| quad.and_then(|quad| terms.triple(quad.subject, quad.predicate, quad.object)).unwrap())
            .collect();
        assert_eq!(triples.len(), 3);
        assert!(triples.iter().any(|triple| triple.object == objects[0]));
        let mut kept: Vec<Term> = terms.recent.into_values().filter(|term| !term.is_blank_node()).collect();
        kept.sort_by_key(Term::to_string);
        assert_eq!(kept, [Term::from(name("p")), Term::from(name("s"))]);
    }
}
