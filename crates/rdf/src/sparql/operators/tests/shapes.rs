//! Which forms of queries are evaluated on ids, and their results as ids and as plans.

use super::fixture::{Place, query, rows};
use crate::Quads;
use crate::sparql::{IdRow, JoinOrder, SolutionId, SolutionValue};

const UNIVERSITY: &str = ":s1 a :Student ; :name \"Ann\" ; :email \"ann@a\" ; :age 25 ; :memberOf :d0 ; :advisor :p1 ;
    :takes :c1, :c2 . :s2 a :Student ; :name \"Bob\" ; :age 22 ; :memberOf :d0 ; :advisor :p1 ; :takes :c1 .
    :p1 a :Professor ; :name \"Cid\" ; :worksFor :d0 ; :teaches :c1 . :c1 a :Course ; :credits 4 . :c2 a :Course .
    :d0 :part :u0 ; :name \"D\" . :u0 :name \"U\" .
    :x1 a :Text ; :by :p1 ; :date \"2020-01-01\"^^xsd:date ; :cites :x2 .
    :x2 a :Text ; :date \"2021-01-01\"^^xsd:date ; :cites :x3 . :x3 :by :p1 .
    :y1 :age 1 . :y2 :age 2 . :y3 :age 3 . :y4 :age 4 .";

/// The forms of the benchmark's queries, with the number of their rows.
const ON_IDS: [(&str, usize); 19] = [
    ("SELECT ?s ?n ?e ?a { ?s a :Student ; :name ?n ; :email ?e ; :age ?a ; :memberOf :d0 }", 1),
    ("SELECT ?p ?n { ?p a :Professor ; :name ?n ; :worksFor :d0 }", 1),
    ("SELECT ?s ?n { ?s :age 25 ; :name ?n ; a :Student }", 1),
    ("SELECT ?x ?d { ?x a :Text ; :date ?d ; :by :p1 }", 1),
    ("SELECT ?s ?p ?d { ?s :advisor ?p . ?p :worksFor ?d . ?d :part :u0 }", 2),
    ("SELECT ?c ?p ?d ?n { :s1 :takes ?c . ?p :teaches ?c . ?p :worksFor ?d . ?d :name ?n }", 1),
    ("SELECT ?a ?b ?c { ?a :cites ?b . ?b :cites ?c . ?c :by :p1 }", 1),
    ("SELECT ?s { ?s :memberOf ?d . ?d :part ?u . ?u :name \"U\" }", 2),
    ("SELECT * { ?s :memberOf :d0 ; :name ?n ; :advisor ?p ; :takes ?c . ?p :teaches ?c . ?c :credits ?k }", 2),
    ("SELECT ?s ?p ?c { ?s a :Student ; :advisor ?p ; :takes ?c . ?p :teaches ?c . ?c a :Course }", 2),
    ("SELECT ?x ?p ?n ?u { ?x :by ?p ; a :Text . ?p :worksFor ?d ; :name ?n . ?d :part ?v . ?v :name ?u }", 1),
    ("SELECT ?s ?d ?u { ?s a :Student ; :memberOf ?d . ?d :part ?u . ?u :name ?n }", 2),
    ("SELECT ?o { ?o :part+ :u0 }", 1),
    ("SELECT ?x { :x1 :cites+ ?x }", 2),
    ("SELECT ?s { ?s :advisor/:worksFor :d0 }", 2),
    ("SELECT ?d (COUNT(?s) AS ?n) { ?s :memberOf ?d } GROUP BY ?d", 1),
    ("SELECT ?k (COUNT(*) AS ?n) (MIN(?a) AS ?l) (MAX(?a) AS ?m) { ?s a ?k ; :age ?a } GROUP BY ?k", 1),
    (
        "SELECT ?p (COUNT(DISTINCT ?s) AS ?n) { ?s :advisor ?p . ?p :worksFor ?d . ?d :part :u0 } GROUP BY ?p \
         HAVING (COUNT(DISTINCT ?s) > 1)",
        1,
    ),
    ("SELECT ?s ?a ?n { ?s :memberOf :d0 ; a :Student ; :age ?a ; :name ?n } ORDER BY DESC(?a) ?s LIMIT 10", 2),
];

#[test]
fn the_forms_of_the_benchmark_are_evaluated_on_ids() {
    let place = Place::new(UNIVERSITY);
    for (text, expected) in ON_IDS {
        let mut solutions = query(text).evaluate_on_ids(&place.snapshot()).expect(text).unwrap_or_else(|| {
            panic!("{text}: the library evaluates it");
        });
        let mut count = 0;
        while solutions.read(1, 1_000, |_| count += 1).expect(text) {}
        assert_eq!(count, expected, "{text}");
        assert_eq!(rows(&query(text), &place.snapshot()).expect(text).len(), expected, "{text}");
    }
}

