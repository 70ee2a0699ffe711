//! What a term is stays as it was written; what is computed is canonical. And comparisons of truth values and of
//! unknown types.

use crate::fixture::{Fixture, query};

fn values() -> Fixture {
    Fixture::new(
        ":a :v \"007\"^^xsd:integer . :b :v \"5\"^^xsd:int . :c :v \"+1.50\"^^xsd:decimal . :d :v \"1e7\"^^xsd:double .
         :e :v \"1\"^^xsd:boolean . :f :v \"03\"^^xsd:nonNegativeInteger . :g :v \"z\"^^:t . :h :v \"2024-01-01T00:00:00.000Z\"^^xsd:dateTime .",
    )
}

/// The value of an expression in a query without patterns.
fn value(expression: &str) -> String {
    let rows = Fixture::new("").rows(&format!("SELECT ({expression} AS ?x) {{}}"));
    rows[0].strip_prefix("x=").unwrap_or_default().to_owned()
}

#[test]
fn every_way_to_hand_a_term_on_keeps_its_form() {
    let fixture = values();
    let expected = fixture.rows("SELECT ?s (?v AS ?x) { ?s :v ?v }");
    for expression in [
        "COALESCE(?v, 0)",
        "COALESCE(1 / 0, ?v)",
        "COALESCE(?unbound + 1, ?v, 2)",
        "IF(true, ?v, 1 + 1)",
        "IF(?v = ?none, 1 + 1, ?v)",
        "IF(BOUND(?v), COALESCE(1 / 0, IF(1 > 2, 3 + 4, ?v)), STRLEN(\"x\"))",
    ] {
        let rows = fixture.rows(&format!("SELECT ?s (COALESCE({expression}, ?v) AS ?x) {{ ?s :v ?v }}"));
        assert_eq!(rows, expected, "{expression}");
        let same = fixture.rows(&format!("SELECT ?s {{ ?s :v ?v FILTER(sameTerm(COALESCE({expression}, ?v), ?v)) }}"));
        assert_eq!(same.len(), expected.len(), "{expression}");
    }
    for aggregate in ["SAMPLE(?v)", "MIN(?v)", "MAX(?v)", "SAMPLE(IF(true, ?v, 1 + 1))", "MAX(COALESCE(1 / 0, ?v))"] {
        let rows = fixture.rows(&format!("SELECT ?s ({aggregate} AS ?x) {{ ?s :v ?v }} GROUP BY ?s"));
        assert_eq!(rows, expected, "{aggregate}");
    }
    assert_eq!(fixture.rows("SELECT ?x { :a :v ?v BIND(COALESCE(?v + 1, ?v) AS ?x) }"), ["x=\"8\""]);
    let next =
        "SELECT ?x ?y { :a :v ?v BIND(IF(true, ?v, 1 + 1) AS ?x) BIND(?v + 1 AS ?y) FILTER(?v = 7 && ISNUMERIC(?v)) }";
    assert_eq!(fixture.rows(next), ["x=\"007\" y=\"8\""]);
    assert_eq!(value("COALESCE(1 / 0, \"007\"^^xsd:integer)"), "\"007\"");
    assert_eq!(value("IF(true, \"+1\"^^xsd:byte, 1 + 1)"), "\"+1\"^^<http://www.w3.org/2001/XMLSchema#byte>");
}

