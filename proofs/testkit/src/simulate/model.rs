//! What the database should hold, at every version that a snapshot may still see or a power cut may leave.
//!
//! A version is the number of a commit or a load, as the model counts them. Keys are numbers, whose bytes depend on
//! the table and rise with them; values are made from a seed.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite::{MergeOperator, Sequence, Table, TableOptions};

use crate::merge_function;
use crate::random::mix;

/// All tables that are, or were and may be seen.
#[derive(Debug, Default)]
pub struct Model {
    /// The newest version.
    pub version: u64,
    /// The tables, by their place here.
    pub tables: Vec<TableModel>,
    /// The newest versions, in order: since the oldest that a recovery may reach.
    pub committed: Vec<Committed>,
}

/// How a version came about.
#[derive(Clone, Copy, Debug)]
pub struct Committed {
    /// The version.
    pub version: u64,
    /// The newest commit with which it is seen.
    pub sequence: Sequence,
    /// By a load, which has no commit of its own, or one that only notes it; or by a transaction that had spilled,
    /// whose commit only notes it too.
    pub is_load: bool,
}

/// A table.
#[derive(Debug)]
pub struct TableModel {
    /// Its name.
    pub name: String,
    /// How its keys and values are.
    pub kind: Kind,
    /// The version that created it.
    created: u64,
    /// The version that dropped it.
    dropped: Option<u64>,
    /// The handle of this life.
    pub handle: Option<Table>,
    /// All versions of each key, rising.
    entries: BTreeMap<u32, Vec<(u64, Option<Value>)>>,
}

/// How the keys and values of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Form of its keys.
    pub keys: KeyForm,
    /// Keys there may be.
    pub space: u32,
    /// With counts of its own.
    pub counted: bool,
    /// With packed leaves.
    pub packed: bool,
    /// Values are numbers that are added to.
    pub adds: bool,
    /// That is done by a function, not by the operator.
    pub by_function: bool,
}

/// Forms of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// Four bytes.
    Short,
    /// A word and digits.
    Text,
    /// Longer than a page has room for in its cells.
    Long,
}

/// A value, by what it is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// So many bytes of a seed.
    Bytes(u32, u32),
    /// A number that is added to.
    Number(u64),
}

/// A change of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It gets a value.
    Put(Value),
    /// It has none any more.
    Delete,
    /// This is added to whatever it has.
    Add(u64),
}

impl Kind {
    /// The table's options.
    pub fn options(&self) -> TableOptions {
        let options = TableOptions::new().counted(self.counted).packed(self.packed);
        match (self.adds, self.by_function) {
            (false, _) => options,
            (true, false) => options.merge(MergeOperator::Add),
            (true, true) => options.merge_function(merge_function::ADDED),
        }
    }

    /// The bytes of a key.
    pub fn key(&self, number: u32) -> Vec<u8> {
        match self.keys {
            KeyForm::Short => number.to_be_bytes().to_vec(),
            KeyForm::Text => format!("a key of some length/{number:08}").into_bytes(),
            KeyForm::Long => {
                let mut key = format!("{number:08}").into_bytes();
                // Some have overflow pages, and neighbours have not.
                let length = if number.is_multiple_of(7) { 2500 } else { 30 + (number % 90) as usize };
                key.resize(length, b'.');
                key
            }
        }
    }
}

impl Value {
    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match *self {
            Self::Number(number) => number.to_be_bytes().to_vec(),
            Self::Bytes(length, seed) => {
                let length = length as usize;
                let mut bytes = Vec::with_capacity(length + 8);
                let mut part = u64::from(seed);
                while bytes.len() < length {
                    part = mix(part.wrapping_add(1));
                    bytes.extend_from_slice(&part.to_le_bytes());
                }
                bytes.truncate(length);
                bytes
            }
        }
    }
}

impl TableModel {
    /// Whether the table exists at a version.
    pub fn is_there(&self, version: u64) -> bool {
        self.created <= version && self.dropped.is_none_or(|dropped| dropped > version)
    }

    /// The handle of this life.
    ///
    /// # Panics
    /// If the table was not opened in this life.
    pub fn table(&self) -> Table {
        self.handle.clone().expect("tables are opened at the beginning of a life")
    }

