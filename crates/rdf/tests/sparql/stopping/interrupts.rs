//! What joins, filters, sorts and aggregates in memory alone, without reading a quad, is ended by time-outs, tokens and
//! limits too.
//!
//! Each of these texts would run for hours. A thread waits for the end, so that a test whose evaluation is not ended
//! fails.

use std::sync::mpsc::channel;
use std::time::Duration;

use fulgurite_rdf::sparql::{Limits, QueryResults};
use fulgurite_rdf::{CancellationToken, Error, LimitKind, Quads, Store};

use crate::fixture::{Fixture, query, rows_of, update};

/// Far beyond what any machine takes to see that a tenth of a second is over.
const PATIENCE: Duration = Duration::from_secs(240);

const TIMEOUT: Duration = Duration::from_millis(100);

fn list(variable: &str) -> String {
    let numbers: String = (0..1_000).map(|number| format!("{number} ")).collect();
    format!("VALUES ?{variable} {{ {numbers} }}")
}

/// Four lists of a thousand: a million million rows.
fn crossed() -> String {
    ["a", "b", "c", "d"].map(list).join(" ")
}

/// Queries whose first row, or whose second, would come in hours.
fn endless_queries() -> Vec<String> {
    let crossed = crossed();
    let (a, b, c, d, e) = (list("a"), list("b"), list("c"), list("d"), list("e"));
    let nothing = format!("VALUES () {{ {} }}", "() ".repeat(1_000));
    let undefined = format!("VALUES ?u {{ {} }}", "UNDEF ".repeat(1_000));
    vec![
        format!("SELECT (COUNT(*) AS ?n) {{ {crossed} }}"),
        format!("SELECT * {{ {crossed} FILTER(?a + ?b + ?c + ?d < 0) }}"),
        format!("SELECT * {{ {crossed} FILTER(1 = 2 || ?a + ?b + ?c + ?d = \"x\") }}"),
        format!("SELECT * {{ {crossed} }} ORDER BY ?d ?c"),
        format!("SELECT DISTINCT ?k {{ VALUES ?k {{ 1 }} {crossed} FILTER(?a + ?b + ?c + ?d >= 0) }} OFFSET 1"),
        format!("SELECT REDUCED ?k {{ VALUES ?k {{ 1 }} {crossed} }}"),
        format!("SELECT ?a (SUM(?b * ?c) AS ?n) (SAMPLE(?d) AS ?s) {{ {crossed} }} GROUP BY ?a"),
        format!("SELECT (COUNT(DISTINCT *) AS ?n) {{ {nothing} {crossed} }}"),
        format!("SELECT (GROUP_CONCAT(STR(?a + ?d)) AS ?n) {{ {crossed} FILTER(?a + ?b + ?c + ?d < 0) }}"),
        format!(
            "SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?a {{ {a} }} }} {{ SELECT * {{ {b} }} ORDER BY ?b }}
             {{ SELECT ?c (COUNT(*) AS ?m) {{ {c} }} GROUP BY ?c }} {{ SELECT * {{ {d} }} LIMIT 900 }} }}"
        ),
        "SELECT (COUNT(*) AS ?n) { { SELECT DISTINCT ?a { ?a :p ?x } } { SELECT DISTINCT ?b { ?b :p ?x } }
         { SELECT DISTINCT ?c { ?c :p ?x } } { SELECT DISTINCT ?d { ?d :p ?x } } { SELECT DISTINCT ?e { ?e :p ?x } } }"
            .to_owned(),
        format!("SELECT (COUNT(*) AS ?n) {{ {a} OPTIONAL {{ {b} }} OPTIONAL {{ {c} }} OPTIONAL {{ {d} }} }}"),
        format!("SELECT * {{ {crossed} MINUS {{ {a} {e} FILTER(?a + ?e < 1) }} FILTER(?a + ?b + ?c + ?d < 0) }}"),
        format!("SELECT * {{ {a} FILTER NOT EXISTS {{ {b} {c} {d} FILTER(?a + ?b + ?c + ?d < 0) }} }}"),
        format!("SELECT (IF(EXISTS {{ {b} {c} {d} FILTER(?a + ?b + ?c + ?d < 0) }}, 1, 2) AS ?x) {{ {a} }}"),
        format!("SELECT (COUNT(*) AS ?n) {{ {nothing} {nothing} {nothing} {nothing} }}"),
        format!(
            "SELECT (COUNT(*) AS ?n) {{ {undefined} {nothing} OPTIONAL {{ {nothing} }} OPTIONAL {{ {undefined} }} }}"
        ),
        format!("SELECT ?u {{ {nothing} {nothing} {undefined} {nothing} }} ORDER BY ?u"),
        "SELECT (COUNT(*) AS ?n) { ?a (:p|^:p)/(:p|^:p)/(:p|^:p)/(:p|^:p)/(:p|^:p)/(:p|^:p)/(:p|^:p)/(:p|^:p) ?b .
         ?c ((:p|^:p)*/(:p|^:p)*)* ?d . ?e (:p|^:p)* ?f . ?g (:p|^:p)* ?h }"
            .to_owned(),
        format!("ASK {{ {crossed} FILTER(?a + ?b + ?c + ?d < 0) }}"),
        format!("CONSTRUCT {{ :x :y ?a }} {{ {crossed} FILTER(?a + ?b + ?c + ?d < 0) }}"),
        format!("DESCRIBE ?a {{ {crossed} FILTER(?a + ?b + ?c + ?d < 0) }}"),
    ]
}

