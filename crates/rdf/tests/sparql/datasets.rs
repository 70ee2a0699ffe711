//! Which graphs a query sees.

use fulgurite_rdf::oxrdf::{GraphName, NamedNode};

use crate::fixture::{Fixture, query, rows_of};

const GRAPHS: &str = "
:d :p :only_default .
:x :p :shared .
GRAPH :g1 { :x :p :shared . :a :p :one }
GRAPH :g2 { :x :p :shared . :b :p :two }
GRAPH :g3 { :c :p :three }
";

fn name(local: &str) -> NamedNode {
    NamedNode::new(format!("http://example.org/{local}")).expect("an IRI")
}

#[test]
fn the_default_graph_is_the_stores_default_graph() {
    assert_eq!(Fixture::new(GRAPHS).rows("SELECT ?s { ?s :p ?o }"), ["s=d", "s=x"]);
}

#[test]
fn graph_with_a_name_sees_that_graph_alone() {
    let fixture = Fixture::new(GRAPHS);
    assert_eq!(fixture.rows("SELECT ?s { GRAPH :g1 { ?s :p ?o } }"), ["s=a", "s=x"]);
    assert!(fixture.rows("SELECT ?s { GRAPH :none { ?s :p ?o } }").is_empty());
}

#[test]
fn graph_with_a_variable_sees_named_graphs_and_not_the_default_graph() {
    let rows = Fixture::new(GRAPHS).rows("SELECT ?g ?s { GRAPH ?g { ?s :p ?o } }");
    assert_eq!(rows, ["g=g1 s=a", "g=g1 s=x", "g=g2 s=b", "g=g2 s=x", "g=g3 s=c"]);
}

#[test]
fn a_join_within_a_graph_stays_in_one_graph() {
    let fixture = Fixture::new("GRAPH :g1 { :a :p :b . :b :q 1 } GRAPH :g2 { :b :q 2 } GRAPH :g3 { :a :p :b }");
    assert_eq!(fixture.rows("SELECT ?g ?n { GRAPH ?g { ?a :p ?b . ?b :q ?n } }"), ["g=g1 n=\"1\""]);
}

#[test]
fn an_empty_pattern_in_a_graph_asks_for_the_graphs() {
    let fixture = Fixture::new(GRAPHS);
    fixture.update("CREATE GRAPH :empty");
    assert_eq!(fixture.rows("SELECT ?g { GRAPH ?g {} }"), ["g=empty", "g=g1", "g=g2", "g=g3"]);
    assert!(fixture.ask("ASK { GRAPH :empty {} }"));
    assert!(!fixture.ask("ASK { GRAPH :none {} }"));
}

#[test]
fn from_merges_graphs_and_a_shared_triple_is_one() {
    let rows = Fixture::new(GRAPHS).rows("SELECT ?s FROM :g1 FROM :g2 { ?s :p ?o }");
    assert_eq!(rows, ["s=a", "s=b", "s=x"]);
}

#[test]
fn a_graph_that_from_names_twice_counts_once() {
    let fixture = Fixture::new(GRAPHS);
    assert_eq!(fixture.rows("SELECT ?s FROM :g1 FROM :g1 { ?s :p ?o }"), ["s=a", "s=x"]);
    assert_eq!(fixture.rows("SELECT (COUNT(*) AS ?n) FROM :g1 FROM :g1 { ?s :p ?o }"), ["n=\"2\""]);
    let rows = fixture.rows("SELECT ?g ?s FROM NAMED :g1 FROM NAMED :g1 { GRAPH ?g { ?s :p ?o } }");
    assert_eq!(rows, ["g=g1 s=a", "g=g1 s=x"]);
}

#[test]
fn from_alone_leaves_no_named_graphs_and_from_named_alone_an_empty_default_graph() {
    let fixture = Fixture::new(GRAPHS);
    assert!(fixture.rows("SELECT ?s FROM :g1 { GRAPH ?g { ?s :p ?o } }").is_empty());
    assert!(fixture.rows("SELECT ?s FROM NAMED :g1 { ?s :p ?o }").is_empty());
    assert_eq!(fixture.rows("SELECT ?s FROM NAMED :g3 { GRAPH ?g { ?s :p ?o } }"), ["s=c"]);
    assert!(fixture.rows("SELECT ?s FROM NAMED :g3 { GRAPH :g1 { ?s :p ?o } }").is_empty());
}

