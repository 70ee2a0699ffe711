//! fjall as an engine of writers, by its other kind of transactions: one at a time behind a lock, so that none is
//! refused.
//!
//! They cost less than the optimistic ones, which look through the last ten thousand commits at every commit.
//! Everything except transactions is as in `optimistic`, and is measured there.

use std::path::Path;

use fjall::{Keyspace, PersistMode, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace, SingleWriterWriteTx};

use crate::fjall::keyspace::{self, CACHE_BYTES, FjallSnapshot, KEYSPACE, WORKERS, failed};
use crate::interface::engine::Failure;
use crate::interface::writing::{Level, Refusal, Settings, Transaction, Usage, WritingEngine, WritingStore};
use crate::versions;

const NAME: &str = "fjall-single";

/// fjall with one writer.
#[derive(Debug)]
pub struct FjallSingleWriter;

impl WritingEngine for FjallSingleWriter {
    const NAME: &'static str = NAME;
    type Store = FjallSingleWriterStore;

    fn unfit(settings: Settings) -> Option<&'static str> {
        let transactions = matches!(settings.usage, Usage::Transactions | Usage::Counters);
        (!transactions).then_some("without transactions of several steps it is what fjall is")
    }

    fn version() -> String {
        versions::locked("fjall")
    }

    fn describe(settings: Settings) -> String {
        keyspace::describe(settings)
    }

    fn open(directory: &Path, settings: Settings) -> Result<FjallSingleWriterStore, Failure> {
        let builder = SingleWriterTxDatabase::builder(directory)
            .cache_size(settings.cache_bytes(CACHE_BYTES))
            .worker_threads(WORKERS)
            .manual_journal_persist(settings.level == Level::Memory);
        let database = builder.open().map_err(failed(NAME, "open"))?;
        let keyspace = database.keyspace(KEYSPACE, || keyspace::options(settings)).map_err(failed(NAME, "open"))?;
        Ok(FjallSingleWriterStore { database, keyspace, level: settings.level })
    }
}

/// An open database and its keyspace.
pub struct FjallSingleWriterStore {
    database: SingleWriterTxDatabase,
    keyspace: SingleWriterTxKeyspace,
    level: Level,
}

impl FjallSingleWriterStore {
    fn plain(&self) -> &Keyspace {
        self.keyspace.as_ref()
    }
}

impl WritingStore for FjallSingleWriterStore {
    type Transaction<'s> = FjallSingleWriterTransaction<'s>;
    type Snapshot<'s> = FjallSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        keyspace::load(self.plain(), records).map_err(failed(NAME, "load"))?;
        self.settle()
    }

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

    fn snapshot(&self) -> Result<FjallSnapshot<'_>, Failure> {
        Ok(FjallSnapshot { engine: NAME, keyspace: self.plain() })
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        Ok(read(self.plain().get(key).map_err(failed(NAME, "get"))?.as_deref()))
    }

    fn begin(&self) -> Result<FjallSingleWriterTransaction<'_>, Failure> {
        let txn = self.database.write_tx();
        let txn = match self.level {
            Level::Memory | Level::Log => txn,
            Level::Disk => txn.durability(Some(PersistMode::SyncData)),
        };
        Ok(FjallSingleWriterTransaction { txn, keyspace: &self.keyspace })
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

/// The one transaction.
pub struct FjallSingleWriterTransaction<'s> {
    txn: SingleWriterWriteTx<'s>,
    keyspace: &'s SingleWriterTxKeyspace,
}

impl Transaction for FjallSingleWriterTransaction<'_> {
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
        Ok(self.txn.commit().map_err(failed(NAME, "commit"))?)
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
        writing_checks::all::<FjallSingleWriter>();
    }
}
