//! Errors: each has its place and says what to do.

use std::sync::Arc;

use fulgurite_facts::{Compiler, Schema, write_batch};

use crate::memory::{Database, Memory};

const SCHEMA: &str = "schema t.1 {
type Colour = enum { red | green }
predicate Name : string
predicate Pair : { fst : string, snd : nat }
predicate Shape : { circle : nat | square : Name }
predicate Size : Name -> nat
predicate Marks : [{}]
predicate Loop : Loop
predicate Bytes : [byte]
}";

fn schema_error(text: &str) -> String {
    let parsed = Schema::parse("s.angle", text).map_err(|error| error.to_string());
    match parsed.and_then(|schema| Compiler::new(Arc::new(schema)).map_err(|error| error.to_string())) {
        Ok(_) => panic!("{text} is a schema"),
        Err(error) => error,
    }
}

#[test]
fn wrong_queries_are_errors_with_place_and_hint() {
    let database = Database::new(SCHEMA, "[]");
    for (query, expected) in [
        ("t.Nane _", "query:1:1: there is no predicate t.Nane, at `t.Nane`; did you mean `t.Name`?"),
        ("$t.Colour 1024", "query:1:2: t.Colour is a type, not a predicate"),
        ("t.Colour blue", "query:1:10: enum { red | green } has no `blue`"),
        ("t.Colour _", "the query returns something that is not complete"),
        ("t.Colour red green", "query:1:14: t.Colour has one pattern, not 2"),
        ("t.Name 12", "query:1:8: expected string, found nat, at `12`"),
        ("t.Name { name = 12 }", "query:1:8: there is no field or alternative `name` in string, at `{ name = 12 }`"),
        ("t.Pair { fst = \"a\",\n  third = 1 }", "query:2:3: { fst : string, snd : nat } has no `third`, at `third`"),
        ("t.Shape { circel = 1 }", "did you mean `circle`?"),
        ("t.Shape { circle = 1, square = _ }", "expected one alternative"),
        ("t.Pair { snd = 1, snd = 2 }", "query:1:19: `snd` occurs twice, at `snd`; drop one of them"),
        ("X where X = { a = 1, a = 2 }", "query:1:22: `a` occurs twice, at `a`; drop one of them"),
        ("X where X = t.Pair _; Y = X.*; Y = { snd = 1, snd = 2 }", "query:1:47: `snd` occurs twice"),
        ("t.Name", "query:1:1: t.Name stands without a pattern, at `t.Name`; write `t.Name _` for all its facts"),
        ("t.Name X", "query:1:8: the variable X is mentioned only once, at `X`; write `_` for anything"),
        ("X where X = prim.toLower Y; Y = Y", "has no value"),
        ("X where !(t.Name X)", "query:1:1: a part of the query has no value to begin with"),
        ("X where X = Y; Y = X", "cannot be found out"),
        ("X where X = (Y : nat); Y = X", "a part of the query has no value to begin with"),
        (
            "X where t.Name \"a\"; ((X = 1) | t.Name \"b\")",
            "query:1:22: the variable X has no value in some branches, at `(X = 1) | t.Name \"b\"`; match X in every branch",
        ),
        (
            "X where t.Name \"a\"; (t.Name \"b\" | ((X = 1) | t.Name \"c\"))",
            "query:1:36: the variable X has no value in some branches",
        ),
        ("X where if t.Name \"a\" then (X = 1) else {}", "query:1:9: the variable X has no value in some branches"),
        (
            "{ X, Y } where ((X = 1) | (Y = 2)); ((X = 3) | t.Pair { _, Y })",
            "query:1:17: the variable X has no value in some branches",
        ),
        ("X where X = (1 | _)", "query:1:14: a value is missing in some branches, at `1 | _`; write the value"),
        ("_ : nat", "the query returns something that is not complete"),
        ("prim.length 1 2", "expected 1 arguments, found 2"),
        ("prim.nope 1", "query:1:1: there is no primitive prim.nope, at `prim.nope`; the reference of Angle lists"),
        ("prim.length 1", "expected [_], found nat"),
        ("X where X = 1 | X = 2", "binds looser than `|`"),
        ("N where N = X.zz; X = t.Pair _", "`zz` cannot be selected from { fst : string, snd : nat }"),
        ("A where A = X.a; X = t.Loop _", "`a` cannot be selected from t.Loop.1"),
        ("A where A = X.*; X = 1", "expected a fact before `.*`, found nat"),
        ("A where A = X.*; X = X", "expected a fact before `.*`, found a type that is not known"),
        ("X where X = $1024", "the predicate of this fact cannot be found out"),
        ("X where X = $1024; X = 1", "the predicate of this fact cannot be found out"),
        ("X where X = X.a", "the type would contain itself"),
        ("1 where ((t.Name _; V = 3) | (t.Pair _; V = 4)); (if t.Pair _ then V else 1) !== 1", "has a V of its own"),
        ("prim.lenght [1]", "did you mean `prim.length`?"),
        ("t.Name \"a\" \"b\"", "t.Name has one pattern, not 2"),
        ("X where X = t.Pair _; X.third = 1", "`third` cannot be selected"),
        ("X where X = t.Shape _; X.circle = 1", "it is a sum: write `.circle?`"),
        ("\"a\" -> 1", "a key with a value cannot be here"),
        ("t.Name ($1024 : nat)", "the predicate of this fact cannot be found out"),
        ("t.Pair { _, _", "query:1:14: expected `}` or `,` after a field, at `end of the text`"),
        ("t.Name \"a\", t.Name \"b\"", "statements are separated by `;`"),
        ("t.Pair { t.Name _ }", "a record of one field is written with its name"),
        ("X where X = [1, \"a\"][..]", "expected nat, found string"),
        ("a b c", "there is no predicate a"),
        ("1 where where", "expected a pattern, at `where`"),
    ] {
        let error = database.error(query);
        assert!(error.contains(expected), "{query}\n{error}");
    }
}

