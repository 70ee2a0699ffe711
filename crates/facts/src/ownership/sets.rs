//! Sets of owners: which units must be in a slice for it to have a fact.

use std::collections::HashMap;

use crate::error::{Error, Result};

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
    /// As it is stored: a byte, then the members in four bytes each. The high bit of a member marks a set.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let marked = |member: &Member| match *member {
            Member::Unit(UnitId(unit)) if unit < SET_BIT => Ok(unit),
            Member::Set(SetId(set)) if set < SET_BIT => Ok(set | SET_BIT),
            _ => Err(Error::TooLarge),
        };
        let (kind, numbers) = match self {
            Self::Any(members) => (ANY, members.iter().map(marked).collect::<Result<Vec<u32>>>()?),
            Self::All(sets) => (ALL, sets.iter().map(|set| set.0).collect()),
        };
        let mut bytes = vec![kind];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        Ok(bytes)
    }

    /// Reads the set with the number `id`. Its members have lower numbers.
    pub fn read(bytes: &[u8], id: SetId) -> Result<Self> {
        let damaged = Error::Damaged { what: "a set of owners is malformed" };
        let Some((kind, numbers)) = bytes.split_first() else { return Err(damaged) };
        let (numbers, []) = numbers.as_chunks::<4>() else { return Err(damaged) };
        let numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let set = match *kind {
            ANY => Self::Any(
                numbers
                    .map(|number| match number < SET_BIT {
                        true => Member::Unit(UnitId(number)),
                        false => Member::Set(SetId(number & !SET_BIT)),
                    })
                    .collect(),
            ),
            ALL => Self::All(numbers.map(SetId).collect()),
            _ => return Err(damaged),
        };
        let rises = match &set {
            Self::Any(members) => members.iter().all(|member| !matches!(member, Member::Set(set) if *set >= id)),
            Self::All(sets) => sets.iter().all(|set| *set < id),
        };
        if rises { Ok(set) } else { Err(damaged) }
    }
}

/// The sets of a stack of databases, each once.
#[derive(Default)]
pub struct Sets {
    sets: Vec<OwnerSet>,
    numbers: HashMap<OwnerSet, SetId>,
    /// Unions that were computed before.
    unions: HashMap<(SetId, SetId), SetId>,
}

impl Sets {
    /// How many there are: the number of the next one.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// The sets, from that with the number `first` on.
    pub fn from(&self, first: usize) -> &[OwnerSet] {
        &self.sets[first..]
    }

    /// Adds the set with the next number.
    pub fn push(&mut self, set: OwnerSet) -> SetId {
        let id = SetId(u32::try_from(self.sets.len()).expect("memory holds fewer than 2³² sets"));
        self.sets.push(set.clone());
        self.numbers.insert(set, id);
        id
    }

    /// The set of one unit.
    pub fn unit(&mut self, unit: UnitId) -> SetId {
        self.number(OwnerSet::Any([Member::Unit(unit)].into()))
    }

    /// The set for facts that a slice has if it has `a` or `b`.
    pub fn either(&mut self, a: SetId, b: SetId) -> SetId {
        let pair = (a.min(b), a.max(b));
        if a == b {
            return a;
        }
        if let Some(known) = self.unions.get(&pair) {
            return *known;
        }
        let mut members = self.alternatives(a);
        members.extend(self.alternatives(b));
        members.sort_unstable();
        members.dedup();
        let union = self.number(OwnerSet::Any(members.into()));
        self.unions.insert(pair, union);
        union
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

    /// Of each set, whether a slice with these units has its facts.
    pub fn shown(&self, has_unit: impl Fn(UnitId) -> bool) -> Vec<bool> {
        let mut shown: Vec<bool> = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            let has_set = |set: &SetId| shown.get(set.0 as usize).copied().unwrap_or(false);
            let has = match set {
                OwnerSet::Any(members) => members.iter().any(|member| match member {
                    Member::Unit(unit) => has_unit(*unit),
                    Member::Set(set) => has_set(set),
                }),
                OwnerSet::All(sets) => sets.iter().all(has_set),
            };
            shown.push(has);
        }
        shown
    }

    /// Each set so far without some units: a set that needs one of them is none any more.
    pub fn without(&mut self, is_gone: impl Fn(UnitId) -> bool) -> Vec<Option<SetId>> {
        let mut left: Vec<Option<SetId>> = Vec::with_capacity(self.sets.len());
        for index in 0..self.sets.len() {
            let of = |set: &SetId| left.get(set.0 as usize).copied().flatten();
            let set = match &self.sets[index] {
                OwnerSet::Any(members) => {
                    let mut alternatives = Vec::new();
                    for member in members {
                        match member {
                            Member::Unit(unit) if is_gone(*unit) => {}
                            Member::Unit(_) => alternatives.push(*member),
                            Member::Set(set) => {
                                alternatives.extend(of(set).map(|set| self.alternatives(set)).into_iter().flatten())
                            }
                        }
                    }
                    alternatives.sort_unstable();
                    alternatives.dedup();
                    (!alternatives.is_empty()).then(|| self.number(OwnerSet::Any(alternatives.into())))
                }
                OwnerSet::All(sets) => {
                    let sets: Option<Vec<SetId>> = sets.iter().map(of).collect();
                    sets.map(|sets| self.all(sets))
                }
            };
            left.push(set);
        }
        left
    }

    fn alternatives(&self, set: SetId) -> Vec<Member> {
        match &self.sets[set.0 as usize] {
            OwnerSet::Any(members) => members.to_vec(),
            OwnerSet::All(_) => vec![Member::Set(set)],
        }
    }

    fn number(&mut self, set: OwnerSet) -> SetId {
        match self.numbers.get(&set) {
            Some(known) => *known,
            None => self.push(set),
        }
    }
}

/// Marks a set among members.
const SET_BIT: u32 = 1 << 31;
const ANY: u8 = 0; // On disk: never renumber, only append.
const ALL: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_numbered_once_and_read_as_they_were_written() {
        let mut sets = Sets::default();
        let [a, b, c] = [0, 1, 2].map(|unit| sets.unit(UnitId(unit)));
        let ab = sets.either(a, b);
        assert_eq!((sets.either(b, a), sets.either(ab, a)), (ab, ab));
        let all = sets.all(vec![c, ab, c]);
        let any = sets.either(all, a);
        assert_eq!(sets.len(), 6);
        for (number, set) in sets.from(0).iter().enumerate() {
            let read = OwnerSet::read(&set.encode().expect("it fits"), SetId(number as u32));
            assert_eq!(read.expect("a set"), *set);
        }
        assert!(OwnerSet::read(&sets.from(0)[any.0 as usize].encode().expect("it fits"), all).is_err());
        assert!(OwnerSet::read(&[0, 1], a).is_err());

        let shown = sets.shown(|unit| unit == UnitId(1));
        assert_eq!([a, b, c, ab, all, any].map(|set| shown[set.0 as usize]), [false, true, false, true, false, false]);
        let left = sets.without(|unit| unit == UnitId(0));
        let c_and_b = sets.all(vec![c, b]);
        assert_eq!([a, b, ab, all].map(|set| left[set.0 as usize]), [None, Some(b), Some(b), Some(c_and_b)]);
        let shown = sets.shown(|unit| unit != UnitId(0));
        assert_eq!([a, b, c, ab, all, any].map(|set| shown[set.0 as usize]), [false, true, true, true, true, true]);
    }
}
