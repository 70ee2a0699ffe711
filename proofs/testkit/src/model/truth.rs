//! What the database should hold: ordered maps, shared cheaply between moments.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The entries of a table.
pub type Entries = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// A key of the typed table.
pub type TypedKey = (String, i32);
/// A key and a value of the multimap.
pub type TypedPair = (String, u64);

/// What the typed table and the multimap should hold. A clone is cheap until it or the original changes.
#[derive(Clone, Debug, Default)]
pub struct TypedTruth {
    /// The rows of the typed table.
    pub rows: Arc<BTreeMap<TypedKey, i64>>,
    /// The pairs of the multimap.
    pub pairs: Arc<BTreeSet<TypedPair>>,
}

/// All tables by name. A clone is cheap until it or the original changes.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    tables: BTreeMap<String, Arc<Entries>>,
    /// What the typed table and the multimap hold.
    pub typed: TypedTruth,
}

impl Truth {
    /// The names of the tables of bytes.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.tables.keys()
    }

    /// How many of them there are.
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// The entries of a table. Requires: it exists.
    pub fn entries(&self, name: &str) -> &Entries {
        &self.tables[name]
    }

    /// The entries of a table, to change them. Requires: it exists.
    pub fn entries_mut(&mut self, name: &str) -> &mut Entries {
        Arc::make_mut(self.tables.get_mut(name).expect("the model has this table"))
    }

    /// Creates an empty table.
    pub fn create(&mut self, name: &str) {
        self.tables.insert(name.to_owned(), Arc::default());
    }

    /// Gives a table another name.
    pub fn rename(&mut self, before: &str, after: &str) {
        let entries = self.tables.remove(before).expect("the model has this table");
        self.tables.insert(after.to_owned(), entries);
    }

    /// Drops a table.
    pub fn drop_table(&mut self, name: &str) {
        self.tables.remove(name);
    }
}

/// The entries within bounds; none if the bounds are crossed, where the standard map would panic.
pub fn within<'m>(
    entries: &'m Entries,
    low: Bound<&'m [u8]>,
    high: Bound<&'m [u8]>,
) -> impl DoubleEndedIterator<Item = (&'m [u8], &'m [u8])> {
    let empty = match (low, high) {
        (Bound::Excluded(low), Bound::Excluded(high)) => low >= high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low > high,
        _ => false,
    };
    let range = if empty { None } else { Some(entries.range::<[u8], _>((low, high))) };
    range.into_iter().flatten().map(|(key, value)| (&**key, &**value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_crossed_hold_nothing_and_others_what_lies_between() {
        let entries: Entries = (0..5_u8).map(|number| (vec![number], Arc::from([number]))).collect();
        let keys = |low, high| within(&entries, low, high).map(|(key, _)| key[0]).collect::<Vec<u8>>();
        assert_eq!(keys(Bound::Unbounded, Bound::Excluded(&[2])), [0, 1]);
        assert_eq!(keys(Bound::Excluded(&[1]), Bound::Included(&[3])), [2, 3]);
        assert_eq!(keys(Bound::Included(&[2]), Bound::Included(&[2])), [2]);
        assert_eq!(keys(Bound::Included(&[2]), Bound::Excluded(&[2])), [0; 0]);
        assert_eq!(keys(Bound::Excluded(&[2]), Bound::Excluded(&[2])), [0; 0]);
        assert_eq!(keys(Bound::Included(&[4]), Bound::Included(&[1])), [0; 0]);
    }

    #[test]
    fn a_clone_keeps_what_the_original_held() {
        let mut truth = Truth::default();
        truth.create("t");
        truth.entries_mut("t").insert(b"k".to_vec(), Arc::from(*b"v"));
        let before = truth.clone();
        truth.entries_mut("t").clear();
        truth.create("u");
        truth.drop_table("t");
        assert_eq!((before.table_count(), before.entries("t").len()), (1, 1));
        assert_eq!(truth.names().collect::<Vec<_>>(), ["u"]);
    }
}
