//! Batches of queries: as many answers, each with results or with what is wrong.

use std::time::Duration;

use fulgurite_server::FactServerOptions;
use serde_json::{Value as Json, json};

use crate::fixture::{ENDLESS, Fixture, NUMBERS, json_of};

/// The answers to queries with options.
fn answers(fixture: &Fixture, queries: &[&str], options: &Json) -> Vec<Json> {
    let body = json!({ "queries": queries, "options": options });
    let answered = json_of(&fixture.post("/userQueryBatch?repo=code", &body).expect(200));
    let answers = answered.as_array().expect("a list").clone();
    assert_eq!(answers.len(), queries.len(), "{answered}");
    answers
}

#[test]
fn a_batch_has_an_answer_for_each_query_in_its_order() {
    let fixture = Fixture::new();
    let queries = ["src.Number 7", "src.Fil _", "src.Line { number = 2 }", "N where src.Number N"];
    let found = answers(&fixture, &queries, &json!({ "recursive": true, "max_results": 3 }));
    for (number, query) in [(0, queries[0]), (2, queries[2]), (3, queries[3])] {
        let mut alone = fixture.results(query, &json!({ "recursive": true, "max_results": 3 }));
        let mut within = found[number]["results"].clone();
        for timed in ["elapsed_ns", "execute_time_ns"] {
            assert!(within["stats"][timed].is_u64(), "{within}");
            alone["stats"][timed] = Json::Null;
            within["stats"][timed] = Json::Null;
        }
        assert_eq!(within, alone, "{query}");
    }
    let reason = found[1]["badQuery"]["reason"].as_str().expect("a text");
    assert!(reason.contains("query:1:1: there is no predicate src.Fil"), "{reason}");
    assert_eq!(found[3]["results"]["facts"].as_array().expect("a list").len(), 3);
    assert!(found[3]["results"].get("continuation").is_some());
    assert!(answers(&fixture, &[], &json!({})).is_empty());
}

#[test]
fn a_page_of_a_batch_is_continued_by_a_single_query() {
    let fixture = Fixture::new();
    let found = answers(&fixture, &["N where src.Number N"], &json!({ "max_results": 2 }));
    let options = json!({ "continuation": found[0]["results"]["continuation"] });
    let rest = fixture.results("N where src.Number N", &options);
    assert_eq!(rest["facts"].as_array().expect("a list").len() as u64, NUMBERS - 2);
    let body = json!({ "queries": ["N where src.Number N"], "options": options });
    let refused = fixture.post("/userQueryBatch?repo=code", &body).expect(400);
    assert!(refused.body.contains("options.continuation is for one query"), "{refused:?}");
}

#[test]
fn a_batch_has_the_time_of_one_query_and_the_other_queries_get_the_answer_retry() {
    let fixture = Fixture::with(FactServerOptions::new().timeout(Duration::from_millis(200)));
    let found = answers(&fixture, &[ENDLESS, "src.Number 1", "src.Number 2"], &json!({}));
    assert!(found[0]["results"]["diagnostics"][0].as_str().expect("a text").contains("its time was up"), "{found:?}");
    assert_eq!(found[1..], [json!({ "retry": { "seconds": 1.0 } }), json!({ "retry": { "seconds": 1.0 } })]);
    let fixture = Fixture::new();
    let found = answers(&fixture, &[ENDLESS, "src.Number 1"], &json!({ "max_time_ms": 1000 }));
    assert_eq!(found[1]["results"]["stats"]["result_count"], 1, "the client's time is of each query: {found:?}");
}

#[test]
fn a_batch_has_the_bytes_of_one_answer() {
    let fixture = Fixture::with(FactServerOptions::new().bytes_max(2000));
    let queries = ["N where src.Number N"; 8];
    let found = answers(&fixture, &queries, &json!({}));
    assert!(Json::from(found.clone()).to_string().len() < 4000, "{found:?}");
    assert!(found[0].get("results").is_some() && found[7].get("retry").is_some(), "{found:?}");
}

#[test]
fn a_negation_whose_time_those_before_it_used_gets_the_answer_retry() {
    let fixture = Fixture::with(FactServerOptions::new().timeout(Duration::from_millis(500)));
    let negation = negation();
    // The first query uses the 400 ms that the client allows it. The request then has less than 400 ms left.
    let found = answers(&fixture, &[ENDLESS, &negation], &json!({ "max_time_ms": 400 }));
    assert!(found[0].get("results").is_some(), "{found:?}");
    assert_eq!(found[1], json!({ "retry": { "seconds": 1.0 } }));
    // The client sends it again. Alone, it has the time of a whole request, and that is too little.
    let found = answers(&fixture, &[negation.as_str()], &json!({}));
    assert!(found[0].get("other").is_some(), "{found:?}");
}

/// A negation of a query that searches facts for longer than any test waits.
fn negation() -> String {
    format!("\"none\" where !({})", ENDLESS.split_once("where ").expect("it has statements").1)
}

#[test]
fn a_negation_without_time_is_an_error_of_its_query_alone() {
    let fixture = Fixture::new();
    let found = answers(&fixture, &[&negation(), "src.Number 1"], &json!({ "max_time_ms": 1000 }));
    assert!(found[0]["other"]["message"].as_str().expect("a text").contains("negation"), "{found:?}");
    assert_eq!(found[1]["results"]["stats"]["result_count"], 1);
}
