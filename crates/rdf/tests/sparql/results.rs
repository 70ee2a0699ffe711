//! Writing results, and errors of the store in the middle of them.

use std::io::{self, Write};

use fulgurite_rdf::oxrdf::{Term, TermRef};
use fulgurite_rdf::sparesults::QueryResultsFormat;
use fulgurite_rdf::sparql::{QueryForm, QueryResults};
use fulgurite_rdf::{
    Error, GraphNames, IdPattern, IdQuad, Position, QuadIds, Quads, RdfFormat, Result, Snapshot, TermId,
};

use crate::fixture::{Fixture, query, rows_of};

fn written(fixture: &Fixture, text: &str, format: QueryResultsFormat) -> String {
    let mut bytes = Vec::new();
    let results = query(text).evaluate(&fixture.snapshot()).expect("begun");
    results.write(format, RdfFormat::NTriples, &mut bytes).expect("written");
    String::from_utf8(bytes).expect("UTF-8")
}

const ROW: &str = "SELECT ?p ?n ?x { ?p :name ?n FILTER(LANG(?n) = \"fr\") }";

#[test]
fn solutions_are_written_as_csv_and_tsv() {
    let people = Fixture::people();
    assert_eq!(written(&people, ROW, QueryResultsFormat::Csv), "p,n,x\r\nhttp://example.org/ann,Anne,\r\n");
    assert_eq!(written(&people, ROW, QueryResultsFormat::Tsv), "?p\t?n\t?x\n<http://example.org/ann>\t\"Anne\"@fr\t\n");
}

