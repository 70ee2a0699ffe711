//! The query operation: a SPARQL text and the graphs that it sees, answered in the form that the client wants.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::sparql::{Limits, Query, QueryForm, QueryResults};
use fulgurite_rdf::{CancellationToken, Quads};

use crate::answer::{AnswerWriter, stream, written};
use crate::negotiation::{GRAPHS, RESULTS, negotiate};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::routes::{Served, Service};

/// A query as it was asked.
pub struct Asked {
    pub text: String,
    pub default_graphs: Vec<NamedNode>,
    pub named_graphs: Vec<NamedNode>,
    /// What relative IRIs are resolved against.
    pub base: String,
}

impl Asked {
    /// # Errors
    /// If a graph's name is no IRI.
    pub fn new(text: String, parameters: &Parameters, base: String) -> Result<Self, Refusal> {
        let default_graphs = parameters.iris("default-graph-uri")?;
        let named_graphs = parameters.iris("named-graph-uri")?;
        Ok(Self { text, default_graphs, named_graphs, base })
    }
}

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
    let mut limits = limits(served, token);
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

/// What bounds a query or an update.
pub fn limits(served: &Served, token: CancellationToken) -> Limits {
    let mut limits = Limits::new().cancellation(token);
    if let Some(timeout) = served.options.timeout {
        limits = limits.timeout(timeout);
    }
    if let Some(bytes) = served.options.computed_bytes_max {
        limits = limits.computed_bytes_max(bytes);
    }
    limits
}
