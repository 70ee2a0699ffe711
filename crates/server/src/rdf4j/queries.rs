//! Queries and updates, with the parameters of this protocol.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use fulgurite_rdf::CancellationToken;
use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Term, Variable};
use fulgurite_rdf::sparql::{DefaultTargets, DeletedFrom, Query, Update};

use crate::http::content::content_type;
use crate::http::parameters::{BINDING, Parameters};
use crate::http::refusal::Refusal;
use crate::protocol::iris::iri;
use crate::protocol::service::{ReceivedBody, ServedStore, Service};
use crate::protocol::sparql_request::{QUERY_BYTES_MAX, RequestLimits, limits};
use crate::rdf4j::{failures, terms};

/// A text of SPARQL and the parameters of its request.
pub struct Text {
    pub text: String,
    pub parameters: Parameters,
}

/// Receives the text of a query or an update: the parameter of this name, or the body if it is of this media type.
///
/// # Errors
/// As [`Service::receive`]; 400 and 415 if there is no text.
pub async fn receive(
    service: &Service,
    parts: &Parts,
    body: Body,
    name: &'static str,
    media_type: &str,
) -> Result<Text, Refusal> {
    let mut parameters = Parameters::of_url(&parts.uri)?;
    let kind = content_type(&parts.headers)?;
    if kind == media_type {
        let bytes_max = if name == "query" { QUERY_BYTES_MAX } else { usize::MAX };
        let ReceivedBody { bytes, upload: _upload } = service.receive(body, bytes_max).await?;
        let text = String::from_utf8(bytes).map_err(|_| Refusal::bad_request("the text is not UTF-8"))?;
        return Ok(Text { text, parameters });
    }
    if kind == FORM {
        let (form, _upload) = service.form(body).await?;
        parameters = parameters.and(form);
    }
    match parameters.take_one(name)? {
        Some(text) => Ok(Text { text, parameters }),
        None => {
            let message = format!(
                "there is no {name}; send it as the parameter {name}, or as a body with Content-Type: {media_type}"
            );
            Err(Refusal::bad_request(message))
        }
    }
}

/// What queries and updates have in common.
struct Given {
    base: String,
    bindings: Vec<(Variable, Term)>,
    bounds: RequestLimits,
}

impl Given {
    fn of(parameters: &Parameters, served: &ServedStore, url: &str) -> Result<Self, Refusal> {
        if let Some(language) = parameters.at_most_one("queryLn")?
            && !language.eq_ignore_ascii_case("sparql")
        {
            return Err(failures::of_language(language));
        }
        parameters.refuse(&["explain"], "explain queries with `fulgurite rdf query --explain`")?;
        parameters.refuse(&["limit", "offset"], "write LIMIT and OFFSET in the query")?;
        let base = match parameters.at_most_one("baseURI")?.filter(|base| !base.is_empty()) {
            Some(base) => terms::iri("baseURI", base)?.into_string(),
            None => url.to_owned(),
        };
        let mut bindings = Vec::new();
        for (name, value) in parameters.with_prefix(BINDING) {
            let wrong = |error| Refusal::bad_request(format!("${name}: not a variable: {error}"));
            bindings.push((Variable::new(name).map_err(wrong)?, terms::term(&format!("${name}"), value)?));
        }
        Ok(Self { base, bindings, bounds: RequestLimits::new(&served.options, parameters)? })
    }
}

