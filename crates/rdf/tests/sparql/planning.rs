//! The order of joins: what it saves, that it changes no answer, and how it is explained.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fulgurite_rdf::oxrdf::{Term, TermRef};
use fulgurite_rdf::sparql::{JoinOrder, Limits, Query, QueryResults};
use fulgurite_rdf::{Error, GraphNames, IdPattern, IdQuad, Position, QuadIds, Quads, Snapshot, TermId};

use crate::fixture::{Fixture, parse, query, rows_of};

/// A thousand people in ten departments. One department has an office in another town.
fn company() -> Fixture {
    let mut text = String::from(":d7 :town :far . ");
    for person in 0..1_000 {
        let department = person % 10;
        text.push_str(&format!(
            ":p{person} rdf:type :Person ; :worksFor :d{department} ; :name \"person {person}\" ; :badge {person} . "
        ));
    }
    for department in (0..10).filter(|department| *department != 7) {
        text.push_str(&format!(":d{department} :town :near . "));
    }
    Fixture::new(&text)
}

/// The rows, sorted, and the quads read for them.
fn measured(fixture: &Fixture, query: &Query) -> (Vec<String>, u64) {
    let explanation = query.explain_evaluated(&fixture.snapshot()).expect("explained");
    let mut rows = rows_of(query, &fixture.snapshot()).expect("rows");
    rows.sort();
    (rows, explanation.quads_read.expect("evaluated"))
}

#[test]
fn counts_save_fifty_times_the_quads_of_a_badly_written_order() {
    let fixture = company();
    let text = "SELECT ?n { ?p rdf:type :Person . ?p :name ?n . ?p :worksFor ?d . ?d :town :far . ?p :badge 17 }";
    let (planned, planned_reads) = measured(&fixture, &query(text));
    let (written, written_reads) = measured(&fixture, &query(text).with_join_order(JoinOrder::Written));
    assert_eq!(planned, ["n=\"person 17\""]);
    assert_eq!(planned, written);
    assert!(planned_reads * 50 <= written_reads, "{planned_reads} quads read with counts, {written_reads} as written");
}

#[test]
fn a_chain_is_gone_along_from_its_selective_end() {
    let fixture = company();
    let text = "SELECT (COUNT(*) AS ?c) { ?p :name ?n . ?p :worksFor ?d . ?d :town :far }";
    let (planned, planned_reads) = measured(&fixture, &query(text));
    let (written, written_reads) = measured(&fixture, &query(text).with_join_order(JoinOrder::Written));
    assert_eq!(planned, ["c=\"100\""]);
    assert_eq!(planned, written);
    // One department, a hundred people, a hundred names; as written, a thousand names, departments and towns.
    assert!(planned_reads <= 210, "{planned_reads}");
    assert!(written_reads > 2_000, "{written_reads}");
}

#[test]
fn the_order_sees_values_and_what_stands_outside_an_option() {
    let fixture = company();
    let (rows, reads) = measured(&fixture, &query("SELECT ?n { ?p :name ?n . ?p :worksFor ?d VALUES ?p { :p3 :p4 } }"));
    assert_eq!(rows.len(), 2);
    assert!(reads <= 4, "{reads}");
    let (rows, reads) = measured(
        &fixture,
        &query(
            "SELECT ?p ?n { ?p :badge 5 OPTIONAL { ?q rdf:type :Person . ?q :name ?n . ?q :badge 6 . ?p :worksFor ?d } }",
        ),
    );
    assert_eq!(rows, ["p=p5 n=\"person 6\""]);
    assert!(reads <= 10, "{reads}");
}

#[test]
fn a_path_between_unknown_nodes_reads_the_quads_of_each_node_once() {
    let fixture = Fixture::new(&(0..200).map(|leaf| format!(":hub :p :leaf{leaf} . ")).collect::<String>());
    let (rows, reads) = measured(&fixture, &query("SELECT (COUNT(*) AS ?n) { ?x :p* ?y }"));
    assert_eq!(rows, ["n=\"401\""]);
    assert!(reads <= 1_000, "{reads}");
}

