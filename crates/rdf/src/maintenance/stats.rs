//! What a store holds, in numbers.

use fulgurite::Read;

use crate::error::Result;
use crate::model::id::TermId;
use crate::model::pattern::IdPattern;
use crate::quads::reading::Quads;
use crate::store::database::Store;
use crate::tables::StatementKinds;

/// Statistics of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreStats {
    /// Quads, of all graphs, explicit and inferred.
    pub quads: u64,
    /// Quads that are inferred and not explicit.
    pub inferred: u64,
    /// Terms in the dictionary: those that are no numbers by themselves.
    pub terms: u64,
    /// The default graph first, then the named graphs.
    pub graphs: Vec<GraphStats>,
    /// Tables by name, and the entries that each has in the snapshot.
    pub tables: Vec<(String, u64)>,
}

/// Statistics of one graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphStats {
    /// Its name; `None` for the default graph.
    pub name: Option<oxrdf::Term>,
    /// Its quads, explicit and inferred.
    pub quads: u64,
}

impl Store {
    /// Returns statistics of the store.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn stats(&self) -> Result<StoreStats> {
        let snapshot = self.snapshot()?;
        let mut stats = StoreStats {
            quads: snapshot.count(&IdPattern::ALL)?,
            inferred: snapshot.of_kinds(StatementKinds::Inferred).count(&IdPattern::ALL)?,
            terms: snapshot.read().len(&snapshot.all_tables().terms)?,
            ..StoreStats::default()
        };
        for table in snapshot.read().tables() {
            let entries = snapshot.read().len(&table)?;
            stats.tables.push((table.name().to_owned(), entries));
        }
        let default_graph = snapshot.count(&IdPattern::of_graph(TermId::DEFAULT_GRAPH))?;
        stats.graphs.push(GraphStats { name: None, quads: default_graph });
        for graph in snapshot.graph_names() {
            let graph = graph?;
            let quads = snapshot.count(&IdPattern::of_graph(graph))?;
            stats.graphs.push(GraphStats { name: Some(snapshot.term(graph)?), quads });
        }
        Ok(stats)
    }
}