/// Parses a query. Without a dataset, its default graph is the union of all graphs, as in RDF4J.
///
/// # Errors
/// 400 for a wrong text or parameter.
pub fn query(
    text: &Text,
    served: &ServedStore,
    url: &str,
    namespaces: &[(String, String)],
    token: CancellationToken,
) -> Result<Query, Refusal> {
    let Text { text, parameters } = text;
    let given = Given::of(parameters, served, url)?;
    if text.len() > QUERY_BYTES_MAX {
        let message = format!("the query is longer than {QUERY_BYTES_MAX} bytes");
        return Err(Refusal::of(axum::http::StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    let mut limits = limits(served, given.bounds, token);
    if let Some(rows) = served.options.rows_max {
        limits = limits.rows_max(rows);
    }
    let query = Query::parse_rdf_star(text, Some(&given.base), &prefixes(namespaces)).map_err(failures::of_query)?;
    let mut query = query.with_limits(limits).union_default_graph(true);
    for name in parameters.all("default-graph-uri") {
        query = query.with_default_graph(graph("default-graph-uri", name)?);
    }
    for graph in parameters.iris("named-graph-uri")? {
        query = query.with_named_graph(graph);
    }
    for (variable, value) in given.bindings {
        query = query.with_binding(variable, value);
    }
    if let Some(handler) = &served.options.service {
        query = query.with_service(Arc::clone(handler));
    }
    Ok(query)
}

/// Parses an update, without its limits. Its `WHERE` sees the union of all graphs, and a deletion without a graph is
/// from all graphs, as in RDF4J.
///
/// # Errors
/// 400 for a wrong text or parameter.
pub fn update(
    text: &Text,
    served: &ServedStore,
    url: &str,
    namespaces: &[(String, String)],
) -> Result<Update, Refusal> {
    let Text { text, parameters } = text;
    let given = Given::of(parameters, served, url)?;
    parameters.refuse_others(UPDATE_PARAMETERS)?;
    let update = Update::parse_rdf_star(text, Some(&given.base), &prefixes(namespaces)).map_err(failures::of_query)?;
    let mut targets = DefaultTargets { delete: DeletedFrom::AllGraphs, ..DefaultTargets::default() };
    if let Some(name) = parameters.at_most_one("insert-graph-uri")? {
        targets.insert = graph("insert-graph-uri", name)?;
    }
    let removed = parameters.all("remove-graph-uri").map(|name| graph("remove-graph-uri", name));
    let removed = removed.collect::<Result<Vec<_>, _>>()?;
    if !removed.is_empty() {
        targets.delete = DeletedFrom::Graphs(removed);
    }
    let mut update = update.union_default_graph(true).with_default_targets(targets);
    for name in parameters.all("using-graph-uri") {
        update = update.with_using_graph(graph("using-graph-uri", name)?);
    }
    for graph in parameters.iris("using-named-graph-uri")? {
        update = update.with_using_named_graph(graph);
    }
    for (variable, value) in given.bindings {
        update = update.with_binding(variable, value);
    }
    if let Some(handler) = &served.options.service {
        update = update.with_service(Arc::clone(handler));
    }
    Ok(update)
}

/// The prefixes that a text need not declare: those of the store, and those that RDF4J knows.
fn prefixes(namespaces: &[(String, String)]) -> Vec<(String, String)> {
    let mut prefixes = namespaces.to_vec();
    for (prefix, iri) in KNOWN_PREFIXES {
        if !prefixes.iter().any(|(known, _)| known == prefix) {
            prefixes.push((prefix.to_owned(), iri.to_owned()));
        }
    }
    prefixes
}

/// A graph of a dataset: an IRI, or `null` or RDF4J's IRI for the default graph.
fn graph(parameter: &str, name: &str) -> Result<GraphName, Refusal> {
    if name == "null" || terms::is_default_graph(name) {
        return Ok(GraphName::DefaultGraph);
    }
    let name: NamedNode = iri(parameter, name)?;
    Ok(name.into())
}

const UPDATE_PARAMETERS: &[&str] = &[
    "update",
    "queryLn",
    "baseURI",
    "infer",
    "timeout",
    BINDING,
    "using-graph-uri",
    "using-named-graph-uri",
    "insert-graph-uri",
    "remove-graph-uri",
    "action",
];
const FORM: &str = "application/x-www-form-urlencoded";
/// The prefixes that RDF4J's parser knows without a declaration.
const KNOWN_PREFIXES: [(&str, &str); 6] = [
    ("fn", "http://www.w3.org/2005/xpath-functions#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("sesame", "http://www.openrdf.org/schema/sesame#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
];
