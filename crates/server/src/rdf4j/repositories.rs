//! The repository itself: queries, its size, graphs, namespaces and configuration, and the list of repositories.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fulgurite_rdf::oxrdf::vocab::{rdf, rdfs};
use fulgurite_rdf::oxrdf::{BlankNode, Literal, NamedNode, Term, Triple};
use fulgurite_rdf::oxrdfio::RdfSerializer;
use fulgurite_rdf::{IdPattern, Quads, StatementKinds, Transaction};

use crate::http::answer::{compute, stream};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Answer, Refusal};
use crate::protocol::negotiation::{GRAPHS, negotiate};
use crate::protocol::service::ReceivedBody;
use crate::rdf4j::answer::QueryRequest;
use crate::rdf4j::pattern::{StatementPattern, graphs, kinds};
use crate::rdf4j::queries;
use crate::rdf4j::repository::{Repository, text};
use crate::rdf4j::tables::table;

/// The version of the protocol.
pub async fn protocol() -> Response {
    text(VERSION)
}

/// The list of repositories, which has one.
pub async fn list(State(repository): State<Arc<Repository>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    let url = NamedNode::new(repository.url(&parts)?)
        .map_err(|error| Refusal::bad_request(format!("the URL of the repository is not an IRI: {error}")))?;
    let row: [Term; 5] = [
        url.into(),
        Literal::from(repository.id.as_str()).into(),
        Literal::from(TITLE).into(),
        Literal::from(true).into(),
        Literal::from(repository.service.served.options.writable).into(),
    ];
    table(&parts.headers, ["uri", "id", "title", "readable", "writable"], [row])
}

/// Answers a query.
pub async fn query(State(repository): State<Arc<Repository>>, Path(id): Path<String>, request: Request) -> Answer {
    repository.check_id(&id)?;
    let (parts, body) = request.into_parts();
    let service = &repository.service;
    let text = queries::receive(service, &parts, body, "query", "application/sparql-query").await?;
    let url = repository.url(&parts)?;
    let served = Arc::clone(&service.served);
    stream(&service.admission, move |token, out| {
        let snapshot = served.store.snapshot()?.of_kinds(kinds(&text.parameters)?);
        QueryRequest { text: &text, served: &served, url: &url, parts: &parts }.answer(&snapshot, token, out)
    })
    .await
}

/// Repositories cannot be created or deleted: the server serves one store.
pub async fn manage(State(repository): State<Arc<Repository>>) -> Refusal {
    let message = format!(
        "this server serves one store, as the repository {}; it creates, changes and deletes none",
        repository.id
    );
    Refusal::of(StatusCode::FORBIDDEN, message)
}

/// The number of explicit statements.
pub async fn size(State(repository): State<Arc<Repository>>, Path(id): Path<String>, request: Request) -> Answer {
    repository.check_id(&id)?;
    let pattern = StatementPattern { graphs: graphs(&Parameters::of_url(request.uri())?)?, ..Default::default() };
    let served = Arc::clone(&repository.service.served);
    let count = compute(&repository.service.admission, move |_| {
        Ok(pattern.count(&served.store.snapshot()?.of_kinds(StatementKinds::Explicit))?)
    });
    Ok(text(count.await?.to_string()))
}

/// The graphs that have statements.
pub async fn contexts(State(repository): State<Arc<Repository>>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    repository.check_id(&id)?;
    let served = Arc::clone(&repository.service.served);
    compute(&repository.service.admission, move |token| {
        let snapshot = served.store.snapshot()?;
        let mut rows = Vec::new();
        for graph in snapshot.graph_names() {
            if token.is_cancelled() {
                return Err(fulgurite_rdf::Error::Cancelled.into());
            }
            let graph = graph?;
            if snapshot.quads(&IdPattern::of_graph(graph)).next().transpose()?.is_some() {
                rows.push([snapshot.term(graph)?]);
            }
        }
        table(&headers, ["contextID"], rows)
    })
    .await
}

/// The namespaces.
pub async fn namespaces(
    State(repository): State<Arc<Repository>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    repository.check_id(&id)?;
    let served = Arc::clone(&repository.service.served);
    compute(&repository.service.admission, move |_| {
        let namespaces = served.store.snapshot()?.namespaces()?;
        let rows = namespaces.iter().map(|(prefix, iri)| [prefix, iri].map(|text| Literal::from(text.as_str()).into()));
        table(&headers, ["prefix", "namespace"], rows)
    })
    .await
}

