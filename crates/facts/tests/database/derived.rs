//! Stored derivations, their owners, and validation.

use std::sync::Barrier;

use fulgurite_facts::{
    CancellationToken, DerivationLimits, Error, Expansion, FactDatabase, QueryLimits, Schema, Store, Value, encode,
};

const SCHEMA: &str = r#"
schema d.1 {
predicate Edge : { from : string, to : string }
predicate Path : { from : string, to : string }
  stored { A, B } where Edge { A, B } | (Path { A, C }; Edge { C, B })
predicate Pair : { left : Edge, right : Edge }
  stored { L, R } where L = Edge { _, X }; R = Edge { X, _ }
predicate Demand : string A where Edge { A, _ }
}
"#;

fn schema(text: &str) -> Schema {
    Schema::parse("d.angle", text).expect("the schema is right")
}

fn edge(from: &str, to: &str) -> String {
    format!(r#"[{{"predicate":"d.Edge.1","facts":[{{"key":{{"from":"{from}","to":"{to}"}}}}]}}]"#)
}

fn count(database: &FactDatabase, query: &str) -> usize {
    let reader = database.reader().expect("it can be read");
    let page = reader.query(query, &QueryLimits::default()).expect("the query is right");
    reader.print(&page, Expansion::FLAT).expect("facts print").len()
}

/// The stored predicates of a query that were not derived since facts of their inputs were written.
fn not_derived(database: &FactDatabase, query: &str) -> String {
    let reader = database.reader().expect("it can be read");
    let page = reader.query(query, &QueryLimits::default()).expect("the query is right");
    let missing = reader.not_derived(&page).expect("it is sound");
    missing.into_iter().map(|predicate| database.schema().name_of(predicate)).collect::<Vec<_>>().join(" ")
}

/// Writes a fact of a predicate of numbers.
fn write_number(database: &FactDatabase, predicate: &str, number: u64) {
    let batch = format!(r#"[{{"predicate":"{predicate}.1","facts":[{{"key":{number}}}]}}]"#);
    database.write_json(batch.as_bytes(), None).expect("facts");
}

#[test]
fn derived_facts_are_written_until_there_are_no_more_and_hidden_with_what_they_are_derived_from() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = SCHEMA.replace(" | (Path { A, C }; Edge { C, B })", "");
    let base = FactDatabase::create(directory.path().join("a.ful"), schema(&text)).expect("new");
    for (unit, from, to) in [("one", "a", "b"), ("two", "b", "c"), ("two", "c", "d")] {
        base.write_json(edge(from, to).as_bytes(), Some(unit)).expect("facts");
    }
    let derived = base.derive_all().expect("the derivations are right");
    assert_eq!(derived.iter().map(|derived| derived.new).collect::<Vec<_>>(), [3, 2]);
    assert!(base.derive_all().expect("again").iter().all(|derived| derived.new == 0));
    assert_eq!((count(&base, "d.Path _"), count(&base, "d.Pair _")), (3, 2));
    base.complete().expect("incomplete");
    assert_eq!(base.validate().expect("it is valid").facts, 8);

    // Without the unit of one edge, the pair with it is hidden; the other pair is not.
    let options = Store::options().base(base.store()).hide_units(["one"]);
    let changed = FactDatabase::create_with(options, directory.path().join("b.ful"), schema(&text)).expect("new");
    assert_eq!((count(&changed, "d.Edge _"), count(&changed, "d.Path _"), count(&changed, "d.Pair _")), (2, 2, 1));
    changed.write_json(edge("x", "b").as_bytes(), Some("one")).expect("facts");
    let derived = changed.derive_all().expect("the derivations are right");
    assert_eq!(derived.iter().map(|derived| derived.new).collect::<Vec<_>>(), [1, 1]);
    changed.complete().expect("incomplete");
    assert_eq!((count(&changed, "d.Path _"), count(&changed, "d.Pair _")), (3, 2));
    changed.validate().expect("it is valid");
}

#[test]
fn a_query_names_the_stored_predicates_that_were_not_derived_since_facts_were_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = SCHEMA.replace("predicate Demand", "predicate OfPath : string A where Path { A, _ }\npredicate Demand");
    let create = |name: &str| FactDatabase::create(directory.path().join(name), schema(&text)).expect("new");
    let database = create("a.ful");
    let now = || ["d.Edge _", "d.OfPath _", "d.Pair _"].map(|query| not_derived(&database, query));
    let (path, pair) = ("d.Path.1", "d.Pair.1");
    assert_eq!(now(), ["", "", ""], "there is nothing to derive them from");
    database.write_json(edge("a", "b").as_bytes(), None).expect("facts");
    assert_eq!(now(), ["", path, pair]);
    assert_eq!(database.derive(database.schema().find("d.Pair").expect("it is there").id).expect("no pairs").new, 0);
    assert_eq!(now(), ["", path, ""]);
    database.derive_all().expect("the derivations are right");
    database.write_json(edge("a", "b").as_bytes(), None).expect("the same facts");
    assert_eq!(now(), ["", "", ""]);
    database.write_json(edge("b", "c").as_bytes(), None).expect("facts");
    assert_eq!(now(), ["", path, pair]);
    // As a dump has them, derived facts are written without being derived.
    let copy = create("b.ful");
    for facts in [edge("a", "b"), edge("a", "b").replace("Edge", "Path")] {
        copy.write_json(facts.as_bytes(), None).expect("facts");
    }
    assert_eq!(not_derived(&copy, "d.Path _"), "");
}

