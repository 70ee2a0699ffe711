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

/// The values of each row in the order of their names, and the rows in theirs.
fn ordered(rows: impl IntoIterator<Item = String>) -> Vec<String> {
    let values = |row: String| {
        let mut values: Vec<&str> = row.split(' ').collect();
        values.sort_unstable();
        values.join(" ")
    };
    let mut rows: Vec<String> = rows.into_iter().map(values).collect();
    rows.sort();
    rows
}

#[test]
fn each_graph_is_asked_by_itself_whatever_is_asked() {
    let fixture = Fixture::new(
        ":out :p 9 . GRAPH :g1 { :a :p 1 , 2 . :b :p 1 ; :q :g1 } GRAPH :g2 { :a :p 2 ; :q :b . :c :p 3 ; :q :g1 }",
    );
    fixture.update("CREATE GRAPH :g3");
    let graphs = ["g1", "g2", "g3"];
    for pattern in [
        "{ SELECT (COUNT(*) AS ?n) { ?s :p ?o } }",
        "{ SELECT ?s (SUM(?o) AS ?n) { ?s :p ?o } GROUP BY ?s }",
        "{ SELECT ?s (SUM(?o) AS ?n) { ?s :p ?o } GROUP BY ?s HAVING (COUNT(*) > 1) }",
        "{ SELECT DISTINCT ?o { ?s :p ?o } }",
        "{ SELECT ?o { ?s :p ?o } ORDER BY ?o LIMIT 1 }",
        "{ SELECT ?s { ?s :p ?o } } ?s :q ?x",
        "?s :q ?x { SELECT (MAX(?o) AS ?m) { ?z :p ?o } }",
        "VALUES ?x { 1 2 }",
        "VALUES ?x { 1 2 } OPTIONAL { ?s :p ?x }",
        "VALUES ?x { 1 2 } ?s :p ?x",
        "BIND(1 AS ?x)",
        "{ VALUES ?x { 1 } } UNION { ?s :p ?x }",
        "?s :p ?o MINUS { SELECT ?s { ?s :q ?x } }",
        "?s :p ?o MINUS { ?a :q ?b }",
        "?s :p ?o MINUS { ?s :q ?b }",
        "?s :p ?o FILTER EXISTS { SELECT ?s { ?s :q ?x } }",
        "?s :p ?o FILTER NOT EXISTS { SELECT ?o { ?z :p ?o FILTER(?o > 1) } }",
        "?s :p ?o OPTIONAL { SELECT ?s (COUNT(*) AS ?n) { ?s :q ?x } GROUP BY ?s }",
        "?s :q ?x OPTIONAL { ?s :q ?y FILTER EXISTS { SELECT ?s { ?s :p 1 } } }",
        "?s :q ?x OPTIONAL { ?s :q ?y FILTER(1 = 2 || !EXISTS { SELECT ?s { ?s :p 1 } }) }",
        "{ SELECT (COUNT(*) AS ?n) { ?s ?p ?o } HAVING (EXISTS { ?a :p 3 }) }",
        "{ SELECT (COUNT(*) AS ?n) { ?s ?p ?o } HAVING (NOT EXISTS { ?a :p 3 }) }",
        "{ SELECT (COUNT(*) AS ?n) (EXISTS { :c :p ?n } AS ?e) { ?s :q ?o } }",
        "{ SELECT (MAX(?o) AS ?m) { ?s :p ?o } HAVING (EXISTS { :c :p 3 }) } ?s :p ?m",
        "{ SELECT (COUNT(*) AS ?n) { { SELECT (COUNT(*) AS ?m) { ?s :p ?o } HAVING (EXISTS { ?a :p 3 }) } } }",
        "VALUES ?n { 2 3 } FILTER EXISTS { SELECT (COUNT(*) AS ?n) { ?s :p ?o } }",
        "GRAPH ?h { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } HAVING (EXISTS { ?a :p 3 }) }",
        "GRAPH ?h { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } FILTER EXISTS { ?a :p 3 }",
        "{ SELECT (COUNT(*) AS ?n) { { SELECT DISTINCT ?o { ?s :p ?o } } } }",
        "GRAPH :g1 { ?s :q ?x }",
        "{ SELECT (COUNT(DISTINCT *) AS ?n) { ?s :p ?o } }",
        "{ SELECT (COUNT(DISTINCT *) AS ?n) { ?s :p ?o FILTER(ISBLANK(BNODE(\"x\"))) } }",
        "{ SELECT (COUNT(DISTINCT *) AS ?n) { ?s :p ?o VALUES ?u { UNDEF 1 } } }",
        "{ SELECT ?s (COUNT(DISTINCT *) AS ?n) { ?s :p ?o FILTER(ISBLANK(BNODE(\"x\"))) } GROUP BY ?s }",
        "?s :q ?x FILTER EXISTS { SELECT (COUNT(DISTINCT *) AS ?n) { ?s :p ?o VALUES ?u { UNDEF 1 } } HAVING (?n > 1) }",
        "?s :p ?o",
        "?s (:p|:q)* ?o",
        ":a (:p|:q)* ?o",
        "?s :q? :b",
        "?s :p ?x OPTIONAL { :nothing :q* ?s }",
        "?s :p ?o MINUS { ?z :q ?b OPTIONAL { ?z :p ?o } }",
        "?s :p ?o MINUS { ?s :q ?g }",
        "?s :p ?o OPTIONAL { ?s :q ?y FILTER(BOUND(?g)) }",
    ] {
        let found = ordered(fixture.rows(&format!("SELECT * {{ GRAPH ?g {{ {pattern} }} }}")));
        let in_graph = |graph: &&str| {
            let rows = fixture.rows(&format!("SELECT * {{ GRAPH :{graph} {{ {pattern} }} }}"));
            rows.into_iter().map(|row| format!("g={graph} {row}").trim_end().to_owned()).collect::<Vec<_>>()
        };
        let expected = ordered(graphs.iter().flat_map(in_graph));
        assert_eq!(found, expected, "{pattern}");
    }
}

