//! The cases of the W3C's test suite of the SPARQL 1.1 Protocol, by their names in its manifest.

use crate::client::{Asked, encoded, form, get, post, query, update};
use crate::fixture::Fixture;

/// What the suite expects of the last request of a case; all before it must succeed.
enum Expected {
    /// A status from 400 to 499.
    Refused,
    /// A status from 200 to 299.
    Done,
    /// And the answer is `true`.
    Yes,
    /// And it is in one of these forms.
    In(&'static [&'static str]),
    /// And it has so many solutions.
    Solutions(usize),
}
use Expected::{Done, In, Refused, Solutions, Yes};

const DIRECT: &str = "application/sparql-query";
const FORM: &str = "application/x-www-form-urlencoded";
const UPDATE: &str = "application/sparql-update";
const RESULTS: &[&str] =
    &["application/sparql-results+xml", "application/sparql-results+json", "text/csv", "text/tab-separated-values"];
const GRAPHS: &[&str] = &["application/rdf+xml", "text/turtle", "application/n-triples", "application/xhtml+xml"];

/// The graph that the suite calls `data<n>.rdf`.
fn data(number: usize) -> String {
    format!("http://kasei.us/2009/09/sparql/data/data{number}.rdf")
}

/// `name=IRI` of such graphs, joined as parameters.
fn parameters(pairs: &[(&str, usize)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, number)| format!("{name}={}", encoded(&data(*number)))).collect();
    pairs.join("&")
}

fn with_graphs(graphs: &[(&str, usize)], content_type: &str, text: &str) -> Asked {
    post(&format!("/sparql?{}", parameters(graphs)), content_type, text)
}

fn ask_of_documents(numbers: &[usize]) -> String {
    let patterns: Vec<String> =
        numbers.iter().map(|&number| format!("<{}> ?p{number} ?o{number}", data(number))).collect();
    format!("ASK {{ {} }}", patterns.join(" . "))
}

fn queries() -> Vec<(&'static str, Vec<Asked>, Expected)> {
    let (default, named) = ("default-graph-uri", "named-graph-uri");
    let two_named = "ASK { GRAPH ?g { ?s ?p ?o } FILTER(?g IN (<http://kasei.us/2009/09/sparql/data/data1.rdf>)) }";
    let full = "SELECT ?g ?x ?s { ?x ?y ?o  GRAPH ?g { ?s ?p ?o } }";
    let both = ask_of_documents(&[1, 2]);
    let from = format!("ASK FROM <{}> {{ <{}> ?p ?o }}", data(1), data(2));
    let get_with =
        |graphs: &[(&str, usize)], text: &str| get(&format!("/sparql?query={}&{}", encoded(text), parameters(graphs)));
    vec![
        ("query_post_form", vec![form("query", "ASK {}")], Yes),
        ("query_dataset_default_graphs_get", vec![get_with(&[(default, 1), (default, 2)], &both)], Yes),
        ("query_dataset_default_graphs_post", vec![with_graphs(&[(default, 1), (default, 2)], DIRECT, &both)], Yes),
        ("query_dataset_named_graphs_post", vec![with_graphs(&[(named, 1), (named, 2)], DIRECT, two_named)], Yes),
        ("query_dataset_named_graphs_get", vec![get_with(&[(named, 1), (named, 2)], two_named)], Yes),
        ("query_dataset_full", vec![with_graphs(&[(default, 3), (named, 1), (named, 2)], DIRECT, full)], Solutions(2)),
        ("query_multiple_dataset", vec![with_graphs(&[(default, 2)], DIRECT, &from)], Yes),
        ("query_get", vec![query("ASK {}")], Yes),
        ("query_content_type_select", vec![post("/sparql", DIRECT, "SELECT (1 AS ?value) {}")], In(RESULTS)),
        ("query_content_type_ask", vec![post("/sparql", DIRECT, "ASK {}")], In(&RESULTS[..2])),
        ("query_content_type_describe", vec![post("/sparql", DIRECT, "DESCRIBE <http://example.org/>")], In(GRAPHS)),
        ("query_content_type_construct", vec![post("/sparql", DIRECT, "CONSTRUCT { <s> <p> 1 } WHERE {}")], In(GRAPHS)),
        ("query_post_direct", vec![post("/sparql", DIRECT, "ASK {}")], Yes),
        ("bad_query_method", vec![Asked::new("PUT", "/sparql?query=ASK%20%7B%7D")], Refused),
        ("bad_multiple_queries", vec![get("/sparql?query=ASK%20%7B%7D&query=SELECT%20%2A%20%7B%7D")], Refused),
        ("bad_query_wrong_media_type", vec![post("/sparql", "text/plain", "ASK {}")], Refused),
        ("bad_query_missing_form_type", vec![Asked::new("POST", "/sparql").body("query=ASK%20%7B%7D")], Refused),
        ("bad_query_missing_direct_type", vec![Asked::new("POST", "/sparql").body("ASK {}")], Refused),
        (
            "bad_query_non_utf8",
            vec![post("/sparql", "application/sparql-query; charset=UTF-16", utf16("ASK {}"))],
            Refused,
        ),
        ("bad_query_syntax", vec![get("/sparql?query=ASK%20%7B")], Refused),
    ]
}

