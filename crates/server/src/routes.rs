//! What is served where, and what every request goes through: [`Guard`], and being told of.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::X_CONTENT_TYPE_OPTIONS;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, Uri, Version};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fulgurite_rdf::Store;
use fulgurite_rdf::oxrdf::GraphName;
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use crate::answer::{CutOff, compute};
use crate::asked::{Asked, Bounds, QUERY_GRAPHS, UPDATE_GRAPHS};
use crate::document::Sent;
use crate::graphs::{self, Change};
use crate::guard::{self, Guard};
use crate::negotiation::{content_type, graph_format};
use crate::options::{Event, ServerOptions};
use crate::panics::{self, Caught};
use crate::parameters::{Parameters, iri};
use crate::refusal::{Particulars, Refusal};
use crate::running::Running;
use crate::{body, dataset, description, namespaces, page, paths, query, update};

/// What requests are answered from.
pub struct Served {
    pub store: Store,
    pub options: ServerOptions,
}

/// What requests are answered with.
pub struct Service {
    pub served: Arc<Served>,
    pub running: Arc<Running>,
    pub guard: Guard,
}

type Answer = Result<Response, Refusal>;

/// The routes of a server.
pub fn router(service: Arc<Service>) -> Router {
    let graphs = || get(read_graph).put(replace_graph).post(extend_graph).delete(delete_graph);
    let mut router = Router::new().merge(page::routes()).route(paths::NAMESPACES, get(read_namespaces));
    for path in paths::SPARQL {
        router = router.route(path, get(get_sparql).post(post_sparql));
    }
    for path in [paths::GRAPHS, paths::STORE] {
        router = router.route(path, graphs()).route(&format!("{path}/{{*name}}"), graphs());
    }
    #[cfg(test)]
    let router = router.merge(crate::planted::routes());
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .layer(from_fn_with_state(Arc::clone(&service), surround))
        .with_state(service)
}

/// Refuses what the guard does not let pass, and tells of every request.
async fn surround(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let mut told = Told {
        service: Arc::clone(&service),
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        status: 0,
        bytes: 0,
        is_whole: false,
        begun,
    };
    let mut response = match service.guard.check(&request) {
        Err(refusal) => refusal.into_response(),
        Ok(()) => {
            let version = request.version();
            let mut response = match service.guard.preflight(&request) {
                Some(response) => response,
                None => Caught::new(next.run(request)).await.unwrap_or_else(IntoResponse::into_response),
            };
            if version < Version::HTTP_11 && response.body().size_hint().exact().is_none() {
                response = no_end().into_response();
            }
            service.guard.mark(response.headers_mut());
            response
        }
    };
    if let Some(Particulars(message)) = response.extensions_mut().remove() {
        told.failed(&message);
    }
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    told.status = response.status().as_u16();
    // An empty body is not asked for its end.
    told.is_whole = response.body().is_end_stream();
    response.map(|body| Body::new(Counted { told, body }))
}

/// Without chunks, an answer that was cut off looks like one that has ended.
fn no_end() -> Refusal {
    let message = "the answer is too long to be sent by HTTP/1.0, which cannot tell whether it came to its end; \
                   ask by HTTP/1.1, or for less";
    Refusal::of(StatusCode::HTTP_VERSION_NOT_SUPPORTED, message)
}

async fn not_found(uri: Uri) -> Refusal {
    let message = format!(
        "there is no {}; there are /sparql (queries and updates; also /query, /update), /graphs (the graph store; also /store) and / \
         (a page to ask with)",
        uri.path()
    );
    Refusal::of(StatusCode::NOT_FOUND, message)
}

async fn method_not_allowed(request: Request) -> Refusal {
    let message = format!("{} is not for {}; Allow lists what is", request.method(), request.uri().path());
    Refusal::of(StatusCode::METHOD_NOT_ALLOWED, message)
}

