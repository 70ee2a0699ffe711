//! Writing facts from JSON.

use std::io::Read;

use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::json::batch::write_batch;
use crate::json::parse::{FactSink, explain_other_value};
use crate::store::batch::Batch;

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many facts the input listed.
    pub listed: u64,
    /// How many facts were new, those within facts included.
    pub new: usize,
}

impl FactDatabase {
    /// Writes batches of facts, all of them or none. The unit that a batch names owns its facts; `unit` owns those of
    /// batches that name none. A unit is usually a source file.
    ///
    /// Memory holds the facts that are new.
    ///
    /// # Errors
    /// As [`write_batch`], and as [`Batch::commit`].
    pub fn write_json(&self, input: impl Read, unit: Option<&str>) -> Result<Written> {
        let schema = self.schema();
        let mut sink = Sink { batch: self.store.batch()?, unit };
        let listed = write_batch(schema, input, &mut sink)?;
        let committed = sink.batch.commit(Some(&mut |predicate, key, value, rename, new_key, new_value| {
            schema.substitute(predicate, key, value, rename, new_key, new_value)
        }));
        let committed = committed.map_err(|error| match error {
            Error::KeyHasOtherValue(other) => {
                let message = explain_other_value(schema, &other).into();
                Error::Json { place: "a fact that another writer added meanwhile".into(), message }
            }
            error => error,
        })?;
        Ok(Written { listed, new: committed.new_facts() })
    }
}

struct Sink<'u> {
    batch: Batch,
    /// Owns the facts of batches that name no unit.
    unit: Option<&'u str>,
}

impl FactSink for Sink<'_> {
    fn define(&mut self, predicate: PredicateId, key: &[u8], value: &[u8]) -> Result<FactId> {
        self.batch.define(predicate, key, value)
    }

    fn predicate_of(&self, id: FactId) -> Result<Option<PredicateId>> {
        FactSink::predicate_of(&self.batch, id)
    }

    fn listed(&mut self, unit: Option<&str>, facts: &[FactId]) -> Result<()> {
        self.batch.listed(unit.or(self.unit), facts)
    }

    fn derived(&mut self, fact: FactId, sources: &[FactId]) -> Result<()> {
        self.batch.derived(fact, sources)
    }
}
