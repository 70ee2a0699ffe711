//! Fulgurite in the place of the measured engine, through its public interface alone.

use std::ops::Bound;
use std::path::{Path, PathBuf};

use ::fulgurite::{Database, Durability, Options, Read, ReadTxn, Table, TableOptions, Value};
use fulgurite_rivals::{Engine, Failure, Purpose, Reader, Store};

const NAME: &str = "fulgurite";

/// The table that all records are in.
pub const TABLE: &str = "records";

/// Fulgurite.
#[derive(Debug)]
pub struct Fulgurite;

impl Engine for Fulgurite {
    const NAME: &'static str = NAME;
    type Store = FulguriteStore;

    fn create(directory: &Path, purpose: Purpose) -> Result<FulguriteStore, Failure> {
        let database = options(purpose).create(true).open(Self::data_file(directory)).map_err(failed("create"))?;
        let table = database.create_table(TABLE, TableOptions::new()).map_err(failed("create table"))?;
        Ok(FulguriteStore { database, table })
    }

    fn open(directory: &Path, purpose: Purpose) -> Result<FulguriteStore, Failure> {
        let database = options(purpose).open(Self::data_file(directory)).map_err(failed("open"))?;
        let table = database.open_table(TABLE).map_err(failed("open table"))?;
        Ok(FulguriteStore { database, table })
    }

    fn data_file(directory: &Path) -> PathBuf {
        directory.join("data.ful")
    }
}

/// The defaults, except for the durability of puts, and for a delta that must stay one.
fn options(purpose: Purpose) -> Options {
    let options = Database::options();
    match purpose {
        Purpose::Load | Purpose::Read => options,
        Purpose::SinglePuts => options.durability(Durability::Log),
        Purpose::ReadAboveDelta => options.durability(Durability::Log).delta_bytes(4 << 30),
    }
}

/// Wraps an error of `operation`.
pub fn failed(operation: &'static str) -> impl Fn(fulgurite::Error) -> Failure {
    move |error| Failure::new(NAME, operation, error)
}

/// An open database and its table.
#[derive(Debug)]
pub struct FulguriteStore {
    database: Database,
    table: Table,
}

impl Store for FulguriteStore {
    type Reader<'s> = FulguriteReader<'s>;

    fn load_sorted<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.database.bulk_load(&self.table, records).map(drop).map_err(failed("load"))
    }

    fn load_unsorted<'r, K: AsRef<[u8]>>(
        &mut self,
        records: impl Iterator<Item = (K, &'r [u8])>,
    ) -> Result<(), Failure> {
        self.database.bulk_load_unsorted(&self.table, records).map(drop).map_err(failed("load"))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let mut txn = self.database.write().map_err(failed("begin"))?;
        txn.put(&self.table, key, value).map_err(failed("put"))?;
        txn.commit().map(drop).map_err(failed("commit"))
    }

    fn put_all<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        put_all(&self.database, &self.table, records)
    }

    fn settle(&mut self) -> Result<(), Failure> {
        self.database.checkpoint().map_err(failed("checkpoint"))
    }

    fn checkpoints(&self) -> Result<u64, Failure> {
        self.database.stats().map(|stats| stats.checkpoints).map_err(failed("stats"))
    }

    fn used_bytes(&self) -> Result<u64, Failure> {
        self.database.stats().map(|stats| stats.file_bytes).map_err(failed("stats"))
    }

    fn search(&self) -> Result<Option<&'static str>, Failure> {
        self.database.stats().map(|stats| Some(stats.search)).map_err(failed("stats"))
    }

    fn reader(&self) -> Result<FulguriteReader<'_>, Failure> {
        let txn = self.database.read().map_err(failed("read"))?;
        Ok(FulguriteReader { txn, table: &self.table })
    }

    fn close(self) -> Result<(), Failure> {
        self.database.close().map_err(failed("close"))
    }
}

/// A read transaction.
#[derive(Debug)]
pub struct FulguriteReader<'s> {
    txn: ReadTxn,
    table: &'s Table,
}

impl Reader for FulguriteReader<'_> {
    type Value<'r>
        = Value<'r>
    where
        Self: 'r;

    #[inline(always)]
    fn get<'r>(&'r self, key: &[u8]) -> Result<Option<Value<'r>>, Failure> {
        self.txn.get(self.table, key).map_err(failed("get"))
    }

    #[inline]
    fn get_many(&self, keys: &[&[u8]], mut each: impl FnMut(usize, Option<&[u8]>)) -> Result<(), Failure> {
        let mut position = 0;
        let count_up = |value: Option<Value<'_>>| {
            each(position, value.as_deref());
            position += 1;
        };
        self.txn.get_many_with(self.table, keys, count_up).map_err(failed("get_many"))
    }

    #[inline]
    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        scan(&self.txn, self.table, each)
    }

    #[inline]
    fn scan_reverse(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for batch in self.txn.leaf_batches(self.table, ..).map_err(failed("reverse scan"))?.rev() {
            batch.map_err(failed("reverse scan"))?.iter().rev().for_each(|(key, value)| each(key, value));
        }
        Ok(())
    }

    #[inline]
    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        scan_from(&self.txn, self.table, from, count, each)
    }
}

/// Puts records in one transaction.
pub fn put_all<'r>(
    database: &Database,
    table: &Table,
    records: impl Iterator<Item = (&'r [u8], &'r [u8])>,
) -> Result<(), Failure> {
    let mut txn = database.write().map_err(failed("begin"))?;
    for (key, value) in records {
        txn.put(table, key, value).map_err(failed("put"))?;
    }
    txn.commit().map(drop).map_err(failed("commit"))
}

/// Hands out all records.
#[inline]
pub fn scan(txn: &ReadTxn, table: &Table, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
    for batch in txn.leaf_batches(table, ..).map_err(failed("scan"))? {
        batch.map_err(failed("scan"))?.iter().for_each(|(key, value)| each(key, value));
    }
    Ok(())
}

/// Hands out at most `count` records from the first whose key is not below `from`.
#[inline]
pub fn scan_from(
    txn: &ReadTxn,
    table: &Table,
    from: &[u8],
    count: usize,
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<(), Failure> {
    let bounds = (Bound::Included(from), Bound::Unbounded);
    for record in txn.range(table, bounds).map_err(failed("seek"))?.take(count) {
        let (key, value) = record.map_err(failed("seek"))?;
        each(&key, &value);
    }
    Ok(())
}
