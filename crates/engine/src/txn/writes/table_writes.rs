//! The changes of one table in a write set, by key.
//!
//! Many transactions change one key only: a tree for that would cost more memory and time than the rest of the set.
//! Used by `write_set` only.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, btree_map};
use std::mem;
use std::ops::{Bound, RangeBounds};

use crate::txn::writes::changed_key::ChangedKey;
use crate::txn::writes::pending::Pending;

/// See the module.
#[derive(Debug, Default)]
pub struct TableWrites {
    /// The only change, as long as no second was made beside it.
    first: Option<(ChangedKey, Pending)>,
    /// All changes otherwise; empty while there is a `first`.
    all: BTreeMap<ChangedKey, Pending>,
}

impl TableWrites {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.first.is_none() && self.all.is_empty()
    }

    /// How many keys have one.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.all.len()
    }

    /// The change of `key`.
    pub fn get(&self, key: &[u8]) -> Option<&Pending> {
        match &self.first {
            Some((first, pending)) => (**first == *key).then_some(pending),
            None => match ChangedKey::short(key) {
                Some(key) => self.all.get(&key),
                None => self.all.get(key),
            },
        }
    }

    /// The change of `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut Pending> {
        match &mut self.first {
            Some((first, pending)) => (**first == *key).then_some(pending),
            None => match ChangedKey::short(key) {
                Some(key) => self.all.get_mut(&key),
                None => self.all.get_mut(key),
            },
        }
    }

    /// Records a change. Returns the change of the same key before.
    pub fn set(&mut self, key: &[u8], pending: Pending) -> Option<Pending> {
        match &mut self.first {
            Some((first, place)) if **first == *key => return Some(mem::replace(place, pending)),
            None if self.all.is_empty() => {
                self.first = Some((key.into(), pending));
                return None;
            }
            first => self.all.extend(first.take()),
        }
        let Some(short) = ChangedKey::short(key) else {
            // A key that is there already need not be copied.
            return match self.all.get_mut(key) {
                Some(place) => Some(mem::replace(place, pending)),
                None => self.all.insert(key.into(), pending),
            };
        };
        match self.all.entry(short) {
            Entry::Occupied(mut place) => Some(place.insert(pending)),
            Entry::Vacant(place) => {
                place.insert(pending);
                None
            }
        }
    }

    /// Records changes whose keys rise, in one pass over the present changes. Passes each key to `each`, with the
    /// change of that key before.
    ///
    /// Requires: the keys rise.
    pub fn extend(
        &mut self,
        mut added: Vec<(ChangedKey, Pending)>,
        mut each: impl FnMut(&ChangedKey, Option<Pending>),
    ) {
        debug_assert!(added.is_sorted_by(|one, next| one.0 < next.0));
        if self.is_empty() && added.len() == 1 {
            added.iter().for_each(|(key, _)| each(key, None));
            self.first = added.pop();
            return;
        }
        self.all.extend(self.first.take());
        if self.all.is_empty() {
            added.iter().for_each(|(key, _)| each(key, None));
            self.all = added.into_iter().collect();
            return;
        }
        let mut merged = Vec::with_capacity(self.all.len() + added.len());
        let mut before = mem::take(&mut self.all).into_iter().peekable();
        for (key, pending) in added {
            merged.extend(std::iter::from_fn(|| before.next_if(|(other, _)| *other < key)));
            each(&key, before.next_if(|(other, _)| *other == key).map(|(_, replaced)| replaced));
            merged.push((key, pending));
        }
        merged.extend(before);
        self.all = merged.into_iter().collect();
    }

    /// Forgets the change of `key`, and returns it.
    pub fn remove(&mut self, key: &[u8]) -> Option<Pending> {
        match self.first.take_if(|(first, _)| **first == *key) {
            Some((_, pending)) => Some(pending),
            None => self.all.remove(key),
        }
    }

    /// The first change within `low`, unbounded above.
    pub fn first_from(&self, low: Bound<&[u8]>) -> Option<(&[u8], &Pending)> {
        let bounds = (low, Bound::Unbounded);
        let first = self.first.as_ref().filter(|(key, _)| bounds.contains(&**key)).map(|(key, pending)| (key, pending));
        first.or_else(|| self.all.range::<[u8], _>(bounds).next()).map(|(key, pending)| (&**key, pending))
    }

    /// The last change within `high`, unbounded below.
    pub fn last_until(&self, high: Bound<&[u8]>) -> Option<(&[u8], &Pending)> {
        let bounds = (Bound::Unbounded, high);
        let first = self.first.as_ref().filter(|(key, _)| bounds.contains(&**key)).map(|(key, pending)| (key, pending));
        first.or_else(|| self.all.range::<[u8], _>(bounds).next_back()).map(|(key, pending)| (&**key, pending))
    }

    /// All changes, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Pending)> {
        let first = self.first.iter().map(|(key, pending)| (&**key, pending));
        first.chain(self.all.iter().map(|(key, pending)| (&**key, pending)))
    }
}

impl IntoIterator for TableWrites {
    type Item = (ChangedKey, Pending);
    type IntoIter = std::iter::Chain<std::option::IntoIter<Self::Item>, btree_map::IntoIter<ChangedKey, Pending>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_those_of_a_map_whatever_is_set_and_removed() {
        let (mut changes, mut map) = (TableWrites::default(), BTreeMap::new());
        let mut state = 7_u32;
        for step in 0..20_000_u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Few keys at first, so that one change comes and goes many times.
            let byte = (state >> 24) as u8 % if step < 10_000 { 2 } else { 6 };
            let key = vec![byte; [1, 22, 23, 40][usize::from(byte % 4)]];
            if state & 0x30_0000 == 0 {
                changes = TableWrites::default();
                map.clear();
            } else if state & 0x10_0000 == 0 {
                let pending = Pending::Put(step.to_le_bytes().into());
                assert_eq!(changes.set(&key, pending.clone()), map.insert(key.clone(), pending));
            } else if state & 0x40_0000 == 0 {
                let added: Vec<_> = (0..=byte).map(|byte| (vec![byte; 23], Pending::Put([byte].into()))).collect();
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
                let first = map.range(low).next().map(|(key, pending)| (&key[..], pending));
                assert_eq!(changes.first_from(bound), first);
                let high = (Bound::Unbounded, bound.map(|_| key.clone()));
                let last = map.range(high).next_back().map(|(key, pending)| (&key[..], pending));
                assert_eq!(changes.last_until(bound), last);
            }
        }
        assert!(changes.into_iter().eq(map.into_iter().map(|(key, pending)| (ChangedKey::from(&key[..]), pending))));
    }
}
