//! `schema a.2 evolves a.1`: queries for older predicates are answered from the facts of newer ones.

use fulgurite_facts::{FactId, FactSink, QueryLimits, Schema};

use crate::memory::Database;

/// The types of fields differ as far as they may: order, fields, alternatives, lists and sets.
const SCHEMA: &str = r#"
schema src.1 {
type Kind = enum { function | gone | variable }
type Origin = { user : { name : string } | dropped : nat | unknown_ }
predicate File : { path : string }
predicate Symbol : {
  name : string,
  file : File,
  kind : Kind,
  origin : Origin,
  names : [string],
  numbers : set nat,
  kinds : [Kind],
  scores : maybe { a : nat },
  absent : { n : nat, s : string, b : bool, l : [nat], m : maybe nat, e : enum { first | second } },
} -> { old : nat, text : string }
predicate Flat : string
predicate Sub : { kind : Kind, name : string }
}
schema src.2 {
type Kind = enum { variable | function | added }
type Origin = { user : { name : string, mail : string } | tool : { version : nat } | unknown_ }
predicate File : { path : string, extension : string }
predicate Symbol : {
  file : File,
  name : string,
  line : nat,
  kind : Kind,
  origin : Origin,
  names : set string,
  numbers : [nat],
  kinds : [Kind],
  scores : maybe { a : nat, b : nat },
} -> { text : string, more : nat }
predicate Flat : string
predicate Sub : { kind : Kind, name : string, other : nat }
}
schema src.2 evolves src.1
schema use.1 {
import src.1
predicate Temporary : src.File F where F = src.File { path = "/tmp".. }
predicate Named : { name : string, symbol : src.Symbol } { N, S } where S = src.Symbol { name = N }
predicate Own : { file : src.File }
}
"#;

const NEW: &str = r#"[
{ "predicate": "src.File.2", "facts": [
  { "id": 1, "key": { "path": "/tmp/a", "extension": "a" } }, { "id": 2, "key": { "path": "/b", "extension": "b" } } ] },
{ "predicate": "src.Symbol.2", "facts": [
  { "key": { "file": 1, "name": "one", "line": 7, "kind": "function",
      "origin": { "user": { "name": "u", "mail": "m" } }, "names": ["z", "y", "z"], "numbers": [3, 1, 3],
      "kinds": ["added", "variable"], "scores": { "a": 4, "b": 5 } },
    "value": { "text": "first", "more": 1 } },
  { "key": { "file": 2, "name": "two", "line": 8, "kind": "added", "origin": { "tool": { "version": 6 } },
      "names": [], "numbers": [], "kinds": ["function", "function"] },
    "value": { "text": "second", "more": 2 } },
  { "key": { "file": 2, "name": "three", "line": 9, "kind": "variable", "origin": { "unknown_": {} },
      "names": ["q"], "numbers": [9], "kinds": [] },
    "value": { "text": "third", "more": 3 } } ] },
{ "predicate": "src.Flat.2", "facts": [ { "key": "flat" } ] },
{ "predicate": "src.Sub.2", "facts": [
  { "key": { "kind": "function", "name": "f", "other": 1 } }, { "key": { "kind": "function", "name": "g", "other": 2 } },
  { "key": { "kind": "variable", "name": "f", "other": 3 } }, { "key": { "kind": "added", "name": "f", "other": 4 } } ] }
]"#;

const ONE: &str = concat!(
    r#"[{"absent":{"b":false,"e":0,"l":[],"n":0,"s":""},"file":{"path":"/tmp/a"},"kind":0,"kinds":[{},2],"#,
    r#""name":"one","names":["y","z"],"numbers":[1,3],"origin":{"user":{"name":"u"}},"scores":{"a":4}},"#,
    r#"{"old":0,"text":"first"}]"#
);
const TWO: &str = concat!(
    r#"[{"absent":{"b":false,"e":0,"l":[],"n":0,"s":""},"file":{"path":"/b"},"kind":{},"kinds":[0,0],"#,
    r#""name":"two","names":[],"numbers":[],"origin":{}},{"old":0,"text":"second"}]"#
);