#[test]
fn a_condition_of_an_optional_part_looks_in_the_graph_of_that_part() {
    let fixture = Fixture::new("GRAPH :g1 { :a :p :b ; :q :x } GRAPH :g2 { :b :r :z }");
    let condition = "FILTER EXISTS { SELECT ?o { ?o :r ?z } }";
    let text = format!("SELECT ?g ?x {{ GRAPH ?g {{ ?s :p ?o OPTIONAL {{ ?s :q ?x {condition} }} }} }}");
    assert_eq!(fixture.rows(&text), ["g=g1"]);
    fixture.update("INSERT DATA { GRAPH :g1 { :b :r :z } }");
    assert_eq!(fixture.rows(&text), ["g=g1 x=x"]);
}

#[test]
fn aggregates_of_a_loop_count_and_look_in_one_graph() {
    let fixture = Fixture::new("GRAPH :g1 { :a :p 1 } GRAPH :g2 { :b :p 2 ; :q 3 }");
    for joined in ["FILTER(ISBLANK(BNODE(\"x\")))", "VALUES ?u { UNDEF }"] {
        let text = format!("SELECT * {{ GRAPH ?g {{ SELECT (COUNT(DISTINCT *) AS ?n) {{ ?s :p ?o {joined} }} }} }}");
        assert_eq!(ordered(fixture.rows(&text)), ["g=g1 n=\"1\"", "g=g2 n=\"1\""], "{joined}");
    }
    let having = "SELECT * { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } HAVING (EXISTS { ?a :q ?b }) } }";
    assert_eq!(ordered(fixture.rows(having)), ["g=g2 n=\"2\""]);
}

#[test]
fn the_graph_of_a_sub_select_is_joined_with_what_stands_beside_it() {
    let fixture = Fixture::new(":x :of :g2 . GRAPH :g1 { :a :p 1 } GRAPH :g2 { :a :p 1 , 2 ; :q :g2 . :g2 :p 5 }");
    let beside = "SELECT ?g ?n { :x :of ?g . GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s :p ?o } } }";
    assert_eq!(fixture.rows(beside), ["g=g2 n=\"3\""]);
    let exists = "SELECT ?x { ?x :of ?g FILTER EXISTS { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s :p ?o } HAVING (COUNT(*) = 1) } } }";
    assert!(fixture.rows(exists).is_empty());
    assert_eq!(fixture.rows(&exists.replace("= 1", "= 3")), ["x=x"]);
    // The name of the graph is a term of its own graph here.
    let itself = "SELECT ?g ?n { GRAPH ?g { ?g :p ?o { SELECT (COUNT(*) AS ?n) { ?s :p ?x } } } }";
    assert_eq!(fixture.rows(itself), ["g=g2 n=\"3\""]);
    // Within the sub-select the name is another variable, unless that selects it.
    let hidden = "SELECT ?g ?n { GRAPH ?g { SELECT (COUNT(?g) AS ?n) { ?g :p 1 } } }";
    assert_eq!(fixture.rows(hidden), ["g=g1 n=\"1\"", "g=g2 n=\"1\""]);
    let selected = "SELECT ?g ?s { GRAPH ?g { SELECT DISTINCT ?s ?g { ?s :q ?g } } }";
    assert_eq!(fixture.rows(selected), ["g=g2 s=a"]);
    let update = "INSERT { GRAPH :counts { ?g :has ?n } } WHERE { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }";
    assert_eq!(fixture.update(update).inserted, 2);
    assert_eq!(fixture.rows("SELECT * { GRAPH :counts { ?g :has ?n } }"), ["g=g1 n=\"1\"", "g=g2 n=\"4\""]);
}
