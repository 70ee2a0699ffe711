//! Stores to ask, and answers as texts.

use tempfile::TempDir;

use crate::sparql::{Query, QueryResults, Update};
use crate::{Quads, Result, Snapshot, Store, StoreOptions};

/// Namespaces of texts.
pub(super) const PREFIXES: &str = "PREFIX : <http://a/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

/// A store, and the directory that it is in.
pub(super) struct Place {
    pub(super) store: Store,
    _directory: TempDir,
}

impl Place {
    /// A store of what `INSERT DATA` has between its braces.
    pub(super) fn new(data: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("quads.ful"), StoreOptions::new()).expect("a store");
        let update = Update::parse(&format!("{PREFIXES} INSERT DATA {{ {data} }}"), None).expect("an update");
        update.execute(&store).expect("it inserts");
        Self { store, _directory: directory }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.store.snapshot().expect("a snapshot")
    }
}

pub(super) fn query(text: &str) -> Query {
    Query::parse(&format!("{PREFIXES}{text}"), None).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The rows in their order, or the answer of an `ASK`.
pub(super) fn rows(query: &Query, quads: &impl Quads) -> Result<Vec<String>> {
    match query.evaluate(quads)? {
        QueryResults::Boolean(answer) => Ok(vec![answer.to_string()]),
        QueryResults::Solutions(solutions) => solutions
            .map(|solution| {
                let solution = solution?;
                let value = |term: &Option<oxrdf::Term>| term.as_ref().map_or("-".to_owned(), ToString::to_string);
                Ok(solution.values().iter().map(value).collect::<Vec<_>>().join(" "))
            })
            .collect(),
        QueryResults::Triples(_) => panic!("no query of these tests returns triples"),
    }
}