#[test]
fn facts_that_a_derivation_or_a_user_writes_are_inputs_of_the_predicates_after() {
    let directory = tempfile::tempdir().expect("a directory");
    let all_of =
        |database: &FactDatabase| ["n.D", "n.Q"].map(|name| database.schema().find(name).expect("a predicate").id);
    for (name, derivation) in [("a.ful", "P X"), ("b.ful", "P X | Q X")] {
        let default = format!("predicate D : nat default X where {derivation}");
        let text =
            format!("version: 11\nschema n.1 {{ predicate P : nat {default} predicate Q : nat stored X where D X }}");
        let database = FactDatabase::create(directory.path().join(name), schema(&text)).expect("new");
        write_number(&database, "n.P", 7);
        assert_eq!(not_derived(&database, "n.Q _"), "n.Q.1");
        let derived = database.derive_each(&all_of(&database), &DerivationLimits::default(), &mut |_| {});
        assert_eq!(derived.expect("they are right").iter().map(|derived| derived.new).sum::<u64>(), 2);
        assert_eq!(not_derived(&database, "n.Q _"), "", "{name}");
    }
    let text =
        "schema n.1 { predicate P : nat predicate D : nat stored X where P X predicate Q : nat stored X where D X }";
    let database = FactDatabase::create(directory.path().join("c.ful"), schema(text)).expect("new");
    write_number(&database, "n.D", 7);
    database.derive_all().expect("they are right");
    assert_eq!(not_derived(&database, "n.Q _"), "");
    write_number(&database, "n.D", 8);
    assert_eq!(["n.D _", "n.Q _"].map(|query| not_derived(&database, query)), ["", "n.Q.1"]);
    database.derive_all().expect("they are right");
    assert_eq!(not_derived(&database, "n.Q _"), "");
}

#[test]
fn queries_do_without_a_record_of_derivations() {
    let directory = tempfile::tempdir().expect("a directory");
    let text =
        "schema n.1 { predicate P : nat predicate Q : nat stored X where P X predicate R : nat stored X where P X }";
    let create = |name: &str| {
        let database = FactDatabase::create(directory.path().join(name), schema(text)).expect("new");
        write_number(&database, "n.P", 7);
        database
    };
    let now = |database: &FactDatabase| ["n.Q _", "n.R _"].map(|query| not_derived(database, query));
    let derived = create("a.ful");
    // A property of a program has a name of its own.
    derived.store().set_property("derived", b"mine").expect("incomplete");
    derived.derive(derived.schema().find("n.Q").expect("a predicate").id).expect("it is right");
    assert_eq!(now(&derived), ["", "n.R.1"]);
    assert_eq!(derived.store().property("derived").expect("sound").as_deref(), Some(&b"mine"[..]));
    derived.complete().expect("incomplete");
    assert_eq!(now(&derived), ["", "n.R.1"]);
    let other = create("b.ful");
    other.complete().expect("incomplete");
    assert_eq!(now(&other), ["n.Q.1", "n.R.1"]);
    // Earlier versions recorded nothing.
    let earlier = create("d.ful");
    earlier.store().complete(|_, _| Ok(())).expect("incomplete");
    assert_eq!(now(&earlier), ["", ""]);
    let damaged = create("c.ful");
    let db = damaged.store().database().expect("a database of the engine");
    let meta = db.open_table("facts.meta").expect("a table of the layout");
    db.update(|txn| txn.put(&meta, "derived", b"x")).expect("a commit");
    assert_eq!(now(&damaged), ["n.Q.1", "n.R.1"]);
    damaged.derive_all().expect("they are right");
    write_number(&damaged, "n.P", 8);
    assert_eq!(now(&damaged), ["n.Q.1", "n.R.1"]);
}

