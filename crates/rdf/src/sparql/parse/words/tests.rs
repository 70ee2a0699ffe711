//! Mistakes that people make, the token that is named, and the words.

use crate::error::Error;
use crate::sparql::parse::text::{Prologue, parse_query, parse_update};

/// What is said of a text that is refused.
fn said(text: &str, error: Error) -> (u64, u64, String, String) {
    match error {
        Error::SparqlSyntax { line, column, near, message, .. } => (line, column, near, message),
        other => panic!("{text}: {other}"),
    }
}

/// Text, line, column, token, words of the message.
type Row = (&'static str, u64, u64, &'static str, &'static str);

fn check(rows: &[Row], parse: impl Fn(&str) -> Result<(), Error>) {
    for (text, line, column, near, words) in rows {
        let Err(error) = parse(text) else { panic!("{text}: not refused") };
        let found = said(text, error);
        assert_eq!((found.0, found.1, found.2.as_str()), (*line, *column, *near), "{text}: {}", found.3);
        assert!(found.3.contains(words), "{text}: {}", found.3);
        for raw in ["[_]", "..=", "expected one of"] {
            assert!(!found.3.contains(raw), "{text}: {}", found.3);
        }
    }
}

fn check_queries(rows: &[Row]) {
    check(rows, |text| parse_query(text, &Prologue::default()).map(drop));
}

fn check_updates(rows: &[Row]) {
    check(rows, |text| parse_update(text, &Prologue::default()).map(drop));
}

#[test]
fn mistakes_in_queries_are_named_by_the_first_token_that_does_not_fit() {
    check_queries(QUERIES);
}

#[test]
fn mistakes_in_updates_are_named_by_the_first_token_that_does_not_fit() {
    check_updates(UPDATES);
}

#[test]
fn aggregates_in_their_places_are_accepted() {
    for text in [
        "SELECT (COUNT(?o) AS ?n) { ?s ?p ?o FILTER(?o > 1) } GROUP BY ?s HAVING (SUM(?o) > 1) ORDER BY MAX(?o)",
        "SELECT * { ?s ?p ?o FILTER(?o > 1) { SELECT (MIN(?o) AS ?m) { ?s ?p ?o BIND(1 AS ?x) } } BIND(2 AS ?y) }",
        "SELECT * { ?s ?p ?o FILTER EXISTS { SELECT (SUM(?x) AS ?y) { ?s ?q ?x } HAVING (AVG(?x) > 1) } }",
        "SELECT ?s { ?s ?p ?o BIND('COUNT(' AS ?x) } GROUP BY ?s ORDER BY DESC(GROUP_CONCAT(?o ; SEPARATOR = ','))",
    ] {
        parse_query(text, &Prologue::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let update =
        "INSERT { ?s <a:n> ?n } WHERE { FILTER(1 = 1) { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s } }";
    parse_update(update, &Prologue::default()).expect("an update");
}

#[test]
fn what_may_be_instead_is_listed_in_words() {
    let message = |text: &str| said(text, parse_query(text, &Prologue::default()).expect_err(text)).3;
    let list = "expected a variable, `(`, FROM, WHERE or `{`; variables have spaces between them, and no commas";
    assert_eq!(message("SELECT ?s, ?o { ?s ?p ?o }"), list);
    assert_eq!(message("SELECT ?s { ?s ?p }"), "expected an object");
    assert_eq!(message("SELECT ?s { ?s ?p ?o FILTER(?o ?p) }"), "expected an operator or `)`");
    assert!(message("SELECT ?s { ?s ?p ?o ").starts_with("expected `,`, `;`, `.`, a clause such as FILTER or `}`"));
}

#[test]
fn prefixes_and_a_base_of_the_caller_are_known() {
    let prefixes = [("example".to_owned(), "http://e/".to_owned())];
    let prologue = Prologue { base: Some("http://e/"), prefixes: &prefixes, quotes_triples: false };
    let error = parse_query("SELECT ?s { ?s example:p <a> ; exmple:q 1 }", &prologue).expect_err("an unknown prefix");
    let (line, column, near, message) = said("exmple", error);
    assert_eq!((line, column, near.as_str()), (1, 32, "exmple:q"));
    assert!(message.contains("`PREFIX exmple: <…>`") && message.contains("write `example:`"), "{message}");
    let error = parse_query("SELECT ?s { ?s <a> }", &prologue).expect_err("no object");
    assert!(said("", error).3.ends_with("or an object"));
}

#[test]
fn a_long_update_with_a_mistake_at_its_end_is_diagnosed() {
    let data = "<http://e/s> <http://e/p> \"o\" .\n".repeat(20_000);
    let text = format!("INSERT DATA {{\n{data}<http://e/s> <http://e/p> }}");
    let (line, column, near, _) = said("", parse_update(&text, &Prologue::default()).expect_err("no object"));
    assert_eq!((line, column, near.as_str()), (20_002, 27, "}"));
}

const QUERIES: &[Row] = &[
    ("SELECT * { [] }", 1, 15, "}", "expected a predicate"),
    ("SELECT * { () . ?s ?p ?o }", 1, 15, ".", "expected a predicate"),
    ("SELECT * { ?s ?p ?o FILTER(?o => 1) }", 1, 32, ">", "write `>=`"),
    ("SELECT * { ?s ?p ?o) }", 1, 20, ")", "closes nothing"),
    ("SELECT ?s, ?o { ?s ?p ?o }", 1, 10, ",", "variables have spaces between them, and no commas"),
    (
        "SELECT ?s { ?s foaf:name ?o }",
        1,
        16,
        "foaf:name",
        "the prefix `foaf:` is not declared; add `PREFIX foaf: <http://xmlns.com/foaf/0.1/>` at the beginning",
    ),
    ("SELECT ?s WHERE { ?s ?p ?o", 1, 27, "", "the `{` of line 1, column 17 is not closed"),
    ("SELECT ?s WHERE { ?s ?p ?o ?s2 ?p2 ?o2 }", 1, 28, "?s2", "a `.` ends a triple before another begins"),
    ("SELECT ?s WHERE ?s ?p ?o", 1, 17, "?s", "expected `{`"),
    ("SELCT ?s WHERE { ?s ?p ?o }", 1, 1, "SELCT", "did you mean SELECT?"),
    ("SELECT ?s WHRE { ?s ?p ?o }", 1, 11, "WHRE", "did you mean WHERE?"),
    ("SELECT ?s { ?s ?p ?o } ODER BY ?s", 1, 24, "ODER", "did you mean ORDER?"),
    ("SELECT ?s { ?s ?p ?o OPTINAL { ?s ?p ?x } }", 1, 22, "OPTINAL", "did you mean OPTIONAL?"),
    (
        "SELECT ?s { ?s ?p \"abc }",
        1,
        19,
        "\"abc }",
        "this string is not closed on its line; put it into \"\"\" if it has several",
    ),
    ("SELECT ?s { ?s <http://e/p ?o }", 1, 16, "<", "this IRI is not closed by `>`"),
    ("SELECT ?s { ?s <http://e/a b> ?o }", 1, 16, "<", "an IRI has no spaces; write `%20`"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o == 1) }", 1, 33, "=", "`==` is not an operator; write `=`"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o <> 1) }", 1, 32, "<>", "`<>` is not an operator; write `!=`"),
    ("SELECT { ?s ?p ?o }", 1, 8, "{", "SELECT needs variables, or `*` for all"),
    ("SELECT WHERE { ?s ?p ?o }", 1, 8, "WHERE", "SELECT needs variables, or `*` for all"),
    (
        "SELECT COUNT(?s) AS ?n { ?s ?p ?o }",
        1,
        8,
        "COUNT",
        "put an expression and its name into brackets, as in `(COUNT(?x) AS ?n)`",
    ),
    (
        "SELECT ?p COUNT(?s) AS ?n { ?s ?p ?o }",
        1,
        11,
        "COUNT",
        "put an expression and its name into brackets, as in `(COUNT(?x) AS ?n)`",
    ),
    ("SELECT (COUNT(?s)) { ?s ?p ?o }", 1, 18, ")", "name the value, as in `(COUNT(?x) AS ?n)`"),
    (
        "SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o }",
        1,
        8,
        "?s",
        "`?s` is neither in GROUP BY nor within an aggregate; add it there, or write `(SAMPLE(?s) AS …)`",
    ),
    (
        "SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?p",
        1,
        8,
        "?s",
        "`?s` is neither in GROUP BY nor within an aggregate; add it there, or write `(SAMPLE(?s) AS …)`",
    ),
    ("SELECT (?s AS ?o) { ?s ?p ?o }", 1, 15, "?o", "`?o` has a value already; choose another name"),
    ("SELECT (1 AS ?x) (2 AS ?x) { ?s ?p ?o }", 1, 24, "?x", "`?x` is selected twice"),
    ("SELECT * { ?s ?p ?o };", 1, 22, ";", "a query has no `;` at its end"),
    ("SELECT * { ?s ?p ?o FILTER ?o > 3 }", 1, 28, "?o", "expected a condition in brackets, as in `FILTER(?x > 1)`"),
    ("SELECT * { ?s \"p\" ?o }", 1, 15, "\"p\"", "a predicate is an IRI, a variable or `a`"),
    (
        "INSERT DATA { <a:a> <a:b> 1 }",
        1,
        1,
        "INSERT",
        "INSERT begins an update, but a query is expected; run it with `rdf update`, or send it as an update",
    ),
    ("SELECT * { ?s ?p ?o } LIMIT 5 ORDER BY ?s", 1, 31, "ORDER", "ORDER comes before LIMIT"),
    ("SELECT * { ?s ?p ?o ORDER BY ?s }", 1, 21, "ORDER", "close the group with `}` before ORDER"),
    (
        "SELECT * { ?s ?p ?o } GROUP BY ?s",
        1,
        8,
        "*",
        "`*` cannot stand beside GROUP BY or an aggregate; name the variables",
    ),
    ("SELECT * { ?s ?p ?o } LIMIT ?x", 1, 29, "?x", "expected a whole number"),
    ("SELECT * { ?s ?p ?o } LIMIT -1", 1, 29, "-", "expected a whole number"),
    ("SELECT * { ?s ?p ?o } ORDER BY DESC ?s", 1, 37, "?s", "put what is sorted by into brackets, as in `DESC(?x)`"),
    ("SELECT * { ?s ?p ?o } ORDER ?s", 1, 29, "?s", "expected BY"),
    (
        "SELECT * { BIND(1 AS ?x) BIND(2 AS ?x) }",
        1,
        36,
        "?x",
        "`?x` has a value before this BIND; choose another name, or compare in a FILTER",
    ),
    ("SELECT * { BIND 1 AS ?x }", 1, 17, "1", "expected `(`"),
    (
        "SELECT * { VALUES (?x ?y) { (1) } }",
        1,
        29,
        "(",
        "this row has 1 of 2 values; write UNDEF for a variable without a value",
    ),
    ("SELECT * { VALUES (?x, ?y) { (1 2) } }", 1, 22, ",", "variables have spaces between them, and no commas"),
    ("SELECT * { VALUES ?x { (1) } }", 1, 24, "(", "expected a value or `}`"),
    ("SELECT * { ?s ?p ?o }}", 1, 22, "}", "this `}` closes nothing that is open before it"),
    ("SELECT * { ?s ?p (1 2 }", 1, 23, "}", "the `(` of line 1, column 18 is not closed"),
    (
        "PREFIX foaf <http://xmlns.com/foaf/0.1/> SELECT * { ?s foaf:name ?o }",
        1,
        8,
        "foaf",
        "write `foaf:`, with a colon",
    ),
    (
        "@prefix foaf: <http://xmlns.com/foaf/0.1/> . SELECT * { ?s foaf:name ?o }",
        1,
        1,
        "@prefix",
        "SPARQL writes `PREFIX x: <…>`, without `@` and `.`",
    ),
    (
        "PREFIX foaf: <http://xmlns.com/foaf/0.1/> . SELECT * { ?s foaf:name ?o }",
        1,
        43,
        ".",
        "a declaration has no `.` at its end",
    ),
    ("PREFX foaf: <http://xmlns.com/foaf/0.1/> SELECT * { ?s foaf:name ?o }", 1, 1, "PREFX", "did you mean PREFIX?"),
    (
        "PREFIX ex: <http://e/> SELECT * { ?s exx:name ?o }",
        1,
        38,
        "exx:name",
        "the prefix `exx:` is not declared; add `PREFIX exx: <…>` at the beginning, or write `ex:` if you mean that",
    ),
    ("SELECT * { http://e/a ?p ?o }", 1, 12, "http:", "an IRI is written in `<` and `>`: `<http://…>`"),
    ("SELECT * { name ?p ?o }", 1, 12, "name", "write `?name` for a variable, `:name` or `<name>` for an IRI"),
    (
        "SELECT * { ?s ?p ?o FILTER(regexp(?o, \"a\")) }",
        1,
        28,
        "regexp",
        "`regexp` is not a function of SPARQL; did you mean REGEX?",
    ),
    ("SELECT * { ?s ?p ?o FILTER(?o = 1 AND ?p = 2) }", 1, 35, "AND", "write `&&`"),
    ("SELECT * { ?s ?p ?o FILTER(?o = TRUE) }", 1, 33, "TRUE", "write `true` in lower case"),
    ("SELECT * { ?s ?p ?o FILTER(REGEX(?o \"a\")) }", 1, 37, "\"a\"", "expected an operator or `,`"),
    (
        "SELECT * { ?s ?p ?o FILTER(REGEX(?o, \"\\d\")) }",
        1,
        38,
        "\"\\d\"",
        "`\\d` is not an escape of SPARQL; write `\\\\d` for a backslash and `d`",
    ),
    ("SELECT * { ?s ?p ?o OPTIONAL ?s ?q ?r }", 1, 30, "?s", "expected `{`"),
    ("SELECT * { { ?s ?p ?o } UNION ?s ?q ?r }", 1, 31, "?s", "expected `{`"),
    (
        "SELECT * { <a> ?p ?o }",
        1,
        12,
        "<a>",
        "this IRI is relative, and there is no `BASE <…>` before it and no other base",
    ),
    ("", 1, 1, "", "the text is empty"),
    ("SELECT * { ?s ?p “x” }", 1, 18, "“", "`“` is not a quote of SPARQL; write `\"` or `'`"),
    ("SELECT * { ?s ?p ?o . FILTER(CONTAINS(?o, \"a\") }", 1, 48, "}", "the `(` of line 1, column 29 is not closed"),
    (
        "SELECT * { _:a ?p ?o OPTIONAL { _:a ?q ?r } }",
        1,
        33,
        "_:a",
        "`_:a` is in another group already, where it is another node; use a variable",
    ),
    ("SELECT * { ?s ?p ?o FILTER(?o IN 1, 2) }", 1, 34, "1", "expected an operator"),
    ("SELECT * { ?s ?p ?o } SELECT * { ?s ?p ?o }", 1, 23, "SELECT", "a text has one query"),
    ("SELECT DISTNCT ?s { ?s ?p ?o }", 1, 8, "DISTNCT", "did you mean DISTINCT?"),
    ("SELECT (CONCAT (\"a\", ) AS ?x) {}", 1, 22, ")", "expected an expression"),
    (
        "SELECT * { ?s ?p ?o FILTER(COUNT(?o) > 1) }",
        1,
        28,
        "COUNT",
        "aggregates are allowed in SELECT, HAVING and ORDER BY",
    ),
    (
        "SELECT * { ?s ?p ?o BIND(SUM(?o) AS ?x) }",
        1,
        26,
        "SUM",
        "aggregates are allowed in SELECT, HAVING and ORDER BY",
    ),
    (
        "SELECT * { ?s ?p ?o FILTER EXISTS { ?s ?p ?x FILTER(?x < MAX(?o)) } }",
        1,
        58,
        "MAX",
        "aggregates are allowed in SELECT, HAVING and ORDER BY",
    ),
    (
        "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?r FILTER(AVG(?r) > 1) } }",
        1,
        48,
        "AVG",
        "aggregates are allowed in SELECT, HAVING and ORDER BY",
    ),
    ("SELECT (SUM(?o) AS ?n) { ?s ?p ?o FILTER(COUNT(?o) > 1) }", 1, 42, "COUNT", "aggregates are allowed in SELECT"),
    ("SELECT (SUM(?o) AS ?n) { ?s ?p ?o BIND(count(*) AS ?x) }", 1, 40, "count", "aggregates are allowed in SELECT"),
    (
        "SELECT (SUM(?o) AS ?n) { ?s ?p ?o FILTER EXISTS { ?o ?q ?r FILTER(?r = MAX(?o)) } }",
        1,
        72,
        "MAX",
        "aggregates are allowed in SELECT",
    ),
    ("SELECT (SUM(?o) AS ?n) { ?s ?p ?o } GROUP BY (AVG(?o) AS ?x)", 1, 47, "AVG", "aggregates are allowed in SELECT"),
    ("SELECT ?x { ?s ?p ?o } GROUP BY (COUNT(?o) AS ?x)", 1, 34, "COUNT", "aggregates are allowed in SELECT, HAVING"),
    ("SELECT * { ?s ?p \"a\"@e }", 1, 21, "@e", "`e` is not a language tag (BCP 47), such as `en` or `en-GB`"),
    (
        "SELECT * { ?s ?p \"a\"@en--up }",
        1,
        21,
        "@en--up",
        "`up` is not a direction of a text; write `--ltr` or `--rtl`",
    ),
    ("SELECT * { ?s ?p \"\\u12\" }", 1, 18, "\"\\u12\"", "`\\u` has 4 hexadecimal digits"),
    ("SELECT * { ?s ?p \"\\U0011FFFF\" }", 1, 18, "\"\\U0011FFFF\"", "`\\U0011FFFF` is not a character of Unicode"),
    ("SELECT * { ?s ?p \"\\uD800\" }", 1, 18, "\"\\uD800\"", "`\\uD800` is not a character of Unicode"),
    ("SELECT * { ?s ?p <a:\\u12> }", 1, 18, "<a:\\u12>", "`\\u` has 4 hexadecimal digits"),
    ("SELECT * { ?s ?p <a:\\n> }", 1, 18, "<a:\\n>", "`\\n` is not an escape of an IRI; write `%5C` for a backslash"),
    ("SELECT ? { ?s ?p ?o }", 1, 8, "?", "a variable has a name right after its `?`"),
    (
        "SELECT * WHERE { ?s ?p ?o . FILTER NOT (?o = 1) }",
        1,
        40,
        "(",
        "write `!` before a condition that is to be false",
    ),
    ("SELECT * { ?s ?p ?o } HAVING ?x > 1", 1, 30, "?x", "expected a condition in brackets, as in `FILTER(?x > 1)`"),
    ("ASK ?s ?p ?o", 1, 5, "?s", "expected FROM, WHERE or `{`"),
    ("DESCRIBE", 1, 9, "", "expected `*`, a variable or an IRI"),
    ("CONSTRUCT ?s ?p ?o { ?s ?p ?o }", 1, 11, "?s", "expected `{`, FROM or WHERE"),
    ("CONSTRUCT { ?s ?p ?o }", 1, 23, "", "expected FROM, WHERE or `{`"),
    ("SELECT * { GRAPH { ?s ?p ?o } }", 1, 18, "{", "expected a variable or an IRI"),
    ("SELECT * { ?s ?p ?o, }", 1, 22, "}", "expected a term, `(`, `[` or `<<`"),
    ("SELECT * { ?s ?p ?o; ?q }", 1, 25, "}", "expected an object"),
    ("SELECT * { ?s ?p }", 1, 18, "}", "expected an object"),
    ("SELECT * { ?s }", 1, 15, "}", "expected a predicate"),
    ("SELECT ?x { ?x a <http://e/> \n  ?x <http://e/b> 1 }", 2, 3, "?x", "a `.` ends a triple before another begins"),
    ("SELECT (SUM(?x AS ?n) { ?s ?p ?x }", 1, 16, "AS", "close the bracket before AS"),
    (
        "SELECT * { ?s ?p ?o } LIMIT 99999999999999999999999",
        1,
        29,
        "99999999999999999999999",
        "the number is too large; the largest is 18446744073709551615",
    ),
    (
        "SELECT (COALESCE(?x, 1) AS ?s) (SUM(?o) + ?p AS ?t) { ?s ?p ?o }",
        1,
        43,
        "?p",
        "`?p` is neither in GROUP BY nor within an aggregate; add it there, or write `(SAMPLE(?p) AS …)`",
    ),
    (
        "SELECT * { ?s ?p 'it's' }",
        1,
        22,
        "s",
        "a quote has ended the string before; write `\\` before a quote within it",
    ),
    ("SELECT ?s ?s { ?s ?p ?o", 1, 24, "", "the `{` of line 1, column 14 is not closed"),
    ("SELECT (1 AS ?x) ?x { ?s ?p ?o }", 1, 18, "?x", "`?x` is selected twice"),
    ("SELECT ?x (1 AS ?x) { ?s ?p ?o }", 1, 17, "?x", "`?x` is selected twice"),
    ("SELECT (MAX(?o) AS ?m) { ?s ?p ?o } HAVING (?m > 1", 1, 51, "", "the `(` of line 1, column 44 is not closed"),
    ("SELECT * { ?s ?p ?o . FILTER(?o > 1 | ?o < 3) }", 1, 37, "|", "write `||`"),
    ("SELECT * { ?s ?p ?o . FILTER(?o LIKE \"x\") }", 1, 33, "LIKE", "write `REGEX(…)` or `CONTAINS(…)`"),
    ("SELECT * { ?s ?p ?o\n  FILTER(STRSTARTS(?o, \"a\")\n}", 3, 1, "}", "the `(` of line 2, column 9 is not closed"),
    (
        "PREFIX : <http://e/>\nSELECT ?a WHERE {\n  ?a :b ?c\n  ?c :d ?e\n}",
        4,
        3,
        "?c",
        "a `.` ends a triple before another begins",
    ),
    (
        "SELECT ?a WHERE {\n  ?a <http://e/b> \"x\n  . ?c ?d ?e\n}",
        2,
        19,
        "\"x",
        "this string is not closed on its line; put it into \"\"\" if it has several",
    ),
    ("SELECT * { ?s ?p ?o FILTER(EXISTS ?s ?p ?o) }", 1, 35, "?s", "expected `{`"),
    ("SELECT * { ?s ?p ?o MINUS ?s ?p ?o }", 1, 27, "?s", "expected `{`"),
    ("SELECT (AVG ?x AS ?y) { ?s ?p ?x }", 1, 13, "?x", "expected `(`"),
    ("SELECT * { SERVICE { ?s ?p ?o } }", 1, 20, "{", "expected SILENT, a variable or an IRI"),
    ("SELECT * FROM x { ?s ?p ?o }", 1, 15, "x", "expected NAMED or an IRI"),
    ("SELECT * { ?s ?p ?o FILTER(IF(?a, 1)) }", 1, 36, ")", "expected an operator or `,`"),
    ("SELECT * { ?s ?p ?o FILTER(BOUND(?a, ?b)) }", 1, 36, ",", "expected `)`"),
    ("SELECT * { ?s ?p ?o FILTER(STR(?a ?b)) }", 1, 35, "?b", "expected an operator or `)`"),
    ("SELECT * { ?s ?p ?o BIND(?o + 1) }", 1, 32, ")", "name the value, as in `(COUNT(?x) AS ?n)`"),
    ("SELECT * { ?s ?p ?o GROUP BY ?s }", 1, 21, "GROUP", "close the group with `}` before GROUP"),
    ("SELECT ?s { ?s ?p ?o } GROUP ?s", 1, 30, "?s", "expected BY"),
    ("SELECT ?s { ?s ?p ?o } ORDER BY ?s, ?p", 1, 35, ",", "variables have spaces between them, and no commas"),
    ("SELECT ?s { ?s ?p ?o } ORDER BY", 1, 32, "", "expected ASC, DESC, a condition in brackets or a variable"),
    ("SELECT ?s ( ?s ?p ?o )", 1, 16, "?p", "expected an operator or AS"),
    ("SELECT ?s [ ?s ?p ?o ]", 1, 11, "[", "expected a variable, `(`, FROM, WHERE or `{`"),
    ("SELECT ?s { ?s ?p ?o) }", 1, 21, ")", "this `)` closes nothing that is open before it"),
    ("SELECT ?s { ?s ?p (?o } }", 1, 23, "}", "the `(` of line 1, column 19 is not closed"),
    (
        "SELECT ?s { ?s ?p ?o FILTER(?o = 'a) }",
        1,
        34,
        "'a) }",
        "this string is not closed on its line; put it into ''' if it has several",
    ),
    ("# comment\nSELECT ?s { ?s ?p ?o FILTER(?o => 1) }", 2, 33, ">", "`=>` is not an operator; write `>=`"),
    ("SELECT ?s { ?s ?p ?o FILTER(!?o) . } VALUES ?s ", 1, 47, "", "expected `{`"),
    ("SELECT ?s-x { ?s ?p ?o }", 1, 10, "-", "expected a variable, `(`, FROM, WHERE or `{`"),
    ("SELECT ?s { ?s a foo }", 1, 18, "foo", "write `?foo` for a variable, `:foo` or `<foo>` for an IRI"),
    ("SELECT ?s { ?s is <http://e/> }", 1, 16, "is", "write `?is` for a variable, `:is` or `<is>` for an IRI"),
    ("SELECT ?s { ?s ?p @en }", 1, 19, "@en", "expected an object"),
    ("SELECT ?s { ?s ?p \"x\"@ }", 1, 22, "@", "no token begins with `@`"),
    ("SELECT ?s { <<?s ?p ?o> ?q ?r }", 1, 23, ">", "expected `~` or `>>`"),
    ("SELECT ?s { ?s ?p ?o } LIMIT ten", 1, 30, "ten", "expected a whole number"),
    ("SELECT ?s { ?s ?p ?o } LIMIT 10 OFSET 5", 1, 33, "OFSET", "did you mean OFFSET?"),
    ("select ?s were { ?s ?p ?o }", 1, 11, "were", "did you mean WHERE?"),
    ("SELECT ?s {", 1, 12, "", "the `{` of line 1, column 11 is not closed"),
];

const UPDATES: &[Row] = &[
    ("INSERT DATA { _:b <x:p> 1 } ; INSERT DATA { _:b <x:p> 2 }", 1, 45, "_:b", "another INSERT DATA"),
    ("INSERT DATA { \"x\" <http://e/p> 1 }", 1, 15, "\"x\"", "a literal cannot be the subject of a triple"),
    ("INSERT DATA { ?x <http://e/p> 1 }", 1, 15, "?x", "INSERT DATA has no variables; use INSERT { … } WHERE { … }"),
    (
        "DELETE DATA { _:x <http://e/p> 1 }",
        1,
        15,
        "_:x",
        "a blank node label does not name a node of the store, so it cannot be deleted; use a variable and WHERE",
    ),
    (
        "SELECT * { ?s ?p ?o }",
        1,
        1,
        "SELECT",
        "SELECT begins a query, but an update is expected; run it with `rdf query`, or send it as a query",
    ),
    ("INSERT { ?s ?p 1 }", 1, 19, "", "only INSERT DATA and DELETE DATA have no WHERE"),
    ("INSERT DATA { <a:a> <a:b> 1 } ; DELETE", 1, 39, "", "expected DATA, WHERE or `{`"),
    ("INSERT DATA { <a:a> <a:b> 1 } INSERT DATA { <a:a> <a:b> 2 }", 1, 31, "INSERT", "expected `;` or the end"),
    ("INSERT DATA { <a:a> <a:b> 1 } ;; CLEAR ALL", 1, 32, ";", "expected an operation or the end"),
    ("CLEAR ALL ; PREFIX x: <a:> ; CLEAR ALL", 1, 28, ";", "expected an operation or the end"),
    ("CLEAR ALL ;\nPREFIX x: <a:> INSERT DATA { x:a }", 2, 34, "}", "expected a predicate"),
    ("CLEAR ALL ;\nPREFIX x: <a:> CLEAR ALL ; PREFIX x: <b> CLEAR ALL", 2, 38, "<b>", "this IRI is relative"),
    ("CLEAR ALL ; INSERT DATA { x:a x:a 1 } ; PREFIX x: <a:> CLEAR ALL", 1, 27, "x:a", "`x:` is not declared"),
    (
        "INSERT DATA { _:b <x:p> 1 } ; PREFIX x: <a:> CLEAR ALL ; BASE <a:> INSERT DATA { _:b <x:p> 2 }",
        1,
        82,
        "_:b",
        "another INSERT DATA",
    ),
    ("DELETE WHERE { ?s ?p ?o FILTER(COUNT(?o) > 1) }", 1, 25, "FILTER", ""),
    (
        "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(COUNT(?o) > 1) }",
        1,
        45,
        "COUNT",
        "aggregates are allowed in SELECT, HAVING and ORDER BY",
    ),
    ("DELETE { ?s ?p ?o }", 1, 20, "", "only INSERT DATA and DELETE DATA have no WHERE"),
    ("DELETE ?s ?p ?o WHERE { ?s ?p ?o }", 1, 8, "?s", "expected DATA, WHERE or `{`"),
    ("INSERT DATA <http://e/a> <http://e/b> 1", 1, 13, "<http://e/a>", "expected `{`"),
    ("INSERT INTO <http://e/g> { <a:a> <a:b> 1 }", 1, 8, "INTO", "expected DATA or `{`"),
    ("LOAD \"file.ttl\"", 1, 6, "\"file.ttl\"", "expected SILENT or an IRI"),
    ("CLEAR <http://e/g>", 1, 7, "<http://e/g>", "expected SILENT, GRAPH, DEFAULT, NAMED or ALL"),
    ("DROP GRAPH", 1, 11, "", "expected an IRI"),
    ("INSRT DATA { <a:a> <a:b> 1 }", 1, 1, "INSRT", "did you mean INSERT?"),
    ("INSERT DATA { <a:a> <a:b> 1 }\nDELETE DATA { <a:a> <a:b> 2 }", 2, 1, "DELETE", "expected `;` or the end"),
    (
        "DELETE { ?s ?p [] } WHERE { ?s ?p ?o }",
        1,
        16,
        "[",
        "a blank node label does not name a node of the store, so it cannot be deleted; use a variable and WHERE",
    ),
    ("WITH <a:g> { ?s ?p ?o }", 1, 12, "{", "expected DELETE or INSERT"),
    ("COPY <a:a> <a:b>", 1, 12, "<a:b>", "expected TO"),
];
