//! What is served where, and what every request goes through: [`Guard`], and being told of.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fulgurite_rdf::Store;
use fulgurite_rdf::oxrdf::GraphName;
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::answer::compute;
use crate::document::Sent;
use crate::graphs::{self, Change};
use crate::guard::{self, Guard};
use crate::negotiation::{content_type, graph_format};
use crate::options::{Event, ServerOptions};
use crate::parameters::{Parameters, iri};
use crate::refusal::{Particulars, Refusal};
use crate::running::Running;
use crate::{description, page, query, update};

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
    Router::new()
        .route("/", get(page::html))
        .route("/page.js", get(page::script))
        .route("/page.css", get(page::style))
        .route("/sparql", get(get_sparql).post(post_sparql))
        .route("/graphs", graphs())
        .route("/graphs/{*name}", graphs())
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
            let mut response = match service.guard.preflight(&request) {
                Some(response) => response,
                None => next.run(request).await,
            };
            service.guard.mark(response.headers_mut());
            response
        }
    };
    if let Some(Particulars(message)) = response.extensions_mut().remove() {
        service.served.options.tell(Event::Failed { message: &message });
    }
    told.status = response.status().as_u16();
    // An empty body is not asked for its end.
    told.is_whole = response.body().is_end_stream();
    response.map(|body| Body::new(Counted { told, body }))
}

async fn not_found(uri: Uri) -> Refusal {
    let message = format!(
        "there is no {}; there are /sparql (queries and updates), /graphs (the graph store) and / (a page to ask with)",
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
    let received = service.receive(body).await?;
    if kind == FORM {
        let parameters = url.and(Parameters::parse(&received.bytes)?);
        return match (parameters.at_most_one("query")?, parameters.at_most_one("update")?) {
            (Some(text), None) => service.query(parts, text.to_owned(), &parameters, &base).await,
            (None, Some(text)) => service.update(text.to_owned(), &parameters, &base).await,
            (Some(_), Some(_)) => Err(Refusal::bad_request("the form has a query and an update; send one of them")),
            (None, None) => Err(Refusal::bad_request("the form has neither query nor update")),
        };
    }
    url.refuse(&["query", "update"], "the body is the text")?;
    let text = String::from_utf8(received.bytes.to_vec())
        .map_err(|_| Refusal::bad_request("the text is not UTF-8; send it as such"))?;
    match kind == QUERY {
        true => service.query(parts, text, &url, &base).await,
        false => service.update(text, &url, &base).await,
    }
}

async fn read_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    let graph = service.graph(&parts)?.ok_or_else(no_graph_named)?;
    graphs::read(&service, parts.headers, graph).await
}

async fn replace_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    service.check_writable()?;
    let graph = service.graph(&parts)?.ok_or_else(no_graph_named)?;
    let (sent, _upload) = service.document(&parts, &graph, body).await?;
    Ok(graphs::change(&service, graph, sent, Change::Replace).await?.into_response())
}

async fn extend_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    service.check_writable()?;
    let graph = service.graph(&parts)?;
    let (sent, _upload) = service.document(&parts, graph.as_ref().unwrap_or(&GraphName::DefaultGraph), body).await?;
    match graph {
        Some(graph) => Ok(graphs::change(&service, graph, sent, Change::Extend).await?.into_response()),
        None => graphs::create(&service, &service.base(&parts)?, sent).await,
    }
}

