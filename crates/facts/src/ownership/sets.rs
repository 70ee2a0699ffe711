//! Sets of owners: which units must be in a slice for it to have a fact.

use std::collections::HashMap;

/// The number of a unit: what owns facts, such as a file. Units of a stack of databases are numbered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u32);

/// The number of a set of owners. Sets of a stack of databases are numbered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub u32);

/// A part of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// A unit.
    Unit(UnitId),
    /// A conjunction.
    Set(SetId),
}

/// A set of owners. Its members are sorted and different.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OwnerSet {
    /// A slice has the fact if it has any of these.
    Any(Box<[Member]>),
    /// A slice has the fact if it has all of these: the owners of what the fact was derived from.
    All(Box<[SetId]>),
}

impl OwnerSet {
    /// Calls `each` with the sets among its members.
    pub fn each_part(&self, mut each: impl FnMut(SetId)) {
        match self {
            Self::Any(members) => members.iter().for_each(|member| {
                if let Member::Set(set) = member {
                    each(*set);
                }
            }),
            Self::All(sets) => sets.iter().copied().for_each(each),
        }
    }

    /// Which of 64 slices have its facts: a bit for each. `of_unit` says which of them have a unit, and `of_part` which
    /// have the facts of a part.
    pub fn slices(&self, of_unit: impl Fn(UnitId) -> u64, of_part: impl Fn(SetId) -> u64) -> u64 {
        let of_member = |member: &Member| match member {
            Member::Unit(unit) => of_unit(*unit),
            Member::Set(set) => of_part(*set),
        };
        match self {
            Self::Any(members) => members.iter().fold(0, |any, member| any | of_member(member)),
            Self::All(sets) => sets.iter().fold(u64::MAX, |all, set| all & of_part(*set)),
        }
    }
}

/// The sets of a stack of databases, each once.
#[derive(Default)]
pub struct Sets {
    sets: Vec<OwnerSet>,
    /// The numbers of the first sets. The others get theirs when a set is looked up.
    numbers: HashMap<OwnerSet, SetId>,
    /// How many sets have been added to `numbers`.
    numbered: usize,
}

impl Sets {
    /// How many there are: the number of the next one.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// The set with this number.
    pub fn get(&self, set: SetId) -> Option<&OwnerSet> {
        self.sets.get(set.0 as usize)
    }

    /// The sets, from that with the number `first` on.
    pub fn from(&self, first: usize) -> &[OwnerSet] {
        &self.sets[first..]
    }

    /// Adds the set with the next number. Requires: its parts are there.
    pub fn push(&mut self, set: OwnerSet) -> SetId {
        let id = SetId(u32::try_from(self.sets.len()).expect("memory holds fewer than 2³² sets"));
        self.sets.push(set);
        id
    }

    /// The set of one unit.
    pub fn unit(&mut self, unit: UnitId) -> SetId {
        self.number(OwnerSet::Any([Member::Unit(unit)].into()))
    }

    /// The set for facts that a slice has if it has any of `sets`. Requires: `sets` is not empty.
    pub fn any(&mut self, sets: impl IntoIterator<Item = SetId>) -> SetId {
        let mut sets: Vec<SetId> = sets.into_iter().collect();
        sets.sort_unstable();
        sets.dedup();
        if let [one] = *sets {
            return one;
        }
        let mut members = Vec::new();
        sets.into_iter().for_each(|set| self.add_alternatives(set, &mut members));
        self.any_member(members)
    }

    /// The set for facts that a slice has if it has any of `members`. Requires: `members` is not empty.
    pub(super) fn any_member(&mut self, mut members: Vec<Member>) -> SetId {
        // The members are those of several sets, each sorted: this is what a stable sort is fast at.
        members.sort();
        members.dedup();
        match *members {
            [Member::Set(one)] => one,
            _ => self.number(OwnerSet::Any(members.into())),
        }
    }

    /// The set for facts that a slice has if it has all of `sets`. Requires: `sets` is not empty.
    pub fn all(&mut self, mut sets: Vec<SetId>) -> SetId {
        sets.sort_unstable();
        sets.dedup();
        match *sets {
            [one] => one,
            _ => self.number(OwnerSet::All(sets.into())),
        }
    }

    /// Appends the members of a set if any of them is enough, or else the set.
    pub(super) fn add_alternatives(&self, set: SetId, members: &mut Vec<Member>) {
        match &self.sets[set.0 as usize] {
            OwnerSet::Any(alternatives) => members.extend_from_slice(alternatives),
            OwnerSet::All(_) => members.push(Member::Set(set)),
        }
    }

    /// Of each set, whether a slice with these units has its facts.
    pub fn shown(&self, has_unit: impl Fn(UnitId) -> bool) -> Vec<bool> {
        let shown = self.shown_in(|unit| if has_unit(unit) { u64::MAX } else { 0 });
        shown.into_iter().map(|slices| slices != 0).collect()
    }

    /// Of each set, which of 64 slices have its facts: a bit for each. `slices` says which of them have a unit.
    pub fn shown_in(&self, slices: impl Fn(UnitId) -> u64) -> Vec<u64> {
        let mut shown: Vec<u64> = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            let shown_in = set.slices(&slices, |part| shown.get(part.0 as usize).copied().unwrap_or(0));
            shown.push(shown_in);
        }
        shown
    }

    /// Of each set, whether it is one of `roots` or a part of them, however deep.
    pub fn used(&self, roots: impl IntoIterator<Item = SetId>) -> Vec<bool> {
        let mut used = vec![false; self.sets.len()];
        let mark = |used: &mut Vec<bool>, set: SetId| {
            if let Some(used) = used.get_mut(set.0 as usize) {
                *used = true;
            }
        };
        roots.into_iter().for_each(|set| mark(&mut used, set));
        // Parts have lower numbers than their set.
        for (number, set) in self.sets.iter().enumerate().rev() {
            if used[number] {
                set.each_part(|part| mark(&mut used, part));
            }
        }
        used
    }

    fn number(&mut self, set: OwnerSet) -> SetId {
        for (number, set) in (self.numbered..).zip(&self.sets[self.numbered..]) {
            self.numbers.entry(set.clone()).or_insert(SetId(number as u32));
        }
        self.numbered = self.sets.len();
        match self.numbers.get(&set) {
            Some(known) => *known,
            None => self.push(set),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_numbered_once() {
        let mut sets = Sets::default();
        let [a, b, c] = [0, 1, 2].map(|unit| sets.unit(UnitId(unit)));
        let ab = sets.any([a, b]);
        assert_eq!((sets.any([b, a, b]), sets.any([ab, a]), sets.any([a])), (ab, ab, a));
        let all = sets.all(vec![c, ab, c]);
        let any = sets.any([all, a]);
        assert_eq!((sets.len(), sets.any_member(vec![Member::Set(all)])), (6, all));

        let shown = sets.shown(|unit| unit == UnitId(1));
        assert_eq!([a, b, c, ab, all, any].map(|set| shown[set.0 as usize]), [false, true, false, true, false, false]);
        let shown = sets.shown(|unit| unit != UnitId(0));
        assert_eq!([a, b, c, ab, all, any].map(|set| shown[set.0 as usize]), [false, true, true, true, true, true]);
        let used = sets.used([all]);
        assert_eq!([a, b, c, ab, all, any].map(|set| used[set.0 as usize]), [false, false, true, true, true, false]);
    }
}
