//! redb as an engine of writers: one write transaction at a time; the next one waits.
//!
//! redb has two levels of its own: a commit that stays in the process (`Durability::None`) and one that is synced
//! (`Durability::Immediate`). [`Level::Log`] is the second one through a file whose syncs do nothing: a commit is in
//! the page cache, and survives the process. A transaction of several steps opens its table for each of them, as
//! redb's tables borrow theirs.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use redb::backends::FileBackend;
use redb::{
    Builder, Database, Durability, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend,
    TableDefinition, WriteTransaction,
};

use crate::interface::engine::Failure;
use crate::interface::writing::{Level, Refusal, Settings, Snapshot, Transaction, WritingEngine, WritingStore};
use crate::versions;

const NAME: &str = "redb";

/// The one table.
const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("records");

/// It, as a read transaction sees it.
type Records = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// redb's default, in which all data sets of the other suites fit.
const CACHE_BYTES: u64 = 1 << 30;

/// redb.
#[derive(Debug)]
pub struct Redb;

impl WritingEngine for Redb {
    const NAME: &'static str = NAME;
    const HAS_LOG: bool = false;
    type Store = RedbStore;

    fn unfit(_settings: Settings) -> Option<&'static str> {
        None
    }

    fn version() -> String {
        versions::locked(NAME)
    }

    fn describe(settings: Settings) -> String {
        let commits = match settings.level {
            Level::Memory => "Durability::None",
            Level::Log => "Durability::Immediate on a file whose syncs do nothing",
            Level::Disk => "Durability::Immediate",
        };
        format!("{commits}, cache {} MiB", settings.cache_bytes(CACHE_BYTES) >> 20)
    }

    fn open(directory: &Path, settings: Settings) -> Result<RedbStore, Failure> {
        let path = directory.join("records.redb");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(failed("open"))?;
        let synced = file.try_clone().map_err(failed("open"))?;
        let backend = FileBackend::new(file).map_err(failed("open"))?;
        let mut builder = Builder::new();
        builder.set_cache_size(usize::try_from(settings.cache_bytes(CACHE_BYTES)).unwrap_or(usize::MAX));
        let database = match settings.level {
            Level::Log => builder.create_with_backend(Unsynced(backend)),
            Level::Memory | Level::Disk => builder.create_with_backend(backend),
        };
        let database = database.map_err(failed("open"))?;
        let store = RedbStore { database, file: synced, level: settings.level };
        // Readers find the table there, whatever is written first.
        let mut txn = store.database.begin_write().map_err(failed("open"))?;
        txn.set_durability(Durability::Immediate).map_err(failed("open"))?;
        txn.open_table(TABLE).map(drop).map_err(failed("open"))?;
        txn.commit().map_err(failed("open"))?;
        Ok(store)
    }
}

/// A file whose syncs do nothing.
#[derive(Debug)]
struct Unsynced(FileBackend);

impl StorageBackend for Unsynced {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

/// An open database.
pub struct RedbStore {
    database: Database,
    file: File,
    level: Level,
}

impl RedbStore {
    fn begin_at(&self, level: Level) -> Result<WriteTransaction, Failure> {
        let mut txn = self.database.begin_write().map_err(failed("begin"))?;
        let durability = if level == Level::Memory { Durability::None } else { Durability::Immediate };
        txn.set_durability(durability).map_err(failed("begin"))?;
        Ok(txn)
    }

    fn put_at<'r>(&self, level: Level, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let txn = self.begin_at(level)?;
        let mut table = txn.open_table(TABLE).map_err(failed("put"))?;
        for (key, value) in records {
            table.insert(key, value).map_err(failed("put"))?;
        }
        drop(table);
        txn.commit().map_err(failed("commit"))
    }

    fn read(&self) -> Result<(ReadTransaction, Records), Failure> {
        let txn = self.database.begin_read().map_err(failed("read"))?;
        let table = txn.open_table(TABLE).map_err(failed("read"))?;
        Ok((txn, table))
    }
}

impl WritingStore for RedbStore {
    type Transaction<'s> = RedbTransaction;
    type Snapshot<'s> = RedbSnapshot;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.put_at(Level::Disk, records)?;
        self.sync()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.put_at(self.level, std::iter::once((key, value)))
    }

    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.put_at(self.level, records)
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.snapshot()?.get(key, read)
    }

    fn snapshot(&self) -> Result<RedbSnapshot, Failure> {
        let (txn, table) = self.read()?;
        Ok(RedbSnapshot { table, _txn: txn })
    }

    fn begin(&self) -> Result<RedbTransaction, Failure> {
        Ok(RedbTransaction { txn: self.begin_at(self.level)? })
    }

    fn sync(&self) -> Result<(), Failure> {
        if self.level == Level::Memory {
            self.begin_at(Level::Disk)?.commit().map_err(failed("sync"))?;
        }
        self.file.sync_data().map_err(failed("sync"))
    }

    /// What commits of [`Level::Memory`] have kept in the process is written; nothing else is left for later.
    fn settle(&self) -> Result<(), Failure> {
        match self.level {
            Level::Memory => self.sync(),
            Level::Log | Level::Disk => Ok(()),
        }
    }

    /// redb does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let (_txn, table) = self.read()?;
        for record in table.iter().map_err(failed("scan"))? {
            let (key, value) = record.map_err(failed("scan"))?;
            each(key.value(), value.value());
        }
        Ok(())
    }

    fn close(self) -> Result<(), Failure> {
        self.sync()
    }
}

/// A read transaction and its table.
pub struct RedbSnapshot {
    table: Records,
    _txn: ReadTransaction,
}

impl Snapshot for RedbSnapshot {
    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        let value = self.table.get(key).map_err(failed("get"))?;
        Ok(read(value.as_ref().map(|value| value.value())))
    }

    fn scan_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.table.range(from..).map_err(failed("seek"))?.take(count) {
            let (key, value) = record.map_err(failed("seek"))?;
            each(key.value(), value.value());
        }
        Ok(())
    }

    fn scan_back_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.table.range(..=from).map_err(failed("seek"))?.rev().take(count) {
            let (key, value) = record.map_err(failed("seek"))?;
            each(key.value(), value.value());
        }
        Ok(())
    }

    /// redb has no scan of a prefix: the first key that begins otherwise ends it.
    fn scan_prefix(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.table.range(prefix..).map_err(failed("seek"))? {
            let (key, value) = record.map_err(failed("seek"))?;
            if !key.value().starts_with(prefix) {
                break;
            }
            each(key.value(), value.value());
        }
        Ok(())
    }
}

/// The one write transaction.
pub struct RedbTransaction {
    txn: WriteTransaction,
}

impl Transaction for RedbTransaction {
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        let table = self.txn.open_table(TABLE).map_err(failed("get"))?;
        let value = table.get(key).map_err(failed("get"))?;
        Ok(read(value.as_ref().map(|value| value.value())))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let mut table = self.txn.open_table(TABLE).map_err(failed("put"))?;
        table.insert(key, value).map_err(failed("put"))?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let mut table = self.txn.open_table(TABLE).map_err(failed("delete"))?;
        table.remove(key).map_err(failed("delete"))?;
        Ok(())
    }

    fn commit(self) -> Result<(), Refusal> {
        Ok(self.txn.commit().map_err(failed("commit"))?)
    }

    fn abort(self) {
        // A dropped transaction is aborted too; no one can handle a failure here.
        let _ = self.txn.abort();
    }
}

fn failed<E: std::error::Error + Send + Sync + 'static>(operation: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::new(NAME, operation, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level() {
        writing_checks::all::<Redb>();
    }
}