#[test]
fn what_others_change_of_what_only_planning_has_counted_is_no_conflict() {
    // On ids, and by the library.
    for last in ["", "BIND(STR(?work) AS ?text)"] {
        for (change, is_conflict) in [(":bob :paints :three", false), (":ann :paints :three", true)] {
            let fixture = Fixture::new(":ann rdf:type :Painter ; :paints :one, :two .");
            let text = format!("SELECT ?work {{ ?who :paints ?work . ?who rdf:type :Painter {last} }}");
            let mut transaction = fixture.store.begin().expect("a transaction");
            assert_eq!(rows_of(&query(&text), &transaction.view()).expect("rows").len(), 2);
            transaction.insert(&parse(":one rdf:type :Work .")[0]).expect("inserted");
            fixture.update(&format!("INSERT DATA {{ {change} }}"));
            assert_eq!(transaction.commit().is_err(), is_conflict, "{text} {change}");
        }
    }
}

#[test]
fn branches_of_a_union_are_looked_up_for_the_rows_beside_them() {
    let fixture = company();
    let (rows, reads) = measured(
        &fixture,
        &query("SELECT ?x { { ?p :name ?x } UNION { ?p :worksFor ?x } ?p rdf:type :Person . ?p :badge 9 }"),
    );
    assert_eq!(rows.len(), 2);
    assert!(reads <= 10, "{reads}");
}

#[test]
fn filters_are_put_to_rows_as_early_as_they_can_be() {
    let fixture = company();
    let text = "SELECT ?n { ?p :name ?n . ?p :badge ?b FILTER(?b < 3) }";
    let (rows, reads) = measured(&fixture, &query(text));
    assert_eq!(rows.len(), 3);
    assert!(reads <= 1_003, "the names of three people are read, not of a thousand: {reads}");
}

#[test]
fn the_order_is_chosen_within_named_graphs_and_unions_of_graphs_too() {
    let mut text = String::from("GRAPH :g1 { ");
    for person in 0..300 {
        text.push_str(&format!(":p{person} :name {person} ; :worksFor :d{} . ", person % 3));
    }
    text.push_str("} GRAPH :g2 { :p5 :chosen true }");
    let fixture = Fixture::new(&text);
    let (rows, reads) = measured(
        &fixture,
        &query("SELECT ?n { GRAPH :g1 { ?p :worksFor ?d . ?p :name ?n } GRAPH :g2 { ?p :chosen true } }"),
    );
    assert_eq!(rows, ["n=\"5\""]);
    assert!(reads <= 5, "{reads}");
    let all = query("SELECT ?n { ?p :worksFor ?d . ?p :name ?n . ?p :chosen true }").union_default_graph(true);
    let (rows, reads) = measured(&fixture, &all);
    assert_eq!(rows, ["n=\"5\""]);
    assert!(reads <= 10, "{reads}");
}

/// Every query is asked in both orders, of a store that is small enough for the written one.
#[test]
fn the_order_changes_no_answer() {
    let people = Fixture::new(
        ":ann :knows :bob, :cid ; :age 30 ; :name \"Ann\" . :bob :knows :cid ; :age 25 . :cid :knows :ann ; :age 41 .
         GRAPH :g { :ann :age 31 . :bob :likes :ann } GRAPH :h { :cid :likes :bob . :ann :knows :cid }",
    );
    for text in [
        "SELECT * { ?a :knows ?b . ?b :knows ?c . ?c :knows ?a }",
        "SELECT * { ?a :knows ?b . ?a :age ?x . ?b :age ?y FILTER(?x < ?y) }",
        "SELECT * { ?a :knows ?b OPTIONAL { ?b :name ?n } ?b :age ?x }",
        "SELECT * { ?a :knows ?b OPTIONAL { ?b :name ?n . ?b :age ?x FILTER(?x > 29) } }",
        "SELECT * { ?a :knows ?b { ?a :age ?x } UNION { ?b :name ?x } }",
        "SELECT * { ?a :knows+ ?b . ?b :age ?x . ?a :name ?n }",
        "SELECT * { ?a :knows ?b VALUES (?a ?x) { (:ann UNDEF) (UNDEF 25) } ?b :age ?x }",
        "SELECT * { GRAPH ?g { ?a :age ?x } ?a :knows ?b }",
        "SELECT * { GRAPH ?g { ?a :likes ?b } GRAPH ?h { ?b :knows|:age ?c } }",
        "SELECT * { ?a :knows ?b { SELECT ?b (COUNT(*) AS ?n) { ?x :knows ?b } GROUP BY ?b } }",
        "SELECT * { ?a :knows ?b MINUS { ?b :name ?n } ?b :knows ?c }",
        "SELECT * { ?a :knows ?b FILTER NOT EXISTS { ?b :age ?x . ?b :knows ?c . ?c :name ?n } }",
        "SELECT * { ?a :knows [ :knows ?c ; :age ?x ] . ?c :age ?y }",
        "SELECT * { ?a :age ?x BIND(?x + 1 AS ?y) ?b :age ?z FILTER(?z > ?y) }",
        "SELECT * { ?a ?p ?b . ?b ?p ?c }",
        "SELECT * { ?a :knows ?b . ?c :likes ?d }",
        "SELECT * { { ?a :knows ?b OPTIONAL { ?a :name ?n } } { ?b :age ?x OPTIONAL { ?b :name ?n } } }",
    ] {
        let (planned, _) = measured(&people, &query(text));
        let (written, _) = measured(&people, &query(text).with_join_order(JoinOrder::Written));
        assert_eq!(planned, written, "{text}");
        for order in [JoinOrder::Counts, JoinOrder::Written] {
            let (union, _) = measured(&people, &query(text).union_default_graph(true).with_join_order(order));
            let (other, _) = measured(&people, &query(text).union_default_graph(true));
            assert_eq!(union, other, "{text}");
        }
    }
}