/// Removes all namespaces.
pub async fn clear_namespaces(State(repository): State<Arc<Repository>>, Path(id): Path<String>) -> Answer {
    repository.check_id(&id)?;
    change(&repository, |transaction| {
        for (prefix, _) in transaction.view().namespaces()? {
            transaction.remove_namespace(&prefix)?;
        }
        Ok(())
    })
    .await
}

/// The repository and the prefix in a path. The prefix of the default namespace is empty.
type OfPrefix = Path<HashMap<String, String>>;

fn prefix_of(repository: &Repository, Path(mut parameters): OfPrefix) -> Result<String, Refusal> {
    repository.check_id(&parameters.remove("id").unwrap_or_default())?;
    Ok(parameters.remove("prefix").unwrap_or_default())
}

/// The namespace of a prefix.
pub async fn namespace(State(repository): State<Arc<Repository>>, path: OfPrefix) -> Answer {
    let prefix = prefix_of(&repository, path)?;
    let served = Arc::clone(&repository.service.served);
    compute(&repository.service.admission, move |_| {
        let namespaces = served.store.snapshot()?.namespaces()?;
        match namespaces.into_iter().find(|(known, _)| *known == prefix) {
            Some((_, iri)) => Ok(text(iri)),
            None => Err(Refusal::of(StatusCode::NOT_FOUND, format!("there is no namespace of the prefix `{prefix}`"))),
        }
    })
    .await
}

/// Sets the namespace of a prefix, which is the body.
pub async fn set_namespace(State(repository): State<Arc<Repository>>, path: OfPrefix, body: Body) -> Answer {
    let prefix = prefix_of(&repository, path)?;
    let ReceivedBody { bytes, .. } = repository.service.receive(body, NAMESPACE_BYTES_MAX).await?;
    let iri = String::from_utf8(bytes).map_err(|_| Refusal::bad_request("the namespace is not UTF-8"))?;
    if iri.trim().is_empty() {
        return Err(Refusal::bad_request("the namespace is empty; send its IRI as the body"));
    }
    change(&repository, move |transaction| transaction.set_namespace(&prefix, &iri)).await
}

/// Removes the namespace of a prefix.
pub async fn remove_namespace(State(repository): State<Arc<Repository>>, path: OfPrefix) -> Answer {
    let prefix = prefix_of(&repository, path)?;
    change(&repository, move |transaction| transaction.remove_namespace(&prefix).map(drop)).await
}

async fn change(
    repository: &Repository,
    change: impl Fn(&mut Transaction) -> fulgurite_rdf::Result<()> + Send + 'static,
) -> Answer {
    repository.service.check_writable()?;
    let served = Arc::clone(&repository.service.served);
    compute(&repository.service.admission, move |_| Ok(served.store.update(&change)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A configuration with which a client of RDF4J reaches the repository.
pub async fn configuration(
    State(repository): State<Arc<Repository>>,
    Path(id): Path<String>,
    request: Request,
) -> Answer {
    repository.check_id(&id)?;
    let (parts, _) = request.into_parts();
    let (media_type, format) = negotiate(&parts.headers, GRAPHS)?;
    let failed = |error: std::io::Error| Refusal::failure(format!("the configuration: {error}"));
    let url = NamedNode::new(repository.url(&parts)?)
        .map_err(|error| Refusal::bad_request(format!("the URL of the repository is not an IRI: {error}")))?;
    let name = |name: &str| NamedNode::new_unchecked(format!("tag:rdf4j.org,2023:config/{name}"));
    let [subject, implementation] = ["repository", "implementation"].map(BlankNode::new_unchecked);
    let mut writer = RdfSerializer::from_format(format).for_writer(Vec::new());
    for triple in [
        Triple::new(subject.clone(), rdf::TYPE, name("Repository")),
        Triple::new(subject.clone(), name("rep.id"), Literal::from(repository.id.as_str())),
        Triple::new(subject.clone(), rdfs::LABEL, Literal::from(TITLE)),
        Triple::new(subject, name("rep.impl"), implementation.clone()),
        Triple::new(implementation.clone(), name("rep.type"), Literal::from("openrdf:HTTPRepository")),
        Triple::new(implementation, name("http.url"), url),
    ] {
        writer.serialize_triple(&triple).map_err(failed)?;
    }
    let mut response = Response::new(Body::from(writer.finish().map_err(failed)?));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// The version of RDF4J's protocol, that of its releases from 3.5 to 5.
const VERSION: &str = "12";
const TITLE: &str = "Fulgurite";
const NAMESPACE_BYTES_MAX: usize = 1 << 16;
