//! [`Meanings`]: whether two sets of owners mean the same, however they are written.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ids::FactId;
use crate::ownership::sets::{Member, OwnerSet, SetId, Sets, UnitId};
use crate::ownership::slice::OwnerIntervals;

/// Compares sets by the slices that have their facts.
pub struct Meanings<'s> {
    sets: &'s Sets,
    /// Of each round, the slices that each set is in, once they are computed.
    rounds: Vec<Vec<u64>>,
    /// Pairs that were found to mean the same.
    same: HashSet<(SetId, SetId)>,
}

impl<'s> Meanings<'s> {
    /// Of these sets.
    pub fn new(sets: &'s Sets) -> Self {
        Self { sets, rounds: Vec::new(), same: HashSet::new() }
    }

    /// The first fact that has other owners in one list than in the other.
    pub fn difference(&mut self, one: &OwnerIntervals, other: &OwnerIntervals) -> Option<FactId> {
        let mut starts: Vec<u64> = one.starts.iter().chain(&other.starts).map(|(start, _)| *start).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.into_iter().filter_map(FactId::new).find(|id| match (one.of(*id), other.of(*id)) {
            (None, None) => false,
            (Some(one), Some(other)) => !self.are_same(one, other),
            _ => true,
        })
    }

    /// Whether both sets mean the same. If one of them has parts, slices decide: first random slices, which find most
    /// differences soon, and then slices of their parts.
    fn are_same(&mut self, one: SetId, other: SetId) -> bool {
        match (self.sets.get(one), self.sets.get(other)) {
            (Some(first), Some(second)) if first == second => return true,
            (Some(first), Some(second)) if !(is_flat(first) && is_flat(second)) => {}
            _ => return false,
        }
        if self.rounds.is_empty() {
            self.rounds = (0..ROUNDS).map(|round| self.sets.shown_in(|unit| slices_of(unit, round))).collect();
        }
        if self.same.contains(&(one, other)) {
            return true;
        }
        let is_same = self.rounds.iter().all(|shown| shown[one.0 as usize] == shown[other.0 as usize])
            && self.are_same_by_parts(one, other);
        if is_same {
            self.same.insert((one, other));
        }
        is_same
    }

    /// Compares both sets by slices, and returns whether each slice has the facts of both or of none. For each part
    /// there are two slices: that of its units, and that of all other units. For each unit there are also two: that of
    /// this unit, and that of all others.
    ///
    /// This is exact if both sets are conjunctions of alternatives of units: a slice without the facts of such a set
    /// has no unit of one of its alternatives. It is also exact if both sets are alternatives of conjunctions.
    fn are_same_by_parts(&self, one: SetId, other: SetId) -> bool {
        let parts = self.parts(one, other);
        let mut units: HashMap<SetId, BTreeSet<UnitId>> = HashMap::new();
        for (id, set) in &parts {
            let mut below: BTreeSet<UnitId> = BTreeSet::new();
            set.each_part(|part| below.extend(units.get(&part).into_iter().flatten()));
            if let OwnerSet::Any(members) = set {
                below.extend(members.iter().filter_map(|member| match member {
                    Member::Unit(unit) => Some(*unit),
                    Member::Set(_) => None,
                }));
            }
            units.insert(*id, below);
        }
        let single: BTreeSet<UnitId> = units.values().flatten().copied().collect();
        let mut groups: Vec<BTreeSet<UnitId>> = units.into_values().collect();
        groups.extend(single.into_iter().map(|unit| BTreeSet::from([unit])));
        groups.chunks(64).all(|groups| {
            let mut within: HashMap<UnitId, u64> = HashMap::new();
            for (bit, units) in groups.iter().enumerate() {
                units.iter().for_each(|unit| *within.entry(*unit).or_default() |= 1 << bit);
            }
            let inside = |unit: UnitId| within.get(&unit).copied().unwrap_or(0);
            let is_same = |of_unit: &dyn Fn(UnitId) -> u64| {
                let mut shown: HashMap<SetId, u64> = HashMap::new();
                for (id, set) in &parts {
                    let slices = set.slices(of_unit, |part| shown.get(&part).copied().unwrap_or(0));
                    shown.insert(*id, slices);
                }
                shown.get(&one) == shown.get(&other)
            };
            is_same(&inside) && is_same(&|unit: UnitId| !inside(unit))
        })
    }

