//! Fulgurite in the suite of writers, through its public interface alone.

use std::path::Path;
use std::sync::Arc;

use ::fulgurite::{Database, Durability, MergeOperator, Read, ReadTxn, Table, TableOptions, WriteTxn};
use fulgurite_rivals::{
    Engine, Failure, Level, Refusal, Settings, Snapshot, Transaction, Usage, WritingEngine, WritingStore,
};

use crate::engines::counting_disk::{CountingDisk, Counts};
use crate::engines::fulgurite::{Fulgurite, TABLE, failed, put_all, scan, scan_from};

/// A delta that a benchmark does not fill.
const UNBOUNDED_BYTES: u64 = 8 << 30;

impl WritingEngine for Fulgurite {
    const NAME: &'static str = <Self as Engine>::NAME;
    type Store = FulguriteWritingStore;

    fn unfit(_settings: Settings) -> Option<&'static str> {
        None
    }

    fn version() -> String {
        // All crates of the workspace have one version.
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn describe(settings: Settings) -> String {
        let delta = if settings.usage == Usage::LongLog { ", a delta without bound" } else { "" };
        format!("Durability::{}{delta}, otherwise default settings", settings.level.name())
    }

    fn open(directory: &Path, settings: Settings) -> Result<FulguriteWritingStore, Failure> {
        let mut options = Database::options().create(true).durability(durability_at(settings.level));
        if settings.usage == Usage::LongLog {
            options = options.delta_bytes(UNBOUNDED_BYTES);
        }
        let mut counts = None;
        if settings.level == Level::Disk || matches!(settings.usage, Usage::Sustained { .. }) {
            let disk = CountingDisk::default();
            counts = Some(disk.counts());
            options = options.disk(Arc::new(disk));
        }
        let database = options.open(Self::data_file(directory)).map_err(failed("open"))?;
        let options = match settings.usage {
            Usage::Counters => TableOptions::new().value_type("u64").merge(MergeOperator::Add),
            _ => TableOptions::new(),
        };
        let table = database.open_or_create_table(TABLE, options).map_err(failed("open table"))?;
        Ok(FulguriteWritingStore { database, table, counts })
    }
}

/// The durability that has the promises of a level.
pub fn durability_at(level: Level) -> Durability {
    match level {
        Level::Memory => Durability::Memory,
        Level::Log => Durability::Log,
        Level::Disk => Durability::Disk,
    }
}

/// Commits a transaction.
///
/// # Errors
/// [`Refusal::Conflict`] if another transaction was in the way; what the engine answered.
#[inline]
pub fn commit(txn: WriteTxn) -> Result<(), Refusal> {
    match txn.commit() {
        Err(error) if error.is_retryable() => Err(Refusal::Conflict),
        outcome => Ok(outcome.map(drop).map_err(failed("commit"))?),
    }
}

/// An open database and its table.
#[derive(Debug)]
pub struct FulguriteWritingStore {
    pub(crate) database: Database,
    table: Table,
    /// What the disk counts, where that is wanted.
    pub(crate) counts: Option<Arc<Counts>>,
}

impl WritingStore for FulguriteWritingStore {
    type Transaction<'s> = FulguriteTransaction<'s>;
    type Snapshot<'s> = FulguriteSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.database.bulk_load(&self.table, records).map(drop).map_err(failed("load"))
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let mut txn = self.database.write().map_err(failed("begin"))?;
        txn.put(&self.table, key, value).map_err(failed("put"))?;
        txn.commit().map(drop).map_err(failed("commit"))
    }

    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        put_all(&self.database, &self.table, records)
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        let txn = self.database.read().map_err(failed("read"))?;
        let value = txn.get(&self.table, key).map_err(failed("get"))?;
        Ok(read(value.as_deref()))
    }

    fn snapshot(&self) -> Result<FulguriteSnapshot<'_>, Failure> {
        let txn = self.database.read().map_err(failed("read"))?;
        Ok(FulguriteSnapshot { txn, table: &self.table })
    }

    fn begin(&self) -> Result<FulguriteTransaction<'_>, Failure> {
        let txn = self.database.write().map_err(failed("begin"))?;
        Ok(FulguriteTransaction { txn, table: &self.table })
    }

    fn sync(&self) -> Result<(), Failure> {
        self.database.sync().map(drop).map_err(failed("sync"))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.database.checkpoint().map_err(failed("checkpoint"))
    }

    /// Syncs of any file, counted by the disk below the engine.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(self.counts.as_ref().map(|counts| counts.syncs()))
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        scan(&self.database.read().map_err(failed("read"))?, &self.table, each)
    }

    fn close(self) -> Result<(), Failure> {
        self.database.close().map_err(failed("close"))
    }
}

/// A read transaction.
#[derive(Debug)]
pub struct FulguriteSnapshot<'s> {
    txn: ReadTxn,
    table: &'s Table,
}

impl Snapshot for FulguriteSnapshot<'_> {
    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        let value = self.txn.get(self.table, key).map_err(failed("get"))?;
        Ok(read(value.as_deref()))
    }

    #[inline]
    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        scan_from(&self.txn, self.table, from, count, each)
    }

    #[inline]
    fn scan_back_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.txn.range(self.table, ..=from).map_err(failed("seek"))?.rev().take(count) {
            let (key, value) = record.map_err(failed("seek"))?;
            each(&key, &value);
        }
        Ok(())
    }

    #[inline]
    fn scan_prefix(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.txn.prefix(self.table, prefix).map_err(failed("seek"))? {
            let (key, value) = record.map_err(failed("seek"))?;
            each(&key, &value);
        }
        Ok(())
    }
}

/// A serializable write transaction.
#[derive(Debug)]
pub struct FulguriteTransaction<'s> {
    txn: WriteTxn,
    table: &'s Table,
}

impl Transaction for FulguriteTransaction<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        let value = self.txn.get(self.table, key).map_err(failed("get"))?;
        Ok(read(value.as_deref()))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        Ok(self.txn.put(self.table, key, value).map_err(failed("put"))?)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.txn.delete(self.table, key).map(drop).map_err(failed("delete"))?;
        Ok(())
    }

    #[inline]
    fn add(&mut self, key: &[u8], number: u64) -> Result<(), Refusal> {
        Ok(self.txn.merge(self.table, key, &number.to_le_bytes()).map_err(failed("merge"))?)
    }

    fn commit(self) -> Result<(), Refusal> {
        commit(self.txn)
    }

    fn abort(self) {
        self.txn.abort();
    }
}