fn endless_updates() -> Vec<String> {
    let crossed = crossed();
    vec![
        format!("INSERT {{ :x :q ?a }} WHERE {{ {crossed} FILTER(?a + ?b + ?c + ?d < 0) }}"),
        format!("DELETE {{ :s1 :p ?n }} WHERE {{ {{ SELECT (COUNT(*) AS ?n) {{ {crossed} }} }} }}"),
        format!(
            "DELETE {{ ?s ?p ?o }} INSERT {{ ?s ?p 1 }} WHERE {{ ?s ?p ?o FILTER EXISTS {{ {crossed} FILTER(?a < 0 - ?d) }} }}"
        ),
    ]
}

/// A few quads among twenty nodes.
fn few() -> Fixture {
    let text: String = (0..20).flat_map(|from| (0..20).map(move |to| format!(":s{from} :p :s{to} . "))).collect();
    Fixture::new(&text)
}

/// Runs `work` on a thread of its own, and returns what it returns. A panic if that is not soon.
fn soon<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || sender.send(work()).is_ok());
    let result = receiver.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(thread.join().expect("no panic"));
    result
}

/// The error that ends a query of any form. A second one, or more results, is a panic.
fn error_of(text: &str, limits: Limits, quads: &impl Quads) -> Option<Error> {
    fn ended<T>(mut rows: impl Iterator<Item = Result<T, Error>>) -> Option<Error> {
        let error = rows.by_ref().find_map(Result::err);
        assert!(rows.next().is_none());
        assert!(rows.next().is_none());
        error
    }
    match query(text).with_limits(limits).evaluate(quads) {
        Err(error) => Some(error),
        Ok(QueryResults::Boolean(_)) => None,
        Ok(QueryResults::Solutions(rows)) => ended(rows),
        Ok(QueryResults::Triples(rows)) => ended(rows),
    }
}

#[test]
fn a_query_that_reads_no_quads_is_ended_by_its_time() {
    let fixture = few();
    for text in endless_queries() {
        let (snapshot, limits) = (fixture.snapshot(), Limits::new().timeout(TIMEOUT));
        let asked = text.clone();
        let error = soon(&text, move || error_of(&asked, limits, &snapshot));
        assert!(matches!(error, Some(Error::TimedOut { timeout: TIMEOUT })), "{text}: {error:?}");
    }
}

#[test]
fn a_query_that_reads_no_quads_is_ended_by_a_token_of_another_thread() {
    let fixture = few();
    for text in endless_queries() {
        let (snapshot, token) = (fixture.snapshot(), CancellationToken::new());
        let (asked, limits) = (text.clone(), Limits::new().cancellation(token.clone()));
        let (timed, error) = soon(&text, move || {
            std::thread::scope(|scope| {
                let evaluation = scope.spawn(|| error_of(&asked, limits, &snapshot));
                // The time of another evaluation: the one that is to be ended is in its loop by then.
                let timed = error_of(&asked, Limits::new().timeout(TIMEOUT), &snapshot);
                token.cancel();
                (timed, evaluation.join().expect("no panic"))
            })
        });
        assert!(matches!(timed, Some(Error::TimedOut { .. })), "{text}: {timed:?}");
        assert!(matches!(error, Some(Error::Cancelled)), "{text}: {error:?}");
    }
}

#[test]
fn an_explanation_of_such_a_query_is_ended_too() {
    let fixture = few();
    for text in endless_queries() {
        let (snapshot, token) = (fixture.snapshot(), CancellationToken::new());
        let asked = text.clone();
        let (timed, cancelled) = soon(&text, move || {
            let explain = |limits| query(&asked).with_limits(limits).explain_evaluated(&snapshot).err();
            std::thread::scope(|scope| {
                let limits = Limits::new().cancellation(token.clone());
                let evaluation = scope.spawn(move || explain(limits));
                let timed = explain(Limits::new().timeout(TIMEOUT));
                token.cancel();
                (timed, evaluation.join().expect("no panic"))
            })
        });
        assert!(matches!(timed, Some(Error::TimedOut { .. })), "{text}: {timed:?}");
        assert!(matches!(cancelled, Some(Error::Cancelled)), "{text}: {cancelled:?}");
    }
}

