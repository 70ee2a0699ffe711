//! `SERVICE`: what is sent to other endpoints and how often, what comes of their answers, and what becomes of their
//! failures.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fulgurite_rdf::sparesults::QueryResultsFormat;
use fulgurite_rdf::sparql::{
    JoinOrder, Limits, Query, QueryResults, ServiceError, ServiceHandler, ServiceRequest, ServiceResponse, Update,
};
use fulgurite_rdf::{CancellationToken, Error, LimitKind, Snapshot, Store};

use crate::fixture::{Fixture, prefixes, query, rows_of};

const TOWNS: &str = r#"
:ann :town :arles . :bob :town :berne . :cid :town :arles .
:arles :size 50 . :berne :size 140 .
_:n :town _:t . _:t :size 1 .
"#;

/// Answers from another store, and keeps what it was asked.
struct Other {
    store: Store,
    asked: Mutex<Vec<(String, String)>>,
    format: QueryResultsFormat,
}

impl Other {
    fn new(fixture: &Fixture) -> Arc<Self> {
        Self::in_form(fixture, QueryResultsFormat::Json)
    }

    fn in_form(fixture: &Fixture, format: QueryResultsFormat) -> Arc<Self> {
        Arc::new(Self { store: fixture.store.clone(), asked: Mutex::default(), format })
    }

    fn asked(&self) -> usize {
        self.asked.lock().expect("nothing panics with it").len()
    }
}

