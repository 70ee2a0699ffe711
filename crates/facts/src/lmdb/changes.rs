//! [`Changes`]: a write transaction of a database in LMDB.

use std::path::Path;

use heed::{PutFlags, RwTxn};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::growing::key_entry;
use crate::layout::tables::Side;
use crate::lmdb::keys::{Entity, Stored, long_value, read_long_value, side_key};
use crate::lmdb::shared::{LmdbTables, failed};

/// A write transaction of a database in LMDB.
pub struct Changes<'e> {
    pub(super) txn: RwTxn<'e>,
    pub(super) tables: LmdbTables,
    pub(super) path: &'e Path,
}

impl Changes<'_> {
    /// An entry that is not a fact.
    pub fn get(&self, side: Side, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let key = side_key(side, key);
        let stored = Stored::of(&key);
        let found = self.tables.sides.get(&self.txn, stored.bytes()).map_err(failed(self.path, "read"))?;
        let Some(value) = found else { return Ok(None) };
        if !stored.is_long() {
            return Ok(Some(value.to_vec()));
        }
        let (found, value) = read_long_value(value)?;
        Ok((found == key).then(|| value.to_vec()))
    }

    /// Writes an entry that is not a fact.
    pub fn put(&mut self, side: Side, key: &[u8], value: &[u8]) -> Result<()> {
        let key = side_key(side, key);
        let stored = Stored::of(&key);
        let failed = failed(self.path, "write");
        if !stored.is_long() {
            return self.tables.sides.put(&mut self.txn, stored.bytes(), value).map_err(failed);
        }
        let before = self.tables.sides.get(&self.txn, stored.bytes()).map_err(&failed)?;
        if let Some(before) = before
            && read_long_value(before)?.0 != key
        {
            // Two names of more than 494 equal bytes with one hash of 128 bits.
            return Err(Error::TooLarge);
        }
        let value = long_value(&key, value)?;
        self.tables.sides.put(&mut self.txn, stored.bytes(), &value).map_err(failed)
    }

    /// Adds entries by key. They come in the order of keys, each of a key that no fact has.
    pub fn put_keys<'f>(&mut self, facts: impl Iterator<Item = (FactId, PredicateId, &'f [u8])>) -> Result<()> {
        for (id, predicate, key) in facts {
            let entry = key_entry(predicate, key);
            let stored = Stored::of(&entry);
            let mut ids = Vec::new();
            if stored.is_long() {
                let before = self.tables.keys.get(&self.txn, stored.bytes()).map_err(failed(self.path, "read"))?;
                ids.extend_from_slice(before.unwrap_or_default());
            }
            ids.extend_from_slice(&id.get().to_be_bytes());
            self.tables.keys.put(&mut self.txn, stored.bytes(), &ids).map_err(failed(self.path, "write"))?;
        }
        Ok(())
    }

    /// Adds entries by id. They come in the order of ids, above all that there are.
    pub fn put_entities<'f>(
        &mut self,
        facts: impl Iterator<Item = (FactId, PredicateId, &'f [u8], &'f [u8])>,
    ) -> Result<()> {
        let mut entity = Vec::new();
        for (id, predicate, key, value) in facts {
            Entity::write(predicate, key, value, &mut entity)?;
            let id = id.get().to_be_bytes();
            let put = self.tables.entities.put_with_flags(&mut self.txn, PutFlags::APPEND, &id, &entity);
            put.map_err(failed(self.path, "write"))?;
        }
        Ok(())
    }

    /// Makes the changes visible.
    pub fn commit(self) -> Result<()> {
        self.txn.commit().map_err(failed(self.path, "commit"))
    }
}
