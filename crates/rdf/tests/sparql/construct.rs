//! `CONSTRUCT`, `DESCRIBE`, `ASK`.

use fulgurite_rdf::sparql::QueryResults;

use crate::fixture::{Fixture, query, short};

#[test]
fn construct_fills_its_template_for_each_row_and_returns_a_triple_once() {
    let triples = Fixture::people().triples("CONSTRUCT { ?b :knownBy ?a . ?b rdf:type :Known } { ?a :knows ?b }");
    let typed = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> Known";
    let expected = [
        format!("bob {typed}"),
        "bob knownBy ann".to_owned(),
        format!("cid {typed}"),
        "cid knownBy ann".to_owned(),
        "cid knownBy bob".to_owned(),
        format!("dan {typed}"),
        "dan knownBy cid".to_owned(),
    ];
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(triples, expected);
}

#[test]
fn triples_come_in_the_order_of_the_rows_and_of_the_template() {
    let people = Fixture::people();
    let text = "CONSTRUCT { ?p :name ?n . ?p :age ?a } { ?p :name ?n ; :age ?a FILTER(LANG(?n) = '') } ORDER BY ?a";
    let Ok(QueryResults::Triples(triples)) = query(text).evaluate(&people.snapshot()) else { panic!("no triples") };
    let triples = triples.map(|triple| triple.expect("a triple"));
    let texts = triples.map(|triple| format!("{} {}", short(&triple.subject.into()), short(&triple.predicate.into())));
    let expected = ["bob name", "bob age", "ann name", "ann age", "cid name", "cid age"];
    assert_eq!(texts.collect::<Vec<_>>(), expected);
}

#[test]
fn construct_leaves_out_triples_that_would_be_none() {
    let fixture = Fixture::new(":a :p \"text\" . :b :p :c .");
    assert_eq!(fixture.triples("CONSTRUCT { ?o :q ?s } { ?s :p ?o }"), ["c q b"]);
}

#[test]
fn blank_nodes_of_a_template_are_new_for_each_row() {
    let triples = Fixture::people().triples("CONSTRUCT { [] :of ?p } { ?p :knows ?f }");
    assert_eq!(triples.len(), 4, "{triples:?}");
    let mut nodes: Vec<&str> = triples.iter().filter_map(|triple| triple.split(' ').next()).collect();
    nodes.dedup();
    assert_eq!(nodes.len(), 4);
}

#[test]
fn construct_where_is_its_own_template() {
    assert_eq!(Fixture::people().triples("CONSTRUCT WHERE { :bob :knows ?f }"), ["bob knows cid"]);
}

#[test]
fn describe_returns_what_is_said_about_a_resource() {
    let fixture = Fixture::new(":a :p 1 ; :q [ :r 2 ] . :b :p 3 .");
    assert_eq!(fixture.triples("DESCRIBE :a").len(), 3);
    assert_eq!(fixture.triples("DESCRIBE ?x { ?x :p 3 }"), ["b p \"3\""]);
}

#[test]
fn ask_says_whether_there_is_a_row() {
    let people = Fixture::people();
    assert!(people.ask("ASK { ?p :age 7 }"));
    assert!(!people.ask("ASK { ?p :age 8 }"));
    assert!(people.ask("ASK {}"));
}
