//! The owners of facts, from the units that own some of them and from what facts refer to.
//!
//! (1) A fact that a unit owns is owned by it. (2) A fact that an owned fact refers to is owned by the same units, as
//! the other is nothing without it. References lead to lower ids, so one walk from the highest id down is enough.
//! (3) A derived fact is owned by the conjunction of the owners of what it was derived from, and then (2) again for it.
//!
//! Facts may be derived from each other in a cycle, and such a cycle is no reason for any of its facts. So a derivation
//! counts only once the owners of all its sources are known, and then as they are known so far: each owner that is
//! added stands for a derivation from facts that units own, without a cycle. What is added to the owners of a fact
//! later does not change those of facts derived from it before. So a slice can lack a fact that could be derived in it,
//! but has none that could not. For the same reason, facts without owners, which are in every slice, stay so: those of
//! a complete base, and others from (3) on.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::ownership::sets::{SetId, Sets, UnitId};
use crate::ownership::slice::OwnerIntervals;

/// Owners while they are computed.
pub struct Owning<'s, B> {
    sets: &'s mut Sets,
    /// The first fact of the database itself.
    first: FactId,
    own: Vec<Option<SetId>>,
    /// Facts of the base whose owners change.
    changed: BTreeMap<u64, SetId>,
    /// The owners of a fact of the base.
    base: B,
    /// Derived facts of whose derivations none has counted yet.
    unknown: HashSet<FactId>,
    /// Whether all units have claimed what they own: facts without owners are in every slice from then on.
    is_claimed: bool,
}

impl<'s, B: Fn(FactId) -> Option<SetId>> Owning<'s, B> {
    /// Nothing is owned yet, of the facts from `first` on and before `end`.
    pub fn new(sets: &'s mut Sets, first: FactId, end: FactId, base: B) -> Self {
        let count = usize::try_from(end.get() - first.get()).expect("memory for each fact");
        Self {
            sets,
            first,
            own: vec![None; count],
            changed: BTreeMap::new(),
            base,
            unknown: HashSet::new(),
            is_claimed: false,
        }
    }

    /// A unit owns the facts from one to another, both included.
    ///
    /// # Errors
    /// If there are no such facts.
    pub fn claim(&mut self, unit: UnitId, from: FactId, to: FactId) -> Result<()> {
        let unit = self.sets.unit(unit);
        for number in from.get()..=to.get() {
            let id = FactId::new(number).ok_or_else(|| Error::Damaged { what: "a unit owns the fact 0" })?;
            self.check(id)?;
            self.add(id, unit);
        }
        Ok(())
    }

    /// Facts were derived from others: each fact with its sources, in the order of facts. Units own nothing more after
    /// this.
    ///
    /// # Errors
    /// If there are no such facts.
    pub fn derive(&mut self, derivations: &[(FactId, Vec<FactId>)]) -> Result<()> {
        for (fact, sources) in derivations {
            self.check(*fact)?;
            sources.iter().try_for_each(|source| self.check(*source))?;
            if self.index(*fact).is_some() && self.of(*fact).is_none() {
                self.unknown.insert(*fact);
            }
        }
        self.is_claimed = true;
        // Derivations that wait for a source, by the source.
        let mut waiting: HashMap<FactId, Vec<usize>> = HashMap::new();
        let mut ready: Vec<usize> = (0..derivations.len()).rev().collect();
        while let Some(index) = ready.pop() {
            let (fact, sources) = &derivations[index];
            if let Some(source) = sources.iter().find(|source| self.unknown.contains(source)) {
                waiting.entry(*source).or_default().push(index);
                continue;
            }
            self.derive_one(*fact, sources);
            ready.extend(waiting.remove(fact).unwrap_or_default());
        }
        self.unknown.clear();
        Ok(())
    }

