//! [`Reduction`]: sets of owners without some units, each computed when it is asked for.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::ownership::sets::{Member, OwnerSet, SetId, Sets, UnitId};

/// Sets without some units, which own nothing.
pub struct Reduction {
    gone: HashSet<UnitId>,
    /// Each set that was reduced, and the reduced set. The latter is none if the former needs a unit that is gone.
    known: HashMap<SetId, Option<SetId>>,
}

impl Reduction {
    /// Without these units.
    pub fn new(gone: HashSet<UnitId>) -> Self {
        Self { gone, known: HashMap::new() }
    }

    /// Reduces a set: returns it without the units that are gone. None if it needs one of these, or does not exist.
    pub fn of(&mut self, sets: &mut Sets, set: SetId) -> Option<SetId> {
        if self.gone.is_empty() {
            return sets.get(set).map(|_| set);
        }
        if let Some(known) = self.known.get(&set) {
            return *known;
        }
        // Parts have lower numbers than their set: each set is visited once, and its parts are reduced before it.
        let (mut open, mut order) = (BTreeSet::from([set]), Vec::new());
        while let Some(next) = open.pop_last() {
            if !self.known.contains_key(&next)
                && let Some(set) = sets.get(next)
            {
                set.each_part(|part| {
                    open.insert(part);
                });
                order.push(next);
            }
        }
        for next in order.into_iter().rev() {
            let left = self.reduce(sets, next);
            self.known.insert(next, left);
        }
        self.known.get(&set).copied().flatten()
    }

    /// Requires: the parts of the set are known.
    fn reduce(&self, sets: &mut Sets, set: SetId) -> Option<SetId> {
        let of = |set: &SetId| self.known.get(set).copied().flatten();
        match sets.get(set)? {
            OwnerSet::Any(members) => {
                let stays = |member: &Member| match member {
                    Member::Unit(unit) => !self.gone.contains(unit),
                    Member::Set(set) => of(set) == Some(*set),
                };
                if members.iter().all(stays) {
                    return Some(set);
                }
                let mut left = Vec::new();
                for member in members {
                    match member {
                        Member::Unit(unit) if self.gone.contains(unit) => {}
                        Member::Unit(_) => left.push(*member),
                        Member::Set(set) => {
                            if let Some(set) = of(set) {
                                sets.add_alternatives(set, &mut left);
                            }
                        }
                    }
                }
                if left.is_empty() { None } else { Some(sets.any_member(left)) }
            }
            OwnerSet::All(parts) => {
                let parts: Option<Vec<SetId>> = parts.iter().map(of).collect();
                parts.map(|parts| sets.all(parts))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_reduced_when_they_are_asked_for() {
        let mut sets = Sets::default();
        let [a, b, c] = [0, 1, 2].map(|unit| sets.unit(UnitId(unit)));
        let ab = sets.any([a, b]);
        let all = sets.all(vec![c, ab]);
        let any = sets.any([all, a]);
        let before = sets.len();
        let mut without_a = Reduction::new(HashSet::from([UnitId(0)]));
        assert_eq!([a, b, c, ab].map(|set| without_a.of(&mut sets, set)), [None, Some(b), Some(c), Some(b)]);
        // These exist without unit 0. The next one does not.
        assert_eq!(sets.len(), before);
        let left = without_a.of(&mut sets, any).expect("two units own it");
        assert_eq!((left, sets.len()), (sets.all(vec![c, b]), before + 1));
        assert_eq!(without_a.of(&mut sets, all), Some(left));
        let mut without_c = Reduction::new(HashSet::from([UnitId(2)]));
        assert_eq!([all, any].map(|set| without_c.of(&mut sets, set)), [None, Some(a)]);
        let mut whole = Reduction::new(HashSet::new());
        assert_eq!([any, SetId(99)].map(|set| whole.of(&mut sets, set)), [Some(any), None]);
        assert_eq!(without_a.of(&mut sets, SetId(99)), None);
    }
}
