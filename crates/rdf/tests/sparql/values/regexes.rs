//! `REGEX` and `REPLACE` in queries and updates.

use std::time::Duration;

use fulgurite_rdf::Error;
use fulgurite_rdf::sparql::{Limits, Query, Update};

use crate::fixture::{Fixture, query, rows_of};

/// Calls with constants, and with values that come from the rows.
fn both(fixture: &Fixture, call: &str) -> Vec<String> {
    let constant = fixture.rows(&format!("SELECT ?r {{ BIND({call} AS ?r) }}"));
    let (function, rest) = call.split_once('(').expect("a call");
    let arguments: Vec<&str> = rest.trim_end_matches(')').split(", ").collect();
    let names: Vec<String> = (0..arguments.len()).map(|number| format!("?a{number}")).collect();
    let (columns, values) = (names.join(" "), arguments.join(" "));
    let of_rows = fixture.rows(&format!(
        "SELECT ?r {{ VALUES ({columns}) {{ ({values}) }} BIND({function}({}) AS ?r) }}",
        names.join(", ")
    ));
    assert_eq!(constant, of_rows, "{call}");
    constant
}

#[test]
fn calls_have_the_values_of_xpath() {
    let fixture = Fixture::new("");
    for (call, expected) in [
        (r#"REPLACE("$kMoon 77", "(\\$k[a-zA-Z]+) ([0-9]+)", "$1\\$z$2")"#, r#"r="$kMoon$z77""#),
        (r#"REPLACE("a\\b", "\\\\", "\\\\\\\\")"#, r#"r="a\\\\b""#),
        (r#"REPLACE("abcd", "(b)", "$12")"#, r#"r="ab2cd""#),
        (r#"REPLACE("aabb", "(.)\\1", "<$1>")"#, r#"r="<a><b>""#),
        (r#"REPLACE("a.b", ".", "$", "q")"#, r#"r="a$b""#),
        (r#"REPLACE("Chat"@fr, "c", "R", "i")"#, r#"r="Rhat"@fr"#),
        (r#"REPLACE("Chat"@fr, "x", "R")"#, r#"r="Chat"@fr"#),
        (r#"REPLACE("Chat"@fr--ltr, "C", "R")"#, r#"r="Rhat"@fr--ltr"#),
        (r#"REGEX("xyz", "^[a-z-[aeiou]]+$")"#, r#"r="true""#),
        (r#"REGEX("é", "^\\p{IsBasicLatin}$")"#, r#"r="false""#),
        (r#"REGEX("noon", "^(.)(.)\\2\\1$")"#, r#"r="true""#),
        (r#"REGEX("a\n", "\n$", "m")"#, r#"r="false""#),
        (r#"REGEX("a"@en, "\\p{Lu}", "i")"#, r#"r="false""#),
        (r#"REGEX("É"@en, "é", "i")"#, r#"r="true""#),
    ] {
        assert_eq!(both(&fixture, call), [expected], "{call}");
    }
}

#[test]
fn calls_with_other_values_than_strings_have_no_value() {
    let fixture = Fixture::new("");
    for call in [
        r#"REGEX(5, "5")"#,
        r#"REGEX(:iri, "i")"#,
        r#"REGEX("a", "a"@en)"#,
        r#"REGEX("a", 1)"#,
        r#"REGEX("a", "a", 1)"#,
        r#"REGEX("a", "a", "i"@en)"#,
        r#"REPLACE(5, "5", "6")"#,
        r#"REPLACE("a", "a", "b"@en)"#,
        r#"REPLACE("a", "a", 1)"#,
        r#"REPLACE("a", 1, "b")"#,
        r#"REPLACE("a", "a", "b", "i"@en)"#,
    ] {
        assert_eq!(both(&fixture, call), [""], "{call}");
    }
    let computed = Fixture::new(r#":a :p "(" . :b :p "a*" . :c :p "b" ."#);
    assert_eq!(
        computed
            .rows(r#"SELECT ?s ?m ?r { ?s :p ?p BIND(REGEX("abc", ?p) AS ?m) BIND(REPLACE("abc", ?p, "x") AS ?r) }"#),
        ["s=a", r#"s=b m="true""#, r#"s=c m="true" r="axc""#],
        "an error of the expression leaves the variable unbound"
    );
    assert_eq!(
        computed.rows(r#"SELECT ?s { ?s :p ?p FILTER(REGEX("abc", ?p, CONCAT("z", "")) || ?s = :b) }"#),
        ["s=b"]
    );
}

#[test]
fn constants_that_can_have_no_value_are_errors_of_the_text_with_their_place() {
    for (text, line, column, words) in [
        (r#"SELECT * { ?s ?p ?o FILTER(REGEX(?o, "(a")) }"#, 1, 38, "FORX0002"),
        ("SELECT * { ?s ?p ?o\nFILTER REGEX(STR(?o), \"a\", \"z\") }", 2, 28, "FORX0001"),
        ("SELECT * { ?s ?p ?o\nFILTER REGEX(?o, ?p, \"z\") }", 2, 22, "FORX0001"),
        (r#"SELECT (REPLACE(?o, "a*", "b") AS ?r) { ?s ?p ?o }"#, 1, 21, "FORX0003"),
        (r#"SELECT (REPLACE(?o, "a", "$") AS ?r) { ?s ?p ?o }"#, 1, 26, "FORX0004"),
        (r#"ASK { FILTER(regex("a,b", concat("(", ")")) && regex("a", "\\b")) }"#, 1, 59, "not an escape"),
        (r#"SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?o ?q ?r FILTER(REGEX(?r, "[z-a]")) } }"#, 1, 67, "FORX0002"),
    ] {
        match Query::parse(text, None) {
            Err(Error::SparqlSyntax { line: found_line, column: found_column, message, .. }) => {
                assert_eq!((found_line, found_column), (line, column), "{text}: {message}");
                assert!(message.contains(words), "{text}: {message}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let update = r#"DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(REGEX(?o, "*")) }"#;
    assert!(matches!(Update::parse(update, None), Err(Error::SparqlSyntax { column: 55, .. })));
    for text in [
        r#"PREFIX regex: <http://e/> SELECT * { ?s regex:REGEX "(" . ?s ?REPLACE "regex(a, '('" } # REGEX(?a, "(")"#,
        r#"SELECT * { ?s ?p ?o FILTER(REGEX(?o, CONCAT("(", "a"))) }"#,
    ] {
        Query::parse(text, None).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn updates_match_and_replace_as_queries_do() {
    let fixture = Fixture::new(r#":a :v "aab" . :b :v "abc" ."#);
    fixture.update(
        r#"DELETE { ?s :v ?v } INSERT { ?s :v ?r } WHERE { ?s :v ?v FILTER(REGEX(?v, "(.)\\1")) BIND(REPLACE(?v, "(.)\\1", "$1\\$") AS ?r) }"#,
    );
    assert_eq!(fixture.rows("SELECT ?s ?v { ?s :v ?v }"), [r#"s=a v="a$b""#, r#"s=b v="abc""#]);
}

#[test]
fn a_match_that_goes_back_too_often_ends_the_evaluation() {
    let fixture = Fixture::new("");
    let text = r#"SELECT * { VALUES ?t { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" } FILTER(!REGEX(?t, "^(a*)*(a*)*\\1\\2b$")) }"#;
    let error = rows_of(&query(text), &fixture.snapshot()).expect_err("too many steps");
    assert!(matches!(error, Error::PatternExhausted { .. }), "{error}");
}

#[test]
fn a_time_out_ends_a_match_that_goes_back_and_the_making_of_a_long_text() {
    let fixture = Fixture::new("");
    let long = "a".repeat(200_000);
    for call in [r#"REGEX(?t, "(a+)+\\1b")"#, r#"REPLACE(?t, "(a)(b|)\\2", "$1$1")"#, r#"REPLACE(?t, "a", ?t)"#] {
        let text = format!("SELECT (COUNT(?r) AS ?n) {{ VALUES ?t {{ \"{long}\" }} BIND({call} AS ?r) }}");
        let timed = query(&text).with_limits(Limits::new().timeout(Duration::ZERO));
        let error = rows_of(&timed, &fixture.snapshot()).expect_err(call);
        assert!(matches!(error, Error::TimedOut { .. }), "{call}: {error}");
    }
}

#[test]
fn unknown_functions_are_named() {
    let fixture = Fixture::people();
    for text in [
        "SELECT * { ?s ?p ?o FILTER(:f(?o)) }",
        "SELECT (COALESCE(:f(?o), 1) AS ?x) { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o } ORDER BY :f(?o)",
        "SELECT * { ?s :age ?o FILTER EXISTS { ?s ?q ?r FILTER(:f(?r)) } }",
        "SELECT (SUM(:f(?o)) AS ?n) { ?s ?p ?o }",
        "ASK { BIND(:f() AS ?x) }",
    ] {
        let error = match query(text).evaluate(&fixture.snapshot()) {
            Err(error) => error,
            Ok(_) => panic!("{text}: evaluated"),
        };
        assert!(matches!(&error, Error::FunctionUnknown { iri } if iri == "http://example.org/f"), "{text}: {error}");
    }
    assert_eq!(fixture.rows("SELECT ?x { BIND(xsd:integer(\"7\") AS ?x) }"), ["x=\"7\""]);
}