#[test]
fn solutions_are_written_as_json_and_xml() {
    let people = Fixture::people();
    let json = written(&people, ROW, QueryResultsFormat::Json);
    assert!(json.contains(r#""vars":["p","n","x"]"#), "{json}");
    assert!(json.contains(r#""n":{"type":"literal","value":"Anne","xml:lang":"fr"}"#), "{json}");
    let xml = written(&people, ROW, QueryResultsFormat::Xml);
    assert!(xml.contains("<literal xml:lang=\"fr\">Anne</literal>"), "{xml}");
    assert!(xml.contains("<uri>http://example.org/ann</uri>"), "{xml}");
}

#[test]
fn an_answer_is_written_as_json_and_xml() {
    let people = Fixture::people();
    assert!(written(&people, "ASK { :dan :age 7 }", QueryResultsFormat::Json).contains("\"boolean\":true"));
    assert!(written(&people, "ASK { :dan :age 8 }", QueryResultsFormat::Xml).contains("<boolean>false</boolean>"));
}

#[test]
fn graphs_are_written_in_every_form_of_rdf() {
    let people = Fixture::people();
    let asked = query("CONSTRUCT { ?p :age ?a } { ?p :age ?a }");
    for format in [
        RdfFormat::NTriples,
        RdfFormat::NQuads,
        RdfFormat::Turtle,
        RdfFormat::TriG,
        RdfFormat::RdfXml,
        RdfFormat::JsonLd { profile: Default::default() },
    ] {
        let QueryResults::Triples(triples) = asked.evaluate(&people.snapshot()).expect("begun") else {
            panic!("no triples");
        };
        let mut bytes = Vec::new();
        let rows = triples.write(format, &crate::fixture::prefixes(), &mut bytes).expect("written");
        assert_eq!(rows, 4);
        let parsed = fulgurite_rdf::oxrdfio::RdfParser::from_format(format).for_slice(&bytes);
        assert_eq!(parsed.filter(Result::is_ok).count(), 4, "{format}: {}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn solutions_know_their_variables_before_the_first_row() {
    let people = Fixture::people();
    let QueryResults::Solutions(rows) =
        query("SELECT ?b ?a { ?a :never ?b }").evaluate(&people.snapshot()).expect("begun")
    else {
        panic!("no solutions");
    };
    let names: Vec<&str> = rows.variables().iter().map(|variable| variable.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn a_query_knows_its_form() {
    assert_eq!(query("ASK {}").form(), QueryForm::Ask);
    assert_eq!(query("SELECT * {}").form(), QueryForm::Select);
    assert_eq!(query("DESCRIBE :a").form(), QueryForm::Describe);
    assert_eq!(query("CONSTRUCT WHERE { ?s ?p ?o }").form(), QueryForm::Construct);
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_writer_is_told_from_one_of_the_query() {
    let people = Fixture::people();
    let results = query(ROW).evaluate(&people.snapshot()).expect("begun");
    let error = results.write(QueryResultsFormat::Json, RdfFormat::NTriples, Full).expect_err("full");
    assert!(matches!(error, Error::Output { .. }), "{error}");
}

/// A snapshot whose dictionary is damaged.
#[derive(Clone)]
struct Damaged(Snapshot);

impl Quads for Damaged {
    fn quads(&self, pattern: &IdPattern) -> QuadIds {
        self.0.quads(pattern)
    }

    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds> {
        self.0.quads_sorted_by(pattern, position)
    }

    fn count(&self, pattern: &IdPattern) -> Result<u64> {
        self.0.count(pattern)
    }

    fn counts_fast(&self, pattern: &IdPattern) -> bool {
        self.0.counts_fast(pattern)
    }

    fn term(&self, _: TermId) -> Result<Term> {
        Err(Error::Damaged { path: "here".into(), place: "a term".to_owned(), offence: "it is gone".to_owned() })
    }

    fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        self.0.id(term)
    }

    fn contains(&self, quad: &IdQuad) -> Result<bool> {
        self.0.contains(quad)
    }

    fn graph_names(&self) -> GraphNames {
        self.0.graph_names()
    }

    fn contains_graph(&self, graph: TermId) -> Result<bool> {
        self.0.contains_graph(graph)
    }

    fn namespaces(&self) -> Result<Vec<(String, String)>> {
        self.0.namespaces()
    }
}

#[test]
fn damage_reaches_who_asks_wherever_the_evaluation_meets_it() {
    let fixture =
        Fixture::new(":a :p \"a text that is too long to be a number\" . :b :q \"another text, as long as that\" .");
    let damaged = Damaged(fixture.snapshot());
    for text in [
        "SELECT * { ?s :p ?o }",
        // The evaluator takes errors in expressions for false, and in sorting for unbound.
        "SELECT (1 AS ?x) { ?s :p ?o FILTER(STRLEN(?o) > 100) }",
        "SELECT (COUNT(*) AS ?n) { ?s :p ?o FILTER(CONTAINS(?o, \"z\")) }",
        "SELECT (1 AS ?x) { ?s :p ?o } ORDER BY STRLEN(?o)",
        "SELECT (MAX(?o) AS ?x) { ?s :p ?o }",
        // On ids, terms are read where an aggregate compares them.
        "SELECT (MIN(?o) AS ?x) { ?s ?p ?o }",
        "SELECT (1 AS ?x) { ?s :q ?t OPTIONAL { ?s :q ?o FILTER(STRLEN(?t) > 100) } }",
        "SELECT (1 AS ?x) { ?s :q ?t MINUS { ?s :q ?t FILTER(STRLEN(?t) > 100) } }",
        "SELECT (1 AS ?x) { ?s :q ?t FILTER NOT EXISTS { ?s :q ?u FILTER(STRLEN(?u) > 100) } }",
    ] {
        let error = rows_of(&query(text), &damaged).expect_err(text);
        assert!(matches!(error, Error::Damaged { .. }), "{text}: {error}");
    }
    let error = query("ASK { ?s :p ?o FILTER(STRLEN(?o) > 100) }").evaluate(&damaged).expect_err("damaged");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn values_that_are_in_their_numbers_need_no_dictionary() {
    let fixture = Fixture::new(":a :v 1 . :b :v 2 . :c :v \"x\" . :d :v true .");
    let damaged = Damaged(fixture.snapshot());
    let counted = query("SELECT (COUNT(*) AS ?n) { ?s :v ?v FILTER(?v > 1 || ?v = \"x\" || ?v = true) }");
    let rows = rows_of(&counted, &damaged).expect("neither the filter nor the count reads the dictionary");
    assert_eq!(rows, ["n=\"3\""]);
    assert!(query("ASK { ?s :v ?v FILTER(?v > 1) }").evaluate(&damaged).is_ok());
}
