//! Pages of results: what is on them together is what the query has, and no page is larger than it may be.

use fulgurite_server::FactServerOptions;
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, NUMBERS};

/// The results of all pages, and how many pages there were.
fn all_pages(fixture: &Fixture, query: &str, options: &Json) -> (Vec<Json>, u64) {
    let (mut results, mut options, mut pages) = (Vec::new(), options.clone(), 0_u64);
    loop {
        let page = fixture.results(query, &options);
        results.extend(page["facts"].as_array().expect("a list").iter().cloned());
        pages += 1;
        assert!(pages <= 2 * NUMBERS, "the pages do not end");
        match page.get("continuation") {
            None => return (results, pages),
            Some(continuation) => options["continuation"] = continuation.clone(),
        }
    }
}

#[test]
fn pages_by_results_and_by_bytes_have_every_result_once() {
    let fixture = Fixture::new();
    let (whole, pages) = all_pages(&fixture, "N where src.Number N", &json!({}));
    assert_eq!((whole.len() as u64, pages), (NUMBERS, 1));
    for options in [json!({ "max_results": 7 }), json!({ "max_bytes": 100 }), json!({ "max_bytes": 1 })] {
        let (results, pages) = all_pages(&fixture, "N where src.Number N", &options);
        assert!(pages > 20, "{options}: {pages}");
        assert_eq!(results, whole, "{options}");
    }
}

#[test]
fn bytes_are_those_of_the_answer_with_the_facts_in_it() {
    let fixture = Fixture::new();
    for expands in [true, false] {
        let options = json!({ "max_bytes": 60, "recursive": true, "expand_results": expands });
        let page = fixture.results("src.Line _", &options);
        assert!(page["facts"].as_array().unwrap().len() < 3 && page.get("continuation").is_some(), "{page}");
        let (results, _) = all_pages(&fixture, "src.Line _", &options);
        let values: Vec<&Json> = results.iter().map(|line| &line["value"]).collect();
        assert_eq!(values, ["line 1", "line 2", "line 3"]);
    }
    // Facts that a query derives have the same ids on a page that is made again.
    let (results, pages) = all_pages(&fixture, "src.FileOf _", &json!({ "max_bytes": 1, "recursive": true }));
    assert_eq!((results.len(), pages >= 3), (3, true));
}

#[test]
fn a_client_gets_no_more_than_the_server_allows() {
    let fixture = Fixture::with(FactServerOptions::new().results_max(10));
    for options in [json!({}), json!({ "max_results": 1_000_000 })] {
        let page = fixture.results("src.Number _", &options);
        assert_eq!(page["facts"].as_array().unwrap().len(), 10);
        assert!(page.get("continuation").is_some());
    }
    let fixture = Fixture::with(FactServerOptions::new().bytes_max(2000));
    let page = fixture.results("src.Number _", &json!({ "max_bytes": 1_000_000_000_000_u64 }));
    assert!(page.to_string().len() < 3000, "{page}");
    let (results, _) = all_pages(&fixture, "N where src.Number N", &json!({}));
    assert_eq!(results.len() as u64, NUMBERS);
}

#[test]
fn a_continuation_is_of_one_query() {
    let fixture = Fixture::new();
    let page = fixture.results("src.Number _", &json!({ "max_results": 2 }));
    let continuation = &page["continuation"];
    let refused = fixture.query("src.Line _", &json!({ "continuation": continuation })).expect(400);
    assert!(refused.body.contains("it is of another query"), "{refused:?}");
    let text = continuation["continuation"].as_str().unwrap();
    for wrong in [&text[2..], &text[..text.len() - 2], "00", "", &format!("{text}00")] {
        let refused = fixture.query("src.Number _", &json!({ "continuation": { "continuation": wrong } })).expect(400);
        assert!(refused.body.contains("cannot be continued"), "{wrong}: {refused:?}");
    }
}
