//! The graph store: graphs that are read, replaced, extended and deleted as documents.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use fulgurite_rdf::oxrdf::{BlankNode, GraphName, NamedNode, TermRef};
use fulgurite_rdf::{Error, GraphPattern, IdPattern, Quads, StatementKinds, TermId, Transaction, dump};

use crate::http::answer::{AnswerWriter, compute, stream};
use crate::http::refusal::Refusal;
use crate::protocol::document::{self, CancelCheck, Change, Document, TargetGraph};
use crate::protocol::failures::written;
use crate::protocol::negotiation::{GRAPHS, negotiate};
use crate::protocol::service::{ServedStore, Service};
use crate::protocol::sparql_request::RequestLimits;

/// Sends a graph's triples.
///
/// # Errors
/// 404 if there is no such graph; as [`stream`].
pub async fn read(
    service: &Service,
    headers: HeaderMap,
    graph: GraphName,
    bounds: RequestLimits,
) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    stream(&service.admission, move |token, out| {
        let watch = CancelCheck::begin(token, bounds);
        write(&served, &headers, &graph, &watch, out)
    })
    .await
}

fn write(
    served: &ServedStore,
    headers: &HeaderMap,
    graph: &GraphName,
    watch: &CancelCheck,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let (media_type, format) = negotiate(headers, GRAPHS)?;
    out.media_type(media_type);
    let snapshot = served.store.snapshot()?;
    let Some(id) = existing(&snapshot, graph)? else { return Err(no_graph(graph)) };
    let pattern = match id {
        TermId::DEFAULT_GRAPH => GraphPattern::Default,
        id => GraphPattern::Named(id),
    };
    // What is inferred would be asserted by who sends the document back.
    let explicit = snapshot.of_kinds(StatementKinds::Explicit);
    written(dump(&explicit, &IdPattern { graph: pattern, ..IdPattern::ALL }, format, out, |_| watch.check()))
}

/// Changes a graph, and creates it if it is not there: 201 then, else 204.
///
/// # Errors
/// Nothing is changed then.
pub async fn change(
    service: &Service,
    graph: GraphName,
    sent: Document,
    change: Change,
    bounds: RequestLimits,
) -> Result<StatusCode, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.admission, move |token| {
        let watch = CancelCheck::begin(token, bounds);
        let created = served.store.update(|transaction| {
            let mut is_new = false;
            if let GraphName::NamedNode(name) = &graph {
                is_new = transaction.create_graph(name.as_ref().into())?;
            }
            if change == Change::Replace && !is_new {
                let id = existing(&transaction.view(), &graph)?;
                id.map_or(Ok(()), |id| clear_explicit(id, transaction, &watch))?;
            }
            document::insert(&sent, TargetGraph::Graph(&graph), transaction, &watch)?;
            watch.check()?;
            Ok(is_new)
        })?;
        Ok(if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT })
    })
    .await
}

