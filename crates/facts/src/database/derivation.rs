//! Stored derivations: their facts are written, and owned by those that own what they are derived from.

use std::collections::HashSet;

use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::json::parse::explain_other_value;

/// What a derivation wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The predicate.
    pub predicate: PredicateId,
    /// How many facts were new.
    pub new: u64,
}

/// How far [`FactDatabase::derive_all_within`] goes. A predicate that is derived from itself, with values that a
/// primitive computes, may have new facts in every round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivationLimits {
    /// How many rounds may have new facts: the longest chain of facts that are derived from each other. By default
    /// 10,000.
    pub rounds_max: u64,
    /// How many facts may be new in all rounds. A round ends before it is looked at. By default a billion.
    pub facts_max: u64,
}

impl Default for DerivationLimits {
    fn default() -> Self {
        Self { rounds_max: 10_000, facts_max: 1_000_000_000 }
    }
}

impl FactDatabase {
    /// Derives the facts of all predicates that the schema derives into the database, by id, and again as long as there
    /// are new facts: predicates may be derived from others.
    ///
    /// # Errors
    /// As [`FactDatabase::derive_all_within`], with the default limits.
    pub fn derive_all(&self) -> Result<Vec<Derived>> {
        self.derive_all_within(&DerivationLimits::default())
    }

    /// As [`FactDatabase::derive_all`], within limits.
    ///
    /// # Errors
    /// [`Error::DerivationLimit`], if more rounds have new facts than may, or more facts are new than may be. Those
    /// that were derived stay, and the next derivation continues from them. As [`FactDatabase::derive`].
    pub fn derive_all_within(&self, limits: &DerivationLimits) -> Result<Vec<Derived>> {
        let predicates: Vec<PredicateId> = self.compiler.stored_derivations().collect();
        let mut derived: Vec<Derived> = predicates.iter().map(|id| Derived { predicate: *id, new: 0 }).collect();
        let mut rounds = 0;
        loop {
            let mut grown = None;
            for derived in &mut derived {
                let of_one = self.derive(derived.predicate)?.new;
                derived.new += of_one;
                grown = if of_one > 0 { Some(derived.predicate) } else { grown };
            }
            let Some(grown) = grown else { return Ok(derived) };
            rounds += 1;
            let facts = derived.iter().map(|derived| derived.new).sum();
            if rounds > limits.rounds_max || facts > limits.facts_max {
                return Err(Error::DerivationLimit { name: self.schema().name_of(grown), rounds, facts });
            }
        }
    }

    /// Derives the facts of a predicate from those that are there now. Each new fact is owned by the conjunction of the
    /// owners of the facts that it was derived from. Facts within negations and sets are not counted among these.
    ///
    /// Deriving it again adds what newer facts give, and removes nothing. Nothing is derived for a predicate whose
    /// schema has evolved and has no facts: the facts of the newer schema answer for it.
    ///
    /// # Errors
    /// [`Error::NoDerivation`]; [`Error::DerivedReference`], if a fact would refer to one that is not stored;
    /// [`Error::DerivedValue`], if a key is derived with several values; errors of queries and of
    /// [`Batch::commit`](crate::Batch::commit). Until then, facts may have been added.
    pub fn derive(&self, predicate: PredicateId) -> Result<Derived> {
        let snapshot = self.store.snapshot()?;
        if self.compiler.has_successor(predicate, &snapshot)? {
            return Ok(Derived { predicate, new: 0 });
        }
        let query = self.compiler.derivation(predicate, &snapshot)?;
        let (own, free) = (snapshot.own_starting_id(), snapshot.first_free_id());
        let mut batch = self.store.batch()?;
        let mut recorded: HashSet<(FactId, Vec<FactId>)> = HashSet::new();
        let mut new = 0;
        query.each_match(&snapshot, &mut |key, value, sources| {
            let mut references = Vec::new();
            self.schema().references(predicate, key, value, &mut references)?;
            if references.iter().any(|id| *id >= free) {
                return Err(Error::DerivedReference { name: self.schema().name_of(predicate) });
            }
            let fact = batch.define(predicate, key, value).map_err(|error| self.explain_derived(error))?;
            let mut sources: Vec<FactId> = sources.iter().copied().filter(|id| *id < free).collect();
            sources.sort_unstable();
            sources.dedup();
            // The base has recorded what it derived itself.
            let is_of_base = fact < own && sources.iter().all(|source| *source < own);
            if !is_of_base && recorded.insert((fact, sources.clone())) {
                batch.derive(fact, sources);
            }
            if batch.len() >= FACTS_PER_BATCH {
                recorded.clear();
                let full = std::mem::replace(&mut batch, self.store.batch()?);
                new += self.commit_derived(full)?;
                batch = self.store.batch()?;
            }
            Ok(())
        })?;
        new += self.commit_derived(batch)?;
        Ok(Derived { predicate, new })
    }

    fn commit_derived(&self, batch: crate::store::batch::Batch) -> Result<u64> {
        let schema = self.schema();
        let committed = batch.commit(Some(&mut |predicate, key, value, rename, new_key, new_value| {
            schema.substitute(predicate, key, value, rename, new_key, new_value)
        }));
        Ok(committed.map_err(|error| self.explain_derived(error))?.new_facts() as u64)
    }

    fn explain_derived(&self, error: Error) -> Error {
        match error {
            Error::KeyHasOtherValue(other) => {
                Error::DerivedValue { message: explain_other_value(self.schema(), &other).into() }
            }
            error => error,
        }
    }
}

/// So many facts are in memory at a time, and written together.
const FACTS_PER_BATCH: usize = 200_000;
