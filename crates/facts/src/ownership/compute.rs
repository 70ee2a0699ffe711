//! The owners of facts, from the units that own some of them and from what facts refer to.
//!
//! (1) A fact that a unit owns is owned by it. (2) A fact that an owned fact refers to is owned by the same units, as
//! the other is nothing without it. References lead to lower ids, so one walk from the highest id down is enough.
//! (3) A derived fact is owned by the conjunction of the owners of what it was derived from, in the order of ids, and
//! then (2) again for it. What (3) adds to the owners of a fact does not change those of facts derived from that one.

use std::collections::BTreeMap;

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
}

impl<'s, B: Fn(FactId) -> Option<SetId>> Owning<'s, B> {
    /// Nothing is owned yet, of the facts from `first` on and before `end`.
    pub fn new(sets: &'s mut Sets, first: FactId, end: FactId, base: B) -> Self {
        let count = usize::try_from(end.get() - first.get()).expect("memory for each fact");
        Self { sets, first, own: vec![None; count], changed: BTreeMap::new(), base }
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

    /// A fact was derived from others.
    ///
    /// # Errors
    /// If there are no such facts.
    pub fn derive(&mut self, fact: FactId, sources: &[FactId]) -> Result<()> {
        self.check(fact)?;
        sources.iter().try_for_each(|source| self.check(*source))?;
        let owners: Vec<SetId> = sources.iter().filter_map(|source| self.of(*source)).collect();
        if !owners.is_empty() {
            let all = self.sets.all(owners);
            self.add(fact, all);
        }
        Ok(())
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
        let before = self.of(id);
        let now = before.map_or(owners, |before| self.sets.either(before, owners));
        match self.index(id) {
            Some(index) => self.own[index] = Some(now),
            None if before == Some(now) => {}
            None => drop(self.changed.insert(id.get(), now)),
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
        owning.derive(id(1028), &[id(1026), id(1027)]).expect("facts");
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