#[test]
fn a_derivation_that_was_stopped_looks_unfinished_until_it_is_repeated_there_or_in_a_stacked_database() {
    let directory = tempfile::tempdir().expect("a directory");
    let next = "predicate Next : nat stored M where Copy X | Next X; M = X + 1; M < 20";
    let text = format!("schema d.1 {{ predicate N : nat predicate Copy : nat stored X where N X {next} }}");
    let stopped = |name: &str| {
        let database = FactDatabase::create(directory.path().join(name), schema(&text)).expect("new");
        write_number(&database, "d.N", 1);
        let limits = DerivationLimits { rounds_max: 3, ..DerivationLimits::default() };
        database.derive_all_within(&limits).expect_err("it has more rounds");
        database
    };
    let now = |database: &FactDatabase| ["d.Copy _", "d.Next _"].map(|query| not_derived(database, query));
    let repeated = stopped("a.ful");
    assert_eq!(count(&repeated, "d.Next _"), 4);
    assert_eq!(now(&repeated), ["", "d.Next.1"]);
    repeated.derive_all().expect("they are right");
    assert_eq!(now(&repeated), ["", ""]);
    // There is nothing new to derive.
    let limits = DerivationLimits { rounds_max: 0, facts_max: 0 };
    repeated.derive_all_within(&limits).expect("nothing is new");
    assert_eq!(now(&repeated), ["", ""]);

    let base = stopped("b.ful");
    base.complete().expect("incomplete");
    assert_eq!(now(&base), ["", "d.Next.1"]);
    let options = Store::options().base(base.store());
    let top = FactDatabase::create_with(options, directory.path().join("c.ful"), schema(&text)).expect("new");
    assert_eq!(now(&top), ["", "d.Next.1"]);
    top.derive_all().expect("they are right");
    assert_eq!(now(&top), ["", ""]);
    assert_eq!(count(&top, "d.Next _"), 18);
}

#[test]
fn a_default_that_was_derived_in_part_is_named_with_its_command() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "version: 11\nschema d.1 { predicate N : nat predicate D : nat default X where N X }";
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(text)).expect("new");
    write_number(&database, "d.N", 1);
    assert_eq!(not_derived(&database, "d.D _"), "", "it is derived on demand");
    let default = database.schema().find("d.D").expect("a predicate").id;
    let limits = DerivationLimits { facts_max: 0, ..DerivationLimits::default() };
    database.derive_each(&[default], &limits, &mut |_| {}).expect_err("there is a fact");
    assert_eq!(not_derived(&database, "d.D _"), "d.D.1");
    let reader = database.reader().expect("it can be read");
    let missing = reader.not_derived_of_all().expect("it is sound");
    let command = reader.derive_command(&missing, "a.ful");
    assert_eq!(command, "`fulgurite facts derive a.ful --predicate d.D.1`");
    database.derive(default).expect("it is right");
    assert_eq!(not_derived(&database, "d.D _"), "");
}

#[test]
fn predicates_that_are_derived_at_the_same_time_are_all_recorded() {
    let directory = tempfile::tempdir().expect("a directory");
    let names: Vec<String> = (0..8).map(|number| format!("Q{number}")).collect();
    let stored: Vec<String> =
        names.iter().map(|name| format!("predicate {name} : nat stored X where P X; X > 100")).collect();
    let text = format!("schema n.1 {{ predicate P : nat {} }}", stored.join(" "));
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(&text)).expect("new");
    write_number(&database, "n.P", 7);
    let barrier = Barrier::new(names.len());
    std::thread::scope(|scope| {
        for name in &names {
            let predicate = database.schema().find(&format!("n.{name}")).expect("a predicate").id;
            let (database, barrier) = (&database, &barrier);
            scope.spawn(move || {
                barrier.wait();
                database.derive(predicate).expect("it is right");
            });
        }
    });
    for name in &names {
        assert_eq!(not_derived(&database, &format!("n.{name} _")), "");
    }
}

