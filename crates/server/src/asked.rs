//! [`Asked`]: what a query and an update have in common: a SPARQL text, the graphs that it sees, and what bounds it.

use std::time::Duration;

use fulgurite_rdf::CancellationToken;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::sparql::Limits;

use crate::options::ServerOptions;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::routes::Served;

/// A query or update as it was asked.
pub struct Asked {
    pub text: String,
    /// In place of what the text says of its default graph.
    pub default_graphs: Vec<NamedNode>,
    /// In place of what the text says of its named graphs.
    pub named_graphs: Vec<NamedNode>,
    /// What relative IRIs are resolved against.
    pub base: String,
    pub bounds: Bounds,
}

/// What bounds a request besides what bounds all of them.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The time from when its turn has come: the server's own, or less if the client asks for that.
    pub timeout: Option<Duration>,
}

impl Bounds {
    /// Of a request with these parameters.
    ///
    /// # Errors
    /// If its `timeout` is no time.
    pub fn new(options: &ServerOptions, parameters: &Parameters) -> Result<Self, Refusal> {
        let asked = parameters.seconds("timeout")?;
        let timeout = match (asked, options.timeout) {
            (Some(asked), Some(own)) => Some(asked.min(own)),
            (asked, own) => asked.or(own),
        };
        Ok(Self { timeout })
    }
}

impl Asked {
    /// Of the parameters that name the default graph and the named graphs.
    ///
    /// # Errors
    /// If a graph's name is no IRI; as [`Bounds::new`].
    pub fn new(
        text: String,
        parameters: &Parameters,
        graphs: [&str; 2],
        base: String,
        options: &ServerOptions,
    ) -> Result<Self, Refusal> {
        let bounds = Bounds::new(options, parameters)?;
        let [default_graphs, named_graphs] = graphs.map(|name| parameters.iris(name));
        Ok(Self { text, default_graphs: default_graphs?, named_graphs: named_graphs?, base, bounds })
    }
}

/// What bounds a query or an update.
pub fn limits(served: &Served, bounds: Bounds, token: CancellationToken) -> Limits {
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

/// Of queries.
pub const QUERY_GRAPHS: [&str; 2] = ["default-graph-uri", "named-graph-uri"];
/// Of updates.
pub const UPDATE_GRAPHS: [&str; 2] = ["using-graph-uri", "using-named-graph-uri"];
