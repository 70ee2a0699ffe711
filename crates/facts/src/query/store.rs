//! Queries over the store, and facts from JSON into it.

use crate::error::Result;
use crate::ids::{FactId, PredicateId};
use crate::json::parse::FactSink;
use crate::query::reads::{Reads, Visit};
use crate::reading::seek::Entry;
use crate::reading::snapshot::Snapshot;
use crate::store::batch::Batch;
use crate::value::values::StoredFact;

impl Reads for Snapshot {
    fn count(&self, predicate: PredicateId) -> Result<u64> {
        Snapshot::count(self, predicate)
    }

    fn seek(&self, predicate: PredicateId, prefix: &[u8], from: Option<FactId>, visit: &mut Visit<'_>) -> Result<()> {
        let seek = match from {
            None => Snapshot::seek(self, predicate, prefix)?,
            Some(id) => self.seek_from(predicate, prefix, id)?,
        };
        let each = |entry: Entry<'_>| match entry {
            Entry::Shown(id, key, _) => visit(id, Some(key)),
            Entry::Hidden(id) => visit(id, None),
        };
        seek.each(each).map(drop)
    }

    fn fact_by_id(&self, id: FactId) -> Result<Option<StoredFact>> {
        let fact = Snapshot::fact_by_id(self, id)?;
        Ok(fact.map(|fact| (fact.predicate(), fact.key().to_vec(), fact.value().to_vec())))
    }

    fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>> {
        Snapshot::id_by_key(self, predicate, key)
    }

    fn first_free_id(&self) -> Result<FactId> {
        Ok(Snapshot::first_free_id(self))
    }
}

impl FactSink for Batch {
    fn define(&mut self, predicate: PredicateId, key: &[u8], value: &[u8]) -> Result<FactId> {
        Batch::define(self, predicate, key, value)
    }

    fn predicate_of(&self, id: FactId) -> Result<Option<PredicateId>> {
        self.snapshot().predicate_by_id(id)
    }

    fn listed(&mut self, unit: Option<&str>, facts: &[FactId]) -> Result<()> {
        if let Some(unit) = unit {
            self.own(unit, facts.iter().copied());
        }
        Ok(())
    }

    fn derived(&mut self, fact: FactId, sources: &[FactId]) -> Result<()> {
        self.derive(fact, sources.iter().copied());
        Ok(())
    }
}
