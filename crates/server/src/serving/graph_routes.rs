//! The routes of the Graph Store Protocol: which graph a request means, and which operation.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use fulgurite_rdf::oxrdf::GraphName;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

use crate::http::parameters::Parameters;
use crate::http::refusal::{Answer, Refusal};
use crate::protocol::document::{Change, Document};
use crate::protocol::iris::iri;
use crate::protocol::negotiation::graph_format;
use crate::protocol::paths;
use crate::protocol::service::{ReceivedBody, Service};
use crate::protocol::sparql_request::RequestLimits;
use crate::protocol::{dataset, graphs};

/// The methods of the graph store.
pub fn methods() -> MethodRouter<Arc<Service>> {
    get(read_graph).put(replace_graph).post(extend_graph).delete(delete_graph)
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

/// The target of a request to the graph store.
enum Target {
    Graph(GraphName),
    /// All graphs: `/store` without a graph.
    Store,
    /// A new graph, whose name the server chooses: `/graphs` without a graph.
    NewGraph,
}

impl Service {
    /// The target of a request to the graph store, and its limits.
    fn target(&self, parts: &Parts) -> Result<(Target, RequestLimits), Refusal> {
        let parameters = Parameters::of_url(&parts.uri)?;
        let bounds = RequestLimits::new(&self.served.options, &parameters)?;
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
                return Err(Refusal::bad_request("?default and ?graph exclude each other; give one of them"));
            }
            (true, None) => Target::Graph(GraphName::DefaultGraph),
            (false, Some(name)) => Target::Graph(iri("graph", name)?.into()),
            (false, None) if path == paths::STORE => Target::Store,
            (false, None) => Target::NewGraph,
        };
        Ok((target, bounds))
    }

    async fn document(
        &self,
        parts: &Parts,
        target: &Target,
        body: Body,
    ) -> Result<(Document, Option<OwnedSemaphorePermit>), Refusal> {
        let format = graph_format(&parts.headers)?;
        let base = match target {
            Target::Graph(GraphName::NamedNode(name)) => name.as_str().to_owned(),
            _ => format!("{}graphs", self.base(parts)?),
        };
        let ReceivedBody { bytes, upload } = self.receive(body, usize::MAX).await?;
        Ok((Document { bytes: bytes.into(), format, base }, upload))
    }
}

fn no_graph_named() -> Refusal {
    Refusal::bad_request("no graph is named; add ?default, or ?graph= and its IRI, or use the path /graphs/NAME")
}