#[test]
fn wrong_schemas_are_errors_with_place_and_hint() {
    for (text, expected) in [
        ("schema a { }", "s.angle:1:8: the name of the schema has no version, at `a`; write `schema a.1`"),
        ("schema a.1 { import b.1 }", "s.angle:1:21: there is no schema b.1"),
        ("schema aa.1 { } schema a.1 { import ab.1 }", "did you mean `a.1`?"),
        ("schema a.1 { import b.1 } schema b.1 { import a.1 }", "a cycle: a.1 → b.1 → a.1"),
        ("schema a.1 { } schema a.1 { }", "schema a.1 is defined twice"),
        ("schema a.1 { predicate P : Q }", "s.angle:1:28: there is no type or predicate Q"),
        ("schema a.1 { predicate P : nat type P = nat }", "P is declared twice in schema a.1"),
        ("schema a.1 { type A = B type B = [A] }", "the type contains itself: a.A → a.B → a.A"),
        ("schema a.1 { predicate P : { x : nat, x : nat } }", "`x` occurs twice in a type"),
        ("schema a.1 { predicate P : { x : nat, y : nat | z : nat } }", "records separate fields by `,`"),
        ("schema a.1 { predicate P : nat default 3 }", "begin the file with `version: 11`"),
        ("schema a.1 { predicate P : nat \"x\" }", "expected nat, found string"),
        ("schema a.1 { predicate P : nat -> nat 3 }", "a.P.1 has a value, which its derivation does not return"),
        ("schema a.1 { predicate P : nat derive P 1 derive P 2 }", "a.P has two derivations"),
        ("schema a.1 { predicate class : nat }", "`class` cannot be declared"),
        ("schema a.1 { predicate P : string X where X = ($1024 : P).* }", "cannot name a fact by its id"),
        (
            "schema a.1 { predicate P : { x : nat } } schema a.2 { predicate P : { x : string } }
             schema a.2 evolves a.1",
            "a.P.2 cannot evolve a.P.1: key.x was nat and is string",
        ),
        (
            "schema a.1 { predicate P : { x : nat } } schema a.2 { predicate P : { x : nat, y : P } }
             schema a.2 evolves a.1",
            "key.y, of type a.P.2, is in one of them only and has no default",
        ),
        ("schema a.1 { predicate P : nat } schema a.2 { } schema a.2 evolves a.1", "schema a.2 has no predicate P"),
        ("schema a.1 { } schema a.2 { } schema a.2 evolves a.1 schema a.1 evolves a.2", "evolves itself"),
        ("schema a.1 { } schema a.1 evolves a.1", "schema a.1 evolves itself, by way of a.1"),
    ] {
        let error = schema_error(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn hostile_nesting_and_size_are_errors_and_use_no_stack() {
    let database = Database::new(SCHEMA, "[]");
    for (open, close) in
        [("(", ")"), ("[", "]"), ("!(", ")"), ("{ just = ", " }"), ("if 1 then ", " else 2"), ("all (", ")")]
    {
        let query = format!("{}1{}", open.repeat(50_000), close.repeat(50_000));
        let error = database.error(&query);
        assert!(error.contains("nested more than 100 deep"), "{open}: {}", &error[..error.len().min(200)]);
    }
    for query in [format!("1{}", " + 1".repeat(50_000)), format!("X where X = Y{}", ".a".repeat(50_000))] {
        assert!(database.error(&query).contains("nested more than 100 deep"));
    }
    let types = format!("schema a.1 {{ predicate P : {}nat{} }}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(schema_error(&types).contains("nested more than 100 deep"));
    let doubling: String = (1..60).map(|n| format!("type T{n} = {{ a : T{}, b : T{} }} ", n - 1, n - 1)).collect();
    assert!(schema_error(&format!("schema a.1 {{ type T0 = nat {doubling} }}")).contains("more than 200000 parts"));
    let chain: String = (1..1000).map(|n| format!("type T{n} = [T{}] ", n - 1)).collect();
    assert!(schema_error(&format!("schema a.1 {{ {chain} type T0 = nat }}")).contains("nested more than 150 deep"));
    let statements = format!("1 where t.Name \"a\"{}", "; t.Name _".repeat(2000));
    assert!(database.error(&statements).contains("more than 500 statements"));
    let schema = "schema a.1 { predicate P : nat N where Q N  predicate Q : nat N where P N }";
    let recursive = Database::new(schema, "[]");
    assert!(recursive.error("a.P _").contains("derived from itself: a.P.1 → a.Q.1 → a.P.1"));
}

#[test]
fn schemas_that_see_more_names_than_memory_should_hold_are_refused() {
    let types: String = (0..1_000).map(|n| format!("type T{n} = nat ")).collect();
    let heirs: String = (1..300).map(|n| format!("schema s{n}.1 : s{}.1 {{ }} ", n - 1)).collect();
    let many = format!("schema s0.1 {{ {types} }} {heirs}");
    let error = schema_error(&many);
    assert!(error.contains("more than 1000000 names in all, at `s"), "{error}");
    // A database that has such a schema still opens.
    let stored = Schema::from_text(&format!("#SOURCE {} s.angle\n{many}\n", many.len()));
    assert!(stored.is_ok(), "{:?}", stored.err());
    // A schema that is named twice is seen once.
    let imports = "import s0 import s0.1 ".repeat(1_000);
    let few = format!("schema s0.1 {{ {types} }} schema a.1 : s0.1, s0.1 {{ {imports} predicate P : T7 }}");
    assert!(Schema::parse("s.angle", &few).expect("it is right").find("a.P.1").is_some());
}

#[test]
fn a_long_chain_of_schemas_that_evolve_is_read_and_a_circle_is_found_in_it() {
    const LENGTH: usize = 5_000;
    let schemas: String = (0..LENGTH).map(|n| format!("schema a{n}.1 {{ }} ")).collect();
    let evolves: String = (1..LENGTH).map(|n| format!("schema a{n}.1 evolves a{}.1 ", n - 1)).collect();
    let chain = format!("{schemas}{evolves}");
    Schema::parse("s.angle", &chain).expect("a chain is no circle");
    let error = schema_error(&format!("{chain}schema a7.1 evolves a{}.1", LENGTH - 1));
    // The first line of the circle.
    assert!(error.contains("schema a7.1 evolves itself, by way of a8.1, at `a8.1`"), "{error}");
}

#[test]
fn wrong_facts_are_errors_with_place() {
    let schema = Schema::parse("s.angle", SCHEMA).expect("the schema is right");
    let batch = |predicate: &str, facts: &str| format!(r#"[{{ "predicate": "{predicate}", "facts": [{facts}] }}]"#);
    for (text, expected) in [
        (batch("t.Name", r#"{ "key": 1 }"#), "batch 1, fact 1: $.key: expected string, found a number"),
        (
            batch("t.Pair", "\n{ \"key\": { \"fst\": \"\", \"snd\": 1 } },\n  { \"key\": { \"fst\": [] } }\n"),
            "line 3, column 3, batch 1, fact 2: $.key.fst: expected",
        ),
        (batch("t.Pair", r#"{ "key": { "fts": "" } }"#), "no field `fts`; did you mean `fst`?"),
        (batch("t.Pair", r#"{ "key": { "snd": 1.5 } }"#), "1.5 is not a natural number"),
        (
            batch("t.Pair", r#"{ "key": { "snd": 18446744073709551616 } }"#),
            "$.key.snd: a number of more digits is not a natural number of 64 bits",
        ),
        (batch("t.Name", r#"{ "id": -7, "key": "a" }"#), "the id is -7, not a natural number of 64 bits"),
        (batch("t.Name", r#"{ "id": "7", "key": "a" }"#), "the id is a string, not a natural number of 64 bits"),
        (batch("t.Shape", r#"{ "key": { "square": 5 } }"#), "$.key.square: there is no fact 5 before this one"),
        (batch("t.Shape", r#"{ "key": { "square": { "id": 5 } } }"#), "there is no fact 5 before this one"),
        (batch("t.Shape", r#"{ "key": {} }"#), "expected { circle : nat | square : t.Name.1 }, found an object"),
        (batch("t.Size", r#"{ "key": { "key": "a" } }"#), "a fact of t.Size.1 has a `value`"),
        (batch("t.Name", r#"{ "key": "a", "kye": 1 }"#), "a fact has `id`, `key` and `value`, not `kye`"),
        (batch("t.Name", r#"{ "id": 1, "key": "a" }, { "id": 1, "key": "b" }"#), "two facts have the id 1"),
        (batch("t.Name", r#"{ "key": "a", "key": "b" }"#), "the object has `key` twice"),
        (batch("t.Marks", &format!(r#"{{ "key": [{}{{}}] }}"#, "{},".repeat(256))), "at most 256 elements"),
        (batch("t.Bytes", r#"{ "key": "Zg=" }"#), "a string of base 64"),
        (r#"[{ "predicate": "t.Name" }]"#.to_owned(), "the batch has no `facts`"),
        (batch("t.Nome", ""), "there is no predicate t.Nome; did you mean `t.Name`?"),
        (r#"[{ "facts": [] }]"#.to_owned(), "the batch has no `predicate`"),
        (r#"[{ "schema_id": "a", "unit": "b" }]"#.to_owned(), "the batch has no `facts`"),
        (r#"[{ "facts": {}, "predicate": "t.Name" }]"#.to_owned(), "`facts` are an array of facts"),
        (
            r#"[{ "facts": [{ "key": 1 }], "predicate": "t.Name" }]"#.to_owned(),
            "batch 1, fact 1: $.key: expected string",
        ),
        (r#"[{ "predicate": { "name": "t.Name" }, "facts": [] }]"#.to_owned(), "`predicate` is a name"),
        (r#"[{ "predicate": { "name": "t.Name", "version": 2 }, "facts": [] }]"#.to_owned(), "no predicate t.Name.2"),
        ("[{ \"predicate\": \"t.Name\",\n \"facts\": [{ \"key\": \"a\" ".to_owned(), "line 2, column"),
        (format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)), "line 1, column"),
        (batch("t.Pair", &format!(r#"{{ "key": {}1{} }}"#, "[".repeat(10_000), "]".repeat(10_000))), "recursion limit"),
    ] {
        let error =
            write_batch(&schema, text.as_bytes(), &mut Memory::default()).expect_err("the batch is wrong").to_string();
        assert!(error.contains(expected), "{}\n{error}", &text[..text.len().min(200)]);
    }
    // Cut off anywhere, a batch is an error.
    let whole = batch("t.Size", r#"{ "key": { "key": "a" }, "value": 7 }"#);
    for length in 0..whole.len() {
        assert!(write_batch(&schema, &whole.as_bytes()[..length], &mut Memory::default()).is_err(), "{length}");
    }
    let marked = format!("\u{feff}{whole}");
    assert_eq!(write_batch(&schema, marked.as_bytes(), &mut Memory::default()).expect("the mark is not part of it"), 1);
    assert_eq!(write_batch(&schema, whole.as_bytes(), &mut Memory::default()).expect("the batch is right"), 1);
}
