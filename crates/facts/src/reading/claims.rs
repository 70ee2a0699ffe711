//! [`Claims`]: which facts units own themselves, before owners follow references. A copy of the facts that has the
//! claims and the derivations gets the same owners when it is completed.

use std::collections::{BTreeSet, HashMap};

use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::ownership::sets::UnitId;
use crate::reading::owning::{Recorded, claims, each_derivation};
use crate::reading::snapshot::Snapshot;

/// Facts from one to another, both included, that a unit owns.
struct Claim {
    first: FactId,
    last: FactId,
    /// Its place among the names.
    unit: usize,
}

/// The facts that units own themselves: those that were written for them. See [`Snapshot::claims`].
pub struct Claims {
    /// The names of all units, in order.
    names: Vec<String>,
    /// Those that begin after the last fact that was asked about, the first of them last.
    later: Vec<Claim>,
    /// Those that began before, and may have further facts.
    begun: Vec<Claim>,
}

impl Snapshot {
    /// The facts that units own themselves. Facts to which these refer, and facts that are derived from them, have
    /// their owners from this when the database is completed. Units that a database of the stack hides own nothing
    /// below it.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn claims(&self) -> Result<Claims> {
        let by_number = self.unit_names()?;
        let sorted: BTreeSet<&String> = by_number.values().collect();
        let names: Vec<String> = sorted.into_iter().cloned().collect();
        let places: HashMap<UnitId, usize> =
            by_number.iter().filter_map(|(unit, name)| Some((*unit, names.binary_search(name).ok()?))).collect();
        let recorded = self.owners()?;
        let mut later = Vec::new();
        // The owners of the database on top come first.
        for (layer, recorded) in self.layers.iter().rev().zip((0..).map(|number| &recorded[number..])) {
            let [Recorded { hidden, .. }, below @ ..] = recorded else { break };
            for (unit, first, last) in claims(layer)? {
                if hidden.contains(&unit) {
                    continue;
                }
                let unit = *places.get(&unit).ok_or_else(|| Error::Damaged { what: "a unit has no name" })?;
                if first < self.starting_id() || last >= layer.end {
                    return Err(Error::Damaged { what: "a unit owns a fact that does not exist" });
                }
                // A fact below that has no owners gets none from here.
                for number in first.get()..layer.first.get().min(last.get() + 1) {
                    let id = FactId::new(number).expect("ids begin above 0");
                    if below.iter().any(|recorded| recorded.owners.of(id).is_some()) {
                        later.push(Claim { first: id, last: id, unit });
                    }
                }
                if last >= layer.first {
                    later.push(Claim { first: first.max(layer.first), last, unit });
                }
            }
        }
        later.sort_unstable_by_key(|claim| std::cmp::Reverse(claim.first));
        Ok(Claims { names, later, begun: Vec::new() })
    }

    /// Calls `each` with the derivations that were recorded: each fact with the facts that it was derived from. Those
    /// with a hidden fact are left out.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`]; those of `each`.
    pub fn each_derivation(&self, mut each: impl FnMut(FactId, &[FactId]) -> Result<()>) -> Result<()> {
        for layer in &self.layers {
            each_derivation(layer, &mut |fact, sources| match self.has(fact)
                && sources.iter().all(|source| self.has(*source))
            {
                true => each(fact, sources),
                false => Ok(()),
            })?;
        }
        Ok(())
    }
}

impl Claims {
    /// The names of all units, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The units that own a fact themselves, by their places in [`Claims::names`], in order.
    ///
    /// Requires: the ids of calls rise.
    pub fn of(&mut self, id: FactId) -> BTreeSet<usize> {
        while let Some(next) = self.later.pop_if(|next| next.first <= id) {
            self.begun.push(next);
        }
        self.begun.retain(|claim| claim.last >= id);
        self.begun.iter().map(|claim| claim.unit).collect()
    }
}
