//! Asks a snapshot, and compares the answers with the model at the version that it sees.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};

use fulgurite::{Read, ReadTxn, Result, Table};

use super::model::{Kind, Model, Value};
use crate::random::Random;

/// A snapshot, and what it sees.
#[derive(Debug)]
pub struct Held {
    /// The snapshot.
    pub txn: ReadTxn,
    /// The version of the model that it sees.
    pub version: u64,
    /// When it began, in operations.
    pub since: u64,
    /// When it is to end, in operations.
    pub until: u64,
}

/// The model, for all tasks. Nobody hands over while it has it.
pub type SharedModel = Arc<Mutex<Model>>;

/// What an answer is compared with.
pub fn lock(model: &SharedModel) -> MutexGuard<'_, Model> {
    model.lock().expect("no thread panics while it holds this lock")
}

/// Why a question was not answered as it should be.
#[derive(Debug)]
pub enum Wrong {
    /// The answer is not the model's.
    Answer(String),
    /// The engine failed.
    Failed(fulgurite::Error),
}

impl From<fulgurite::Error> for Wrong {
    fn from(error: fulgurite::Error) -> Self {
        Self::Failed(error)
    }
}

/// A table that a question is asked of.
struct Asked {
    place: usize,
    name: String,
    kind: Kind,
    table: Table,
}

