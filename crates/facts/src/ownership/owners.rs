//! [`Owner`]: the owners of a fact, by the names of units. [`Shares`]: how many facts depend on single units.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

use crate::ownership::sets::{Member, OwnerSet, SetId, Sets, UnitId};

/// The owners of a fact: the units that a slice must have, so that it has the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This unit.
    Unit(String),
    /// Any of these.
    Any(Vec<Owner>),
    /// All of these: the owners of what the fact was derived from.
    All(Vec<Owner>),
    /// More than is listed: an owner has at most a thousand parts, which are at most sixteen deep in each other.
    More,
}

impl Owner {
    fn write(&self, out: &mut fmt::Formatter<'_>, is_part: bool) -> fmt::Result {
        let (parts, between) = match self {
            Self::Unit(name) => return out.write_str(name),
            Self::More => return out.write_str("…"),
            Self::Any(parts) => (parts, " | "),
            Self::All(parts) => (parts, " & "),
        };
        if is_part {
            out.write_str("(")?;
        }
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                out.write_str(between)?;
            }
            part.write(out, true)?;
        }
        if is_part { out.write_str(")") } else { Ok(()) }
    }
}

/// As `a.rs | (b.rs & c.rs)`.
impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(out, false)
    }
}

/// Names the owners that one database records.
pub struct Naming<'s> {
    sets: &'s [OwnerSet],
    /// Of each set, whether any slice can have its facts.
    alive: Vec<bool>,
    names: &'s HashMap<UnitId, String>,
    /// Units that databases above hide: they own nothing here.
    hidden: &'s HashSet<UnitId>,
    parts: usize,
}

impl<'s> Naming<'s> {
    /// Names owners in sets, without units that are hidden.
    pub fn new(sets: &'s Sets, names: &'s HashMap<UnitId, String>, hidden: &'s HashSet<UnitId>) -> Self {
        // A unit without a name owns nothing.
        let alive = sets.shown(|unit| names.contains_key(&unit) && !hidden.contains(&unit));
        Self { sets: sets.from(0), alive, names, hidden, parts: 0 }
    }

    /// The owner that a set is. `None`, if no slice has its facts.
    pub fn owner(&mut self, set: SetId) -> Option<Owner> {
        self.parts = 0;
        self.is_alive(set).then(|| self.of_set(set, 0))
    }

    fn is_alive(&self, set: SetId) -> bool {
        self.alive.get(set.0 as usize).copied().unwrap_or(false)
    }

    /// Requires: the set is alive.
    fn of_set(&mut self, set: SetId, depth: usize) -> Owner {
        if depth == DEPTH_MAX {
            return Owner::More;
        }
        let sets = self.sets;
        let members: Vec<Member> = match &sets[set.0 as usize] {
            OwnerSet::Any(members) => members.to_vec(),
            OwnerSet::All(sets) => sets.iter().map(|set| Member::Set(*set)).collect(),
        };
        let mut parts = Vec::new();
        for member in members {
            if self.parts == PARTS_MAX {
                parts.push(Owner::More);
                break;
            }
            match member {
                Member::Unit(unit) if self.hidden.contains(&unit) => {}
                Member::Unit(unit) => {
                    if let Some(name) = self.names.get(&unit) {
                        self.parts += 1;
                        parts.push(Owner::Unit(name.clone()));
                    }
                }
                Member::Set(set) if self.is_alive(set) => {
                    self.parts += 1;
                    parts.push(self.of_set(set, depth + 1));
                }
                Member::Set(_) => {}
            }
        }
        match (parts.pop(), &sets[set.0 as usize]) {
            (Some(only), _) if parts.is_empty() => only,
            (None, _) => Owner::More,
            (Some(last), set) => {
                parts.push(last);
                if matches!(set, OwnerSet::Any(_)) { Owner::Any(parts) } else { Owner::All(parts) }
            }
        }
    }
}

/// How many facts depend on a single unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Facts with owners that a slice of this unit alone has.
    pub owned: u64,
    /// Facts that no slice without this unit has.
    pub needed: u64,
}

/// Counts the facts that depend on single units.
pub struct Shares<'s> {
    sets: &'s [OwnerSet],
    /// How many facts each set owns.
    facts: &'s HashMap<SetId, u64>,
    /// Units that own nothing.
    hidden: &'s HashSet<UnitId>,
    /// Of each set, whether facts or sets with facts use it.
    used: Vec<bool>,
    /// The most units that are in memory, of all sets together.
    entries_max: usize,
}

/// What single units mean to the facts of a set. Both lists are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByUnits {
    /// Units that are enough: a slice with one of them has the facts.
    enough: Vec<UnitId>,
    /// Units that are needed: a slice without one of them does not have the facts.
    needed: Vec<UnitId>,
}

impl<'s> Shares<'s> {
    /// Begins. Sets that no fact uses are passed over.
    pub fn new(sets: &'s Sets, facts: &'s HashMap<SetId, u64>, hidden: &'s HashSet<UnitId>) -> Self {
        let used = sets.used(facts.keys().copied());
        let sets = sets.from(0);
        let entries_max = ENTRIES_MAX.max(2 * sets.len());
        Self { sets, facts, hidden, used, entries_max }
    }

