//! Queries over the store: alone, completed, and stacked on another.

use std::collections::BTreeSet;
use std::sync::Arc;

use fulgurite_facts::{Compiler, Expansion, Printer, QueryLimits, Reads, Result, Schema, Snapshot, Store, write_batch};

const SCHEMA: &str = "schema s.1 {
predicate Name : string
predicate Use : { name : Name, line : nat } -> string
}";

fn batch(names: std::ops::Range<usize>) -> String {
    let facts: Vec<String> = names
        .map(|n| format!(r#"{{ "key": {{ "name": {{ "key": "n{n}" }}, "line": {n} }}, "value": "v{n}" }}"#))
        .collect();
    format!(r#"[{{ "predicate": "s.Use", "facts": [{}] }}]"#, facts.join(","))
}

fn fill(schema: &Schema, store: &Store, names: std::ops::Range<usize>) -> Result<()> {
    let mut facts = store.batch()?;
    write_batch(schema, batch(names).as_bytes(), &mut facts)?;
    facts.commit(None)?;
    Ok(())
}

/// The results of a query, by pages of one and at once.
fn results(compiler: &Compiler, snapshot: &Snapshot, query: &str) -> Result<BTreeSet<String>> {
    let compiled = compiler.query(query, snapshot)?;
    let lookup = |id| Reads::fact_by_id(snapshot, id);
    let mut printer = Printer::new(compiler.schema(), &lookup);
    let whole = compiled.run(snapshot, &QueryLimits::default())?.results;
    let mut paged = Vec::new();
    let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
    let mut page = compiled.run(snapshot, &limits)?;
    loop {
        paged.append(&mut page.results);
        let Some(continuation) = page.continuation else { break };
        page = compiled.continue_from(snapshot, &limits, &continuation)?;
    }
    assert_eq!(paged, whole, "{query}");
    let print =
        |result: &fulgurite_facts::QueryResult| printer.value(compiled.ty(), &result.bytes, Expansion::RECURSIVE);
    whole.iter().map(print).map(|json| json.map(|json| json.to_string())).collect()
}

#[test]
fn queries_over_stores_alone_completed_and_stacked_have_the_same_results() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let schema = Arc::new(Schema::parse("s.angle", SCHEMA)?);
    let compiler = Compiler::new(schema.clone())?;
    let base = Store::options().create(directory.path().join("base.ful"))?;
    fill(&schema, &base, 0..20)?;
    let query = "N where s.Use { name = s.Name N, line = L } -> (\"v\".. _); L > 17";
    let expected = |numbers: std::ops::Range<usize>| numbers.map(|n| format!("\"n{n}\"")).collect::<BTreeSet<_>>();
    assert_eq!(results(&compiler, &base.snapshot()?, query)?, expected(18..20));
    base.complete(|fact, references| schema.references(fact.predicate(), fact.key(), fact.value(), references))?;
    assert_eq!(results(&compiler, &base.snapshot()?, query)?, expected(18..20));
    let stacked = Store::options().base(&base).create(directory.path().join("stacked.ful"))?;
    fill(&schema, &stacked, 10..25)?;
    let snapshot = stacked.snapshot()?;
    assert_eq!(results(&compiler, &snapshot, query)?, expected(18..25));
    assert_eq!(results(&compiler, &snapshot, "s.Name \"n\"..")?.len(), 25);
    let found = results(&compiler, &snapshot, "s.Use { name = \"n3\" }")?;
    let found = found.first().expect("one use");
    assert!(found.contains(r#""key":"n3""#) && found.ends_with(r#""value":"v3"}"#), "{found}");
    Ok(())
}

#[test]
fn facts_of_a_batch_that_came_late_refer_to_the_right_facts() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let schema = Arc::new(Schema::parse("s.angle", SCHEMA)?);
    let compiler = Compiler::new(schema.clone())?;
    let store = Store::options().create(directory.path().join("facts.ful"))?;
    let mut late = store.batch()?;
    write_batch(&schema, batch(5..15).as_bytes(), &mut late)?;
    fill(&schema, &store, 0..10)?;
    late.commit(Some(&mut |predicate, key, value, replace, new_key, new_value| {
        schema.substitute(predicate, key, value, replace, new_key, new_value)
    }))?;
    let query = "{ N, V } where s.Use { name = s.Name N } -> V";
    let found = results(&compiler, &store.snapshot()?, query)?;
    let expected = (0..15).map(|n| format!(r#"{{"tuplefield0":"n{n}","tuplefield1":"v{n}"}}"#));
    assert_eq!(found, expected.collect());
    Ok(())
}
