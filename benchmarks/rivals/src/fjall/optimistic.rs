//! fjall as an engine of writers, by its optimistic transactions, which are serializable.
//!
//! At [`Level::Memory`] a commit stays in the buffer of the journal's writer, at [`Level::Log`] it is handed to the
//! operating system, at [`Level::Disk`] it is synced, each by itself: fjall does not let commits share a sync. Single
//! puts go past the check of conflicts, which they cannot have. Nothing is compressed, as in every engine here: the
//! values are noise.

use std::path::Path;

use fjall::{Keyspace, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, PersistMode, Readable};

use crate::fjall::keyspace::{self, CACHE_BYTES, FjallSnapshot, KEYSPACE, UNBOUNDED_BYTES, WORKERS, failed};
use crate::interface::engine::Failure;
use crate::interface::writing::{Level, Refusal, Settings, Transaction, Usage, WritingEngine, WritingStore};
use crate::versions;

const NAME: &str = "fjall";

/// fjall.
#[derive(Debug)]
pub struct Fjall;

impl WritingEngine for Fjall {
    const NAME: &'static str = NAME;
    type Store = FjallStore;

    fn unfit(_settings: Settings) -> Option<&'static str> {
        None
    }

    fn version() -> String {
        versions::locked(NAME)
    }

    fn describe(settings: Settings) -> String {
        keyspace::describe(settings)
    }

    fn open(directory: &Path, settings: Settings) -> Result<FjallStore, Failure> {
        let by_hand = settings.level == Level::Memory;
        let long = settings.usage == Usage::LongLog;
        let builder = OptimisticTxDatabase::builder(directory)
            .cache_size(settings.cache_bytes(CACHE_BYTES))
            .worker_threads(WORKERS)
            .manual_journal_persist(by_hand);
        let builder = if long { builder.max_journaling_size(UNBOUNDED_BYTES) } else { builder };
        let database = builder.open().map_err(failed(NAME, "open"))?;
        let keyspace = database.keyspace(KEYSPACE, || keyspace::options(settings)).map_err(failed(NAME, "open"))?;
        Ok(FjallStore { database, keyspace, level: settings.level })
    }
}

/// An open database and its keyspace.
pub struct FjallStore {
    database: OptimisticTxDatabase,
    keyspace: OptimisticTxKeyspace,
    level: Level,
}

impl FjallStore {
    fn plain(&self) -> &Keyspace {
        self.keyspace.as_ref()
    }
}

impl WritingStore for FjallStore {
    type Transaction<'s> = FjallTransaction<'s>;
    type Snapshot<'s> = FjallSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        keyspace::load(self.plain(), records).map_err(failed(NAME, "load"))?;
        self.settle()
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.plain().insert(key, value).map_err(failed(NAME, "put"))?;
        match self.level {
            Level::Memory | Level::Log => Ok(()),
            Level::Disk => self.sync(),
        }
    }

    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        keyspace::put_all(self.database.inner(), self.plain(), self.level, records).map_err(failed(NAME, "put"))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        Ok(read(self.plain().get(key).map_err(failed(NAME, "get"))?.as_deref()))
    }

    fn snapshot(&self) -> Result<FjallSnapshot<'_>, Failure> {
        Ok(FjallSnapshot { engine: NAME, keyspace: self.plain() })
    }

    fn begin(&self) -> Result<FjallTransaction<'_>, Failure> {
        let txn = self.database.write_tx().map_err(failed(NAME, "begin"))?;
        let txn = match self.level {
            Level::Memory | Level::Log => txn,
            Level::Disk => txn.durability(Some(PersistMode::SyncData)),
        };
        Ok(FjallTransaction { txn, keyspace: self.plain() })
    }

    fn sync(&self) -> Result<(), Failure> {
        self.database.persist(PersistMode::SyncData).map_err(failed(NAME, "sync"))
    }

    fn settle(&self) -> Result<(), Failure> {
        keyspace::settle(self.database.inner(), self.plain()).map_err(failed(NAME, "settle"))
    }

    /// fjall does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        keyspace::scan(self.plain(), each).map_err(failed(NAME, "scan"))
    }

    fn close(self) -> Result<(), Failure> {
        self.sync()
    }
}

/// An optimistic transaction: it is checked when it commits.
pub struct FjallTransaction<'s> {
    txn: OptimisticWriteTx,
    keyspace: &'s Keyspace,
}

impl Transaction for FjallTransaction<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        Ok(read(self.txn.get(self.keyspace, key).map_err(failed(NAME, "get"))?.as_deref()))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.txn.insert(self.keyspace, key, value);
        Ok(())
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.txn.remove(self.keyspace, key);
        Ok(())
    }

    fn commit(self) -> Result<(), Refusal> {
        self.txn.commit().map_err(failed(NAME, "commit"))?.map_err(|_| Refusal::Conflict)
    }

    fn abort(self) {
        self.txn.rollback();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level() {
        writing_checks::all::<Fjall>();
    }
}