impl ServiceHandler for Other {
    fn ask(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, ServiceError> {
        let (endpoint, text) = (request.endpoint().to_owned(), request.query().to_owned());
        self.asked.lock().expect("nothing panics with it").push((endpoint.clone(), text.clone()));
        if !endpoint.starts_with("http://towns.example/") {
            return Err(ServiceError::new("it is not reached; check the URL"));
        }
        let failed = |error: Error| ServiceError::new(error.to_string());
        // Another thread, as of a server: the evaluation here is not within the one that asks.
        let store = self.store.clone();
        let format = self.format;
        let answer = std::thread::spawn(move || {
            let snapshot = store.snapshot()?;
            let mut body = Vec::new();
            match Query::parse(&text, None)?.evaluate(&snapshot)? {
                QueryResults::Solutions(solutions) => solutions.write(format, &mut body)?,
                _ => panic!("a SELECT is sent"),
            };
            Ok(body)
        });
        let body = answer.join().expect("it does not panic").map_err(failed)?;
        Ok(ServiceResponse::new(format, body))
    }
}

fn evaluated(text: &str, snapshot: &Snapshot, handler: &Arc<Other>) -> Result<Vec<String>, Error> {
    let handler: Arc<dyn ServiceHandler> = Arc::clone(handler) as _;
    let mut rows = rows_of(&query(text).with_service(handler), snapshot)?;
    rows.sort();
    Ok(rows)
}

#[test]
fn a_clause_is_sent_once_whatever_stands_beside_it_and_its_rows_are_joined() {
    let (people, towns) = (Fixture::people(), Fixture::new(TOWNS));
    let both = Fixture::people();
    both.add(&crate::fixture::parse(TOWNS));
    let service = "SERVICE <http://towns.example/> { ?p :town ?t . ?t :size ?size }";
    let here = "{ ?p :town ?t . ?t :size ?size }";
    for (text, requests) in [
        ("?p :age ?age . §", 1),
        ("§ ?p :age ?age", 1),
        ("?p :age ?age . ?p :knows ?q . § FILTER(?size > 60)", 1),
        ("?p :age ?age OPTIONAL { § }", 1),
        ("?p :age ?age MINUS { § }", 1),
        ("?p :age ?age FILTER EXISTS { § }", 1),
        ("?p :age ?age FILTER NOT EXISTS { § }", 1),
        ("{ § } UNION { ?p :age ?age }", 1),
        ("{ SELECT ?p (COUNT(*) AS ?n) { § } GROUP BY ?p } ?p :age ?age", 1),
        ("?p :age ?age LATERAL { SELECT ?p ?size { § } LIMIT 100 }", 1),
        ("VALUES ?p { :ann :dan } §", 1),
        ("?p :age ?age . ?p :none ?q . §", 1),
        ("?p :age ?age", 0),
    ] {
        for order in [JoinOrder::Counts, JoinOrder::Written] {
            let handler = Other::new(&towns);
            let filled = |with: &str| format!("SELECT * {{ {} }}", text.replace('§', with));
            let with = query(&filled(service)).with_join_order(order).with_service(Arc::clone(&handler) as _);
            let mut rows = rows_of(&with, &people.snapshot()).unwrap_or_else(|error| panic!("{text}: {error}"));
            rows.sort();
            // Only named people: blank nodes of another store are others here.
            rows.retain(|row| !row.contains("_:"));
            let mut expected = rows_of(&query(&filled(here)), &both.snapshot()).expect("rows");
            expected.sort();
            expected.retain(|row| !row.contains("_:"));
            assert_eq!(rows, expected, "{text} {order:?}");
            assert!(handler.asked() <= requests, "{text}: {} requests", handler.asked());
        }
    }
}

#[test]
fn answers_come_in_every_form_that_has_types() {
    let (people, towns) = (Fixture::people(), Fixture::new(TOWNS));
    for format in [QueryResultsFormat::Json, QueryResultsFormat::Xml, QueryResultsFormat::Tsv] {
        let handler = Other::in_form(&towns, format);
        let text = "SELECT ?p ?size { ?p :age 30 SERVICE <http://towns.example/> { ?p :town/:size ?size } }";
        let rows = evaluated(text, &people.snapshot(), &handler).expect("rows");
        assert_eq!(rows, ["p=ann size=\"50\""], "{format:?}");
    }
}

#[test]
fn a_variable_endpoint_is_asked_once_for_each_of_its_values() {
    let (people, towns) = (Fixture::people(), Fixture::new(TOWNS));
    let values = "VALUES (?p ?e) { (:ann <http://towns.example/1>) (:cid <http://towns.example/1>) (:bob <http://towns.example/2>) }";
    for text in [
        format!("SELECT ?p ?t {{ {values} SERVICE ?e {{ ?p :town ?t }} }}"),
        format!("SELECT ?p ?t {{ SERVICE ?e {{ ?p :town ?t }} {values} }}"),
        format!("SELECT ?p ?t {{ {values} OPTIONAL {{ SERVICE ?e {{ ?p :town ?t }} }} }}"),
        format!("SELECT ?p ?t {{ {values} OPTIONAL {{ SERVICE SILENT ?e {{ ?p :town ?t }} }} }}"),
        format!("SELECT ?p ?t {{ {values} {{ SERVICE ?e {{ ?p :town ?t }} }} UNION {{ ?x :nothing ?t }} }}"),
    ] {
        for order in [JoinOrder::Counts, JoinOrder::Written] {
            let handler = Other::new(&towns);
            let with = query(&text).with_join_order(order).with_service(Arc::clone(&handler) as _);
            let mut rows = rows_of(&with, &people.snapshot()).unwrap_or_else(|error| panic!("{text}: {error}"));
            rows.sort();
            assert_eq!(rows, ["p=ann t=arles", "p=bob t=berne", "p=cid t=arles"], "{text}");
            assert_eq!(handler.asked(), 2, "{text}");
        }
    }
    for (text, expected) in [
        ("SELECT * { SERVICE ?e { ?p :town ?t } }", "a variable that nothing beside it binds"),
        ("SELECT * { VALUES ?e { \"text\" } SERVICE ?e { ?p :town ?t } }", "this is not an IRI"),
    ] {
        let error = evaluated(text, &people.snapshot(), &Other::new(&towns)).expect_err(text);
        assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn an_endpoint_that_fails_ends_the_query_wherever_it_is_asked_unless_silent() {
    let people = Fixture::people();
    for text in [
        "SELECT * { § }",
        "SELECT * { ?p :age ?age . § }",
        "SELECT * { ?p :age ?age OPTIONAL { § } }",
        "SELECT * { ?p :age ?age FILTER EXISTS { § } }",
        "SELECT * { ?p :age ?age FILTER NOT EXISTS { § } }",
        "SELECT * { ?p :age ?age MINUS { § } }",
        "SELECT ?p { ?p :age ?age } ORDER BY EXISTS { § }",
    ] {
        let filled =
            |keyword: &str| text.replace('§', &format!("SERVICE {keyword} <http://gone.example/> {{ ?p :q ?r }}"));
        let handler = Other::new(&people);
        let error = evaluated(&filled(""), &people.snapshot(), &handler).expect_err(text);
        let expected = "SERVICE <http://gone.example/>: it is not reached; check the URL";
        assert!(matches!(error, Error::Service { .. }) && error.to_string() == expected, "{text}: {error}");
        assert_eq!(handler.asked(), 1, "{text}");
        let handler = Other::new(&people);
        evaluated(&filled("SILENT"), &people.snapshot(), &handler).expect(text);
        assert_eq!(handler.asked(), 1, "a failure is kept too: {text}");
        let error = rows_of(&query(&filled("")), &people.snapshot()).expect_err(text);
        assert!(matches!(error, Error::ServiceUnsupported { .. }), "{text}: {error}");
        rows_of(&query(&filled("SILENT")), &people.snapshot()).expect(text);
    }
    let text = "SELECT * { ?p :age 30 SERVICE SILENT <http://gone.example/> { ?p :q ?r } }";
    assert_eq!(evaluated(text, &people.snapshot(), &Other::new(&people)).expect("rows"), ["p=ann"]);
}

#[test]
fn what_an_endpoint_returns_is_inserted_by_an_update_with_blank_nodes_of_its_own() {
    let (people, towns) = (Fixture::people(), Fixture::new(TOWNS));
    let handler = Other::new(&towns);
    let text =
        "INSERT { ?p :town ?t . ?t :size ?s } WHERE { SERVICE <http://towns.example/> { ?p :town ?t . ?t :size ?s } }";
    let update = |silent: &str, endpoint: &str| {
        let text = text.replace("SERVICE", &format!("SERVICE {silent}")).replace("http://towns.example/", endpoint);
        Update::parse_with_prefixes(&text, None, &prefixes())
            .expect("an update")
            .with_service(Arc::clone(&handler) as _)
    };
    let report = update("", "http://towns.example/").execute(&people.store).expect("it is done");
    assert_eq!((report.inserted, handler.asked()), (7, 1));
    assert_eq!(people.rows("SELECT ?s { ?p :town ?t . ?t :size ?s FILTER(ISBLANK(?p) && ISBLANK(?t)) }"), ["s=\"1\""]);
    let error = update("", "http://gone.example/").execute(&people.store).expect_err("it fails");
    assert!(matches!(error, Error::Service { .. }), "{error}");
    update("SILENT", "http://gone.example/").execute(&people.store).expect("it is silent");
}

/// Answers with a body that breaks off in the second row.
struct Breaking;

impl ServiceHandler for Breaking {
    fn ask(&self, _: &ServiceRequest<'_>) -> Result<ServiceResponse, ServiceError> {
        let body = "<sparql xmlns=\"http://www.w3.org/2005/sparql-results#\">\
                    <head><variable name=\"p\"/></head><results>\
                    <result><binding name=\"p\"><uri>http://example.org/ann</uri></binding></result>\
                    <result><binding name=\"p\"><uri>http://exam";
        Ok(ServiceResponse::new(QueryResultsFormat::Xml, body.into()))
    }
}

#[test]
fn an_answer_that_breaks_off_binds_nothing_and_is_an_error_unless_silent() {
    let people = Fixture::people();
    let asked = |keyword: &str| {
        let text = format!("SELECT * {{ SERVICE {keyword} <http://towns.example/> {{ ?p :town ?t }} }}");
        rows_of(&query(&text).with_service(Arc::new(Breaking)), &people.snapshot())
    };
    let error = asked("").expect_err("it breaks off");
    assert!(matches!(error, Error::Service { .. }) && error.to_string().contains("breaks off"), "{error}");
    assert_eq!(asked("SILENT").expect("a row that binds nothing"), [""]);
}

/// Waits until the answer is not wanted any more.
struct Waiting(Mutex<Option<CancellationToken>>);

impl ServiceHandler for Waiting {
    fn ask(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, ServiceError> {
        if let Some(token) = self.0.lock().expect("nothing panics with it").take() {
            token.cancel();
        } else {
            assert!(request.time_left().is_some_and(|left| left <= Duration::from_millis(50)));
        }
        let begun = Instant::now();
        while request.is_wanted() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing ends it");
            std::thread::yield_now();
        }
        Err(ServiceError::new("given up"))
    }
}

#[test]
fn time_and_token_end_a_query_while_an_endpoint_is_asked_silent_or_not() {
    let people = Fixture::people();
    for keyword in ["", "SILENT"] {
        let text = format!("SELECT * {{ SERVICE {keyword} <http://slow.example/> {{ ?p :q ?r }} }}");
        let late =
            query(&text).with_timeout(Duration::from_millis(50)).with_service(Arc::new(Waiting(Mutex::new(None))));
        let error = rows_of(&late, &people.snapshot()).expect_err("it is late");
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        let token = CancellationToken::new();
        let waiting = Waiting(Mutex::new(Some(token.clone())));
        let cancelled = query(&text).with_limits(Limits::new().cancellation(token)).with_service(Arc::new(waiting));
        let error = rows_of(&cancelled, &people.snapshot()).expect_err("it is cancelled");
        assert!(matches!(error, Error::Cancelled), "{error}");
    }
}

/// Answers with many rows.
struct Large(usize);

impl ServiceHandler for Large {
    fn ask(&self, _: &ServiceRequest<'_>) -> Result<ServiceResponse, ServiceError> {
        let rows: String =
            (0..self.0).map(|row| format!("<http://example.org/a-name-of-some-length/{row}>\n")).collect();
        Ok(ServiceResponse::new(QueryResultsFormat::Tsv, format!("?p\n{rows}").into_bytes()).rows_max(150_000))
    }
}

#[test]
fn memory_and_rows_of_answers_are_bounded_silent_or_not() {
    let people = Fixture::people();
    for keyword in ["", "SILENT"] {
        let text = format!("SELECT (COUNT(*) AS ?n) {{ SERVICE {keyword} <http://large.example/> {{ ?p :q ?r }} }}");
        let bounded = query(&text).with_limits(Limits::new().memory_bytes_max(4 << 20));
        let error =
            rows_of(&bounded.clone().with_service(Arc::new(Large(100_000))), &people.snapshot()).expect_err("too much");
        assert!(matches!(error, Error::LimitReached { what: LimitKind::Memory, .. }), "{error}");
        assert_eq!(
            rows_of(&bounded.with_service(Arc::new(Large(1_000))), &people.snapshot()).expect("rows"),
            ["n=\"1000\""]
        );
    }
    let text = "SELECT * { SERVICE <http://large.example/> { ?p :q ?r } }";
    let error = rows_of(&query(text).with_service(Arc::new(Large(150_001))), &people.snapshot()).expect_err("too many");
    assert!(error.to_string().contains("more than 150000 rows"), "{error}");
}

#[test]
fn a_query_that_nests_deep_and_an_explanation_ask_too() {
    let (people, towns) = (Fixture::people(), Fixture::new(TOWNS));
    let handler = Other::new(&towns);
    let service = "SERVICE <http://towns.example/> { ?p :town ?t }";
    let deep = (0..100)
        .fold(service.to_owned(), |inner, level| format!("{{ {inner} OPTIONAL {{ ?p :no{level} ?o{level} }} }}"));
    let rows = evaluated(&format!("SELECT ?p {{ {deep} ?p :age 25 }}"), &people.snapshot(), &handler).expect("rows");
    assert_eq!((rows, handler.asked()), (vec!["p=bob".to_owned()], 1));
    let explained = query(&format!("SELECT * {{ {service} ?p :age ?age }}")).with_service(Arc::clone(&handler) as _);
    explained.explain(&people.snapshot()).expect("a plan");
    assert_eq!(handler.asked(), 1, "a plan asks nobody");
    let text = explained.explain_evaluated(&people.snapshot()).expect("a plan").to_string();
    assert!(text.contains("Service(<http://towns.example/>)"), "{text}");
    assert_eq!(handler.asked(), 2);
}
