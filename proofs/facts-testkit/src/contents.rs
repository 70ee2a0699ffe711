//! What a database of facts should hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fulgurite_facts::{FactId, PredicateId, Result, Snapshot, State, Store};

/// The id of the first fact.
const FIRST: u64 = 1024;
/// The last predicate. No unit owns its facts: each is derived from facts of the other predicates.
pub const DERIVED: u64 = 3;

/// The facts of a database, by id from the first on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    facts: Vec<Plain>,
    /// How many of them are in the database below.
    below: usize,
    /// The facts that each unit owns.
    owned: BTreeMap<String, BTreeSet<u64>>,
    /// Derived facts, and what each of them was derived from.
    derived: BTreeMap<u64, Vec<u64>>,
}

/// Predicate, key and value.
type Plain = (u64, Vec<u8>, Vec<u8>);

impl Contents {
    /// Adds a fact, unless it is there. Returns its id; None if its key has another value.
    pub fn define(&mut self, predicate: u64, key: &[u8], value: &[u8]) -> Option<u64> {
        match (FIRST..).zip(&self.facts).find(|(_, fact)| fact.0 == predicate && fact.1 == key) {
            Some((id, fact)) => (fact.2 == value).then_some(id),
            None => {
                self.facts.push((predicate, key.to_vec(), value.to_vec()));
                Some(FIRST - 1 + self.facts.len() as u64)
            }
        }
    }

    /// Makes a unit own a fact.
    pub fn own(&mut self, unit: &str, fact: u64) {
        self.owned.entry(unit.to_owned()).or_default().insert(fact);
    }

    /// Makes a fact a derived one. Requires: no unit owns it, and its sources are not derived.
    pub fn derive(&mut self, fact: u64, sources: Vec<u64>) {
        self.derived.insert(fact, sources);
    }

    /// The contents of a database that is stacked on one with these facts, and has none of its own yet.
    pub fn below(mut self) -> Self {
        self.below = self.facts.len();
        self
    }

    /// Whether a fact is in the database itself.
    pub fn is_own(&self, fact: u64) -> bool {
        fact >= FIRST + self.below as u64
    }

    /// The facts that are not derived.
    pub fn plain_ids(&self) -> Vec<u64> {
        let ids = (FIRST..).zip(&self.facts).filter(|(_, fact)| fact.0 != DERIVED);
        ids.map(|(id, _)| id).collect()
    }

    /// Compares a database with this: its facts by id, by key and by prefix, their counts, and if it is complete, the
    /// facts that units own. False if it has other facts.
    ///
    /// # Errors
    /// What contradicts itself, and errors of reading.
    pub fn compare(&self, store: &Store) -> std::result::Result<bool, String> {
        let failed = |error| format!("it cannot be read: {error}");
        let snapshot = store.snapshot().map_err(failed)?;
        let by_id = plain(snapshot.enumerate(snapshot.starting_id(), snapshot.first_free_id())).map_err(failed)?;
        let ids: Vec<u64> = (FIRST..).take(by_id.len()).collect();
        if by_id.iter().map(|(id, _)| *id).collect::<Vec<_>>() != ids {
            return Err("its ids are not dense".into());
        }
        if by_id.iter().map(|(_, fact)| fact).ne(&self.facts) {
            return Ok(false);
        }
        self.compare_keys(&snapshot).map_err(failed)??;
        let is_complete = store.state().map_err(failed)? == State::Complete;
        if is_complete {
            self.compare_slices(store).map_err(failed)??
        }
        Ok(true)
    }

    fn compare_keys(&self, snapshot: &Snapshot) -> Result<std::result::Result<(), String>> {
        let mut counts = BTreeMap::new();
        for predicate in 0..=DERIVED {
            let found = plain(snapshot.seek(predicate_id(predicate), b"")?)?;
            let mut expected: Vec<_> = (FIRST..).zip(&self.facts).filter(|(_, fact)| fact.0 == predicate).collect();
            // Those of the database below come first.
            let order = |(id, fact): &(u64, &Plain)| (self.is_own(*id), fact.1.clone());
            expected.sort_by_cached_key(order);
            if found.iter().map(|(id, fact)| (*id, fact)).ne(expected.iter().copied()) {
                return Ok(Err(format!("a seek of predicate {predicate} returns other facts than there are")));
            }
            for (id, fact) in &expected {
                let by_key = snapshot.id_by_key(predicate_id(predicate), &fact.1)?;
                if by_key.map(FactId::get) != Some(*id) {
                    return Ok(Err(format!("fact {id} is not found by its key")));
                }
            }
            if !expected.is_empty() {
                counts.insert(predicate_id(predicate), expected.len() as u64);
            }
        }
        let stated: BTreeMap<_, _> =
            snapshot.statistics()?.into_iter().map(|(predicate, stated)| (predicate, stated.count)).collect();
        Ok(if stated == counts { Ok(()) } else { Err(format!("its counts are {stated:?}, not {counts:?}")) })
    }

    fn compare_slices(&self, store: &Store) -> Result<std::result::Result<(), String>> {
        let snapshot = store.snapshot()?;
        let owned = |id: &u64| self.owned.values().any(|facts| facts.contains(id));
        for (unit, facts) in &self.owned {
            let slice = snapshot.slice_of(&[unit])?;
            let sliced = store.snapshot()?.sliced(Arc::new(slice));
            let found = plain(sliced.enumerate(sliced.starting_id(), sliced.first_free_id()))?;
            let has = |id: &u64| facts.contains(id) || !owned(id);
            let has = |id: &u64| self.derived.get(id).map_or_else(|| has(id), |sources| sources.iter().all(has));
            let ids = (FIRST..).take(self.facts.len()).filter(has);
            if found.iter().map(|(id, _)| *id).ne(ids) {
                return Ok(Err(format!("the slice of {unit} has other facts than it owns")));
            }
        }
        Ok(Ok(()))
    }
}

/// The id of a predicate.
pub fn predicate_id(predicate: u64) -> PredicateId {
    PredicateId::new(FIRST + predicate).expect("it is not 0")
}

/// Ids and contents of facts.
fn plain<'t>(facts: impl Iterator<Item = Result<fulgurite_facts::Fact<'t>>>) -> Result<Vec<(u64, Plain)>> {
    facts
        .map(|fact| {
            let fact = fact?;
            let predicate = fact.predicate().get() - FIRST;
            Ok((fact.id().get(), (predicate, fact.key().to_vec(), fact.value().to_vec())))
        })
        .collect()
}
