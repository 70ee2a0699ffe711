//! The query operation: a SPARQL text and the graphs that it sees, answered in the form that the client wants.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use fulgurite_rdf::sparql::{Query, QueryForm, QueryResults};
use fulgurite_rdf::{CancellationToken, Quads};

use crate::answer::{AnswerWriter, stream, written};
use crate::asked::{Asked, limits};
use crate::negotiation::{GRAPHS, RESULTS, negotiate};
use crate::refusal::Refusal;
use crate::routes::{Served, Service};

/// Answers.
///
/// # Errors
/// Why there is no answer, as long as none of it was sent.
pub async fn answer(service: &Service, headers: HeaderMap, asked: Asked) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    stream(&service.running, move |token, out| evaluate(&served, &headers, &asked, token, out)).await
}

fn evaluate(
    served: &Served,
    headers: &HeaderMap,
    asked: &Asked,
    token: CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let snapshot = served.store.snapshot()?;
    let namespaces = snapshot.namespaces()?;
    let mut limits = limits(served, asked.bounds, token);
    if let Some(rows) = served.options.rows_max {
        limits = limits.rows_max(rows);
    }
    let mut query = Query::parse_with_prefixes(&asked.text, Some(&asked.base), &namespaces)?
        .with_limits(limits)
        .union_default_graph(served.options.union_default_graph);
    for graph in &asked.default_graphs {
        query = query.with_default_graph(graph.clone());
    }
    for graph in &asked.named_graphs {
        query = query.with_named_graph(graph.clone());
    }
    if let Some(handler) = &served.options.service {
        query = query.with_service(Arc::clone(handler));
    }
    if matches!(query.form(), QueryForm::Construct | QueryForm::Describe) {
        let (media_type, format) = negotiate(headers, GRAPHS)?;
        out.media_type(media_type);
        if let QueryResults::Triples(triples) = query.evaluate(&snapshot)? {
            return written(triples.write(format, &namespaces, out));
        }
        return Err(Refusal::failure("a CONSTRUCT or DESCRIBE without triples".into()));
    }
    let (media_type, format) = negotiate(headers, RESULTS)?;
    out.media_type(media_type);
    match query.evaluate(&snapshot)? {
        QueryResults::Solutions(solutions) => written(solutions.write(format, out)),
        QueryResults::Boolean(answer) => written(QueryResults::write_boolean(answer, format, out).map(|()| 1)),
        QueryResults::Triples(_) => Err(Refusal::failure("a SELECT or ASK with triples".into())),
    }
}
