//! Variables that the caller gives values behave as variables that every solution binds.

use fulgurite_rdf::Quads;
use fulgurite_rdf::oxrdf::{NamedNode, Term, Variable};
use fulgurite_rdf::sparql::{Query, QueryResults};

use crate::fixture::{Fixture, query, rows_of, update};

const DATA: &str = ":a :p :b, :c ; :q 1 . :b :p :c ; :q 2 . :c :q 3 ; :r :a . :d :r [ :q 4 ] .
                    :g { :a :p :z . :z :p :y }";

fn named(name: &str) -> Term {
    NamedNode::new_unchecked(format!("http://example.org/{name}")).into()
}

fn bound(text: &str, variable: &str, value: impl Into<Term>) -> Query {
    query(text).with_binding(Variable::new_unchecked(variable), value)
}

/// The solutions, sorted, where a variable has this value.
fn rows(quads: &impl Quads, text: &str, variable: &str, value: impl Into<Term>) -> Vec<String> {
    let mut rows =
        rows_of(&bound(text, variable, value), quads).unwrap_or_else(|error| panic!("{text}, ?{variable}: {error}"));
    rows.sort();
    rows
}

#[test]
fn minus_compares_a_value_that_is_given_if_its_right_side_names_the_variable() {
    let quads = Fixture::new(DATA).snapshot();
    let left = |text: &str, value: &str| rows(&quads, &format!("SELECT ?v ?x {{ {text} }}"), "v", named(value)).len();
    // Named by both sides.
    assert_eq!((left("?v :p ?x MINUS { ?v :q ?y }", "a"), left("?v :r ?x MINUS { ?v :q ?y }", "d")), (0, 1));
    // By the right side alone.
    assert_eq!((left("?x :p ?y MINUS { ?v :q ?z }", "a"), left("?x :p ?y MINUS { ?v :q ?z }", "d")), (0, 3));
    assert_eq!(left("?x :p ?y MINUS { ?z :q ?n OPTIONAL { ?v :q ?n } }", "a"), 0);
    assert_eq!(left("?x :p ?y MINUS { VALUES ?v { :a :b } }", "a"), 0);
    assert_eq!(left("?x :p ?y MINUS { VALUES ?v { :a :b } }", "c"), 3);
    assert_eq!(left("?x :p ?y MINUS { BIND(:b AS ?v) }", "a"), 3);
    // By the left side alone, and by neither.
    assert_eq!((left("?v :p ?x MINUS { ?y :q ?z }", "a"), left("?x :p ?y MINUS { ?z :q ?n }", "a")), (2, 3));
    // In sub-selects, alternatives, options and other MINUS.
    assert_eq!(left("{ SELECT ?v ?x { ?x :p ?y MINUS { ?v :q ?z } } }", "a"), 0);
    assert_eq!(left("{ SELECT ?x { ?x :p ?y MINUS { ?v :q ?z } } }", "a"), 3);
    assert_eq!(left("?x :p ?y MINUS { SELECT ?v { ?v :q ?z } }", "a"), 0);
    assert_eq!(left("?x :p ?y MINUS { SELECT ?z { ?v :q ?z } }", "a"), 3);
    assert_eq!(left("{ ?x :p ?y MINUS { ?v :q ?z } } UNION { ?x :r ?y MINUS { ?z :q ?n } }", "a"), 2);
    assert_eq!(left("?x :q ?n OPTIONAL { ?y :p ?o MINUS { ?v :q ?z } } FILTER(!BOUND(?y))", "a"), 4);
    assert_eq!(left("?x :p ?y MINUS { ?x :q ?n MINUS { ?v :q ?z } }", "a"), 3);
    assert_eq!(left("?x :p ?y MINUS { ?x :q ?n MINUS { ?v :q ?z } }", "d"), 0);
}

