//! Every construct of queries, over a small database.

use fulgurite_facts::Reads;

use crate::memory::Database;
use crate::random_types::Random;

const SCHEMA: &str = r#"
schema t.1 {
type Colour = enum { red | green | blue }
type Shape = { circle : nat | square : { side : nat, colour : Colour } | none }
type Label = string
predicate Name : string
predicate Pair : { fst : string, snd : string }
predicate Node : { label : Name }
predicate Edge : { from : Node, to : Node }
predicate Thing : { name : Name, shape : Shape, tags : [string], marks : set nat, parent : maybe Thing, big : bool }
predicate Size : Name -> { bytes : nat, text : string }
predicate Bytes : { data : [byte], one : byte }
predicate Reverse : { fst : string, snd : string } { B, A } where Pair { A, B }
predicate Twice : { x : string, r : Reverse } { X, R } where R = Reverse { X, _ }
predicate ByText : string -> nat T -> B where Size _ -> { B, T }
predicate Near : { from : Node, to : Node } { A, B } where Edge { A, B } | Edge { B, A }
predicate Cross : { a : string, b : nat } { A, B } where t.Name A; Size _ -> { bytes = B }
predicate First : string X.fst where X = Pair _
predicate Same : Pair P where P = Pair { A, A }
predicate Saved : { fst : string, snd : string } stored { B, A } where Pair { A, B }
}
"#;

const BATCH: &str = r#"[
{ "predicate": "t.Name.1", "facts": [ { "id": 1, "key": "a" }, { "id": 2, "key": "b" }, { "id": 3, "key": "Abc" } ] },
{ "predicate": "t.Pair", "facts": [
  { "key": { "fst": "a", "snd": "b" } }, { "key": { "fst": "b", "snd": "a" } }, { "key": { "fst": "a", "snd": "c" } },
  { "key": { "fst": "c", "snd": "c" } } ] },
{ "predicate": "t.Edge.1", "facts": [
  { "key": { "from": { "key": { "label": 1 } }, "to": { "key": { "label": { "key": "b" } } } } },
  { "key": { "from": { "key": { "label": { "id": 2 } } }, "to": { "key": { "label": 3 } } } } ] },
{ "predicate": "t.Thing.1", "facts": [
  { "id": 10, "key": { "name": 1, "shape": { "circle": 3 }, "tags": ["x", "y"], "marks": [2, 1, 2] } },
  { "key": { "name": 2, "shape": { "square": { "side": 4, "colour": 2 } }, "tags": ["x"], "parent": 10, "big": true } },
  { "key": { "name": 3, "shape": { "none": {} }, "tags": [], "marks": [7] } } ] },
{ "predicate": "t.Size.1", "facts": [
  { "key": 1, "value": { "bytes": 5, "text": "five" } }, { "key": 2, "value": { "bytes": 9, "text": "nine" } } ] },
{ "predicate": "t.Bytes.1", "facts": [ { "key": { "data": "AQID", "one": 255 } } ] }
]"#;

fn database() -> Database {
    Database::new(SCHEMA, BATCH)
}