async fn get_sparql(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    let parameters = Parameters::of_url(&parts.uri)?;
    parameters.refuse(&["update"], "updates go by POST")?;
    let base = service.base(&parts)?;
    match parameters.at_most_one("query")? {
        Some(text) => service.query(parts, text.to_owned(), &parameters, &base).await,
        None => {
            let served = Arc::clone(&service.served);
            let endpoint = format!("{base}sparql");
            compute(&service.running, move |_| description::describe(&served, &parts.headers, &endpoint)).await
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
        let message = format!("the Content-Type is {is}; it can be one of:\n{}", SPARQL_TYPES.join("\n"));
        return Err(Refusal::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if kind == FORM {
        // The place among the uploads is held for as long as the text is.
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
    let Received { bytes, upload: _upload } = service.receive(body, bytes_max).await?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::bad_request("the text is not UTF-8; send it as such"))?;
    match is_query {
        true => service.query(parts, text, &url, &base).await,
        false => service.update(text, &url, &base).await,
    }
}

async fn read_namespaces(State(service): State<Arc<Service>>) -> Answer {
    namespaces::read(&service).await
}

async fn read_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    match service.target(&parts)? {
        (Target::Graph(graph), bounds) => graphs::read(&service, parts.headers, graph, bounds).await,
        (Target::Store, bounds) => dataset::read(&service, parts.headers, bounds).await,
        (Target::NewGraph, _) => Err(no_graph_named()),
    }
}

async fn replace_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    service.check_writable()?;
    let (target, bounds) = service.target(&parts)?;
    if matches!(target, Target::NewGraph) {
        return Err(no_graph_named());
    }
    let (sent, _upload) = service.document(&parts, &target, body).await?;
    Ok(match target {
        Target::Graph(graph) => graphs::change(&service, graph, sent, Change::Replace, bounds).await?,
        _ => dataset::change(&service, sent, Change::Replace, bounds).await?,
    }
    .into_response())
}

async fn extend_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    service.check_writable()?;
    let (target, bounds) = service.target(&parts)?;
    let (sent, _upload) = service.document(&parts, &target, body).await?;
    match target {
        Target::Graph(graph) => {
            Ok(graphs::change(&service, graph, sent, Change::Extend, bounds).await?.into_response())
        }
        Target::Store if sent.format.supports_datasets() => {
            Ok(dataset::change(&service, sent, Change::Extend, bounds).await?.into_response())
        }
        Target::Store | Target::NewGraph => graphs::create(&service, &service.base(&parts)?, sent, bounds).await,
    }
}

async fn delete_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    service.check_writable()?;
    match service.target(&parts)? {
        (Target::Graph(graph), bounds) => graphs::delete(&service, graph, bounds).await,
        (Target::Store, bounds) => Ok(dataset::delete(&service, bounds).await?.into_response()),
        (Target::NewGraph, _) => Err(no_graph_named()),
    }
}

/// What a request to the graph store means.
enum Target {
    Graph(GraphName),
    /// All graphs: `/store` without a graph.
    Store,
    /// One that is still to get a name: `/graphs` without a graph.
    NewGraph,
}

impl Service {
    /// Where the client reaches the server, with a slash at the end.
    fn base(&self, parts: &Parts) -> Result<String, Refusal> {
        if let Some(base) = &self.served.options.base {
            return Ok(base.clone());
        }
        let authority = guard::authority(&parts.uri, &parts.headers);
        let authority = authority.ok_or_else(|| Refusal::bad_request("the request has no Host"))?;
        Ok(format!("http://{authority}/"))
    }

    /// What a request to the graph store means, and what bounds it.
    fn target(&self, parts: &Parts) -> Result<(Target, Bounds), Refusal> {
        let parameters = Parameters::of_url(&parts.uri)?;
        let bounds = Bounds::new(&self.served.options, &parameters)?;
        let is_default = parameters.has("default");
        let name = parameters.at_most_one("graph")?;
        let path = parts.uri.path();
        if paths::names_a_graph(path) {
            parameters.refuse(&["default", "graph"], "the path names the graph")?;
            let name = format!("{}{}", self.base(parts)?, path.trim_start_matches('/'));
            return Ok((Target::Graph(iri("the path", &name)?.into()), bounds));
        }
        let target = match (is_default, name) {
            (true, Some(_)) => {
                return Err(Refusal::bad_request("?default and ?graph are both there; give one of them"));
            }
            (true, None) => Target::Graph(GraphName::DefaultGraph),
            (false, Some(name)) => Target::Graph(iri("graph", name)?.into()),
            (false, None) if path == paths::STORE => Target::Store,
            (false, None) => Target::NewGraph,
        };
        Ok((target, bounds))
    }

    fn check_writable(&self) -> Result<(), Refusal> {
        if self.served.options.writable { Ok(()) } else { Err(Refusal::read_only()) }
    }

