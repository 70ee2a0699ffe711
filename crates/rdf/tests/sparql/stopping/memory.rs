//! A limit of memory ends whatever holds too much of it, and nothing else: rows that have left the evaluation do not
//! count, however many there were and wherever they are dropped, and neither does what was freed.

use std::sync::mpsc::sync_channel;

use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
use fulgurite_rdf::sparql::{Limits, QueryResults, Solutions, Update};
use fulgurite_rdf::{Database, Error, LimitKind, Quads, Store, StoreOptions};
use tempfile::TempDir;

use crate::fixture::{Fixture, query, update};

/// Room for what every evaluation takes, and for a row or a thousand.
const SMALL: u64 = 1 << 19;
/// More than any of these texts takes.
const LARGE: u64 = 1 << 30;

/// The number of terms, a few of each kind.
const TERMS: usize = 1_000;
/// How many nodes are in a ring by `:next`.
const RING: usize = 300;

/// Terms of all kinds, in numbers and in the dictionary, all of them objects of `:p`; and nodes in a ring.
fn fixture() -> Fixture {
    let terms = (0..TERMS).map(|n| {
        let year = 1900 + n;
        let term = match n % 14 {
            0 => format!(":an-iri-that-is-somewhat-long-{n}"),
            1 => format!("\"short{n}\""),
            2 => format!("\"a text that does not fit into a number, {n}\""),
            3 => format!("\"{n}\"@fr"),
            4 => format!("\"a text that does not fit into a number either, {n}\"@en-GB"),
            5 => format!("{n}.5"),
            6 => format!("{n}.25e3"),
            7 => format!("\"{year}-02-03T04:05:06Z\"^^xsd:dateTime"),
            8 => format!("\"{year}-02-03\"^^xsd:date"),
            9 => format!("\"{n}\"^^:a-type-of-the-users"),
            10 => format!("_:b{n}"),
            11 => format!("\"0{n}\"^^xsd:integer"),
            12 => format!("<<( :an-iri-that-is-somewhat-long-{n} :p \"another text that does not fit, {n}\" )>>"),
            _ => format!("-{n}"),
        };
        let next = if n < RING { format!(":s{n} :next :s{} . ", (n + 1) % RING) } else { String::new() };
        format!(":s{n} :p {term} . {next}")
    });
    Fixture::new(&terms.collect::<String>())
}

fn list(variable: &str, rows: usize) -> String {
    let numbers: String = (0..rows).map(|number| format!("{number} ")).collect();
    format!("VALUES ?{variable} {{ {numbers} }}")
}

/// So many rows that holding them takes many times the small limit.
fn many_rows() -> String {
    format!("{} {}", list("a", 400), list("b", 100))
}

/// Sorts these rows.
fn sorted() -> String {
    format!("SELECT ?a ?b {{ {} }} ORDER BY DESC(?b) ?a", many_rows())
}

/// Sorts a hundred times so many rows.
fn sorted_hundreds(hundreds: usize) -> String {
    format!("SELECT ?a ?b {{ {} {} }} ORDER BY DESC(?b) ?a", list("a", 100), list("b", hundreds))
}

fn large_queries() -> Vec<String> {
    let many = many_rows();
    vec![
        sorted(),
        format!("SELECT DISTINCT * {{ {many} }}"),
        format!("SELECT ?a ?b (COUNT(*) AS ?n) {{ {many} }} GROUP BY ?a ?b"),
        format!("SELECT (COUNT(DISTINCT *) AS ?n) {{ {many} }}"),
        format!("SELECT (SUM(DISTINCT ?a * 1000 + ?b) AS ?n) {{ {many} }}"),
        format!("SELECT (STRLEN(GROUP_CONCAT(CONCAT(\"a text \", STR(?a)))) AS ?n) {{ {many} }}"),
        format!("SELECT (COUNT(*) AS ?n) {{ {} {{ SELECT DISTINCT * {{ {many} }} }} }}", list("a", 2)),
        format!("SELECT (COUNT(*) AS ?n) {{ {} OPTIONAL {{ SELECT * {{ {many} }} LIMIT 35000 }} }}", list("a", 2)),
        format!("SELECT (COUNT(*) AS ?n) {{ {} MINUS {{ {many} }} }}", list("a", 2)),
        format!(
            "SELECT (COUNT(*) AS ?n) {{ {} FILTER EXISTS {{ SELECT DISTINCT * {{ {many} }} OFFSET 35000 }} }}",
            list("c", 2)
        ),
        format!(
            "SELECT (COUNT(*) AS ?n) {{ {many} BIND(CONCAT(\"a text of its own\", STR(?a), \" \", STR(?b)) AS ?x) }}"
        ),
        "SELECT (COUNT(*) AS ?n) { ?a :next+ ?b }".to_owned(),
        "SELECT (COUNT(*) AS ?n) { ?a (:next|^:next)* ?b }".to_owned(),
        format!("ASK {{ {{ SELECT DISTINCT * {{ {many} }} OFFSET 35000 }} }}"),
        format!("CONSTRUCT {{ ?s :p ?b }} {{ {many} BIND(IRI(CONCAT(\"http://example.org/\", STR(?a))) AS ?s) }}"),
        format!("DESCRIBE ?x :s1 {{ {many} BIND(IRI(CONCAT(\"http://example.org/\", STR(?a * 1000 + ?b))) AS ?x) }}"),
    ]
}

