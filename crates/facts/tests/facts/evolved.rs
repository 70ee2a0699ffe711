//! Databases whose schema has evolved: queries for the older predicates, alone and stacked.

use fulgurite_facts::{Expansion, FactDatabase, FactReader, QueryLimits, Schema, StoreOptions};

use crate::support::{Directory, options};

const SCHEMA: &str = r#"
schema src.1 {
predicate File : { path : string }
predicate Line : { file : File, number : nat, kind : enum { code | comment } }
predicate Twice : { first : Line, kind : enum { code | comment } } stored { L, K } where L = Line { kind = K }
}
schema src.2 {
predicate File : { extension : string, path : string }
predicate Line : { file : File, number : nat, kind : enum { comment | code | blank } }
predicate Twice : { first : Line, kind : enum { comment | code | blank } } stored { L, K } where L = Line { kind = K }
}
schema src.2 evolves src.1
schema other.1 {
import src.1
predicate Where : { file : src.File } stored { file = F } where F = src.File _
predicate Kept : { kind : enum { code | comment } } stored { kind = K } where src.Line { kind = K }
}
"#;

fn create(options: StoreOptions, directory: &Directory, name: &str) -> FactDatabase {
    let schema = Schema::parse("src.angle", SCHEMA).expect("the schema is right");
    FactDatabase::create_with(options, directory.path(name), schema).expect("there is no such file")
}

/// A batch with lines of a file.
fn lines(version: u32, file: &str, kind: &str, numbers: std::ops::Range<u32>) -> String {
    let extension = if version == 2 { r#","extension":"rs""# } else { "" };
    let line = |number| {
        format!(r#"{{"key":{{"file":{{"key":{{"path":"{file}"{extension}}}}},"number":{number},"kind":"{kind}"}}}}"#)
    };
    let lines: Vec<String> = numbers.map(line).collect();
    format!(r#"[{{"predicate":"src.Line.{version}","facts":[{}]}}]"#, lines.join(","))
}

fn write(database: &FactDatabase, json: &str) {
    database.write_json(json.as_bytes(), None).expect("the batch is right");
}

fn results(reader: &FactReader, query: &str, per_page: usize) -> Vec<String> {
    let limits = QueryLimits { results_max: Some(per_page), ..QueryLimits::default() };
    let mut page = reader.query(query, &limits).expect("the query is right");
    let mut results = Vec::new();
    loop {
        let printed = reader.print(&page, Expansion::RECURSIVE).expect("it prints");
        results.extend(printed.iter().map(ToString::to_string));
        let Some(continuation) = page.continuation else { return results };
        page = reader.continue_query(query, &limits, &continuation).expect("the continuation is of this query");
    }
}

#[test]
fn a_stack_of_newer_facts_answers_for_older_predicates_until_it_has_older_facts() {
    let directory = Directory::new();
    let base = create(options(), &directory, "base.ful");
    write(&base, &lines(2, "a.rs", "code", 0..5));
    base.complete().expect("it is incomplete");
    let top_options = || options().backend(crate::backend_of(1)).base(base.store());
    let top = create(top_options(), &directory, "top.ful");
    write(&top, &lines(2, "b.rs", "blank", 3..6));
    let reader = top.reader().expect("it can be read");
    let query = "src.Line.1 { number = 3 }";
    let found = results(&reader, query, 1);
    assert_eq!(found, results(&reader, query, 100));
    assert_eq!(
        found,
        [
            r#"{"id":1028,"key":{"file":{"id":1024,"key":{"path":"a.rs"}},"kind":0,"number":3}}"#,
            r#"{"id":1031,"key":{"file":{"id":1030,"key":{"path":"b.rs"}},"kind":{},"number":3}}"#
        ]
    );
    let id = fulgurite_facts::FactId::new(1030).expect("not 0");
    let stored = reader.fact(id, Expansion::FLAT).expect("it is there").to_string();
    assert_eq!(stored, r#"{"id":1030,"key":{"extension":"rs","path":"b.rs"}}"#);
    assert_eq!(results(&reader, "F.path where src.Line.1 { file = F, kind = code }", 100), [r#""a.rs""#]);
    // One older fact, in the uppermost database.
    write(&top, &lines(1, "c.rs", "comment", 0..1));
    let reader = top.reader().expect("it can be read");
    assert!(results(&reader, query, 100).is_empty());
    let older = results(&reader, "src.Line.1 _", 100);
    assert_eq!(older, [r#"{"id":1035,"key":{"file":{"id":1034,"key":{"path":"c.rs"}},"kind":1,"number":0}}"#]);
}

#[test]
fn derivations_store_facts_of_the_newer_predicate_and_no_unknown_alternatives() {
    let directory = Directory::new();
    let database = create(options(), &directory, "a.ful");
    write(&database, &lines(2, "a.rs", "code", 0..2));
    let derived = database.derive_all().expect("it derives");
    let by_name = |name: &str| {
        let id = database.schema().find(name).expect("it is there").id;
        derived.iter().find(|derived| derived.predicate == id).map(|derived| derived.new)
    };
    assert_eq!((by_name("src.Twice.1"), by_name("src.Twice.2"), by_name("other.Kept.1")), (Some(0), Some(2), Some(1)));
    let reader = database.reader().expect("it can be read");
    assert_eq!(results(&reader, "N where src.Twice.1 { first = { number = N }, kind = code }", 100), ["0", "1"]);
    assert_eq!(results(&reader, "other.Kept { kind = code }", 100).len(), 1);
    // Facts that refer to newer ones where a type names the older predicate.
    assert_eq!(by_name("other.Where.1"), Some(1));
    assert_eq!(results(&reader, "F.path where other.Where { file = F }", 100), [r#""a.rs""#]);
    database.validate().expect("what is derived is right");
    let copy = create(options(), &directory, "copy.ful");
    let file = r#"{"predicate":"src.File.2","facts":[{"id":1,"key":{"extension":"rs","path":"a.rs"}}]}"#;
    write(&copy, &format!(r#"[{file},{{"predicate":"other.Where.1","facts":[{{"key":{{"file":1}}}}]}}]"#));
    copy.validate().expect("what is written is right");
    write(&database, &lines(2, "b.rs", "blank", 0..1));
    let refused = database.derive_all().expect_err("src.1 has no `blank`").to_string();
    assert!(refused.contains("no such alternative"), "{refused}");
    database.validate().expect("what is stored is right");
}
