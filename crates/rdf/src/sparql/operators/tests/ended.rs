//! What ends evaluations on ids: limits, tokens, and callers that want no more.

use std::time::Duration;

use super::fixture::{Place, query, rows};
use crate::sparql::{Limits, QueryResults};
use crate::{CancellationToken, Error, LimitKind};

/// So many quads that joins of some of them take hours.
fn many() -> Place {
    Place::new(&(0..400).map(|number| format!(":s{number} :p {number} . ")).collect::<String>())
}

/// Queries on ids without a row for hours. The filters need all patterns.
const ENDLESS: [&str; 5] = [
    "SELECT (COUNT(*) AS ?n) { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h . ?i :p ?j }",
    "SELECT * { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h . ?i :p ?j \
     FILTER(!(BOUND(?b) && BOUND(?d) && BOUND(?f) && BOUND(?h) && BOUND(?j))) }",
    "SELECT DISTINCT ?k { VALUES ?k { 1 } ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h } OFFSET 1",
    "SELECT ?j { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h . ?i :p ?j } ORDER BY ?j ?a LIMIT 3",
    "ASK { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h . ?i :p ?j \
     FILTER(!(BOUND(?b) && BOUND(?d) && BOUND(?f) && BOUND(?h) && BOUND(?j))) }",
];

#[test]
fn a_time_out_ends_operators_that_return_no_rows() {
    let place = many();
    for text in ENDLESS {
        let timed = query(text).with_timeout(Duration::from_millis(30));
        assert!(timed.evaluate_on_ids(&place.snapshot()).expect(text).is_some(), "{text}");
        let error = rows(&timed, &place.snapshot()).expect_err(text);
        assert!(matches!(error, Error::TimedOut { .. }), "{text}: {error}");
    }
}

#[test]
fn a_time_out_ends_the_planning_of_long_values() {
    let place = many();
    let nodes: String = (0..50_000).map(|number| format!(":unknown{number} ")).collect();
    let timed = query(&format!("SELECT * {{ VALUES ?a {{ {nodes} }} }}")).with_timeout(Duration::from_millis(1));
    let error = timed.evaluate_on_ids(&place.snapshot()).expect_err("terms are looked up for longer");
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
}

#[test]
fn a_token_and_a_time_out_end_an_answer_that_takes_few_keys() {
    let place = many();
    let token = CancellationToken::new();
    token.cancel();
    let cancelled = query("ASK { :s1 :p 1 }").with_limits(Limits::new().cancellation(token));
    let error = rows(&cancelled, &place.snapshot()).expect_err("it was cancelled");
    assert!(matches!(error, Error::Cancelled), "{error}");
    let error = rows(&query("ASK { :s1 :p 1 }").with_timeout(Duration::ZERO), &place.snapshot()).expect_err("no time");
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
}

#[test]
fn a_call_returns_after_its_keys_in_groups_sorts_and_rows_that_are_dropped() {
    let place = many();
    // Groups and sorted rows count as keys when they are returned, after all quads were read.
    for (text, calls_min) in [
        ("SELECT (COUNT(*) AS ?n) { VALUES ?k { 1 2 3 } ?a :p ?b }", 100),
        ("SELECT ?b { ?a ?x ?b } ORDER BY ?b LIMIT 3 OFFSET 397", 70),
        ("SELECT ?b (COUNT(?a) AS ?n) { ?a :p ?b } GROUP BY ?b HAVING (COUNT(?a) > 1)", 70),
        ("SELECT DISTINCT ?k { VALUES ?k { 1 2 } ?a :p ?b }", 70),
        ("SELECT ?a { ?a :p ?b } OFFSET 399", 35),
    ] {
        let mut solutions = query(text).evaluate_on_ids(&place.snapshot()).expect(text).expect(text);
        let (mut calls, mut read_before) = (1, 0);
        while solutions.read(100, 10, |_| ()).expect(text) {
            calls += 1;
            let read = solutions.quads_read();
            assert!(read - read_before <= 10, "{text}: {} quads in a call for ten keys", read - read_before);
            read_before = read;
        }
        assert!(calls >= calls_min, "{text}: {calls} calls");
    }
}