#[test]
fn an_update_that_reads_few_quads_is_ended_and_changes_nothing() {
    let fixture = few();
    let before = fixture.quads();
    for text in endless_updates() {
        let (store, token): (Store, _) = (fixture.store.clone(), CancellationToken::new());
        let asked = text.clone();
        let (timed, cancelled) = soon(&text, move || {
            let execute = |limits| update(&asked).with_limits(limits).execute(&store).err();
            std::thread::scope(|scope| {
                let limits = Limits::new().cancellation(token.clone());
                let evaluation = scope.spawn(move || execute(limits));
                let timed = execute(Limits::new().timeout(TIMEOUT));
                token.cancel();
                (timed, evaluation.join().expect("no panic"))
            })
        });
        assert!(matches!(timed, Some(Error::TimedOut { .. })), "{text}: {timed:?}");
        assert!(matches!(cancelled, Some(Error::Cancelled)), "{text}: {cancelled:?}");
    }
    assert_eq!(fixture.quads(), before);
    assert_eq!(fixture.update("INSERT DATA { :x :q 1 }").inserted, 1);
}

#[test]
fn rows_and_memory_of_terms_bound_what_reads_no_quads() {
    let fixture = few();
    let (a, b, c) = (list("a"), list("b"), list("c"));
    let rows = |text: &str, limits: Limits| error_of(text, limits, &fixture.snapshot());
    let crossed = format!("SELECT * {{ {a} {b} {c} }}");
    let error = rows(&crossed, Limits::new().rows_max(5));
    assert!(matches!(error, Some(Error::LimitReached { what: LimitKind::Rows, limit: 5 })), "{error:?}");
    let explained = query(&crossed).with_limits(Limits::new().rows_max(5)).explain_evaluated(&fixture.snapshot());
    assert!(matches!(explained, Err(Error::LimitReached { what: LimitKind::Rows, limit: 5 })), "{explained:?}");
    let computed = format!(
        "ASK {{ {a} {b} {c} FILTER EXISTS {{ BIND(CONCAT(STR(?a), \" is a text that no store has \", STR(?b)) AS ?x) FILTER(?x < \"\") }} }}"
    );
    let error = rows(&computed, Limits::new().computed_bytes_max(100_000));
    assert!(matches!(error, Some(Error::LimitReached { what: LimitKind::ComputedTerms, .. })), "{error:?}");
    let insertion = format!("INSERT {{ :x :q ?a }} WHERE {{ {a} {b} {c} }}");
    let error = update(&insertion).with_limits(Limits::new().rows_max(5)).execute(&fixture.store);
    assert!(matches!(error, Err(Error::LimitReached { what: LimitKind::Rows, limit: 5 })), "{error:?}");
}

#[test]
fn evaluations_that_take_turns_on_a_thread_keep_their_limits() {
    let fixture = few();
    let token = CancellationToken::new();
    let text = format!("SELECT * {{ {} {} }}", list("a"), list("b"));
    let begin = |limits| match query(&text).with_limits(limits).evaluate(&fixture.snapshot()) {
        Ok(QueryResults::Solutions(rows)) => rows,
        other => panic!("{other:?}"),
    };
    let mut ended = begin(Limits::new().cancellation(token.clone()));
    let mut other = begin(Limits::new());
    assert!(ended.next().is_some_and(|row| row.is_ok()) && other.next().is_some_and(|row| row.is_ok()));
    token.cancel();
    assert!(matches!(ended.next(), Some(Err(Error::Cancelled))));
    assert!(ended.next().is_none());
    assert_eq!(other.filter(Result::is_ok).count(), 1_000_000 - 1);
}

#[test]
fn rows_that_bind_nothing_are_joined_and_counted_as_ever() {
    let people = Fixture::people();
    for (text, expected) in [
        ("SELECT (COUNT(*) AS ?n) { VALUES () { () () } VALUES ?u { UNDEF UNDEF UNDEF } }", "n=\"6\""),
        ("SELECT (COUNT(DISTINCT *) AS ?n) { VALUES () { () () } VALUES ?u { UNDEF 1 } }", "n=\"2\""),
        (
            "SELECT (COUNT(DISTINCT *) AS ?n) { { VALUES () { () () } VALUES ?u { UNDEF 1 } } UNION { VALUES ?u { UNDEF 1 } } }",
            "n=\"2\"",
        ),
        ("SELECT (COUNT(*) AS ?n) { VALUES () { () () } MINUS { VALUES () { () () } } }", "n=\"2\""),
        ("SELECT (COUNT(*) AS ?n) { VALUES ?u { UNDEF 1 2 } MINUS { VALUES ?u { UNDEF 1 1 } } }", "n=\"2\""),
        ("SELECT (COUNT(*) AS ?n) { VALUES () { () () } OPTIONAL { VALUES () { () () () } } }", "n=\"6\""),
    ] {
        assert_eq!(people.rows(text), [expected], "{text}");
    }
    let rows = people.rows("SELECT * { VALUES ?u { UNDEF 1 } VALUES () { () () } { ?p :age 7 } UNION { ?q :age 25 } }");
    assert_eq!(rows.len(), 8);
    assert!(
        rows.iter().all(|row| row.starts_with("p=dan") || row.starts_with("q=bob") || row.starts_with("u=")),
        "{rows:?}"
    );
}

#[test]
fn rows_before_the_time_is_over_are_returned() {
    let fixture = few();
    let text = format!("SELECT * {{ {} }}", crossed());
    let limited = query(&text).with_timeout(Duration::ZERO);
    assert!(matches!(rows_of(&limited, &fixture.snapshot()), Err(Error::TimedOut { .. })));
}
