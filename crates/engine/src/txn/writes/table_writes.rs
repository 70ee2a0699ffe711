//! The changes of one table in a write set, by key.
//!
//! They are a sorted list as long as that is cheap: while they are few, and while each new key is greater than all
//! others, or many come at once. A list is made, read through and dropped in a fraction of the time of a tree. Many
//! transactions change one key only, which has no list either. Used by `write_set`; walks use its iterators.

use std::cmp::Ordering;
use std::collections::{BTreeMap, btree_map};
use std::mem;
use std::ops::Bound;
use std::{iter, slice, vec};

use crate::txn::writes::pending::Pending;
use crate::txn::writes::small_bytes::ChangedKey;

/// A key, and what was done to it.
type Change = (ChangedKey, Pending);

/// See the module.
#[derive(Debug)]
pub struct TableWrites(Form);

#[derive(Debug)]
enum Form {
    /// The only change.
    One(Change),
    /// In order of the keys.
    List(Vec<Change>),
    Tree(BTreeMap<ChangedKey, Pending>),
}

/// The changes of a table, by key.
#[derive(Clone, Debug)]
pub struct Iter<'w> {
    list: slice::Iter<'w, Change>,
    /// The changes, if they are no list.
    tree: Option<btree_map::Iter<'w, ChangedKey, Pending>>,
}

/// The changes of a table between bounds, from either end.
#[derive(Clone, Debug, Default)]
pub struct Between<'w> {
    list: slice::Iter<'w, Change>,
    /// The changes, if they are no list.
    tree: Option<btree_map::Range<'w, ChangedKey, Pending>>,
}

impl Default for TableWrites {
    fn default() -> Self {
        Self(Form::List(Vec::new()))
    }
}