    /// The value of a key at a version.
    pub fn get(&self, key: u32, version: u64) -> Option<Value> {
        self.entries.get(&key).and_then(|versions| at(versions, version))
    }

    /// The entries of some keys at a version.
    pub fn range(
        &self,
        keys: std::ops::Range<u32>,
        version: u64,
    ) -> impl DoubleEndedIterator<Item = (u32, Value)> + use<'_> {
        let keys = keys.start..keys.end.max(keys.start);
        self.entries.range(keys).filter_map(move |(key, versions)| Some((*key, at(versions, version)?)))
    }

    /// Whether a key changed after a version.
    pub fn changed_since(&self, key: u32, version: u64) -> bool {
        let newest = self.entries.get(&key).and_then(|versions| versions.last());
        newest.is_some_and(|(changed, _)| *changed > version)
    }
}

fn at(versions: &[(u64, Option<Value>)], version: u64) -> Option<Value> {
    versions.iter().rev().find(|(changed, _)| *changed <= version).and_then(|(_, value)| *value)
}

impl Model {
    /// The tables that exist now, by their places.
    pub fn live(&self) -> Vec<usize> {
        self.live_at(self.version)
    }

    /// The tables that exist at a version, by their places.
    pub fn live_at(&self, version: u64) -> Vec<usize> {
        (0..self.tables.len()).filter(|&table| self.tables[table].is_there(version)).collect()
    }

    /// Entries at a version.
    pub fn entries(&self, version: u64) -> u64 {
        self.live_at(version)
            .into_iter()
            .map(|table| self.tables[table].range(0..u32::MAX, version).count() as u64)
            .sum()
    }

    /// A version by which a table came. Returns the table's place.
    pub fn create(&mut self, name: &str, kind: Kind, handle: Option<Table>, sequence: Sequence) -> usize {
        let created = self.next(sequence, false);
        let entries = BTreeMap::new();
        self.tables.push(TableModel { name: name.into(), kind, created, dropped: None, handle, entries });
        self.tables.len() - 1
    }

    /// A version by which a table went.
    pub fn drop_table(&mut self, table: usize, sequence: Sequence) {
        self.tables[table].dropped = Some(self.next(sequence, false));
    }

    /// A version with these changes, of a transaction that had spilled or not.
    pub fn commit(&mut self, changes: &BTreeMap<(usize, u32), Change>, sequence: Sequence, was_spilled: bool) {
        let version = self.next(sequence, was_spilled);
        for (&(table, key), change) in changes {
            self.change(table, key, *change, version);
        }
    }

    /// A version by a load.
    pub fn load(&mut self, table: usize, entries: &[(u32, Value)], sequence: Sequence) {
        let version = self.next(sequence, true);
        for (key, value) in entries {
            self.change(table, *key, Change::Put(*value), version);
        }
    }

    fn next(&mut self, sequence: Sequence, is_load: bool) -> u64 {
        self.version += 1;
        self.committed.push(Committed { version: self.version, sequence, is_load });
        self.version
    }

    fn change(&mut self, table: usize, key: u32, change: Change, version: u64) {
        let versions = self.tables[table].entries.entry(key).or_default();
        let before = versions.last().and_then(|(_, value)| *value);
        let value = match (change, before) {
            (Change::Put(value), _) => Some(value),
            (Change::Delete, _) => None,
            (Change::Add(operand), Some(Value::Number(number))) => Some(Value::Number(number.wrapping_add(operand))),
            (Change::Add(operand), _) => Some(Value::Number(operand)),
        };
        versions.push((version, value));
    }

    /// The versions that a recovery to `sequence` may have come to, the newest first: none that lacks what was
    /// acknowledged.
    pub fn recovered(&self, sequence: Sequence, acknowledged: u64) -> Vec<u64> {
        let held = self.committed.iter().filter(|committed| committed.sequence <= sequence);
        // A load may be noted, and not have happened.
        let least = held.clone().filter(|committed| !committed.is_load).map(|committed| committed.version).max();
        let least = least.unwrap_or_else(|| self.committed.first().map_or(0, |first| first.version));
        let mut versions: Vec<u64> = held.map(|committed| committed.version).collect();
        versions.retain(|version| *version >= least.max(acknowledged));
        versions.reverse();
        versions
    }