#[test]
fn terms_of_one_value_and_different_forms_are_different_terms() {
    let fixture = Fixture::new(":a :v 7 , \"007\"^^xsd:integer , \"7\"^^xsd:int . :b :v \"7\"^^xsd:int .");
    let count = |text: &str| fixture.rows(&format!("SELECT (COUNT(*) AS ?n) {{ {text} }}")).pop();
    assert_eq!(count("{ SELECT DISTINCT ?v { ?s :v ?v } }").as_deref(), Some("n=\"3\""));
    assert_eq!(count("{ SELECT ?v { ?s :v ?v } GROUP BY ?v }").as_deref(), Some("n=\"3\""));
    assert_eq!(
        count("{ SELECT DISTINCT ?x { ?s :v ?v BIND(COALESCE(1 / 0, ?v) AS ?x) } }").as_deref(),
        Some("n=\"3\"")
    );
    assert_eq!(count(":a :v ?v . :b :v ?v").as_deref(), Some("n=\"1\""));
    assert_eq!(count(":a :v ?w BIND(COALESCE(1 / 0, ?w) AS ?v) :b :v ?v").as_deref(), Some("n=\"1\""));
    assert_eq!(fixture.rows("SELECT (COUNT(DISTINCT ?v) AS ?n) { ?s :v ?v }"), ["n=\"3\""]);
    assert_eq!(fixture.rows("SELECT (COUNT(DISTINCT COALESCE(1 / 0, ?v)) AS ?n) { ?s :v ?v }"), ["n=\"3\""]);
    assert_eq!(fixture.rows("SELECT (COUNT(DISTINCT ?v + 0) AS ?n) { ?s :v ?v }"), ["n=\"1\""]);
}

#[test]
fn the_datatype_of_a_literal_is_the_one_that_it_was_written_with() {
    let types = [
        "integer",
        "int",
        "byte",
        "short",
        "long",
        "nonNegativeInteger",
        "positiveInteger",
        "unsignedInt",
        "unsignedByte",
        "unsignedLong",
        "decimal",
        "double",
        "float",
        "boolean",
        "string",
    ];
    let literals: Vec<String> = types.iter().map(|name| format!("\"1\"^^xsd:{name}")).collect();
    let stored = Fixture::new(&format!(":a :v {} .", literals.join(" , ")));
    for (name, literal) in types.iter().zip(&literals) {
        let expected = format!("<http://www.w3.org/2001/XMLSchema#{name}>");
        assert_eq!(value(&format!("DATATYPE({literal})")), expected);
        assert_eq!(value(&format!("DATATYPE(IF(true, {literal}, 1 + 1))")), expected);
        assert_eq!(value(&format!("DATATYPE(COALESCE(1 / 0, {literal}))")), expected);
        let bound = format!("SELECT (DATATYPE(?x) AS ?d) {{ BIND({literal} AS ?w) BIND(COALESCE(1 / 0, ?w) AS ?x) }}");
        assert_eq!(stored.rows(&bound), [format!("d={expected}")]);
        let found = format!("SELECT ?v {{ :a :v ?v FILTER(DATATYPE(?v) = xsd:{name}) }}");
        assert_eq!(stored.rows(&found).len(), 1, "{name}");
        let compared =
            format!("SELECT ?v {{ :a :v ?v FILTER(DATATYPE(?v) = DATATYPE({literal}) && STR(?v) = \"1\") }}");
        assert_eq!(stored.rows(&compared).len(), 1, "{name}");
    }
    assert_eq!(value("DATATYPE(\"x\"^^xsd:int)"), "<http://www.w3.org/2001/XMLSchema#int>");
    assert_eq!(value("DATATYPE(\"1\"^^xsd:int + \"1\"^^xsd:int)"), "<http://www.w3.org/2001/XMLSchema#integer>");
    assert_eq!(value("DATATYPE(ABS(\"1\"^^xsd:byte))"), "<http://www.w3.org/2001/XMLSchema#integer>");
    assert_eq!(value("DATATYPE(COALESCE(DATATYPE(1), \"x\"@en))"), "");
    let text = "SELECT (DATATYPE(?x) AS ?d) { VALUES ?x { \"x\"@en :a UNDEF } }";
    assert_eq!(Fixture::new("").rows(text), ["", "", "d=<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"]);
}