#[test]
fn other_forms_are_left_to_the_library() {
    let place = Place::new(UNIVERSITY);
    for text in [
        // The pattern that binds the key is read in the order of the result.
        "SELECT ?x ?date { ?x :date ?date } ORDER BY DESC(?date) ?x LIMIT 20",
        "SELECT ?x ?date { ?x :date ?date } ORDER BY ?date",
        "SELECT * { ?s :age ?a BIND(?a + 1 AS ?b) }",
        "SELECT * { ?s :age ?a FILTER(STR(?a) = \"25\") }",
        "SELECT * { ?s :age ?a MINUS { ?s :email ?e } }",
        "SELECT * { ?s :age ?a FILTER NOT EXISTS { ?s :email ?e } }",
        "SELECT * FROM :g { ?s :age ?a }",
        "SELECT (GROUP_CONCAT(?n) AS ?all) { ?s :name ?n }",
        "SELECT * { ?s :age ?a OPTIONAL { ?s :email ?e } ?x :by ?e }",
        "SELECT * { { SELECT ?s { ?s :age ?a } LIMIT 1 } ?s :name ?n }",
        "SELECT * { ?a (:cites|:by)+ ?b }",
        // A pattern beside a path may be the better beginning, as one beside an option or VALUES.
        "SELECT * { :x1 :cites+ ?x . ?x :by ?p }",
        "SELECT * { :x1 :cites+ ?x VALUES ?x { :x3 } }",
        "SELECT * { ?s :takes ?c OPTIONAL { ?s :email ?e } ?s :age 25 }",
        "SELECT * { VALUES ?k { :Student :Professor :Course } :s1 :advisor ?p . ?p a ?k }",
        "CONSTRUCT { ?s :p ?a } { ?s :age ?a }",
    ] {
        assert!(query(text).evaluate_on_ids(&place.snapshot()).expect(text).is_none(), "{text}");
    }
    let bound =
        query("SELECT * { ?s :age ?a }").with_binding(oxrdf::Variable::new_unchecked("a"), oxrdf::Literal::from(25));
    assert!(bound.evaluate_on_ids(&place.snapshot()).expect("it is no error").is_none());
}

#[test]
fn long_values_are_not_compared_with_each_row_of_what_is_before_them() {
    let place = Place::new(UNIVERSITY);
    let values = |rows: usize| {
        let nodes: String = (0..rows).map(|number| format!(":y{number} ")).collect();
        format!("SELECT * {{ {{ ?s :age ?a OPTIONAL {{ ?s :email ?e }} }} VALUES ?s {{ {nodes} }} }}")
    };
    for (count, is_on_ids) in [(64, true), (65, false)] {
        let asked = query(&values(count));
        let solutions = asked.evaluate_on_ids(&place.snapshot()).expect("it is no error");
        assert_eq!(solutions.is_some(), is_on_ids, "{count} rows");
        assert_eq!(rows(&asked, &place.snapshot()).expect("rows").len(), 4);
    }
}

#[test]
fn the_order_of_the_text_is_kept_or_left_to_the_library() {
    let place = Place::new(UNIVERSITY);
    for (text, is_on_ids) in [
        ("SELECT * { ?s :takes ?c . ?s :age ?a OPTIONAL { ?s :email ?e } }", true),
        ("SELECT * { VALUES ?s { :s1 } }", true),
        ("SELECT * { ?s :takes ?c VALUES ?s { :s1 } }", false),
        ("SELECT * { ?s :takes ?c OPTIONAL { ?s :email ?e } ?s :age ?a }", false),
    ] {
        let written = query(text).with_join_order(JoinOrder::Written);
        assert_eq!(written.evaluate_on_ids(&place.snapshot()).expect(text).is_some(), is_on_ids, "{text}");
    }
}

#[test]
fn an_explanation_has_the_order_that_runs() {
    let both = (0..100).map(|number| format!(":s{number} :p :o ; :q :o . "));
    let others = (0..200).map(|number| format!(":t{number} :r :o . :u{} :q :o . ", number % 50));
    let place = Place::new(&both.chain(others).collect::<String>());
    // After the first pattern, all terms of the second one are known. The third one has no match.
    let text = "SELECT * { ?a :p ?b . ?a :q ?b . ?a :r ?c }";
    let explained = query(text).explain_evaluated(&place.snapshot()).expect("explained");
    let mut solutions = query(text).evaluate_on_ids(&place.snapshot()).expect("begun").expect("on ids");
    while solutions.read(1_000, usize::MAX, |_| ()).expect("rows") {}
    assert_eq!(solutions.quads_read(), 200);
    assert_eq!(explained.quads_read, Some(200), "{explained}");
}

#[test]
fn a_query_of_too_many_names_is_left_to_the_library() {
    let place = Place::new(UNIVERSITY);
    for (count, is_on_ids) in [(200, true), (2_000, false)] {
        let branches: Vec<String> = (0..count).map(|number| format!("{{ ?v{number} :age 25 }}")).collect();
        let text = format!("ASK {{ {} }}", branches.join(" UNION "));
        assert_eq!(query(&text).evaluate_on_ids(&place.snapshot()).expect("no error").is_some(), is_on_ids, "{count}");
    }
}

