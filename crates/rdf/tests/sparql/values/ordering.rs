//! Rows come in one total order, whatever they are sorted by.

use fulgurite_rdf::oxrdf::{Literal, Term};

use crate::fixture::{Fixture, query, rows_of};

/// The values of `?v` in the order of the rows.
fn sorted(fixture: &Fixture, text: &str) -> Vec<String> {
    fixture.rows_in_order(text)
}

const DISTANCES: &str = "VALUES ?v { \"17 km\" 92e0 \"82 km\" 214e0 \"19 km\" 68e0 104e0 \"31 km\" \"54 km\" 162e0 67e0 \
     \"65 km\" 139e0 230e0 \"2 km\" 146e0 134e0 \"69 km\" 143e0 295e0 86e0 }";

#[test]
fn a_mix_of_numbers_and_texts_is_sorted_with_the_numbers_first() {
    let fixture = Fixture::new("");
    let numbers = [67, 68, 86, 92, 104, 134, 139, 143, 146, 162, 214, 230, 295];
    let texts = ["17 km", "19 km", "2 km", "31 km", "54 km", "65 km", "69 km", "82 km"];
    let rows = sorted(&fixture, &format!("SELECT (STR(?v) AS ?t) {{ {DISTANCES} }} ORDER BY ?v"));
    let mut expected: Vec<String> = numbers.iter().map(|number| format!("t=\"{number}e0\"")).collect();
    expected.extend(texts.iter().map(|text| format!("t=\"{text}\"")));
    assert_eq!(rows, expected);
    let backwards = sorted(&fixture, &format!("SELECT (STR(?v) AS ?t) {{ {DISTANCES} }} ORDER BY DESC(?v)"));
    expected.reverse();
    assert_eq!(backwards, expected);
    let computed = format!("SELECT (STR(?v) AS ?t) {{ {DISTANCES} }} ORDER BY DESC(COALESCE(?w, ?v)) LIMIT 5 OFFSET 2");
    assert_eq!(sorted(&fixture, &computed), expected[2..7]);
    let extremes = format!("SELECT (STR(MIN(?v)) AS ?t) (STR(MAX(?v)) AS ?u) {{ {DISTANCES} }}");
    assert_eq!(sorted(&fixture, &extremes), ["t=\"67e0\" u=\"82 km\""]);
}

#[test]
fn dates_are_sorted_by_their_years_and_ill_formed_ones_come_after_them() {
    let times = ["2018-02-30T00:00:00Z", "12000-12-31T00:00:00Z", "2019-06-02T10:00:00Z", "-0044-03-15T12:00:00Z"];
    let list: Vec<String> = times.iter().map(|time| format!("\"{time}\"^^xsd:dateTime")).collect();
    let text = format!("SELECT (STR(?v) AS ?t) {{ VALUES ?v {{ {} }} }} ORDER BY ?v", list.join(" "));
    let expected = [times[3], times[2], times[1], times[0]].map(|time| format!("t=\"{time}\""));
    assert_eq!(sorted(&Fixture::new(""), &text), expected);
}

#[test]
fn a_later_key_decides_between_equal_values_and_forms_decide_last() {
    let fixture = Fixture::new("");
    let values = "VALUES (?a ?b) { (1 2) (1.0 1) (\"01\"^^xsd:int 0) (\"1e0\"^^xsd:double 3) (0 9) (1.00 1.0) }";
    let rows = |order: &str| sorted(&fixture, &format!("SELECT (STR(?a) AS ?t) ?b {{ {values} }} ORDER BY {order}"));
    let expected = [
        "t=\"0\" b=\"9\"",
        "t=\"01\" b=\"0\"",
        "t=\"1.0\" b=\"1\"",
        "t=\"1.00\" b=\"1.0\"",
        "t=\"1\" b=\"2\"",
        "t=\"1e0\" b=\"3\"",
    ];
    assert_eq!(rows("?a ?b"), expected);
    let backwards: Vec<&str> = expected.into_iter().rev().collect();
    assert_eq!(rows("DESC(?a) DESC(?b)"), backwards);
}

#[test]
fn a_sort_that_is_evaluated_for_each_row_sorts_the_rows_of_each() {
    let fixture = Fixture::new(
        ":a :v 3, \"x\", 1.5, :iri . :b :v 2 . :c :v \"b\", \"a\"@en, 10, 9.0 . :a :is :one . :b :is :one . :c :is :one .",
    );
    let text =
        "SELECT ?s ?v { ?s :is :one LATERAL { SELECT ?s ?v { ?s :v ?v } ORDER BY DESC(?v) LIMIT 2 } } ORDER BY ?s ?v";
    assert_eq!(sorted(&fixture, text), ["s=a v=\"3\"", "s=a v=\"x\"", "s=b v=\"2\"", "s=c v=\"a\"@en", "s=c v=\"b\"",]);
}

