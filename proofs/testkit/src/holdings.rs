//! What a database should hold at one moment, with a digest that distinguishes two moments without comparing every
//! entry.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{Error, Read, ReadTxn, Result, Table};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::random::mix;

/// All tables by name. A clone is cheap until it or the original changes.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    tables: BTreeMap<String, Arc<Entries>>,
}

/// The entries of one table, and the sum of their digests, which does not depend on their order.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    map: BTreeMap<Vec<u8>, Arc<[u8]>>,
    sum: u64,
}

impl Holdings {
    /// Creates an empty table.
    pub fn create_table(&mut self, name: &str) {
        self.tables.insert(name.to_owned(), Arc::default());
    }

    /// Drops a table.
    pub fn drop_table(&mut self, name: &str) {
        self.tables.remove(name);
    }

    /// The names of the tables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// A table.
    pub fn table(&self, name: &str) -> Option<&Entries> {
        self.tables.get(name).map(|entries| &**entries)
    }

    /// A table, to be changed.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn table_mut(&mut self, name: &str) -> &mut Entries {
        Arc::make_mut(self.tables.get_mut(name).expect("the table was created before"))
    }

    /// Equal for equal tables, names and entries.
    pub fn digest(&self) -> u64 {
        self.tables.iter().fold(0, |sum, (name, entries)| digest_with_table(sum, name, entries.sum))
    }

    /// The first differences between what a database shows and this, in words; empty if there is none.
    ///
    /// # Errors
    /// What kept it from reading.
    pub fn differences(&self, txn: &ReadTxn) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for table in txn.tables() {
            let Some(entries) = self.table(table.name()) else {
                found.push(format!("table `{}` should not be there", table.name()));
                continue;
            };
            entries.differences(txn, &table, &mut found)?;
        }
        let missing = self.names().filter(|name| txn.open_table(name).is_err());
        found.extend(missing.map(|name| format!("table `{name}` is missing")));
        found.truncate(DIFFERENCES_MAX);
        Ok(found)
    }
}

impl Entries {
    /// Puts an entry, replacing what there is.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.delete(key);
        self.sum = self.sum.wrapping_add(digest_of_entry(key, value));
        self.map.insert(key.to_vec(), value.into());
    }

    /// Deletes an entry; whether it was there.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let Some(value) = self.map.remove(key) else { return false };
        self.sum = self.sum.wrapping_sub(digest_of_entry(key, &value));
        true
    }

    /// Deletes all entries from `low` on and below `high`.
    pub fn delete_range(&mut self, low: &[u8], high: &[u8]) {
        let bounds = (Bound::Included(low), Bound::Excluded(high));
        let keys: Vec<Vec<u8>> = self.map.range::<[u8], _>(bounds).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.delete(&key);
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.map.get(key).map(|value| &**value)
    }

    /// All entries, in order of key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        self.map.iter().map(|(key, value)| (&**key, &**value))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    fn differences(&self, txn: &ReadTxn, table: &Table, found: &mut Vec<String>) -> Result<()> {
        let name = table.name();
        let mut expected = self.iter().peekable();
        for entry in txn.range(table, ..)? {
            let (key, value) = entry?;
            while let Some((missing, _)) = expected.next_if(|(expected, _)| *expected < &*key) {
                found.push(format!("table `{name}`: key {} is missing", shown(missing)));
            }
            match expected.next_if(|(expected, _)| *expected == &*key) {
                Some((_, expected)) if *expected == *value => {}
                Some((_, expected)) => found.push(format!(
                    "table `{name}`: key {} has the value {}, not {}",
                    shown(&key),
                    shown(&value),
                    shown(expected)
                )),
                None => found.push(format!("table `{name}`: key {} should not be there", shown(&key))),
            }
        }
        found.extend(expected.map(|(missing, _)| format!("table `{name}`: key {} is missing", shown(missing))));
        Ok(())
    }
}

/// The digest of what a transaction shows; [`Holdings::digest`] of the same tables is equal.
///
/// # Errors
/// What kept it from reading; [`Error::Invalid`] if keys do not rise.
pub fn digest_of(txn: &ReadTxn) -> Result<u64> {
    let mut digest = 0;
    for table in txn.tables() {
        let mut sum = 0u64;
        let mut last: Option<Vec<u8>> = None;
        for entry in txn.range(&table, ..)? {
            let (key, value) = entry?;
            if last.as_ref().is_some_and(|last| last[..] >= *key) {
                let message = format!("table `{}`: key {} is out of order", table.name(), shown(&key));
                return Err(Error::Invalid { message });
            }
            sum = sum.wrapping_add(digest_of_entry(&key, &value));
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(&key);
        }
        digest = digest_with_table(digest, table.name(), sum);
    }
    Ok(digest)
}

fn digest_with_table(digest: u64, name: &str, sum: u64) -> u64 {
    digest.wrapping_add(mix(xxh3_64(name.as_bytes()) ^ mix(sum)))
}

fn digest_of_entry(key: &[u8], value: &[u8]) -> u64 {
    mix(xxh3_64_with_seed(key, 1) ^ mix(xxh3_64_with_seed(value, 2)))
}

/// Bytes for a report: the beginning, and how many there are.
fn shown(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(12)];
    let more = if bytes.len() > start.len() { format!("… ({} bytes)", bytes.len()) } else { String::new() };
    format!("\"{}\"{more}", start.escape_ascii())
}

/// More of them show nothing new.
const DIFFERENCES_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fulgurite::Database;
    use fulgurite::io::MemoryDisk;

    use super::*;

    #[test]
    fn the_digest_depends_on_tables_and_entries_and_not_on_how_they_came_about() {
        let mut first = Holdings::default();
        first.create_table("a");
        let empty = first.digest();
        first.table_mut("a").put(b"k", b"v");
        let one = first.digest();
        first.table_mut("a").put(b"k", b"w");
        assert_ne!(first.digest(), one);
        first.table_mut("a").put(b"k", b"v");
        assert_eq!(first.digest(), one);
        first.table_mut("a").delete_range(b"a", b"z");
        assert_eq!(first.digest(), empty);
        assert_ne!(empty, Holdings::default().digest());
    }

    #[test]
    fn a_database_has_the_digest_of_what_it_holds_and_differences_name_what_it_does_not() {
        let db = Database::options()
            .create(true)
            .background(false)
            .disk(Arc::new(MemoryDisk::new()))
            .open("holdings.ful")
            .expect("a memory disk");
        let table = db.create_table("a", Default::default()).expect("a new table");
        let mut holdings = Holdings::default();
        holdings.create_table("a");
        for number in 0..100u8 {
            db.update(|txn| txn.put(&table, &[number], b"value")).expect("a memory disk");
            holdings.table_mut("a").put(&[number], b"value");
        }
        let txn = db.read().expect("it is open");
        let digest = digest_of(&txn).expect("it is sound");
        assert_eq!(digest, holdings.digest());
        assert_eq!(holdings.differences(&txn).expect("it is sound"), [""; 0]);
        holdings.table_mut("a").delete(&[7]);
        holdings.create_table("b");
        let expected = ["table `a`: key \"\\x07\" should not be there", "table `b` is missing"];
        assert_eq!(holdings.differences(&txn).expect("it is sound"), expected);
        assert_ne!(digest, holdings.digest());
    }
}