/// An update that makes new triples of all documents that its `WHERE` sees, with the graphs that the protocol gives.
fn update_seeing(graphs: &[(&str, usize)], pattern: &str) -> Asked {
    let documents: Vec<String> = (1..=3).map(|n| format!("GRAPH <{0}> {{ <{0}> a foaf:Document }}", data(n))).collect();
    let text = format!(
        "PREFIX dc: <http://purl.org/dc/terms/> PREFIX foaf: <http://xmlns.com/foaf/0.1/>
         CLEAR ALL ; INSERT DATA {{ {} }} ;
         INSERT {{ GRAPH <http://example.org/protocol-update-dataset-test/> {{ ?s a dc:BibliographicResource }} }}
         WHERE {{ {pattern} }}",
        documents.join(" ")
    );
    with_graphs(graphs, UPDATE, &text)
}

/// Whether of the documents 1 to 3 exactly these have become resources.
fn only(numbers: &[usize]) -> Asked {
    let is = |number: usize| {
        let there = if numbers.contains(&number) { "" } else { "NOT " };
        format!("FILTER {there}EXISTS {{ <{}> a <http://purl.org/dc/terms/BibliographicResource> }}", data(number))
    };
    let filters: String = (1..=3).map(is).collect();
    query(&format!("ASK {{ GRAPH <http://example.org/protocol-update-dataset-test/> {{ {filters} }} }}"))
}

fn updates() -> Vec<(&'static str, Vec<Asked>, Expected)> {
    let (using, named) = ("using-graph-uri", "using-named-graph-uri");
    let (plain, in_graph) = ("?s a foaf:Document", "GRAPH ?g { ?s a foaf:Document }");
    let either = format!("{{ {plain} }} UNION {{ {in_graph} }}");
    let conflict = "using-named-graph-uri=http%3A%2F%2Fexample%2Fpeople&update=".to_owned()
        + &encoded(
            "PREFIX foaf: <http://xmlns.com/foaf/0.1/> WITH <http://example/addresses>
             DELETE { ?person foaf:givenName 'Bill' } INSERT { ?person foaf:givenName 'William' }
             WHERE { ?person foaf:givenName 'Bill' }",
        );
    let relative = "CLEAR SILENT GRAPH <http://example.org/protocol-base-test/> ;
                    INSERT DATA { GRAPH <http://example.org/protocol-base-test/> { <http://a/s> <http://a/p> <test> } }";
    let resolved = "ASK { GRAPH <http://example.org/protocol-base-test/> { <http://a/s> <http://a/p> ?o }
                    FILTER(isIRI(?o) && STRENDS(STR(?o), '/test') && STRSTARTS(STR(?o), 'http://')) }";
    vec![
        ("update_dataset_default_graph", vec![update_seeing(&[(using, 1)], plain), only(&[1])], Yes),
        ("update_dataset_default_graphs", vec![update_seeing(&[(using, 1), (using, 2)], plain), only(&[1, 2])], Yes),
        ("update_dataset_named_graphs", vec![update_seeing(&[(named, 1), (named, 2)], in_graph), only(&[1, 2])], Yes),
        ("update_dataset_full", vec![update_seeing(&[(using, 1), (named, 2)], &either), only(&[1, 2])], Yes),
        ("update_post_form", vec![form("update", "CLEAR ALL")], Done),
        ("update_post_direct", vec![update("CLEAR ALL")], Done),
        ("update_base_uri", vec![update(relative), query(resolved)], Yes),
        ("bad_update_get", vec![get("/sparql?update=CLEAR%20ALL")], Refused),
        ("bad_multiple_updates", vec![post("/sparql", FORM, "update=CLEAR%20NAMED&update=CLEAR%20DEFAULT")], Refused),
        ("bad_update_wrong_media_type", vec![post("/sparql", "text/plain", "CLEAR NAMED")], Refused),
        ("bad_update_missing_form_type", vec![Asked::new("POST", "/sparql").body("update=CLEAR%20NAMED")], Refused),
        ("bad_update_missing_direct_type", vec![Asked::new("POST", "/sparql").body("CLEAR NAMED")], Refused),
        (
            "bad_update_non_utf8",
            vec![post("/sparql", "application/sparql-update; charset=UTF-16", utf16("CLEAR NAMED"))],
            Refused,
        ),
        ("bad_update_syntax", vec![post("/sparql", FORM, "update=CLEAR%20XYZ")], Refused),
        ("bad_update_dataset_conflict", vec![post("/sparql", FORM, conflict)], Refused),
    ]
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

#[test]
fn every_case_of_the_protocol_suite_ends_as_it_says() {
    let cases: Vec<_> = queries().into_iter().chain(updates()).collect();
    assert_eq!(cases.len(), 35, "the 34 cases of the manifest, and bad_update_missing_direct_type, which came later");
    for (name, requests, expected) in cases {
        let fixture = Fixture::writable();
        let insert: String = (0..=3)
            .map(|n| format!("GRAPH <{0}> {{ <{0}> a <http://xmlns.com/foaf/0.1/Document> }} ", data(n)))
            .collect();
        fixture.change(&format!("INSERT DATA {{ {insert} }}"));
        let (last, before) = requests.split_last().expect("a case has a request");
        for request in before {
            let answer = request.ask(fixture.address);
            assert!((200..300).contains(&answer.status), "{name}: {answer:?}");
        }
        let answer = last.ask(fixture.address);
        let is_done = (200..300).contains(&answer.status) && answer.is_whole;
        let is_as_expected = match expected {
            Refused => (400..500).contains(&answer.status) && !answer.body.is_empty(),
            Done => is_done,
            Yes => is_done && answer.body.contains("\"boolean\":true"),
            In(forms) => is_done && forms.contains(&answer.media_type()),
            Solutions(count) => is_done && answer.body.matches("\"g\":{").count() == count,
        };
        assert!(is_as_expected, "{name}: {answer:?}");
        // What was refused has changed nothing.
        if matches!(expected, Refused) {
            let untouched = query(&format!("ASK {{ GRAPH <{}> {{ ?s ?p ?o }} }}", data(0))).ask(fixture.address);
            assert!(untouched.body.contains("\"boolean\":true"), "{name}: {untouched:?}");
        }
    }
}
