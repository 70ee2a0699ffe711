//! The queries of Glean's benchmark of queries, over its data, give as many rows as the data dictate.

use std::fmt::Write;

use fulgurite_facts::QueryLimits;

use crate::memory::Database;

const SCHEMA: &str = "
schema sys.1 { predicate Blob : string }
schema cxx1.1 { predicate Name : string  predicate FunctionName : { name : Name | operator_ : nat | } }
schema glean.test.1 {
import sys.1
predicate Predicate : {
  byt : byte, nat : nat, bool_ : bool, string_ : string, pred : sys.Blob, maybe_ : maybe {},
  enum_ : enum { e | f | g }, array_of_nat : [nat], set_of_nat : set nat
}
}
schema codemarkup.1 {
import sys.1
import cxx1.1
type Entity = { blob : sys.Blob | function : cxx1.FunctionName }
predicate Location : { name : string, entity : Entity }
  { N, E } where
    ( B = sys.Blob N; { blob = B } = E )
    | ( F = cxx1.FunctionName { name = cxx1.Name N }; { function = F } = E )
predicate Search : { name : string, entity : Entity }
  { prim.toLower N, E } where Location { N, E }
predicate Uses : { target : Entity, file : string }
  { E, N } where Location { name = N, entity = E }
}
";

/// The data, with as many facts of each kind.
fn database(count: usize) -> Database {
    let mut batch = String::from("[");
    let mut section = |predicate: &str, facts: &mut dyn Iterator<Item = String>| {
        let facts: Vec<String> = facts.map(|key| format!(r#"{{ "key": {key} }}"#)).collect();
        let before = if batch.len() > 1 { "," } else { "" };
        write!(batch, r#"{before}{{ "predicate": "{predicate}", "facts": [{}] }}"#, facts.join(","))
            .expect("strings grow");
    };
    let names = || (1..=count).map(|n| format!("\"x{n}\"")).chain((1..=count / 10).map(|n| format!("\"y{n}\"")));
    section("sys.Blob.1", &mut (1..=count).map(|n| format!("\"x{n}\"")));
    section("cxx1.Name.1", &mut names());
    section("cxx1.FunctionName.1", &mut names().map(|name| format!(r#"{{ "name": {{ "key": {name} }} }}"#)));
    section(
        "glean.test.Predicate.1",
        &mut (1..=count).map(|n| {
            let nats: Vec<String> = (1..=n).map(|n| n.to_string()).collect();
            format!(r#"{{ "string_": "x{n}", "pred": {{ "key": "x1" }}, "array_of_nat": [{}] }}"#, nats.join(","))
        }),
    );
    batch.push(']');
    Database::new(SCHEMA, &batch)
}

#[test]
fn the_eleven_queries_give_the_rows_that_their_data_dictate() {
    let count = 300;
    let database = database(count);
    for (name, query, rows) in [
        ("simple", "sys.Blob \"x1\"", 1),
        ("nested", "cxx1.FunctionName { name = \"x1\" }", 1),
        ("complex-parallel", "glean.test.Predicate { string_ = \"x1\" }", 1),
        // Every array begins with 1, and a result is returned once.
        ("array_prefix", "N where glean.test.Predicate { array_of_nat = [N, ..] }", 1),
        ("compile", "codemarkup.Search { name = \"x7\" }", 2),
        (
            "compile2",
            "U where codemarkup.Location { name = \"y3\", entity = E }; U = codemarkup.Uses { target = E }",
            1,
        ),
        ("compile3", "codemarkup.Uses { file = \"x9\" }", 2),
    ] {
        assert_eq!(database.results(query).len(), rows, "{name}");
    }
    // The stacked ones have an empty database on this one, which changes no result.
    for (name, query) in [("page", "cxx1.Name \"y\".."), ("pagenested", "cxx1.FunctionName { name = \"y\".. }")] {
        let compiled = database.query(query).expect("the query compiles");
        let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
        let (mut rows, mut searched) = (0, 0);
        let mut page = compiled.run(&database.memory, &limits).expect("it runs");
        loop {
            rows += page.results.len();
            searched += page.searched.iter().map(|(_, count)| count).sum::<u64>();
            let Some(continuation) = page.continuation else { break };
            page = compiled.continue_from(&database.memory, &limits, &continuation).expect("it continues");
        }
        assert_eq!(rows, count / 10, "{name}");
        // A page goes on from the last row; it does not begin again.
        assert!(searched < 5 * rows as u64, "{name}: {searched}");
    }
    let page = database.page("cxx1.FunctionName { name = \"x1\" }");
    assert_eq!(page.searched.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 1]);
}