#[test]
fn what_cannot_be_derived_into_the_database_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = SCHEMA.replace("stored { A, B } where Edge { A, B } | (Path { A, C }; Edge { C, B })", "").replace(
        "predicate Demand",
        "predicate OfDemand : { d : Demand } stored { d = D } where D = Demand _\npredicate Demand",
    );
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(&text)).expect("new");
    database.write_json(edge("a", "b").as_bytes(), None).expect("facts");
    let find = |name: &str| database.schema().find(name).expect("a predicate").id;
    assert!(
        matches!(database.derive(find("d.OfDemand")), Err(Error::DerivedReference { name }) if name == "d.OfDemand.1")
    );
    assert!(matches!(database.derive(find("d.Edge")), Err(Error::NoDerivation { .. })));
    assert_eq!(database.derive(find("d.Pair")).expect("no pairs").new, 0);
}

#[test]
fn a_fact_is_not_owned_by_what_an_earlier_alternative_found() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = r#"
schema d.1 {
predicate E : string
predicate F : string
predicate G : string
predicate T : { of : E } stored { of = S } where S = E X; ((X = "e2"; F _) | (X = "e1"; G _))
}
"#;
    let base = FactDatabase::create(directory.path().join("a.ful"), schema(text)).expect("new");
    for (unit, predicate, key) in [("u1", "E", "e1"), ("u2", "E", "e2"), ("u3", "F", "f"), ("u3", "G", "g")] {
        let batch = format!(r#"[{{"predicate":"d.{predicate}.1","facts":[{{"key":"{key}"}}]}}]"#);
        base.write_json(batch.as_bytes(), Some(unit)).expect("facts");
    }
    base.derive_all().expect("the derivation is right");
    assert_eq!(count(&base, "d.T _"), 2);
    base.complete().expect("incomplete");
    for (hidden, left, gone) in [("u1", "e2", "e1"), ("u2", "e1", "e2")] {
        let options = Store::options().base(base.store()).hide_units([hidden]);
        let path = directory.path().join(format!("without {hidden}.ful"));
        let changed = FactDatabase::create_with(options, path, schema(text)).expect("new");
        let of = |name: &str| count(&changed, &format!(r#"d.T {{ of = "{name}" }}"#));
        assert_eq!((of(left), of(gone)), (1, 0), "without {hidden}");
    }
}

#[test]
fn a_value_that_refers_to_what_is_derived_on_demand_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let predicate = "predicate Valued : string -> Demand stored A -> D where Edge { A, _ }; D = Demand A\n}";
    let text = SCHEMA.replace("\n}", &format!("\n{predicate}"));
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(&text)).expect("new");
    database.write_json(edge("a", "b").as_bytes(), None).expect("facts");
    let valued = database.schema().find("d.Valued").expect("a predicate").id;
    let error = database.derive(valued).expect_err("the value is not stored");
    assert!(matches!(error, Error::DerivedReference { name } if name == "d.Valued.1"));
    assert_eq!(count(&database, "d.Valued _"), 0);
}

#[test]
fn a_key_that_is_derived_with_two_values_is_explained() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = SCHEMA.replace("\n}", "\npredicate Next : string -> string stored A -> B where Edge { A, B }\n}");
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(&text)).expect("new");
    for to in ["b", "c"] {
        database.write_json(edge("a", to).as_bytes(), None).expect("facts");
    }
    let next = database.schema().find("d.Next").expect("a predicate").id;
    let message = database.derive(next).expect_err("two values").to_string();
    for part in ["d.Next.1 has a fact with this key already", r#"value "b", not "c""#, "each key one value"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_reference_to_a_fact_of_another_predicate_is_not_valid() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(SCHEMA)).expect("new");
    database.write_json(edge("a", "b").as_bytes(), None).expect("facts");
    let find = |name: &str| database.schema().find(name).expect("a predicate").clone();
    let (path, pair) = (find("d.Path"), find("d.Pair"));
    let names = Value::Record(vec![Value::String("a".into()), Value::String("b".into())]);
    let mut batch = database.store().batch().expect("a batch");
    let other = batch.define(path.id, &encode(&path.key, &names).expect("a key"), b"").expect("a fact");
    batch.commit(None).expect("written");
    assert_eq!(database.validate().expect("it is valid").facts, 2);
    let key = Value::Record(vec![Value::Fact(other), Value::Fact(other)]);
    let mut batch = database.store().batch().expect("a batch");
    batch.define(pair.id, &encode(&pair.key, &key).expect("a key"), b"").expect("a fact");
    batch.commit(None).expect("written");
    let message = database.validate().expect_err("a path is not an edge").to_string();
    assert!(message.contains("not a fact of d.Edge.1"), "{message}");
}

