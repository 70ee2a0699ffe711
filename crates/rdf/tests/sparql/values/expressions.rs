//! Expressions, aggregates, and the modifiers of solutions.

use crate::fixture::Fixture;

#[test]
fn filters_compare_numbers_of_different_types_by_value() {
    let fixture =
        Fixture::new(":a :v 1 . :b :v 1.0 . :c :v 1e0 . :d :v \"1\"^^xsd:byte . :e :v \"01\"^^xsd:integer . :f :v 2 .");
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(?v = 1) }"), ["s=a", "s=b", "s=c", "s=d", "s=e"]);
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(?v > 1) }"), ["s=f"]);
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(sameTerm(?v, 1)) }"), ["s=a"]);
    assert_eq!(fixture.rows("SELECT ?s { ?s :v 1 }"), ["s=a"]);
}

#[test]
fn the_effective_boolean_value_is_that_of_the_literal() {
    let fixture = Fixture::new(
        ":a :v true . :b :v false . :c :v 0 . :d :v 5 . :e :v \"\" . :f :v \"x\" . :g :v :iri . :h :v \"a longer text\" .",
    );
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(?v) }"), ["s=a", "s=d", "s=f", "s=h"]);
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(!?v) }"), ["s=b", "s=c", "s=e"]);
}

#[test]
fn dates_and_times_compare_by_value() {
    let fixture = Fixture::new(
        ":a :at \"2024-02-29T12:00:00Z\"^^xsd:dateTime . :b :at \"2024-02-29T13:00:00+02:00\"^^xsd:dateTime .
         :c :on \"2024-02-29\"^^xsd:date .",
    );
    assert_eq!(fixture.rows("SELECT ?s { ?s :at ?t FILTER(?t < \"2024-02-29T12:00:00Z\"^^xsd:dateTime) }"), ["s=b"]);
    assert_eq!(fixture.rows("SELECT ?y { :a :at ?t BIND(YEAR(?t) AS ?y) }"), ["y=\"2024\""]);
    assert_eq!(fixture.rows("SELECT ?s { ?s :on ?t FILTER(?t > \"2024-01-01\"^^xsd:date) }"), ["s=c"]);
}

#[test]
fn functions_on_strings_keep_languages() {
    let people = Fixture::people();
    assert_eq!(
        people.rows("SELECT ?u { :ann :name ?n FILTER(LANG(?n) = \"fr\") BIND(UCASE(?n) AS ?u) }"),
        ["u=\"ANNE\"@fr"]
    );
    assert_eq!(people.rows("SELECT ?p { ?p :name ?n FILTER(REGEX(?n, \"^b\", \"i\")) }"), ["p=bob"]);
    assert_eq!(people.rows("SELECT ?n { :ann :name ?n FILTER(LANGMATCHES(LANG(?n), \"*\")) }"), ["n=\"Anne\"@fr"]);
}

#[test]
fn in_and_if_and_coalesce_choose() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?p { ?p :age ?a FILTER(?a IN (7, 25)) }"), ["p=bob", "p=dan"]);
    let rows =
        people.rows("SELECT ?p ?k { ?p :age ?a BIND(IF(?a < 18, \"child\", \"adult\") AS ?k) FILTER(?k = \"child\") }");
    assert_eq!(rows, ["p=dan k=\"child\""]);
    let rows =
        people.rows("SELECT ?l { :dan :age ?a OPTIONAL { :dan :name ?n } BIND(COALESCE(?n, \"nobody\") AS ?l) }");
    assert_eq!(rows, ["l=\"nobody\""]);
}

#[test]
fn an_error_in_an_alternative_does_not_hide_what_is_true() {
    let fixture = Fixture::new(":a :v \"text\" . :b :v 3 .");
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(?v > 2 || ?v = \"text\") }"), ["s=a", "s=b"]);
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(?v + 1 > 0) }"), ["s=b"]);
}