/// The rows before the error that ends it, if one does.
fn outcome(text: &str, limits: Limits, quads: &impl Quads) -> (u64, Option<Error>) {
    fn counted<T>(rows: impl Iterator<Item = Result<T, Error>>) -> (u64, Option<Error>) {
        let mut count = 0;
        for row in rows {
            match row {
                Ok(_) => count += 1,
                Err(error) => return (count, Some(error)),
            }
        }
        (count, None)
    }
    match query(text).with_limits(limits).evaluate(quads) {
        Err(error) => (0, Some(error)),
        Ok(QueryResults::Boolean(_)) => (1, None),
        Ok(QueryResults::Solutions(rows)) => counted(rows),
        Ok(QueryResults::Triples(rows)) => counted(rows),
    }
}

fn is_of_memory(error: Option<&Error>, bytes: u64) -> bool {
    matches!(error, Some(Error::LimitReached { what: LimitKind::Memory, limit }) if *limit == bytes)
}

fn small() -> Limits {
    Limits::new().memory_bytes_max(SMALL)
}

fn solutions(text: &str, limits: Limits, quads: &impl Quads) -> Solutions {
    match query(text).with_limits(limits).evaluate(quads) {
        Ok(QueryResults::Solutions(rows)) => rows,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn each_operator_that_holds_more_than_the_limit_ends_and_less_than_it_does_not() {
    let fixture = fixture();
    for text in large_queries() {
        let (_, error) = outcome(&text, small(), &fixture.snapshot());
        assert!(is_of_memory(error.as_ref(), SMALL), "{text}: {error:?}");
        let (rows, error) = outcome(&text, Limits::new().memory_bytes_max(LARGE), &fixture.snapshot());
        assert!(rows > 0 && error.is_none(), "{text}: {error:?}");
    }
}

#[test]
fn an_explanation_ends_at_the_limit_and_tells_the_peak() {
    let fixture = fixture();
    let explain = |limits| query(&sorted()).with_limits(limits).explain_evaluated(&fixture.snapshot());
    let error = explain(small()).err();
    assert!(is_of_memory(error.as_ref(), SMALL), "{error:?}");
    for limits in [Limits::new(), Limits::new().memory_bytes_max(LARGE)] {
        let explanation = explain(limits).expect("it is within the limit");
        // Rows of two terms, of eight bytes each at least.
        let peak = explanation.memory_bytes_peak.expect("there is a meter");
        assert!((400 * 100 * 16..LARGE).contains(&peak), "{peak}");
        assert!(explanation.to_string().ends_with(&format!("memory: peak {peak} bytes\n")), "{explanation}");
    }
    let planned = query(&sorted()).explain(&fixture.snapshot()).expect("a plan");
    assert_eq!(planned.memory_bytes_peak, None);
}

#[test]
fn a_query_that_nests_deep_is_held_to_the_limit_on_its_own_thread() {
    let fixture = fixture();
    let deep = (0..80).fold(sorted(), |inner, _| format!("SELECT DISTINCT * {{ {{ {inner} }} }}"));
    let (_, error) = outcome(&deep, small(), &fixture.snapshot());
    assert!(is_of_memory(error.as_ref(), SMALL), "{error:?}");
    let short = deep.replace("ORDER BY DESC(?b) ?a", "LIMIT 1");
    let (rows, error) = outcome(&short, Limits::new().memory_bytes_max(LARGE), &fixture.snapshot());
    assert!(rows == 1 && error.is_none(), "{error:?}");
}

#[test]
fn an_update_that_holds_more_than_the_limit_changes_nothing() {
    let fixture = fixture();
    let before = fixture.quads().len();
    for text in [
        "INSERT { ?a :q ?y } WHERE { ?a :p ?x . ?b :p ?y . FILTER(STRSTARTS(STR(?b), \"http://example.org/s1\")) }",
        "DELETE { ?a :next ?y } INSERT { ?a :p 1 } WHERE { ?a :p ?x . ?b :next ?y \
         FILTER(STRSTARTS(STR(?b), \"http://example.org/s1\")) }",
        "INSERT { :x :q ?n } WHERE { SELECT (COUNT(DISTINCT *) AS ?n) { ?a :p ?x . ?b :next ?y \
         FILTER(STRSTARTS(STR(?b), \"http://example.org/s1\")) } }",
    ] {
        let execute = |limits, store: &Store| update(text).with_limits(limits).execute(store);
        let error = execute(small(), &fixture.store).err();
        assert!(is_of_memory(error.as_ref(), SMALL), "{text}: {error:?}");
        assert_eq!(fixture.quads().len(), before, "{text}");
        let mut transaction = fixture.store.begin().expect("a transaction");
        let enough: Update = update(text).with_limits(Limits::new().memory_bytes_max(LARGE));
        let report = enough.execute_in(&mut transaction).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(report.inserted > 0, "{text}");
    }
}

/// Rows that need not be held, of terms of all kinds: a hundred thousand and more each.
fn streamed() -> [(String, u64); 4] {
    let (a, few) = (list("a", 300), list("a", 100));
    [
        (format!("SELECT * {{ {a} ?s :p ?x }}"), 300_000),
        (format!("SELECT ?x ?y {{ {a} ?s :next ?t . ?s :p ?x . ?t :p ?y }}"), 90_000),
        (
            format!(
                "SELECT ?x ?n {{ {few} ?s :p ?x BIND(IF(?a < 2, STR(?x), ?a + 0.5) AS ?n) OPTIONAL {{ ?x :nothing ?z }} }}"
            ),
            100_000,
        ),
        (format!("CONSTRUCT {{ [] :p ?x }} {{ {few} ?s :p ?x }}"), 100_000),
    ]
}

#[test]
fn rows_that_are_not_held_need_little_memory() {
    let fixture = fixture();
    for (text, expected) in streamed() {
        let (rows, error) = outcome(&text, small(), &fixture.snapshot());
        assert!(rows == expected && error.is_none(), "{text}: {rows} {error:?}");
    }
}

#[test]
fn rows_that_are_passed_over_leave_the_count_as_it_was() {
    let fixture = fixture();
    let a = list("a", 80);
    // The first that exceeds the limit alone. Two bytes too much or too little for each of the rows before it would be
    // more than what the last that does not has left.
    let comes_to_the_limit = |hundreds: &usize| {
        let (_, error) = outcome(&sorted_hundreds(*hundreds), small(), &fixture.snapshot());
        is_of_memory(error.as_ref(), SMALL)
    };
    let more = (20..100).step_by(5).find(comes_to_the_limit).expect("a large sort exceeds the limit");
    assert!(more > 25, "{more}");
    for passed_over in [
        format!("{a} ?s :p ?x"),
        format!("{a} ?s :p ?x FILTER(STRLEN(STR(?x)) < ?a - 2000)"),
        format!("{a} {} ?s :next ?t . ?t :p ?y FILTER(REGEX(STR(?y), \"never\") || STR(?y) = STR(?a))", list("b", 3)),
        format!("{a} ?s :p ?x FILTER NOT EXISTS {{ ?s :next ?t . ?t :p ?x . ?s :p ?a }} FILTER(STRLEN(STR(?x)) = 0)"),
        format!("{a} ?s :p ?x FILTER(EXISTS {{ GRAPH ?g {{ ?s :p ?x }} }})"),
    ] {
        let and_sorted = format!("SELECT ?x ?a {{ {{ {passed_over} }} UNION {{ {} }} }}", sorted_hundreds(more));
        let (_, error) = outcome(&and_sorted, small(), &fixture.snapshot());
        assert!(is_of_memory(error.as_ref(), SMALL), "{passed_over}: {error:?}");
        let alone = format!("SELECT (COUNT(*) AS ?n) {{ {passed_over} }}");
        let (rows, error) = outcome(&alone, small(), &fixture.snapshot());
        assert!(rows == 1 && error.is_none(), "{passed_over}: {error:?}");
    }
}

#[test]
fn rows_that_the_caller_keeps_or_drops_on_another_thread_do_not_count() {
    let fixture = fixture();
    let text = format!("SELECT * {{ {} ?s :p ?x }}", list("a", 250));
    let kept: Vec<_> = solutions(&text, small(), &fixture.snapshot()).collect();
    assert!(kept.len() == 250 * TERMS && kept.iter().all(Result::is_ok));
    drop(kept);
    let (sender, receiver) = sync_channel(64);
    let thread = std::thread::spawn(move || receiver.into_iter().filter(Result::is_ok).count());
    for row in solutions(&text, small(), &fixture.snapshot()) {
        sender.send(row).expect("it is received");
    }
    drop(sender);
    assert_eq!(thread.join().expect("no panic"), 250 * TERMS);
}

#[test]
fn evaluations_that_take_turns_on_a_thread_count_apart() {
    let fixture = fixture();
    let text = format!("SELECT DISTINCT ?a ?b {{ {} }}", many_rows());
    let mut large = solutions(&text, Limits::new().memory_bytes_max(LARGE), &fixture.snapshot());
    let mut streamed = solutions(&format!("SELECT * {{ {} }}", many_rows()), small(), &fixture.snapshot());
    let mut other = solutions(&text, small(), &fixture.snapshot());
    let mut ended = None;
    for _ in 0..400 * 100 {
        assert!(large.next().is_some_and(|row| row.is_ok()));
        assert!(streamed.next().is_some_and(|row| row.is_ok()));
        ended = ended.or_else(|| other.next().and_then(Result::err));
    }
    assert!(large.next().is_none() && streamed.next().is_none());
    assert!(is_of_memory(ended.as_ref(), SMALL), "{ended:?}");
}

#[test]
fn pages_that_the_store_caches_do_not_count() {
    let directory = TempDir::new().expect("a directory");
    let engine = Database::options().create(true).map(false).cache_bytes(64 << 20);
    let path = directory.path().join("a.ful");
    let store = Store::open_with(engine, &path, StoreOptions::new()).expect("a store");
    let node = |n: usize| NamedNode::new_unchecked(format!("http://example.org/{n}"));
    store
        .update(|transaction| {
            for n in 0..30_000 {
                let text = Literal::new_simple_literal(format!("{n} {}", "a text ".repeat(30 + n % 7)));
                transaction.insert(&Quad::new(node(n), node(0), text, GraphName::DefaultGraph))?;
            }
            Ok(())
        })
        .expect("inserted");
    store.database().checkpoint().expect("a checkpoint");
    let text = "SELECT * { ?s ?p ?o FILTER(STRLEN(STR(?o)) > 0) }";
    for _ in 0..2 {
        let (rows, error) = outcome(text, small(), &store.snapshot().expect("a snapshot"));
        assert!(rows == 30_000 && error.is_none(), "{rows} {error:?}");
    }
}

/// A store of texts of so many bytes each.
fn texts(bytes: impl Iterator<Item = usize>) -> Fixture {
    let fixture = Fixture::new("");
    let node = |name: String| NamedNode::new_unchecked(format!("http://example.org/{name}"));
    let quad = |(number, bytes): (usize, usize)| {
        let text = Literal::new_simple_literal(format!("{number} {}", "t".repeat(bytes)));
        Quad::new(node(format!("t{number:05}")), node("text".to_owned()), text, GraphName::DefaultGraph)
    };
    fixture.add(&bytes.enumerate().map(quad).collect::<Vec<_>>());
    fixture
}

#[test]
fn a_row_that_holds_more_than_the_limit_ends_the_rows() {
    let fixture = texts([10, 10, 10, 2 << 20].into_iter());
    let text = "SELECT ?text { ?t :text ?text }";
    let (rows, error) = outcome(text, small(), &fixture.snapshot());
    assert!(is_of_memory(error.as_ref(), SMALL), "{rows} {error:?}");
    let (rows, error) = outcome(text, Limits::new().memory_bytes_max(LARGE), &fixture.snapshot());
    assert!(rows == 4 && error.is_none(), "{rows} {error:?}");
}

#[test]
fn rows_that_hold_more_than_the_limit_together_are_within_it_one_after_the_other() {
    // Short ones come first: the evaluation reads many rows together when the long ones follow.
    let fixture = texts((0..1_200).map(|number| if number < 1_000 { 10 } else { 300_000 }));
    let (rows, error) = outcome("SELECT ?text { ?t :text ?text }", small(), &fixture.snapshot());
    assert!(rows == 1_200 && error.is_none(), "{rows} {error:?}");
}
