//! A database in memory, and what tests do with one.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use fulgurite_facts::{
    Compiler, Error, Expansion, FactId, FactSink, OtherValue, Page, PredicateId, Printer, Query, QueryLimits, Reads,
    Result, Schema, StoredFact, Visit, write_batch,
};
use serde_json::Value as Json;

/// Facts by id and by key.
#[derive(Debug, Default, Clone)]
pub struct Memory {
    facts: Vec<StoredFact>,
    by_key: BTreeMap<(PredicateId, Vec<u8>), FactId>,
    /// What [`Reads::count`] returns instead of the number of facts: the order of statements depends on it.
    pub counts: BTreeMap<PredicateId, u64>,
}

impl Memory {
    pub fn facts(&self) -> &[StoredFact] {
        &self.facts
    }
}

impl FactSink for Memory {
    fn define(&mut self, predicate: PredicateId, key: &[u8], value: &[u8]) -> Result<FactId> {
        if let Some(&existing) = self.by_key.get(&(predicate, key.to_vec())) {
            let (_, _, existing_value) = self.fact_by_id(existing)?.expect("keys are of facts");
            if existing_value == value {
                return Ok(existing);
            }
            let (key, value) = (key.to_vec(), value.to_vec());
            let other = OtherValue { predicate, existing, key, existing_value, value };
            return Err(Error::KeyHasOtherValue(Box::new(other)));
        }
        let id = self.first_free_id()?;
        self.facts.push((predicate, key.to_vec(), value.to_vec()));
        self.by_key.insert((predicate, key.to_vec()), id);
        Ok(id)
    }

    /// Batches are written to empty databases, so there were no facts before.
    fn predicate_of(&self, _: FactId) -> Result<Option<PredicateId>> {
        Ok(None)
    }

    fn listed(&mut self, unit: Option<&str>, _facts: &[FactId]) -> Result<()> {
        assert_eq!(unit, None, "facts in memory have no owners");
        Ok(())
    }

    fn derived(&mut self, fact: FactId, sources: &[FactId]) -> Result<()> {
        panic!("facts in memory have no owners: {fact} is derived from {sources:?}");
    }
}

impl Reads for Memory {
    fn count(&self, predicate: PredicateId) -> Result<u64> {
        if let Some(&count) = self.counts.get(&predicate) {
            return Ok(count);
        }
        Ok(self.facts.iter().filter(|fact| fact.0 == predicate).count() as u64)
    }

    fn seek(&self, predicate: PredicateId, prefix: &[u8], from: Option<FactId>, visit: &mut Visit<'_>) -> Result<()> {
        let start = match from {
            None => (predicate, prefix.to_vec()),
            Some(id) => match self.fact_by_id(id)? {
                Some((of, key, _)) if of == predicate && key.starts_with(prefix) => (of, key),
                _ => return Err(Error::NoSuchFact { id }),
            },
        };
        for ((of, key), id) in self.by_key.range(start..) {
            if *of != predicate || !key.starts_with(prefix) {
                break;
            }
            if visit(*id, Some(key))? == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn fact_by_id(&self, id: FactId) -> Result<Option<StoredFact>> {
        let index = id.get().checked_sub(FactId::FIRST.get());
        Ok(index.and_then(|index| self.facts.get(index as usize)).cloned())
    }

    fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>> {
        Ok(self.by_key.get(&(predicate, key.to_vec())).copied())
    }

    fn first_free_id(&self) -> Result<FactId> {
        Ok(FactId::FIRST.plus(self.facts.len() as u64))
    }
}

/// A schema with its facts.
pub struct Database {
    pub compiler: Compiler,
    pub memory: Memory,
}

impl Database {
    /// A schema from a text, and a batch of facts.
    pub fn new(schema: &str, batch: &str) -> Database {
        let schema = Arc::new(Schema::parse("test.angle", schema).unwrap_or_else(|error| panic!("{error}")));
        let compiler = Compiler::new(schema.clone()).unwrap_or_else(|error| panic!("{error}"));
        let mut memory = Memory::default();
        write_batch(&schema, batch.as_bytes(), &mut memory).unwrap_or_else(|error| panic!("{error}"));
        Database { compiler, memory }
    }

    pub fn query(&self, query: &str) -> Result<Query> {
        self.compiler.query(query, &self.memory)
    }

    pub fn page(&self, query: &str) -> Page {
        let compiled = self.query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        compiled.run(&self.memory, &QueryLimits::default()).unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// The results as JSON, as they come: facts without their ids, expanded.
    pub fn results(&self, query: &str) -> Vec<Json> {
        self.print(&self.page(query))
    }

    pub fn print(&self, page: &Page) -> Vec<Json> {
        let lookup = |id| match page.derived.get(id) {
            Some(fact) => Ok(Some(fact.clone())),
            None => self.memory.fact_by_id(id),
        };
        let mut printer = Printer::new(self.compiler.schema(), &lookup);
        let mut printed = Vec::new();
        for result in &page.results {
            let json = printer.value(&page.ty, &result.bytes, Expansion::RECURSIVE);
            printed.push(without_ids(json.expect("stored values print")));
        }
        printed
    }

    /// The results, sorted, as texts.
    pub fn sorted(&self, query: &str) -> Vec<String> {
        let mut results: Vec<String> = self.results(query).iter().map(Json::to_string).collect();
        results.sort_unstable();
        results
    }

    /// The error of a query that does not compile.
    pub fn error(&self, query: &str) -> String {
        match self.query(query) {
            Ok(_) => panic!("{query} compiles"),
            Err(error) => error.to_string(),
        }
    }
}

/// Facts as their keys, or as key and value.
fn without_ids(json: Json) -> Json {
    match json {
        Json::Array(elements) => Json::Array(elements.into_iter().map(without_ids).collect()),
        Json::Object(mut object) => match (object.contains_key("id"), object.remove("key"), object.remove("value")) {
            (true, Some(key), None) => without_ids(key),
            (true, Some(key), Some(value)) => Json::Array(vec![without_ids(key), without_ids(value)]),
            (_, key, value) => {
                object.extend(key.map(|key| ("key".to_owned(), key)));
                object.extend(value.map(|value| ("value".to_owned(), value)));
                Json::Object(object.into_iter().map(|(name, value)| (name, without_ids(value))).collect())
            }
        },
        other => other,
    }
}
