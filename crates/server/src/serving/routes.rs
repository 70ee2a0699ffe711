//! The routes of a server, and the SPARQL Protocol's part of them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::http::answer::compute;
use crate::http::content::content_type;
use crate::http::parameters::Parameters;
use crate::http::refusal::{Answer, Refusal, method_not_allowed};
use crate::listening::front::Front;
use crate::listening::request_log::surround;
use crate::page;
use crate::protocol::paths;
use crate::protocol::service::{ReceivedBody, Service};
use crate::protocol::sparql_request::{QUERY_BYTES_MAX, QUERY_GRAPHS, SparqlRequest, UPDATE_GRAPHS};
use crate::protocol::{description, namespaces, query, update};
use crate::rdf4j;
use crate::rdf4j::repository::Repository;
use crate::serving::graph_routes;

/// The routes of a server.
pub fn router(repository: Arc<Repository>, front: Arc<Front>) -> Router {
    let service = Arc::clone(&repository.service);
    let mut router = Router::new().merge(page::routes()).route(paths::NAMESPACES, get(read_namespaces));
    for path in paths::SPARQL {
        router = router.route(path, get(get_sparql).post(post_sparql));
    }
    for path in [paths::GRAPHS, paths::STORE] {
        router =
            router.route(path, graph_routes::methods()).route(&format!("{path}/{{*name}}"), graph_routes::methods());
    }
    for root in paths::RDF4J_ROOTS {
        let graphs = format!("{root}/repositories/{}/rdf-graphs", repository.id);
        for path in ["service", "{name}"] {
            router = router.route(&format!("{graphs}/{path}"), graph_routes::methods());
        }
    }
    let router = router.merge(rdf4j::routes::routes(repository));
    #[cfg(test)]
    let router = router.merge(crate::listening::planted::routes(&service.admission));
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .layer(from_fn_with_state(front, surround))
        .with_state(service)
}

async fn not_found(uri: Uri) -> Refusal {
    let message = format!(
        "there is no {}; there are /sparql (queries and updates; also /query, /update), /graphs (the graph store; also /store), \
         /repositories (RDF4J's protocol) and / (a page with a query editor)",
        uri.path()
    );
    Refusal::of(StatusCode::NOT_FOUND, message)
}

async fn get_sparql(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    let parameters = Parameters::of_url(&parts.uri)?;
    parameters.refuse(&["update"], "send updates by POST")?;
    let base = service.base(&parts)?;
    match parameters.at_most_one("query")? {
        Some(text) => service.query(parts, text.to_owned(), &parameters, &base).await,
        None => {
            let served = Arc::clone(&service.served);
            let endpoint = format!("{base}sparql");
            compute(&service.admission, move |_| description::describe(&served, &parts.headers, &endpoint)).await
        }
    }
}

async fn post_sparql(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let url = Parameters::of_url(&parts.uri)?;
    let base = service.base(&parts)?;
    let kind = content_type(&parts.headers)?;
    if !SPARQL_TYPES.contains(&kind.as_str()) {
        let is = if kind.is_empty() { "missing" } else { kind.as_str() };
        let message = format!("the Content-Type is {is}; it must be one of:\n{}", SPARQL_TYPES.join("\n"));
        return Err(Refusal::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if kind == FORM {
        // The right to hold a large body is kept as long as the text.
        let (form, _upload) = service.form(body).await?;
        let mut parameters = url.and(form);
        return match (parameters.take_one("query")?, parameters.take_one("update")?) {
            (Some(text), None) => service.query(parts, text, &parameters, &base).await,
            (None, Some(text)) => service.update(text, &parameters, &base).await,
            (Some(_), Some(_)) => Err(Refusal::bad_request("the form has a query and an update; send one of them")),
            (None, None) => Err(Refusal::bad_request("the form has neither query nor update")),
        };
    }
    url.refuse(&["query", "update"], "the body is the text")?;
    let is_query = kind == QUERY;
    let bytes_max = if is_query { QUERY_BYTES_MAX } else { usize::MAX };
    let ReceivedBody { bytes, upload: _upload } = service.receive(body, bytes_max).await?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::bad_request("the text is not UTF-8"))?;
    match is_query {
        true => service.query(parts, text, &url, &base).await,
        false => service.update(text, &url, &base).await,
    }
}

async fn read_namespaces(State(service): State<Arc<Service>>) -> Answer {
    namespaces::read(&service).await
}

impl Service {
    async fn query(&self, parts: Parts, text: String, parameters: &Parameters, base: &str) -> Answer {
        parameters.refuse(&UPDATE_GRAPHS, "it is for updates")?;
        if text.len() > QUERY_BYTES_MAX {
            let message = format!(
                "the query is longer than {QUERY_BYTES_MAX} bytes; shorten it, or add its values to the store and \
                 match them there"
            );
            return Err(Refusal::of(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let request =
            SparqlRequest::new(text, parameters, QUERY_GRAPHS, format!("{base}sparql"), &self.served.options)?;
        query::answer(self, parts.headers, request).await
    }

    async fn update(&self, text: String, parameters: &Parameters, base: &str) -> Answer {
        parameters.refuse(&QUERY_GRAPHS, "it is for queries")?;
        let request =
            SparqlRequest::new(text, parameters, UPDATE_GRAPHS, format!("{base}sparql"), &self.served.options)?;
        Ok(update::carry_out(self, request).await?.into_response())
    }
}

const FORM: &str = "application/x-www-form-urlencoded";
const QUERY: &str = "application/sparql-query";
const SPARQL_TYPES: &[&str] = &[QUERY, "application/sparql-update", FORM];
