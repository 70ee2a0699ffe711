//! Random queries of the fragment over random stores, evaluated on ids and by the library.
//!
//! A failure prints the seed of its case; `SEED` below repeats it.

use super::fixture::{Place, query, rows};

/// Stores, and queries over each.
const STORES: u64 = 24;
const QUERIES: u64 = 150;

/// The first seed.
const SEED: u64 = 1;

/// Of a hundred queries, at least so many are evaluated on ids: else the test would compare the library with itself.
const ON_IDS_MIN: u64 = 75;

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
const LITERALS: [&str; 22] = [
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

/// One that every group binds.
fn bound(chance: &mut Chance) -> &'static str {
    chance.one_of(&["?a", "?b"])
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
    match chance.below(12) {
        0 => format!("GRAPH ?g {{ {triple} }} "),
        1 => format!("GRAPH :g{} {{ {triple} }} ", chance.below(3)),
        _ => triple,
    }
}

fn condition(chance: &mut Chance, depth: u64) -> String {
    let variable = if chance.below(20) == 0 { "?c" } else { bound(chance) };
    match chance.below(if depth == 0 { 5 } else { 8 }) {
        0 => format!("BOUND({variable})"),
        1 => format!("sameTerm({variable}, {})", if chance.in_ten(5) { node(chance) } else { "?b".to_owned() }),
        2 => format!("{variable} = {}", node(chance)),
        3 => format!("{variable} != {}", node(chance)),
        5 => format!("!({})", condition(chance, depth - 1)),
        6 => format!("({} && {})", condition(chance, depth - 1), condition(chance, depth - 1)),
        7 => format!("({} || {})", condition(chance, depth - 1), condition(chance, depth - 1)),
        _ => {
            let operator = chance.one_of(&["<", "<=", ">", ">=", "=", "!="]);
            let number = chance.one_of(&["1", "2", "2.0", "1.5", "2.5e0", "123456789012345678901234567890"]);
            match chance.in_ten(7) {
                true => format!("{variable} {operator} {number}"),
                false => format!("{number} {operator} {variable}"),
            }
        }
    }
}

fn group(chance: &mut Chance) -> String {
    let mut text = format!("?a {} ?b . ", predicate(chance));
    for _ in 0..chance.below(3) {
        text.push_str(&triple(chance));
    }
    match chance.below(12) {
        0 => text.push_str(&format!("VALUES ?a {{ {} {} {} }} ", node(chance), node(chance), chance.one_of(&LITERALS))),
        1 => text.push_str(&format!("VALUES (?a ?b) {{ ({} {}) (:unknown 1) }} ", node(chance), node(chance))),
        2 => text.push_str(&format!("{} {}+ ?a . ", node(chance), predicate(chance))),
        3 => text.push_str(&format!("?b ^{}* {} . ", predicate(chance), node(chance))),
        _ => {}
    }
    if chance.in_ten(2) {
        let filter = if chance.in_ten(4) { format!("FILTER({})", condition(chance, 1)) } else { String::new() };
        text.push_str(&format!("OPTIONAL {{ {} {filter} }} ", triple(chance)));
    }
    if chance.in_ten(4) {
        text.push_str(&format!("FILTER({}) ", condition(chance, 2)));
    }
    text
}

/// A query, and whether its rows come in one order, and whether they are the same each time.
fn random_query(chance: &mut Chance) -> (String, bool, bool) {
    let pattern = match chance.in_ten(1) {
        true => format!("{{ {} }} UNION {{ {} }}", group(chance), group(chance)),
        false => group(chance),
    };
    let aggregate = |chance: &mut Chance| {
        let function = chance.one_of(&["COUNT", "SUM", "AVG", "MIN", "MAX"]);
        let distinct = if chance.in_ten(3) { "DISTINCT " } else { "" };
        format!("{function}({distinct}{})", bound(chance))
    };
    match chance.below(9) {
        0 => (format!("SELECT DISTINCT ?a ?b {{ {pattern} }}"), false, true),
        1 => (format!("ASK {{ {pattern} }}"), false, true),
        2 => {
            let (one, other) = (aggregate(chance), aggregate(chance));
            let text = format!("SELECT ?a ({one} AS ?x) ({other} AS ?y) (COUNT(*) AS ?n) {{ {pattern} }} GROUP BY ?a");
            (text, false, true)
        }
        3 => {
            let text = format!(
                "SELECT ?b (COUNT(?a) AS ?n) {{ {pattern} }} GROUP BY ?b HAVING (COUNT(?a) > 1 && {} != 2)",
                aggregate(chance)
            );
            (text, false, true)
        }
        4 => {
            let (one, other) = (aggregate(chance), aggregate(chance));
            (format!("SELECT ({one} AS ?x) ({other} AS ?y) {{ {pattern} }}"), false, true)
        }
        // Rows that are equal in both keys have one ?b.
        5 => {
            let (limit, offset) = (1 + chance.below(8), chance.below(3));
            let text = format!("SELECT ?b {{ {pattern} }} ORDER BY DESC(?a) ?b LIMIT {limit} OFFSET {offset}");
            (text, true, true)
        }
        6 => (format!("SELECT ?a ?g {{ {pattern} }} LIMIT {} OFFSET 1", chance.below(20)), false, false),
        _ => (format!("SELECT * {{ {pattern} }}"), false, true),
    }
}

#[test]
fn random_queries_have_the_same_solutions_as_by_the_library() {
    let (mut on_ids, mut with_rows) = (0, 0);
    for store in 0..STORES {
        let mut chance = Chance(SEED + store);
        let place = Place::new(&data(&mut chance));
        let snapshot = place.snapshot();
        for _ in 0..QUERIES {
            let seed = chance.0;
            let (text, is_ordered, is_same) = random_query(&mut chance);
            let asked = query(&text);
            let mut by_library = asked.clone();
            by_library.may_use_ids = false;
            let case = || format!("store {store}, seed {seed}: {text}");
            let mut found = rows(&asked, &snapshot).unwrap_or_else(|error| panic!("{}: {error}", case()));
            let mut expected = rows(&by_library, &snapshot).unwrap_or_else(|error| panic!("{}: {error}", case()));
            if asked.evaluate_on_ids(&snapshot).expect("it is recognised").is_some() {
                on_ids += 1;
                with_rows += u64::from(!expected.is_empty());
            }
            if !is_ordered {
                found.sort();
                expected.sort();
            }
            match is_same {
                true => assert_eq!(found, expected, "{}", case()),
                false => assert_eq!(found.len(), expected.len(), "{}", case()),
            }
        }
    }
    let cases = STORES * QUERIES;
    assert!(on_ids * 100 >= ON_IDS_MIN * cases, "only {on_ids} of {cases} queries were evaluated on ids");
    assert!(with_rows * 3 >= on_ids, "only {with_rows} of {on_ids} queries had rows");
}