#[test]
fn a_union_of_graphs_is_evaluated_on_ids_only_if_no_triple_can_be_in_two() {
    let union = query("SELECT * { ?s ?p ?o }").union_default_graph(true);
    let one = Place::new(":a :p :b");
    assert!(union.evaluate_on_ids(&one.snapshot()).expect("it is no error").is_some());
    let two = Place::new(":a :p :b . GRAPH :g { :a :p :b }");
    assert!(union.evaluate_on_ids(&two.snapshot()).expect("it is no error").is_none());
    assert_eq!(rows(&union, &two.snapshot()).expect("rows").len(), 1);
}

#[test]
fn values_are_ids_and_computed_terms_are_terms() {
    let place = Place::new(":a :v 1, 2, 4 . :b :v \"a text that is too long to be in a number\"");
    let snapshot = place.snapshot();
    let text = "SELECT ?s (COUNT(?v) AS ?n) (AVG(?v) AS ?m) { ?s :v ?v } GROUP BY ?s";
    let mut solutions = query(text).evaluate_on_ids(&snapshot).expect("begun").expect("on ids");
    assert_eq!(solutions.variables().len(), 3);
    let mut found = Vec::new();
    while solutions.read(10, 1_000, |row| found.push(row.values().collect::<Vec<_>>())).expect("rows") {}
    assert!(!solutions.read(10, 1_000, |_| panic!("there are no more rows")).expect("it has ended"));
    assert_eq!(solutions.quads_read(), 4);
    let mut texts: Vec<String> = found
        .iter()
        .map(|row| match &**row {
            [Some(SolutionValue::Stored(subject)), Some(SolutionValue::Stored(count)), average] => {
                let average = match average {
                    Some(SolutionValue::Computed(term)) => term.to_string(),
                    Some(SolutionValue::Stored(id)) => format!("stored {id:?}"),
                    None => "unbound".to_owned(),
                };
                let subject = snapshot.term(*subject).expect("a term");
                format!("{subject} {} {average}", count.inline_term().expect("a small number"))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    texts.sort();
    let integer = "^^<http://www.w3.org/2001/XMLSchema#integer>";
    let decimal = "^^<http://www.w3.org/2001/XMLSchema#decimal>";
    assert_eq!(
        texts,
        [
            format!("<http://a/a> \"3\"{integer} \"2.333333333333333333\"{decimal}"),
            format!("<http://a/b> \"1\"{integer} unbound"),
        ]
    );
}

#[test]
fn a_computed_term_has_the_same_number_in_all_rows() {
    let place = Place::new(":a :v 1, 2 . :b :v 3");
    let text = "SELECT ?x ?o ?none { VALUES ?x { \"a text that is too long to be in a number\" } ?s :v ?o }";
    let mut solutions = query(text).evaluate_on_ids(&place.snapshot()).expect("begun").expect("on ids");
    let mut count = 0;
    let each = |row: IdRow<'_>| {
        let ids: Vec<Option<SolutionId>> = row.ids().collect();
        assert!(matches!(*ids, [Some(SolutionId::Computed(0)), Some(SolutionId::Stored(_)), None]), "{ids:?}");
        let term = row.computed(0);
        assert_eq!(row.values().next(), Some(Some(SolutionValue::Computed(term))));
        count += 1;
    };
    assert!(!solutions.read(10, 1_000, each).expect("rows"));
    assert_eq!(count, 3);
}

#[test]
fn an_explanation_has_the_operators_that_run() {
    let place = Place::new(UNIVERSITY);
    let text = "SELECT ?p (COUNT(?s) AS ?n) { ?s :advisor ?p ; :age ?a FILTER(?a > 22) } GROUP BY ?p \
                HAVING (COUNT(?s) > 0)";
    let evaluated = query(text).explain_evaluated(&place.snapshot()).expect("explained");
    let names: Vec<&str> = evaluated.root.nodes().iter().map(|node| &*node.name).collect();
    let integer = "^^<http://www.w3.org/2001/XMLSchema#integer>";
    for expected in [
        "Project(?p, ?n)".to_owned(),
        "Extend(COUNT(?s) -> ?n)".to_owned(),
        format!("Filter((COUNT(?s) > \"0\"{integer}))"),
        "Aggregate(?p, COUNT(?s))".to_owned(),
        format!("Filter((?a > \"22\"{integer}))"),
        "QuadPattern(?s <http://a/advisor> ?p)".to_owned(),
        "QuadPattern(?s <http://a/age> ?a)".to_owned(),
    ] {
        assert!(names.contains(&&*expected), "{expected}: {evaluated}");
    }
    let of = |name: &str| evaluated.root.nodes().into_iter().find(|node| node.name.starts_with(name)).cloned();
    assert_eq!(of("Aggregate").and_then(|node| node.rows), Some(1), "{evaluated}");
    assert!(of("QuadPattern").is_some_and(|node| node.estimated_rows.is_some()), "{evaluated}");
    let planned = query(text).explain(&place.snapshot()).expect("explained");
    assert!(planned.root.nodes().iter().all(|node| node.rows.is_none()), "{planned}");
    assert_eq!(planned.quads_read, None);
}
