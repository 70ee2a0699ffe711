//! The schema of the queries: strings and names, a predicate with a field of every type, and code in twelve languages
//! beneath predicates that are derived for all of them at once.

use std::fmt::Write;

/// The languages that code is in. The derived predicates have an alternative for each.
const LANGUAGES: [&str; 12] =
    ["cxx", "erlang", "flow", "go", "hack", "haskell", "java", "kotlin", "python", "rust", "swift", "thrift"];

/// What is the same whatever languages there are.
const FIXED: &str = "
schema sys.1 { predicate Blob : string }

schema cxx1.1 {
predicate Name : string
predicate FunctionName : { name : Name | operator_ : string | constructor : {} | destructor : {} }
}

schema glean.test.1 {
import sys.1
type Day = { monday : byte | tuesday : nat | wednesday : bool }
type Colour = enum { red | green | blue }
type Pair = { colour : Colour, day : Day }
type Bytes = [byte]
type Nats = [nat]
type Bools = [bool]
type Strings = [string]
predicate Predicate : {
  byt : byte, nat : nat, bool_ : bool, string_ : string, pred : sys.Blob, maybe_ : maybe {},
  record_ : { a : byte, b : nat }, sum_ : { c : Predicate | d : sys.Blob }, enum_ : enum { e | f | g },
  named_record_ : Pair, named_sum_ : Day, named_enum_ : Colour,
  array_of_byte : [byte], array_of_nat : [nat], array_of_bool : [bool], array_of_string : [string],
  array_of_pred : [Predicate], array_of_named_record : [Pair], array_of_named_sum : [Day],
  array_of_named_enum : [Colour], array2_of_byte : [Bytes], array2_of_nat : [Nats], array2_of_bool : [Bools],
  array2_of_string : [Strings], set_of_byte : set byte, set_of_nat : set nat, set_of_string : set string
}
}

schema src.1 {
predicate File : string
type Span = { start : nat, length : nat }
type Location = { file : File, span : Span }
}
";

/// The schema of one language.
const LANGUAGE: &str = "
schema code.LANGUAGE.1 {
import cxx1.1
import src.1
type Scope = { global_ : {} | namespace_ : cxx1.Name | member : { record_ : QName, access : enum { open | closed } } }
predicate QName : { name : cxx1.Name, scope : Scope }
predicate Record : { name : QName, kind : enum { struct_ | class_ | union_ } }
predicate Variable : { name : QName, type_ : string }
predicate Alias : { name : QName, to : string }
predicate Enumeration : { name : QName, scoped : bool }
predicate Enumerator : { name : cxx1.Name, enumeration : Enumeration }
predicate Function : { name : QName, signature : string }
predicate Module : { name : cxx1.Name }
type Declaration = {
  record_ : Record | variable : Variable | alias : Alias | enumeration : Enumeration | function : Function |
  module : Module }
type Entity = { declaration : Declaration | enumerator : Enumerator }
predicate DeclarationLocation : { declaration : Declaration, location : src.Location }
predicate EnumeratorLocation : { enumerator : Enumerator, location : src.Location }
predicate Use : { target : Entity, location : src.Location }
predicate FileUse : { file : src.File, span : src.Span, target : Entity }

predicate Location : { entity : Entity, location : src.Location }
  { E, L } where
    ( DeclarationLocation { D, L }; { declaration = D } = E )
    | ( EnumeratorLocation { C, L }; { enumerator = C } = E )

predicate Search : { name : cxx1.Name, scope : Scope, entity : Entity }
  { N, S, E } where
    (
      Q = QName { name = N, scope = S };
      { declaration = D } = E;
      D = { record_ = Record { name = Q } } | { variable = Variable { name = Q } } | { alias = Alias { name = Q } }
        | { enumeration = Enumeration { name = Q } } | { function = Function { name = Q } }
    ) | (
      M = Module { name = N }; { global_ = {} } = S; { declaration = { module = M } } = E
    ) | (
      C = Enumerator { name = N, enumeration = T };
      Enumeration { name = QN, scoped = Scoped } = T;
      ( ( false = Scoped; QName { scope = S } = QN )
        | ( true = Scoped; { member = { record_ = QN, access = open } } = S ) );
      { enumerator = C } = E
    )
}
";

/// The text of the schema.
pub fn schema() -> String {
    let mut text = FIXED.to_owned();
    LANGUAGES.iter().for_each(|language| text.push_str(&LANGUAGE.replace("LANGUAGE", language)));
    text.push_str("schema codemarkup.1 {\nimport cxx1.1\nimport src.1\n");
    for language in LANGUAGES {
        writeln!(text, "import code.{language}.1").expect("texts grow");
    }
    let of_each =
        |template: &str, between: &str| LANGUAGES.map(|language| template.replace("LANGUAGE", language)).join(between);
    writeln!(text, "type Entity = {{ {} }}", of_each("LANGUAGE : code.LANGUAGE.Entity", " | ")).expect("texts grow");
    for (predicate, alternative) in DERIVED {
        writeln!(text, "predicate {predicate} where\n  {}", of_each(alternative, "\n  | ")).expect("texts grow");
    }
    text.push('}');
    text
}

/// The predicates that are derived from all languages: the key with its query's head, and one alternative of the query.
const DERIVED: [(&str, &str); 4] = [
    (
        "ResolveLocation : { location : src.Location, entity : Entity }\n  { L, E }",
        "( code.LANGUAGE.Location { entity = X, location = L }; { LANGUAGE = X } = E )",
    ),
    (
        "EntityUses : { target : Entity, location : src.Location }\n  { E, L }",
        "( { LANGUAGE = X } = E; code.LANGUAGE.Use { target = X, location = L } )",
    ),
    (
        "FileEntityXRefLocations : { file : src.File, span : src.Span, target : Entity, location : src.Location }\n  \
         { F, S, E, L }",
        "( code.LANGUAGE.FileUse { file = F, span = S, target = X }; \
         code.LANGUAGE.Location { entity = X, location = L }; { LANGUAGE = X } = E )",
    ),
    (
        "SearchByName : { name : string, entity : Entity }\n  { N, E }",
        "( code.LANGUAGE.Search { name = cxx1.Name N, entity = X }; { LANGUAGE = X } = E )",
    ),
];
