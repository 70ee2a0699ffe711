//! All graphs of the store as one document: `/store` without a graph, as Oxigraph has it.
//!
//! What is read and replaced is explicit, as for one graph ([`graphs`](crate::graphs)). A graph without quads is in no
//! document.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use fulgurite_rdf::oxrdf::{GraphName, Term};
use fulgurite_rdf::{CancellationToken, Error, IdPattern, Quads, StatementKinds, TermId, Transaction, dump};

use crate::answer::{AnswerWriter, compute, stream, written};
use crate::asked::Bounds;
use crate::document::{self, Place, Sent, Watch};
use crate::graphs::Change;
use crate::negotiation::{DATASETS, negotiate};
use crate::refusal::Refusal;
use crate::routes::Service;

/// Sends all explicit quads.
///
/// # Errors
/// As [`stream`].
pub async fn read(service: &Service, headers: HeaderMap, bounds: Bounds) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    let write = move |token: CancellationToken, out: &mut AnswerWriter| {
        let (media_type, format) = negotiate(&headers, DATASETS)?;
        out.media_type(media_type);
        let watch = Watch::begin(token, bounds);
        let explicit = served.store.snapshot()?.of_kinds(StatementKinds::Explicit);
        written(dump(&explicit, &IdPattern::ALL, format, out, |_| watch.look()))
    };
    stream(&service.running, write).await
}

/// Puts a document into the store, with its graphs.
///
/// # Errors
/// Why nothing was changed.
pub async fn change(service: &Service, sent: Sent, change: Change, bounds: Bounds) -> Result<StatusCode, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.running, move |token| {
        let watch = Watch::begin(token, bounds);
        served.store.update(|transaction| {
            if change == Change::Replace {
                clear(transaction, StatementKinds::Explicit, &watch)?;
            }
            document::insert(&sent, Place::AsItSays, transaction, &watch)?;
            watch.look()
        })?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Takes everything away, what is inferred too.
///
/// # Errors
/// Why nothing was changed.
pub async fn delete(service: &Service, bounds: Bounds) -> Result<StatusCode, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.running, move |token| {
        let watch = Watch::begin(token, bounds);
        served.store.update(|transaction| {
            clear(transaction, StatementKinds::All, &watch)?;
            watch.look()
        })?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Takes quads away one by one, so that it ends in time, and then the graphs that have none left.
fn clear(transaction: &mut Transaction, kinds: StatementKinds, watch: &Watch) -> Result<(), Error> {
    for quad in transaction.view().of_kinds(kinds).quads(&IdPattern::ALL) {
        watch.look()?;
        let quad = quad?;
        if kinds == StatementKinds::All {
            transaction.remove_inferred_ids(&quad)?;
        }
        transaction.remove_ids(&quad)?;
    }
    // All names first: what follows takes them away.
    let names: Vec<TermId> = transaction.view().graph_names().collect::<Result<_, Error>>()?;
    for name in names {
        watch.look()?;
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