    async fn query(&self, parts: Parts, text: String, parameters: &Parameters, base: &str) -> Answer {
        parameters.refuse(&UPDATE_GRAPHS, "it is for updates")?;
        if text.len() > QUERY_BYTES_MAX {
            let message = format!("the query is longer than {QUERY_BYTES_MAX} bytes");
            return Err(Refusal::of(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let asked = Asked::new(text, parameters, QUERY_GRAPHS, format!("{base}sparql"), &self.served.options)?;
        query::answer(self, parts.headers, asked).await
    }

    async fn update(&self, text: String, parameters: &Parameters, base: &str) -> Answer {
        parameters.refuse(&QUERY_GRAPHS, "it is for queries")?;
        let asked = Asked::new(text, parameters, UPDATE_GRAPHS, format!("{base}sparql"), &self.served.options)?;
        Ok(update::carry_out(self, asked).await?.into_response())
    }

    async fn document(
        &self,
        parts: &Parts,
        target: &Target,
        body: Body,
    ) -> Result<(Sent, Option<OwnedSemaphorePermit>), Refusal> {
        let format = graph_format(&parts.headers)?;
        let base = match target {
            Target::Graph(GraphName::NamedNode(name)) => name.as_str().to_owned(),
            _ => format!("{}graphs", self.base(parts)?),
        };
        let Received { bytes, upload } = self.receive(body, usize::MAX).await?;
        Ok((Sent { bytes: bytes.into(), format, base }, upload))
    }

    /// Reads a body, if it is not too large: of `bytes_max`, and of what bodies may be at all.
    async fn receive(&self, body: Body, bytes_max: usize) -> Result<Received, Refusal> {
        let options = &self.served.options;
        let bounds = body::Bounds { bytes_max: bytes_max.min(options.body_bytes_max), time: options.body_time };
        let upload = if body::is_small(&body) { None } else { Some(self.running.receive().await?) };
        Ok(Received { bytes: body::read(body, bounds).await?, upload })
    }

    /// The parameters of a form. Those of a large one are not looked for where connections are served.
    async fn form(&self, body: Body) -> Result<(Parameters, Option<OwnedSemaphorePermit>), Refusal> {
        let Received { bytes, upload } = self.receive(body, usize::MAX).await?;
        if bytes.len() as u64 <= body::SMALL_BYTES {
            return Ok((Parameters::parse(&bytes)?, upload));
        }
        let parsed = tokio::task::spawn_blocking(move || panics::catch(|| Parameters::parse(&bytes))).await;
        let failed = |ended| Refusal::failure(format!("a form was not read to its end: {ended}"));
        Ok((parsed.map_err(failed)??, upload))
    }
}

/// A body in memory.
struct Received {
    bytes: Vec<u8>,
    /// Of a large one, for as long as it is held.
    upload: Option<OwnedSemaphorePermit>,
}

fn no_graph_named() -> Refusal {
    Refusal::bad_request("which graph? Add ?default, or ?graph= and its IRI, or ask for /graphs/ and a name")
}

/// What is told of a request when its answer has ended.
struct Told {
    service: Arc<Service>,
    method: String,
    path: String,
    status: u16,
    bytes: u64,
    is_whole: bool,
    begun: Instant,
}

impl Told {
    /// What failed, with the request: its parameters and its body may hold what no log is to have.
    fn failed(&self, message: &str) {
        let message = format!("{} {}: {message}", self.method, self.path);
        self.service.served.options.tell(Event::Failed { message: &message });
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // A request whose client is gone before the head has no status.
        let status = if self.status == 0 { CLIENT_GONE } else { self.status };
        self.service.served.options.tell(Event::Answered {
            method: &self.method,
            path: &self.path,
            status,
            bytes: self.bytes,
            is_whole: self.is_whole,
            elapsed: self.begun.elapsed(),
        });
    }
}

/// A body that is told of when it has been sent or given up.
struct Counted {
    told: Told,
    body: Body,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                self.told.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                self.told.is_whole = self.body.is_end_stream();
            }
            Poll::Ready(None) => self.told.is_whole = true,
            Poll::Ready(Some(Err(error))) => {
                if let Some(particulars) = particulars_of(error) {
                    self.told.failed(particulars);
                }
            }
            _ => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What a client whose answer was cut off is not told.
fn particulars_of(error: &axum::Error) -> Option<&str> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(cut) = inner.and_then(|inner| inner.downcast_ref::<CutOff>()) {
            return cut.particulars.as_deref();
        }
        cause = error.source();
    }
    None
}

const FORM: &str = "application/x-www-form-urlencoded";
const QUERY: &str = "application/sparql-query";
const SPARQL_TYPES: &[&str] = &[QUERY, "application/sparql-update", FORM];
/// What others log of requests whose clients left.
const CLIENT_GONE: u16 = 499;
/// Of a query's text, and so of the body that is one.
const QUERY_BYTES_MAX: usize = 1 << 20;