#[test]
fn computed_numbers_are_written_as_xpath_casts_them_to_texts() {
    for (expression, text) in [
        ("\"007\"^^xsd:integer", "007"),
        ("xsd:integer(\"007\")", "7"),
        ("\"007\"^^xsd:integer + 0", "7"),
        ("+\"007\"^^xsd:int", "7"),
        ("xsd:decimal(\"1.50\")", "1.5"),
        ("1.5 + 0.5", "2"),
        ("xsd:double(\"1e3\")", "1000"),
        ("1e0 + 1", "2"),
        ("999999e0 * 1", "999999"),
        ("1e6 * 1", "1.0E6"),
        ("-12345678.5e0 * 1", "-1.23456785E7"),
        ("1e-6 * 1", "0.000001"),
        ("1.5e-7 * 1", "1.5E-7"),
        ("1e300 * 1e300", "INF"),
        ("0e0 / 0", "NaN"),
        ("-0e0 * 1", "-0"),
        ("xsd:float(\"1e10\") * 1", "1.0E10"),
        ("xsd:float(\"0.1\") * 1", "0.1"),
        ("ABS(-1e8)", "1.0E8"),
        ("ROUND(1234567.5e0)", "1.234568E6"),
        ("ROUND(-2.5)", "-2"),
        ("COALESCE(1 / 0, 1e7 * 1)", "1.0E7"),
    ] {
        assert_eq!(value(&format!("STR({expression})")), format!("\"{text}\""), "{expression}");
        let shown = value(expression);
        assert!(shown.starts_with(&format!("\"{text}\"")), "{expression}: {shown}");
    }
    assert_eq!(value("xsd:string(\"1e7\"^^xsd:double)"), "\"1.0E7\"");
    assert_eq!(value("xsd:string(\"007\"^^xsd:integer)"), "\"7\"");
    assert_eq!(value("xsd:string(:a)"), "\"http://example.org/a\"");
    assert_eq!(value("xsd:string(\"a\"@en)"), "\"a\"");
    let fixture = Fixture::new(":a :v 5e6 , 5000001e0 .");
    let rows = fixture.rows("SELECT (STR(SUM(?v)) AS ?s) (STR(AVG(?v)) AS ?a) (STR(MIN(?v)) AS ?l) { ?x :v ?v }");
    assert_eq!(rows, ["s=\"1.0000001E7\" a=\"5.0000005E6\" l=\"5e6\""]);
}

#[test]
fn false_is_less_than_true() {
    for (expression, expected) in [
        ("false < true", "true"),
        ("true < false", "false"),
        ("true <= true", "true"),
        ("false >= true", "false"),
        ("\"1\"^^xsd:boolean > \"0\"^^xsd:boolean", "true"),
        ("(1 < 2) > BOUND(?x)", "true"),
        ("IF(true, false, 1) < ISIRI(:a)", "true"),
        ("true = \"1\"^^xsd:boolean", "true"),
        ("true IN (1, \"1\"^^xsd:boolean)", "true"),
    ] {
        assert_eq!(value(expression), format!("\"{expected}\""), "{expression}");
    }
    for error in ["true < 1", "true > \"a\"", "\"maybe\"^^xsd:boolean < true", "false < :a", "true < \"x\"^^:t"] {
        assert_eq!(value(error), "", "{error}");
    }
    let fixture =
        Fixture::new(":a :v true . :b :v false . :c :v \"1\"^^xsd:boolean . :d :v 0 . :e :v \"no\"^^xsd:boolean .");
    assert_eq!(fixture.rows("SELECT ?s { ?s :v ?v FILTER(?v > false) }"), ["s=a", "s=c"]);
    assert_eq!(fixture.rows("SELECT ?s ?t { ?s :v ?v . ?t :v ?w FILTER(?v < ?w) }"), ["s=b t=a", "s=b t=c"]);
}