    /// Requires: the owners of the sources are known.
    fn derive_one(&mut self, fact: FactId, sources: &[FactId]) {
        let owners: Vec<SetId> = sources.iter().filter_map(|source| self.of(*source)).collect();
        let was_unknown = self.unknown.remove(&fact);
        match self.of(fact) {
            // It is in every slice.
            None if !was_unknown => {}
            // Its sources are in every slice.
            _ if owners.is_empty() => {}
            // One of its sources is in no other slices than it is itself.
            Some(before) if owners.contains(&before) => {}
            before => {
                let all = self.sets.all(owners);
                let now = before.map_or(all, |before| self.sets.either(before, all));
                self.set(fact, now);
            }
        }
    }

    /// Adds the owners of each fact to the facts that it refers to, which `references` appends.
    ///
    /// # Errors
    /// Those of `references`; [`Error::RefersForward`] if a fact refers to a higher id.
    pub fn follow(&mut self, mut references: impl FnMut(FactId, &mut Vec<FactId>) -> Result<()>) -> Result<()> {
        let mut found = Vec::new();
        let mut next = self.own.len();
        while next > 0 {
            next -= 1;
            let Some(owners) = self.own[next] else { continue };
            self.follow_one(self.first.plus(next as u64), owners, &mut found, &mut references)?;
        }
        let mut below = self.first.get();
        while let Some((number, owners)) = self.changed.range(..below).next_back() {
            let (number, owners) = (*number, *owners);
            below = number;
            let id = FactId::new(number).expect("a fact of the base");
            self.follow_one(id, owners, &mut found, &mut references)?;
        }
        Ok(())
    }

    /// The owners, by intervals.
    pub fn finish(self) -> OwnerIntervals {
        let mut owners = OwnerIntervals::default();
        let mut after = 0;
        for (id, set) in self.changed {
            if id != after {
                owners.push(after, None);
            }
            owners.push(id, Some(set));
            after = id + 1;
        }
        if after != self.first.get() {
            owners.push(after, None);
        }
        for (id, set) in (self.first.get()..).zip(&self.own) {
            owners.push(id, *set);
        }
        owners.push(self.first.get() + self.own.len() as u64, None);
        owners
    }

    fn follow_one(
        &mut self,
        id: FactId,
        owners: SetId,
        found: &mut Vec<FactId>,
        references: &mut impl FnMut(FactId, &mut Vec<FactId>) -> Result<()>,
    ) -> Result<()> {
        found.clear();
        references(id, found)?;
        for reference in found.iter().copied() {
            if reference >= id {
                return Err(Error::RefersForward { fact: id, reference });
            }
            self.check(reference)?;
            self.add(reference, owners);
        }
        Ok(())
    }

    fn of(&self, id: FactId) -> Option<SetId> {
        match self.index(id) {
            Some(index) => self.own[index],
            None => self.changed.get(&id.get()).copied().or_else(|| (self.base)(id)),
        }
    }

    /// Requires: there is a fact with this id.
    fn add(&mut self, id: FactId, owners: SetId) {
        match self.of(id) {
            None if self.is_claimed || self.index(id).is_none() => {}
            None => self.set(id, owners),
            Some(before) => {
                let now = self.sets.either(before, owners);
                if now != before {
                    self.set(id, now);
                }
            }
        }
    }

    fn set(&mut self, id: FactId, owners: SetId) {
        match self.index(id) {
            Some(index) => self.own[index] = Some(owners),
            None => drop(self.changed.insert(id.get(), owners)),
        }
    }

    /// The index in `own`, unless the fact is one of the base.
    fn index(&self, id: FactId) -> Option<usize> {
        id.get().checked_sub(self.first.get()).map(|index| index as usize)
    }

