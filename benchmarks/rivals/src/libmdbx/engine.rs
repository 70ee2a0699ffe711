//! libmdbx as an engine of writers: one write transaction at a time; the next one waits.
//!
//! At [`Level::Log`] the file is mapped writable and nothing is synced (`MDBX_WRITEMAP | MDBX_UTTERLY_NOSYNC`), which
//! promises what LMDB's `NOSYNC` does: a commit is in the page cache. At [`Level::Disk`] it is written by calls and
//! synced. The C interface is called directly: the safe binding of this library hands every write transaction to
//! another thread, which would be its cost.

use std::path::Path;

use crate::interface::engine::Failure;
use crate::interface::walk::Walk;
use crate::interface::writing::{Level, Refusal, Settings, Snapshot, Transaction, WritingEngine, WritingStore};
use crate::libmdbx::library::{self, Access, Environment, Status, Txn};

const NAME: &str = "libmdbx";

/// libmdbx.
#[derive(Debug)]
pub struct Mdbx;

impl WritingEngine for Mdbx {
    const NAME: &'static str = NAME;
    const HAS_LOG: bool = false;
    type Store = MdbxStore;

    fn unfit(settings: Settings) -> Option<&'static str> {
        (settings.level == Level::Memory).then_some("it has no level of its own like Memory")
    }

    fn version() -> String {
        library::version()
    }

    fn describe(settings: Settings) -> String {
        match settings.level {
            Level::Memory | Level::Log => "WRITEMAP, UTTERLY_NOSYNC, NORDAHEAD, LIFORECLAIM".to_owned(),
            Level::Disk => "written by calls and synced, NORDAHEAD, LIFORECLAIM".to_owned(),
        }
    }

    fn open(directory: &Path, settings: Settings) -> Result<MdbxStore, Failure> {
        let access = if settings.level == Level::Disk { Access::Synced } else { Access::UnsyncedMap };
        Ok(MdbxStore { environment: Environment::open(directory, access).map_err(failed("open"))? })
    }
}

/// An open environment and its unnamed table.
pub struct MdbxStore {
    environment: Environment,
}

impl WritingStore for MdbxStore {
    type Transaction<'s> = MdbxTransaction<'s>;
    type Snapshot<'s> = MdbxSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let txn = self.environment.write().map_err(failed("load"))?;
        for (key, value) in records {
            txn.append(key, value).map_err(failed("load"))?;
        }
        txn.commit().map_err(failed("load"))?;
        self.sync()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.put_all(std::iter::once((key, value)))
    }

    #[inline]
    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let txn = self.environment.write().map_err(failed("begin"))?;
        for (key, value) in records {
            txn.put(key, value).map_err(failed("put"))?;
        }
        txn.commit().map_err(failed("commit"))
    }

    fn snapshot(&self) -> Result<MdbxSnapshot<'_>, Failure> {
        Ok(MdbxSnapshot { txn: self.environment.read().map_err(failed("read"))? })
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.snapshot()?.get(key, read)
    }

    fn begin(&self) -> Result<MdbxTransaction<'_>, Failure> {
        Ok(MdbxTransaction { txn: self.environment.write().map_err(failed("begin"))? })
    }

    fn sync(&self) -> Result<(), Failure> {
        self.environment.sync().map_err(failed("sync"))
    }

    /// libmdbx leaves nothing for later but the kernel's write-back, whose time no process pays.
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// libmdbx does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.environment.read().and_then(|txn| txn.scan(Walk::All, each)).map_err(failed("scan"))
    }

    fn close(self) -> Result<(), Failure> {
        self.sync()
    }
}

/// A read transaction.
pub struct MdbxSnapshot<'s> {
    txn: Txn<'s>,
}

impl Snapshot for MdbxSnapshot<'_> {
    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.txn.get(key, read).map_err(failed("get"))
    }

    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.txn.scan(Walk::Forward(from, count), each).map_err(failed("seek"))
    }

    fn scan_back_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.txn.scan(Walk::Back(from, count), each).map_err(failed("seek"))
    }

    fn scan_prefix(&self, prefix: &[u8], each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.txn.scan(Walk::Prefix(prefix), each).map_err(failed("seek"))
    }
}

/// The one write transaction.
pub struct MdbxTransaction<'s> {
    txn: Txn<'s>,
}

impl Transaction for MdbxTransaction<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        Ok(self.txn.get(key, read).map_err(failed("get"))?)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        Ok(self.txn.put(key, value).map_err(failed("put"))?)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        Ok(self.txn.delete(key).map_err(failed("delete"))?)
    }

    fn commit(self) -> Result<(), Refusal> {
        Ok(self.txn.commit().map_err(failed("commit"))?)
    }

    fn abort(self) {
        drop(self);
    }
}

fn failed(operation: &'static str) -> impl Fn(Status) -> Failure {
    move |status| Failure::new(NAME, operation, status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level() {
        writing_checks::all::<Mdbx>();
    }
}
