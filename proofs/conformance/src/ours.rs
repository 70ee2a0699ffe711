//! Our store, in memory: what is loaded goes through the bulk loader, what is asked through indexes and dictionary.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fulgurite::io::MemoryDisk;
use fulgurite_rdf::sparql::{Limits, Query, QueryResults, Update};
use fulgurite_rdf::{Database, IdPattern, LoadInput, LoadOptions, Quads, Snapshot, Store, StoreOptions, TermId};
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term};
use sparesults::QueryResultsFormat;

use crate::answer::{Answer, Table};
use crate::subject::{Input, Subject};
use crate::suites::Documents;

/// A store.
pub struct Ours {
    store: Store,
    documents: Arc<Documents>,
}

impl Subject for Ours {
    fn empty(documents: &Arc<Documents>) -> Result<Self, String> {
        // Nothing is to come from threads in the background: there is a store for each test.
        let options = Database::options().create(true).background(false).disk(Arc::new(MemoryDisk::new()));
        let store = Store::open_with(options, Path::new("w3c.ful"), StoreOptions::new()).map_err(message)?;
        Ok(Self { store, documents: Arc::clone(documents) })
    }

    fn load(&mut self, input: &Input) -> Result<(), String> {
        let source = LoadInput::reader(input.base, Cursor::new(input.bytes.to_vec()), input.format);
        let source = source.base(input.base).graph(input.graph.clone());
        let documents = Arc::clone(&self.documents);
        let options =
            LoadOptions::new().threads(1).document_loader(move |address| documents.bytes(address).map(<[u8]>::to_vec));
        self.store.load(vec![source], &options).map(drop).map_err(message)
    }

    fn quads(&self) -> Result<Vec<Quad>, String> {
        let snapshot = self.store.snapshot().map_err(message)?;
        let quads = snapshot.quads(&IdPattern::ALL);
        quads
            .map(|quad| {
                let quad = quad.map_err(message)?;
                let term = |id: TermId| snapshot.term(id).map_err(message);
                let Term::NamedNode(predicate) = term(quad.predicate)? else {
                    return Err("a predicate that is not an IRI".to_owned());
                };
                let graph_name = match quad.graph {
                    TermId::DEFAULT_GRAPH => GraphName::DefaultGraph,
                    graph => node(term(graph)?)?.into(),
                };
                Ok(Quad { subject: node(term(quad.subject)?)?, predicate, object: term(quad.object)?, graph_name })
            })
            .collect()
    }

    fn parse_query(text: &str, base: &str) -> Result<(), String> {
        Query::parse(text, Some(base)).map(drop).map_err(message)
    }

    fn parse_update(text: &str, base: &str) -> Result<(), String> {
        Update::parse(text, Some(base)).map(drop).map_err(message)
    }

    fn query(&self, text: &str, base: &str) -> Result<Answer, String> {
        match self.results(text, base)? {
            QueryResults::Boolean(answer) => Ok(Answer::Boolean(answer)),
            QueryResults::Triples(triples) => {
                let quads = triples.map(|triple| Ok(triple.map_err(message)?.in_graph(GraphName::DefaultGraph)));
                quads.collect::<Result<_, String>>().map(Answer::Graph)
            }
            QueryResults::Solutions(solutions) => {
                let variables = solutions.variables().iter().map(|name| name.as_str().to_owned()).collect();
                let rows = solutions.map(|solution| Ok(solution.map_err(message)?.values().to_vec()));
                Ok(Answer::Solutions(Table { variables, rows: rows.collect::<Result<_, String>>()? }))
            }
        }
    }

    fn query_as_text(&self, text: &str, base: &str, ending: &str) -> Result<String, String> {
        let format = QueryResultsFormat::from_extension(ending).ok_or("no such form of results")?;
        let mut bytes = Vec::new();
        match self.results(text, base)? {
            QueryResults::Boolean(answer) => {
                QueryResults::write_boolean(answer, format, &mut bytes).map_err(message)?;
            }
            QueryResults::Solutions(solutions) => {
                solutions.write(format, &mut bytes).map_err(message)?;
            }
            QueryResults::Triples(_) => return Err("a graph has no form of results".to_owned()),
        }
        String::from_utf8(bytes).map_err(message)
    }

    fn update(&mut self, text: &str, base: &str) -> Result<(), String> {
        let update = Update::parse(text, Some(base)).map_err(message)?;
        update.execute(&self.store).map(drop).map_err(message)
    }
}

impl Ours {
    fn results(&self, text: &str, base: &str) -> Result<QueryResults, String> {
        let snapshot: Snapshot = self.store.snapshot().map_err(message)?;
        let query = Query::parse(text, Some(base)).map_err(message)?;
        query.with_limits(Limits::new().timeout(TIME_MAX)).evaluate(&snapshot).map_err(message)
    }
}

/// No test takes a hundredth of it: one that hangs is to fail.
const TIME_MAX: Duration = Duration::from_secs(30);

fn node(term: Term) -> Result<NamedOrBlankNode, String> {
    match term {
        Term::NamedNode(node) => Ok(node.into()),
        Term::BlankNode(node) => Ok(node.into()),
        other => Err(format!("{other} stands where only an IRI or a blank node can")),
    }
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}
