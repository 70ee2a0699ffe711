//! Stored derivations: their facts are written, and owned by those that own what they are derived from.
//!
//! Predicates are derived by strata, so that what a derivation uses is complete: see `query/prepared/strata.rs`.

use std::collections::HashSet;

use crate::angle::tree::DeriveWhen;
use crate::database::derived_counts::{Inputs, changed, encode, inputs, read};
use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::json::parse::explain_other_value;
use crate::layout::meta::DERIVED;
use crate::query::prepared::Stratum;

/// The result of a derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The predicate.
    pub predicate: PredicateId,
    /// How many facts were new.
    pub new: u64,
    /// How often it was derived, until there were no new facts.
    pub rounds: u64,
    /// How many facts it has that its query does not give now, if it uses `!`, `all` or `if`, or what it uses does.
    /// They were derived before other facts were added or hidden, or were not derived.
    pub outdated: u64,
}

/// A derivation of a predicate that has ended: see [`FactDatabase::derive_each`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivationRound {
    /// The predicate.
    pub predicate: PredicateId,
    /// How often it has been derived now, with those that it is derived from and that are derived from it.
    pub round: u64,
    /// How many facts of it were new in this round.
    pub new: u64,
}

/// How far a derivation goes. A predicate that is derived from itself, with values that a primitive computes, may have
/// new facts in every round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivationLimits {
    /// How many rounds may have new facts, of predicates that are derived from themselves or from each other: the
    /// longest chain of facts that are derived from each other. By default 10,000.
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
    /// The predicates that the schema derives into the database, in the order of their ids.
    pub fn stored_derivations(&self) -> impl Iterator<Item = PredicateId> + '_ {
        self.compiler.stored_derivations()
    }

    /// Derives the facts of all predicates that the schema derives into the database. See
    /// [`FactDatabase::derive_each`].
    ///
    /// # Errors
    /// As [`FactDatabase::derive_each`], with the default limits.
    pub fn derive_all(&self) -> Result<Vec<Derived>> {
        self.derive_all_within(&DerivationLimits::default())
    }

    /// As [`FactDatabase::derive_all`], within limits.
    ///
    /// # Errors
    /// As [`FactDatabase::derive_each`].
    pub fn derive_all_within(&self, limits: &DerivationLimits) -> Result<Vec<Derived>> {
        let stored: Vec<PredicateId> = self.stored_derivations().collect();
        self.derive_each(&stored, limits, &mut |_| {})
    }

    /// Derives the facts of a predicate, and before those of the predicates that it uses. Returns how many facts of it
    /// were new. See [`FactDatabase::derive_each`].
    ///
    /// # Errors
    /// As [`FactDatabase::derive_each`], with the default limits.
    pub fn derive(&self, predicate: PredicateId) -> Result<Derived> {
        let derived = self.derive_each(&[predicate], &DerivationLimits::default(), &mut |_| {})?;
        let none = Derived { predicate, new: 0, rounds: 0, outdated: 0 };
        Ok(derived.into_iter().find(|derived| derived.predicate == predicate).unwrap_or(none))
    }

    /// Derives the facts of predicates, and before those of the predicates that they use, from the facts that are there
    /// now. Returns how many were new of each predicate that was derived, in the order of the derivation, and calls
    /// `progress` each time that a predicate has been derived.
    ///
    /// A predicate is derived when those that it uses are complete, by way of derivations on demand too. Predicates
    /// that are derived from themselves or from each other are derived again until there are no new facts.
    ///
    /// Each new fact is owned by the conjunction of the owners of the facts that it was derived from. Facts within
    /// negations and sets are not counted among these.
    ///
    /// Deriving a predicate again adds what newer facts give, and removes nothing: [`Derived::outdated`] counts the
    /// facts that a negation or a set gives no longer. Nothing is derived for a predicate whose schema has evolved and
    /// has no facts: the facts of the newer schema answer for it.
    ///
    /// # Errors
    /// [`Error::Angle`], before anything is derived, if a predicate uses itself within `!`, `all` or the condition of
    /// `if`; [`Error::NoDerivation`], and [`Error::DerivedOnDemand`] for predicates that are not stored;
    /// [`Error::DerivedReference`], if a fact would refer to one that is not stored; [`Error::DerivedValue`], if a key
    /// is derived with several values; [`Error::DerivationLimit`]; errors of queries and of
    /// [`Batch::commit`](crate::Batch::commit). Facts that were derived before stay, and the next derivation continues
    /// from them. Until one has ended, [`FactReader::not_derived`](crate::FactReader::not_derived) returns the
    /// predicate.
    pub fn derive_each(
        &self,
        predicates: &[PredicateId],
        limits: &DerivationLimits,
        progress: &mut dyn FnMut(DerivationRound),
    ) -> Result<Vec<Derived>> {
        for predicate in predicates {
            let definition = self.schema().predicate(*predicate).ok_or(Error::NoPredicate(*predicate))?;
            match definition.derivation.as_ref().map(|derivation| derivation.when) {
                None => return Err(Error::NoDerivation { name: definition.full_name() }),
                Some(DeriveWhen::OnDemand) => return Err(Error::DerivedOnDemand { name: definition.full_name() }),
                Some(DeriveWhen::Stored | DeriveWhen::IfEmpty) => {}
            }
        }
        let (mut all, mut ended) = (Vec::new(), Inputs::new());
        for stratum in self.compiler.strata(predicates)? {
            // What is written from now on may be left out, so it is not counted.
            let begun = inputs(&self.compiler, self.store.snapshot()?.own(), stratum.predicates.iter().copied())?;
            self.record(&ended, &begun)?;
            self.derive_stratum(&stratum, &mut all, limits, progress)?;
            ended = begun;
        }
        self.record(&ended, &Inputs::new())?;
        Ok(all)
    }

    /// Records that derivations have ended, and that others begin: see `database/derived_counts.rs`. A complete
    /// database is not written to. Deriving nothing in it is no error.
    fn record(&self, ended: &Inputs, begun: &Inputs) -> Result<()> {
        self.store.change_meta(DERIVED, |recorded| {
            let before = recorded.and_then(read).unwrap_or_default();
            let now = changed(&before, ended, begun);
            (now != before).then(|| encode(&now))
        })
    }

    /// Derives the predicates of a stratum, until there are no new facts, and adds what was new to `all`.
    fn derive_stratum(
        &self,
        stratum: &Stratum,
        all: &mut Vec<Derived>,
        limits: &DerivationLimits,
        progress: &mut dyn FnMut(DerivationRound),
    ) -> Result<()> {
        let first = all.len();
        let none = |predicate: &PredicateId| Derived { predicate: *predicate, new: 0, rounds: 0, outdated: 0 };
        all.extend(stratum.predicates.iter().map(none));
        let mut round = 0;
        loop {
            round += 1;
            let mut grown = None;
            for derived in &mut all[first..] {
                let predicate = derived.predicate;
                let Once { new, outdated } = self.derive_once(predicate, stratum.can_lose_facts)?;
                derived.new += new;
                (derived.rounds, derived.outdated) = (round, outdated);
                grown = if new > 0 { Some(predicate) } else { grown };
                progress(DerivationRound { predicate, round, new });
            }
            let Some(grown) = grown else { return Ok(()) };
            let facts = all.iter().map(|derived| derived.new).sum();
            if facts > limits.facts_max || (stratum.is_recursive && round > limits.rounds_max) {
                return Err(Error::DerivationLimit { name: self.schema().name_of(grown), rounds: round, facts });
            }
            if !stratum.is_recursive {
                return Ok(());
            }
        }
    }

    /// Derives the facts of a predicate from those that are there now. Finds out which of its facts are outdated, if
    /// it can lose facts.
    fn derive_once(&self, predicate: PredicateId, can_lose_facts: bool) -> Result<Once> {
        let snapshot = self.store.snapshot()?;
        if self.compiler.has_successor(predicate, &snapshot)? {
            return Ok(Once { new: 0, outdated: 0 });
        }
        let query = self.compiler.derivation(predicate, &snapshot)?;
        let (own, free) = (snapshot.own_starting_id(), snapshot.first_free_id());
        let mut batch = self.store.batch()?;
        let mut recorded: HashSet<(FactId, Vec<FactId>)> = HashSet::new();
        // Facts that were there and are derived again.
        let mut again: HashSet<FactId> = HashSet::new();
        let mut new = 0;
        query.each_match(&snapshot, &mut |key, value, sources| {
            let mut references = Vec::new();
            self.schema().references(predicate, key, value, &mut references)?;
            if references.iter().any(|id| *id >= free) {
                return Err(Error::DerivedReference { name: self.schema().name_of(predicate) });
            }
            let fact = batch.define(predicate, key, value).map_err(|error| self.explain_derived(error))?;
            if can_lose_facts && fact < free {
                again.insert(fact);
            }
            let mut sources: Vec<FactId> = sources.iter().copied().filter(|id| *id < free).collect();
            sources.sort_unstable();
            sources.dedup();
            // The base has recorded what it derived itself.
            let is_of_base = fact < own && sources.iter().all(|source| *source < own);
            if !is_of_base && recorded.insert((fact, sources.clone())) {
                batch.derive(fact, sources);
            }
            // Few facts can have many derivations.
            if batch.len().max(recorded.len()) >= FACTS_PER_BATCH {
                recorded.clear();
                let full = std::mem::replace(&mut batch, self.store.batch()?);
                new += self.commit_derived(full)?;
                batch = self.store.batch()?;
            }
            Ok(())
        })?;
        new += self.commit_derived(batch)?;
        let outdated = if can_lose_facts { snapshot.count(predicate)?.saturating_sub(again.len() as u64) } else { 0 };
        Ok(Once { new, outdated })
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

/// What one derivation of a predicate did.
struct Once {
    new: u64,
    outdated: u64,
}

/// So many facts, or derivations of facts, are in memory at a time, and written together.
const FACTS_PER_BATCH: usize = 200_000;
