//! The order in which stored derivations are derived.

use fulgurite_facts::{DerivationLimits, Error, FactDatabase, QueryLimits, Schema, Store};
use tempfile::TempDir;

use crate::all;

const REACH: &str =
    "predicate Reach : { a : nat, b : nat } stored { X, Y } where E { X, Y } | (Reach { X, Z }; E { Z, Y })";
const UNREACH: &str =
    "predicate Unreach : { a : nat, b : nat } stored { X, Y } where E { X, _ }; E { _, Y }; !(Reach { X, Y })";

fn schema(predicates: &[&str]) -> Schema {
    let text = format!("schema n.1 {{\npredicate E : {{ a : nat, b : nat }}\n{}\n}}", predicates.join("\n"));
    Schema::parse("n.angle", &text).expect("the schema is right")
}

fn create(directory: &TempDir, name: &str, predicates: &[&str]) -> FactDatabase {
    let database = FactDatabase::create(directory.path().join(name), schema(predicates)).expect("new");
    let edges = [(1, 2), (2, 3), (3, 4), (7, 8)].map(|(a, b)| format!(r#"{{"key":{{"a":{a},"b":{b}}}}}"#));
    let batch = format!(r#"[{{"predicate":"n.E.1","facts":[{}]}}]"#, edges.join(","));
    database.write_json(batch.as_bytes(), None).expect("facts");
    database
}

fn find(database: &FactDatabase, name: &str) -> fulgurite_facts::PredicateId {
    database.schema().find(name).expect("a predicate").id
}

fn count(database: &FactDatabase, query: &str) -> usize {
    all(&database.reader().expect("it can be read"), query).len()
}

#[test]
fn what_is_within_a_negation_a_set_or_a_condition_is_complete_before() {
    let directory = tempfile::tempdir().expect("a directory");
    let size = "predicate NReach : nat stored prim.size S where S = all (Reach _)";
    let demand = "predicate Far : { a : nat, b : nat } { X, Y } where Reach { X, Y }; !(E { X, Y })";
    let near = "predicate Near : { a : nat, b : nat } stored { X, Y } where E { X, _ }; E { _, Y }; !(Far { X, Y })";
    let choice = "predicate Kind : { a : nat, far : bool } stored { X, F } where E { X, _ }; F = if Reach { X, 4 } then true else false";
    // By id, derived predicates come before and after what they use.
    for (name, order) in [
        ("a.ful", [REACH, UNREACH, size, demand, near, choice]),
        ("b.ful", [choice, near, demand, size, UNREACH, REACH]),
        ("c.ful", [near, REACH, choice, UNREACH, demand, size]),
    ] {
        let database = create(&directory, name, &order);
        let mut rounds = 0;
        let stored: Vec<_> = database.stored_derivations().collect();
        let derived = database.derive_each(&stored, &DerivationLimits::default(), &mut |_| rounds += 1);
        assert_eq!(derived.expect("the derivations are right").len(), 5);
        // Four of Reach, as the last one has no new facts, and one of each other predicate.
        assert_eq!(rounds, 4 + 4, "{name}");
        assert_eq!(count(&database, "n.Reach _"), 7, "{name}");
        assert_eq!(count(&database, "n.Unreach _"), 9, "{name}");
        let reader = database.reader().expect("it can be read");
        assert_eq!(all(&reader, "N where n.NReach N"), ["7"], "{name}");
        // Of the 16 pairs, 3 are reached in more than one step.
        assert_eq!(count(&database, "n.Near _"), 13, "{name}");
        let kinds = all(&reader, "{ X, F } where n.Kind { X, F }");
        assert_eq!(kinds.len(), 4, "{name}: {kinds:?}");
        assert_eq!(count(&database, "X where n.Kind { X, true }"), 3, "{name}");
        assert!(database.derive_all().expect("again").iter().all(|derived| derived.new == 0), "{name}");
    }
}

#[test]
fn all_facts_of_a_predicate_are_there_before_a_derivation_goes_through_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let mark = "predicate Mark : Reach";
    let unmarked = "predicate Unmarked : Reach stored R where !(Mark R)";
    let database = create(&directory, "a.ful", &[unmarked, mark, REACH]);
    database.derive_all().expect("the derivations are right");
    assert_eq!(count(&database, "n.Unmarked _"), 7);
}

#[test]
fn facts_that_a_negation_gives_no_longer_are_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let above = "predicate Above : nat stored X where Unreach { X, X }";
    let database = create(&directory, "a.ful", &[above, UNREACH, REACH]);
    let outdated = |database: &FactDatabase| {
        let derived = database.derive_all().expect("the derivations are right");
        derived.iter().map(|derived| derived.outdated).collect::<Vec<_>>()
    };
    // Of Reach, Unreach and Above: 2 and 3 are not reached from themselves, nor are they with a cycle of others.
    assert_eq!(outdated(&database), [0, 0, 0]);
    assert_eq!(count(&database, "n.Above _"), 2);
    let edge = |a: u64, b: u64| format!(r#"[{{"predicate":"n.E.1","facts":[{{"key":{{"a":{a},"b":{b}}}}}]}}]"#);
    database.write_json(edge(2, 2).as_bytes(), None).expect("facts");
    assert_eq!(outdated(&database), [0, 1, 0]);
    assert_eq!(outdated(&database), [0, 1, 0]);
    database.complete().expect("incomplete");
    // In a database that is stacked on it, too.
    let top = FactDatabase::create_with(
        Store::options().base(database.store()),
        directory.path().join("b.ful"),
        schema(&[above, UNREACH, REACH]),
    );
    let top = top.expect("the base is complete");
    assert_eq!(outdated(&top), [0, 1, 0]);
    top.write_json(edge(4, 1).as_bytes(), None).expect("facts");
    assert_eq!(count(&top, "n.Unreach { 3, 3 }"), 1);
    assert!(outdated(&top)[1] > 1);
}

#[test]
fn a_predicate_is_derived_whole_after_what_it_uses() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful", &[UNREACH, REACH]);
    let reach = find(&database, "n.Reach");
    assert_eq!(database.derive(reach).expect("the derivation is right").new, 7);
    assert_eq!(count(&database, "n.Unreach _"), 0);
    let database = create(&directory, "b.ful", &[UNREACH, REACH]);
    let unreach = find(&database, "n.Unreach");
    assert_eq!(database.derive(unreach).expect("the derivation is right").new, 9);
    assert_eq!(count(&database, "n.Reach _"), 7);
}

#[test]
fn predicates_that_are_derived_from_each_other_are_repeated_together() {
    let directory = tempfile::tempdir().expect("a directory");
    let odd = "predicate Odd : { a : nat, b : nat } stored { X, Y } where E { X, Y } | (Even { X, Z }; E { Z, Y })";
    let even = "predicate Even : { a : nat, b : nat } stored { X, Y } where Step { X, Y }";
    let step = "predicate Step : { a : nat, b : nat } { X, Y } where Odd { X, Z }; E { Z, Y }";
    let database = create(&directory, "a.ful", &[even, step, odd]);
    let derived = database.derive(find(&database, "n.Even")).expect("the derivations are right");
    assert_eq!((derived.new, count(&database, "n.Odd _")), (2, 5));
}

#[test]
fn a_cycle_through_a_negation_is_an_error_that_names_its_predicates() {
    let directory = tempfile::tempdir().expect("a directory");
    let wins = "predicate Wins : nat stored X where E { X, Y }; !(Loses Y)";
    let loses = "predicate Loses : nat X where E { _, X }; !(Wins X)";
    let set = "predicate Wins : nat stored X where S = all (Wins _); X = prim.size S";
    let condition = "predicate Wins : nat stored X where E { X, _ }; if Wins X then never else (_ : nat)";
    let alone = "predicate Wins : nat stored X where E { X, Y }; !(Wins Y)";
    let of_two = "n.Wins.1 → n.Loses.1 → n.Wins.1";
    let of_one = "n.Wins.1 → n.Wins.1";
    for (number, (predicates, cycle, place)) in [
        (vec![wins, loses], of_two, "n.angle:3"),
        (vec![loses, wins], "n.Loses.1 → n.Wins.1 → n.Loses.1", "n.angle:3"),
        (vec![set], of_one, "n.angle:3"),
        (vec![REACH, condition], of_one, "n.angle:4"),
        (vec![alone], of_one, "n.angle:3"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = directory.path().join(format!("{number}.ful"));
        let refused = FactDatabase::create(&path, schema(&predicates));
        let Err(Error::Angle(error)) = refused else { panic!("{predicates:?} has a cycle") };
        let message = error.to_string();
        for part in [cycle, place, "within `!`, `all` or the condition of `if`"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!path.exists());
    }
    // A database that was created with such a schema can be opened, and its other predicates derived.
    let path = directory.path().join("old.ful");
    let text = schema(&[REACH, wins, loses]).text();
    Store::options().property("schema", text.as_bytes()).create(&path).and_then(Store::close).expect("new");
    let database = FactDatabase::open(&path).expect("it has a schema");
    assert_eq!(database.derive(find(&database, "n.Reach")).expect("the derivation is right").new, 0);
    let refused = database.derive_all().expect_err("Wins has no order").to_string();
    assert!(refused.contains("n.Wins.1 → n.Loses.1 → n.Wins.1"), "{refused}");
    // Predicates on demand that are derived from each other are an error where they are used.
    let on_demand = wins.replace("stored ", "");
    let database = create(&directory, "demand.ful", &[&on_demand, loses]);
    let queried = database.reader().expect("it can be read").query("n.Wins _", &QueryLimits::default());
    assert!(matches!(queried, Err(Error::Angle(_))));
}

#[test]
fn facts_of_a_predicate_on_demand_are_not_stored() {
    let directory = tempfile::tempdir().expect("a directory");
    let demand = "predicate D : { a : nat, b : nat } { X, X } where E { X, _ }";
    let database = create(&directory, "a.ful", &[demand]);
    let refused = database.derive(find(&database, "n.D")).expect_err("it is not stored");
    assert!(matches!(&refused, Error::DerivedOnDemand { name } if name == "n.D.1"), "{refused}");
}

#[test]
fn facts_are_written_for_stored_predicates_and_not_for_those_on_demand() {
    let directory = tempfile::tempdir().expect("a directory");
    let demand = "predicate D : nat X where E { X, _ }";
    let of_demand = "predicate Of : { d : D }";
    let database = create(&directory, "a.ful", &[demand, of_demand, REACH]);
    let write = |batch: &str| database.write_json(batch.as_bytes(), None);
    for (batch, place) in [
        (
            r#"[{"predicate":"n.E.1","facts":[{"key":{"a":9,"b":9}}]},{"predicate":"n.D.1","facts":[{"key":9}]}]"#,
            "fact 1: $:",
        ),
        (r#"[{"predicate":"n.Of.1","facts":[{"key":{"d":{"key":9}}}]}]"#, "fact 1: $.key.d:"),
    ] {
        let message = write(batch).expect_err("D is not stored").to_string();
        for part in [place, "n.D.1 is derived on demand", "write the facts that it is derived from"] {
            assert!(message.contains(part), "{message}");
        }
    }
    assert_eq!(count(&database, "n.E _"), 4);
    // What `facts dump` prints of a stored predicate is written again, and derivations use it.
    write(r#"[{"predicate":"n.Reach.1","facts":[{"key":{"a":0,"b":7}}]}]"#).expect("Reach is stored");
    database.derive_all().expect("the derivation is right");
    assert_eq!(count(&database, "n.Reach { a = 0 }"), 2);
}