#[test]
fn an_explanation_has_the_operators_with_estimated_and_actual_rows() {
    let fixture = company();
    let asked = query("SELECT ?n { ?p :name ?n . ?p :worksFor ?d . ?d :town :far } ORDER BY ?n");
    let estimated = asked.explain(&fixture.snapshot()).expect("explained");
    assert_eq!(estimated.quads_read, None);
    assert!(estimated.root.nodes().iter().all(|node| node.rows.is_none()));
    let evaluated = asked.explain_evaluated(&fixture.snapshot()).expect("explained");
    let patterns: Vec<_> =
        evaluated.root.nodes().into_iter().filter(|node| node.name.starts_with("QuadPattern")).collect();
    let figures: Vec<_> = patterns.iter().map(|node| (node.estimated_rows, node.rows)).collect();
    assert_eq!(figures, [(Some(1.0), Some(1)), (Some(100.0), Some(100)), (Some(100.0), Some(100))], "{evaluated}");
    let text = evaluated.to_string();
    assert!(
        text.contains("Sort(ASC(?n))")
            && text.contains("estimated 100  actual 100")
            && text.contains("quads read: 201"),
        "{text}"
    );
}

#[test]
fn an_explanation_has_the_keys_of_a_sort_as_they_are_written() {
    let text = "SELECT ?n { ?p :name ?n } ORDER BY DESC(STRLEN(?n)) ?p";
    let explanation = query(text).explain(&company().snapshot()).expect("explained").to_string();
    assert!(explanation.contains("Sort(DESC(STRLEN(?n)), ASC(?p))"), "{explanation}");
    assert!(!explanation.contains('·'), "{explanation}");
}

#[test]
fn a_query_tells_how_many_quads_it_has_read_so_far() {
    let fixture = company();
    let QueryResults::Solutions(mut rows) =
        query("SELECT ?p { ?p rdf:type :Person }").evaluate(&fixture.snapshot()).expect("begun")
    else {
        panic!("no solutions");
    };
    rows.next().expect("a row").expect("no error");
    assert_eq!(rows.quads_read(), Some(1));
    assert_eq!(rows.by_ref().count(), 999);
    assert_eq!(rows.quads_read(), None);
}

#[test]
fn a_long_join_within_a_graph_is_looked_at_once() {
    let fixture = Fixture::new("GRAPH :g { :a :p :b }");
    let paths: Vec<String> = (0..64).map(|number| format!("?x{number} (:p|:q)* ?x{}", number + 1)).collect();
    let text = format!("SELECT * {{ GRAPH ?g {{ {} }} }}", paths.join(" . "));
    query(&text).with_join_order(JoinOrder::Written).explain(&fixture.snapshot()).expect("planned");
}

/// Quads that may be counted so often.
#[derive(Clone)]
struct Counted {
    quads: Snapshot,
    left: Arc<AtomicU64>,
}

