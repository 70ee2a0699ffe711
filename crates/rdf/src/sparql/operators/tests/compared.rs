//! Random queries of the fragment over random stores, evaluated on ids and by the library.
//!
//! A failure prints the seed of its case; `SEED` below repeats it.

use oxrdf::{GraphName, NamedNode, Quad};

use super::fixture::{PREFIXES, Place, query, rows};
use crate::sparql::{JoinOrder, Query, QueryForm, SolutionValue, Update};
use crate::{Quads, StatementKinds};

/// Stores, and queries over each.
const STORES: u64 = 24;
const QUERIES: u64 = 150;

/// The first seed.
const SEED: u64 = 1;

/// Of a hundred queries, at least so many are evaluated on ids: else the test would compare the library with itself.
const ON_IDS_MIN: u64 = 50;

/// Numbers drawn from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }

    fn in_ten(&mut self, times: u64) -> bool {
        self.below(10) < times
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

/// Literals of many kinds. Sums of the numbers are exact in any order.
const LITERALS: [&str; 26] = [
    "0",
    "1",
    "2",
    "7",
    "-3",
    "\"007\"^^xsd:integer",
    "\"2\"^^xsd:int",
    "\"300\"^^xsd:byte",
    "123456789012345678901234567890",
    "1.5",
    "2.0",
    "2.5e0",
    "\"0.5\"^^xsd:float",
    "\"-0.0\"^^xsd:double",
    "\"NaN\"^^xsd:double",
    "\"INF\"^^xsd:float",
    "\"inf\"^^xsd:double",
    "\"x\"",
    "\"a text that is too long to be in a number\"",
    "\"x\"@en",
    "\"x\"@de",
    "true",
    "\"2020-02-03T04:05:06Z\"^^xsd:dateTime",
    "\"2021-02-03\"^^xsd:date",
    "\"x\"^^:type",
    "\"1\"",
];

/// As literals, in data alone.
const TRIPLE_TERMS: [&str; 2] = ["<<( :n1 :p1 :n2 )>>", "<<( :n3 :p0 \"x\"@en )>>"];

fn node(chance: &mut Chance) -> String {
    format!(":n{}", chance.below(7))
}

fn predicate(chance: &mut Chance) -> String {
    // One that the store does not have comes seldom.
    if chance.below(40) == 0 { ":none".to_owned() } else { format!(":p{}", chance.below(4)) }
}

fn data(chance: &mut Chance) -> String {
    let mut text = String::new();
    for number in 0..70 {
        let subject = if chance.in_ten(1) { format!("_:b{}", chance.below(3)) } else { node(chance) };
        let object = match chance.below(4) {
            0 if chance.in_ten(1) => chance.one_of(&TRIPLE_TERMS).to_owned(),
            0 | 1 => chance.one_of(&LITERALS).to_owned(),
            2 if chance.in_ten(2) => format!("_:b{}", chance.below(3)),
            _ => node(chance),
        };
        let triple = format!("{subject} :p{} {object}", chance.below(4));
        match number % 5 {
            0 => text.push_str(&format!("GRAPH :g{} {{ {triple} }} ", chance.below(2))),
            _ => text.push_str(&format!("{triple} . ")),
        }
    }
    text
}

fn variable(chance: &mut Chance) -> &'static str {
    chance.one_of(&["?a", "?b", "?c", "?d"])
}

/// One that most groups bind.
fn bound(chance: &mut Chance) -> &'static str {
    chance.one_of(&["?a", "?b"])
}

/// One that rows may leave unbound.
fn possible(chance: &mut Chance) -> &'static str {
    chance.one_of(&["?a", "?b", "?b", "?c"])
}

fn triple(chance: &mut Chance) -> String {
    let subject = if chance.in_ten(2) { node(chance) } else { variable(chance).to_owned() };
    let predicate = if chance.in_ten(1) { "?p".to_owned() } else { predicate(chance) };
    let object = match chance.below(10) {
        0 => node(chance),
        1 => chance.one_of(&LITERALS).to_owned(),
        2 => "[]".to_owned(),
        _ => variable(chance).to_owned(),
    };
    let triple = format!("{subject} {predicate} {object} . ");
    match chance.below(16) {
        0 => format!("GRAPH ?g {{ {triple} }} "),
        1 => format!("GRAPH :g{} {{ {triple} }} ", chance.below(3)),
        2 => format!("GRAPH {} {{ {triple} }} ", variable(chance)),
        3 => format!("GRAPH ?g {{ {triple} ?a ?p ?b . }} "),
        _ => triple,
    }
}