#[test]
fn patterns_filters_and_expressions_find_a_value_that_is_given() {
    let quads = Fixture::new(DATA).snapshot();
    let of = |text: &str, value: &str| rows(&quads, &format!("SELECT ?v ?x {{ {text} }}"), "v", named(value));
    assert_eq!(of("?v :p ?x", "a"), ["v=a x=b", "v=a x=c"]);
    assert_eq!(of("?x :q 1 FILTER(BOUND(?v) && ?v != ?x)", "b"), ["v=b x=a"]);
    assert_eq!(of("{ ?x :q ?n FILTER(?v = ?x) }", "b"), ["v=b x=b"]);
    assert_eq!(of("BIND(?v AS ?x)", "b"), ["v=b x=b"]);
    assert_eq!(of("BIND(:c AS ?v) BIND(1 AS ?x)", "b"), [""; 0]);
    assert_eq!(of("VALUES (?v ?x) { (:a 1) (:b 2) (UNDEF 3) }", "b"), ["v=b x=\"2\"", "v=b x=\"3\""]);
    assert_eq!(of("?x :q 1 FILTER EXISTS { ?v :p ?y }", "b"), ["v=b x=a"]);
    assert_eq!(of("?x :q 1 FILTER EXISTS { ?v :p ?y }", "c"), [""; 0]);
    assert_eq!(of("?x :q 1 FILTER NOT EXISTS { ?v :p ?y }", "c"), ["v=c x=a"]);
    assert_eq!(of("?x :q ?n FILTER EXISTS { ?y :p ?x FILTER(?y = ?v) }", "b"), ["v=b x=c"]);
    assert_eq!(of("?y :q 1 OPTIONAL { ?v :p ?x }", "b"), ["v=b x=c"]);
    assert_eq!(of("?y :q 1 OPTIONAL { ?v :p ?x }", "c"), ["v=c"]);
    assert_eq!(of("?y :q 1 OPTIONAL { ?y :p ?x FILTER(?x = ?v) }", "b"), ["v=b x=b"]);
    assert_eq!(of("{ ?v :p ?x } UNION { ?y :r ?x FILTER(isIRI(?x)) }", "b"), ["v=b x=a", "v=b x=c"]);
    assert_eq!(of("?v :p+ ?x", "a"), ["v=a x=b", "v=a x=c"]);
    assert_eq!(of("GRAPH :g { ?v :p ?x }", "z"), ["v=z x=y"]);
    assert_eq!(of("GRAPH ?v { ?x :p :y }", "g"), ["v=g x=z"]);
    assert_eq!(of("GRAPH ?v { ?x :p :y }", "a"), [""; 0]);
}

#[test]
fn sub_selects_that_return_the_variable_and_groups_by_it_see_a_value_that_is_given() {
    let quads = Fixture::new(DATA).snapshot();
    let of = |text: &str, value: &str| rows(&quads, text, "v", named(value));
    assert_eq!(of("SELECT ?v ?n { { SELECT ?v (COUNT(*) AS ?n) { ?v :p ?o } GROUP BY ?v } }", "a"), ["v=a n=\"2\""]);
    assert_eq!(of("SELECT ?v ?n { { SELECT (COUNT(?v) AS ?n) { ?v :q ?o } } }", "a"), ["v=a n=\"4\""]);
    assert_eq!(of("SELECT ?v (COUNT(*) AS ?n) { ?v :p ?o } GROUP BY ?v", "a"), ["v=a n=\"2\""]);
    assert_eq!(of("SELECT ?v (COUNT(*) AS ?n) { ?v :p ?o } GROUP BY ?v", "c"), [""; 0]);
    assert_eq!(of("SELECT ?v (COUNT(*) AS ?n) { ?x :q ?o } GROUP BY ?v HAVING(?v = :a)", "a"), ["v=a n=\"4\""]);
    assert_eq!(of("SELECT ?v (SUM(?o) AS ?n) { ?x :q ?o FILTER(?x != ?v) } GROUP BY ?v", "c"), ["v=c n=\"7\""]);
    assert_eq!(of("SELECT DISTINCT ?v { ?x :p ?y } ORDER BY ?v LIMIT 2", "a"), ["v=a"]);
    let count = |value: i32| {
        use fulgurite_rdf::oxrdf::Literal;
        rows(&quads, "SELECT (COUNT(*) AS ?n) { ?x :p ?y }", "n", Literal::from(value))
    };
    assert_eq!((count(3), count(2)), (vec!["n=\"3\"".to_owned()], Vec::new()));
}