impl Quads for Counted {
    fn quads(&self, pattern: &IdPattern) -> QuadIds {
        self.quads.quads(pattern)
    }

    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds> {
        self.quads.quads_sorted_by(pattern, position)
    }

    fn count(&self, pattern: &IdPattern) -> Result<u64, Error> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        assert!(left > 0, "more patterns are counted than the query deserves");
        self.quads.count(pattern)
    }

    fn counts_fast(&self, pattern: &IdPattern) -> bool {
        self.quads.counts_fast(pattern)
    }

    fn term(&self, id: TermId) -> Result<Term, Error> {
        self.quads.term(id)
    }

    fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>, Error> {
        self.quads.id(term)
    }

    fn contains(&self, quad: &IdQuad) -> Result<bool, Error> {
        self.quads.contains(quad)
    }

    fn graph_names(&self) -> GraphNames {
        self.quads.graph_names()
    }

    fn contains_graph(&self, graph: TermId) -> Result<bool, Error> {
        self.quads.contains_graph(graph)
    }

    fn namespaces(&self) -> Result<Vec<(String, String)>, Error> {
        self.quads.namespaces()
    }
}

#[test]
fn results_release_the_quads_when_they_end() {
    let fixture = company();
    for (text, is_error) in [
        ("SELECT ?p { ?p rdf:type :Person }", false),
        ("SELECT ?p ?d { ?p :worksFor ?d ; :badge 3 }", false),
        ("SELECT ?p ?d { ?p :worksFor ?d }", true),
    ] {
        let limits = if is_error { Limits::new().rows_max(100) } else { Limits::new() };
        let asked = query(text).with_limits(limits);
        let left = Arc::new(AtomicU64::new(50_000));
        let quads = Counted { quads: fixture.snapshot(), left: Arc::clone(&left) };
        let QueryResults::Solutions(mut rows) = asked.evaluate(&quads).expect("begun") else {
            panic!("no solutions");
        };
        let mut solutions = asked.evaluate_on_ids(&quads).expect("begun").expect("on ids");
        drop(quads);
        assert_eq!(Arc::strong_count(&left), 3, "{text}");
        assert_eq!(rows.by_ref().any(|row| row.is_err()), is_error, "{text}");
        assert!(rows.next().is_none());
        assert_eq!(Arc::strong_count(&left), 2, "{text}");
        let last = loop {
            match solutions.read(100, 1_000, |_| ()) {
                Ok(true) => {}
                last => break last,
            }
        };
        assert_eq!(last.is_err(), is_error, "{text}");
        assert_eq!(Arc::strong_count(&left), 1, "{text}");
        drop((rows, solutions));
    }
}

#[test]
fn a_query_that_is_left_to_the_library_by_its_text_counts_nothing_before() {
    let fixture = company();
    let text = "SELECT * { { ?p :name ?n . ?p :worksFor ?d } UNION { ?p :badge ?b FILTER(STR(?b) = \"1\") } }";
    let quads = Counted { quads: fixture.snapshot(), left: Arc::new(AtomicU64::new(0)) };
    assert!(query(text).evaluate_on_ids(&quads).expect("it is no error").is_none());
}

#[test]
fn planning_takes_work_that_grows_gently_with_the_nesting() {
    let fixture = Fixture::new(":a :p :b . :b :p :c .");
    let mut pattern = "?x :p ?y".to_owned();
    for level in 0..60 {
        pattern = format!("?x :p ?y{level} . {{ ?x :p ?z }} UNION {{ {pattern} }}");
    }
    for order in [JoinOrder::Counts, JoinOrder::Written] {
        let quads = Counted { quads: fixture.snapshot(), left: Arc::new(AtomicU64::new(50_000)) };
        let query = query(&format!("SELECT * {{ {pattern} }}")).with_join_order(order);
        query.explain(&quads).expect("planned");
    }
}

