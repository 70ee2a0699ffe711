//! Stores to ask, and answers as text.

use fulgurite_rdf::oxrdf::{Quad, Term};
use fulgurite_rdf::sparql::{Query, QueryResults, Update, UpdateReport};
use fulgurite_rdf::{Error, Quads, RdfFormat, Snapshot, Store, StoreOptions, oxrdfio};
use tempfile::TempDir;

/// Namespaces that texts of these tests need not declare.
pub(crate) fn prefixes() -> Vec<(String, String)> {
    [
        ("", "http://example.org/"),
        ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
        ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
        ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ]
    .map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned()))
    .to_vec()
}

/// A store, and the directory that it is in.
pub(crate) struct Fixture {
    pub store: Store,
    pub directory: TempDir,
}

/// People: their names, ages and acquaintances.
pub(crate) const PEOPLE: &str = r#"
:ann :knows :bob, :cid ; :age 30 ; :name "Ann", "Anne"@fr ; rdf:type :Person .
:bob :knows :cid ; :age 25 ; :name "Bob" ; rdf:type :Person .
:cid :knows :dan ; :age 41 ; :name "Cid" ; rdf:type :Person, :Admin .
:dan :age 7 ; rdf:type :Person .
"#;

impl Fixture {
    /// A store of what a TriG text says.
    pub(crate) fn new(trig: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("quads.ful"), StoreOptions::new()).expect("a store");
        let fixture = Self { store, directory };
        fixture.add(&parse(trig));
        fixture
    }

    pub(crate) fn people() -> Self {
        Self::new(PEOPLE)
    }

    pub(crate) fn add(&self, quads: &[Quad]) {
        let mut transaction = self.store.begin().expect("a transaction");
        for quad in quads {
            transaction.insert(quad).expect("inserted");
        }
        transaction.commit().expect("committed");
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.store.snapshot().expect("a snapshot")
    }

    /// The solutions, each as `a=… b=…` with unbound variables left out, sorted.
    pub(crate) fn rows(&self, text: &str) -> Vec<String> {
        let mut rows = self.rows_in_order(text);
        rows.sort();
        rows
    }

    /// As [`Fixture::rows`], in the order in which they come.
    pub(crate) fn rows_in_order(&self, text: &str) -> Vec<String> {
        rows_of(&query(text), &self.snapshot()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    pub(crate) fn ask(&self, text: &str) -> bool {
        match query(text).evaluate(&self.snapshot()).unwrap_or_else(|error| panic!("{text}: {error}")) {
            QueryResults::Boolean(answer) => answer,
            other => panic!("{text}: {other:?}"),
        }
    }

    /// The triples of a `CONSTRUCT` or `DESCRIBE`, with the default namespace left out, sorted.
    pub(crate) fn triples(&self, text: &str) -> Vec<String> {
        let triples = match query(text).evaluate(&self.snapshot()).unwrap_or_else(|error| panic!("{text}: {error}")) {
            QueryResults::Triples(triples) => triples,
            other => panic!("{text}: {other:?}"),
        };
        let mut triples: Vec<String> =
            triples.map(|triple| shortened(&triple.expect("a triple").to_string())).collect();
        triples.sort();
        triples
    }

    pub(crate) fn update(&self, text: &str) -> UpdateReport {
        self.try_update(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    pub(crate) fn try_update(&self, text: &str) -> Result<UpdateReport, Error> {
        update(text).execute(&self.store)
    }

    /// All quads, sorted; the graph stands last.
    pub(crate) fn quads(&self) -> Vec<String> {
        let mut quads = self.rows("SELECT ?s ?p ?o { ?s ?p ?o }");
        quads.extend(self.rows("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }"));
        quads
    }
}

pub(crate) fn parse(trig: &str) -> Vec<Quad> {
    let prologue: String = prefixes().iter().map(|(prefix, iri)| format!("PREFIX {prefix}: <{iri}>\n")).collect();
    let text = format!("{prologue}{trig}");
    oxrdfio::RdfParser::from_format(RdfFormat::TriG)
        .for_slice(text.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{trig}: {error}"))
}

pub(crate) fn query(text: &str) -> Query {
    Query::parse_with_prefixes(text, None, &prefixes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn update(text: &str) -> Update {
    Update::parse_with_prefixes(text, None, &prefixes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn rows_of(query: &Query, quads: &impl Quads) -> Result<Vec<String>, Error> {
    let QueryResults::Solutions(solutions) = query.evaluate(quads)? else { panic!("no solutions") };
    solutions
        .map(|solution| {
            let solution = solution?;
            let values = solution.iter().map(|(variable, term)| format!("{}={}", variable.as_str(), short(term)));
            Ok(values.collect::<Vec<_>>().join(" "))
        })
        .collect()
}

/// `<http://example.org/a>` as `a`, and numbers without their datatype.
pub(crate) fn short(term: &Term) -> String {
    shortened(&term.to_string())
}

fn shortened(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("<http://example.org/") {
        out.push_str(&rest[..at]);
        rest = &rest[at + "<http://example.org/".len()..];
        let (name, after) = rest.split_once('>').expect("an IRI ends");
        out.push_str(name);
        rest = after;
    }
    out.push_str(rest);
    for datatype in ["integer", "decimal", "double", "boolean"] {
        out = out.replace(&format!("\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>"), "\"");
    }
    out
}
