//! The service description: what the endpoint can do, as RDF.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use fulgurite_rdf::oxrdf::vocab::rdf;
use fulgurite_rdf::oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, Triple};
use fulgurite_rdf::oxrdfio::RdfSerializer;
use fulgurite_rdf::{GraphPattern, IdPattern, Quads};

use crate::http::refusal::Refusal;
use crate::protocol::negotiation::{GRAPHS, negotiate};
use crate::protocol::service::ServedStore;

/// Describes the endpoint at `endpoint`, in the form that the client wants.
///
/// # Errors
/// 406 if it wants none that there is; what the store reports.
pub fn describe(served: &ServedStore, headers: &HeaderMap, endpoint: &str) -> Result<Response, Refusal> {
    let (media_type, format) = negotiate(headers, GRAPHS)?;
    let failed = |error: String| Refusal::failure(format!("the service description: {error}"));
    let mut serializer = RdfSerializer::from_format(format);
    for (prefix, namespace) in [("sd", SD), ("void", VOID), ("format", FORMATS)] {
        serializer = serializer.with_prefix(prefix, namespace).map_err(|error| failed(error.to_string()))?;
    }
    let mut writer = serializer.for_writer(Vec::new());
    for triple in triples(served, endpoint)? {
        writer.serialize_triple(&triple).map_err(|error| failed(error.to_string()))?;
    }
    let bytes = writer.finish().map_err(|error| failed(error.to_string()))?;
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

fn triples(served: &ServedStore, endpoint: &str) -> Result<Vec<Triple>, Refusal> {
    let service = NamedNode::new(endpoint)
        .map_err(|error| Refusal::bad_request(format!("{endpoint}: the endpoint has no name: {error}")))?;
    let [dataset, default_graph] = ["dataset", "default"].map(BlankNode::new_unchecked);
    let mut triples = Vec::new();
    let mut add = |subject: &NamedOrBlankNode, predicate: NamedNode, object: Term| {
        triples.push(Triple { subject: subject.clone(), predicate, object });
    };
    let subject = NamedOrBlankNode::from(service.clone());
    add(&subject, rdf::TYPE.into_owned(), sd("Service").into());
    add(&subject, sd("endpoint"), service.into());
    add(&subject, sd("supportedLanguage"), sd("SPARQL11Query").into());
    if served.options.writable {
        add(&subject, sd("supportedLanguage"), sd("SPARQL11Update").into());
    }
    add(&subject, sd("feature"), sd("EmptyGraphs").into());
    if served.options.union_default_graph {
        add(&subject, sd("feature"), sd("UnionDefaultGraph").into());
    }
    if served.options.service.is_some() {
        add(&subject, sd("feature"), sd("BasicFederatedQuery").into());
    }
    for form in RESULT_FORMS.iter().chain(GRAPH_FORMS) {
        add(&subject, sd("resultFormat"), NamedNode::new_unchecked(format!("{FORMATS}{form}")).into());
    }
    if served.options.writable {
        for form in GRAPH_FORMS {
            add(&subject, sd("inputFormat"), NamedNode::new_unchecked(format!("{FORMATS}{form}")).into());
        }
    }
    add(&subject, sd("defaultDataset"), dataset.clone().into());
    let dataset = dataset.into();
    add(&dataset, rdf::TYPE.into_owned(), sd("Dataset").into());
    add(&dataset, sd("defaultGraph"), default_graph.clone().into());
    let default_graph = default_graph.into();
    add(&default_graph, rdf::TYPE.into_owned(), sd("Graph").into());
    let count = served.store.snapshot()?.count(&IdPattern { graph: GraphPattern::Default, ..IdPattern::ALL })?;
    if !served.options.union_default_graph {
        let count = Literal::from(i64::try_from(count).unwrap_or(i64::MAX));
        add(&default_graph, NamedNode::new_unchecked(format!("{VOID}triples")), count.into());
    }
    Ok(triples)
}

fn sd(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{SD}{name}"))
}

const SD: &str = "http://www.w3.org/ns/sparql-service-description#";
const VOID: &str = "http://rdfs.org/ns/void#";
const FORMATS: &str = "http://www.w3.org/ns/formats/";
const RESULT_FORMS: &[&str] =
    &["SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV"];
const GRAPH_FORMS: &[&str] = &["Turtle", "N-Triples", "RDF_XML", "JSON-LD", "TriG", "N-Quads"];
