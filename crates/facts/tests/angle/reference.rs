//! The schema and the queries of docs/reference/angle.md run.

use crate::memory::Database;

const PAGE: &str = include_str!("../../../../docs/reference/angle.md");

const BATCH: &str = r#"[
{ "predicate": "example.File.1", "facts": [{ "id": 1, "key": "src/a.rs" }, { "id": 2, "key": "src/b.rs" }] },
{ "predicate": "example.Size.1", "facts": [{ "key": 1, "value": { "bytes": 700 } }] },
{ "predicate": "example.Symbol.1", "facts": [
  { "id": 3, "key": { "name": "main", "file": 1, "at": { "line": 1 }, "tags": ["hot"], "marks": [4],
                      "origin": { "unknown": {} } } },
  { "id": 4, "key": { "name": "Inner", "file": 2, "at": { "line": 9 }, "parent": 3,
                      "origin": { "tool": { "name": "t", "version": 2 } } } } ] },
{ "predicate": "example.Call.1", "facts": [{ "key": { "from": 3, "to": 4 } }] }
]"#;

fn block(kind: &str) -> &'static str {
    let start = format!("```{kind}\n");
    let after = PAGE.split_once(&start).expect("the page has the block").1;
    after.split_once("```").expect("the block ends").0
}

#[test]
fn every_example_of_the_reference_has_results() {
    let database = Database::new(block("angle-schema"), BATCH);
    let queries: Vec<&str> = block("angle-queries").lines().collect();
    assert!(queries.len() > 20, "{} examples", queries.len());
    for query in queries {
        assert!(!database.results(query).is_empty(), "{query} has no results");
    }
    let stored = database.compiler.stored_derivations().next().expect("a predicate is stored");
    let derivation = database.compiler.derivation(stored, &database.memory).expect("it is derived");
    let page = derivation.run(&database.memory, &fulgurite_facts::QueryLimits::default()).expect("it runs");
    assert_eq!(page.results.len(), 1);
}

#[test]
fn a_schema_is_the_same_after_it_was_stored() {
    let schema = database_schema(block("angle-schema"));
    let read = fulgurite_facts::Schema::from_text(&schema.text()).expect("it was stored");
    assert_eq!((read.hash(), read.text()), (schema.hash(), schema.text()));
    assert_eq!(read.predicates().len(), schema.predicates().len());
    let commented = block("angle-schema").replace("# Predicates have keys, and may have values.", "# Another comment.");
    assert_eq!(database_schema(&commented).hash(), schema.hash());
    let changed = block("angle-schema").replace("bytes : nat", "bytes : byte");
    assert_ne!(database_schema(&changed).hash(), schema.hash());
    let derived = |query: &str| {
        let text = format!("schema a.1 {{ predicate F : string\npredicate P : string X where F X; {query} }}");
        database_schema(&text).hash()
    };
    // Blanks and marks in strings count, and those around them do not.
    for (query, other, same) in [
        (r#"X = "a b""#, r#"X = "a  b""#, "X  = # a comment\n \"a b\""),
        (r##"X = "\"#a""##, r##"X = "\"#b""##, "X = \"\\\"#a\" # \"a comment\"\n"),
    ] {
        assert_ne!(derived(query), derived(other), "{query}");
        assert_eq!(derived(query), derived(same), "{query}");
    }
    let text = schema.text();
    for length in (1..text.len()).filter(|&length| text.is_char_boundary(length)) {
        assert!(fulgurite_facts::Schema::from_text(&text[..length]).is_err(), "cut off at {length}");
    }
}

fn database_schema(text: &str) -> fulgurite_facts::Schema {
    fulgurite_facts::Schema::parse("example.angle", text).expect("the schema is right")
}