#[test]
fn literals_of_unknown_types_are_equal_only_to_themselves_and_else_an_error() {
    for (expression, expected) in [
        ("\"a\"^^:t = \"a\"^^:t", "\"true\""),
        ("\"a\"^^:t = \"b\"^^:t", ""),
        ("\"a\"^^:t != \"b\"^^:t", ""),
        ("\"a\"^^:t = \"a\"^^:u", ""),
        ("\"a\"^^:t = \"a\"", ""),
        ("\"a\"^^:t = 1", ""),
        ("\"x\"^^xsd:integer = 1", ""),
        ("\"x\"^^xsd:integer = \"x\"^^xsd:integer", "\"true\""),
        ("\"a\"^^:t = :a", "\"false\""),
        ("\"a\"^^:t = \"a\"@en", "\"false\""),
        ("\"a\"^^:t IN (1, \"a\"^^:t)", "\"true\""),
        ("\"a\"^^:t IN (1, \"b\"^^:t)", ""),
        ("\"a\"^^:t < \"b\"^^:t", ""),
        ("1 < \"a\"", ""),
        (":a < :b", ""),
        ("\"a\" = \"a\"@en", "\"false\""),
        ("1 = \"1\"", "\"false\""),
        ("true = 1", "\"false\""),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
        let (left, right) = expression.split_once([' ']).expect("two operands");
        let bound = format!("SELECT (?l {right} AS ?x) {{ BIND({left} AS ?l) }}");
        let row = if expected.is_empty() { String::new() } else { format!("x={expected}") };
        assert!(Fixture::new("").rows(&bound)[0].ends_with(&row), "{bound}");
    }
}

