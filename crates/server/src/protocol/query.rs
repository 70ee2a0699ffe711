//! The query operation: a SPARQL text and the graphs that it sees, answered in the form that the client wants.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use fulgurite_rdf::sparql::{Query, QueryForm, QueryResults};
use fulgurite_rdf::{CancellationToken, Quads};

use crate::http::answer::{AnswerWriter, stream};
use crate::http::refusal::Refusal;
use crate::protocol::failures::written;
use crate::protocol::negotiation::{GRAPHS, RESULTS, negotiate};
use crate::protocol::service::{ServedStore, Service};
use crate::protocol::sparql_request::{SparqlRequest, limits};

/// Answers.
///
/// # Errors
/// Why there is no answer, as long as none of it was sent.
pub async fn answer(service: &Service, headers: HeaderMap, request: SparqlRequest) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    stream(&service.admission, move |token, out| evaluate(&served, &headers, &request, token, out)).await
}

fn evaluate(
    served: &ServedStore,
    headers: &HeaderMap,
    request: &SparqlRequest,
    token: CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let snapshot = served.store.snapshot()?;
    let namespaces = snapshot.namespaces()?;
    let mut limits = limits(served, request.bounds, token);
    if let Some(rows) = served.options.rows_max {
        limits = limits.rows_max(rows);
    }
    let mut query = Query::parse_with_prefixes(&request.text, Some(&request.base), &namespaces)?
        .with_limits(limits)
        .union_default_graph(served.options.union_default_graph);
    for graph in &request.default_graphs {
        query = query.with_default_graph(graph.clone());
    }
    for graph in &request.named_graphs {
        query = query.with_named_graph(graph.clone());
    }
    if let Some(handler) = &served.options.service {
        query = query.with_service(Arc::clone(handler));
    }
    write(&query, &snapshot, &namespaces, headers, out)
}

/// Evaluates a query, and writes the answer in the form that the client wants.
///
/// # Errors
/// 406 if it wants none that there is; errors of the evaluation and of writing.
pub fn write(
    query: &Query,
    quads: &impl Quads,
    namespaces: &[(String, String)],
    headers: &HeaderMap,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    if matches!(query.form(), QueryForm::Construct | QueryForm::Describe) {
        let (media_type, format) = negotiate(headers, GRAPHS)?;
        out.media_type(media_type);
        if let QueryResults::Triples(triples) = query.evaluate(quads)? {
            return written(triples.write(format, namespaces, out));
        }
        return Err(Refusal::failure("a CONSTRUCT or DESCRIBE without triples".into()));
    }
    let (media_type, format) = negotiate(headers, RESULTS)?;
    out.media_type(media_type);
    match query.evaluate(quads)? {
        QueryResults::Solutions(solutions) => written(solutions.write(format, out)),
        QueryResults::Boolean(answer) => written(QueryResults::write_boolean(answer, format, out).map(|()| 1)),
        QueryResults::Triples(_) => Err(Refusal::failure("a SELECT or ASK with triples".into())),
    }
}
