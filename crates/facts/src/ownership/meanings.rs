//! [`Meanings`]: whether two sets of owners mean the same, however they are written.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ids::FactId;
use crate::ownership::sets::{Member, OwnerSet, SetId, Sets, UnitId};
use crate::ownership::slice::OwnerIntervals;

/// Compares sets by the slices that have their facts.
pub struct Meanings<'s> {
    sets: &'s Sets,
    /// Of each round, the slices that each set is in, once they are computed.
    rounds: Vec<Vec<u64>>,
}

impl<'s> Meanings<'s> {
    /// Of these sets.
    pub fn new(sets: &'s Sets) -> Self {
        Self { sets, rounds: Vec::new() }
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

    /// Whether both sets mean the same. If one of them has parts, random slices decide.
    fn are_same(&mut self, one: SetId, other: SetId) -> bool {
        match (self.sets.get(one), self.sets.get(other)) {
            (Some(first), Some(second)) if first == second => return true,
            (Some(first), Some(second)) if !(is_flat(first) && is_flat(second)) => {}
            _ => return false,
        }
        if self.rounds.is_empty() {
            self.rounds = (0..ROUNDS).map(|round| self.sets.shown_in(|unit| slices_of(unit, round))).collect();
        }
        self.rounds.iter().all(|shown| shown[one.0 as usize] == shown[other.0 as usize])
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
}