#[test]
fn the_quads_that_an_error_ended_are_counted() {
    let place = many();
    let limited = query("SELECT ?b { ?a :p ?b }").with_limits(Limits::new().quads_read_max(100));
    let mut solutions = limited.evaluate_on_ids(&place.snapshot()).expect("begun").expect("on ids");
    let mut count = 0;
    let error = solutions.read(1_000, usize::MAX, |_| count += 1).expect_err("too many quads");
    assert!(matches!(error, Error::LimitReached { what: LimitKind::QuadsRead, .. }), "{error}");
    assert!(count > 0 && solutions.quads_read() > 100, "{count} rows, {} quads", solutions.quads_read());
}

#[test]
fn a_token_ends_an_evaluation_between_two_calls() {
    let place = many();
    for text in ENDLESS {
        let token = CancellationToken::new();
        let limited = query(text).with_limits(Limits::new().cancellation(token.clone()));
        let mut solutions = limited.evaluate_on_ids(&place.snapshot()).expect(text).expect(text);
        for _ in 0..3 {
            assert!(solutions.read(100, 10_000, |_| panic!("{text}: a row")).expect(text), "{text}");
        }
        token.cancel();
        let error = solutions.read(100, 10_000, |_| panic!("{text}: a row")).expect_err(text);
        assert!(matches!(error, Error::Cancelled), "{text}: {error}");
        assert!(!solutions.read(100, 10_000, |_| panic!("{text}: a row")).expect("it has ended"));
    }
}

#[test]
fn an_evaluation_goes_on_where_another_thread_has_left_it() {
    let place = many();
    let asked = query("SELECT ?b { ?a :p ?b }").with_limits(Limits::new().rows_max(350));
    let mut solutions = asked.evaluate_on_ids(&place.snapshot()).expect("begun").expect("on ids");
    let mut count = 0;
    assert!(solutions.read(100, usize::MAX, |_| count += 1).expect("rows"));
    let rest = std::thread::spawn(move || {
        let mut count = 0;
        loop {
            match solutions.read(100, usize::MAX, |_| count += 1) {
                Ok(true) => {}
                Ok(false) => panic!("there are more rows than the limit"),
                Err(error) => return (count, error),
            }
        }
    });
    let (more, error) = rest.join().expect("no panic");
    assert_eq!((count, more), (100, 250));
    assert!(matches!(error, Error::LimitReached { what: LimitKind::Rows, limit: 350 }), "{error}");
}

#[test]
fn quads_beyond_the_limit_end_an_evaluation_after_the_rows_before_them() {
    let place = many();
    let limited = query("SELECT ?b { ?a :p ?b }").with_limits(Limits::new().quads_read_max(100));
    let QueryResults::Solutions(mut solutions) = limited.evaluate(&place.snapshot()).expect("begun") else {
        panic!("no solutions");
    };
    assert_eq!(solutions.by_ref().take(100).filter(|row| row.is_ok()).count(), 100);
    assert!(matches!(solutions.next(), Some(Err(Error::LimitReached { what: LimitKind::QuadsRead, limit: 100 }))));
    assert!(solutions.next().is_none());
    let grouped = query("SELECT (COUNT(*) AS ?n) { ?a :p ?b }").with_limits(Limits::new().quads_read_max(100));
    let error = rows(&grouped, &place.snapshot()).expect_err("too many");
    assert!(matches!(error, Error::LimitReached { what: LimitKind::QuadsRead, .. }), "{error}");
}

#[test]
fn solutions_read_little_for_a_caller_that_stops_early() {
    let place = many();
    let asked = query("SELECT * { ?a :p ?b . ?c :p ?d }");
    let QueryResults::Solutions(mut solutions) = asked.evaluate(&place.snapshot()).expect("begun") else {
        panic!("no solutions");
    };
    for returned in 1..=20 {
        assert!(solutions.next().is_some_and(|row| row.is_ok()));
        let read = solutions.quads_read().expect("it has not ended");
        assert!(read <= 2 * returned + 2, "{read} quads for {returned} rows");
    }
}