    /// The shares of units with numbers below `units`. If their lists do not fit into memory at once, they are counted
    /// in several rounds.
    pub fn counted(&self, units: u32) -> HashMap<UnitId, Share> {
        let mut shares: HashMap<UnitId, Share> = HashMap::new();
        let (mut first, mut width) = (0, units);
        while first < units {
            let round = first..first.saturating_add(width).min(units);
            // One unit always fits: each set has at most two entries of it.
            let Some(all) = self.by_units(&round) else {
                width = width.div_ceil(2);
                continue;
            };
            for (number, by_units) in (0..).map(SetId).zip(all) {
                let (Some(count), Some(by_units)) = (self.facts.get(&number), by_units) else { continue };
                by_units.enough.iter().for_each(|unit| shares.entry(*unit).or_default().owned += count);
                by_units.needed.iter().for_each(|unit| shares.entry(*unit).or_default().needed += count);
            }
            first = round.end;
        }
        shares
    }

    /// Of each set, what the units of a round mean to it: `None`, if no slice has its facts, because units are hidden.
    /// `None` instead of all, if memory has no place for the lists.
    fn by_units(&self, round: &Range<u32>) -> Option<Vec<Option<ByUnits>>> {
        let mut all: Vec<Option<ByUnits>> = Vec::with_capacity(self.sets.len());
        let mut entries = 0;
        for (set, is_used) in self.sets.iter().zip(&self.used) {
            let found = match set {
                _ if !is_used => None,
                OwnerSet::Any(members) => self.any(members, &all, round),
                OwnerSet::All(sets) => ByUnits::all(sets, &all),
            };
            entries += found.as_ref().map_or(0, |found| found.enough.len() + found.needed.len());
            if entries > self.entries_max {
                return None;
            }
            all.push(found);
        }
        Some(all)
    }

    /// Any of some members: each unit that is enough for one of them is enough, and those that all of them need are
    /// needed.
    fn any(&self, members: &[Member], all: &[Option<ByUnits>], round: &Range<u32>) -> Option<ByUnits> {
        let (mut enough, mut needed): (Vec<UnitId>, Option<Vec<UnitId>>) = (Vec::new(), None);
        for member in members {
            let own: &[UnitId] = match member {
                Member::Unit(unit) if self.hidden.contains(unit) => continue,
                Member::Unit(unit) if round.contains(&unit.0) => std::slice::from_ref(unit),
                Member::Unit(_) => &[],
                Member::Set(set) => match all.get(set.0 as usize) {
                    Some(Some(by_units)) => {
                        enough.extend(&by_units.enough);
                        retain(&mut needed, &by_units.needed);
                        continue;
                    }
                    _ => continue,
                },
            };
            enough.extend(own);
            retain(&mut needed, own);
        }
        enough.sort_unstable();
        enough.dedup();
        needed.map(|needed| ByUnits { enough, needed })
    }
}

impl ByUnits {
    /// All of some sets: each unit that is enough for all of them is enough, and those that one of them needs are
    /// needed.
    fn all(sets: &[SetId], all: &[Option<ByUnits>]) -> Option<Self> {
        let (mut enough, mut needed): (Option<Vec<UnitId>>, Vec<UnitId>) = (None, Vec::new());
        for set in sets {
            let by_units = all.get(set.0 as usize)?.as_ref()?;
            retain(&mut enough, &by_units.enough);
            needed.extend(&by_units.needed);
        }
        needed.sort_unstable();
        needed.dedup();
        enough.map(|enough| Self { enough, needed })
    }
}

/// Removes the units that others do not have. The others are sorted. The first list is that of others.
fn retain(units: &mut Option<Vec<UnitId>>, others: &[UnitId]) {
    match units {
        Some(units) => units.retain(|unit| others.binary_search(unit).is_ok()),
        None => *units = Some(others.to_vec()),
    }
}