/// Puts a document into a new graph, and returns the graph's name.
///
/// # Errors
/// As [`change`].
pub async fn create(service: &Service, base: &str, sent: Document, bounds: RequestLimits) -> Result<Response, Refusal> {
    let name = new_graph(base)?;
    let location = HeaderValue::from_str(name.as_str())
        .map_err(|_| Refusal::bad_request("the name of the new graph is not ASCII; start the server with --base"))?;
    change(service, name.into(), sent, Change::Extend, bounds).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// Deletes a graph; of the default graph its triples. What is inferred goes too.
///
/// # Errors
/// 404 if there is no such graph, and why else nothing was changed.
pub async fn delete(service: &Service, graph: GraphName, bounds: RequestLimits) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.admission, move |token| {
        let watch = CancelCheck::begin(token, bounds);
        let deleted = served.store.update(|transaction| {
            let id = existing(&transaction.view(), &graph)?;
            if let Some(id) = id {
                clear_all(id, transaction, &watch)?;
                transaction.drop_graph(graph.as_ref())?;
            }
            watch.check()?;
            Ok(id.is_some())
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

fn no_graph(graph: &GraphName) -> Refusal {
    Refusal::of(StatusCode::NOT_FOUND, format!("there is no graph {graph}"))
}

/// Takes all explicit quads of a graph away, one by one, so that it ends in time.
fn clear_explicit(graph: TermId, transaction: &mut Transaction, watch: &CancelCheck) -> Result<(), Error> {
    for quad in transaction.view().of_kinds(StatementKinds::Explicit).quads(&IdPattern::of_graph(graph)) {
        watch.check()?;
        transaction.remove_ids(&quad?)?;
    }
    Ok(())
}

/// As [`clear_explicit`], of inferred quads too.
fn clear_all(graph: TermId, transaction: &mut Transaction, watch: &CancelCheck) -> Result<(), Error> {
    for quad in transaction.view().quads(&IdPattern::of_graph(graph)) {
        watch.check()?;
        let quad = quad?;
        transaction.remove_inferred_ids(&quad)?;
        transaction.remove_ids(&quad)?;
    }
    Ok(())
}

/// The number of a graph that is there; the default graph always is.
fn existing(quads: &impl Quads, graph: &GraphName) -> Result<Option<TermId>, Error> {
    let name = match graph {
        GraphName::DefaultGraph => return Ok(Some(TermId::DEFAULT_GRAPH)),
        GraphName::NamedNode(name) => TermRef::from(name.as_ref()),
        GraphName::BlankNode(name) => TermRef::from(name.as_ref()),
    };
    match quads.id(name)? {
        Some(id) if quads.contains_graph(id)? => Ok(Some(id)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use fulgurite_rdf::oxrdf::{Literal, Quad};
    use fulgurite_rdf::{CancellationToken, Store, StoreOptions};

    use super::*;

    #[test]
    fn clearing_a_graph_ends_when_its_time_is_over_and_when_nobody_waits() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        let name = NamedNode::new_unchecked("http://a/g");
        let quad = |graph: &GraphName, number: i32| {
            Quad::new(name.clone(), name.clone(), Literal::from(number), graph.clone())
        };
        let over =
            CancelCheck { token: CancellationToken::new(), begun: Instant::now(), timeout: Some(Duration::ZERO) };
        let unwanted = CancelCheck { token: CancellationToken::new(), begun: Instant::now(), timeout: None };
        unwanted.token.cancel();
        let patient = CancelCheck { token: CancellationToken::new(), begun: Instant::now(), timeout: None };
        // What is explicit, what is inferred, and what goes when all goes.
        for (explicit, inferred) in [(0..10, 0..0), (0..10, 5..15), (0..0, 0..10)] {
            for graph in [GraphName::DefaultGraph, name.clone().into()] {
                let mut transaction = store.begin().unwrap();
                explicit.clone().for_each(|number| assert!(transaction.insert(&quad(&graph, number)).unwrap()));
                inferred
                    .clone()
                    .for_each(|number| assert!(transaction.insert_inferred(&quad(&graph, number)).unwrap()));
                let count = |transaction: &Transaction| transaction.view().count(&IdPattern::ALL).unwrap();
                let (id, all) = (existing(&transaction.view(), &graph).unwrap().unwrap(), count(&transaction));
                for watch in [&over, &unwanted] {
                    let ended = clear_all(id, &mut transaction, watch).expect_err("it is not done");
                    assert!(matches!(ended, Error::TimedOut { .. } | Error::Cancelled), "{ended}");
                    assert_eq!(count(&transaction), all);
                }
                let before = transaction.savepoint();
                clear_explicit(id, &mut transaction, &patient).unwrap();
                assert_eq!(count(&transaction), inferred.len() as u64);
                transaction.rollback_to(before).unwrap();
                clear_all(id, &mut transaction, &patient).unwrap();
                assert_eq!(count(&transaction), 0, "nothing is left for what does not look at the time");
            }
        }
    }
}
