//! The limits of requests: time, memory, clients that leave, and many at once.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use fulgurite_server::FactServerOptions;
use serde_json::{Value as Json, json};

use crate::client::{Asked, Begun, get, post};
use crate::fixture::{ENDLESS, Fixture, NUMBERS, json_of};

fn asked(query: &str, options: &Json) -> Asked {
    post("/userQuery?repo=code", "application/json", json!({ "query": query, "options": options }).to_string())
}

/// One request at a time. A request waits a little for the one before, so that an endless query gets its turn.
fn single() -> FactServerOptions {
    FactServerOptions::new().queries_max(1).wait(Duration::from_millis(300))
}

/// Longer than any test waits: what ends before was cancelled.
const HOUR: Duration = Duration::from_secs(3600);

/// Waits until the only place is free again.
fn answered(fixture: &Fixture) {
    let end = Instant::now() + Duration::from_secs(60);
    while fixture.query("src.Number 1", &json!({})).status != 200 {
        assert!(Instant::now() < end, "the place is not free a minute later");
    }
}

#[test]
fn a_query_whose_time_is_up_returns_what_it_has_and_can_go_on() {
    let fixture = Fixture::new();
    let page = fixture.results(ENDLESS, &json!({ "max_time_ms": 50 }));
    assert_eq!(page["facts"], json!([]));
    assert!(page["diagnostics"][0].as_str().unwrap().contains("its time was up"), "{page}");
    let options = json!({ "max_time_ms": 50, "continuation": page["continuation"] });
    let next = fixture.results(ENDLESS, &options);
    assert_ne!(next["continuation"], page["continuation"], "it has gone on");
    let fixture = Fixture::with(FactServerOptions::new().timeout(Duration::from_millis(50)));
    let page = fixture.results(ENDLESS, &json!({ "max_time_ms": 1_000_000_000 }));
    assert!(page.get("continuation").is_some(), "the server's limit is the smaller one");
    let negation = format!("\"none\" where !({})", ENDLESS.split_once("where ").unwrap().1);
    let refused = fixture.query(&negation, &json!({})).expect(503);
    assert!(refused.body.contains("negation"), "{refused:?}");
}

#[test]
fn a_schema_is_checked_within_the_time_of_a_request() {
    let fixture = Fixture::with(FactServerOptions::new().timeout(Duration::ZERO));
    let schema = "schema a.1 { predicate P : nat }";
    let refused = fixture.post("/validateSchema", &json!({ "schema": schema })).expect(503);
    assert!(refused.body.contains("time ran out"), "{refused:?}");
    let fixture = Fixture::new();
    fixture.post("/validateSchema", &json!({ "schema": schema })).expect(200);
}

#[test]
fn a_query_that_needs_too_much_memory_is_refused() {
    let fixture = Fixture::with(FactServerOptions::new().memory_bytes_max(10_000));
    let refused = fixture.query("{ A, B } where src.Number A; src.Number B", &json!({})).expect(400);
    assert!(refused.body.contains("more than 10000 bytes of memory"), "{refused:?}");
    fixture.query("src.Number 1", &json!({})).expect(200);
}

#[test]
fn a_result_with_too_many_facts_in_it_is_refused_and_others_are_not() {
    let fixture = Fixture::with(FactServerOptions::new().bytes_max(2000));
    fixture.query("src.Line { number = 1 }", &json!({ "recursive": true })).expect(200);
    let fixture = Fixture::with(FactServerOptions::new().bytes_max(1000));
    for expands in [true, false] {
        let options = json!({ "recursive": true, "expand_results": expands });
        let refused = fixture.query("src.Line { number = 1 }", &options).expect(400);
        assert!(refused.body.contains("more than 1000 bytes of facts"), "{refused:?}");
    }
    let ids: Vec<Json> = (1024..1124).map(|id| json!({ "id": id })).collect();
    let refused = fixture.post("/userQueryFacts?repo=code", &json!({ "facts": ids })).expect(400);
    assert!(refused.body.contains("fewer at once"), "{refused:?}");
}

#[test]
fn a_query_whose_client_leaves_is_cancelled() {
    let fixture = Fixture::with(single().timeout(HOUR));
    let stream = asked(ENDLESS, &json!({})).send(fixture.address);
    // Until it runs, and there is no place for another.
    let refused = std::iter::repeat_with(|| fixture.query("src.Number 1", &json!({})))
        .find(|answer| answer.status == 503)
        .expect("it is endless");
    assert_eq!(refused.header("retry-after"), Some("1"), "{refused:?}");
    drop(stream);
    // Its place is free again. Its time would be up after the test's, an hour later.
    answered(&fixture);
    // The event comes after the place is free.
    let told = std::iter::from_fn(|| fixture.told.recv_timeout(Duration::from_secs(60)).ok());
    assert!(told.into_iter().any(|told| told.status == 499 && told.path == "/userQuery"));
}