fn condition(chance: &mut Chance, depth: u64) -> String {
    let variable = if chance.below(10) == 0 { "?c" } else { bound(chance) };
    match chance.below(if depth == 0 { 5 } else { 8 }) {
        0 => format!("BOUND({variable})"),
        1 => {
            let other = match chance.below(3) {
                0 => node(chance),
                1 => chance.one_of(&LITERALS).to_owned(),
                _ => "?b".to_owned(),
            };
            format!("sameTerm({variable}, {other})")
        }
        2 => format!("{variable} = {}", node(chance)),
        3 => format!("{variable} != {}", node(chance)),
        5 => format!("!({})", condition(chance, depth - 1)),
        6 => format!("({} && {})", condition(chance, depth - 1), condition(chance, depth - 1)),
        7 => format!("({} || {})", condition(chance, depth - 1), condition(chance, depth - 1)),
        _ => {
            let operator = chance.one_of(&["<", "<=", ">", ">=", "=", "!="]);
            let number = chance.one_of(&[
                "1",
                "2",
                "2.0",
                "1.5",
                "2.5e0",
                "0",
                "\"NaN\"^^xsd:double",
                "\"INF\"^^xsd:float",
                "\"inf\"^^xsd:double",
                "\"300\"^^xsd:byte",
                "123456789012345678901234567890",
            ]);
            match chance.in_ten(7) {
                true => format!("{variable} {operator} {number}"),
                false => format!("{number} {operator} {variable}"),
            }
        }
    }
}

fn optional(chance: &mut Chance) -> String {
    let filter = if chance.in_ten(4) { format!("FILTER({})", condition(chance, 1)) } else { String::new() };
    format!("OPTIONAL {{ {} {filter} }} ", triple(chance))
}

/// What is evaluated before the patterns of a group, or without any.
fn source(chance: &mut Chance) -> String {
    let pattern = format!("?a {} ?b . ", predicate(chance));
    match chance.below(11) {
        // Terms that the store does not have, and one of them twice.
        7 => {
            let unknown = "\"a text that no store has\"";
            format!("VALUES (?a ?b) {{ ({unknown} {unknown}) ({} 2) (:unknown {unknown}) }} ", chance.one_of(&LITERALS))
        }
        8 => format!("{pattern} VALUES {} {{ }} ", variable(chance)),
        9 => format!("?a {} ?a . ", predicate(chance)),
        0 => format!("{pattern} VALUES ?a {{ {} {} {} }} ", node(chance), node(chance), chance.one_of(&LITERALS)),
        1 => format!("{pattern} VALUES (?a ?b) {{ ({} {}) (:unknown 1) }} ", node(chance), node(chance)),
        2 => format!("{} {}+ ?a . OPTIONAL {{ ?a {} ?b }} ", node(chance), predicate(chance), predicate(chance)),
        3 => format!("?b ^{}* {} . OPTIONAL {{ ?b {} ?a }} ", predicate(chance), node(chance), predicate(chance)),
        4 => format!("{pattern} {} ?a {} ?d . ", optional(chance), predicate(chance)),
        5 => format!("{{ {pattern} FILTER({}) }} ?a {} ?d . ", condition(chance, 1), predicate(chance)),
        6 => format!("{pattern} {} VALUES ?a {{ {} {} }} ", optional(chance), node(chance), node(chance)),
        _ => {
            let nodes = [node(chance), node(chance), node(chance)];
            format!("VALUES ?a {{ {} {} }} VALUES (?b ?a) {{ (1 {}) (2 :n0) }} ", nodes[0], nodes[1], nodes[2])
        }
    }
}

fn group(chance: &mut Chance) -> String {
    let mut text = String::new();
    if chance.in_ten(3) {
        text.push_str(&source(chance));
    } else {
        text.push_str(&format!("?a {} ?b . ", predicate(chance)));
        for _ in 0..chance.below(3) {
            text.push_str(&triple(chance));
        }
    }
    for _ in 0..chance.below(5).saturating_sub(2) {
        text.push_str(&optional(chance));
    }
    if chance.in_ten(4) {
        text.push_str(&format!("FILTER({}) ", condition(chance, 2)));
    }
    text
}

/// How the rows of both evaluations are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Order,
    /// As bags.
    Rows,
    /// As sets.
    DistinctRows,
    /// Which rows there are is up to the evaluation.
    Count,
}

