//! Owners as a database stores them: the bytes of sets, and which sets are stored.
//!
//! A set begins with its kind. Sets of earlier versions have members of four bytes each. Now numbers that rise are
//! stored as differences, in one byte if they are small.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ownership::sets::{Member, OwnerSet, SetId, Sets, UnitId};
use crate::ownership::slice::OwnerIntervals;
use crate::value::bytes::Cursor;
use crate::value::nat::put_nat;

/// How many members of a set a slice needs to have its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// One of them.
    Any,
    /// Each of them.
    All,
}

/// What a database stores of the owners of its facts.
#[derive(Default)]
pub struct StoredOwners {
    /// The owners.
    pub owners: OwnerIntervals,
    /// The sets that the databases below do not have: their numbers and their bytes.
    pub sets: Vec<(u32, Vec<u8>)>,
}

impl StoredOwners {
    /// Leaves out the sets that no fact uses, of those from the number `first` on. The others get new numbers, in the
    /// same order.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn new(sets: &Sets, first: usize, mut owners: OwnerIntervals) -> Result<Self> {
        let used = sets.used(owners.starts.iter().filter_map(|(_, set)| *set));
        let mut next = u32::try_from(first).map_err(|_| Error::TooLarge)?;
        let (mut numbers, mut stored) = (HashMap::<SetId, SetId>::new(), Vec::new());
        for (number, set) in (next..).map(SetId).zip(sets.from(first)) {
            if !used[number.0 as usize] {
                continue;
            }
            let renumbered = |set: &SetId| numbers.get(set).copied().unwrap_or(*set);
            let set = match set {
                OwnerSet::Any(members) => OwnerSet::Any(
                    members
                        .iter()
                        .map(|member| match member {
                            Member::Set(set) => Member::Set(renumbered(set)),
                            unit => *unit,
                        })
                        .collect(),
                ),
                OwnerSet::All(parts) => OwnerSet::All(parts.iter().map(renumbered).collect()),
            };
            stored.push((next, encode(&set)?));
            numbers.insert(number, SetId(next));
            next += 1;
        }
        for (_, set) in &mut owners.starts {
            *set = set.map(|set| numbers.get(&set).copied().unwrap_or(set));
        }
        Ok(Self { owners, sets: stored })
    }
}

/// A set as it is stored.
///
/// # Errors
/// [`Error::TooLarge`].
fn encode(set: &OwnerSet) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match set {
        OwnerSet::Any(members) => {
            let units = members.iter().map_while(|member| match member {
                Member::Unit(unit) => Some(unit.0),
                Member::Set(_) => None,
            });
            bytes.push(ANY_RISING);
            put_nat(&mut bytes, units.clone().count() as u64);
            put_rising(&mut bytes, units)?;
            let sets = members.iter().filter_map(|member| match member {
                Member::Unit(_) => None,
                Member::Set(set) => Some(set.0),
            });
            put_rising(&mut bytes, sets)?;
        }
        OwnerSet::All(sets) => {
            bytes.push(ALL_RISING);
            put_rising(&mut bytes, sets.iter().map(|set| set.0))?;
        }
    }
    Ok(bytes)
}

/// Appends numbers, each as its difference from the least that it can be. Requires: they rise.
fn put_rising(bytes: &mut Vec<u8>, numbers: impl Iterator<Item = u32>) -> Result<()> {
    let mut least = 0;
    for number in numbers {
        if number >= SET_BIT {
            return Err(Error::TooLarge);
        }
        put_nat(bytes, u64::from(number.checked_sub(least).expect("members are sorted and different")));
        least = number + 1;
    }
    Ok(())
}

/// Reads the set with the number `id`: calls `each` with its members, in order. Its parts have lower numbers.
///
/// # Errors
/// [`Error::Damaged`].
pub fn each_member(bytes: &[u8], id: SetId, mut each: impl FnMut(Member)) -> Result<Needs> {
    let Some((kind, members)) = bytes.split_first() else { return Err(damaged()) };
    let mut each = |member: Member| match member {
        Member::Set(set) if set >= id => Err(damaged()),
        member => {
            each(member);
            Ok(())
        }
    };
    match *kind {
        ANY | ALL => {
            let (numbers, []) = members.as_chunks::<4>() else { return Err(damaged()) };
            for bytes in numbers {
                let number = u32::from_le_bytes(*bytes);
                each(match *kind {
                    ANY if number < SET_BIT => Member::Unit(UnitId(number)),
                    ANY => Member::Set(SetId(number & !SET_BIT)),
                    _ => Member::Set(SetId(number)),
                })?;
            }
        }
        ANY_RISING => {
            let mut members = Cursor::new(members);
            let (units, mut least) = (members.nat().map_err(|_| damaged())?, 0);
            for _ in 0..units {
                each(Member::Unit(UnitId(rising(&mut members, &mut least)?)))?;
            }
            each_set(members, &mut each)?;
        }
        ALL_RISING => each_set(Cursor::new(members), &mut each)?,
        _ => return Err(damaged()),
    }
    Ok(if matches!(*kind, ANY | ANY_RISING) { Needs::Any } else { Needs::All })
}

