//! Whether the facts of a database are what its schema says.

use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};

/// A database without faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validated {
    /// How many facts it has itself, without those of databases below.
    pub facts: u64,
}

impl FactDatabase {
    /// Reads every fact of the database itself: each is of its type, refers to lower ids, is found by its key, and the
    /// counts are right. Facts of databases below are not read.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the first fault; errors of reading.
    pub fn validate(&self) -> Result<Validated> {
        let snapshot = self.store.snapshot()?;
        let schema = self.schema();
        let mut facts = 0;
        let mut references = Vec::new();
        let mut counts = std::collections::BTreeMap::<PredicateId, u64>::new();
        for fact in snapshot.enumerate(snapshot.own_starting_id(), snapshot.first_free_id()) {
            let fact = fact?;
            let invalid = |what: String| Error::Invalid { fact: fact.id(), what };
            references.clear();
            schema
                .references(fact.predicate(), fact.key(), fact.value(), &mut references)
                .map_err(|error| invalid(error.to_string()))?;
            if let Some(forward) = references.iter().find(|reference| **reference >= fact.id()) {
                return Err(invalid(format!("it refers to fact {forward}, which is not before it")));
            }
            if snapshot.id_by_key(fact.predicate(), fact.key())? != Some(fact.id()) {
                return Err(invalid("another fact, or none, is found by its key".to_owned()));
            }
            *counts.entry(fact.predicate()).or_default() += 1;
            facts += 1;
        }
        // In a stack, the counts are sums of those of all databases.
        let counts = counts.into_iter().filter(|_| self.store.base().is_none());
        for (predicate, count) in counts {
            if snapshot.count(predicate)? != count {
                let what = format!("the count of {} is not {count}", schema.name_of(predicate));
                return Err(Error::Invalid { fact: FactId::FIRST, what });
            }
        }
        Ok(Validated { facts })
    }
}
