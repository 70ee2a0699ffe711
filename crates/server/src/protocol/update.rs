//! The update operation: a SPARQL text and the graphs that its `WHERE` sees, carried out in one transaction.

use std::sync::Arc;

use axum::http::StatusCode;
use fulgurite_rdf::sparql::Update;
use fulgurite_rdf::{CancellationToken, Quads};

use crate::http::answer::compute;
use crate::http::refusal::Refusal;
use crate::protocol::service::{ServedStore, Service};
use crate::protocol::sparql_request::{SparqlRequest, limits};

/// Carries it out.
///
/// # Errors
/// Why nothing was changed.
pub async fn carry_out(service: &Service, request: SparqlRequest) -> Result<StatusCode, Refusal> {
    if !service.served.options.writable {
        return Err(Refusal::read_only());
    }
    let served = Arc::clone(&service.served);
    compute(&service.admission, move |token| execute(&served, &request, token)).await
}

fn execute(served: &ServedStore, request: &SparqlRequest, token: CancellationToken) -> Result<StatusCode, Refusal> {
    let namespaces = served.store.snapshot()?.namespaces()?;
    let mut update = Update::parse_with_prefixes(&request.text, Some(&request.base), &namespaces)?
        .with_limits(limits(served, request.bounds, token))
        .union_default_graph(served.options.union_default_graph);
    for graph in &request.default_graphs {
        update = update.with_using_graph(graph.clone());
    }
    for graph in &request.named_graphs {
        update = update.with_using_named_graph(graph.clone());
    }
    if let Some(handler) = &served.options.service {
        update = update.with_service(Arc::clone(handler));
    }
    update.execute(&served.store)?;
    Ok(StatusCode::NO_CONTENT)
}
