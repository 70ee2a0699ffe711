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

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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
    /// Further owners of facts. They are united once the owners of the fact are asked for: a fact that many others
    /// refer to would have as many sets otherwise.
    added: BTreeMap<u64, BTreeSet<SetId>>,
    /// The owners of a fact of the base.
    base: B,
    /// Derived facts of whose derivations none has counted yet.
    unknown: HashSet<FactId>,
    /// Whether all units have claimed what they own: facts without owners are in every slice from then on.
    is_claimed: bool,
}

impl<'s, B: FnMut(&mut Sets, FactId) -> Option<SetId>> Owning<'s, B> {
    /// Nothing is owned yet, of the facts from `first` on and before `end`.
    pub fn new(sets: &'s mut Sets, first: FactId, end: FactId, base: B) -> Self {
        let count = usize::try_from(end.get() - first.get()).expect("memory for each fact");
        Self {
            sets,
            first,
            own: vec![None; count],
            changed: BTreeMap::new(),
            added: BTreeMap::new(),
            base,
            unknown: HashSet::new(),
            is_claimed: false,
        }
    }

    /// Units own facts: each of them those from one to another, both included.
    ///
    /// # Errors
    /// If there are no such facts.
    pub fn claim(&mut self, claims: Vec<(UnitId, FactId, FactId)>) -> Result<()> {
        let (mut claimed, mut bounds) = (Vec::with_capacity(claims.len()), Vec::with_capacity(2 * claims.len()));
        for (unit, first, last) in claims {
            self.check(first)?;
            self.check(last)?;
            claimed.push((first, last, self.sets.unit(unit)));
            bounds.extend([first, last.plus(1)]);
        }
        claimed.sort_unstable();
        bounds.sort_unstable();
        bounds.dedup();
        // Between two bounds, all facts have the same units, which are united once.
        let (mut later, mut begun) = (claimed.into_iter().peekable(), Vec::<(FactId, SetId)>::new());
        for (from, end) in bounds.iter().zip(bounds.iter().skip(1)) {
            while let Some((_, last, unit)) = later.next_if(|(first, ..)| first <= from) {
                begun.push((last, unit));
            }
            begun.retain(|(last, _)| last >= from);
            if begun.is_empty() {
                continue;
            }
            let owners = self.sets.any(begun.iter().map(|(_, unit)| *unit));
            (0..end.get() - from.get()).for_each(|offset| self.add(from.plus(offset), owners));
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
        let before = self.before(fact);
        let has = |added: &BTreeSet<SetId>| owners.iter().any(|set| added.contains(set));
        let has_source = self.added.get(&fact.get()).is_some_and(has);
        match before {
            // It is in every slice.
            None if !was_unknown => {}
            // Its sources are in every slice.
            _ if owners.is_empty() => {}
            None => {
                let all = self.sets.all(owners);
                self.set(fact, all);
            }
            // One of its sources is in no other slices than it is itself.
            Some(before) if has_source || owners.contains(&before) => {}
            Some(_) => {
                let all = self.sets.all(owners);
                self.added.entry(fact.get()).or_default().insert(all);
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
            let id = self.first.plus(next as u64);
            let Some(owners) = self.of(id) else { continue };
            self.follow_one(id, owners, &mut found, &mut references)?;
        }
        let mut below = self.first.get();
        while let Some(number) = self.last_below(below) {
            below = number;
            let id = FactId::new(number).expect("a fact of the base");
            let owners = self.of(id);
            if let Some(owners) = owners.filter(|_| self.changed.contains_key(&number)) {
                self.follow_one(id, owners, &mut found, &mut references)?;
            }
        }
        Ok(())
    }

    /// The owners, by intervals. Requires: references were followed after all else.
    pub fn finish(self) -> OwnerIntervals {
        debug_assert!(self.added.is_empty(), "owners of all facts are united");
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

    /// The last fact of the base before another whose owners change, or may change.
    fn last_below(&self, below: u64) -> Option<u64> {
        let changed = self.changed.range(..below).next_back().map(|(number, _)| *number);
        let added = self.added.range(..below).next_back().map(|(number, _)| *number);
        changed.max(added)
    }

    /// The owners of a fact. Requires: there is a fact with this id.
    fn of(&mut self, id: FactId) -> Option<SetId> {
        // Nothing is in `added` of a fact without owners.
        let before = self.before(id)?;
        let Some(added) = self.added.remove(&id.get()) else { return Some(before) };
        let now = self.sets.any(added.into_iter().chain([before]));
        if now != before {
            self.set(id, now);
        }
        Some(now)
    }

    /// The owners of a fact without those in `added`.
    fn before(&mut self, id: FactId) -> Option<SetId> {
        match self.index(id) {
            Some(index) => self.own[index],
            None => match self.changed.get(&id.get()) {
                Some(changed) => Some(*changed),
                None => (self.base)(self.sets, id),
            },
        }
    }

    /// Requires: there is a fact with this id.
    fn add(&mut self, id: FactId, owners: SetId) {
        match self.before(id) {
            None if self.index(id).is_some() && !self.is_claimed => self.set(id, owners),
            // It stays without owners.
            None => {}
            Some(before) if before == owners => {}
            Some(_) => {
                self.added.entry(id.get()).or_default().insert(owners);
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

    fn claim(unit: u32, first: u64, last: u64) -> (UnitId, FactId, FactId) {
        (UnitId(unit), id(first), id(last))
    }

    #[test]
    fn facts_that_several_units_claim_are_owned_by_all_of_them() {
        let mut sets = Sets::default();
        let mut owning = Owning::new(&mut sets, id(1024), id(1031), |_, _| None);
        let claims = [(0, 1024, 1027), (1, 1025, 1025), (0, 1026, 1028), (2, 1027, 1028), (3, 1025, 1025)];
        owning.claim(claims.map(|(unit, first, last)| claim(unit, first, last)).to_vec()).expect("facts");
        assert!(owning.added.is_empty(), "each fact has one set");
        let owners = owning.finish();
        for number in 1024..1031 {
            let claiming = claims.iter().filter(|(_, first, last)| (*first..=*last).contains(&number));
            let units: Vec<SetId> = claiming.map(|(unit, ..)| sets.unit(UnitId(*unit))).collect();
            let expected = (!units.is_empty()).then(|| sets.any(units));
            assert_eq!(owners.of(id(number)), expected, "{number}");
        }
    }

    #[test]
    fn owners_that_change_nothing_do_not_wait_to_be_united() {
        let mut sets = Sets::default();
        let [a, b] = [0, 1].map(|unit| sets.unit(UnitId(unit)));
        let mut owning = Owning::new(&mut sets, id(1030), id(1031), |_, fact| (fact.get() == 1025).then_some(a));
        // Of the base: one fact has no owners, and one has these already.
        [1024, 1025, 1030, 1030].into_iter().for_each(|number| owning.add(id(number), a));
        assert!(owning.added.is_empty());
        owning.add(id(1025), b);
        assert_eq!(owning.added.len(), 1);
    }

    #[test]
    fn owners_follow_references_and_derivations() {
        // 1027 refers to 1025, which refers to 1024; 1026 alone; 1028 is derived from 1026 and 1027 and refers to 1024.
        let mut sets = Sets::default();
        let mut owning = Owning::new(&mut sets, id(1024), id(1029), |_, _| None);
        let references = |fact: FactId, found: &mut Vec<FactId>| {
            match fact.get() {
                1027 => found.push(id(1025)),
                1025 | 1028 => found.push(id(1024)),
                _ => {}
            }
            Ok(())
        };
        owning.claim(vec![claim(0, 1026, 1026), claim(1, 1027, 1027)]).expect("facts");
        assert!(owning.claim(vec![claim(1, 1029, 1029)]).is_err());
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
        let mut owning = Owning::new(&mut sets, id(1024), id(1029), |_, _| None);
        owning.claim(vec![claim(0, 1024, 1024), claim(1, 1025, 1025)]).expect("facts");
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
        let mut owning = Owning::new(&mut sets, id(1030), id(1031), |_, fact| (fact.get() == 1025).then_some(old));
        owning.claim(vec![claim(1, 1030, 1030)]).expect("a fact");
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
        let forward = Owning::new(&mut sets, id(1024), id(1026), |_, _| None);
        assert!(refers_forward(forward));
    }

    #[test]
    fn owners_of_a_fact_that_many_refer_to_are_united_once() {
        // Each of the facts from 1031 on has a unit of its own and refers to 1030, which refers to the base.
        let mut sets = Sets::default();
        let old = sets.unit(UnitId(200));
        let mut owning = Owning::new(&mut sets, id(1030), id(1131), |_, fact| (fact.get() != 1027).then_some(old));
        let mut claims: Vec<_> =
            (0..100).map(|number| claim(number, 1031 + u64::from(number), 1031 + u64::from(number))).collect();
        // Units can own one fact too.
        claims.push(claim(100, 1031, 1031));
        owning.claim(claims).expect("facts");
        let mut references = |fact: FactId, found: &mut Vec<FactId>| {
            match fact.get() {
                1030 => found.extend([1025, 1026].map(id)),
                1025 => found.push(id(1024)),
                1031.. => found.push(id(1030)),
                _ => {}
            }
            Ok(())
        };
        owning.follow(&mut references).expect("in order");
        owning.derive(&[(id(1130), vec![id(1031), id(1032)]), (id(1130), vec![id(1033)])]).expect("facts");
        owning.follow(&mut references).expect("in order");
        let owners = owning.finish();
        // Those of units, of 1031, 1030 and the base; of the derivation, and of 1130, 1030 and the base with it.
        assert_eq!(sets.len(), 102 + 3 + 4);
        let all = sets.shown(|unit| unit == UnitId(77));
        let has = |number| owners.of(id(number)).is_some_and(|set| all[set.0 as usize]);
        assert_eq!([1024, 1025, 1026, 1030, 1031].map(has), [true, true, true, true, false]);
        assert_eq!(owners.of(id(1024)), owners.of(id(1026)));
        assert_eq!(owners.of(id(1027)), None);
    }

    fn refers_forward(mut owning: Owning<'_, impl FnMut(&mut Sets, FactId) -> Option<SetId>>) -> bool {
        owning.claim(vec![claim(0, 1024, 1024)]).expect("a fact");
        let followed = owning.follow(|_, found| {
            found.push(id(1025));
            Ok(())
        });
        matches!(followed, Err(Error::RefersForward { .. }))
    }
}