/// Queries and their results, sorted.
const QUERIES: &[(&str, &[&str])] = &[
    ("t.Name \"a\"", &["\"a\""]),
    ("t.Name _", &["\"Abc\"", "\"a\"", "\"b\""]),
    ("t.Name \"A\"..", &["\"Abc\""]),
    ("t.Name never", &[]),
    ("X where t.Name X", &["\"Abc\"", "\"a\"", "\"b\""]),
    ("R where t.Name (\"A\".. R)", &["\"bc\""]),
    ("t.Name (\"a\" | \"b\" | \"z\")", &["\"a\"", "\"b\""]),
    ("t.Pair { A, A } where A = \"c\"", &[r#"{"fst":"c","snd":"c"}"#]),
    ("A where t.Pair { fst = A, snd = B }; t.Pair { fst = B, snd = A }", &["\"a\"", "\"b\"", "\"c\""]),
    ("A where t.Pair { A, _ }; !(t.Pair { _, A })", &[]),
    ("A where t.Pair { _, A }; !(t.Pair { A, \"a\" })", &["\"a\"", "\"c\""]),
    ("B where t.Pair { A, B }; A != B", &["\"a\"", "\"b\"", "\"c\""]),
    ("t.Edge { from = { label = \"a\" } }", &[r#"{"from":{"label":"a"},"to":{"label":"b"}}"#]),
    (
        "t.Edge { to = t.Node { label = t.Name \"Abc\" } } | t.Edge { t.Node { label = \"z\" }, _ }",
        &[r#"{"from":{"label":"b"},"to":{"label":"Abc"}}"#],
    ),
    ("L where t.Edge { from = N }; L = N.label", &["\"a\"", "\"b\""]),
    ("L where E = t.Edge _; L = E.to.label.*", &["\"Abc\"", "\"b\""]),
    ("N.* where t.Thing { name = N, shape = { circle = 3 } }", &["\"a\""]),
    ("N.* where t.Thing { name = N, shape = { square = { colour = blue } } }", &["\"b\""]),
    ("N.* where t.Thing { name = N, shape = none }", &["\"Abc\""]),
    ("C where t.Thing { shape = S }; C = S.circle?", &["3"]),
    ("S where T = t.Thing _; S = T.shape.square?.side", &["4"]),
    ("N.* where t.Thing { name = N, parent = nothing }", &["\"Abc\"", "\"a\""]),
    ("N.* where t.Thing { name = N, parent = { just = { name = \"a\" } } }", &["\"b\""]),
    ("P.name.* where T = t.Thing _; P = T.parent.just?", &["\"a\""]),
    ("N.* where t.Thing { name = N, big = true }", &["\"b\""]),
    ("X where t.Thing { tags = T }; X = T[..]", &["\"x\"", "\"y\""]),
    ("N.* where t.Thing { name = N, tags = [\"x\", ..] }", &["\"a\"", "\"b\""]),
    ("N.* where t.Thing { name = N, tags = [\"x\"] }", &["\"b\""]),
    ("N.* where t.Thing { name = N, tags = [] }", &["\"Abc\""]),
    ("M where t.Thing { marks = S }; M = S[..]", &["1", "2", "7"]),
    ("M where t.Thing { marks = S }; M = elements S", &["1", "2", "7"]),
    ("prim.length T where t.Thing { tags = T }", &["0", "1", "2"]),
    ("prim.size T where t.Thing { marks = T }", &["0", "1", "2"]),
    ("prim.toLower X where t.Name X", &["\"a\"", "\"abc\"", "\"b\""]),
    // Each character by itself: a sigma at the end is no other one, and `İ` is one character.
    ("prim.toLower \"ΟΔΟΣ\"", &["\"οδοσ\""]),
    ("prim.toLower \"İ\"", &["\"i\""]),
    ("prim.reverse X where t.Name X", &["\"a\"", "\"b\"", "\"cbA\""]),
    ("X where X = (1 | 2 | 3 | 4); X > 1; X <= 3", &["2", "3"]),
    ("X + 1 where X = [1, 5][..]; X !== 5", &["2"]),
    ("X where X = (1 | 2); X >= 2; X < 9", &["2"]),
    ("prim.addNat 1 2", &["3"]),
    (
        "prim.zip [1, 2, 3] [\"a\", \"b\"]",
        &[r#"[{"tuplefield0":1,"tuplefield1":"a"},{"tuplefield0":2,"tuplefield1":"b"}]"#],
    ),
    ("prim.concat [1] [2, 3]", &["[1,2,3]"]),
    (
        "prim.relToAbsByteSpans [{1, 2}, {4, 2}]",
        &[r#"[{"tuplefield0":1,"tuplefield1":2},{"tuplefield0":5,"tuplefield1":2}]"#],
    ),
    (
        "prim.unpackByteSpans [{3, [1, 4]}, {2, [1]}]",
        &[concat!(
            r#"[{"tuplefield0":1,"tuplefield1":3},{"tuplefield0":5,"tuplefield1":3},"#,
            r#"{"tuplefield0":6,"tuplefield1":2}]"#
        )],
    ),
    ("S where S = all (X where t.Pair { X, _ })", &[r#"["a","b","c"]"#]),
    ("prim.size (all (t.Name _))", &["3"]),
    ("if t.Name \"z\" then 1 else 2", &["2"]),
    ("if t.Name X then X else \"none\"", &["\"Abc\"", "\"a\"", "\"b\""]),
    (
        "{ A, S } where t.Name A; S = (if t.Pair { A, B } then B else \"-\")",
        &[
            r#"{"tuplefield0":"Abc","tuplefield1":"-"}"#,
            r#"{"tuplefield0":"a","tuplefield1":"b"}"#,
            r#"{"tuplefield0":"a","tuplefield1":"c"}"#,
            r#"{"tuplefield0":"b","tuplefield1":"a"}"#,
        ],
    ),
    ("if t.Name \"a\" then (if t.Name \"z\" then 1 else 2) else 3", &["2"]),
    // A branch that gives no value leaves that of others, and a condition searches where nothing else does.
    ("X where t.Name X; X = (if t.Name \"z\" then _ else \"b\")", &["\"b\""]),
    ("X where t.Name X; if t.Pair { X, _ } then {} else never", &["\"a\"", "\"b\""]),
    ("X where t.Name X; !(if t.Pair { X, _ } then {} else never)", &["\"Abc\""]),
    ("X where if t.Name X then {} else never", &["\"Abc\"", "\"a\"", "\"b\""]),
    ("X where if t.Pair { \"z\", X } then {} else (X = \"none\")", &["\"none\""]),
    (
        "{ A, B } where t.Name A; if t.Pair { A, B } then {} else (B = \"none\")",
        &[
            r#"{"tuplefield0":"Abc","tuplefield1":"none"}"#,
            r#"{"tuplefield0":"a","tuplefield1":"b"}"#,
            r#"{"tuplefield0":"a","tuplefield1":"c"}"#,
            r#"{"tuplefield0":"b","tuplefield1":"a"}"#,
        ],
    ),
    // A branch may give a value that the others do not, and be cheap: the value is not overwritten later.
    ("X where t.Pair { snd = X }; X = (if t.Name \"a\" then \"a\" else _)", &["\"a\""]),
    ("X where t.Pair { snd = X }; (X = \"a\"; t.Name \"a\") | t.Name \"z\"", &["\"a\""]),
    ("X where t.Pair { snd = X }; ((X = \"a\"; t.Name \"a\") | t.Name \"z\") | t.Name \"y\"", &["\"a\""]),
    ("X where t.Pair { snd = X }; ((X = \"a\"; t.Name \"a\") | t.Name \"z\"; t.Name \"a\") | t.Name \"y\"", &["\"a\""]),
    ("X where t.Pair { snd = X }; if t.Name \"a\" then (if t.Name \"a\" then (X = \"a\") else {}) else {}", &["\"a\""]),
    ("X where t.Pair { snd = X }; (if t.Name \"a\" then (X = \"a\") else t.Name \"a\") | t.Name \"z\"", &["\"a\""]),
    ("X where t.Pair { snd = X }; !(!((X = \"a\"; t.Name \"a\") | t.Name \"z\"))", &["\"a\""]),
    // No statement gives X a value before the branches, which give it to some: those outside move into each of them.
    (
        "{ X, Z } where ((Z = \"z\"; t.Name \"a\") | (X = \"a\"; Z = \"q\"; t.Name \"a\")); X = Z",
        &[r#"{"tuplefield0":"z","tuplefield1":"z"}"#],
    ),
    (
        "{ X, Z } where ((Z = \"z\"; t.Name \"a\") | (X = \"a\"; Z = \"a\")); X = Z; ((X = \"a\") | (Z = \"z\"))",
        &[r#"{"tuplefield0":"a","tuplefield1":"a"}"#, r#"{"tuplefield0":"z","tuplefield1":"z"}"#],
    ),
    (
        "{ X, Z } where (if t.Name \"a\" then (Z = \"z\") else (X = \"a\"; Z = \"q\")); X = Z",
        &[r#"{"tuplefield0":"z","tuplefield1":"z"}"#],
    ),
    ("{ X, Z } where (if t.Name \"z\" then (Z = \"z\") else (X = \"a\"; Z = \"q\")); X = Z", &[]),
    // `never` takes away the branch that it is in, and needs no values in it.
    ("X where X = (1 | never)", &["1"]),
    ("X where X = (never | 1)", &["1"]),
    ("A = never : t.Name; A", &[]),
    ("X where X = (never : nat)", &[]),
    ("{ N, Q } where Q = \"a\"; (\"\" = Q; never = N) | (N = Q)", &[r#"{"tuplefield0":"a","tuplefield1":"a"}"#]),
    ("if never then 1 else 2", &["2"]),
    ("1 where !(never)", &["1"]),
    ("prim.size (all (never : nat))", &["0"]),
    ("N.* where t.Size N -> { bytes = 5 }", &["\"a\""]),
    ("B where t.Size \"b\" -> { B, _ }", &["9"]),
    ("t.Size _ where never", &[]),
    ("t.Bytes { \"\\u0001\\u0002\\u0003\", 255 }", &[r#"{"data":"AQID","one":255}"#]),
    ("B where t.Bytes { data = D }; B = D[..]", &["1", "2", "3"]),
    ("t.Reverse { \"c\", _ }", &[r#"{"fst":"c","snd":"a"}"#, r#"{"fst":"c","snd":"c"}"#]),
    ("R.snd where t.Twice { x = \"b\", r = R }", &["\"a\""]),
    ("t.ByText \"nine\"", &["[\"nine\",9]"]),
    ("N where t.ByText _ -> N", &["5", "9"]),
    (
        "t.Near { from = { label = \"b\" } }",
        &[r#"{"from":{"label":"b"},"to":{"label":"Abc"}}"#, r#"{"from":{"label":"b"},"to":{"label":"a"}}"#],
    ),
    ("prim.size (all (t.Cross _))", &["6"]),
    ("prim.size (all ({ A, B } where t.Name A; t.Pair { B, _ }))", &["9"]),
    ("X where X = t.Cross { b = 9 }", &[r#"{"a":"Abc","b":9}"#, r#"{"a":"a","b":9}"#, r#"{"a":"b","b":9}"#]),
    ("N where t.Name N; t.Pair { \"a\", _ }; t.Size _", &["\"Abc\"", "\"a\"", "\"b\""]),
    ("N where t.Name N; t.Pair { \"a\", X }; t.Pair { X, \"q\" }", &[]),
    ("t.Same _", &[r#"{"fst":"c","snd":"c"}"#]),
    ("t.Saved _", &[]),
    ("X where X = $t.Name 1024", &["\"a\""]),
    ("X where X = ($1024 : t.Name)", &["\"a\""]),
    ("t.Node { label = $1025 }", &[r#"{"label":"b"}"#]),
    ("t.Node { label = $9999 }", &[]),
    // No fact, one of another predicate, and the id that none has.
    ("$t.Name 1024", &["\"a\""]),
    ("$t.Name 1027", &[]),
    ("$t.Name 9999", &[]),
    ("$t.Name 0", &[]),
    ("$t.Reverse 1024", &[]),
    ("if $t.Name 1027 then \"there\" else \"not there\"", &["\"not there\""]),
    ("if $t.Name 1024 then \"there\" else \"not there\"", &["\"there\""]),
    ("1 where !($t.Name 9999)", &["1"]),
    ("prim.size (all ($t.Name 1024 | $t.Name 1027 | $t.Name 1025))", &["2"]),
    ("N where N = ($1024 | $1027 | $1025); t.Node { label = N }", &["\"a\"", "\"b\""]),
    // A type that a later statement says.
    ("N where N = X.fst; X = t.Pair { snd = \"a\" }", &["\"b\""]),
    ("A where A = X.*; X = t.Name \"a\"", &["\"a\""]),
    ("A where A = X.*.fst; X = t.Pair { snd = \"a\" }", &["\"b\""]),
    ("C where C = S.circle?; S = X.shape; X = t.Thing _", &["3"]),
    ("L where L = Y.*; Y = X.label; E = t.Edge { from = X }; E = E", &["\"a\"", "\"b\""]),
    ("X where t.Node { label = X }; X = $1024", &["\"a\""]),
    ("X where X = $1024; t.Node { label = X }", &["\"a\""]),
    ("N where (N = X.fst); X = t.Pair { snd = \"a\" }", &["\"b\""]),
    ("N where ((N = X.fst) | (N = X.snd)); X = t.Pair { \"c\", _ }", &["\"c\""]),
    ("X.fst where X = t.Pair { \"c\", _ }", &["\"c\""]),
    ("B where 5 = B; t.Size _ -> { bytes = B }", &["5"]),
    ("X where X = 255; t.Bytes { one = X }", &["255"]),
    ("X where 255 = X; t.Bytes { one = X }", &["255"]),
    ("X where t.Bytes { one = X }; 255 = X", &["255"]),
    ("D where [B, _, _] = D; B = 1; t.Bytes { data = D }", &["\"AQID\""]),
    ("1 where X = \"\\u0001\\u0002\\u0003\"; t.Bytes { data = X }", &["1"]),
    ("t.First _", &["\"a\"", "\"b\"", "\"c\""]),
    // Branches share a variable that something outside of them mentions.
    ("V where ((t.Thing _; V = 3) | (t.Name \"a\"; V = 4)); (if (t.Name \"a\") then V else 1) !== 1", &["3", "4"]),
    ("1 where V = V; ((t.Thing _; V = 3) | (t.Name \"z\"; V = 4)); (if (t.Name \"a\") then V else 1) !== 1", &["1"]),
    // `|` binds tighter than `=`, and `+` tighter than `|`.
    ("X where X = 1 | 2 + 3", &["1", "5"]),
    ("X where (1 = 1; X = 5) | X = 0", &["0"]),
    ("X where (1 = 1; X = 5) | (X = 0)", &["0", "5"]),
    ("X where X = 18446744073709551615 + 2", &["1"]),
    ("\"s\" : string", &["\"s\""]),
    ("X where X = (\"a\" : t.Name)", &["\"a\""]),
    // All facts of a predicate, if nothing else says which of them a query returns.
    ("_ : t.Name", &["\"Abc\"", "\"a\"", "\"b\""]),
    ("X where X : t.Name", &["\"Abc\"", "\"a\"", "\"b\""]),
    ("X where X = (_ : t.Name)", &["\"Abc\"", "\"a\"", "\"b\""]),
    ("_ : t.Size where t.Name \"a\"", &[r#"["a",{"bytes":5,"text":"five"}]"#, r#"["b",{"bytes":9,"text":"nine"}]"#]),
    ("N where !(t.Edge { from = N })", &[r#"{"label":"Abc"}"#]),
    ("{ N, 1 } where !(t.Edge { to = N })", &[r#"{"tuplefield0":{"label":"a"},"tuplefield1":1}"#]),
    ("N where N != M; M = t.Name \"a\"", &["\"Abc\"", "\"b\""]),
    ("R where R : t.Same", &[r#"{"fst":"c","snd":"c"}"#]),
    ("{ a = 1, b = \"x\" } : { a : nat, b : string }", &[r#"{"a":1,"b":"x"}"#]),
    // A type before a pattern, on both sides of `=`, and where a fact is expected.
    ("t.Colour green", &["1"]),
    ("X where X = t.Shape { circle = 3 }", &[r#"{"circle":3}"#]),
    ("N.* where t.Thing { name = N, shape = S }; t.Shape { square = { side = 4 } } = S", &["\"b\""]),
    ("t.Label (\"a\" | \"z\")", &["\"a\"", "\"z\""]),
    ("t.Node { label = t.Label \"a\" }", &[r#"{"label":"a"}"#]),
    ("X where (X = 1; 2 = 2) | (X = 7)", &["1", "7"]),
    ("{} where t.Name \"a\"", &["{}"]),
    ("{ X, Y } = { Y, \"a\" }; t.Name X", &["\"a\""]),
];

/// The queries that are wrong, with what they returned.
fn wrong(database: &Database) -> Vec<String> {
    let mut wrong = Vec::new();
    for (query, expected) in QUERIES {
        match database.query(query) {
            Ok(_) => {
                let mut expected: Vec<&str> = expected.to_vec();
                expected.sort_unstable();
                let found = database.sorted(query);
                if found != expected {
                    wrong.push(format!("{query}\n    found {found:?}\n    expected {expected:?}"));
                }
            }
            Err(error) => wrong.push(format!("{query}\n    {error}")),
        }
    }
    wrong
}

#[test]
fn every_construct_gives_the_results_that_the_data_dictate() {
    let wrong = wrong(&database());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn results_do_not_depend_on_the_order_of_statements_that_counts_of_facts_give() {
    let mut database = database();
    let predicates: Vec<_> = database.compiler.schema().predicates().iter().map(|predicate| predicate.id).collect();
    for seed in 1..=40 {
        let mut random = Random(seed);
        for &predicate in &predicates {
            database.memory.counts.remove(&predicate);
            let count = database.memory.count(predicate).expect("facts in memory are counted");
            database.memory.counts.insert(predicate, count * [1, 10, 1_000, 100_000][random.below(4)]);
        }
        let wrong = wrong(&database);
        assert!(wrong.is_empty(), "counts {:?}\n{}", database.memory.counts, wrong.join("\n"));
    }
}
