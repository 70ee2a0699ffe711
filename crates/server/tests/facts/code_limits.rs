//! The limits of answers about an index of code: symbols with many definitions, and clients that read slowly.

use std::time::{Duration, Instant};

use fulgurite_code::{Role, Source, SymbolInfo, Visit};
use fulgurite_server::FactServerOptions;
use serde_json::{Value as Json, json};

use crate::client::post;
use crate::code::{Indexed, document, info, occurrence, symbol};

/// A function that is defined in each of 100 lines.
struct DefinedOften;

const DEFINITIONS: u32 = 100;

impl Source for DefinedOften {
    fn each(&self, visit: &mut Visit<'_>) -> fulgurite_code::Result<()> {
        let defined = (0..DEFINITIONS).map(|line| occurrence(line, "often().", Role::Definition));
        visit(document("often.rs", defined.collect(), vec![info("often().", "often", "function", None)]))
    }
}

/// A struct with 100 methods, each in a line of its own.
struct HasMembers;

const MEMBERS: u32 = 100;

impl Source for HasMembers {
    fn each(&self, visit: &mut Visit<'_>) -> fulgurite_code::Result<()> {
        let names: Vec<String> = (0..MEMBERS).map(|number| format!("Outer#m{number}().")).collect();
        let defined = (1..).zip(&names).map(|(line, name)| occurrence(line, name, Role::Definition));
        let defined = [occurrence(0, "Outer#", Role::Definition)].into_iter().chain(defined);
        let members = names.iter().map(|name| info(name, name, "method", Some("Outer#")));
        let symbols = [info("Outer#", "Outer", "struct", None)].into_iter().chain(members);
        visit(document("outer.rs", defined.collect(), symbols.collect()))
    }
}

/// A line with functions that have long documentation: together more than the buffers of sockets hold.
struct Documented;

const FUNCTIONS: usize = 24;
const DOCUMENTATION_BYTES: usize = 1 << 20;

impl Source for Documented {
    fn each(&self, visit: &mut Visit<'_>) -> fulgurite_code::Result<()> {
        let names: Vec<String> = (0..FUNCTIONS).map(|number| format!("f{number}().")).collect();
        let defined = names.iter().map(|name| occurrence(0, name, Role::Definition));
        let info_of = |name: &String| SymbolInfo {
            documentation: vec!["x".repeat(DOCUMENTATION_BYTES)],
            ..info(name, name, "function", None)
        };
        visit(document("long.rs", defined.collect(), names.iter().map(info_of).collect()))
    }
}

/// The only symbol of an answer of `/code/describe`, and the number of its definitions that are listed.
fn described(answer: &Json) -> (&Json, usize) {
    let [symbol] = answer["symbols"].as_array().expect("a list").as_slice() else { panic!("{answer}") };
    (symbol, symbol["definitions"].as_array().expect("a list").len())
}

#[test]
fn the_definitions_of_a_described_symbol_end_at_the_limit_with_their_total() {
    let indexed = Indexed::of(&DefinedOften, FactServerOptions::new());
    let answer = indexed.answer("describe", &json!({ "symbol": "often", "limit": 2 }));
    let (often, listed) = described(&answer);
    assert_eq!((listed, &often["total"], &often["truncated"]), (2, &json!(DEFINITIONS), &json!(true)));
    assert_eq!((&often["symbol"], &often["name"]), (&json!(symbol("often().")), &json!("often")));
    assert_eq!(answer["truncated"], false, "there is no other symbol");
    let rest = indexed.answer("definition", &json!({ "symbol": "often", "offset": 2 }));
    assert_eq!(rest["definitions"].as_array().expect("a list").len() + listed, DEFINITIONS as usize);
    let answer = indexed.answer("describe", &json!({ "symbol": "often" }));
    let (often, listed) = described(&answer);
    assert_eq!((listed, &often["truncated"]), (DEFINITIONS as usize, &json!(false)));
}

#[test]
fn the_definitions_of_a_described_symbol_end_when_the_answer_has_its_bytes() {
    let indexed = Indexed::of(&DefinedOften, FactServerOptions::new().bytes_max(2000));
    let answer = indexed.answer("describe", &json!({ "symbol": "often" }));
    let (often, listed) = described(&answer);
    assert!(listed > 1 && answer.to_string().len() < 4000, "{answer}");
    assert_eq!((&often["total"], &often["truncated"]), (&json!(DEFINITIONS), &json!(true)));
}

#[test]
fn a_search_reads_one_definition_of_each_symbol() {
    // All definitions of the function would take more memory.
    let indexed = Indexed::of(&DefinedOften, FactServerOptions::new().memory_bytes_max(2000));
    let found = indexed.answer("search", &json!({ "text": "often" }));
    assert_eq!((&found["symbols"][0]["name"], &found["truncated"]), (&json!("often"), &json!(false)));
    assert_eq!(found["symbols"][0]["place"]["file"], "often.rs");
    let refused = indexed.ask("definition", &json!({ "symbol": "often" })).expect(400);
    assert!(refused.body.contains("more than 2000 bytes of memory"), "{refused:?}");
}

#[test]
fn a_hierarchy_does_not_collect_members_after_its_limit() {
    // A list of all members would take more memory.
    let indexed = Indexed::of(&HasMembers, FactServerOptions::new().memory_bytes_max(500));
    let listed = |body: &Json| {
        let answer = indexed.answer("hierarchy", body);
        let symbols = answer["symbols"].as_array().expect("a list").len();
        (symbols, answer["truncated"].as_bool().expect("a truth value"))
    };
    assert_eq!(listed(&json!({ "symbol": "Outer", "limit": 3 })), (3, true));
    assert_eq!(listed(&json!({ "symbol": "Outer", "limit": 3, "offset": MEMBERS - 3 })), (3, false));
    assert_eq!(listed(&json!({ "symbol": "Outer" })), (MEMBERS as usize, false));
}

#[test]
fn a_client_that_does_not_read_its_answer_counts_as_a_request_until_it_leaves() {
    let options = FactServerOptions::new().queries_max(1).wait(Duration::ZERO).bytes_max(64 << 20);
    let indexed = Indexed::of(&Documented, options);
    let body = json!({ "symbol": "long.rs:1" }).to_string();
    let begun = post("/code/describe", "application/json", body).begin(indexed.address);
    assert_eq!(begun.status, 200);
    let search = || indexed.ask("search", &json!({ "text": "f", "limit": 1 }));
    let refused = search().expect(503);
    assert!(refused.body.contains("too many requests"), "{refused:?}");
    begun.leave();
    let end = Instant::now() + Duration::from_secs(60);
    while search().status != 200 {
        assert!(Instant::now() < end, "the place is not free a minute later");
    }
}