#[test]
fn an_item_of_a_list_that_fails_does_not_hide_one_that_is_equal() {
    let fixture = Fixture::new(":s :v 1, 5 . :t :d \"2024-02-29\"^^xsd:date .");
    let rows =
        |filter: &str| fixture.rows(&format!("SELECT ?d {{ :s :v ?d OPTIONAL {{ :s :w ?a }} FILTER({filter}) }}"));
    for filter in [
        "?d IN (5, ?a)",
        "?d IN (?a, 5)",
        "?d IN (?never, 5)",
        "!(?d NOT IN (5, ?a))",
        "COALESCE(?d IN (?a, 5), false)",
        "?d IN (5, xsd:integer(\"2024-02-29\"^^xsd:date), TZ(2))",
        "?d + 0 IN (?a, 5)",
        "?d * 1000000000000000000000 IN (?a, 5000000000000000000000)",
        "?d IN (5, 2 + \"2024-02-29\"^^xsd:date)",
    ] {
        assert_eq!(rows(filter), ["d=\"5\""], "{filter}");
    }
    assert_eq!(rows("?d IN (?d, ?a)").len(), 2);
    for filter in ["?d IN (7, ?a)", "?d NOT IN (?a, 5)", "?d NOT IN (xsd:integer(?d), TZ(2))", "?never IN (?d, ?a)"] {
        assert_eq!(rows(filter), [""; 0], "{filter}");
    }
    let value = |expression: &str| fixture.rows(&format!("SELECT ?r {{ :t :d ?x BIND(({expression}) AS ?r) }}"));
    for (expression, expected) in [
        ("?x IN (?u, ?x)", "r=\"true\""),
        ("?x NOT IN (?u, ?x)", "r=\"false\""),
        ("?x IN (?u, 1)", ""),
        ("?x IN (\"2024-02-29\"^^xsd:date, 2 + \"2024-02-29T00:00:00Z\"^^xsd:dateTime)", "r=\"true\""),
        ("ROUND(-3) IN (-3, xsd:integer(\"2024-02-29\"^^xsd:date))", "r=\"true\""),
        ("1 IN (?x, 100000000000000000000)", "r=\"false\""),
        ("1 IN (?u, 100000000000000000000, 1.0)", "r=\"true\""),
    ] {
        assert_eq!(value(expression), [expected], "{expression}");
    }
    let group = "SELECT (SUM(IF(?d IN (?d, ?a), 1, 0)) AS ?n) { :s :v ?d } HAVING (SUM(?d) IN (6, ?never))";
    assert_eq!(fixture.rows(group), ["n=\"2\""]);
    fixture.update("DELETE { :s :v ?d } WHERE { :s :v ?d FILTER(?d IN (5, ?a)) }");
    assert_eq!(fixture.rows("SELECT ?d { :s :v ?d }"), ["d=\"1\""]);
}

#[test]
fn aggregates_run_over_groups() {
    let rows =
        Fixture::people().rows("SELECT ?k (COUNT(*) AS ?n) (MAX(?a) AS ?m) { ?p rdf:type ?k ; :age ?a } GROUP BY ?k");
    assert_eq!(rows, ["k=Admin n=\"1\" m=\"41\"", "k=Person n=\"4\" m=\"41\""]);
}

#[test]
fn aggregates_without_a_group_have_one_row_even_of_nothing() {
    let people = Fixture::people();
    let rows = people.rows("SELECT (COUNT(?x) AS ?n) (SUM(?x) AS ?s) (MIN(?x) AS ?m) { ?p :never ?x }");
    assert_eq!(rows, ["n=\"0\" s=\"0\""]);
    let rows = people.rows("SELECT (SUM(?a) AS ?s) (AVG(?a) AS ?v) (MIN(?a) AS ?m) { ?p :age ?a }");
    assert_eq!(rows, ["s=\"103\" v=\"25.75\" m=\"7\""]);
}

#[test]
fn distinct_aggregates_count_a_value_once() {
    let rows = Fixture::people().rows("SELECT (COUNT(?k) AS ?n) (COUNT(DISTINCT ?k) AS ?d) { ?p rdf:type ?k }");
    assert_eq!(rows, ["n=\"5\" d=\"2\""]);
}