#[test]
fn groups_and_graphs_are_sorted_by_the_same_order() {
    let fixture = Fixture::new(":g { :a :v 1, \"x\" . } :h { :b :v 9.5, 10 . } :a :v 7 . :b :v \"7\"^^xsd:byte, 20 .");
    let grouped = "SELECT ?s (MAX(?v) AS ?m) { ?s :v ?v } GROUP BY ?s HAVING (MAX(?v) > 0) ORDER BY DESC(MAX(?v))";
    assert_eq!(sorted(&fixture, grouped), ["s=b m=\"20\"", "s=a m=\"7\""]);
    let in_graphs = "SELECT ?g ?v { GRAPH ?g { ?s :v ?v } } ORDER BY ?v";
    assert_eq!(sorted(&fixture, in_graphs), ["g=g v=\"1\"", "g=h v=\"9.5\"", "g=h v=\"10\"", "g=g v=\"x\""]);
    let constructed = fixture.triples("CONSTRUCT { ?s :first ?v } { ?s :v ?v } ORDER BY DESC(?v) LIMIT 1");
    assert_eq!(constructed.len(), 1);
    assert!(constructed[0].contains("20"), "{constructed:?}");
}

/// Literals of many types, by a seed.
fn literals(seed: u64, count: usize) -> Vec<Literal> {
    let mut state = seed;
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let typed = |text: String, name: &str| {
        let datatype = format!("http://www.w3.org/2001/XMLSchema#{name}");
        Literal::new_typed_literal(text, fulgurite_rdf::oxrdf::NamedNode::new_unchecked(datatype))
    };
    (0..count)
        .map(|_| match next(10) {
            0 => typed(format!("{}", next(200)), "integer"),
            1 => typed(format!("-{}00000000000000000000", next(90) + 1), "integer"),
            2 => typed(format!("{}.{:025}", next(200), next(9)), "decimal"),
            3 => typed(format!("{}.5e0", next(200)), ["double", "float"][next(2) as usize]),
            4 => typed(["NaN", "INF", "-INF", "-0.0", "x"][next(5) as usize].to_owned(), "double"),
            5 => Literal::new_simple_literal(format!("{} km", next(200))),
            6 => typed(
                format!(
                    "20{:02}-0{}-0{}T00:00:00{}",
                    next(30),
                    next(9) + 1,
                    next(9),
                    ["", "Z", "+14:00"][next(3) as usize]
                ),
                "dateTime",
            ),
            7 => typed(format!("{}", next(200)), ["byte", "unsignedShort", "long"][next(3) as usize]),
            8 => typed(format!("P{}{}", next(60), ["D", "M", "Y"][next(3) as usize]), "duration"),
            _ => {
                Literal::new_language_tagged_literal_unchecked(format!("{}", next(30)), ["en", "fr"][next(2) as usize])
            }
        })
        .collect()
}

#[test]
fn the_first_rows_the_extremes_and_the_backward_order_agree_with_sorting_all() {
    for seed in 1..=5 {
        let fixture = Fixture::new("");
        let quads: Vec<_> = literals(seed, 300)
            .into_iter()
            .enumerate()
            .map(|(number, literal)| {
                let node =
                    |name: String| fulgurite_rdf::oxrdf::NamedNode::new_unchecked(format!("http://example.org/{name}"));
                let graph = fulgurite_rdf::oxrdf::GraphName::DefaultGraph;
                fulgurite_rdf::oxrdf::Quad::new(
                    node(format!("s{number}")),
                    node("v".to_owned()),
                    Term::from(literal),
                    graph,
                )
            })
            .collect();
        fixture.add(&quads);
        let all = sorted(&fixture, "SELECT ?v { ?s :v ?v } ORDER BY ?v");
        assert_eq!(all.len(), 300, "seed {seed}");
        let mut backwards = sorted(&fixture, "SELECT ?v { ?s :v ?v } ORDER BY DESC(?v)");
        backwards.reverse();
        assert_eq!(backwards, all, "seed {seed}");
        for rows in [1, 7, 150] {
            let first = sorted(&fixture, &format!("SELECT ?v {{ ?s :v ?v }} ORDER BY ?v LIMIT {rows}"));
            assert_eq!(first, all[..rows], "seed {seed}");
            let last = sorted(&fixture, &format!("SELECT ?v {{ ?s :v ?v }} ORDER BY DESC(?v) LIMIT {rows}"));
            assert!(last.iter().eq(all.iter().rev().take(rows)), "seed {seed}");
        }
        let nested = "SELECT ?v { { SELECT ?v { ?s :v ?v } ORDER BY ?v LIMIT 200 } } ORDER BY ?v";
        assert_eq!(sorted(&fixture, nested), all[..200], "seed {seed}");
        let extremes = sorted(&fixture, "SELECT (MIN(?v) AS ?m) (MAX(?v) AS ?n) { ?s :v ?v }");
        let value = |row: &str| row.strip_prefix("v=").expect("it binds ?v").to_owned();
        assert_eq!(extremes, [format!("m={} n={}", value(&all[0]), value(&all[299]))], "seed {seed}");
    }
}

#[test]
fn what_is_not_bound_comes_first() {
    let fixture = Fixture::new(":a :v 1 . :b :w 1 . :c :v :iri .");
    let text = "SELECT ?s ?v { ?s ?p ?o OPTIONAL { ?s :v ?v } } ORDER BY ?v";
    assert_eq!(sorted(&fixture, text), ["s=b", "s=c v=iri", "s=a v=\"1\""]);
    let computed = "SELECT ?s { ?s ?p ?o OPTIONAL { ?s :v ?v } } ORDER BY DESC(?v + 1) ?s";
    assert_eq!(sorted(&fixture, computed), ["s=a", "s=b", "s=c"]);
    let rows = rows_of(&query("SELECT ?x {} ORDER BY ?x (1) RAND()"), &fixture.snapshot()).expect("a row");
    assert_eq!(rows, [""]);
}
