//! Random schemas, databases and queries: the results of plans are those of an evaluator that tries every value for
//! every variable. Plans run over databases in memory, and some also over a database of the store that is stacked on
//! another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use fulgurite::Database;
use fulgurite::io::MemoryDisk;
use fulgurite_facts::{
    Compiler, Error, FactId, FactSink, Field, PredicateId, QueryLimits, Reads, Result, Schema, Snapshot, Store,
    StoredFact, Type, Value, decode, encode,
};

use crate::memory::Memory;
use crate::random_naive::{KEYS, Naive};
use crate::random_queries::{Query, Text, Writer};
use crate::random_types::{Random, newer_type, older_value, predicate_id, random_type, random_value, with_unknown};

/// A random schema: stored predicates, and the last one derived.
struct World {
    keys: Vec<Type>,
    /// How many predicates are stored.
    stored: usize,
    derived: Option<Query>,
}

/// Random facts of the newer predicates, whose keys are of the types `new_keys`, and whose numbers begin at `first`.
fn filled(random: &mut Random, new_keys: &[Type], first: usize) -> Memory {
    let mut memory = Memory::default();
    for (index, new) in new_keys.iter().enumerate() {
        for _ in 0..2 + random.below(4) {
            if let Some(value) = random_value(random, new, &memory) {
                let key = encode(new, &value).expect("the value is of the type");
                memory.define(predicate_id(first + index), &key, &[]).expect("a fact without a value");
            }
        }
    }
    memory
}

/// The decoded facts of a database as facts of the older predicates, by predicate. See [`filled`].
fn decoded(memory: &Memory, keys: &[Type], new_keys: &[Type], first: usize) -> BTreeMap<usize, Vec<(Value, Value)>> {
    let mut facts: BTreeMap<usize, Vec<(Value, Value)>> = (0..keys.len()).map(|index| (index, Vec::new())).collect();
    for (at, (predicate, key, _)) in memory.facts().iter().enumerate() {
        let index = (predicate.get() - PredicateId::FIRST.get()) as usize - first;
        let id = Value::Fact(FactId::FIRST.plus(at as u64));
        let key = decode(&new_keys[index], key).expect("stored keys decode");
        let key = older_value(&new_keys[index], &key, &keys[index]).expect("the types are compatible");
        facts.get_mut(&index).expect("all predicates are there").push((id, key));
    }
    facts
}

/// The facts of a database in the store, half of them in the base of a stack. It is complete if their number is odd.
fn stacked(memory: &Memory) -> Result<Store> {
    let disk = Arc::new(MemoryDisk::new());
    let options = || Store::options().engine(Database::options().disk(disk.clone()).background(false));
    let fill = |store: &Store, facts: &[StoredFact]| {
        let mut batch = store.batch()?;
        for (predicate, key, value) in facts {
            batch.define(*predicate, key, value)?;
        }
        batch.commit(None)
    };
    let (below, above) = memory.facts().split_at(memory.facts().len() / 2);
    let base = options().create("fulgurite-facts-in-memory/below.ful")?;
    fill(&base, below)?;
    base.complete(|_, _| Ok(()))?;
    let store = options().base(&base).create("fulgurite-facts-in-memory/above.ful")?;
    fill(&store, above)?;
    if !memory.facts().len().is_multiple_of(2) {
        store.complete(|_, _| Ok(()))?;
    }
    Ok(store)
}

/// The text of a schema with predicates of these keys. The first predicate has the number `first`.
fn schema_text(name: &str, keys: &[Type], first: usize) -> String {
    let name_of = |id: PredicateId| format!("P{}", (id.get() - PredicateId::FIRST.get()) as usize - first);
    let mut schema = format!("schema {name} {{\n");
    for (index, key) in keys.iter().enumerate() {
        writeln!(schema, "predicate P{index} : {}", key.display(&name_of)).expect("strings grow");
    }
    schema + "}\n"
}

