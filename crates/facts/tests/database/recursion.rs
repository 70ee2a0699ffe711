//! Facts that are derived from each other, in databases that hide some of what they are derived from.

use std::collections::BTreeSet;

use fulgurite_facts::{FactDatabase, Schema, Store};
use tempfile::TempDir;

use crate::all;

const SCHEMA: &str = r#"
schema p.1 {
predicate E : { a : nat, b : nat }
predicate Path : { a : nat, b : nat }
  stored { X, Y } where E { X, Y } | (E { X, Z }; Path { Z, Y })
# The same by another recursion, and by way of facts that refer to others.
predicate Way : { a : nat, b : nat }
  stored { X, Y } where E { X, Y } | Longer { way = { a = X }, last = { b = Y } }
predicate Longer : { way : Way, last : E }
  stored { W, L } where W = Way { _, Z }; L = E { Z, _ }
# Symmetric: each fact is derived from another one that is derived from it. By way of facts that are not stored.
predicate Linked : { a : nat, b : nat }
  stored { X, Y } where Hop { X, Y } | Linked { Y, X } | (H = Hop { a = X }; Z = H.b; Linked { Z, Y })
predicate Hop : { a : nat, b : nat } { X, Y } where E { X, Y } | Linked { X, Y }
}
"#;

type Edges = BTreeSet<(u64, u64)>;

fn schema() -> Schema {
    Schema::parse("p.angle", SCHEMA).expect("the schema is right")
}

fn write(database: &FactDatabase, edges: &[(u64, u64)], unit: Option<&str>) {
    let facts: Vec<String> = edges.iter().map(|(a, b)| format!(r#"{{"key":{{"a":{a},"b":{b}}}}}"#)).collect();
    let batch = format!(r#"[{{"predicate":"p.E.1","facts":[{}]}}]"#, facts.join(","));
    database.write_json(batch.as_bytes(), unit).expect("facts");
}

fn stacked(directory: &TempDir, name: &str, base: &FactDatabase, hidden: &[&str]) -> FactDatabase {
    let options = Store::options().base(base.store()).hide_units(hidden.iter().copied());
    FactDatabase::create_with(options, directory.path().join(name), schema()).expect("the base is complete")
}

/// The pairs that a predicate has.
fn pairs(database: &FactDatabase, predicate: &str) -> Edges {
    let reader = database.reader().expect("it can be read");
    let printed = all(&reader, &format!("[X, Y] where p.{predicate} {{ a = X, b = Y }}"));
    printed.iter().map(|pair| serde_json::from_str(pair).expect("an array of two numbers")).collect()
}

/// What can be reached, computed again and again.
fn closure(edges: &Edges) -> Edges {
    let mut closed = edges.clone();
    loop {
        let steps = closed.iter().flat_map(|(a, b)| edges.range((*b, 0)..=(*b, u64::MAX)).map(|(_, c)| (*a, *c)));
        let longer: Edges = steps.collect();
        let before = closed.len();
        closed.extend(longer);
        if closed.len() == before {
            return closed;
        }
    }
}

fn linked(edges: &Edges) -> Edges {
    closure(&edges.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect())
}

/// Nothing is visible that cannot be derived from what is visible.
fn check_sound(database: &FactDatabase, context: &str) {
    let edges = pairs(database, "E");
    let (reached, linked) = (closure(&edges), linked(&edges));
    for (predicate, allowed) in [("Path", &reached), ("Way", &reached), ("Linked", &linked)] {
        let found = pairs(database, predicate);
        let wrong: Vec<_> = found.difference(allowed).collect();
        assert!(wrong.is_empty(), "{context}: {predicate} has {wrong:?}, and the edges are {edges:?}");
    }
}

/// After it was derived, what can be derived is there.
fn check_complete(database: &FactDatabase, context: &str) {
    check_sound(database, context);
    database.derive_all().expect("the derivations are right");
    let edges = pairs(database, "E");
    let (reached, linked) = (closure(&edges), linked(&edges));
    for (predicate, expected) in [("Path", &reached), ("Way", &reached), ("Linked", &linked)] {
        assert_eq!(&pairs(database, predicate), expected, "{context}: {predicate}, and the edges are {edges:?}");
    }
}

#[test]
fn a_fact_is_no_reason_for_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, order) in [("a", [("u", (4, 4)), ("h", (4, 3))]), ("b", [("h", (4, 3)), ("u", (4, 4))])] {
        let base = FactDatabase::create(directory.path().join(format!("{name}.ful")), schema()).expect("new");
        for (unit, edge) in order {
            write(&base, &[edge], Some(unit));
        }
        base.derive_all().expect("the derivations are right");
        base.complete().expect("incomplete");
        assert_eq!(pairs(&base, "Path"), Edges::from([(4, 3), (4, 4)]));
        let top = stacked(&directory, &format!("{name}-top.ful"), &base, &["h"]);
        assert_eq!(pairs(&top, "Path"), Edges::from([(4, 4)]));
        check_complete(&top, name);
    }
}

/// A sequence of numbers that looks random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn edges(&mut self, count: u64, nodes: u64) -> Vec<(u64, u64)> {
        (0..count).map(|_| (1 + self.below(nodes), 1 + self.below(nodes))).collect()
    }
}

const UNITS: [&str; 4] = ["a", "b", "c", "d"];

/// Writes some edges of some units, and one time in four edges that no unit owns.
fn write_some(database: &FactDatabase, random: &mut Random) {
    for unit in UNITS {
        if random.below(3) > 0 {
            let (count, nodes) = (1 + random.below(2), 3 + random.below(3));
            write(database, &random.edges(count, nodes), Some(unit));
        }
    }
    if random.below(4) == 0 {
        write(database, &random.edges(1, 4), None);
    }
}

fn some_units(random: &mut Random, database: &FactDatabase) -> Vec<&'static str> {
    let known = database.store().snapshot().and_then(|snapshot| snapshot.units()).expect("it can be read");
    let known = UNITS.into_iter().filter(|unit| known.iter().any(|known| known == unit));
    known.filter(|_| random.below(2) == 0).collect()
}

/// The seeds that the test tries. A seed of `DERIVED_SEED` is tried alone.
fn seeds() -> Vec<u64> {
    match std::env::var("DERIVED_SEED") {
        Ok(seed) => vec![seed.parse().expect("a number")],
        Err(_) => (0..8).collect(),
    }
}

#[test]
fn what_is_visible_can_be_derived_and_what_can_be_derived_is_visible_once_it_was() {
    for seed in seeds() {
        let mut random = Random(seed);
        let context = format!("DERIVED_SEED={seed} cargo test -p fulgurite-facts --test database recursion");
        let directory = tempfile::tempdir().expect("a directory");
        let mut database = FactDatabase::create(directory.path().join("0.ful"), schema()).expect("new");
        for level in 1..4 {
            // Facts that are derived before others that they could be derived from as well.
            for _ in 0..1 + random.below(2) {
                write_some(&database, &mut random);
                if random.below(3) > 0 {
                    check_complete(&database, &context);
                }
            }
            database.complete().expect("incomplete");
            check_sound(&database, &context);
            let hidden = some_units(&mut random, &database);
            database = stacked(&directory, &format!("{level}.ful"), &database, &hidden);
            check_sound(&database, &context);
        }
        check_complete(&database, &context);
    }
}