impl Held {
    /// Asks any question. Returns what was asked; `None` if there is no table.
    pub fn ask(&self, model: &SharedModel, random: &mut Random) -> std::result::Result<Option<&'static str>, Wrong> {
        let Some(asked) = self.draw_table(model, random) else { return Ok(None) };
        let key = random.below(u64::from(asked.kind.space)) as u32;
        let what = match random.below(100) {
            0..50 => {
                self.get(model, &asked, key)?;
                "gets by snapshots"
            }
            50..60 => {
                // Neighbours too: so that a bound between two ranges is among them now and then.
                let keys: Vec<u32> = if random.coin() {
                    (0..8).map(|_| random.below(u64::from(asked.kind.space)) as u32).collect()
                } else {
                    (key..key + 100).collect()
                };
                self.get_many(model, &asked, &keys)?;
                "gets of several keys"
            }
            60..85 => {
                let count = 1 + random.below(120) as u32;
                self.range(model, &asked, key, count, random.coin())?;
                "ranges"
            }
            85..99 => {
                let count = random.below(2000) as u32;
                self.count(model, &asked, key, count)?;
                "counts"
            }
            _ => {
                self.whole(model, asked.place)?;
                "whole tables"
            }
        };
        Ok(Some(what))
    }

    fn draw_table(&self, model: &SharedModel, random: &mut Random) -> Option<Asked> {
        let model = lock(model);
        let live = model.live_at(self.version);
        if live.is_empty() {
            return None;
        }
        let place = live[random.index(live.len())];
        let table = &model.tables[place];
        Some(Asked { place, name: table.name.clone(), kind: table.kind, table: table.table() })
    }

    fn get(&self, model: &SharedModel, asked: &Asked, key: u32) -> std::result::Result<(), Wrong> {
        let found = self.txn.get(&asked.table, &asked.kind.key(key))?.map(|value| value.to_vec());
        let expected = lock(model).tables[asked.place].get(key, self.version);
        self.compare(asked, key, found.as_deref(), expected)
    }

    fn get_many(&self, model: &SharedModel, asked: &Asked, keys: &[u32]) -> std::result::Result<(), Wrong> {
        let bytes: Vec<Vec<u8>> = keys.iter().map(|key| asked.kind.key(*key)).collect();
        let slices: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let found = self.txn.get_many(&asked.table, &slices)?;
        for (key, found) in keys.iter().zip(found) {
            let expected = lock(model).tables[asked.place].get(*key, self.version);
            self.compare(asked, *key, found.as_deref(), expected)?;
        }
        Ok(())
    }

    fn compare(
        &self,
        asked: &Asked,
        key: u32,
        found: Option<&[u8]>,
        expected: Option<Value>,
    ) -> std::result::Result<(), Wrong> {
        if found == expected.map(|value| value.bytes()).as_deref() {
            return Ok(());
        }
        let Self { version, .. } = self;
        let (name, found) = (&asked.name, found.map(|found| &found[..found.len().min(16)]));
        Err(Wrong::Answer(format!(
            "key {key} of table `{name}` at version {version} (commit {}) has {found:?}, not {expected:?}",
            self.txn.sequence().0
        )))
    }

    /// Some entries from a key on, or up to it.
    fn range(
        &self,
        model: &SharedModel,
        asked: &Asked,
        key: u32,
        count: u32,
        backward: bool,
    ) -> std::result::Result<(), Wrong> {
        let bytes = asked.kind.key(key);
        let bounds = if backward {
            (Bound::Unbounded, Bound::Excluded(&bytes[..]))
        } else {
            (Bound::Included(&bytes[..]), Bound::Unbounded)
        };
        let range = self.txn.range(&asked.table, bounds)?;
        let own = |entry: Result<(fulgurite::Value<'_>, fulgurite::Value<'_>)>| {
            entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
        };
        let found: Vec<(Vec<u8>, Vec<u8>)> = if backward {
            range.rev().take(count as usize).map(own).collect::<Result<_>>()?
        } else {
            range.take(count as usize).map(own).collect::<Result<_>>()?
        };
        let model = lock(model);
        let table = &model.tables[asked.place];
        let expected: Vec<(u32, Value)> = if backward {
            table.range(0..key, self.version).rev().take(count as usize).collect()
        } else {
            table.range(key..u32::MAX, self.version).take(count as usize).collect()
        };
        self.compare_entries(asked, &found, &expected)
    }

    fn compare_entries(
        &self,
        asked: &Asked,
        found: &[(Vec<u8>, Vec<u8>)],
        expected: &[(u32, Value)],
    ) -> std::result::Result<(), Wrong> {
        for (index, (key, value)) in expected.iter().enumerate() {
            let key_bytes = asked.kind.key(*key);
            let Some((found_key, found_value)) = found.get(index) else {
                return Err(self.unlike(asked, &format!("entry {index} is missing, of key {key}")));
            };
            if *found_key != key_bytes {
                let found_key = String::from_utf8_lossy(&found_key[..found_key.len().min(32)]).into_owned();
                return Err(self.unlike(asked, &format!("entry {index} has the key {found_key:?}, not {key}")));
            }
            self.compare(asked, *key, Some(found_value), Some(*value))?;
        }
        if found.len() != expected.len() {
            return Err(self.unlike(asked, &format!("{} entries, not {}", found.len(), expected.len())));
        }
        Ok(())
    }

    fn unlike(&self, asked: &Asked, how: &str) -> Wrong {
        let Self { version, .. } = self;
        Wrong::Answer(format!("table `{}` at version {version} (commit {}): {how}", asked.name, self.txn.sequence().0))
    }

    fn count(&self, model: &SharedModel, asked: &Asked, key: u32, count: u32) -> std::result::Result<(), Wrong> {
        let end = key.saturating_add(count);
        let (low, high) = (asked.kind.key(key), asked.kind.key(end));
        let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        let found = if low < high { self.txn.count(&asked.table, bounds)? } else { 0 };
        let expected = lock(model).tables[asked.place].range(key..end, self.version).count() as u64;
        if found == expected {
            return Ok(());
        }
        Err(self.unlike(asked, &format!("{found} keys between {key} and {end} are counted, not {expected}")))
    }

    /// A table from its first entry to its last, and their number.
    pub fn whole(&self, model: &SharedModel, place: usize) -> std::result::Result<(), Wrong> {
        let asked = {
            let model = lock(model);
            let table = &model.tables[place];
            let (name, kind) = (table.name.clone(), table.kind);
            drop(model);
            // Of the database that the snapshot is of: it may be what a power cut left of another one.
            let table = self.txn.open_table(&name)?;
            Asked { place, name, kind, table }
        };
        let entries = self.txn.range(&asked.table, ..)?;
        let found: Vec<_> =
            entries.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect::<Result<_>>()?;
        let counted = self.txn.len(&asked.table)?;
        if counted != found.len() as u64 {
            return Err(self.unlike(&asked, &format!("it has {} entries and counts {counted}", found.len())));
        }
        let expected: Vec<_> = lock(model).tables[place].range(0..u32::MAX, self.version).collect();
        self.compare_entries(&asked, &found, &expected)
    }

    /// All tables, whole, and that there are no others.
    pub fn everything(&self, model: &SharedModel) -> std::result::Result<(), Wrong> {
        let found: std::collections::BTreeSet<String> =
            self.txn.tables().iter().map(|table| table.name().to_owned()).collect();
        let (expected, live) = {
            let model = lock(model);
            let names = model.names(self.version).into_iter().map(str::to_owned);
            (names.collect::<std::collections::BTreeSet<_>>(), model.live_at(self.version))
        };
        if found != expected {
            return Err(Wrong::Answer(format!("there are the tables {found:?}, not {expected:?}")));
        }
        live.into_iter().try_for_each(|place| self.whole(model, place))
    }
}
