//! Content negotiation, and the description of the endpoint.

use crate::client::{get, post, query};
use crate::fixture::Fixture;
use fulgurite_server::ServerOptions;

#[test]
fn solutions_and_answers_come_in_the_form_that_is_asked_for() {
    let fixture = Fixture::with_quads(ServerOptions::new());
    for (accept, media_type, begins) in [
        ("application/sparql-results+json", "application/sparql-results+json", "{\"head\""),
        ("application/json", "application/sparql-results+json", "{\"head\""),
        ("application/sparql-results+xml", "application/sparql-results+xml", "<?xml"),
        ("text/csv", "text/csv", "o\r\n"),
        ("text/tab-separated-values", "text/tab-separated-values", "?o\n"),
        ("text/csv;q=0.1, text/tab-separated-values;q=0.2", "text/tab-separated-values", "?o\n"),
        ("*/*", "application/sparql-results+json", "{\"head\""),
        ("text/*", "text/csv", "o\r\n"),
        ("application/sparql-results+json;q=0, */*;q=0.1", "application/sparql-results+xml", "<?xml"),
    ] {
        let asked = query("SELECT ?o { ?s ?p ?o } ORDER BY ?o LIMIT 3").accept(accept);
        let answer = asked.ask(fixture.address).expect(200);
        assert_eq!(answer.media_type(), media_type, "{accept}");
        assert!(answer.body.starts_with(begins), "{accept}: {answer:?}");
        assert_eq!(answer.header("vary"), Some("accept"));
        let answer = query("ASK { ?s ?p 7 }").accept(accept).ask(fixture.address).expect(200);
        assert!(answer.body.contains("true"), "{accept}: {answer:?}");
    }
}

#[test]
fn triples_come_in_the_form_that_is_asked_for() {
    let fixture = Fixture::with_quads(ServerOptions::new());
    let text = "CONSTRUCT { ?s <http://a/q> ?o } { ?s ?p ?o } ORDER BY ?o LIMIT 3";
    for media_type in [
        "text/turtle",
        "application/n-triples",
        "application/rdf+xml",
        "application/ld+json",
        "application/trig",
        "application/n-quads",
    ] {
        let answer = query(text).accept(media_type).ask(fixture.address).expect(200);
        assert_eq!(answer.media_type(), media_type);
        assert!(answer.body.contains("http://a/s2") || answer.body.contains("s2"), "{answer:?}");
    }
    assert_eq!(query(text).ask(fixture.address).expect(200).media_type(), "text/turtle");
}

#[test]
fn a_form_that_there_is_not_is_refused_with_a_list_of_those_that_there_are() {
    let fixture = Fixture::with_quads(ServerOptions::new());
    let refused = query("ASK {}").accept("image/png").ask(fixture.address).expect(406);
    assert!(refused.body.contains("application/sparql-results+json") && refused.body.contains("text/csv"));
    let refused = query("CONSTRUCT WHERE { ?s ?p ?o }").accept("text/csv").ask(fixture.address).expect(406);
    assert!(refused.body.contains("text/turtle") && !refused.body.contains("text/csv"));
}

#[test]
fn a_long_answer_is_the_same_as_what_the_store_says() {
    let fixture = Fixture::with_quads(ServerOptions::new());
    let text = "SELECT ?a ?b { ?x <http://a/p> ?a . ?y <http://a/p> ?b } LIMIT 300000";
    let answer = post("/sparql", "application/sparql-query", text).accept("text/csv").ask(fixture.address).expect(200);
    assert!(answer.is_whole && answer.header("content-length").is_none());
    assert_eq!(answer.body.lines().count(), 300_001);
}

#[test]
fn a_syntax_error_is_told_with_line_and_column() {
    let fixture = Fixture::with(ServerOptions::new());
    let refused = query("SELECT * {\n ?s ?p }").ask(fixture.address).expect(400);
    assert_eq!(refused.media_type(), "text/plain");
    assert!(refused.body.contains("line 2, column 8, at `}`: expected an object"), "{refused:?}");
    let marked = post("/sparql", "application/sparql-query", "\u{FEFF}ASK {}").ask(fixture.address).expect(200);
    assert!(marked.body.contains("true"), "{marked:?}");
}

#[test]
fn the_endpoint_describes_itself_when_it_is_asked_nothing() {
    let fixture = Fixture::with_quads(ServerOptions::new());
    let endpoint = format!("http://{}/sparql", fixture.address);
    let described = get("/sparql").accept("application/n-triples").ask(fixture.address).expect(200);
    let sd = "http://www.w3.org/ns/sparql-service-description#";
    for triple in [
        format!("<{endpoint}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{sd}Service> ."),
        format!("<{endpoint}> <{sd}endpoint> <{endpoint}> ."),
        format!("<{endpoint}> <{sd}supportedLanguage> <{sd}SPARQL11Query> ."),
        format!("<{endpoint}> <{sd}resultFormat> <http://www.w3.org/ns/formats/SPARQL_Results_JSON> ."),
    ] {
        assert!(described.body.lines().any(|line| line == triple), "{triple}\n{}", described.body);
    }
    assert!(described.body.contains("\"1000\""), "{}", described.body);
    assert!(!described.body.contains("SPARQL11Update"));
    let writable = Fixture::writable();
    assert!(get("/sparql").ask(writable.address).expect(200).body.contains("SPARQL11Update"));
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let fixture = Fixture::with(ServerOptions::new());
    let refused = get("/data").ask(fixture.address).expect(404);
    assert!(refused.body.contains("/sparql") && refused.body.contains("/graphs"));
}

/// Where the page of our own is.
const OWN_PAGE: &str = if cfg!(feature = "yasgui") { "/plain" } else { "/" };

#[cfg(feature = "yasgui")]
#[test]
fn the_editor_is_whole_and_says_whose_it_is() {
    let fixture = Fixture::with(ServerOptions::new());
    let page = get("/").ask(fixture.address).expect(200).body;
    for quoted in ["href=\"", "src=\""] {
        for file in page.split(quoted).skip(1).filter_map(|rest| rest.split('"').next()) {
            if file == "data:," {
                continue;
            }
            let answer = get(&format!("/{file}")).ask(fixture.address).expect(200);
            let policy = answer.header("content-security-policy").expect("a policy");
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{file}: {policy}");
            assert!(!answer.body.is_empty() && answer.is_whole, "{file}");
        }
    }
    assert!(page.contains("YASGUI") && page.contains("MIT"));
    let licences = get("/licences.txt").ask(fixture.address).expect(200).body;
    assert!(licences.contains("Permission is hereby granted, free of charge"));
}

#[test]
fn the_page_is_whole_and_lets_nothing_in_from_elsewhere() {
    let fixture = Fixture::with(ServerOptions::new());
    for (path, media_type) in [(OWN_PAGE, "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")] {
        let page = get(path).ask(fixture.address).expect(200);
        assert_eq!(page.media_type(), media_type);
        let policy = page.header("content-security-policy").expect("a policy").to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for foreign in ["http://", "https://", "innerHTML", "style=", "onclick"] {
            assert!(!page.body.contains(foreign), "{path}: {foreign}");
        }
    }
    let page = get(OWN_PAGE).ask(fixture.address).body;
    for found in ["<label for=\"text\"", "lang=\"en\"", "src=\"page.js\"", "href=\"page.css\"", "aria-live"] {
        assert!(page.contains(found), "{found}");
    }
    // Every element that the script looks for is there.
    let script = get("/page.js").ask(fixture.address).body;
    for id in script.split("find(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}