    /// Two sets, their parts, the parts of these and so on. Each set comes after its parts.
    fn parts(&self, one: SetId, other: SetId) -> Vec<(SetId, &'s OwnerSet)> {
        // Parts have lower numbers than their set: each is visited once.
        let (mut open, mut parts) = (BTreeSet::from([one, other]), Vec::new());
        while let Some(next) = open.pop_last() {
            if let Some(set) = self.sets.get(next) {
                set.each_part(|part| {
                    open.insert(part);
                });
                parts.push((next, set));
            }
        }
        parts.reverse();
        parts
    }
}

/// Whether a set has no parts: such sets mean the same only if they are the same.
fn is_flat(set: &OwnerSet) -> bool {
    match set {
        OwnerSet::Any(members) => members.iter().all(|member| matches!(member, Member::Unit(_))),
        OwnerSet::All(_) => false,
    }
}

/// Which of the 64 random slices of a round have a unit. Rounds have half of the units, a quarter, and so on, and then
/// all but a half, all but a quarter, and so on.
fn slices_of(unit: UnitId, round: u32) -> u64 {
    let random = |number: u32| {
        let mut hasher = DefaultHasher::new();
        (unit.0, round, number).hash(&mut hasher);
        hasher.finish()
    };
    let few = (0..=round / 2).map(random).fold(u64::MAX, |slices, random| slices & random);
    if round.is_multiple_of(2) { few } else { !few }
}

/// So many rounds of 64 slices.
const ROUNDS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_compared_by_their_meaning() {
        let mut sets = Sets::default();
        let units: Vec<SetId> = (0..40).map(|unit| sets.unit(UnitId(unit))).collect();
        let [a, b, c] = [0, 1, 2].map(|unit| units[unit]);
        let (ab, ac) = (sets.any([a, b]), sets.any([a, c]));
        let bc = sets.all(vec![b, c]);
        // a | (b & c), twice, and one that lacks the second half.
        let distributed = sets.all(vec![ab, ac]);
        let direct = sets.any([a, bc]);
        let (many, but_one) = (sets.any(units.clone()), sets.any(units[1..].to_vec()));
        let list = |of: &[SetId]| {
            let mut owners = OwnerIntervals::default();
            (1024..).zip(of).for_each(|(id, set)| owners.push(id, Some(*set)));
            owners
        };
        let first = list(&[direct, a, many]);
        let differs = |other: &[SetId]| Meanings::new(&sets).difference(&first, &list(other)).map(FactId::get);
        assert_eq!(differs(&[distributed, a, many]), None);
        assert_eq!(differs(&[distributed, ab, many]), Some(1025));
        assert_eq!(differs(&[a, a, many]), Some(1024));
        assert_eq!(differs(&[direct, a, but_one]), Some(1026));
        assert_eq!(differs(&[direct]), Some(1025));
        assert_eq!(differs(&[direct, SetId(999), many]), Some(1025));
    }

    /// Random slices seldom have all but one of many units, or all but those of one part.
    #[test]
    fn large_sets_that_differ_in_one_part_do_not_mean_the_same() {
        let mut sets = Sets::default();
        let units: Vec<SetId> = (0..300).map(|unit| sets.unit(UnitId(unit))).collect();
        let pairs: Vec<SetId> = units.chunks(2).map(|pair| sets.any(pair.iter().copied())).collect();
        let (all, but_one) = (sets.all(units.clone()), sets.all(units[1..].to_vec()));
        let (of_pairs, but_a_pair) = (sets.all(pairs.clone()), sets.all(pairs[1..].to_vec()));
        // Slices that have one of the first pair have one of these.
        let three = sets.any(units[..3].iter().copied());
        let longer = sets.all([&pairs[..], &[three]].concat());
        let (either, other) = (sets.any([all, but_a_pair]), sets.any([but_one, but_a_pair]));
        let mut meanings = Meanings::new(&sets);
        let mut is_same = |one, other| meanings.are_same(one, other);
        assert!(!is_same(all, but_one) && !is_same(of_pairs, but_a_pair));
        assert!(is_same(of_pairs, longer) && is_same(either, other));
    }
}