async fn delete_graph(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    service.check_writable()?;
    let graph = service.graph(&parts)?.ok_or_else(no_graph_named)?;
    graphs::delete(&service, graph).await
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

    /// The graph that a request to the graph store means; `None` if it names none.
    fn graph(&self, parts: &Parts) -> Result<Option<GraphName>, Refusal> {
        let parameters = Parameters::of_url(&parts.uri)?;
        let is_default = parameters.has("default");
        let name = parameters.at_most_one("graph")?;
        if let Some(path) = parts.uri.path().strip_prefix("/graphs/") {
            parameters.refuse(&["default", "graph"], "the path names the graph")?;
            let name = format!("{}graphs/{path}", self.base(parts)?);
            return Ok(Some(iri("the path", &name)?.into()));
        }
        match (is_default, name) {
            (true, Some(_)) => Err(Refusal::bad_request("?default and ?graph are both there; give one of them")),
            (true, None) => Ok(Some(GraphName::DefaultGraph)),
            (false, Some(name)) => Ok(Some(iri("graph", name)?.into())),
            (false, None) => Ok(None),
        }
    }

    fn check_writable(&self) -> Result<(), Refusal> {
        if self.served.options.writable { Ok(()) } else { Err(Refusal::read_only()) }
    }

    async fn query(&self, parts: Parts, text: String, parameters: &Parameters, base: &str) -> Answer {
        parameters.refuse(&["using-graph-uri", "using-named-graph-uri"], "it is for updates")?;
        if text.len() > QUERY_BYTES_MAX {
            let message = format!("the query is longer than {QUERY_BYTES_MAX} bytes");
            return Err(Refusal::of(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let asked = query::Asked::new(text, parameters, format!("{base}sparql"))?;
        query::answer(self, parts.headers, asked).await
    }

    async fn update(&self, text: String, parameters: &Parameters, base: &str) -> Answer {
        parameters.refuse(&["default-graph-uri", "named-graph-uri"], "it is for queries")?;
        let asked = update::Asked::new(text, parameters, format!("{base}sparql"))?;
        Ok(update::carry_out(self, asked).await?.into_response())
    }

    async fn document(
        &self,
        parts: &Parts,
        graph: &GraphName,
        body: Body,
    ) -> Result<(Sent, Option<OwnedSemaphorePermit>), Refusal> {
        let format = graph_format(&parts.headers)?;
        let base = match graph {
            GraphName::NamedNode(name) => name.as_str().to_owned(),
            _ => format!("{}graphs", self.base(parts)?),
        };
        let Received { bytes, upload } = self.receive(body).await?;
        Ok((Sent { bytes, format, base }, upload))
    }

    /// Reads a body, if it is not too large.
    async fn receive(&self, body: Body) -> Result<Received, Refusal> {
        let max = self.served.options.body_bytes_max;
        let too_large = || {
            let message =
                format!("the body is larger than {max} bytes; send less at once, or load it by `fulgurite rdf load`");
            Refusal::of(StatusCode::PAYLOAD_TOO_LARGE, message)
        };
        let hint = body.size_hint();
        let mut body = pin!(body);
        if hint.lower() > max as u64 {
            discard(body).await;
            return Err(too_large());
        }
        let is_small = hint.upper().is_some_and(|upper| upper <= SMALL_BODY_BYTES);
        let upload = if is_small { None } else { Some(self.running.receive().await?) };
        let mut bytes = Vec::new();
        while let Some(data) = next_data(body.as_mut()).await? {
            if bytes.len() + data.len() > max {
                discard(body).await;
                return Err(too_large());
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Received { bytes: bytes.into(), upload })
    }
}

/// The next bytes of a body; `None` at its end.
async fn next_data(mut body: Pin<&mut Body>) -> Result<Option<Bytes>, Refusal> {
    loop {
        let frame = timeout(STALL, poll_fn(|context| body.as_mut().poll_frame(context))).await;
        let stalled = |_| Refusal::of(StatusCode::REQUEST_TIMEOUT, "the body did not go on");
        match frame.map_err(stalled)? {
            None => return Ok(None),
            Some(Err(error)) => return Err(Refusal::bad_request(format!("the body cannot be read: {error}"))),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Reads on for a while: a client that still sends when the connection is closed may not see the answer.
async fn discard(mut body: Pin<&mut Body>) {
    let read = async {
        let mut bytes = 0;
        while let (true, Ok(Some(data))) = (bytes < DISCARDED_BYTES, next_data(body.as_mut()).await) {
            bytes += data.len();
        }
    };
    let _ = timeout(DISCARD_TIME, read).await;
}

/// A body in memory.
struct Received {
    bytes: Bytes,
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

const FORM: &str = "application/x-www-form-urlencoded";
const QUERY: &str = "application/sparql-query";
const SPARQL_TYPES: &[&str] = &[QUERY, "application/sparql-update", FORM];
/// What others log of requests whose clients left.
const CLIENT_GONE: u16 = 499;
const QUERY_BYTES_MAX: usize = 1 << 20;
const SMALL_BODY_BYTES: u64 = 64 << 10;
const DISCARDED_BYTES: usize = 16 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(2);
/// A body of which nothing comes for so long is given up.
const STALL: Duration = Duration::from_secs(30);