#[test]
fn blank_nodes_and_triple_terms_of_them_are_given_as_values() {
    let fixture = Fixture::new(DATA);
    fixture.update("INSERT { :t :of ?t } WHERE { :d :r ?b BIND(TRIPLE(?b, :q, 4) AS ?t) }");
    let quads = fixture.snapshot();
    let one = |text: &str, variable: &str| {
        let QueryResults::Solutions(mut rows) = query(text).evaluate(&quads).expect("evaluated") else {
            panic!("a SELECT")
        };
        rows.next().expect("a row").expect("read").get(variable).expect("bound").clone()
    };
    let (node, triple) = (one("SELECT ?b { :d :r ?b }", "b"), one("SELECT ?t { :t :of ?t }", "t"));
    let numbers = |text: &str, variable: &str, value: &Term| {
        let rows = rows_of(&bound(text, variable, value.clone()), &quads).expect("evaluated");
        rows.iter().map(|row| row.rsplit_once("n=").map_or("", |(_, number)| number).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(numbers("SELECT ?b ?n { ?b :q ?n FILTER(isBLANK(?b)) }", "b", &node), ["\"4\""]);
    assert_eq!(numbers("SELECT ?b ?n { VALUES ?n { 1 } MINUS { ?b :q 4 } }", "b", &node), [""; 0]);
    assert_eq!(numbers("SELECT ?t ?n { ?s :of ?t BIND(OBJECT(?t) AS ?n) }", "t", &triple), ["\"4\""]);
    assert_eq!(rows(&quads, "SELECT ?b { ?x :q 1 }", "b", node.clone()), [format!("b={node}")]);
}

#[test]
fn every_form_of_query_takes_values() {
    let quads = Fixture::new(DATA).snapshot();
    let ask = |text: &str, value: &str| match bound(text, "v", named(value)).evaluate(&quads).expect("evaluated") {
        QueryResults::Boolean(answer) => answer,
        other => panic!("{other:?}"),
    };
    assert!(ask("ASK { ?v :p :b }", "a") && !ask("ASK { ?v :p :b }", "b"));
    assert!(ask("ASK { ?x :p :b FILTER(?v = ?x) }", "a") && !ask("ASK { ?x :p :b MINUS { ?v :q 1 } }", "a"));
    let triples = |text: &str| match bound(text, "v", named("a")).evaluate(&quads).expect("evaluated") {
        QueryResults::Triples(triples) => triples.count(),
        other => panic!("{other:?}"),
    };
    assert_eq!(triples("CONSTRUCT { ?v :k ?x } { ?x :q ?n }"), 4);
    assert_eq!(triples("CONSTRUCT { ?v :k ?x } { ?x :q ?n MINUS { ?v :q ?n } }"), 3);
    assert_eq!(triples("DESCRIBE ?v { ?x :p ?y }"), 3);
}

#[test]
fn a_variable_that_the_query_does_not_return_takes_a_value_too() {
    let quads = Fixture::new(DATA).snapshot();
    let of = |text: &str, value: &str| rows(&quads, text, "v", named(value));
    assert_eq!(of("SELECT ?x { ?v :p ?x }", "a"), ["x=b", "x=c"]);
    assert_eq!(of("SELECT ?x { ?x :q 1 FILTER(BOUND(?v) && ?v != ?x) }", "b"), ["x=a"]);
    assert_eq!(of("SELECT ?x { ?x :q ?n FILTER EXISTS { ?y :p ?x FILTER(?y = ?v) } }", "b"), ["x=c"]);
    assert_eq!(of("SELECT ?x { ?x :p ?y MINUS { ?v :q ?z } }", "a"), [""; 0]);
    assert_eq!(of("SELECT ?x { BIND(:c AS ?v) BIND(1 AS ?x) }", "b"), [""; 0]);
    assert_eq!(of("SELECT ?x { GRAPH ?v { ?x :p :y } }", "g"), ["x=z"]);
    assert_eq!(of("SELECT ?x { ?y :q 1 OPTIONAL { ?v :p ?x } }", "b"), ["x=c"]);
    assert_eq!(of("SELECT (COUNT(*) AS ?n) { ?v :p ?o }", "a"), ["n=\"2\""]);
    assert_eq!(of("SELECT ?x { { SELECT ?x { ?v :p ?x } } }", "a").len(), 3, "a variable of its own");
    assert_eq!(of("SELECT DISTINCT ?x { ?v :p|:r ?x } ORDER BY DESC(?v) ?x LIMIT 1", "a"), ["x=b"]);
    let described = bound("DESCRIBE ?x { ?v :p ?x }", "v", named("b")).evaluate(&quads).expect("evaluated");
    let QueryResults::Triples(triples) = described else { panic!("a DESCRIBE") };
    assert_eq!(triples.count(), 2);
}

#[test]
fn updates_take_values_for_the_variables_of_where() {
    let changed = |text: &str, value: &str| {
        let fixture = Fixture::new(DATA);
        let update = update(text).with_binding(Variable::new_unchecked("v"), named(value));
        let report = update.execute(&fixture.store).unwrap_or_else(|error| panic!("{text}: {error}"));
        (report.removed, report.inserted)
    };
    assert_eq!(changed("DELETE WHERE { ?v :p ?x }", "a"), (2, 0));
    assert_eq!(changed("INSERT { ?v :new ?x } WHERE { ?x :q ?n FILTER(?x != ?v) }", "a"), (0, 3));
    assert_eq!(changed("DELETE { ?v ?p ?o } INSERT { :new ?p ?o } WHERE { ?v ?p ?o MINUS { ?v :q ?o } }", "a"), (2, 2));
    assert_eq!(changed("INSERT DATA { :x :y :z } ; DELETE { ?v :q ?n } WHERE { ?v :q ?n }", "b"), (1, 1));
}