#[test]
fn a_shutdown_cancels_queries_that_do_not_end() {
    let mut fixture = Fixture::with(single().grace(Duration::ZERO));
    let stream = asked(ENDLESS, &json!({})).send(fixture.address);
    std::iter::repeat_with(|| fixture.query("src.Number 1", &json!({})))
        .find(|answer| answer.status == 503)
        .expect("it is endless");
    fixture.end();
    let refused = Begun::of(stream).finish();
    assert!(refused.status == 503 && refused.body.contains("shuts down"), "{refused:?}");
    assert!(TcpStream::connect(fixture.address).is_err(), "nobody listens any more");
    fixture.database.clone().close().expect("the database can be closed");
}

#[test]
fn a_client_that_leaves_half_of_its_answer_holds_nobody_up() {
    let fixture = Fixture::with(single().timeout(HOUR));
    let query = "{ A, B } where src.Number A; src.Number B";
    let begun = asked(query, &json!({ "max_results": 100_000 })).begin(fixture.address);
    assert_eq!(begun.status, 200);
    begun.leave();
    answered(&fixture);
}

#[test]
fn a_query_that_searches_no_facts_is_cancelled_and_keeps_to_its_time() {
    let fixture = Fixture::with(single().timeout(HOUR));
    let names: Vec<String> = (0..40).map(|number| format!("V{number}")).collect();
    let bound: Vec<String> = names.iter().map(|name| format!("{name} = (0 | 1)")).collect();
    let query = format!("1 where {}; {} > 1000", bound.join("; "), names.join(" + "));
    // Long enough for its planning, also on a machine that is busy.
    let page = fixture.results(&query, &json!({ "max_time_ms": 1000 }));
    assert!(page["diagnostics"][0].as_str().unwrap().contains("its time was up"), "{page}");
    let stream = asked(&query, &json!({})).send(fixture.address);
    std::iter::repeat_with(|| fixture.query("src.Number 1", &json!({})))
        .find(|answer| answer.status == 503)
        .expect("it is endless");
    drop(stream);
    answered(&fixture);
}

#[test]
fn facts_by_id_keep_to_the_limits_of_their_request() {
    let fixture = Fixture::new();
    let ask = |options: Json| {
        fixture.post("/userQueryFacts?repo=code", &json!({ "facts": [{ "id": 1024 }], "options": options }))
    };
    let counted = json_of(&ask(json!({ "omit_results": true })).expect(200));
    assert_eq!((&counted["facts"], &counted["stats"]["result_count"]), (&json!([]), &json!(1)));
    let refused = ask(json!({ "max_results": 1 })).expect(400);
    assert!(refused.body.contains("options.max_results is for queries"), "{refused:?}");
}

#[test]
fn many_clients_read_at_once_and_each_gets_its_own_answer() {
    let fixture = Fixture::with(FactServerOptions::new().queries_max(4).wait(Duration::from_secs(100)));
    let address = fixture.address;
    std::thread::scope(|scope| {
        for client in 0..32_u64 {
            scope.spawn(move || {
                for round in 0..8 {
                    let number = (client * 31 + round * 7) % NUMBERS;
                    let answer = asked(&format!("src.Number {number}"), &json!({})).ask(address).expect(200);
                    assert_eq!(json_of(&answer)["facts"][0]["key"], number);
                    let whole = asked("N where src.Number N", &json!({})).ask(address).expect(200);
                    assert_eq!(json_of(&whole)["facts"].as_array().unwrap().len() as u64, NUMBERS);
                    get("/predicateStats?repo=code").ask(address).expect(200);
                }
            });
        }
    });
}

#[test]
fn a_query_of_many_statements_in_each_other_is_answered() {
    let fixture = Fixture::new();
    let names: Vec<String> = (0..240).map(|number| format!("V{number}")).collect();
    let statements: Vec<String> = names.windows(2).map(|pair| format!("{} = {} + 1", pair[1], pair[0])).collect();
    let query = format!("V239 where src.Number V0; V0 = 7; {}", statements.join("; "));
    assert_eq!(fixture.results(&query, &json!({}))["facts"], json!([246]));
}
