//! The paths that are served, but for those of the page: which guard, and which handler, goes with them.

/// Queries and updates: the protocol's own path, and what clients of Oxigraph and Fuseki ask for.
pub const SPARQL: [&str; 3] = ["/sparql", "/query", "/update"];

/// The graph store.
pub const GRAPHS: &str = "/graphs";

/// The graph store as Oxigraph has it, where no graph means all of them.
pub const STORE: &str = "/store";

/// The prefixes.
pub const NAMESPACES: &str = "/namespaces";

/// Before the paths of RDF4J's protocol: nothing, and what RDF4J's own server has.
pub const RDF4J_ROOTS: [&str; 2] = ["", "/rdf4j-server"];

/// Whether a path is of the store, and not of the page.
pub fn is_of_store(path: &str) -> bool {
    SPARQL.contains(&path)
        || [GRAPHS, STORE, NAMESPACES].contains(&path)
        || names_a_graph(path)
        || RDF4J_ROOTS.iter().filter_map(|root| path.strip_prefix(root)).any(is_of_rdf4j)
}

fn is_of_rdf4j(path: &str) -> bool {
    ["/protocol", "/repositories"].contains(&path) || path.starts_with("/repositories/")
}

/// Whether a path is the name of a graph.
pub fn names_a_graph(path: &str) -> bool {
    [GRAPHS, STORE].into_iter().any(|store| path.strip_prefix(store).is_some_and(|rest| rest.starts_with('/')))
        || path.split_once("/rdf-graphs/").is_some_and(|(_, name)| name != "service")
}