#[test]
fn the_union_default_graph_has_every_triple_of_every_graph_once() {
    let fixture = Fixture::new(GRAPHS);
    let all = query("SELECT ?s { ?s :p ?o }").union_default_graph(true);
    let mut rows = rows_of(&all, &fixture.snapshot()).expect("rows");
    rows.sort();
    assert_eq!(rows, ["s=a", "s=b", "s=c", "s=d", "s=x"]);
    for text in ["SELECT ?o { :x :p ?o }", "SELECT ?p { :x ?p :shared }", "SELECT ?s { ?s ?p :shared }"] {
        let rows = rows_of(&query(text).union_default_graph(true), &fixture.snapshot()).expect("rows");
        assert_eq!(rows.len(), 1, "{text}");
    }
}

#[test]
fn the_union_default_graph_has_a_triple_of_two_named_graphs_once() {
    let fixture = Fixture::new("GRAPH :g1 { :x :p :y , :z } GRAPH :g2 { :x :p :y }");
    for text in ["SELECT * { ?s ?p :y }", "SELECT * { :x :p :y }", "SELECT ?y { :x :p ?y FILTER(?y = :y) }"] {
        let rows = rows_of(&query(text).union_default_graph(true), &fixture.snapshot()).expect("rows");
        assert_eq!(rows.len(), 1, "{text}");
    }
    let rows = rows_of(&query("SELECT * { ?s ?p ?o }").union_default_graph(true), &fixture.snapshot()).expect("rows");
    assert_eq!(rows.len(), 2);
}

#[test]
fn what_the_text_says_comes_before_the_union() {
    let fixture = Fixture::new(GRAPHS);
    let rows = rows_of(&query("SELECT ?s FROM :g3 { ?s :p ?o }").union_default_graph(true), &fixture.snapshot());
    assert_eq!(rows.expect("rows"), ["s=c"]);
}

#[test]
fn graphs_that_the_caller_gives_come_before_those_of_the_text() {
    let fixture = Fixture::new(GRAPHS);
    let text = "SELECT ?s FROM :g1 { ?s :p ?o }";
    let rows = rows_of(&query(text).with_default_graph(name("g3")), &fixture.snapshot()).expect("rows");
    assert_eq!(rows, ["s=c"]);
    let both = query(text).with_default_graph(name("g3")).with_default_graph(GraphName::DefaultGraph);
    let mut rows = rows_of(&both, &fixture.snapshot()).expect("rows");
    rows.sort();
    assert_eq!(rows, ["s=c", "s=d", "s=x"]);
}

#[test]
fn named_graphs_that_the_caller_gives_are_all_there_are() {
    let fixture = Fixture::new(GRAPHS);
    let asked =
        query("SELECT ?g ?s { GRAPH ?g { ?s :p ?o } }").with_named_graph(name("g3")).with_named_graph(name("none"));
    assert_eq!(rows_of(&asked, &fixture.snapshot()).expect("rows"), ["g=g3 s=c"]);
}

#[test]
fn a_value_that_the_caller_binds_is_put_in() {
    let variable = fulgurite_rdf::oxrdf::Variable::new("s").expect("a variable");
    let bound = query("SELECT ?s ?o { ?s :p ?o }").with_binding(variable, name("x"));
    assert_eq!(rows_of(&bound, &Fixture::new(GRAPHS).snapshot()).expect("rows"), ["s=x o=shared"]);
}

#[test]
fn a_snapshot_answers_as_it_was_when_it_was_taken() {
    let fixture = Fixture::new(GRAPHS);
    let before = fixture.snapshot();
    fixture.update("CLEAR ALL");
    assert_eq!(rows_of(&query("SELECT ?s { ?s :p ?o }"), &before).expect("rows").len(), 2);
    assert!(fixture.rows("SELECT ?s { ?s :p ?o }").is_empty());
}

#[test]
fn a_query_within_a_transaction_sees_its_changes() {
    let fixture = Fixture::new(GRAPHS);
    let mut transaction = fixture.store.begin().expect("a transaction");
    crate::fixture::update("INSERT DATA { :new :p :new }").execute_in(&mut transaction).expect("updated");
    let rows = rows_of(&query("SELECT ?s { ?s :p :new }"), &transaction.view()).expect("rows");
    assert_eq!(rows, ["s=new"]);
    drop(transaction);
    assert!(fixture.rows("SELECT ?s { ?s :p :new }").is_empty());
}