/// A query, and how its rows are compared.
fn random_query(chance: &mut Chance) -> (String, By) {
    let pattern = match chance.in_ten(1) {
        true => format!("{{ {} }} UNION {{ {} }}", group(chance), group(chance)),
        false => group(chance),
    };
    let aggregate = |chance: &mut Chance| {
        let function = chance.one_of(&["COUNT", "SUM", "AVG", "MIN", "MAX"]);
        let distinct = if chance.in_ten(3) { "DISTINCT " } else { "" };
        format!("{function}({distinct}{})", possible(chance))
    };
    let (one, other) = (aggregate(chance), aggregate(chance));
    let (key, other_key) = (possible(chance), possible(chance));
    match chance.below(14) {
        11 => (format!("SELECT DISTINCT ({one} AS ?x) {{ {pattern} }} GROUP BY {key} ?d"), By::Rows),
        // Groups differ in the key.
        12 => {
            let (limit, offset, direction) = (1 + chance.below(4), chance.below(3), chance.one_of(&["ASC", "DESC"]));
            let order = format!("ORDER BY {direction}({key}) LIMIT {limit} OFFSET {offset}");
            (format!("SELECT {key} (COUNT({other_key}) AS ?x) {{ {pattern} }} GROUP BY {key} {order}"), By::Order)
        }
        13 => {
            let (limit, offset) = (chance.below(3), chance.below(300));
            let text = format!("SELECT DISTINCT {key} ?b {{ {pattern} }} LIMIT {limit} OFFSET {offset}");
            (text.replace("?b ?b", "?b"), By::Count)
        }
        0 => (format!("SELECT DISTINCT ?a {key} {{ {pattern} }}").replace("?a ?a", "?a"), By::Rows),
        1 => (format!("ASK {{ {pattern} }}"), By::Rows),
        2 => {
            let aggregates = format!("({one} AS ?x) ({other} AS ?y) (COUNT(*) AS ?n)");
            (format!("SELECT {key} {aggregates} {{ {pattern} }} GROUP BY {key}"), By::Rows)
        }
        3 => {
            let having = format!("HAVING (COUNT(?a) > 1 && {one} != 2)");
            (format!("SELECT ?b (COUNT(?a) AS ?n) {{ {pattern} }} GROUP BY ?b {having}"), By::Rows)
        }
        4 => (format!("SELECT ({one} AS ?x) ({other} AS ?y) {{ {pattern} }}"), By::Rows),
        // Rows that are equal in both keys are equal.
        5 => {
            let (limit, offset) = (1 + chance.below(8), chance.below(3));
            let order = format!("ORDER BY DESC(?a) {key} LIMIT {limit} OFFSET {offset}").replace("DESC(?a) ?a", "?a");
            (format!("SELECT {key} {{ {pattern} }} {order}"), By::Order)
        }
        6 => (format!("SELECT ?a ?g {{ {pattern} }} LIMIT {} OFFSET 1", chance.below(20)), By::Count),
        7 => (format!("SELECT ({key} AS ?x) ?a ({key} AS ?y) {{ {pattern} }}"), By::Rows),
        8 => (format!("SELECT REDUCED {key} {{ {pattern} }}"), By::DistinctRows),
        _ => (format!("SELECT * {{ {pattern} }}"), By::Rows),
    }
}

fn compared(mut rows: Vec<String>, by: By) -> Vec<String> {
    if by != By::Order {
        rows.sort();
    }
    match by {
        By::Order | By::Rows => {}
        By::DistinctRows => rows.dedup(),
        By::Count => rows.iter_mut().for_each(String::clear),
    }
    rows
}

/// The rows on ids, read in small steps; `None` if the library evaluates the query.
fn rows_in_steps(asked: &Query, quads: &impl Quads) -> Option<Vec<String>> {
    let mut solutions = asked.evaluate_on_ids(quads).expect("it is recognised")?;
    let mut rows = Vec::new();
    loop {
        let mut found: Vec<Vec<Option<SolutionValue>>> = Vec::new();
        let has_more = solutions.read(3, 5, |row| found.push(row.values().collect())).expect("rows");
        assert!(found.len() <= 3, "{} rows in a step", found.len());
        let text = |value: Option<SolutionValue>| match value {
            None => "-".to_owned(),
            Some(SolutionValue::Stored(id)) => quads.term(id).expect("a term").to_string(),
            Some(SolutionValue::Computed(term)) => term.to_string(),
        };
        rows.extend(found.into_iter().map(|row| row.into_iter().map(text).collect::<Vec<_>>().join(" ")));
        if !has_more {
            break;
        }
    }
    match asked.form() {
        QueryForm::Ask => Some(vec![(!rows.is_empty()).to_string()]),
        _ => Some(rows),
    }
}

fn by_library(asked: &Query) -> Query {
    let mut by_library = asked.clone();
    by_library.may_use_ids = false;
    by_library
}

/// Queries that were compared, that were evaluated on ids, and that had rows there.
#[derive(Default)]
struct Figures {
    queries: u64,
    on_ids: u64,
    with_rows: u64,
}