    /// The newest version that a snapshot at `sequence` shows.
    pub fn version_at(&self, sequence: Sequence) -> u64 {
        let shown = self.committed.iter().rev().find(|committed| committed.sequence <= sequence);
        shown.or(self.committed.first()).map_or(self.version, |committed| committed.version)
    }

    /// Takes back all after a version: it is what was recovered, at `sequence`.
    pub fn revert(&mut self, version: u64, sequence: Sequence) {
        self.tables.truncate(self.tables.iter().take_while(|table| table.created <= version).count());
        for table in &mut self.tables {
            table.dropped.take_if(|dropped| *dropped > version);
            table.handle = None;
            table.entries.retain(|_, versions| {
                versions.truncate(versions.partition_point(|(changed, _)| *changed <= version));
                !versions.is_empty()
            });
        }
        self.version = version;
        self.begin(version, sequence);
    }

    /// Nothing before this version can be recovered any more, which is seen with `sequence`.
    pub fn begin(&mut self, version: u64, sequence: Sequence) {
        self.committed = vec![Committed { version, sequence, is_load: false }];
    }

    /// Forgets what is older than a version that no snapshot shows and no recovery reaches. Places of tables stay.
    pub fn forget_before(&mut self, version: u64) {
        for table in &mut self.tables {
            if table.dropped.is_some_and(|dropped| dropped <= version) {
                table.entries.clear();
                continue;
            }
            table.entries.retain(|_, versions| {
                let seen = versions.partition_point(|(changed, _)| *changed <= version);
                versions.drain(..seen.saturating_sub(1));
                versions.len() > 1 || versions[0].1.is_some() || versions[0].0 > version
            });
        }
        let seen = self.committed.partition_point(|committed| committed.version <= version);
        self.committed.drain(..seen.saturating_sub(1));
    }

    /// Names of the tables at a version.
    pub fn names(&self, version: u64) -> BTreeSet<&str> {
        self.live_at(version).into_iter().map(|table| self.tables[table].name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        let kind =
            Kind { keys: KeyForm::Short, space: 10, counted: false, packed: false, adds: true, by_function: false };
        let entries = BTreeMap::new();
        let table = TableModel { name: "t".into(), kind, created: 0, dropped: None, handle: None, entries };
        Model { tables: vec![table], ..Model::default() }
    }

    #[test]
    fn each_version_is_seen_as_it_was_until_it_is_forgotten() {
        let mut model = model();
        for number in 1..=4 {
            model.commit(&BTreeMap::from([((0, 7), Change::Add(number))]), Sequence(number), false);
        }
        model.commit(&BTreeMap::from([((0, 7), Change::Delete)]), Sequence(5), false);
        let sums: Vec<_> = (0..=5).map(|version| model.tables[0].get(7, version)).collect();
        let number = |number| Some(Value::Number(number));
        assert_eq!(sums, [None, number(1), number(3), number(6), number(10), None]);
        model.forget_before(3);
        assert_eq!(model.tables[0].get(7, 3), number(6));
        assert_eq!(model.committed.first().map(|committed| committed.version), Some(3));
        model.revert(4, Sequence(4));
        assert_eq!((model.version, model.tables[0].get(7, 9)), (4, number(10)));
    }

    #[test]
    fn a_load_that_was_not_acknowledged_may_have_happened_or_not() {
        let mut model = model();
        model.commit(&BTreeMap::from([((0, 1), Change::Add(1))]), Sequence(1), false);
        model.load(0, &[(2, Value::Number(5))], Sequence(1));
        model.commit(&BTreeMap::from([((0, 1), Change::Add(1))]), Sequence(2), false);
        assert_eq!(model.recovered(Sequence(1), 1), [2, 1]);
        assert_eq!(model.recovered(Sequence(1), 2), [2]);
        assert_eq!(model.recovered(Sequence(2), 2), [3]);
        assert_eq!(model.recovered(Sequence(1), 3), [0_u64; 0]);
    }

    #[test]
    fn keys_rise_with_their_numbers() {
        for keys in [KeyForm::Short, KeyForm::Text, KeyForm::Long] {
            let kind = Kind { keys, space: 100, counted: false, packed: false, adds: false, by_function: false };
            assert!((0..300).map(|number| kind.key(number)).is_sorted());
        }
    }
}