/// Calls `each` with the sets that are left.
fn each_set(mut members: Cursor<'_>, each: &mut impl FnMut(Member) -> Result<()>) -> Result<()> {
    let mut least = 0;
    while !members.rest().is_empty() {
        each(Member::Set(SetId(rising(&mut members, &mut least)?)))?;
    }
    Ok(())
}

/// The next number of those that [`put_rising`] has appended.
fn rising(members: &mut Cursor<'_>, least: &mut u32) -> Result<u32> {
    let difference = members.nat().map_err(|_| damaged())?;
    let number = u32::try_from(difference).ok().and_then(|difference| least.checked_add(difference));
    let number = number.filter(|number| *number < SET_BIT).ok_or_else(damaged)?;
    *least = number + 1;
    Ok(number)
}

/// Reads the set with the number `id`. Its parts have lower numbers.
///
/// # Errors
/// [`Error::Damaged`].
pub fn read(bytes: &[u8], id: SetId) -> Result<OwnerSet> {
    let mut members = Vec::new();
    Ok(match each_member(bytes, id, |member| members.push(member))? {
        Needs::Any => OwnerSet::Any(members.into()),
        Needs::All => {
            let set = |member| match member {
                Member::Set(set) => Some(set),
                Member::Unit(_) => None,
            };
            OwnerSet::All(members.into_iter().filter_map(set).collect())
        }
    })
}

fn damaged() -> Error {
    Error::Damaged { what: "a set of owners is malformed" }
}

/// Marks a set among members of four bytes. Numbers of units and sets are lower.
const SET_BIT: u32 = 1 << 31;
const ANY: u8 = 0; // On disk: never renumber, only append.
const ALL: u8 = 1;
const ANY_RISING: u8 = 2;
const ALL_RISING: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_as_they_were_written() {
        let mut sets = Sets::default();
        let [a, b, c] = [0, 300, 301].map(|unit| sets.unit(UnitId(unit)));
        let ab = sets.any([a, b, c]);
        let all = sets.all(vec![c, ab, a]);
        let any = sets.any([all, a, b]);
        let last = sets.unit(UnitId(SET_BIT - 1));
        for (number, set) in (0..).map(SetId).zip(sets.from(0)) {
            assert_eq!(read(&encode(set).expect("it fits"), number).expect("a set"), *set);
        }
        let bytes = |set: SetId| encode(sets.get(set).expect("a set")).expect("it fits");
        assert_eq!(bytes(ab), [2, 3, 0, 0x80, 0xab, 0]);
        assert_eq!(bytes(all), [3, 0, 1, 0]);
        assert!(read(&bytes(any), all).is_err());
        // Cut off, or with more than there are numbers for.
        assert!(read(&bytes(last)[..4], SetId(99)).is_err());
        assert!(read(&[2, 2, 0xf0, 0x6f, 0xdf, 0xbf, 0x7f, 0], SetId(99)).is_err());
        assert!(read(&[3, 0xff], SetId(99)).is_err());
        assert!(read(&[4], SetId(99)).is_err());
        let beyond = OwnerSet::Any([Member::Unit(UnitId(SET_BIT))].into());
        assert!(matches!(encode(&beyond), Err(Error::TooLarge)));
    }

    #[test]
    fn sets_of_earlier_versions_are_read() {
        let any = [0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x80];
        let members = [Member::Unit(UnitId(1)), Member::Unit(UnitId(2)), Member::Set(SetId(0))];
        assert_eq!(read(&any, SetId(1)).expect("a set"), OwnerSet::Any(members.into()));
        let all = [1, 0, 0, 0, 0, 1, 0, 0, 0];
        assert_eq!(read(&all, SetId(2)).expect("a set"), OwnerSet::All([SetId(0), SetId(1)].into()));
        assert!(read(&all, SetId(1)).is_err());
        assert!(read(&any, SetId(0)).is_err());
        assert!(read(&any[..4], SetId(1)).is_err());
    }

    #[test]
    fn only_sets_that_facts_use_are_stored() {
        let mut sets = Sets::default();
        let of_base = sets.unit(UnitId(0));
        let units: Vec<SetId> = (1..50).map(|unit| sets.unit(UnitId(unit))).collect();
        let both = sets.all(vec![of_base, units[30]]);
        let any = sets.any([both, units[40]]);
        let mut owners = OwnerIntervals::default();
        for (id, set) in [(1024, Some(any)), (1025, Some(of_base)), (1026, None)] {
            owners.push(id, set);
        }
        let stored = StoredOwners::new(&sets, 1, owners).expect("they fit");
        assert_eq!(stored.owners.starts, [(1024, Some(SetId(3))), (1025, Some(of_base)), (1026, None)]);
        let read: Vec<OwnerSet> =
            stored.sets.iter().map(|(number, bytes)| read(bytes, SetId(*number)).expect("a set")).collect();
        assert_eq!(stored.sets.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(read[0], OwnerSet::Any([Member::Unit(UnitId(31))].into()));
        assert_eq!(read[1], OwnerSet::All([SetId(0), SetId(1)].into()));
        assert_eq!(read[2], OwnerSet::Any([Member::Unit(UnitId(41)), Member::Set(SetId(2))].into()));
    }
}