/// Queries over the newer facts and their results, sorted.
const QUERIES: &[(&str, &[&str])] = &[
    ("src.File.1 _", &[r#"{"path":"/b"}"#, r#"{"path":"/tmp/a"}"#]),
    ("src.File.1 { path = \"/b\" }", &[r#"{"path":"/b"}"#]),
    ("src.File.1 { path = \"/t\".. }", &[r#"{"path":"/tmp/a"}"#]),
    ("X where src.File.1 X", &[r#"{"path":"/b"}"#, r#"{"path":"/tmp/a"}"#]),
    ("X where X = { path = \"/b\" } : { path : string }; src.File.1 X", &[r#"{"path":"/b"}"#]),
    ("P where F = src.File.1 _; P = F.path", &["\"/b\"", "\"/tmp/a\""]),
    ("K where F = src.File.1 _; K = F.*", &[r#"{"path":"/b"}"#, r#"{"path":"/tmp/a"}"#]),
    ("src.Symbol.1 { name = \"one\" }", &[ONE]),
    ("src.Symbol.1 { name = \"two\" }", &[TWO]),
    ("N where src.Symbol.1 { name = N, file = { path = \"/b\" } }", &["\"three\"", "\"two\""]),
    ("N where src.Symbol.1 { name = N, kind = function }", &["\"one\""]),
    ("N where src.Symbol.1 { name = N, kind = gone }", &[]),
    ("N where src.Symbol.1 { name = N, kind = (gone | variable) }", &["\"three\""]),
    (
        "N where src.Symbol.1 { name = N }; !(src.Symbol.1 { name = N, kind = gone })",
        &["\"one\"", "\"three\"", "\"two\""],
    ),
    (
        "{ N, K } where src.Symbol.1 { name = N, kind = K }",
        &[
            r#"{"tuplefield0":"one","tuplefield1":0}"#,
            r#"{"tuplefield0":"three","tuplefield1":2}"#,
            r#"{"tuplefield0":"two","tuplefield1":{}}"#,
        ],
    ),
    ("N where src.Symbol.1 { name = N, origin = { user = { name = \"u\" } } }", &["\"one\""]),
    ("N where src.Symbol.1 { name = N, origin = { dropped = _ } }", &[]),
    ("N where src.Symbol.1 { name = N, origin = unknown_ }", &["\"three\""]),
    ("O where src.Symbol.1 { origin = O }", &[r#"{"unknown_":{}}"#, r#"{"user":{"name":"u"}}"#, "{}"]),
    ("N where S = src.Symbol.1 _; N = S.origin.user?.name", &["\"u\""]),
    (
        "N where src.Symbol.1 { name = N, absent = { n = 0, e = first, m = nothing } }",
        &["\"one\"", "\"three\"", "\"two\""],
    ),
    ("N where src.Symbol.1 { name = N, absent = { n = 1 } }", &[]),
    ("N where src.Symbol.1 { name = N, absent = { e = second } }", &[]),
    ("A where src.Symbol.1 { name = \"one\", absent = A }", &[r#"{"b":false,"e":0,"l":[],"n":0,"s":""}"#]),
    ("N where src.Symbol.1 { name = N, names = [\"y\", \"z\"] }", &["\"one\""]),
    ("N where src.Symbol.1 { name = N, names = [\"y\", ..] }", &["\"one\""]),
    ("X where src.Symbol.1 { names = N }; X = N[..]", &["\"q\"", "\"y\"", "\"z\""]),
    ("X where src.Symbol.1 { numbers = N }; X = elements N", &["1", "3", "9"]),
    ("prim.size N where src.Symbol.1 { name = \"one\", numbers = N }", &["2"]),
    ("N where src.Symbol.1 { name = N, kinds = [function, function] }", &["\"two\""]),
    ("N where src.Symbol.1 { name = N, kinds = [_, variable] }", &["\"one\""]),
    ("N where src.Symbol.1 { name = N, kinds = [_, ..] }", &["\"one\"", "\"two\""]),
    ("N where src.Symbol.1 { name = N, kinds = [] }", &["\"three\""]),
    ("N where src.Symbol.1 { name = N, scores = { just = { a = 4 } } }", &["\"one\""]),
    ("N where src.Symbol.1 { name = N, scores = nothing }", &["\"three\"", "\"two\""]),
    ("S where src.Symbol.1 { scores = { just = S } }", &[r#"{"a":4}"#]),
    ("T where src.Symbol.1 { name = \"two\" } -> { text = T, old = 0 }", &["\"second\""]),
    ("T where src.Symbol.1 _ -> { text = T, old = 1 }", &[]),
    ("V where src.Symbol.1 { name = \"two\" } -> V", &[r#"{"old":0,"text":"second"}"#]),
    ("src.Flat.1 _", &["\"flat\""]),
    // A variable that is known, one that others give a value, and both sides of a comparison.
    ("N where K = variable : src.Kind.1; src.Sub.1 { kind = K, name = N }", &["\"f\""]),
    ("N where src.Sub.1 { kind = K, name = \"g\" }; src.Sub.1 { kind = K, name = N }", &["\"f\"", "\"g\""]),
    ("N where src.Symbol.1 { name = \"two\", kind = K }; src.Sub.1 { kind = K, name = N }", &["\"f\""]),
    ("prim.size (all (K where src.Sub.1 { kind = K }))", &["3"]),
    ("use.Temporary _", &[r#"{"path":"/tmp/a"}"#]),
    ("N where use.Named { name = \"one\", symbol = S }; N = S.name", &["\"one\""]),
    ("use.Named { name = \"four\" }", &[]),
    ("use.Own _", &[]),
    ("src.File.2 { path = \"/b\" }", &[r#"{"extension":"b","path":"/b"}"#]),
    ("if src.Symbol.1 { kind = gone } then 1 else 2", &["2"]),
];

#[test]
fn queries_for_older_predicates_are_answered_from_newer_facts() {
    let database = Database::new(SCHEMA, NEW);
    let mut wrong = Vec::new();
    for (query, expected) in QUERIES {
        match database.query(query) {
            Ok(_) if database.sorted(query) == *expected => {}
            Ok(_) => wrong.push(format!("{query}\n    found {:?}\n    expected {expected:?}", database.sorted(query))),
            Err(error) => wrong.push(format!("{query}\n    {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How many facts a query searches, and how many it returns.
fn searched(database: &Database, query: &str) -> (u64, usize) {
    let page = database.page(query);
    (page.searched.iter().map(|(_, count)| count).sum(), page.results.len())
}

#[test]
fn known_beginnings_of_older_keys_are_searched_by_prefix() {
    let schema = "schema a.1 { type K = enum { x | y } predicate P : { kind : K, name : string, n : nat } }
        schema a.2 { type K = enum { y | z | x } predicate P : { kind : K, name : string, more : nat, n : nat } }
        schema a.2 evolves a.1";
    let fact =
        |index: usize| format!(r#"{{"key":{{"kind":{},"name":"n{}","more":7,"n":{index}}}}}"#, index % 3, index / 3);
    let facts: Vec<String> = (0..300).map(fact).collect();
    let batch = format!(r#"[{{"predicate":"a.P.2","facts":[{}]}}]"#, facts.join(","));
    let database = Database::new(schema, &batch);
    assert_eq!(searched(&database, "a.P.1 { kind = x }"), (100, 100));
    assert_eq!(searched(&database, "a.P.1 { kind = y, name = \"n1\".. }"), (11, 11));
    assert_eq!(searched(&database, "a.P.1 { kind = y, name = \"n15\" }"), (1, 1));
    // Variables with a value, of an enumeration and of a whole record.
    assert_eq!(searched(&database, "N where K = x : a.K.1; a.P.1 { kind = K, name = \"n7\", n = N }"), (1, 1));
    let record = "X where X = ({ kind = y, name = \"n15\", n = 45 } : { kind : a.K.1, name : string, n : nat })";
    assert_eq!(searched(&database, &format!("{record}; a.P.1 X")), (1, 1));
}

#[test]
fn facts_of_the_older_schema_leave_evolution_without_effect() {
    let older = r#"{ "predicate": "src.Flat.1", "facts": [ { "key": "old" } ] },"#;
    let database = Database::new(SCHEMA, &NEW.replacen('[', &format!("[{older}"), 1));
    assert_eq!(database.sorted("src.Flat.1 _"), [r#""old""#]);
    for query in ["src.File.1 _", "src.Symbol.1 _", "use.Temporary _"] {
        assert!(database.sorted(query).is_empty(), "{query}");
    }
    assert_eq!(database.sorted("src.File.2 _").len(), 2);
    let database = Database::new(SCHEMA, &format!("[{} ]", older.trim_end_matches(',')));
    assert!(database.sorted("src.Flat.2 _").is_empty(), "older facts do not answer for newer predicates");
}

/// Three versions. The second one lacks a field, which the third one has again with another type.
const CHAIN: &str = "
schema a.1 { type K = enum { one | two } predicate P : { x : string, gone : nat, k : K } }
schema a.2 { type K = enum { two | one } predicate P : { x : string, k : K } }
schema a.3 { type K = enum { three | two | one } predicate P : { gone : string, k : K, x : string } }
schema a.2 evolves a.1
schema a.3 evolves a.2";

#[test]
fn a_chain_is_followed_to_the_first_schema_with_facts() {
    let third = r#"{"predicate":"a.P.3","facts":[{"key":{"gone":"g","k":"three","x":"a"}},{"key":{"gone":"g","k":"one","x":"b"}}]}"#;
    let database = Database::new(CHAIN, &format!("[{third}]"));
    let of_first = [r#"{"gone":0,"k":0,"x":"b"}"#, r#"{"gone":0,"k":{},"x":"a"}"#];
    assert_eq!(database.sorted("a.P.1 _"), of_first);
    assert_eq!(database.sorted("X where a.P.1 X"), of_first);
    assert_eq!(database.sorted("a.P.1 { k = one }"), of_first[..1]);
    assert_eq!(database.sorted("K where a.P.1 { k = K }"), ["0", "{}"]);
    assert_eq!(database.sorted("a.P.2 _"), [r#"{"k":1,"x":"b"}"#, r#"{"k":{},"x":"a"}"#]);
    let second = r#"{"predicate":"a.P.2","facts":[{"key":{"k":"two","x":"c"}}]}"#;
    let database = Database::new(CHAIN, &format!("[{second},{third}]"));
    assert_eq!(database.sorted("a.P.1 _"), [r#"{"gone":0,"k":1,"x":"c"}"#]);
    assert_eq!(database.sorted("a.P.2 _"), [r#"{"k":0,"x":"c"}"#]);
}

#[test]
fn derivations_of_the_newer_schema_answer_for_the_older_predicate() {
    let schema = "schema a.1 { predicate N : nat predicate D : { n : nat } { N } where a.N N }
        schema a.2 { predicate N : nat predicate D : { m : nat, n : nat } { M, N } where a.N N; M = N + 1 }
        schema a.2 evolves a.1"
        .replace("{ N } where", "{ n = N } where");
    let database = Database::new(&schema, r#"[{"predicate":"a.N.2","facts":[{"key":1},{"key":5}]}]"#);
    assert_eq!(database.sorted("a.D.1 _"), [r#"{"n":1}"#, r#"{"n":5}"#]);
    assert_eq!(database.sorted("a.D.1 { n = 5 }"), [r#"{"n":5}"#]);
    assert_eq!(database.sorted("N where D = a.D.1 _; N = D.n"), ["1", "5"]);
}

#[test]
fn pages_of_older_predicates_continue() {
    let database = Database::new(SCHEMA, NEW);
    for (query, _) in QUERIES {
        let compiled = database.query(query).expect("it is right");
        let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
        let mut found = Vec::new();
        let mut page = compiled.run(&database.memory, &limits).expect("it runs");
        loop {
            found.extend(page.results.iter().map(|result| result.bytes.clone()));
            let Some(continuation) = page.continuation.take() else { break };
            page = compiled.continue_from(&database.memory, &limits, &continuation).expect("it continues");
        }
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), database.sorted(query).len(), "{query}");
    }
}

#[test]
fn unknown_alternatives_are_not_stored() {
    let schema = Schema::parse("a.angle", SCHEMA).expect("it is right");
    let flat = fulgurite_facts::Type::enumeration(["a", "b"]);
    assert!(fulgurite_facts::decode(&flat, &[2]).is_err());
    assert!(fulgurite_facts::encode(&flat, &fulgurite_facts::Value::Enum(2)).is_err());
    let sum = schema.types().iter().find(|ty| ty.name == "src.Origin").expect("it is there");
    assert!(fulgurite_facts::decode(&sum.ty, &[3]).is_err());
    let mut memory = crate::memory::Memory::default();
    let batch = r#"[{"predicate":"src.Sub.1","facts":[{"key":{"kind":3,"name":"x"}}]}]"#;
    let refused = fulgurite_facts::write_batch(&schema, batch.as_bytes(), &mut memory);
    assert!(refused.is_err(), "{refused:?}");
    let mut found = Vec::new();
    fulgurite_facts::references_of(&sum.ty, &[3], &mut found).expect("what is printed may be unknown");
    assert_eq!(found, [] as [(FactId, fulgurite_facts::PredicateId); 0]);
}

#[test]
fn predicates_that_evolve_from_each_other_are_refused() {
    let schema = "schema a.1 { predicate P : nat } schema b.2 { predicate P : nat }
        schema b.1 : b.2 { } schema a.2 : b.2 { } schema c.1 : b.2 { } schema c.2 : a.1 { }
        schema a.2 evolves a.1 schema c.2 evolves c.1";
    let refused = Schema::parse("a.angle", schema).expect_err("a cycle").to_string();
    assert!(refused.contains("evolves itself, by way of"), "{refused}");
    assert!(refused.contains("leave out one of these `evolves`"), "{refused}");
}

#[test]
fn an_enumerator_that_its_type_does_not_have_is_an_error() {
    let schema = "schema a.1 { predicate P : [enum { red | green }] }
        schema a.2 { predicate P : [enum { green | blue | red }] }
        schema a.2 evolves a.1";
    let mut database = Database::new(schema, r#"[{ "predicate": "a.P.2", "facts": [{ "key": [1] }] }]"#);
    let newer = database.compiler.schema().find("a.P.2").expect("it is declared").id;
    assert_eq!(database.sorted("E where a.P.1 E"), ["[{}]"]);
    // The number of enumerators is the unknown one of a conversion. No type has higher ones.
    database.memory.define(newer, &[1, 4], &[]).expect("facts in memory are not checked");
    let compiled = database.query("E where a.P.1 E").expect("it is right");
    let damaged = compiled.run(&database.memory, &QueryLimits::default()).expect_err("no such enumerator");
    assert!(damaged.to_string().contains("the type has no such alternative"), "{damaged}");
}

#[test]
fn sums_in_each_other_are_translated_by_a_bounded_number_of_alternatives() {
    let sum = |names: &[&str], inner: &str| {
        let alternatives: Vec<String> = names.iter().map(|name| format!("{name} : {inner}")).collect();
        format!("{{ {} }}", alternatives.join(" | "))
    };
    let (old, new) = (["a", "b", "c", "d", "e", "f", "g", "h"], ["b", "a", "c", "d", "e", "f", "g", "h"]);
    let nested = |names: &[&str]| (0..4).fold("nat".to_owned(), |inner, _| sum(names, &inner));
    let schema = format!(
        "schema a.1 {{ predicate P : {{ s : {}, n : nat }} }} schema a.2 {{ predicate P : {{ s : {}, n : nat }} }}
        schema a.2 evolves a.1",
        nested(&old),
        nested(&new)
    );
    let batch = r#"[{ "predicate": "a.P.2", "facts": [
        { "key": { "s": { "a": { "b": { "c": { "d": 5 } } } }, "n": 1 } } ] }]"#;
    let database = Database::new(&schema, batch);
    let query = "{ S, T } where a.P.1 { s = S, n = 1 }; a.P.1 { s = S, n = N }; T = N";
    let plan = format!("{:?}", database.query(query).expect("it is right"));
    // Each of 8 * 8 * 8 * 8 alternatives would be an operation.
    let operations = plan.matches("Match(").count();
    assert!(operations < 100, "{operations}");
    let expected = r#"{"tuplefield0":{"a":{"b":{"c":{"d":5}}}},"tuplefield1":1}"#;
    assert_eq!(database.sorted(query), [expected]);
}
