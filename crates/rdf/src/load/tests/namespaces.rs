//! What documents declare becomes namespaces of the store, where it has none.

use super::*;

/// The namespaces that the store has, but for those that documents of a form cannot do without.
fn namespaces(place: &TestStore) -> Vec<(String, String)> {
    let all = place.store.snapshot().expect("a snapshot").namespaces().expect("they are read");
    all.into_iter().filter(|(prefix, _)| prefix != "rdf").collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|&(prefix, iri)| (prefix.to_owned(), iri.to_owned())).collect()
}

const XML: &str = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://d/" xmlns:ex="http://a/">
    <rdf:Description rdf:about="http://a/s"><ex:p>1</ex:p></rdf:Description>
    <rdf:Description rdf:about="http://a/t"><p>1</p></rdf:Description></rdf:RDF>"#;
const JSON: &str = r#"{"@context": {"ex": "http://a/", "dd": "http://d/"}, "@id": "ex:s", "ex:p": {"@id": "dd:o"}}"#;

#[test]
fn prefixes_of_every_form_become_namespaces() {
    let turtle = "@prefix ex: <http://a/> .\nex:s ex:p 1 .\nPREFIX : <http://d/>\n:s :p 2 .";
    let trig = "@prefix ex: <http://a/> . GRAPH ex:g { ex:s ex:p 1 } @prefix : <http://d/> .";
    let json_ld = RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() };
    for (text, format, other) in [
        (turtle, RdfFormat::Turtle, ""),
        (trig, RdfFormat::TriG, ""),
        (XML, RdfFormat::RdfXml, ""),
        (JSON, json_ld, "dd"),
    ] {
        let expected = match other {
            "" => pairs(&[("", "http://d/"), ("ex", "http://a/")]),
            other => pairs(&[(other, "http://d/"), ("ex", "http://a/")]),
        };
        let place = TestStore::new();
        place.load(text, format).expect("it is loaded");
        assert_eq!(namespaces(&place), expected, "{format}, loaded");
        assert_eq!(namespaces(&place.reopen()), expected, "{format}, opened again");
        let mut quads = parse_document("text", std::io::Cursor::new(text), format, None).expect("a document");
        quads.by_ref().for_each(|quad| drop(quad.expect("a statement")));
        let declared: Vec<_> = quads.prefixes().filter(|(prefix, _)| *prefix != "rdf").collect();
        assert_eq!(pairs(&declared), expected, "{format}, statement by statement");
    }
}

#[test]
fn a_namespace_that_the_store_has_stays_whichever_way_the_load_goes() {
    for method in [LoadMethod::Trees, LoadMethod::Transaction] {
        let place = TestStore::with_one();
        place.store.update(|txn| txn.set_namespace("ex", "http://first/")).expect("it is committed");
        let text = "@prefix ex: <http://second/> . @prefix new: <http://new/> . ex:s new:p 1 .";
        let options = LoadOptions { method: Some(method), ..LoadOptions::new() };
        place.store.load(vec![input(text, RdfFormat::Turtle)], &options).expect("it is loaded");
        assert_eq!(namespaces(&place), pairs(&[("ex", "http://first/"), ("new", "http://new/")]), "{method:?}");
        place.store.check().expect("it can be read");
    }
}

#[test]
fn of_several_inputs_the_first_decides() {
    let text = |number: usize| format!("@prefix ex: <http://{number}/> . ex:s ex:p {number} .");
    let inputs = (0..20).map(|number| input(&text(number), RdfFormat::Turtle)).collect();
    let place = TestStore::new();
    place.store.load(inputs, &LoadOptions::new().threads(4)).expect("they are loaded");
    assert_eq!(namespaces(&place), pairs(&[("ex", "http://0/")]));
}

#[test]
fn a_load_that_fails_declares_nothing() {
    let place = TestStore::with_one();
    place.load("@prefix ex: <http://a/> . ex:s ex:p 1 . ex:s oops", RdfFormat::Turtle).expect_err("it is wrong");
    assert_eq!(namespaces(&place), []);
}