#[test]
fn a_node_of_a_text_is_one_in_a_condition_and_in_the_arguments_of_aggregates() {
    let people = Fixture::people();
    let optional = |condition: &str| {
        let text = format!("SELECT ?p ?f {{ ?p :age ?a OPTIONAL {{ ?p :knows ?f FILTER({condition}) }} }}");
        people.rows(&text)
    };
    let all = ["p=ann f=bob", "p=ann f=cid", "p=bob f=cid", "p=cid f=dan", "p=dan"];
    assert_eq!(optional("BNODE(\"x\") = BNODE(\"x\")"), all);
    assert_eq!(optional("BNODE(\"x\") != BNODE(\"y\") && BNODE(STR(?f)) = BNODE(STR(?f))"), all);
    assert_eq!(optional("BNODE(\"x\") = BNODE(\"y\")"), ["p=ann", "p=bob", "p=cid", "p=dan"]);
    let beside =
        "SELECT ?p ?n { VALUES ?p { 1 2 } OPTIONAL { VALUES ?n { 3 4 } FILTER(BNODE(\"x\") = BNODE(\"x\")) } }";
    assert_eq!(people.rows(beside).len(), 4);
    let same = "SELECT (COUNT(DISTINCT BNODE(\"x\")) AS ?n) (SUM(IF(BNODE(\"x\") = BNODE(\"x\"), 1, 0)) AS ?same)
                (SUM(IF(BNODE(\"x\") = BNODE(\"y\"), 1, 0)) AS ?other) { ?p :age ?a }";
    assert_eq!(people.rows(same), ["n=\"4\" same=\"4\" other=\"0\""]);
    let grouped = "SELECT ?k (COUNT(DISTINCT BNODE(\"x\")) AS ?n) { ?p rdf:type ?k } GROUP BY ?k";
    assert_eq!(people.rows(grouped), ["k=Admin n=\"1\"", "k=Person n=\"4\""]);
}

#[test]
fn a_signed_number_is_one_literal_that_keeps_its_form() {
    for (expression, expected) in [
        ("-007", "\"-007\""),
        ("+5", "\"+5\""),
        ("-1.50", "\"-1.50\""),
        ("STR(-1e3)", "\"-1e3\""),
        ("COALESCE(1 / 0, -007)", "\"-007\""),
        ("sameTerm(-007, \"-007\"^^xsd:integer)", "\"true\""),
        ("-007 = -7", "\"true\""),
        ("STR(-9223372036854775808)", "\"-9223372036854775808\""),
        // Operators compute.
        ("-(-007)", "\"7\""),
        ("-(007)", "\"-007\""),
        ("1-007", "\"-6\""),
        ("-007 + 0", "\"-7\""),
        ("-\"7\"^^xsd:int", "\"-7\""),
        ("STR(-\"x\"^^xsd:integer)", ""),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn strdt_returns_the_literal_that_it_is_asked_for() {
    let fixture = values();
    for (form, datatype) in [
        ("007", "xsd:integer"),
        ("5", "xsd:byte"),
        ("300", "xsd:byte"),
        ("x", "xsd:integer"),
        ("1.50", "xsd:decimal"),
        ("1e7", "xsd:double"),
        ("2024-01-01T00:00:00.000Z", "xsd:dateTime"),
        ("x", ":t"),
        ("x", "xsd:string"),
    ] {
        let expected = fixture.rows(&format!("SELECT ?x {{ VALUES ?x {{ \"{form}\"^^{datatype} }} }}"));
        let call = format!("STRDT(\"{form}\", {datatype})");
        for expression in [call.clone(), format!("COALESCE(1 / 0, {call})"), format!("IF(true, {call}, 1)")] {
            assert_eq!(fixture.rows(&format!("SELECT ({expression} AS ?x) {{}}")), expected, "{expression}");
            let same = format!("ASK {{ FILTER(sameTerm({expression}, \"{form}\"^^{datatype})) }}");
            assert!(fixture.ask(&same), "{same}");
            let parts =
                format!("ASK {{ FILTER(STR({expression}) = \"{form}\" && DATATYPE({expression}) = {datatype}) }}");
            assert!(fixture.ask(&parts), "{parts}");
        }
        let grouped = format!("SELECT (SAMPLE({call}) AS ?x) {{}}");
        assert_eq!(fixture.rows(&grouped), expected, "{grouped}");
    }
    let computed = "SELECT (STRDT(\"007\", xsd:integer) + 1 AS ?x) (STR(STRDT(STR(?v), xsd:int)) AS ?y) { :a :v ?v }";
    assert_eq!(fixture.rows(computed), ["x=\"8\" y=\"007\""]);
    for wrong in
        ["STRDT(\"x\"@en, xsd:string)", "STRDT(1, xsd:string)", "STRDT(\"x\", \"y\")", "STRDT(\"x\", rdf:langString)"]
    {
        assert_eq!(value(wrong), "", "{wrong}");
    }
}

#[test]
fn triple_terms_of_a_text_keep_the_forms_of_their_literals() {
    let fixture = Fixture::new(
        ":a :of <<( :s :p \"007\"^^xsd:integer )>> . :b :of <<( :s :p 7 )>> . :c :of <<( :s :p \"7\"^^xsd:int )>> .
         :d :of <<( :s :p <<( :s :p 1.50 )>> )>> .",
    );
    for (triple, found) in [
        ("<<( :s :p 007 )>>", "s=a"),
        ("<<( :s :p 7 )>>", "s=b"),
        ("<<( :s :p \"7\"^^xsd:int )>>", "s=c"),
        ("<<( :s :p <<( :s :p 1.50 )>> )>>", "s=d"),
    ] {
        for pattern in [
            format!("?s :of {triple}"),
            format!("?s :of/:none? {triple}"),
            format!("VALUES ?t {{ {triple} }} ?s :of ?t"),
            format!("?s :of ?t FILTER EXISTS {{ ?s :of {triple} }}"),
            format!("?s :of ?t MINUS {{ ?s :of ?u VALUES ?other {{ 1 }} FILTER NOT EXISTS {{ ?s :of {triple} }} }}"),
        ] {
            let text = format!("SELECT ?s {{ {pattern} }}");
            assert_eq!(fixture.rows(&text), [found], "{text}");
        }
        let explained =
            query(&format!("SELECT ?s {{ ?s :of {triple} }}")).explain(&fixture.snapshot()).expect("explained");
        let name = explained.root.nodes().last().expect("a pattern").name.clone();
        assert!(name.starts_with("QuadPattern(?s <http://example.org/of> <<( <http://example.org/s> "), "{name}");
        assert!(name.ends_with(" )>>)"), "{name}");
    }
}

#[test]
fn a_literal_beyond_the_bounds_of_its_type_is_ill_typed() {
    let fixture = Fixture::new(
        ":a :v \"300\"^^xsd:byte . :b :v \"-1\"^^xsd:unsignedInt . :c :v \"0\"^^xsd:positiveInteger . :d :v \"127\"^^xsd:byte .
         :e :v \"18446744073709551616\"^^xsd:unsignedLong . :f :v \"18446744073709551615\"^^xsd:unsignedLong . :g :v 300 .",
    );
    let named = |filter: &str| {
        let rows = fixture.rows(&format!("SELECT ?s {{ ?s :v ?v FILTER({filter}) }}"));
        rows.iter().map(|row| row.trim_start_matches("s=").to_owned()).collect::<Vec<_>>().join("")
    };
    for (filter, expected) in [
        ("isNUMERIC(?v)", "dfg"),
        ("!isNUMERIC(?v)", "abce"),
        ("?v", "dfg"),
        ("!?v", "abce"),
        ("?v > -5", "dfg"),
        ("?v = 300", "g"),
        ("?v IN (300, 1)", "g"),
        ("BOUND(?v) && COALESCE(?v + 1, \"no\") = \"no\"", "abce"),
        ("COALESCE(-?v, \"no\") = \"no\"", "abce"),
        ("COALESCE(xsd:integer(?v), \"no\") = \"no\"", "abce"),
        ("COALESCE(ABS(?v), \"no\") = \"no\"", "abce"),
        ("COALESCE(?v = 5, \"no\") = \"no\"", "abce"),
        // It is still the term that it is.
        ("?v = \"300\"^^xsd:byte", "a"),
        ("sameTerm(?v, \"300\"^^xsd:byte)", "a"),
        ("sameTerm(COALESCE(1 / 0, ?v), \"300\"^^xsd:byte)", "a"),
        ("DATATYPE(?v) = xsd:byte", "ad"),
        ("STR(?v) = \"300\"", "ag"),
        ("isLITERAL(?v)", "abcdefg"),
    ] {
        assert_eq!(named(filter), expected, "{filter}");
    }
    assert_eq!(fixture.rows("SELECT (SUM(?v) AS ?n) { :a :v ?v }"), [""]);
    let triples = Fixture::new(":t :of <<( :s :p \"300\"^^xsd:byte )>> .");
    let in_triples = "SELECT (isNUMERIC(OBJECT(?t)) AS ?x) (?t AS ?y) { :t :of ?t }";
    let triple = "<<( s p \"300\"^^<http://www.w3.org/2001/XMLSchema#byte> )>>";
    assert_eq!(triples.rows(in_triples), [format!("x=\"false\" y={triple}")]);
    let made = "SELECT (TRIPLE(:s, :p, ?v) AS ?y) { :a :v ?v }";
    assert_eq!(fixture.rows(made), [format!("y={triple}")]);
    let order = "SELECT ?s { { ?s :v ?v } UNION { BIND(\"text\" AS ?v) BIND(:t AS ?s) } } ORDER BY ?v";
    let ordered: Vec<String> = fixture.rows_in_order(order).iter().map(|row| row.replace("s=", "")).collect();
    assert_eq!(ordered.join(""), "dgftbcea");
    let max = "SELECT (MAX(?v) AS ?x) (MIN(?v) AS ?y) { VALUES ?s { :a :d } ?s :v ?v }";
    let byte = "^^<http://www.w3.org/2001/XMLSchema#byte>";
    assert_eq!(fixture.rows(max), [format!("x=\"300\"{byte} y=\"127\"{byte}")]);
    for (expression, expected) in [
        ("\"300\"^^xsd:byte + 1", String::new()),
        ("\"300\"^^xsd:byte", format!("\"300\"{byte}")),
        ("IF(true, \"300\"^^xsd:byte, 1)", format!("\"300\"{byte}")),
        ("IF(\"300\"^^xsd:byte, 1, 2)", "\"2\"".to_owned()),
        ("DATATYPE(\"300\"^^xsd:byte)", "<http://www.w3.org/2001/XMLSchema#byte>".to_owned()),
        ("STR(COALESCE(1 / 0, \"300\"^^xsd:byte))", "\"300\"".to_owned()),
        ("isNUMERIC(\"300\"^^xsd:byte)", "\"false\"".to_owned()),
        ("xsd:string(\"300\"^^xsd:byte)", "\"300\"".to_owned()),
        ("CONCAT(\"300\"^^xsd:byte)", String::new()),
        ("\"300\"^^xsd:byte = \"300\"^^xsd:byte", "\"true\"".to_owned()),
        ("\"300\"^^xsd:byte < 5", String::new()),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}