#[test]
fn count_and_sample_leave_out_rows_in_which_their_expression_fails_and_other_aggregates_fail() {
    let fixture = Fixture::new("");
    let values = "VALUES (?t ?n) { (UNDEF \"7\") (\"b\" \"a\") (\"B\" \"8\") }";
    for (calls, expected) in [
        ("(COUNT(STR(?t)) AS ?x) (COUNT(xsd:integer(?n)) AS ?y)", "x=\"2\" y=\"2\""),
        ("(COUNT(?n * 2) AS ?x) (COUNT(?n = ?t) AS ?y)", "x=\"0\" y=\"2\""),
        ("(COUNT(IRI(CONCAT(\"urn:\", ?t))) AS ?x)", "x=\"2\""),
        ("(COUNT(DISTINCT LCASE(?t)) AS ?x)", "x=\"1\""),
        ("(COUNT(LCASE(?t)) AS ?x) (COUNT(DISTINCT *) AS ?y)", "x=\"2\" y=\"3\""),
        ("(LCASE(SAMPLE(STR(?t))) AS ?x)", "x=\"b\""),
        ("(SUM(xsd:integer(?n)) AS ?x) (MIN(STR(?t)) AS ?y) (GROUP_CONCAT(STR(?t)) AS ?z)", ""),
    ] {
        assert_eq!(fixture.rows(&format!("SELECT {calls} {{ {values} }}")), [expected], "{calls}");
    }
    let none = "SELECT ?x { VALUES ?x { 1 2 } } GROUP BY ?x HAVING (COUNT(STR(?y)) = 0)";
    assert_eq!(fixture.rows(none).len(), 2);
}

#[test]
fn group_concat_and_sample_take_values_of_the_group() {
    let people = Fixture::people();
    let rows = people.rows("SELECT (GROUP_CONCAT(?n; SEPARATOR=\",\") AS ?l) { :ann :knows ?f . ?f :name ?n }");
    assert!(rows == ["l=\"Bob,Cid\""] || rows == ["l=\"Cid,Bob\""], "{rows:?}");
    assert_eq!(people.rows("SELECT (SAMPLE(?n) AS ?x) { :bob :name ?n }"), ["x=\"Bob\""]);
}