impl Figures {
    fn compare(&mut self, chance: &mut Chance, quads: &impl Quads) {
        let seed = chance.0;
        let (text, by) = random_query(chance);
        let order = if chance.in_ten(2) { JoinOrder::Written } else { JoinOrder::Counts };
        let asked = query(&text).with_join_order(order);
        let case = format!("seed {seed}, {order:?}: {text}");
        let of = |asked: &Query| rows(asked, quads).unwrap_or_else(|error| panic!("{case}: {error}"));
        let expected = compared(of(&by_library(&asked)), by);
        assert_eq!(compared(of(&asked), by), expected, "{case}");
        self.queries += 1;
        if let Some(found) = rows_in_steps(&asked, quads) {
            self.on_ids += 1;
            self.with_rows += u64::from(!expected.is_empty());
            assert_eq!(compared(found, by), expected, "in small steps: {case}");
        }
    }
}

#[test]
fn random_queries_have_the_same_solutions_as_by_the_library() {
    let mut figures = Figures::default();
    for store in 0..STORES {
        let mut chance = Chance(SEED + store);
        let place = Place::new(&data(&mut chance));
        let snapshot = place.snapshot();
        for _ in 0..QUERIES {
            figures.compare(&mut chance, &snapshot);
        }
    }
    let Figures { queries, on_ids, with_rows } = figures;
    assert!(on_ids * 100 >= ON_IDS_MIN * queries, "only {on_ids} of {queries} queries were evaluated on ids");
    assert!(with_rows * 3 >= on_ids, "only {with_rows} of {on_ids} queries had rows");
}

#[test]
fn random_queries_over_transactions_with_changes_and_inferred_quads_have_the_same_solutions_too() {
    let mut figures = Figures::default();
    for store in 0..STORES / 4 {
        let mut chance = Chance(SEED + STORES + store);
        let place = Place::new(&data(&mut chance));
        let mut transaction = place.store.begin().expect("a transaction");
        let changes = format!(
            "{PREFIXES} INSERT DATA {{ :n0 :p0 :added . :added :p1 \"a text that only the transaction has\" }} ; \
             DELETE WHERE {{ :n1 ?p ?o }}"
        );
        Update::parse(&changes, None).expect("an update").execute_in(&mut transaction).expect("changed");
        let named = |name: &str| NamedNode::new_unchecked(format!("http://a/{name}"));
        for (subject, object) in [("n2", "n3"), ("n3", "n4"), ("n4", "inferred")] {
            let quad = Quad::new(named(subject), named("p2"), named(object), GraphName::DefaultGraph);
            transaction.insert_inferred(&quad).expect("inserted");
        }
        for _ in 0..QUERIES / 2 {
            figures.compare(&mut chance, &transaction.view());
        }
        for _ in 0..QUERIES / 2 {
            figures.compare(&mut chance, &transaction.view().of_kinds(StatementKinds::Explicit));
        }
    }
    let Figures { queries, on_ids, .. } = figures;
    assert!(on_ids * 100 >= ON_IDS_MIN * queries, "only {on_ids} of {queries} queries were evaluated on ids");
}

#[test]
fn a_sample_is_a_value_of_its_group() {
    for store in 0..STORES {
        let mut chance = Chance(SEED + store);
        let place = Place::new(&data(&mut chance));
        let snapshot = place.snapshot();
        let pattern = "?a ?p ?b OPTIONAL { ?b :p0 ?c }";
        let asked = query(&format!("SELECT ?a (SAMPLE(?b) AS ?x) {{ {pattern} }} GROUP BY ?a"));
        let groups = rows_in_steps(&asked, &snapshot).expect("it is evaluated on ids");
        let all = |text: &str| rows(&by_library(&query(text)), &snapshot).expect("rows");
        let pairs = all(&format!("SELECT DISTINCT ?a ?b {{ {pattern} }}"));
        assert_eq!(groups.len(), all(&format!("SELECT DISTINCT ?a {{ {pattern} }}")).len());
        assert!(groups.len() > 3, "{groups:?}");
        for group in groups {
            assert!(pairs.contains(&group), "store {store}: {group} is none of {pairs:?}");
        }
    }
}

#[test]
fn a_term_that_no_quad_of_the_default_graph_has_reaches_itself() {
    let place = Place::new("GRAPH :g { :x :p :y } :a :p :b");
    for text in ["SELECT * { :x :p* ?y }", "SELECT * { ?y ^:p* :x }", "SELECT * { :x :p+ ?y }"] {
        let asked = query(text);
        let found = rows_in_steps(&asked, &place.snapshot()).expect("it is evaluated on ids");
        assert_eq!(found, rows(&by_library(&asked), &place.snapshot()).expect("rows"), "{text}");
        assert_eq!(found.len(), usize::from(!text.contains('+')), "{text}");
    }
}
