//! [`SparqlRequest`]: what queries and updates have in common: a SPARQL text, its graphs, and its limits.

use std::time::Duration;

use fulgurite_rdf::CancellationToken;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::sparql::Limits;

use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::options::ServerOptions;
use crate::protocol::service::ServedStore;

/// A query or update as it was request.
pub struct SparqlRequest {
    pub text: String,
    /// Replaces the default graph of the text.
    pub default_graphs: Vec<NamedNode>,
    /// Replaces the named graphs of the text.
    pub named_graphs: Vec<NamedNode>,
    /// What relative IRIs are resolved against.
    pub base: String,
    pub bounds: RequestLimits,
}

/// The limits of one request. Those of all requests are in the options.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// The time from the start of the evaluation: that of the options, or less if the client wants less.
    pub timeout: Option<Duration>,
}

impl RequestLimits {
    /// The limits of a request with these parameters.
    ///
    /// # Errors
    /// If `timeout` is not a number of seconds.
    pub fn new(options: &ServerOptions, parameters: &Parameters) -> Result<Self, Refusal> {
        let requested = parameters.seconds("timeout")?;
        let timeout = match (requested, options.timeout) {
            (Some(request), Some(own)) => Some(request.min(own)),
            (request, own) => request.or(own),
        };
        Ok(Self { timeout })
    }
}

impl SparqlRequest {
    /// `graphs` are the names of the parameters for the default graph and the named graphs.
    ///
    /// # Errors
    /// If a graph name is not an IRI; as [`RequestLimits::new`].
    pub fn new(
        text: String,
        parameters: &Parameters,
        graphs: [&str; 2],
        base: String,
        options: &ServerOptions,
    ) -> Result<Self, Refusal> {
        let bounds = RequestLimits::new(options, parameters)?;
        let [default_graphs, named_graphs] = graphs.map(|name| parameters.iris(name));
        Ok(Self { text, default_graphs: default_graphs?, named_graphs: named_graphs?, base, bounds })
    }
}

/// The limits of a query or an update.
pub fn limits(served: &ServedStore, bounds: RequestLimits, token: CancellationToken) -> Limits {
    let mut limits = Limits::new().cancellation(token);
    if let Some(timeout) = bounds.timeout {
        limits = limits.timeout(timeout);
    }
    if let Some(bytes) = served.options.memory_bytes_max {
        limits = limits.memory_bytes_max(bytes);
    }
    if let Some(bytes) = served.options.computed_bytes_max {
        limits = limits.computed_bytes_max(bytes);
    }
    limits
}

/// The parameters of a query for its graphs.
pub const QUERY_GRAPHS: [&str; 2] = ["default-graph-uri", "named-graph-uri"];
/// The parameters of an update for its graphs.
pub const UPDATE_GRAPHS: [&str; 2] = ["using-graph-uri", "using-named-graph-uri"];

/// The longest query, in bytes.
pub const QUERY_BYTES_MAX: usize = 1 << 20;