/// Tries one world. Returns how many queries compiled, and how many of them had results.
fn try_world(seed: u64, evolves: bool) -> (usize, usize) {
    let mut random = Random(seed | 1);
    let mut world = World { keys: Vec::new(), stored: 0, derived: None };
    for predicates in 0..2 + random.below(2) {
        let ty = random_type(&mut random, predicates, 2);
        world.keys.push(ty);
    }
    let stored = world.keys.len();
    world.stored = stored;
    // Facts are of the newest predicates, and queries for the oldest.
    let (mut schema, mut new_keys, mut first) = (schema_text("r.1", &world.keys, 0), world.keys.clone(), 0);
    if evolves {
        first = stored;
        new_keys = world.keys.iter().map(|key| newer_type(&mut random, key, stored)).collect();
        schema = format!("{schema}{}schema r.2 evolves r.1\n", schema_text("r.2", &new_keys, first));
    }
    let memory = filled(&mut random, &new_keys, first);
    let mut facts = decoded(&memory, &world.keys, &new_keys, first);
    let writer = Writer { random: &mut random, keys: &world.keys, memory: &memory, types: Vec::new() };
    let definition = writer.query(stored);
    KEYS.set(world.keys.clone());
    let name = |id: PredicateId| format!("r.P{}.1", id.get() - PredicateId::FIRST.get());
    let head: Vec<Field> = definition
        .head
        .iter()
        .map(|&index| Field::new(&format!("v{index}"), definition.types[index].clone()))
        .chain([Field::new("x", Type::Nat), Field::new("y", Type::Nat)])
        .collect();
    let derived_key = Type::record(head);
    let with_derived = format!(
        "{schema}schema d.1 {{\nimport r.1\npredicate P{stored} : {}\n  {}\n}}",
        derived_key.display(&name),
        Text { keys: &world.keys, stored }.query(&definition)
    );
    let parsed = Schema::parse("random", &with_derived).unwrap_or_else(|error| panic!("{error}\n{with_derived}"));
    let of_derived = Naive { facts: &facts }.results(&definition);
    // A derivation that gives all its facts: others answer only what gives their variables a value.
    let whole = format!("d.P{stored}.1 _");
    let derives = Compiler::new(Arc::new(parsed)).ok().filter(|compiler| compiler.query(&whole, &memory).is_ok());
    let (compiler, text) = match (derives, of_derived) {
        (Some(compiler), Some(results)) => {
            let keys = results.into_iter().map(|mut values| {
                values.extend([Value::Nat(0), Value::Nat(0)]);
                (Value::unit(), Value::Record(values))
            });
            facts.insert(stored, keys.collect());
            world.keys.push(derived_key);
            KEYS.set(world.keys.clone());
            world.derived = Some(definition);
            (compiler, with_derived)
        }
        _ => {
            let parsed = Schema::parse("random", &schema).unwrap_or_else(|error| panic!("{error}\n{schema}"));
            (Compiler::new(Arc::new(parsed)).expect("nothing is derived"), schema)
        }
    };
    let mut counts = (0, 0);
    let stack = seed.is_multiple_of(STACKED_ONE_OF).then(|| snapshot_of_stack(&memory, seed));
    let context = Context { seed, facts: &facts, compiler: &compiler, schema: &text, stack: stack.as_ref() };
    for _ in 0..12 {
        let predicates = stored + usize::from(world.derived.is_some());
        let writer = Writer { random: &mut random, keys: &world.keys, memory: &memory, types: Vec::new() };
        let query = writer.query(predicates);
        let (compiled, found) = try_query(&mut random, &world, &memory, &query, &context);
        counts.0 += usize::from(compiled);
        counts.1 += usize::from(found);
    }
    counts
}

/// The facts of `memory` in a stacked database of the store.
fn snapshot_of_stack(memory: &Memory, seed: u64) -> Snapshot {
    let snapshot = stacked(memory).and_then(|store| store.snapshot());
    snapshot.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// Counts of facts that give statements other orders: those that there are, and some that are much larger.
fn random_counts(random: &mut Random, memory: &Memory) -> BTreeMap<PredicateId, u64> {
    let mut counts = BTreeMap::new();
    memory.facts().iter().for_each(|(predicate, ..)| *counts.entry(*predicate).or_default() += 1);
    counts.values_mut().for_each(|count| *count *= [1, 10, 1_000, 100_000][random.below(4)]);
    counts
}

/// Tries a query in several orders of its statements. Returns whether it compiled, and whether it had results.
fn try_query(
    random: &mut Random,
    world: &World,
    memory: &Memory,
    query: &Query,
    context: &Context<'_>,
) -> (bool, bool) {
    let Some(expected) = (Naive { facts: context.facts }).results(query) else { return (false, false) };
    let text = Text { keys: &world.keys, stored: world.stored }.query(query);
    let mut memory = memory.clone();
    let mut outcomes = BTreeSet::new();
    for _ in 0..3 {
        memory.counts = random_counts(random, &memory);
        let compiled = try_order((&memory, &memory.counts), query, &text, &expected, context);
        outcomes.insert(compiled);
    }
    if let Some(stack) = context.stack {
        outcomes.insert(try_order((stack, &BTreeMap::new()), query, &text, &expected, context));
    }
    let Context { seed, schema, .. } = context;
    assert_eq!(outcomes.len(), 1, "seed {seed}: {text} compiles only with some numbers of facts\n{schema}");
    (outcomes.contains(&true), !expected.is_empty() && outcomes.contains(&true))
}

/// What all queries of a world are tried with.
struct Context<'a> {
    seed: u64,
    facts: &'a BTreeMap<usize, Vec<(Value, Value)>>,
    compiler: &'a Compiler,
    schema: &'a str,
    /// The same facts in the store.
    stack: Option<&'a Snapshot>,
}

