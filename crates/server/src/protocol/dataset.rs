//! All graphs of the store as one document: `/store` without a graph, as Oxigraph has it.
//!
//! What is read and replaced is explicit, as for one graph ([`graphs`](crate::protocol::graphs)). A graph without quads
//! is in no document.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use fulgurite_rdf::oxrdf::{GraphName, Term};
use fulgurite_rdf::{CancellationToken, Error, IdPattern, Quads, StatementKinds, TermId, Transaction, dump};

use crate::http::answer::{AnswerWriter, compute, stream};
use crate::http::refusal::Refusal;
use crate::protocol::document::Change;
use crate::protocol::document::{self, CancelCheck, Document, TargetGraph};
use crate::protocol::failures::written;
use crate::protocol::negotiation::{DATASETS, negotiate};
use crate::protocol::service::Service;
use crate::protocol::sparql_request::RequestLimits;

/// Sends all explicit quads.
///
/// # Errors
/// As [`stream`].
pub async fn read(service: &Service, headers: HeaderMap, bounds: RequestLimits) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    let write = move |token: CancellationToken, out: &mut AnswerWriter| {
        let (media_type, format) = negotiate(&headers, DATASETS)?;
        out.media_type(media_type);
        let watch = CancelCheck::begin(token, bounds);
        let explicit = served.store.snapshot()?.of_kinds(StatementKinds::Explicit);
        written(dump(&explicit, &IdPattern::ALL, format, out, |_| watch.check()))
    };
    stream(&service.admission, write).await
}

/// Puts a document into the store, with its graphs.
///
/// # Errors
/// Nothing is changed then.
pub async fn change(
    service: &Service,
    sent: Document,
    change: Change,
    bounds: RequestLimits,
) -> Result<StatusCode, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.admission, move |token| {
        let watch = CancelCheck::begin(token, bounds);
        served.store.update(|transaction| {
            if change == Change::Replace {
                clear(transaction, StatementKinds::Explicit, &watch)?;
            }
            document::insert(&sent, TargetGraph::AsItSays, transaction, &watch)?;
            watch.check()
        })?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Deletes all quads, inferred ones too.
///
/// # Errors
/// Nothing is changed then.
pub async fn delete(service: &Service, bounds: RequestLimits) -> Result<StatusCode, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.admission, move |token| {
        let watch = CancelCheck::begin(token, bounds);
        served.store.update(|transaction| {
            clear(transaction, StatementKinds::All, &watch)?;
            watch.check()
        })?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Deletes quads one by one, to check the time limit, and then the empty graphs.
fn clear(transaction: &mut Transaction, kinds: StatementKinds, watch: &CancelCheck) -> Result<(), Error> {
    for quad in transaction.view().of_kinds(kinds).quads(&IdPattern::ALL) {
        watch.check()?;
        let quad = quad?;
        if kinds == StatementKinds::All {
            transaction.remove_inferred_ids(&quad)?;
        }
        transaction.remove_ids(&quad)?;
    }
    // Collected first, because the loop deletes them.
    let names: Vec<TermId> = transaction.view().graph_names().collect::<Result<_, Error>>()?;
    for name in names {
        watch.check()?;
        let view = transaction.view();
        if view.quads(&IdPattern::of_graph(name)).next().transpose()?.is_some() {
            continue;
        }
        let graph = match view.term(name)? {
            Term::NamedNode(name) => GraphName::NamedNode(name),
            Term::BlankNode(name) => GraphName::BlankNode(name),
            _ => continue,
        };
        transaction.drop_graph(graph.as_ref())?;
    }
    Ok(())
}