/// Owners are listed so deeply at most.
const DEPTH_MAX: usize = 16;
/// An owner has so many parts at most.
const PARTS_MAX: usize = 1000;
/// So many units in lists take 64 MiB.
const ENTRIES_MAX: usize = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: u32) -> HashMap<UnitId, String> {
        (0..count).map(|unit| (UnitId(unit), format!("{unit}.rs"))).collect()
    }

    fn hidden(units: &[u32]) -> HashSet<UnitId> {
        units.iter().copied().map(UnitId).collect()
    }

    #[test]
    fn owners_are_written_with_the_names_of_units() {
        let mut sets = Sets::default();
        let [a, b, c] = [0, 1, 2].map(|unit| sets.unit(UnitId(unit)));
        let ab = sets.any([a, b]);
        let derived = sets.all(vec![c, ab]);
        let any = sets.any([derived, a]);
        let names = names(3);
        let written = |gone: &[u32]| {
            let hidden = hidden(gone);
            let mut naming = Naming::new(&sets, &names, &hidden);
            [a, ab, derived, any].map(|set| naming.owner(set).map_or("none".to_owned(), |by| by.to_string()))
        };
        assert_eq!(written(&[]), ["0.rs", "0.rs | 1.rs", "2.rs & (0.rs | 1.rs)", "0.rs | (2.rs & (0.rs | 1.rs))"]);
        assert_eq!(written(&[0]), ["none", "1.rs", "2.rs & 1.rs", "2.rs & 1.rs"]);
        assert_eq!(written(&[2]), ["0.rs", "0.rs | 1.rs", "none", "0.rs"]);
    }

    #[test]
    fn a_long_owner_is_cut_off() {
        let mut sets = Sets::default();
        let units: Vec<SetId> = (0..2000).map(|unit| sets.unit(UnitId(unit))).collect();
        let all = sets.any(units);
        let names = names(2000);
        let owner = Naming::new(&sets, &names, &HashSet::new()).owner(all).expect("units own it");
        assert!(matches!(&owner, Owner::Any(parts) if parts.len() == PARTS_MAX + 1), "{owner}");
        assert!(owner.to_string().ends_with(" | …"));
    }

    #[test]
    fn a_deep_owner_is_cut_off() {
        let mut sets = Sets::default();
        let units: Vec<SetId> = (0..40).map(|unit| sets.unit(UnitId(unit))).collect();
        let deep = |sets: &mut Sets, depth: usize| {
            units[1..=depth].iter().enumerate().fold(units[0], |inner, (level, unit)| match level % 2 {
                0 => sets.all(vec![inner, *unit]),
                _ => sets.any([inner, *unit]),
            })
        };
        let (fits, too_deep) = (deep(&mut sets, DEPTH_MAX - 1), deep(&mut sets, DEPTH_MAX + 1));
        let (names, hidden) = (names(40), HashSet::new());
        let mut naming = Naming::new(&sets, &names, &hidden);
        let mut owner = |set| naming.owner(set).expect("units own it").to_string();
        assert!(owner(fits).contains("0.rs") && !owner(fits).contains('…'), "{}", owner(fits));
        assert!(owner(too_deep).contains('…'), "{}", owner(too_deep));
    }

    #[test]
    fn shares_of_units_are_what_slices_of_single_units_say() {
        let mut sets = Sets::default();
        let [a, b, c, d] = [0, 1, 2, 3].map(|unit| sets.unit(UnitId(unit)));
        let ab = sets.any([a, b]);
        let derived = sets.all(vec![c, ab]);
        let both = sets.all(vec![a, ab]);
        let any = sets.any([derived, d]);
        let of_any = sets.all(vec![any, both]);
        let of_all = [a, ab, derived, both, any, of_any];
        for gone in [&[][..], &[1], &[2], &[0, 3]] {
            let hidden = hidden(gone);
            for set in of_all {
                // A set that no fact uses is not counted, and one that facts use counts for each of them.
                let facts = HashMap::from([(set, 7)]);
                let mut shares = Shares::new(&sets, &facts, &hidden);
                let counted = shares.counted(4);
                let is_shown = |has: &dyn Fn(u32) -> bool| {
                    sets.shown(|unit| has(unit.0) && !hidden.contains(&unit))[set.0 as usize]
                };
                for unit in 0..4 {
                    let owned = if is_shown(&|other| other == unit) { 7 } else { 0 };
                    let needed = if is_shown(&|_| true) && !is_shown(&|other| other != unit) { 7 } else { 0 };
                    let share = counted.get(&UnitId(unit)).copied().unwrap_or_default();
                    assert_eq!(share, Share { owned, needed }, "{unit} of {set:?} without {gone:?}");
                }
                // With little memory, few units are counted at a time.
                shares.entries_max = 2 * sets.len();
                assert_eq!(shares.counted(4), counted, "{set:?} without {gone:?}");
            }
        }
    }

    #[test]
    fn units_are_counted_in_rounds_if_their_lists_are_too_long() {
        let mut sets = Sets::default();
        let units: Vec<SetId> = (0..64).map(|unit| sets.unit(UnitId(unit))).collect();
        // Each set needs one unit more than the one before.
        let mut facts = HashMap::from([(units[0], 1)]);
        let mut inner = units[0];
        for unit in &units[1..] {
            inner = sets.all(vec![inner, *unit]);
            facts.insert(inner, 1);
        }
        let hidden = HashSet::new();
        let mut shares = Shares::new(&sets, &facts, &hidden);
        let at_once = shares.counted(64);
        assert!(shares.by_units(&(0..64)).is_some());
        let [first, last] = [0, 63].map(|unit| at_once[&UnitId(unit)]);
        assert_eq!((first, last), (Share { owned: 1, needed: 64 }, Share { owned: 0, needed: 1 }));
        shares.entries_max = 2 * sets.len();
        assert!(shares.by_units(&(0..64)).is_none());
        assert_eq!(shares.counted(64), at_once);
    }
}