    fn check(&self, id: FactId) -> Result<()> {
        match id >= FactId::FIRST && self.index(id).is_none_or(|index| index < self.own.len()) {
            true => Ok(()),
            false => Err(Error::NoSuchFact { id }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> FactId {
        FactId::new(number).expect("not 0")
    }

    #[test]
    fn owners_follow_references_and_derivations() {
        // 1027 refers to 1025, which refers to 1024; 1026 alone; 1028 is derived from 1026 and 1027 and refers to 1024.
        let mut sets = Sets::default();
        let mut owning = Owning::new(&mut sets, id(1024), id(1029), |_| None);
        let references = |fact: FactId, found: &mut Vec<FactId>| {
            match fact.get() {
                1027 => found.push(id(1025)),
                1025 | 1028 => found.push(id(1024)),
                _ => {}
            }
            Ok(())
        };
        owning.claim(UnitId(0), id(1026), id(1026)).expect("a fact");
        owning.claim(UnitId(1), id(1027), id(1027)).expect("a fact");
        assert!(owning.claim(UnitId(1), id(1029), id(1029)).is_err());
        owning.follow(references).expect("in order");
        owning.derive(&[(id(1028), vec![id(1026), id(1027)])]).expect("facts");
        owning.follow(references).expect("in order");
        let owners = owning.finish();
        let has = |shown: &[bool], number| owners.of(id(number)).is_some_and(|set| shown[set.0 as usize]);
        let both = sets.shown(|_| true);
        assert!((1024..1029).all(|number| has(&both, number)));
        let first = sets.shown(|unit| unit == UnitId(0));
        assert_eq!(
            [1024, 1025, 1026, 1027, 1028].map(|number| has(&first, number)),
            [false, false, true, false, false]
        );
        let second = sets.shown(|unit| unit == UnitId(1));
        assert_eq!([1024, 1025, 1026, 1027, 1028].map(|number| has(&second, number)), [true, true, false, true, false]);
        assert_eq!(owners.of(id(1029)), None);
    }

    #[test]
    fn facts_that_are_derived_from_each_other_are_no_reason_for_each_other() {
        // 1026 and 1027 are derived from each other; 1026 from 1024, 1027 from 1025 too; 1028 from itself and 1027.
        let mut sets = Sets::default();
        let mut owning = Owning::new(&mut sets, id(1024), id(1029), |_| None);
        owning.claim(UnitId(0), id(1024), id(1024)).expect("a fact");
        owning.claim(UnitId(1), id(1025), id(1025)).expect("a fact");
        let derivations = [
            (1026, vec![1024]),
            (1026, vec![1024, 1027]),
            (1026, vec![1027]),
            (1027, vec![1024, 1025, 1028]),
            (1027, vec![1025, 1026]),
            (1028, vec![1025, 1028]),
            (1028, vec![1027]),
        ];
        let derivations = derivations.map(|(fact, sources)| (id(fact), sources.into_iter().map(id).collect()));
        owning.derive(&derivations).expect("facts");
        owning.follow(|_, _| Ok(())).expect("no references");
        let owners = owning.finish();
        for (units, expected) in [(0, [true, false, false]), (1, [false, false, false]), (2, [true, true, true])] {
            let shown = sets.shown(|unit| units == 2 || unit == UnitId(units));
            let has = |number| owners.of(id(number)).is_some_and(|set| shown[set.0 as usize]);
            assert_eq!([1026, 1027, 1028].map(has), expected, "unit {units}");
        }
    }

    #[test]
    fn owners_of_the_base_are_extended() {
        let mut sets = Sets::default();
        let old = sets.unit(UnitId(0));
        let mut owning = Owning::new(&mut sets, id(1030), id(1031), |fact| (fact.get() == 1025).then_some(old));
        owning.claim(UnitId(1), id(1030), id(1030)).expect("a fact");
        let mut references = |fact: FactId, found: &mut Vec<FactId>| {
            if fact.get() == 1030 {
                found.push(id(1025));
            }
            Ok(())
        };
        owning.follow(&mut references).expect("in order");
        let owners = owning.finish();
        let shown = sets.shown(|unit| unit == UnitId(1));
        assert!(owners.of(id(1025)).is_some_and(|set| shown[set.0 as usize]));
        assert_eq!((owners.of(id(1024)), owners.of(id(1026))), (None, None));
        let forward = Owning::new(&mut sets, id(1024), id(1026), |_| None);
        assert!(refers_forward(forward));
    }

    fn refers_forward(mut owning: Owning<'_, impl Fn(FactId) -> Option<SetId>>) -> bool {
        owning.claim(UnitId(0), id(1024), id(1024)).expect("a fact");
        let followed = owning.follow(|_, found| {
            found.push(id(1025));
            Ok(())
        });
        matches!(followed, Err(Error::RefersForward { .. }))
    }
}
