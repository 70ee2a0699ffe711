//! What ends an evaluation before its end: limits, tokens, texts that are none.

use std::time::Duration;

use fulgurite_rdf::sparql::{Limits, Query, QueryResults, Solutions, Update};
use fulgurite_rdf::{CancellationToken, Error, LimitKind, Quads};

use crate::fixture::{Fixture, prefixes, query, rows_of, update};

fn solutions(query: &Query, quads: &impl Quads) -> Solutions {
    match query.evaluate(quads).expect("begun") {
        QueryResults::Solutions(solutions) => solutions,
        other => panic!("{other:?}"),
    }
}

/// So many quads that going through their square takes long.
fn many() -> Fixture {
    let text: String = (0..400).map(|number| format!(":s{number} :p {number} . ")).collect();
    Fixture::new(&text)
}

#[test]
fn a_time_that_is_over_ends_a_query_once_and_then_there_is_nothing() {
    let fixture = many();
    let timeout = Duration::from_secs(1);
    let text = "SELECT * { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h . ?i :p ?j }";
    let error = first_error(&query(text).with_timeout(timeout), &fixture.snapshot());
    assert!(matches!(error, Error::TimedOut { timeout: limit } if limit == timeout), "{error}");
}

/// The error that ends the query, before its first row or after some. After it there is nothing.
fn first_error(query: &Query, quads: &impl Quads) -> Error {
    fn of<T>(mut results: impl Iterator<Item = Result<T, Error>>) -> Error {
        let error = results.by_ref().find_map(Result::err).expect("there are more results than time");
        assert!(results.next().is_none());
        assert!(results.next().is_none());
        error
    }
    match query.evaluate(quads) {
        Err(error) => error,
        Ok(QueryResults::Solutions(rows)) => of(rows),
        Ok(QueryResults::Triples(triples)) => of(triples),
        Ok(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_time_that_is_over_ends_a_query_that_has_no_rows_to_return() {
    let fixture = many();
    for text in [
        "SELECT (COUNT(*) AS ?n) { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h }",
        "SELECT * { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h FILTER(?b + ?d + ?f + ?h < 0) }",
        "SELECT * { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h } ORDER BY ?b",
        "SELECT * { { SELECT * { ?a :p ?b . ?c :p ?d } } { SELECT * { ?e :p ?f . ?g :p ?h } } FILTER(?b + ?f > 10000) }",
    ] {
        let limited = query(text).with_timeout(Duration::from_millis(50));
        let error = rows_of(&limited, &fixture.snapshot()).expect_err(text);
        assert!(matches!(error, Error::TimedOut { .. }), "{text}: {error}");
    }
}

#[test]
fn ask_construct_and_describe_are_timed_too() {
    let fixture = many();
    let ask = query("ASK { ?a :p ?b . ?c :p ?d . ?e :p ?f FILTER(?b + ?d + ?f < 0) }")
        .with_timeout(Duration::from_millis(20));
    assert!(matches!(ask.evaluate(&fixture.snapshot()), Err(Error::TimedOut { .. })));
    let all = "{ ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h }";
    for text in
        [format!("CONSTRUCT {{ ?a :q ?d }} {all}"), format!("DESCRIBE ?a {{ {all} FILTER(?b + ?d + ?f + ?h < 0) }}")]
    {
        let timed = query(&text).with_timeout(Duration::from_secs(1));
        let error = first_error(&timed, &fixture.snapshot());
        assert!(matches!(error, Error::TimedOut { .. }), "{text}: {error}");
    }
}

#[test]
fn rows_beyond_the_limit_are_an_error_and_those_before_it_are_returned() {
    let fixture = many();
    let mut rows =
        solutions(&query("SELECT * { ?s :p ?o }").with_limits(Limits::new().rows_max(3)), &fixture.snapshot());
    assert_eq!(rows.by_ref().take(3).filter(Result::is_ok).count(), 3);
    assert!(matches!(rows.next(), Some(Err(Error::LimitReached { what: LimitKind::Rows, limit: 3 }))));
    assert!(rows.next().is_none());
    let exactly = query("SELECT * { ?s :p ?o }").with_limits(Limits::new().rows_max(400));
    assert_eq!(rows_of(&exactly, &fixture.snapshot()).expect("rows").len(), 400);
}

#[test]
fn quads_read_beyond_the_limit_end_a_query() {
    let fixture = many();
    let limited = query("SELECT (COUNT(*) AS ?n) { ?s :p ?o }").with_limits(Limits::new().quads_read_max(100));
    let error = rows_of(&limited, &fixture.snapshot()).expect_err("too many");
    assert!(matches!(error, Error::LimitReached { what: LimitKind::QuadsRead, limit: 100 }), "{error}");
}

#[test]
fn terms_that_a_query_computes_are_bounded_in_memory() {
    let fixture = many();
    let text = "SELECT ?x { ?s :p ?o BIND(CONCAT(STR(?s), \" is a text that no store has\") AS ?x) }";
    let limited = query(text).with_limits(Limits::new().computed_bytes_max(10_000));
    let error = rows_of(&limited, &fixture.snapshot()).expect_err("too much");
    assert!(matches!(error, Error::LimitReached { what: LimitKind::ComputedTerms, .. }), "{error}");
    let enough = query(text).with_limits(Limits::new().computed_bytes_max(10_000_000));
    assert_eq!(rows_of(&enough, &fixture.snapshot()).expect("rows").len(), 400);
}

#[test]
fn a_token_ends_a_query_between_two_rows() {
    let fixture = many();
    let token = CancellationToken::new();
    let cancellable = query("SELECT * { ?s :p ?o }").with_limits(Limits::new().cancellation(token.clone()));
    let mut rows = solutions(&cancellable, &fixture.snapshot());
    assert!(matches!(rows.next(), Some(Ok(_))));
    token.cancel();
    assert!(matches!(rows.next(), Some(Err(Error::Cancelled))));
    assert!(rows.next().is_none());
}

#[test]
fn a_token_ends_from_another_thread_what_would_run_for_hours() {
    let fixture = many();
    let token = CancellationToken::new();
    let limits = Limits::new().cancellation(token.clone());
    let text = "SELECT (COUNT(*) AS ?n) { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h . ?i :p ?j }";
    let (begun, has_begun) = std::sync::mpsc::channel();
    let error = std::thread::scope(|scope| {
        let evaluation = scope.spawn(|| {
            begun.send(()).expect("somebody listens");
            rows_of(&query(text).with_limits(limits), &fixture.snapshot())
        });
        has_begun.recv().expect("begun");
        token.cancel();
        evaluation.join().expect("no panic")
    });
    assert!(matches!(error, Err(Error::Cancelled)), "{error:?}");
}

#[test]
fn an_update_that_comes_to_a_limit_changes_nothing() {
    let fixture = many();
    let before = fixture.quads();
    let text = "INSERT { ?a :q ?d } WHERE { ?a :p ?b . ?c :p ?d }";
    let limited = update(text).with_limits(Limits::new().rows_max(1_000));
    assert!(matches!(limited.execute(&fixture.store), Err(Error::LimitReached { what: LimitKind::Rows, .. })));
    let timed = update("INSERT DATA { :x :p 1 } ; INSERT { ?a :q ?d } WHERE { ?a :p ?b . ?c :p ?d }")
        .with_timeout(Duration::ZERO);
    assert!(matches!(timed.execute(&fixture.store), Err(Error::TimedOut { .. })));
    let token = CancellationToken::new();
    token.cancel();
    let cancelled = update("DELETE WHERE { ?s :p ?o }").with_limits(Limits::new().cancellation(token));
    assert!(matches!(cancelled.execute(&fixture.store), Err(Error::Cancelled)));
    assert_eq!(fixture.quads(), before);
}

#[test]
fn limits_bind_updates_that_have_no_where() {
    let fixture = Fixture::new(":a :p 1 , 2 , 3 . GRAPH :g { :a :p 1 , 2 , 3 }");
    let before = fixture.quads();
    for text in [
        "INSERT DATA { :b :p 1 , 2 , 3 }",
        "DELETE DATA { :a :p 1 , 2 , 3 }",
        "DELETE WHERE { :a :p ?o }",
        "CLEAR GRAPH :g",
        "CLEAR DEFAULT",
        "DROP GRAPH :g",
    ] {
        let limited = |limits| update(text).with_limits(limits).execute(&fixture.store);
        let error = limited(Limits::new().rows_max(2)).expect_err(text);
        assert!(matches!(error, Error::LimitReached { what: LimitKind::Rows, limit: 2 }), "{text}: {error}");
        let error = limited(Limits::new().timeout(Duration::ZERO)).expect_err(text);
        assert!(matches!(error, Error::TimedOut { .. }), "{text}: {error}");
        let token = CancellationToken::new();
        token.cancel();
        let error = limited(Limits::new().cancellation(token)).expect_err(text);
        assert!(matches!(error, Error::Cancelled), "{text}: {error}");
        assert_eq!(fixture.quads(), before, "{text}");
    }
    let all = update("CLEAR ALL").with_limits(Limits::new().rows_max(5)).execute(&fixture.store);
    assert!(matches!(all, Err(Error::LimitReached { what: LimitKind::Rows, limit: 5 })), "{all:?}");
    assert_eq!(fixture.quads(), before);
    let enough = update("CLEAR ALL").with_limits(Limits::new().rows_max(6)).execute(&fixture.store).expect("cleared");
    assert_eq!(enough.removed, 6);
    assert!(fixture.quads().is_empty());
}

#[test]
fn a_text_that_nests_too_deep_is_refused_and_not_a_crash() {
    for (open, close) in [("(", ")"), ("{", "}"), ("[ :p ", "]"), ("?s ?p ?o FILTER EXISTS {", "}")] {
        let nested = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        let text = if open == "(" {
            format!("SELECT * {{ ?s ?p ?o FILTER {nested} }}")
        } else {
            format!("SELECT * {{ {nested} }}")
        };
        let error = Query::parse_with_prefixes(&text, None, &prefixes()).expect_err("refused");
        assert!(matches!(error, Error::QueryTooDeep { .. }), "{error}");
    }
}

#[test]
fn texts_that_nest_deep_are_evaluated_all_the_same() {
    let people = Fixture::people();
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("SELECT * {{ {}{inner}{} }}", open.repeat(times), close.repeat(times))
    };
    assert_eq!(people.rows(&nested("{", "?s :age ?o", "}", 150)).len(), 4);
    assert_eq!(people.rows(&nested("{ SELECT * {", "?s :age ?o", "} }", 60)).len(), 4);
    assert_eq!(people.rows(&nested("?s :age ?o FILTER EXISTS {", "?s :age ?o", "}", 60)).len(), 4);
    assert_eq!(people.rows(&nested("?s :age ?o OPTIONAL {", "?s :name ?n", "}", 60)).len(), 5);
    let sum = format!("SELECT * {{ ?s :age ?o FILTER(0 < 1{}) }}", " + 1".repeat(400));
    assert_eq!(people.rows(&sum).len(), 4);
    let nodes = format!("ASK {{ FILTER(ISBLANK({}\"a\"{})) }}", "BNODE(STR(".repeat(150), "))".repeat(150));
    assert!(!people.ask(&nodes), "the text of a node is an error");
    let graphs = "GRAPH ?g { ".repeat(60);
    assert!(people.rows(&nested(&graphs, "{ SELECT (COUNT(*) AS ?n) { ?s ?p ?o } }", &"}".repeat(60), 1)).is_empty());
    let read = "GRAPH ?g { FILTER(!BOUND(?g)) ".repeat(60);
    assert!(people.rows(&nested(&read, "?s ?p ?o", &"}".repeat(60), 1)).is_empty());
    let sums = |count: usize| {
        // Equal aggregates would be one.
        let sum = |number: usize| format!(", STR(SUM(IF(?o > 9, ?o, 0 * {number})))");
        let sums: String = (0..count).map(sum).collect();
        format!("SELECT (CONCAT(\"\"{sums}) AS ?n) {{ ?s :age ?o }}")
    };
    assert_eq!(people.rows(&sums(200))[0].len(), "n=\"\"".len() + 200 * "96".len());
    assert!(matches!(Query::parse_with_prefixes(&sums(2_000), None, &prefixes()), Err(Error::QueryTooDeep { .. })));
    let options: String = (0..150).map(|number| format!("OPTIONAL {{ ?s :p{number} ?x{number} }} ")).collect();
    assert_eq!(people.rows(&format!("SELECT ?s {{ ?s :age ?o {options} }}")).len(), 4);
    let ask = format!("ASK {{ {}{} }}", "?s :age ?o FILTER EXISTS {".repeat(60), "}".repeat(60));
    assert!(people.ask(&ask));
    let construct = format!("CONSTRUCT {{ ?s :q ?o }} {{ {}?s :age ?o{} }}", "{".repeat(100), "}".repeat(100));
    assert_eq!(people.triples(&construct).len(), 4);
}

#[test]
fn a_deep_query_keeps_its_limits_and_may_be_dropped_in_the_middle() {
    let fixture = many();
    let deep = format!("SELECT * {{ {}?a :p ?b . ?c :p ?d{} }}", "{ SELECT * {".repeat(40), "} }".repeat(40));
    let limited = query(&deep).with_limits(Limits::new().rows_max(10));
    let mut rows = solutions(&limited, &fixture.snapshot());
    assert_eq!(rows.by_ref().take(10).filter(Result::is_ok).count(), 10);
    assert!(matches!(rows.next(), Some(Err(Error::LimitReached { .. }))));
    assert!(rows.next().is_none());
    let mut rows = solutions(&query(&deep), &fixture.snapshot());
    assert!(matches!(rows.next(), Some(Ok(_))));
    drop(rows);
    assert!(matches!(
        rows_of(&query(&deep).with_timeout(Duration::ZERO), &fixture.snapshot()),
        Err(Error::TimedOut { .. })
    ));
}

#[test]
fn a_list_of_a_thousand_alternatives_is_evaluated() {
    let list: Vec<String> = (0..1_000).map(|age| format!("?a = {age}")).collect();
    let rows = Fixture::people().rows(&format!("SELECT ?p {{ ?p :age ?a FILTER({}) }}", list.join(" || ")));
    assert_eq!(rows.len(), 4);
}

#[test]
fn a_syntax_error_says_where_and_what_was_expected() {
    let error = Query::parse("SELECT ?s\nWHERE { ?s ?p }", None).expect_err("no query");
    let Error::SparqlSyntax { line: 2, message, .. } = &error else { panic!("{error:?}") };
    assert!(message.contains("expected"), "{message}");
    assert!(error.to_string().starts_with("SPARQL, line 2, column "), "{error}");
    assert!(matches!(Update::parse("INSERT { }", None), Err(Error::SparqlSyntax { .. })));
    assert!(matches!(Query::parse("SELECT * { ?s unknown:p ?o }", None), Err(Error::SparqlSyntax { .. })));
}

#[test]
fn relative_iris_need_a_base_that_is_absolute() {
    assert!(matches!(Query::parse("SELECT * { <a> ?p ?o }", None), Err(Error::SparqlSyntax { .. })));
    assert!(matches!(Query::parse("SELECT * { <a> ?p ?o }", Some("relative")), Err(Error::Invalid { .. })));
    let based = Query::parse("SELECT ?o { <ann> <age> ?o }", Some("http://example.org/")).expect("a query");
    assert_eq!(rows_of(&based, &Fixture::people().snapshot()).expect("rows"), ["o=\"30\""]);
}

#[test]
fn another_endpoint_is_not_asked_and_silent_passes_over_that() {
    let people = Fixture::people();
    let text = "SELECT * { ?p :age ?a SERVICE <http://elsewhere.example/sparql> { ?p ?q ?r } }";
    let error = query(text).evaluate(&people.snapshot()).map(|_| ()).err();
    let error = match error {
        Some(error) => error,
        None => rows_of(&query(text), &people.snapshot()).expect_err("not asked"),
    };
    let Error::ServiceUnsupported { service } = &error else { panic!("{error}") };
    assert_eq!(service, "http://elsewhere.example/sparql");
    assert_eq!(people.rows(&text.replace("SERVICE", "SERVICE SILENT")).len(), 4);
}

#[test]
fn a_function_that_nobody_knows_is_an_error() {
    let people = Fixture::people();
    let error = rows_of(&query("SELECT (:f(?a) AS ?x) { ?p :age ?a }"), &people.snapshot()).expect_err("unknown");
    assert!(matches!(error, Error::FunctionUnknown { .. }), "{error}");
    assert!(error.to_string().contains("<http://example.org/f>"), "{error}");
}

#[test]
fn sides_of_minus_that_have_to_be_grouped_are_bounded_like_aggregates() {
    let people = Fixture::people();
    let minus = |depth: usize| {
        let inner = (0..depth).fold("?s :age ?o".to_owned(), |inner, number| {
            format!("?s :age ?o MINUS {{ ?x :never ?y{number} OPTIONAL {{ {inner} }} }}")
        });
        query(&format!("SELECT * {{ VALUES ?k {{ 1 }} LATERAL {{ {inner} }} }}"))
    };
    assert_eq!(rows_of(&minus(8), &people.snapshot()).expect("not too deep").len(), 4);
    let error = rows_of(&minus(9), &people.snapshot()).expect_err("too deep");
    assert!(matches!(error, Error::AggregatesTooDeep { limit: 8 }), "{error}");
}
