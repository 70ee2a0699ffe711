//! LMDB as an engine of writers: one write transaction at a time; the next one waits.
//!
//! At [`Level::Log`] the file is mapped writable and nothing is synced (`MDB_WRITEMAP | MDB_MAPASYNC | MDB_NOSYNC`):
//! a commit is in the page cache. At [`Level::Disk`] it is written by calls and synced, which costs LMDB less than
//! syncing a map. It has no lower level. Readers keep their slot for their thread, so that a read transaction for
//! each get costs no lock.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, RwTxn, WithTls};

use crate::interface::engine::Failure;
use crate::interface::writing::{Level, Refusal, Settings, Snapshot, Transaction, WritingEngine, WritingStore};
use crate::lmdb::reading::{self, Lmdb};

const NAME: &str = "lmdb";

impl WritingEngine for Lmdb {
    const NAME: &'static str = NAME;
    const HAS_LOG: bool = false;
    type Store = LmdbWritingStore;

    fn unfit(settings: Settings) -> Option<&'static str> {
        (settings.level == Level::Memory).then_some("it has no level of its own like Memory")
    }

    fn version() -> String {
        let version = heed::lmdb_version();
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    }

    fn describe(settings: Settings) -> String {
        match settings.level {
            Level::Memory | Level::Log => "WRITEMAP, MAPASYNC, NOSYNC, NORDAHEAD".to_owned(),
            Level::Disk => "written by calls and synced, NORDAHEAD".to_owned(),
        }
    }

    fn open(directory: &Path, settings: Settings) -> Result<LmdbWritingStore, Failure> {
        let flags = match settings.level {
            Level::Memory | Level::Log => EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC | EnvFlags::NO_SYNC,
            Level::Disk => EnvFlags::empty(),
        };
        let (env, database) = reading::open(EnvOpenOptions::new(), directory, EnvFlags::NO_READ_AHEAD | flags)?;
        Ok(LmdbWritingStore { env, database })
    }
}

/// An open environment and its unnamed database.
pub struct LmdbWritingStore {
    env: Env<WithTls>,
    database: Database<Bytes, Bytes>,
}

impl WritingStore for LmdbWritingStore {
    type Transaction<'s> = LmdbTransaction<'s>;
    type Snapshot<'s> = LmdbSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut txn = self.env.write_txn().map_err(failed("load"))?;
        for (key, value) in records {
            self.database.put_with_flags(&mut txn, PutFlags::APPEND, key, value).map_err(failed("load"))?;
        }
        txn.commit().map_err(failed("load"))?;
        self.sync()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.put_all(std::iter::once((key, value)))
    }

    #[inline]
    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut txn = self.env.write_txn().map_err(failed("begin"))?;
        for (key, value) in records {
            self.database.put(&mut txn, key, value).map_err(failed("put"))?;
        }
        txn.commit().map_err(failed("commit"))
    }

    fn snapshot(&self) -> Result<LmdbSnapshot<'_>, Failure> {
        Ok(LmdbSnapshot { txn: self.env.read_txn().map_err(failed("read"))?, database: self.database })
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        let txn = self.env.read_txn().map_err(failed("read"))?;
        Ok(read(self.database.get(&txn, key).map_err(failed("get"))?))
    }

    fn begin(&self) -> Result<LmdbTransaction<'_>, Failure> {
        let txn = self.env.write_txn().map_err(failed("begin"))?;
        Ok(LmdbTransaction { txn, database: self.database })
    }

    fn sync(&self) -> Result<(), Failure> {
        self.env.force_sync().map_err(failed("sync"))
    }

    /// LMDB leaves nothing for later but the kernel's write-back, whose time no process pays.
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// LMDB does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let txn = self.env.read_txn().map_err(failed("read"))?;
        for record in self.database.iter(&txn).map_err(failed("scan"))? {
            let (key, value) = record.map_err(failed("scan"))?;
            each(key, value);
        }
        Ok(())
    }

    fn close(self) -> Result<(), Failure> {
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

/// A read transaction.
pub struct LmdbSnapshot<'s> {
    txn: RoTxn<'s, WithTls>,
    database: Database<Bytes, Bytes>,
}

impl Snapshot for LmdbSnapshot<'_> {
    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        Ok(read(self.database.get(&self.txn, key).map_err(failed("get"))?))
    }

    #[inline]
    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        reading::scan_from(self.database, &self.txn, from, count, each)
    }

    #[inline]
    fn scan_back_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let bounds = (Bound::Unbounded, Bound::Included(from));
        for record in self.database.rev_range(&self.txn, &bounds).map_err(failed("seek"))?.take(count) {
            let (key, value) = record.map_err(failed("seek"))?;
            each(key, value);
        }
        Ok(())
    }

    #[inline]
    fn scan_prefix(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.database.prefix_iter(&self.txn, prefix).map_err(failed("seek"))? {
            let (key, value) = record.map_err(failed("seek"))?;
            each(key, value);
        }
        Ok(())
    }
}

/// The one write transaction.
pub struct LmdbTransaction<'s> {
    txn: RwTxn<'s>,
    database: Database<Bytes, Bytes>,
}

impl Transaction for LmdbTransaction<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        Ok(read(self.database.get(&self.txn, key).map_err(failed("get"))?))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        Ok(self.database.put(&mut self.txn, key, value).map_err(failed("put"))?)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.database.delete(&mut self.txn, key).map_err(failed("delete"))?;
        Ok(())
    }

    fn commit(self) -> Result<(), Refusal> {
        Ok(self.txn.commit().map_err(failed("commit"))?)
    }

    fn abort(self) {
        self.txn.abort();
    }
}

fn failed(operation: &'static str) -> impl Fn(heed::Error) -> Failure {
    move |error| Failure::new(NAME, operation, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level() {
        writing_checks::all::<Lmdb>();
    }
}