impl TableWrites {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys have one.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::One(_) => 1,
            Form::List(list) => list.len(),
            Form::Tree(tree) => tree.len(),
        }
    }

    /// The changes as a list; none if they are a tree.
    #[inline]
    fn list(&self) -> Option<&[Change]> {
        match &self.0 {
            Form::One(one) => Some(slice::from_ref(one)),
            Form::List(list) => Some(list),
            Form::Tree(_) => None,
        }
    }

    /// The change of `key`.
    pub fn get(&self, key: &[u8]) -> Option<&Pending> {
        match &self.0 {
            Form::One((one, pending)) => (**one == *key).then_some(pending),
            Form::List(list) => find(list, key).ok().map(|at| &list[at].1),
            Form::Tree(tree) => match ChangedKey::short(key) {
                Some(key) => tree.get(&key),
                None => tree.get(key),
            },
        }
    }

    /// The change of `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut Pending> {
        match &mut self.0 {
            Form::One((one, pending)) => (**one == *key).then_some(pending),
            Form::List(list) => find(list, key).ok().map(|at| &mut list[at].1),
            Form::Tree(tree) => match ChangedKey::short(key) {
                Some(key) => tree.get_mut(&key),
                None => tree.get_mut(key),
            },
        }
    }

    /// Records a change. Returns the change of the same key before.
    pub fn set(&mut self, key: &[u8], pending: Pending) -> Option<Pending> {
        match &mut self.0 {
            Form::One((one, place)) if **one == *key => return Some(mem::replace(place, pending)),
            Form::One(_) => {}
            Form::List(list) if list.is_empty() => {
                self.0 = Form::One((key.into(), pending));
                return None;
            }
            Form::List(list) => match find(list, key) {
                Ok(at) => return Some(mem::replace(&mut list[at].1, pending)),
                Err(at) if at == list.len() || list.len() < MOVED_MAX => {
                    list.insert(at, (key.into(), pending));
                    return None;
                }
                Err(_) => {}
            },
            Form::Tree(tree) => return set_in_tree(tree, key, pending),
        }
        self.0 = match mem::take(self).0 {
            Form::One(one) => {
                let added = (ChangedKey::from(key), pending);
                Form::List(if one.0 < added.0 { list_of(one, added) } else { list_of(added, one) })
            }
            Form::List(list) => {
                let mut tree: BTreeMap<_, _> = list.into_iter().collect();
                tree.insert(key.into(), pending);
                Form::Tree(tree)
            }
            tree @ Form::Tree(_) => tree,
        };
        None
    }

    /// Records changes whose keys rise, in one pass over the present changes. Passes each key to `each`, with the
    /// change of that key before.
    ///
    /// Requires: the keys rise.
    pub fn extend(&mut self, mut added: Vec<Change>, mut each: impl FnMut(&ChangedKey, Option<Pending>)) {
        debug_assert!(added.is_sorted_by(|one, next| one.0 < next.0));
        let is_above = match (self.list().and_then(<[Change]>::last), added.first()) {
            (Some((last, _)), Some((first, _))) => last < first,
            _ => self.is_empty(),
        };
        if is_above {
            added.iter().for_each(|(key, _)| each(key, None));
            self.0 = Form::List(match mem::take(self).0 {
                Form::List(mut list) if !list.is_empty() => {
                    list.append(&mut added);
                    list
                }
                Form::One(one) => iter::once(one).chain(added).collect(),
                Form::List(_) | Form::Tree(_) => added,
            });
            return;
        }
        let mut merged = Vec::with_capacity(self.len() + added.len());
        let mut before = mem::take(self).into_iter().peekable();
        for (key, pending) in added {
            merged.extend(iter::from_fn(|| before.next_if(|(other, _)| *other < key)));
            each(&key, before.next_if(|(other, _)| *other == key).map(|(_, replaced)| replaced));
            merged.push((key, pending));
        }
        merged.extend(before);
        self.0 = Form::List(merged);
    }

    /// Forgets the change of `key`, and returns it.
    pub fn remove(&mut self, key: &[u8]) -> Option<Pending> {
        match &mut self.0 {
            Form::One((one, _)) if **one != *key => None,
            Form::One(_) => match mem::take(self).0 {
                Form::One((_, pending)) => Some(pending),
                Form::List(_) | Form::Tree(_) => None,
            },
            Form::List(list) => {
                let at = find(list, key).ok()?;
                if list.len() - at <= MOVED_MAX {
                    return Some(list.remove(at).1);
                }
                let mut tree: BTreeMap<_, _> = mem::take(list).into_iter().collect();
                let removed = tree.remove(key);
                self.0 = Form::Tree(tree);
                removed
            }
            Form::Tree(tree) => tree.remove(key),
        }
    }

    /// The changes between bounds, by key. Requires: one of the bounds is unbounded.
    pub fn range(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Between<'_> {
        if let Form::Tree(tree) = &self.0 {
            return Between { list: Default::default(), tree: Some(tree.range::<[u8], _>((low, high))) };
        }
        let list = self.list().unwrap_or_default();
        let start = match low {
            Bound::Unbounded => 0,
            Bound::Included(key) => find(list, key).unwrap_or_else(|at| at),
            Bound::Excluded(key) => find(list, key).map_or_else(|at| at, |at| at + 1),
        };
        let end = match high {
            Bound::Unbounded => list.len(),
            Bound::Included(key) => find(list, key).map_or_else(|at| at, |at| at + 1),
            Bound::Excluded(key) => find(list, key).unwrap_or_else(|at| at),
        };
        Between { list: list[start..end].iter(), tree: None }
    }

    /// All changes, by key.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        let tree = match &self.0 {
            Form::Tree(tree) => Some(tree.iter()),
            Form::One(_) | Form::List(_) => None,
        };
        Iter { list: self.list().unwrap_or_default().iter(), tree }
    }
}

impl<'w> Iterator for Iter<'w> {
    type Item = (&'w [u8], &'w Pending);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match (self.list.next(), &mut self.tree) {
            (Some((key, pending)), _) => Some((key, pending)),
            (None, None) => None,
            (None, Some(tree)) => tree.next().map(pair),
        }
    }
}

impl<'w> Iterator for Between<'w> {
    type Item = (&'w [u8], &'w Pending);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.tree {
            Some(tree) => tree.next().map(pair),
            None => self.list.next().map(|(key, pending)| (&**key, pending)),
        }
    }
}

impl DoubleEndedIterator for Between<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.tree {
            Some(tree) => tree.next_back().map(pair),
            None => self.list.next_back().map(|(key, pending)| (&**key, pending)),
        }
    }
}

impl IntoIterator for TableWrites {
    type Item = Change;
    type IntoIter = iter::Chain<vec::IntoIter<Change>, btree_map::IntoIter<ChangedKey, Pending>>;

