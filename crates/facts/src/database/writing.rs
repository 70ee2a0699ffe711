//! Writing facts from JSON.

use std::io::Read;

use crate::database::handle::FactDatabase;
use crate::error::Result;
use crate::ids::{FactId, PredicateId};
use crate::json::batch::write_batch;
use crate::json::parse::FactSink;
use crate::store::batch::Batch;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many facts the input listed.
    pub listed: u64,
    /// How many facts were new, those within facts included.
    pub new: usize,
}

impl FactDatabase {
    /// Writes a batch of facts, all of them or none. If a unit is given, it owns them; a unit is usually a source file.
    ///
    /// Memory holds the facts of the batch that are new.
    ///
    /// # Errors
    /// As [`write_batch`], and as [`Batch::commit`].
    pub fn write_json(&self, input: impl Read, unit: Option<&str>) -> Result<Written> {
        let schema = self.schema();
        let mut sink = Sink { batch: self.store.batch()?, defined: unit.map(|_| Vec::new()) };
        let listed = write_batch(schema, input, &mut sink)?;
        let Sink { mut batch, defined } = sink;
        if let (Some(unit), Some(defined)) = (unit, defined) {
            batch.own(unit, defined);
        }
        let committed = batch.commit(Some(&mut |predicate, key, value, rename, new_key, new_value| {
            schema.substitute(predicate, key, value, rename, new_key, new_value)
        }))?;
        Ok(Written { listed, new: committed.new_facts() })
    }
}

struct Sink {
    batch: Batch,
    /// The facts that were defined, if a unit owns them.
    defined: Option<Vec<FactId>>,
}

impl FactSink for Sink {
    fn define(&mut self, predicate: PredicateId, key: &[u8], value: &[u8]) -> Result<FactId> {
        let id = self.batch.define(predicate, key, value)?;
        if let Some(defined) = &mut self.defined {
            defined.push(id);
        }
        Ok(id)
    }

    fn predicate_of(&self, id: FactId) -> Result<Option<PredicateId>> {
        self.batch.predicate_of(id)
    }
}
