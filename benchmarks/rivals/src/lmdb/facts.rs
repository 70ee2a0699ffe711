//! Facts in LMDB as Glean's backend stores them: an entry of each by id, with predicate, key and value, and one by
//! predicate and key, with the id. Keys are at most as long as LMDB's, 511 bytes, less the predicate.
//!
//! The file is mapped writable and not synced while facts are added, which favours LMDB.

use std::path::Path;

use heed::types::Bytes;
use heed::{CompactionOption, Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithoutTls};

use crate::interface::engine::Failure;
use crate::lmdb::reading;

const NAME: &str = "lmdb";
/// The first id, as Glean's.
const FIRST_ID: u64 = 1024;

/// A store of facts.
pub struct LmdbFacts {
    env: Env<WithoutTls>,
    entities: Database<Bytes, Bytes>,
    keys: Database<Bytes, Bytes>,
}

impl LmdbFacts {
    /// Opens the store in `directory`, which exists, or creates one there.
    ///
    /// # Errors
    /// What LMDB answered.
    pub fn open(directory: &Path) -> Result<Self, Failure> {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.max_dbs(2);
        let flags = EnvFlags::NO_READ_AHEAD | EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC | EnvFlags::NO_SYNC;
        let env = reading::open_environment(options, directory, flags)?;
        let mut txn = env.write_txn().map_err(failed("open"))?;
        let entities = env.create_database(&mut txn, Some("entities")).map_err(failed("open"))?;
        let keys = env.create_database(&mut txn, Some("keys")).map_err(failed("open"))?;
        txn.commit().map_err(failed("open"))?;
        Ok(Self { env, entities, keys })
    }

    /// Adds facts, the predicate, key and value of each, in one transaction. Those that are there already are left.
    ///
    /// # Errors
    /// What LMDB answered.
    pub fn add<'f>(&self, facts: impl Iterator<Item = (u64, &'f [u8], &'f [u8])>) -> Result<(), Failure> {
        let mut txn = self.env.write_txn().map_err(failed("begin"))?;
        let last = self.entities.last(&txn).map_err(failed("last"))?;
        let mut id = last.map_or(FIRST_ID, |(key, _)| number(key) + 1);
        let (mut by_key, mut entity) = (Vec::new(), Vec::new());
        for (predicate, key, value) in facts {
            by_key.clear();
            by_key.extend_from_slice(&predicate.to_be_bytes());
            by_key.extend_from_slice(key);
            // One search of the tree finds that the key is new, and puts it.
            let new_id = id.to_be_bytes();
            let found = self.keys.get_or_put(&mut txn, &by_key, &new_id).map_err(failed("put"))?;
            if found.is_some() {
                continue;
            }
            entity.clear();
            entity.extend_from_slice(&predicate.to_be_bytes());
            entity.extend_from_slice(&(key.len() as u32).to_be_bytes());
            entity.extend_from_slice(key);
            entity.extend_from_slice(value);
            let appended = self.entities.put_with_flags(&mut txn, PutFlags::APPEND, &id.to_be_bytes(), &entity);
            appended.map_err(failed("put"))?;
            id += 1;
        }
        txn.commit().map_err(failed("commit"))
    }

    /// Writes a compact copy of the file.
    ///
    /// # Errors
    /// What LMDB answered.
    pub fn copy_compact(&self, path: &Path) -> Result<(), Failure> {
        self.env.copy_to_path(path, CompactionOption::Enabled).map(drop).map_err(failed("copy"))
    }

    /// Takes a snapshot.
    ///
    /// # Errors
    /// What LMDB answered.
    pub fn reader(&self) -> Result<LmdbFactsReader<'_>, Failure> {
        Ok(LmdbFactsReader { txn: self.env.read_txn().map_err(failed("read"))?, store: self })
    }
}

/// A fact: its predicate, key and value.
pub type StoredFact<'t> = (u64, &'t [u8], &'t [u8]);

/// A snapshot of a store of facts.
pub struct LmdbFactsReader<'s> {
    txn: RoTxn<'s, WithoutTls>,
    store: &'s LmdbFacts,
}

impl LmdbFactsReader<'_> {
    /// The id of the fact with a key.
    ///
    /// # Errors
    /// What LMDB answered.
    pub fn id_by_key(&self, predicate: u64, key: &[u8]) -> Result<Option<u64>, Failure> {
        let by_key = [&predicate.to_be_bytes(), key].concat();
        let found = self.store.keys.get(&self.txn, &by_key).map_err(failed("get"))?;
        Ok(found.map(number))
    }

    /// The predicate, key and value of a fact.
    ///
    /// # Errors
    /// What LMDB answered.
    pub fn fact_by_id(&self, id: u64) -> Result<Option<StoredFact<'_>>, Failure> {
        let found = self.store.entities.get(&self.txn, &id.to_be_bytes()).map_err(failed("get"))?;
        Ok(found.map(|entity| {
            let (header, rest) = entity.split_at(12);
            let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
            let (key, value) = rest.split_at(length);
            (number(header), key, value)
        }))
    }

    /// Calls `each` with the id, key and value of facts whose keys begin so, until it returns `false`.
    ///
    /// # Errors
    /// What LMDB answered.
    pub fn seek(
        &self,
        predicate: u64,
        prefix: &[u8],
        mut each: impl FnMut(u64, &[u8], &[u8]) -> bool,
    ) -> Result<(), Failure> {
        let prefix = [&predicate.to_be_bytes(), prefix].concat();
        for entry in self.store.keys.prefix_iter(&self.txn, &prefix).map_err(failed("seek"))? {
            let (_, id) = entry.map_err(failed("seek"))?;
            let id = number(id);
            let Some((_, key, value)) = self.fact_by_id(id)? else { continue };
            if !each(id, key, value) {
                break;
            }
        }
        Ok(())
    }
}

/// The big-endian number that bytes begin with.
fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn failed(operation: &'static str) -> impl Fn(heed::Error) -> Failure {
    move |error| Failure::new(NAME, operation, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_by_key_by_id_and_by_prefix_and_stored_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = LmdbFacts::open(directory.path()).unwrap();
        let facts = [(1024, &b"ab"[..], &b"1"[..]), (1024, b"ac", b"2"), (1025, b"ab", b"")];
        store.add(facts.into_iter()).unwrap();
        store.add(facts.into_iter().chain([(1024, &b"b"[..], &b"3"[..])])).unwrap();
        let reader = store.reader().unwrap();
        assert_eq!(reader.id_by_key(1024, b"b").unwrap(), Some(1027));
        assert_eq!(reader.id_by_key(1026, b"b").unwrap(), None);
        assert_eq!(reader.fact_by_id(1026).unwrap(), Some((1025, &b"ab"[..], &b""[..])));
        let mut found = Vec::new();
        reader
            .seek(1024, b"a", |id, key, value| {
                found.push((id, key.to_vec(), value.to_vec()));
                true
            })
            .unwrap();
        assert_eq!(found, [(1024, b"ab".to_vec(), b"1".to_vec()), (1025, b"ac".to_vec(), b"2".to_vec())]);
    }
}