#[test]
fn a_plan_has_the_expressions_of_the_text() {
    let people = Fixture::people();
    let mut failures = Vec::new();
    let integer = "^^<http://www.w3.org/2001/XMLSchema#integer>";
    for (text, operator) in [
        ("SELECT ?p { ?p :age ?a FILTER(?a > 5) }", "Filter((?a > \"5\"))"),
        ("SELECT ?p { ?p :age ?a FILTER(?a + 1 < 20) }", "Filter((?a + \"1\" < \"20\"))"),
        ("SELECT ?p { ?p :age ?a FILTER(isNumeric(?a) && !?a) }", "Filter((!?a && isNUMERIC(?a)))"),
        (
            "SELECT ?p { ?p :age ?a . ?q :age ?b FILTER(?a = ?b || ?a IN (1, ?b)) }",
            "Filter(((?a IN (\"1\", ?b)) || (?a = ?b)))",
        ),
        ("SELECT ?p { ?p :age ?a . ?q :age ?b FILTER(?a <= ?b) }", "Filter((?a <= ?b))"),
        ("SELECT (STR(?a) AS ?x) { ?p :age ?a }", "Extend(STR(?a) -> ?x)"),
        ("SELECT (DATATYPE(?a) AS ?x) { ?p :age ?a }", "Extend(DATATYPE(?a) -> ?x)"),
        ("SELECT (COALESCE(?a, 007) AS ?x) { ?p :age ?a }", "Extend(COALESCE(?a, \"007\") -> ?x)"),
        ("SELECT (IF(?a, ?a, 1) AS ?x) { ?p :age ?a }", "Extend(IF(?a, ?a, \"1\") -> ?x)"),
        ("SELECT (STRDT(?n, :t) AS ?x) { ?p :name ?n }", "Extend(STRDT(?n, <t>) -> ?x)"),
        ("SELECT (BNODE(?n) AS ?x) { ?p :name ?n }", "Extend(BNODE(?n) -> ?x)"),
        ("SELECT (REGEX(?n, \"^a\\\\(\", \"i\") AS ?x) { ?p :name ?n }", "Extend(REGEX(?n, \"^a\\\\(\", \"i\") -> ?x)"),
        ("SELECT (REGEX(?n, \"(a)\\\\1\") AS ?x) { ?p :name ?n }", "Extend(REGEX(?n, \"(a)\\\\1\") -> ?x)"),
        ("SELECT (REPLACE(?n, ?n, \"b\") AS ?x) { ?p :name ?n }", "Extend(REPLACE(?n, ?n, \"b\") -> ?x)"),
        ("SELECT (SUM(?a) AS ?x) { ?p :age ?a }", "Extend(SUM(?a) -> ?x)"),
        ("SELECT (SUM(?a) AS ?x) { ?p :age ?a } GROUP BY ?p", "Aggregate(?p, SUM(?a))"),
        (
            "SELECT (MAX(DISTINCT IF(?a > 7, ?a, 0)) AS ?x) { ?p :age ?a }",
            "Aggregate(MAX(DISTINCT IF((?a > \"7\"), ?a, \"0\")))",
        ),
        (
            "SELECT (GROUP_CONCAT(?a; SEPARATOR = \", \") AS ?x) { ?p :age ?a }",
            "Aggregate(GROUP_CONCAT(?a; SEPARATOR = \", \"))",
        ),
        ("SELECT ?p { ?p :age ?a } ORDER BY DESC(?a + 1) ?p", "Sort(DESC(?a + \"1\"), ASC(?p))"),
        ("SELECT ?p { ?p :age ?a } ORDER BY ?a LIMIT 1", "Filter(mayBeInResult(?a))"),
        ("SELECT ?g { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s :p ?o } } }", "QuadPattern(?s <p> ?o ?g)"),
        ("SELECT ?x { ?x !:p ?y }", "QuadPattern(?x [] ?y)"),
        ("SELECT ?g { GRAPH ?g { ?s :p ?o FILTER EXISTS { ?o :q ?g } } }", "QuadPattern(?o <q> ?g ?g)"),
    ] {
        let plan = query(text).explain_evaluated(&people.snapshot()).expect("explained");
        let short = |name: &str| name.replace(integer, "").replace("http://example.org/", "");
        let names: Vec<String> = plan.root.nodes().iter().map(|node| short(&node.name)).collect();
        if !names.iter().any(|name| name == operator) {
            failures.push(format!("{text}: no {operator} in {names:#?}"));
        }
        for name in &names {
            let is_lower = |at: usize| name[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
            let is_ours = name.contains("<pattern") || name.match_indices("< ").any(|(at, _)| is_lower(at));
            if name.contains('·') || is_ours {
                failures.push(format!("{text}: {name}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
