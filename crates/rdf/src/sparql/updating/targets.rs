//! [`DefaultTargets`]: the graphs that an update changes where its text names no graph.

use oxrdf::GraphName;

/// The graphs that insertions and deletions without a graph change.
///
/// The default is that of SPARQL: the store's default graph. RDF4J deletes from all graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultTargets {
    /// The graph of insertions. Default: the store's default graph.
    pub insert: GraphName,
    /// The graphs of deletions.
    pub delete: DeletedFrom,
}

/// The graphs that deletions without a graph change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeletedFrom {
    /// The store's default graph.
    #[default]
    DefaultGraph,
    /// All graphs, the store's default graph included.
    AllGraphs,
    /// These graphs.
    Graphs(Vec<GraphName>),
}