#[test]
fn a_derivation_that_computes_ever_new_values_ends_at_a_limit_and_can_go_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "schema d.1 { predicate N : nat predicate Next : nat stored M where N X | Next X; M = X + 1 }";
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(text)).expect("new");
    database.write_json(&br#"[{"predicate":"d.N.1","facts":[{"key":1}]}]"#[..], None).expect("facts");
    let limited = |rounds_max, facts_max| {
        let failed =
            database.derive_all_within(&DerivationLimits { rounds_max, facts_max }).expect_err("it has no end");
        let Error::DerivationLimit { name, rounds, facts } = &failed else { panic!("{failed}") };
        assert_eq!(name, "d.Next.1");
        assert!(failed.to_string().contains(&format!("each of {rounds} rounds, in which {facts} facts")), "{failed}");
        (*rounds, *facts)
    };
    assert_eq!(limited(5, u64::MAX), (6, 6));
    assert_eq!(limited(u64::MAX, 9), (10, 10));
    assert_eq!(count(&database, "d.Next _"), 16);
    // A chain that ends is derived whole.
    let text = text.replace("M = X + 1", "M = X + 1; M < 50");
    let database = FactDatabase::create(directory.path().join("b.ful"), schema(&text)).expect("new");
    database.write_json(&br#"[{"predicate":"d.N.1","facts":[{"key":1}]}]"#[..], None).expect("facts");
    let derived = database.derive_all_within(&DerivationLimits { rounds_max: 48, facts_max: 48 });
    assert_eq!(derived.expect("it ends").iter().map(|derived| derived.new).sum::<u64>(), 48);
}

#[test]
fn a_query_is_cancelled_by_its_token() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "schema d.1 { predicate N : nat }";
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(text)).expect("new");
    let facts: Vec<String> = (0..1000).map(|number| format!(r#"{{"key":{number}}}"#)).collect();
    let facts = format!(r#"[{{"predicate":"d.N.1","facts":[{}]}}]"#, facts.join(","));
    database.write_json(facts.as_bytes(), None).expect("facts");
    let reader = database.reader().expect("it can be read");
    let limits = QueryLimits { cancellation: CancellationToken::new(), ..QueryLimits::default() };
    let query = "{ A, B, C } where d.N A; d.N B; d.N C; A + B + C > 1000000";
    std::thread::scope(|scope| {
        scope.spawn(|| limits.cancellation.cancel());
        let failed = reader.query(query, &limits).expect_err("a billion facts are not searched meanwhile");
        assert!(matches!(failed, Error::Cancelled), "{failed}");
    });
    let negated = reader.query(&format!("1 where !({})", query.split_once("where ").expect("it has one").1), &limits);
    assert!(matches!(negated, Err(Error::Cancelled)), "{negated:?}");
}

#[test]
fn many_derivations_of_one_fact_are_written_in_parts() {
    let directory = tempfile::tempdir().expect("a directory");
    // Of 202,500 pairs, the last one derives another value.
    let text = r#"
schema d.1 {
predicate Left : nat
predicate Right : nat
predicate Joined : string -> nat
  stored "all" -> V where Left X; Right Y; V = (if X + Y > 897 then 2 else 1)
}
"#;
    let database = FactDatabase::create(directory.path().join("a.ful"), schema(text)).expect("new");
    let keys: Vec<String> = (0..450).map(|key| format!(r#"{{"key":{key}}}"#)).collect();
    for name in ["Left", "Right"] {
        let batch = format!(r#"[{{"predicate":"d.{name}.1","facts":[{}]}}]"#, keys.join(","));
        database.write_json(batch.as_bytes(), None).expect("facts");
    }
    let error = database.derive_all().expect_err("a key has one value");
    assert!(matches!(error, Error::DerivedValue { .. }), "{error}");
    // The fact was committed with the first derivations, before memory held all of them.
    assert_eq!(count(&database, "d.Joined _"), 1);
}
