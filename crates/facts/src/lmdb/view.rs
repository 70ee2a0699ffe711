//! [`View`]: one state of a database in LMDB.
//!
//! A transaction of LMDB is used by one thread at a time, so it is locked for each call. What a call returns is in
//! pages that stay as they are until the transaction ends, which the view keeps.
#![allow(unsafe_code)] // Bytes of the map are returned for as long as the view lives.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heed::{RoTxn, WithoutTls};

use crate::error::Result;
use crate::ids::{FactId, PredicateId};
use crate::layout::growing::key_entry;
use crate::layout::tables::{EachEntry, Side};
use crate::lmdb::keys::{Entity, KEY_BYTES_MAX, Stored, ids, read_long_value, side_key, stored_prefix};
use crate::lmdb::shared::{Shared, Table, failed};

/// One state of a database in LMDB.
pub struct View {
    txn: Mutex<RoTxn<'static, WithoutTls>>,
    shared: Arc<Shared>,
}

/// Keys and values of LMDB.
type Entries<'t> = Vec<(&'t [u8], &'t [u8])>;

impl View {
    /// The state that `txn` reads.
    pub fn new(txn: RoTxn<'static, WithoutTls>, shared: Arc<Shared>) -> Self {
        Self { txn: Mutex::new(txn), shared }
    }

    /// An entry that is not a fact.
    pub fn side(&self, side: Side, key: &[u8]) -> Result<Option<&[u8]>> {
        let key = side_key(side, key);
        let stored = Stored::of(&key);
        let Some(value) = self.get(self.shared.tables.sides, stored.bytes())? else { return Ok(None) };
        if !stored.is_long() {
            return Ok(Some(value));
        }
        let (found, value) = read_long_value(value)?;
        Ok((found == key).then_some(value))
    }

    /// Calls `each` with the entries of a side whose keys begin with `prefix`, which is short. Keys come in order, but
    /// for those that share their first 494 bytes.
    pub fn each_side(&self, side: Side, prefix: &[u8], each: &mut EachEntry<'_>) -> Result<()> {
        let prefix = side_key(side, prefix);
        let mut low = Bound::Included(prefix.clone());
        loop {
            let entries = self.entries(self.shared.tables.sides, low, ENTRIES_MAX)?;
            for (key, value) in &entries {
                if !key.starts_with(&prefix) {
                    return Ok(());
                }
                match key.len() == KEY_BYTES_MAX {
                    true => {
                        let (key, value) = read_long_value(value)?;
                        each(&key[1..], value)?;
                    }
                    false => each(&key[1..], value)?,
                }
            }
            match entries.last() {
                Some((key, _)) if entries.len() == ENTRIES_MAX => low = Bound::Excluded(key.to_vec()),
                _ => return Ok(()),
            }
        }
    }

    /// The entry by id of a fact.
    pub fn entity(&self, id: FactId) -> Result<Option<&[u8]>> {
        self.get(self.shared.tables.entities, &id.get().to_be_bytes())
    }

    /// The id of the fact with a key.
    pub fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>> {
        let entry = key_entry(predicate, key);
        let stored = Stored::of(&entry);
        let Some(value) = self.get(self.shared.tables.keys, stored.bytes())? else { return Ok(None) };
        for id in ids(value) {
            let id = id?;
            if !stored.is_long() || self.has_key(id, key)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn has_key(&self, id: FactId, key: &[u8]) -> Result<bool> {
        Ok(self.entity(id)?.map(Entity::read).transpose()?.is_some_and(|entity| entity.key == key))
    }

    /// The ids of a predicate's facts with a prefix, and perhaps of others: from the fact `first` on, if there is one.
    pub fn seek(&self, predicate: PredicateId, prefix: &[u8], first: Option<(FactId, &[u8])>) -> Ids<'_> {
        let prefix = stored_prefix(&key_entry(predicate, prefix)).to_vec();
        let low = match first {
            Some((_, key)) => Stored::of(&key_entry(predicate, key)).bytes().to_vec(),
            None => prefix.clone(),
        };
        let first = first.map(|(id, _)| id);
        Ids { view: self, prefix, low: Some(Bound::Included(low)), first, found: Vec::new(), count: 1 }
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<&[u8]>> {
        let txn = self.lock();
        let found = table.get(&txn, key).map_err(failed(&self.shared.path, "read"))?;
        Ok(found.map(|bytes| self.lasting(bytes)))
    }

    fn entries(&self, table: Table, low: Bound<Vec<u8>>, most: usize) -> Result<Entries<'_>> {
        let txn = self.lock();
        let low = low.as_ref().map(Vec::as_slice);
        let range = (low, Bound::Unbounded);
        let entries = table.range(&txn, &range).map_err(failed(&self.shared.path, "read"))?;
        let entries = entries.take(most).map(|entry| {
            let (key, value) = entry.map_err(failed(&self.shared.path, "read"))?;
            Ok((self.lasting(key), self.lasting(value)))
        });
        entries.collect()
    }

    /// Bytes that the transaction has read, for as long as the view lives.
    fn lasting<'t>(&'t self, bytes: &[u8]) -> &'t [u8] {
        // SAFETY: the bytes are in the map. LMDB leaves pages of a read transaction as they are until it ends, and
        // `self` owns the transaction, which is never replaced.
        unsafe { &*std::ptr::from_ref(bytes) }
    }

    fn lock(&self) -> MutexGuard<'_, RoTxn<'static, WithoutTls>> {
        self.txn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ids of facts, in the order of stored keys.
pub struct Ids<'t> {
    view: &'t View,
    /// What stored keys begin with.
    prefix: Vec<u8>,
    /// Where the next entries begin. None after the last.
    low: Option<Bound<Vec<u8>>>,
    /// The fact before which all are skipped.
    first: Option<FactId>,
    /// Ids that were read, the next one at the end.
    found: Vec<FactId>,
    /// So many entries are read next: a seek may want one, or all.
    count: usize,
}

impl Ids<'_> {
    /// The next id.
    pub fn next(&mut self) -> Result<Option<FactId>> {
        while self.found.is_empty() {
            let Some(low) = self.low.take() else { return Ok(None) };
            let entries = self.view.entries(self.view.shared.tables.keys, low, self.count)?;
            if entries.len() == self.count {
                self.low = entries.last().map(|(key, _)| Bound::Excluded(key.to_vec()));
            }
            self.count = ENTRIES_MAX.min(4 * self.count);
            for (key, value) in entries {
                if !key.starts_with(&self.prefix) {
                    self.low = None;
                    break;
                }
                for id in ids(value) {
                    let id = id?;
                    if self.first.is_none_or(|first| first == id) {
                        self.first = None;
                        self.found.push(id);
                    }
                }
            }
            self.found.reverse();
        }
        Ok(self.found.pop())
    }
}

/// The most entries that are read at a time.
const ENTRIES_MAX: usize = 256;
