//! [`Asked`]: what a query and an update have in common: a SPARQL text, the graphs that it sees, and what bounds it.

use fulgurite_rdf::CancellationToken;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::sparql::Limits;

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
}

impl Asked {
    /// Of the parameters that name the default graph and the named graphs.
    ///
    /// # Errors
    /// If a graph's name is no IRI.
    pub fn new(text: String, parameters: &Parameters, graphs: [&str; 2], base: String) -> Result<Self, Refusal> {
        let [default_graphs, named_graphs] = graphs.map(|name| parameters.iris(name));
        Ok(Self { text, default_graphs: default_graphs?, named_graphs: named_graphs?, base })
    }
}

/// What bounds a query or an update.
pub fn limits(served: &Served, token: CancellationToken) -> Limits {
    let mut limits = Limits::new().cancellation(token);
    if let Some(timeout) = served.options.timeout {
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
