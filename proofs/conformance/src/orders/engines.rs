//! Those who sort and compare: the store, and Oxigraph's evaluation.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{Database, Snapshot, Store, StoreOptions};
use oxrdf::{Dataset, Term};
use spareval::QueryEvaluator;
use spargebra::SparqlParser;

/// Rows of a result.
pub type Rows = Vec<Vec<Option<Term>>>;

/// A store without quads, and Oxigraph's evaluation, which needs no store.
pub struct Engines {
    snapshot: Snapshot,
}

impl Engines {
    /// # Errors
    /// If the store cannot be created.
    pub fn new() -> Result<Self, String> {
        let options = Database::options().create(true).background(false).disk(Arc::new(MemoryDisk::new()));
        let store = Store::open_with(options, Path::new("orders.ful"), StoreOptions::new()).map_err(message)?;
        Ok(Self { snapshot: store.snapshot().map_err(message)? })
    }

    /// The rows that the store returns, in their order.
    ///
    /// # Errors
    /// What it refuses.
    pub fn ours(&self, text: &str) -> Result<Rows, String> {
        let results = Query::parse(text, None).and_then(|query| query.evaluate(&self.snapshot)).map_err(message)?;
        match results {
            QueryResults::Solutions(solutions) => {
                solutions.map(|row| Ok(row.map_err(message)?.values().to_vec())).collect()
            }
            _ => Err("no SELECT".to_owned()),
        }
    }

    /// The rows that Oxigraph returns.
    ///
    /// # Errors
    /// What it refuses.
    pub fn oxigraph(&self, text: &str) -> Result<Rows, String> {
        let query = SparqlParser::new().parse_query(text).map_err(message)?;
        match QueryEvaluator::new().prepare(&query).execute(&Dataset::new()).map_err(message)? {
            spareval::QueryResults::Solutions(solutions) => {
                solutions.map(|row| Ok(row.map_err(message)?.values().to_vec())).collect()
            }
            _ => Err("no SELECT".to_owned()),
        }
    }
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}
