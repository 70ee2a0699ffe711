//! A panic within an evaluation is an error to the caller.

use fulgurite_rdf::oxrdf::{Term, TermRef};
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{Error, GraphNames, IdPattern, IdQuad, Position, QuadIds, Quads, Result, Snapshot, TermId};

use crate::fixture::{Fixture, query, rows_of};

/// A snapshot that panics at a chosen call.
#[derive(Clone)]
struct Panicking {
    snapshot: Snapshot,
    place: &'static str,
}

impl Panicking {
    fn at(&self, place: &str) {
        assert!(self.place != place, "planted in {place}");
    }
}

impl Quads for Panicking {
    fn quads(&self, pattern: &IdPattern) -> QuadIds {
        self.at("quads");
        self.snapshot.quads(pattern)
    }

    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds> {
        self.snapshot.quads_sorted_by(pattern, position)
    }

    fn count(&self, pattern: &IdPattern) -> Result<u64> {
        self.at("count");
        self.snapshot.count(pattern)
    }

    fn counts_fast(&self, pattern: &IdPattern) -> bool {
        self.snapshot.counts_fast(pattern)
    }

    fn term(&self, id: TermId) -> Result<Term> {
        self.at("term");
        self.snapshot.term(id)
    }

    fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        self.at("id");
        self.snapshot.id(term)
    }

    fn contains(&self, quad: &IdQuad) -> Result<bool> {
        self.snapshot.contains(quad)
    }

    fn graph_names(&self) -> GraphNames {
        self.snapshot.graph_names()
    }

    fn contains_graph(&self, graph: TermId) -> Result<bool> {
        self.snapshot.contains_graph(graph)
    }

    fn namespaces(&self) -> Result<Vec<(String, String)>> {
        self.snapshot.namespaces()
    }
}

/// The error that ends a query, and after which it has no more rows.
fn end_of(query: &Query, quads: &Panicking) -> Option<Error> {
    match query.evaluate(quads) {
        Err(error) => Some(error),
        Ok(QueryResults::Solutions(mut solutions)) => {
            let error = solutions.find_map(Result::err);
            assert!(solutions.next().is_none());
            error
        }
        Ok(QueryResults::Triples(mut triples)) => {
            let error = triples.find_map(Result::err);
            assert!(triples.next().is_none());
            error
        }
        Ok(QueryResults::Boolean(_)) => None,
    }
}

#[test]
fn a_panic_of_an_evaluation_is_an_error_and_the_store_goes_on() {
    let fixture = Fixture::people();
    let texts = [
        "SELECT ?n { ?p :name ?n ; rdf:type :Person }",
        "SELECT ?n { ?p :name ?n ; rdf:type :Person } ORDER BY ?n",
        "SELECT (MAX(?n) AS ?m) { ?p :name ?n ; rdf:type :Person FILTER(STRLEN(?n) > 0) }",
        "CONSTRUCT { ?p :called ?n } { ?p :name ?n ; rdf:type :Person }",
        "ASK { ?p :name ?n ; rdf:type :Person FILTER(STR(?p) = \"x\") }",
    ];
    for text in texts {
        let deep =
            format!("SELECT * {{ ?a ?b ?c {} }}", "OPTIONAL { ?p :name ?n . FILTER(STR(?p) != STR(?n)) ".repeat(70))
                + &"}".repeat(70);
        let queries = [query(text), query(&deep)];
        for place in ["quads", "term", "count", "id"] {
            let quads = Panicking { snapshot: fixture.snapshot(), place };
            for (query, is_deep) in queries.iter().zip([false, true]) {
                // What is counted and looked up is known without that for some.
                let Some(error) = end_of(query, &quads) else {
                    assert!(place != "quads", "{text}: no error of {place}, deep: {is_deep}");
                    continue;
                };
                let Error::Internal { message } = &error else { panic!("{text}: {error}") };
                assert!(message.contains(&format!("planted in {place}")), "{message}");
            }
        }
        let whole = Panicking { snapshot: fixture.snapshot(), place: "nowhere" };
        assert!(end_of(&queries[0], &whole).is_none(), "{text}");
    }
    assert_eq!(rows_of(&query("SELECT ?n { :bob :name ?n }"), &fixture.snapshot()).expect("rows"), ["n=\"Bob\""]);
}
