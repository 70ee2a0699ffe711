//! What the suite asks of an engine: to read a bin, and to change one in a transaction.

use std::path::Path;

use ::fulgurite::{Database, Isolation, Table};
use fulgurite_rivals::{Failure, Level, Refusal, Settings, Transaction, Usage, WritingEngine, WritingStore};

use crate::engines::fulgurite::{Fulgurite, TABLE, failed, scan};
use crate::engines::fulgurite_writing::{commit, durability_at};

/// An engine of this suite.
pub trait BinEngine: WritingEngine {
    /// An open store of bins.
    type Bins: BinStore;

    /// Opens a store in an empty directory.
    ///
    /// # Errors
    /// What the engine answered.
    fn open_bins(directory: &Path, level: Level) -> Result<Self::Bins, Failure>;
}

/// A store of bins. No trait object is between a timed loop and an engine.
pub trait BinStore: Sync + Sized {
    /// Puts bins in one transaction, in the order of keys.
    ///
    /// # Errors
    /// What the engine answered.
    fn put_all(&self, records: &[([u8; 8], Vec<u8>)]) -> Result<(), Failure>;

    /// Finishes the work that earlier commits have left for later.
    ///
    /// # Errors
    /// What the engine answered.
    fn settle(&self) -> Result<(), Failure>;

    /// Hands the newest value of a key to `read`, in a transaction of its own.
    ///
    /// # Errors
    /// What the engine answered.
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure>;

    /// Replaces the value of a key by what `change` writes, in a transaction of its own. `change` gets the value, and
    /// an empty buffer. Changes of one key by several threads are not lost.
    ///
    /// # Errors
    /// [`Refusal::Conflict`] if another transaction was in the way; what the engine answered.
    fn update(
        &self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<(), Refusal>;

    /// Changes the value of a key, whose length stays, in a transaction of its own: at its place, if the engine can.
    /// Requires: the key exists.
    ///
    /// # Errors
    /// As [`BinStore::update`].
    #[inline]
    fn modify(&self, key: &[u8], buffer: &mut Vec<u8>, change: impl FnOnce(&mut [u8])) -> Result<(), Refusal> {
        self.update(key, buffer, |value, buffer| {
            buffer.clear();
            buffer.extend_from_slice(value.unwrap_or_default());
            change(buffer);
        })
    }

    /// All records in rising order.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;

    /// Closes the store.
    ///
    /// # Errors
    /// What the engine answered.
    fn close(self) -> Result<(), Failure>;
}

/// A store of another engine.
#[derive(Debug)]
pub struct Rival<S> {
    store: S,
    /// Whether a lone writer needs no check of what it has read: the engine has one writer at a time, or none else
    /// writes.
    by_put: bool,
}

impl<S: WritingStore> BinStore for Rival<S> {
    fn put_all(&self, records: &[([u8; 8], Vec<u8>)]) -> Result<(), Failure> {
        self.store.put_all(records.iter().map(|(key, value)| (&key[..], &value[..])))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.store.settle()
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.store.get(key, read)
    }

    #[inline]
    fn update(
        &self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<(), Refusal> {
        if self.by_put {
            self.store.get(key, |value| change(value, buffer))?;
            return Ok(self.store.put(key, buffer)?);
        }
        let mut txn = self.store.begin()?;
        txn.get(key, |value| change(value, buffer))?;
        txn.put(key, buffer)?;
        txn.commit()
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.store.scan(each)
    }

    fn close(self) -> Result<(), Failure> {
        self.store.close()
    }
}

macro_rules! rivals {
    ($($engine:ty: $by_put:expr;)*) => {$(
        impl BinEngine for $engine {
            type Bins = Rival<<Self as WritingEngine>::Store>;

            fn open_bins(directory: &Path, level: Level) -> Result<Self::Bins, Failure> {
                let by_put = $by_put && level != Level::Disk;
                let usage = if by_put { Usage::SingleOperations } else { Usage::Transactions };
                Ok(Rival { store: <Self as WritingEngine>::open(directory, Settings { level, usage })?, by_put })
            }
        }
    )*};
}

rivals! {
    fulgurite_rivals::Lmdb: false;
    // A plain database, which its single writer reads and then writes, costs RocksDB less than a transaction.
    fulgurite_rivals::RocksDb: true;
}

#[cfg(feature = "sqlite")]
rivals! {
    fulgurite_rivals::Sqlite: false;
}

/// Fulgurite's store. Transactions run at [`Isolation::Snapshot`]: of two that change one bin, the second conflicts.
#[derive(Debug)]
pub struct Ours {
    database: Database,
    table: Table,
}

impl BinEngine for Fulgurite {
    type Bins = Ours;

    fn open_bins(directory: &Path, level: Level) -> Result<Ours, Failure> {
        let options = Database::options().create(true).durability(durability_at(level));
        let database = options.open(directory.join("bins.ful")).map_err(failed("open"))?;
        // FlatBuffers are read in place: their fields are at multiples of their size.
        let options = ::fulgurite::TableOptions::new().key_type("u64").value_align(8);
        let table = database.open_or_create_table(TABLE, options).map_err(failed("open table"))?;
        Ok(Ours { database, table })
    }
}

impl BinStore for Ours {
    fn put_all(&self, records: &[([u8; 8], Vec<u8>)]) -> Result<(), Failure> {
        let mut txn = self.database.write().map_err(failed("begin"))?;
        txn.put_many(&self.table, records.iter().map(|(key, value)| (key, value))).map_err(failed("put"))?;
        txn.commit().map(drop).map_err(failed("commit"))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.database.checkpoint().map_err(failed("checkpoint"))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        let txn = self.database.read().map_err(failed("read"))?;
        let value = txn.get(&self.table, key).map_err(failed("get"))?;
        Ok(read(value.as_deref()))
    }

    #[inline]
    fn update(
        &self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<(), Refusal> {
        let mut txn = self.database.write_with(Isolation::Snapshot).map_err(failed("begin"))?;
        change(txn.get(&self.table, key).map_err(failed("get"))?.as_deref(), buffer);
        txn.put(&self.table, key, &buffer[..]).map_err(failed("put"))?;
        commit(txn)
    }

    #[inline]
    fn modify(&self, key: &[u8], _: &mut Vec<u8>, change: impl FnOnce(&mut [u8])) -> Result<(), Refusal> {
        let mut txn = self.database.write_with(Isolation::Snapshot).map_err(failed("begin"))?;
        txn.modify(&self.table, key, change).map_err(failed("modify"))?;
        commit(txn)
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        scan(&self.database.read().map_err(failed("read"))?, &self.table, each)
    }

    fn close(self) -> Result<(), Failure> {
        self.database.close().map_err(failed("close"))
    }
}
