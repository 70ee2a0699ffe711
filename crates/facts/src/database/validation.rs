//! Whether the facts of a database are what its schema says.

use std::collections::BTreeMap;

use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::Fact;
use crate::reading::counts::Statistics;
use crate::reading::snapshot::Snapshot;
use crate::value::codec::decode;

/// A database without faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validated {
    /// How many facts it has itself, without those of databases below.
    pub facts: u64,
}

impl FactDatabase {
    /// Reads every fact of the database itself: each is of its type, refers to lower ids of facts that exist and are of
    /// the right predicates, and is found by its key. The counts are right, and the owners of facts and what is hidden
    /// are what the units and derivations say. Of databases below, facts are read that are hidden, or get owners.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the first fault; errors of reading.
    pub fn validate(&self) -> Result<Validated> {
        let snapshot = self.store.snapshot()?;
        let mut facts = 0;
        let mut references = Vec::new();
        let mut counts = BTreeMap::<PredicateId, Statistics>::new();
        for fact in snapshot.enumerate(snapshot.own_starting_id(), snapshot.first_free_id()) {
            let fact = fact?;
            references.clear();
            self.validate_fact(&snapshot, &fact, &mut references)?;
            counts.entry(fact.predicate()).or_default().add(fact.key(), fact.value());
            facts += 1;
        }
        self.validate_records(&snapshot, &counts)?;
        Ok(Validated { facts })
    }

    fn validate_fact(
        &self,
        snapshot: &Snapshot,
        fact: &Fact<'_>,
        references: &mut Vec<(FactId, PredicateId)>,
    ) -> Result<()> {
        let invalid = |what: String| Error::Invalid { fact: fact.id(), what };
        let definition = self.schema().predicate(fact.predicate());
        let definition = definition.ok_or_else(|| invalid(Error::NoPredicate(fact.predicate()).to_string()))?;
        for (ty, bytes) in [(&definition.key, fact.key()), (&definition.value, fact.value())] {
            decode(ty, bytes).map_err(|error| invalid(error.to_string()))?.typed_references(ty, references);
        }
        for (reference, predicate) in references {
            if *reference >= fact.id() {
                return Err(invalid(format!("it refers to fact {reference}, which is not before it")));
            }
            let found = snapshot.predicate_by_id(*reference)?;
            if !found.is_some_and(|found| self.schema().may_stand_for(found, *predicate)) {
                let name = self.schema().name_of(*predicate);
                return Err(invalid(format!("it refers to fact {reference}, which is not a fact of {name}")));
            }
        }
        if snapshot.id_by_key(fact.predicate(), fact.key())? != Some(fact.id()) {
            return Err(invalid("another fact, or none, is found by its key".to_owned()));
        }
        Ok(())
    }
}