#[test]
fn group_concat_takes_the_texts_of_literals_and_iris() {
    let fixture = Fixture::new(
        ":a :v 1 , 1.50 , \"007\"^^xsd:integer , \"1\"^^xsd:int , true , \"2024-01-01T00:00:00.0Z\"^^xsd:dateTime , \"x\"^^:t , \"text\" ,
            \"texte\"@fr , \"300\"^^xsd:byte , :iri . :b :v \"un\"@fr , \"deux\"@fr . :c :v 5 . :d :v [] , 1 . :e :v \"1\" , 1 .",
    );
    let parts = |subject: &str, call: &str| {
        let rows = fixture.rows(&format!("SELECT ({call} AS ?x) {{ :{subject} :v ?v }}"));
        let text = rows[0].strip_prefix("x=").map(str::to_owned).unwrap_or_default();
        let (text, language) = text.rsplit_once('"').unwrap_or_default();
        let mut parts: Vec<String> = text.trim_start_matches('"').split('|').map(str::to_owned).collect();
        parts.sort();
        (parts.join(" "), language.to_owned())
    };
    let all = "007 1 1 1.50 2024-01-01T00:00:00.0Z 300 http://example.org/iri text texte true x";
    for call in ["GROUP_CONCAT(?v; SEPARATOR = '|')", "GROUP_CONCAT(DISTINCT ?v; SEPARATOR = '|')"] {
        assert_eq!(parts("a", call), (all.to_owned(), String::new()), "{call}");
        assert_eq!(parts("b", call), ("deux un".to_owned(), "@fr".to_owned()), "{call}");
        assert_eq!(parts("c", call), ("5".to_owned(), String::new()), "{call}");
        // A blank node has no text.
        assert_eq!(parts("d", call), (String::new(), String::new()), "{call}");
        assert_eq!(parts("e", call), ("1 1".to_owned(), String::new()), "{call}");
    }
    assert_eq!(parts("c", "GROUP_CONCAT(?v + 1)").0, "6");
    assert_eq!(parts("c", "GROUP_CONCAT(?v * 1e6)").0, "5.0E6");
    assert_eq!(parts("c", "GROUP_CONCAT(IF(?v > 1, ?v, 0))").0, "5");
    assert_eq!(parts("c", "GROUP_CONCAT(DATATYPE(?v))").0, "http://www.w3.org/2001/XMLSchema#integer");
    assert_eq!(parts("c", "GROUP_CONCAT(CONCAT(STR(?v), \"a\"))").0, "5a");
    assert_eq!(parts("c", "STRLEN(GROUP_CONCAT(?v))").0, "1");
    let with_rows = "SELECT (COUNT(DISTINCT *) AS ?n) (GROUP_CONCAT(?v + 1) AS ?x) (GROUP_CONCAT(UCASE(?l)) AS ?y)
                     { VALUES (?v ?l) { (1 \"a\"@en) } }";
    assert_eq!(fixture.rows(with_rows), ["n=\"1\" x=\"2\" y=\"A\"@en"]);
    assert_eq!(fixture.rows("SELECT (GROUP_CONCAT(?v) AS ?x) { :none :v ?v }"), ["x=\"\""]);
}

#[test]
fn having_filters_groups() {
    let rows = Fixture::people().rows("SELECT ?p { ?p :knows ?f } GROUP BY ?p HAVING(COUNT(?f) > 1)");
    assert_eq!(rows, ["p=ann"]);
}

#[test]
fn order_by_sorts_by_value_and_unbound_first() {
    let people = Fixture::people();
    assert_eq!(people.rows_in_order("SELECT ?p { ?p :age ?a } ORDER BY ?a"), ["p=dan", "p=bob", "p=ann", "p=cid"]);
    assert_eq!(
        people.rows_in_order("SELECT ?p { ?p :age ?a } ORDER BY DESC(?a)"),
        ["p=cid", "p=ann", "p=bob", "p=dan"]
    );
    let rows =
        people.rows_in_order("SELECT ?p { ?p :age ?a OPTIONAL { ?p :knows ?f FILTER(?f = :dan) } } ORDER BY ?f ?a");
    assert_eq!(rows, ["p=dan", "p=bob", "p=ann", "p=cid"]);
}

#[test]
fn limit_and_offset_cut_the_ordered_rows() {
    let rows = Fixture::people().rows_in_order("SELECT ?p { ?p :age ?a } ORDER BY ?a LIMIT 2 OFFSET 1");
    assert_eq!(rows, ["p=bob", "p=ann"]);
}

#[test]
fn distinct_returns_a_row_once() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT DISTINCT ?k { ?p rdf:type ?k }"), ["k=Admin", "k=Person"]);
    assert_eq!(people.rows("SELECT ?k { ?p rdf:type ?k }").len(), 5);
}

#[test]
fn select_expressions_can_use_each_other() {
    let rows = Fixture::people().rows("SELECT (?a * 2 AS ?d) (?d + 1 AS ?e) { :dan :age ?a }");
    assert_eq!(rows, ["d=\"14\" e=\"15\""]);
}

#[test]
fn a_literal_that_is_not_canonical_comes_back_as_it_went_in() {
    let fixture = Fixture::new(":a :v \"007\"^^xsd:integer .");
    assert_eq!(fixture.rows("SELECT ?v { :a :v ?v }"), ["v=\"007\""]);
    assert_eq!(fixture.rows("SELECT ?w { :a :v ?v BIND(?v + 1 AS ?w) }"), ["w=\"8\""]);
}

#[test]
fn the_text_of_a_number_is_that_which_was_written() {
    let fixture = Fixture::new(
        ":a :v \"007\"^^xsd:integer . :b :v \"+1.50\"^^xsd:decimal . :c :v 7 . :d :v \"1e0\"^^xsd:double .
         :e :v \"1\"^^xsd:boolean . :f :v \"x\"@en . :g :v :iri . :h :v \"2024-01-01T00:00:00.000Z\"^^xsd:dateTime .",
    );
    assert_eq!(
        fixture.rows("SELECT ?s (STR(?v) AS ?t) { ?s :v ?v FILTER(?s != :g) }"),
        [
            "s=a t=\"007\"",
            "s=b t=\"+1.50\"",
            "s=c t=\"7\"",
            "s=d t=\"1e0\"",
            "s=e t=\"1\"",
            "s=f t=\"x\"",
            "s=h t=\"2024-01-01T00:00:00.000Z\"",
        ]
    );
    assert_eq!(fixture.rows("SELECT ?t { :g :v ?v BIND(STR(?v) AS ?t) }"), ["t=\"http://example.org/iri\""]);
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(STR(?v) = \"007\") }"), ["s=a"]);
    // The value is taken as ever, beside its text and after it.
    let both = "SELECT ?s ?n { ?s :v ?v FILTER(STR(?v) = \"007\" && ?v = 7) BIND(?v + 1 AS ?n) }";
    assert_eq!(fixture.rows(both), ["s=a n=\"8\""]);
    let before = "SELECT ?s { ?s :v ?v FILTER(?v = 7 && STRLEN(STR(?v)) = 1) }";
    assert_eq!(fixture.rows(before), ["s=c"]);
    assert_eq!(fixture.rows("SELECT (STR(\"01\"^^xsd:integer) AS ?t) {}"), ["t=\"01\""]);
    let bound = "SELECT ?t { VALUES ?x { \"01\"^^xsd:integer UNDEF } BIND(STR(?x) AS ?t) }";
    assert_eq!(fixture.rows(bound), ["", "t=\"01\""]);
    let sorted = fixture.rows_in_order("SELECT ?s { ?s :v ?v FILTER(ISNUMERIC(?v)) } ORDER BY STR(?v)");
    assert_eq!(sorted, ["s=b", "s=a", "s=d", "s=c"]);
}

#[test]
fn a_number_that_is_none_counts_as_false() {
    let fixture = Fixture::new(
        ":a :v \"x\"^^xsd:integer . :b :v \"maybe\"^^xsd:boolean . :c :v \"x\"^^:type . :d :v 1 . :e :v \"\"^^xsd:byte .",
    );
    let selected = |filter: &str| fixture.rows(&format!("SELECT ?s {{ ?s :v ?v FILTER({filter}) }}"));
    assert_eq!(selected("?v"), ["s=d"]);
    assert_eq!(selected("!?v"), ["s=a", "s=b", "s=e"]);
    assert_eq!(selected("?v || true"), ["s=a", "s=b", "s=c", "s=d", "s=e"]);
    assert_eq!(selected("!(?v || false)"), ["s=a", "s=b", "s=e"]);
    assert_eq!(selected("IF(?v, 1 = 2, 1 = 1)"), ["s=a", "s=b", "s=e"]);
    assert_eq!(selected("COALESCE(?v && true, true)"), ["s=c", "s=d"]);
}

#[test]
fn dates_of_which_one_has_no_zone_are_neither_equal_nor_unequal() {
    let fixture = Fixture::new(
        ":a :v \"2006-08-23\"^^xsd:date . :b :v \"2006-08-23Z\"^^xsd:date . :c :v \"2001-01-01Z\"^^xsd:date .
         :d :v \"2006-08-23T09:00:00+01:00\"^^xsd:dateTime . :e :v :iri . :f :v \"2006-08-23T00:00:00\"^^xsd:dateTime .",
    );
    let selected = |filter: &str| fixture.rows(&format!("SELECT ?s {{ ?s :v ?v FILTER({filter}) }}"));
    let date = "\"2006-08-23\"^^xsd:date";
    assert_eq!(selected(&format!("?v = {date}")), ["s=a"]);
    assert_eq!(selected(&format!("{date} = ?v")), ["s=a"]);
    assert_eq!(selected(&format!("?v != {date}")), ["s=c", "s=d", "s=e", "s=f"]);
    assert_eq!(selected(&format!("COALESCE(?v = {date}, true)")), ["s=a", "s=b"]);
    assert_eq!(selected(&format!("COALESCE(IF(true, ?v, 1) = {date}, true)")), ["s=a", "s=b"]);
    assert_eq!(selected("?v = \"2006-08-23T08:00:00Z\"^^xsd:dateTime"), ["s=d"]);
    assert_eq!(selected("?v != \"2006-08-23T00:00:01Z\"^^xsd:dateTime"), ["s=a", "s=b", "s=c", "s=d", "s=e"]);
}

#[test]
fn a_node_of_a_text_is_one_in_a_solution_and_another_in_the_next() {
    let people = Fixture::people();
    let count = |text: &str| people.rows(text).pop().expect("a row");
    let nodes =
        "{ SELECT (BNODE(?k) AS ?x) (BNODE(\"k\") AS ?y) (BNODE(\"l\") AS ?z) { ?p :age ?a BIND(\"k\" AS ?k) } }";
    assert_eq!(
        count(&format!(
            "SELECT (COUNT(DISTINCT ?x) AS ?n) (SUM(IF(?x = ?y && ?x != ?z, 1, 0)) AS ?same) {{ {nodes} }}"
        )),
        "n=\"4\" same=\"4\""
    );
    assert_eq!(count("SELECT (COUNT(*) AS ?n) { ?p :age ?a FILTER(BNODE(\"x\") = BNODE(\"x\")) }"), "n=\"4\"");
    assert_eq!(count("SELECT (COUNT(?x) AS ?n) { ?p :age ?a BIND(BNODE(?a) AS ?x) }"), "n=\"0\"");
    assert_eq!(count("SELECT (COUNT(?x) AS ?n) { ?p :name ?a BIND(BNODE(?a) AS ?x) }"), "n=\"3\"");
    let computed = "BIND(BNODE(CONCAT(\"k\", \"\")) AS ?x) BIND(BNODE(\"k\") AS ?y)";
    assert_eq!(
        count(&format!(
            "SELECT (COUNT(DISTINCT ?x) AS ?n) (SUM(IF(?x = ?y, 1, 0)) AS ?same) {{ ?p :age ?a {computed} }}"
        )),
        "n=\"4\" same=\"4\""
    );
    assert_eq!(count("SELECT (COUNT(?x) AS ?n) { ?p :name ?a BIND(BNODE(STRLANG(\"k\", \"en\")) AS ?x) }"), "n=\"0\"");
    assert_eq!(
        count("SELECT (COUNT(DISTINCT *) AS ?n) { VALUES ?a { 1 1 } FILTER(ISBLANK(BNODE(\"x\"))) }"),
        "n=\"1\""
    );
    let stored = Fixture::new("_:x :p 1 .");
    assert_eq!(stored.rows("SELECT ?o { BIND(BNODE(\"x\") AS ?s) ?s :p ?o }"), Vec::<String>::new());
    assert_eq!(people.rows("SELECT * { VALUES ?a { 1 } FILTER(ISBLANK(BNODE(\"x\"))) }"), ["a=\"1\""]);
}

#[test]
fn a_duration_is_added_to_a_date_in_either_order_whatever_the_names() {
    for (kind, time, duration, expected) in [
        ("dateTime", "2019-01-15T00:00:00Z", "P1M\"^^xsd:yearMonthDuration", "2019-02-15T00:00:00Z"),
        ("dateTime", "2019-01-15T00:00:00Z", "PT1H\"^^xsd:dayTimeDuration", "2019-01-15T01:00:00Z"),
        ("dateTime", "2019-01-15T00:00:00Z", "P1MT1H\"^^xsd:duration", "2019-02-15T01:00:00Z"),
        ("date", "2019-01-15", "P1M\"^^xsd:yearMonthDuration", "2019-02-15"),
        ("date", "2019-01-15", "P1D\"^^xsd:dayTimeDuration", "2019-01-16"),
        ("time", "10:00:00", "PT1H\"^^xsd:dayTimeDuration", "11:00:00"),
    ] {
        let (time, duration) = (format!("\"{time}\"^^xsd:{kind}"), format!("\"{duration}"));
        let fixture = Fixture::new(&format!(":x :d {time} ; :p {duration} ."));
        let text = |pattern: &str| format!("SELECT ?found {{ ?x :d ?t ; :p ?u {pattern} BIND(STR(?sum) AS ?found) }}");
        let expected = [format!("found=\"{expected}\"")];
        for (left, right) in
            [("?t", "?u"), ("?u", "?t"), (&*time, "?u"), ("?u", &*time), ("?t", &*duration), (&*duration, "?t")]
        {
            assert_eq!(fixture.rows(&text(&format!("BIND({left} + {right} AS ?sum)"))), expected, "{left} + {right}");
        }
        for first in ["a", "zd", "when", "x1"] {
            for second in ["b", "ap", "length", "y7"] {
                for sum in [format!("?{first} + ?{second}"), format!("?{second} + ?{first}")] {
                    let pattern = format!("BIND(?t AS ?{first}) BIND(?u AS ?{second}) BIND({sum} AS ?sum)");
                    assert_eq!(fixture.rows(&text(&pattern)), expected, "{sum}");
                    let filter = format!(
                        "BIND(?t AS ?{first}) BIND(?u AS ?{second}) BIND({time} AS ?sum0) FILTER({sum} > ?sum0)
                         BIND({sum} + {duration} - {duration} AS ?sum)"
                    );
                    assert_eq!(fixture.rows(&text(&filter)), expected, "{filter}");
                }
            }
        }
    }
}

#[test]
fn a_sum_of_a_date_and_a_duration_is_compared_and_sorted_in_either_order() {
    let fixture = Fixture::new(
        r#":x :d "2019-01-15T00:00:00Z"^^xsd:dateTime ; :p "P1M"^^xsd:yearMonthDuration .
           :y :end "2019-02-15T00:00:00Z"^^xsd:dateTime ."#,
    );
    let end = r#""2019-02-15T00:00:00Z"^^xsd:dateTime"#;
    for (time, duration) in [("a", "b"), ("zd", "ap"), ("ap", "zd"), ("b", "a")] {
        for sum in [format!("?{time} + ?{duration}"), format!("?{duration} + ?{time}")] {
            let pattern = format!("?x :d ?{time} ; :p ?{duration} . ?y :end ?end");
            for condition in [
                format!("{sum} = ?end"),
                format!("?end = {sum}"),
                format!("{sum} = {end}"),
                format!("{sum} IN (1, ?end)"),
                format!("?end IN ({sum})"),
                format!("{sum} <= ?end && !({sum} != ?end) && {sum} >= {end}"),
                format!("IF({sum} = ?end, true, false)"),
                format!("({sum}) + ?{duration} > ?end"),
            ] {
                assert!(fixture.ask(&format!("ASK {{ {pattern} FILTER({condition}) }}")), "{condition}");
            }
            let greatest = format!("SELECT (STR(MAX({sum})) AS ?m) {{ {pattern} }} HAVING(MAX({sum}) = {end})");
            assert_eq!(fixture.rows(&greatest), ["m=\"2019-02-15T00:00:00Z\""], "{sum}");
        }
    }
}

#[test]
fn a_sum_of_what_cannot_be_added_is_an_error_in_either_order() {
    let fixture = Fixture::new(":x :p 1 .");
    for (left, right) in [
        ("\"2019-01-15\"^^xsd:date", "1"),
        ("\"2019-01-15\"^^xsd:date", "\"2019-01-15\"^^xsd:date"),
        ("\"P1M\"^^xsd:yearMonthDuration", "1"),
        ("\"a\"", "\"P1M\"^^xsd:yearMonthDuration"),
        ("\"10:00:00\"^^xsd:time", "\"P1M\"^^xsd:yearMonthDuration"),
    ] {
        for sum in [format!("{left} + {right}"), format!("{right} + {left}")] {
            assert_eq!(fixture.rows(&format!("SELECT ?v {{ BIND({sum} AS ?v) }}")), [""], "{sum}");
        }
        let sum = format!("SELECT ?v {{ VALUES (?b ?a) {{ ({left} {right}) ({right} {left}) }} BIND(?a + ?b AS ?v) }}");
        assert_eq!(fixture.rows(&sum), ["", ""], "{left}, {right}");
    }
}