/// Tries a query in one order of its statements, which the given counts decide, over a reader of facts. Returns `false`
/// if the query does not compile.
fn try_order(
    (reads, counts): (&dyn Reads, &BTreeMap<PredicateId, u64>),
    query: &Query,
    text: &str,
    expected: &BTreeSet<Vec<Value>>,
    context: &Context<'_>,
) -> bool {
    let Context { seed, facts, compiler, schema, .. } = context;
    let compiled = match compiler.query(text, reads) {
        Ok(compiled) => compiled,
        // Variables that nothing gives a value or a type, and derivations that need such.
        Err(Error::Angle(error)) => {
            let allowed = [
                "has no value",
                "missing in some branches",
                "only once",
                "no value to begin with",
                "cannot be found out",
                "not complete",
            ];
            assert!(allowed.iter().any(|part| error.message.contains(part)), "seed {seed}: {text}\n{error}\n{schema}");
            return false;
        }
        Err(error) => panic!("seed {seed}: {text}: {error}"),
    };
    // Products of several predicates have too many matches for a test.
    let limits = QueryLimits { time_max: Some(Duration::from_millis(100)), ..QueryLimits::default() };
    let page = match compiled.run(reads, &limits) {
        Ok(page) if page.timed_out => return true,
        Err(Error::QueryTime) => return true,
        Ok(page) => page,
        Err(error) => panic!("seed {seed}: {text}: {error}"),
    };
    let found: BTreeSet<Vec<u8>> = page.results.iter().map(|result| result.bytes.clone()).collect();
    assert_eq!(found.len(), page.results.len(), "seed {seed}: {text} has a result twice");
    let types = query.head.iter().map(|&variable| &query.types[variable]).chain([&Type::Nat, &Type::Nat]);
    let head = with_unknown(&Type::record(types.map(|ty| Field::new("", ty.clone()))));
    let found: BTreeSet<Vec<Value>> = found
        .iter()
        .map(|bytes| match decode(&head, bytes).unwrap_or_else(|error| panic!("seed {seed}: {text}: {error}")) {
            Value::Record(mut values) => {
                values.truncate(query.head.len());
                values
            }
            _ => unreachable!("the head is a record"),
        })
        .collect();
    let repeat = format!("repeat with FACTS_RANDOM_SEED={seed}");
    assert_eq!(found, *expected, "{repeat}\n{text}\n{schema}\nfacts {facts:?}\ncounts {counts:?}");
    let mut paged = BTreeSet::new();
    let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
    let mut next = compiled.run(reads, &limits).expect("it ran before");
    loop {
        paged.extend(next.results.iter().map(|result| result.bytes.clone()));
        let Some(continuation) = next.continuation.take() else { break };
        next = compiled.continue_from(reads, &limits, &continuation).expect("the continuation is its own");
    }
    assert_eq!(paged.len(), found.len(), "{repeat}: pages of {text}\n{schema}");
    true
}

/// One of this many worlds is also in the store.
const STACKED_ONE_OF: u64 = 8;

#[test]
fn random_queries_have_the_results_of_trying_every_value() {
    try_worlds(false);
}

#[test]
fn random_queries_for_older_predicates_have_the_results_of_trying_every_converted_value() {
    try_worlds(true);
}

fn try_worlds(evolve: bool) {
    let (first, worlds) = match std::env::var("FACTS_RANDOM_SEED") {
        Ok(seed) => (seed.parse().expect("FACTS_RANDOM_SEED is a number"), 1),
        Err(_) => (1, std::env::var("FACTS_RANDOM_WORLDS").map_or(100, |worlds| worlds.parse().expect("a number"))),
    };
    let (mut compiled, mut found) = (0, 0);
    for world in 0..worlds {
        let seed = if worlds == 1 { first } else { 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(world + first) };
        let counts = try_world(seed, evolve);
        compiled += counts.0;
        found += counts.1;
    }
    if worlds > 1 {
        assert!(compiled > 300 && found > 100, "only {compiled} queries compiled, {found} of them with results");
    }
}
