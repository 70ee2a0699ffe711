//! Which predicates are answered for by the predicates that evolved from them, and facts in the shape of older ones.
//!
//! `schema a.2 evolves a.1` has an effect on a database without facts of `a.1`, if it has facts of `a.2`, or of the
//! next schema in the chain that has facts. Each predicate of `a.1` is then read from the facts of its successor. The
//! facts keep their ids, and are converted where they are matched or printed.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::schema::definition::{Evolution, Schema};
use crate::value::conversion::converted;
use crate::value::references::references_of;
use crate::value::values::StoredFact;

/// Predicates that are answered for by others: each with the next one in its chain.
pub type Successors = HashMap<PredicateId, PredicateId>;

impl Schema {
    /// The predicates whose successors answer for them, in a database where `has_facts` says which predicates have
    /// facts.
    pub(crate) fn successors(&self, has_facts: &dyn Fn(PredicateId) -> bool) -> Successors {
        let mut successors = Successors::new();
        let by_old: HashMap<usize, &Evolution> =
            self.evolutions.iter().map(|evolution| (evolution.old, evolution)).collect();
        for evolution in &self.evolutions {
            if is_effective(evolution, &by_old, has_facts) {
                successors.extend(evolution.predicates.iter().copied());
            }
        }
        successors
    }

    /// Whether a type that names `older` may refer to a fact of `predicate`: of the same predicate, or of one that
    /// evolved from it. Derivations store such references.
    pub fn may_stand_for(&self, predicate: PredicateId, older: PredicateId) -> bool {
        let chain = std::iter::successors(Some(older), |last| self.evolved(*last));
        chain.take(self.predicates().len() + 1).any(|successor| successor == predicate)
    }

    /// A fact in the shape of a predicate that its own predicate evolved from, perhaps in several steps. Other facts
    /// are returned as they are.
    ///
    /// # Errors
    ///
    /// If the bytes are no fact of their predicate.
    pub fn shaped_as(&self, predicate: PredicateId, fact: StoredFact) -> Result<StoredFact> {
        if fact.0 == predicate {
            return Ok(fact);
        }
        let mut chain = vec![predicate];
        while let Some(next) = chain.last().filter(|last| **last != fact.0).and_then(|last| self.evolved(*last)) {
            chain.push(next);
        }
        if chain.last() != Some(&fact.0) {
            return Ok(fact);
        }
        let (_, mut key, mut value) = fact;
        for step in chain.windows(2).rev() {
            let [old, new] = [step[0], step[1]].map(|id| self.predicate(id).ok_or(Error::NoPredicate(id)));
            let (old, new) = (old?, new?);
            key = converted(&key, &new.key, &old.key)?;
            value = converted(&value, &new.value, &old.value)?;
        }
        Ok((predicate, key, value))
    }

    /// Appends the facts that a fact refers to, each with the predicate that the types of this one's predicate name.
    ///
    /// # Errors
    ///
    /// If the schema has no such predicate, or the bytes are no fact of it.
    pub fn typed_references(&self, fact: &StoredFact, found: &mut Vec<(FactId, PredicateId)>) -> Result<()> {
        let (predicate, key, value) = fact;
        let definition = self.predicate(*predicate).ok_or(Error::NoPredicate(*predicate))?;
        references_of(&definition.key, key, found)?;
        references_of(&definition.value, value, found)?;
        Ok(())
    }
}

/// Whether the older schema has no facts, and one of the newer ones in its chain does.
fn is_effective(
    evolution: &Evolution,
    by_old: &HashMap<usize, &Evolution>,
    has_facts: &dyn Fn(PredicateId) -> bool,
) -> bool {
    let mut evolution = evolution;
    // A chain has no cycle: loading has checked it.
    loop {
        if evolution.predicates.iter().any(|(old, _)| has_facts(*old)) {
            return false;
        }
        if evolution.predicates.iter().any(|(_, new)| has_facts(*new)) {
            return true;
        }
        match by_old.get(&evolution.new) {
            Some(next) => evolution = next,
            None => return false,
        }
    }
}