    fn into_iter(self) -> Self::IntoIter {
        let (list, tree) = match self.0 {
            Form::One(one) => (vec![one], BTreeMap::new()),
            Form::List(list) => (list, BTreeMap::new()),
            Form::Tree(tree) => (Vec::new(), tree),
        };
        list.into_iter().chain(tree)
    }
}

/// Where a key is in a list, or belongs. The last place is tried first: keys often come in order.
fn find(list: &[Change], key: &[u8]) -> Result<usize, usize> {
    let Some((last, before)) = list.split_last() else { return Err(0) };
    let short = ChangedKey::short(key);
    let order = |other: &ChangedKey| match &short {
        Some(key) => other.cmp(key),
        None => (**other).cmp(key),
    };
    match order(&last.0) {
        Ordering::Less => Err(list.len()),
        Ordering::Equal => Ok(before.len()),
        Ordering::Greater => before.binary_search_by(|(other, _)| order(other)),
    }
}

fn list_of(first: Change, second: Change) -> Vec<Change> {
    let mut list = Vec::with_capacity(LIST_CAPACITY);
    list.extend([first, second]);
    list
}

fn set_in_tree(tree: &mut BTreeMap<ChangedKey, Pending>, key: &[u8], pending: Pending) -> Option<Pending> {
    if let Some(short) = ChangedKey::short(key) {
        return tree.insert(short, pending);
    }
    // A key that is there already need not be copied.
    match tree.get_mut(key) {
        Some(place) => Some(mem::replace(place, pending)),
        None => tree.insert(key.into(), pending),
    }
}

fn pair<'w>((key, pending): (&'w ChangedKey, &'w Pending)) -> (&'w [u8], &'w Pending) {
    (key, pending)
}

/// In a list of so many changes any place may get another one: what is moved then takes no longer than a step in a
/// tree.
const MOVED_MAX: usize = 32;
/// Changes that a list has room for at first.
const LIST_CAPACITY: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_those_of_a_map_whatever_is_set_and_removed() {
        let (mut changes, mut map) = (TableWrites::default(), BTreeMap::new());
        let mut state = 7_u32;
        for step in 0..26_000_u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Few keys at first, so that one change comes and goes many times. Then more than a list has that is not
            // long, so that lists become trees and trees become lists.
            let (keys, resets) = [(2, 4), (6, 4), (120, 1024)][(step / 10_000) as usize];
            let byte = (state >> 24) as u8 % keys;
            let key = vec![byte; [1, 38, 39, 60][usize::from(byte % 4)]];
            if (state >> 10).is_multiple_of(resets) {
                changes = TableWrites::default();
                map.clear();
            } else if state & 0x10_0000 == 0 {
                let pending = Pending::put(&step.to_le_bytes(), false);
                assert_eq!(changes.set(&key, pending.clone()), map.insert(key.clone(), pending));
            } else if state & 0x40_0000 == 0 {
                let added: Vec<_> = (0..=byte).map(|byte| (vec![byte; 39], Pending::put(&[byte], false))).collect();
                let mut replaced = Vec::new();
                let as_keys = added.iter().map(|(key, pending)| (ChangedKey::from(&key[..]), pending.clone()));
                changes.extend(as_keys.collect(), |key, before| replaced.push((key.to_vec(), before)));
                let expected = added.into_iter().map(|(key, pending)| (key.clone(), map.insert(key, pending)));
                assert!(replaced.into_iter().eq(expected));
            } else {
                assert_eq!(changes.remove(&key), map.remove(&key));
            }
            assert_eq!((changes.len(), changes.is_empty()), (map.len(), map.is_empty()));
            assert!(changes.iter().eq(map.iter().map(|(key, pending)| (&key[..], pending))));
            assert_eq!(changes.get(&key), map.get(&key));
            for bound in [Bound::Included(&key[..]), Bound::Excluded(&key[..]), Bound::Unbounded] {
                let low = (bound.map(|_| key.clone()), Bound::Unbounded);
                let from = map.range(low).map(|(key, pending)| (&key[..], pending));
                assert!(changes.range(bound, Bound::Unbounded).eq(from));
                let high = (Bound::Unbounded, bound.map(|_| key.clone()));
                let until = map.range(high).map(|(key, pending)| (&key[..], pending));
                assert!(changes.range(Bound::Unbounded, bound).rev().eq(until.rev()));
            }
        }
        assert!(changes.into_iter().eq(map.into_iter().map(|(key, pending)| (ChangedKey::from(&key[..]), pending))));
    }
}
